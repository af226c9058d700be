"""Launches under samples: which share of which part of which launch lies in each sample."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tcprof.analysis.intervals import StepFunction, enumerate_keys, index_in_runs, run_starts
from tcprof.arrays import Bools, Floats, Ints, mapping_of

PART_NS = 2500.0  # target length of a part of a kernel's duration (ns)
MOST_PARTS = 8  # max parts per class
MOST_UNKNOWNS = 600  # max unknowns
CLUSTER = 8  # max samples per cluster
# Of a long recording, values are fitted on so many rows, in blocks, and on so many launches of each class at least.
ROWS_OF_SAMPLE, ROWS_OF_BLOCK, LEAST_LAUNCHES = 16_384, 64, 200
GOLDEN = (5**0.5 - 1) / 2
LAUNCHES_AT_ONCE = 1 << 14
MOST_ALIKE = 16  # parts under a row that is summed with its neighbours
WHOLE = 0.999  # share of a launch under samples from which it counts as sampled whole
_Numbers: TypeAlias = npt.NDArray[np.integer[Any]]  # of eight bytes, or of four where there are millions


@dataclass(frozen=True)
class Launches:
    """Launches of kernels on one GPU, in order of start."""

    start: Ints  # starts in ns
    end: Ints  # ends in ns, after the starts
    kind: Ints  # number of the class, without holes
    weight: Floats  # what a launch counts relative to its class's unit: 1, or in a pool its share of the mean duration
    opaque: Bools  # for each class, whether its rate varies in an unknown way, as that of a graph recorded as a whole
    early: Ints  # by how many ns before ``start`` each was recorded to start, see ``waiting.find_early``


@dataclass(frozen=True)
class Cuts:
    """Borders of samples that lie inside a launch."""

    row: Ints  # row of the sample
    part: Ints  # part of the launch's class that the border lies in
    share: Floats  # how much of the part lies before the border


@dataclass(frozen=True)
class Design:
    """Samples under launches, and which part of which class lies under each.

    A *stretch* is a run of samples between borders that no launch crosses; a *cluster* is up to ``CLUSTER`` neighbours
    of one stretch.
    """

    shares: csr_array  # shares of a part (column) that lie in a sample (row)
    part_kind: Ints  # class of each part
    part_ns: Floats  # length of each part
    begins: Cuts  # cuts at the beginning of samples
    ends: Cuts  # cuts at their end
    alike: Bools  # whether there are shares of the same parts in each row as in the one before, see ``alike_rows``
    # Whether each row begins where the one before ends; else a gap or a sample under no launch precedes
    adjacent: Bools
    stretch: Ints  # stretch of each row
    cluster: Ints  # cluster of each row
    squares: csr_array  # for each row and class, the sum over launches of (share of the launch that lies in the row)²
    cluster_squares: csr_array  # the same for each cluster
    class_ns: csr_array  # for each row and class, the time under its launches
    launch_stretch: Ints  # stretch that each launch lies in; -1 where it, or another one there, was not sampled whole
    row: Ints  # the samples that the rows stand for
    length: Ints  # their lengths in ns
    # For each row and class, how much more of its launches lies in the row if they count from ``early`` on
    ahead: csr_array

    @cached_property
    def sampled_rows(self) -> Ints:
        """Choose the rows to fit on: blocks of neighbours, spread over the recording; all where there are not many.

        Multiples of the golden ratio order the blocks: any number of first ones lies evenly, and in step with nothing
        that repeats.
        """
        rows = np.arange(len(self.length))
        if len(rows) <= ROWS_OF_SAMPLE:
            return rows
        first = np.maximum.accumulate(np.where(np.diff(self.cluster, prepend=-1) > 0, rows, 0))
        block = enumerate_keys(first // ROWS_OF_BLOCK)[1]  # whole clusters
        order = np.arange(int(block[-1]) + 1) * GOLDEN % 1
        parts = np.bincount(self.part_kind, self.part_ns)
        ones = make_sparse(np.ones(len(rows)), block, rows, (len(order), len(rows)))
        launched = (ones @ self.class_ns).tocoo()
        by_class = np.lexsort((order[launched.row], launched.col))
        kind, count = launched.col[by_class], (launched.data / parts[launched.col])[by_class]
        before = np.cumsum(count) - count
        begins = run_starts(kind)
        before -= np.repeat(before[begins], np.diff(np.append(begins, len(kind))))
        chosen = order < ROWS_OF_SAMPLE / len(rows)
        chosen[launched.row[by_class][before < LEAST_LAUNCHES]] = True
        return rows[chosen[block]]

    @property
    def sample(self) -> "Design":
        """Return the design of the rows to fit on; of all rows it is this one, and a cycle would keep it in memory."""
        return self if len(self.sampled_rows) == len(self.length) else self._sample

    @cached_property
    def _sample(self) -> "Design":
        """Make the design of the sampled rows alone, whose launches have no stretches."""
        rows = self.sampled_rows
        clusters, cluster = enumerate_keys(self.cluster[rows])
        follows = np.diff(rows, prepend=-2) == 1
        return replace(
            self,
            shares=self.shares[rows],
            begins=_cuts_of(self.begins, rows),
            ends=_cuts_of(self.ends, rows),
            alike=self.alike[rows] & follows,
            adjacent=self.adjacent[rows] & follows,
            stretch=self.stretch[rows],
            cluster=cluster,
            squares=self.squares[rows],
            cluster_squares=self.cluster_squares[clusters],
            class_ns=self.class_ns[rows],
            launch_stretch=np.full(len(self.launch_stretch), -1),
            row=self.row[rows],
            length=self.length[rows],
            ahead=self.ahead[rows],
        )


def _cuts_of(cuts: Cuts, rows: Ints) -> Cuts:
    """Take the borders of some rows, numbered anew."""
    place = np.minimum(np.searchsorted(rows, cuts.row), len(rows) - 1)
    kept = rows[place] == cuts.row
    return Cuts(place[kept], cuts.part[kept], cuts.share[kept])


class _PartsUnder(NamedTuple):
    """Which parts of launches lie in which samples."""

    sample: _Numbers  # sample of each overlap
    column: _Numbers  # the part
    share: Floats  # how much of the part lies in the sample, times the launch's weight


class _Overlaps(NamedTuple):
    """Where whole launches lie under samples."""

    launch: _Numbers  # launch of each overlap, by launch, then by sample
    of_sample: _Numbers  # the sample
    of_launch: Floats  # how much of the launch lies in the sample


def make_sparse(values: Floats, row: _Numbers, column: _Numbers, shape: tuple[int, int]) -> csr_array:
    """Make a sparse matrix with indices of four bytes, of which products are faster than of eight."""
    indices = row.astype(np.int32, copy=False), column.astype(np.int32, copy=False)
    return csr_array((values, indices), shape=shape)


def alike_rows(columns: csr_array) -> Bools:
    """Tell whether each row has entries in the same columns as the row before, and not in many."""
    count = np.diff(columns.indptr)
    alike: Bools = np.append(False, count[1:] == count[:-1]) & (count <= MOST_ALIKE)
    entry = np.flatnonzero(np.repeat(alike, count))
    before = entry - np.repeat(count[alike], count[alike])
    row = np.repeat(np.flatnonzero(alike), count[alike])
    alike[row[columns.indices[entry] != columns.indices[before]]] = False
    return alike


def build_design(launches: Launches, samples: StepFunction) -> Design:
    """Cut launches into parts, lay them under the samples, and find the borders between stretches."""
    kind, duration = launches.kind, launches.end - launches.start
    mean = np.bincount(kind, duration) / np.bincount(kind)
    count = _count_parts(mean)
    of_parts, overlaps = _find_overlaps(launches, count, samples)
    is_row = np.zeros(len(samples.start), dtype=bool)
    is_row[of_parts.sample] = True
    row, place_of = np.flatnonzero(is_row), np.cumsum(is_row, dtype=np.int32) - 1
    shares = make_sparse(of_parts.share, place_of[of_parts.sample], of_parts.column, (len(row), int(count.sum())))
    del of_parts  # as large as the matrix
    start, end = samples.start[row], samples.end[row]
    adjacent = np.append(False, end[:-1] == start[1:]) if len(row) else np.zeros(0, dtype=bool)
    begins, ends = (_find_cuts(launches, count, border) for border in (start, end))
    inside = np.zeros(len(row), dtype=bool)
    inside[begins.row] = True
    stretch = np.cumsum(~(inside & adjacent)) - 1
    cluster = np.cumsum(begin_pieces(stretch, CLUSTER)) - 1
    part_kind = np.repeat(np.arange(len(count)), count)
    part_ns = (mean / count)[part_kind]
    of_class = make_sparse(part_ns, np.arange(len(part_ns)), part_kind, (len(part_ns), len(mean)))
    overlap_row = place_of[overlaps.of_sample]
    return Design(
        shares,
        part_kind,
        part_ns,
        begins,
        ends,
        alike_rows(shares),
        adjacent,
        stretch,
        cluster,
        _sum_squares(launches, overlap_row, overlaps),
        _sum_squares(launches, cluster[overlap_row], overlaps),
        shares @ of_class,
        _find_stretches(launches, start, stretch, overlap_row, overlaps),
        row,
        end - start,
        _find_ahead(launches, end) - _find_ahead(launches, start),
    )


def _find_overlaps(launches: Launches, parts: Ints, samples: StepFunction) -> tuple[_PartsUnder, _Overlaps]:
    """Lay launches, whose classes have so many parts each, under samples, some at a time."""
    first_part = np.cumsum(parts) - parts

    def overlaps_from(first: int) -> list[Any]:
        some = slice(first, first + LAUNCHES_AT_ONCE)
        kind, start, weight = launches.kind[some], launches.start[some], launches.weight[some]
        count = parts[kind]
        launch = np.repeat(np.arange(len(kind)), count)
        part_index = index_in_runs(count)
        length = ((launches.end[some] - start) / count)[launch]
        low = start[launch] + part_index * length
        piece, sample, overlap = samples.overlaps(low, low + length)
        share = np.maximum(overlap, 0) / length[piece]
        launch, column = launch[piece], (first_part[kind[launch]] + part_index)[piece]
        whole = run_starts(launch, sample)
        of_launch = np.add.reduceat(share / count[launch], whole) if len(whole) else share
        numbers = [number.astype(np.int32) for number in (sample, column, first + launch[whole], sample[whole])]
        return [*numbers[:2], share * weight[launch], *numbers[2:], of_launch]

    firsts = range(0, len(launches.start), LAUNCHES_AT_ONCE)
    with mapping_of(len(firsts)) as map_all:
        overlaps = list(map_all(overlaps_from, firsts))
    # One column after the other, each freed when it is joined: there are millions.
    joined = [np.concatenate([part.pop(0) for part in overlaps]) for _ in range(len(overlaps[0]))]
    return _PartsUnder(*joined[:3]), _Overlaps(*joined[3:])


def _count_parts(duration: Floats) -> Ints:
    """Into how many parts each class is cut."""
    length = PART_NS
    while True:
        parts = np.clip(np.round(duration / length), 1, MOST_PARTS).astype(np.int64)
        if parts.sum() <= max(MOST_UNKNOWNS, len(duration)) or parts.max() == 1:
            return parts
        length *= 1.25


def _find_cuts(launches: Launches, parts: Ints, border: Ints) -> Cuts:
    """Find the borders, one a row, that lie inside a launch."""
    row, launch = _borders_inside(launches.start, launches.end, border)
    kind, start = launches.kind[launch], launches.start[launch]
    of_class = parts[kind]
    position = (border[row] - start) * of_class / (launches.end[launch] - start)
    part = np.minimum(position.astype(np.int64), of_class - 1)
    return Cuts(row, (np.cumsum(parts) - parts)[kind] + part, position - part)


def _borders_inside(start: Ints, end: Ints, border: Ints) -> tuple[Ints, Ints]:
    """List the borders that lie inside of each span, and the span."""
    low = np.searchsorted(border, start, side="right")
    count = np.maximum(np.searchsorted(border, end, side="left") - low, 0)
    return index_in_runs(count) + np.repeat(low, count), np.repeat(np.arange(len(low)), count)


def _find_ahead(launches: Launches, border: Ints) -> csr_array:
    """Measure for each border and class how much more of the launches lies before it if they do not wait."""
    early = np.flatnonzero(launches.early)
    start, wait, end = launches.start[early], launches.early[early], launches.end[early]
    row, which = _borders_inside(start - wait, end, border)
    passed = border[row] - start[which]
    waiting = np.maximum(passed, 0) / (end - start)[which]
    share = (passed + wait[which]) / (end - start + wait)[which] - waiting
    kind, weight = launches.kind[early[which]], launches.weight[early[which]]
    return make_sparse(share * weight, row, kind, (len(border), int(launches.kind.max(initial=-1)) + 1))


def begin_pieces(stretch: Ints, longest: int) -> Bools:
    """Mark the rows that begin a stretch, or a piece of a long one."""
    begins: Bools = index_in_runs(np.diff(np.append(run_starts(stretch), len(stretch)))) % longest == 0
    return begins


def _sum_squares(launches: Launches, group: _Numbers, overlaps: _Overlaps) -> csr_array:
    """Sum, for each group of rows and class, the squares of the launches' shares that lie in the group."""
    first = run_starts(overlaps.launch, group)
    share = np.add.reduceat(overlaps.of_launch, first) if len(first) else overlaps.of_launch
    launch, shape = overlaps.launch[first], (int(group.max(initial=-1)) + 1, int(launches.kind.max(initial=-1)) + 1)
    return make_sparse((share * launches.weight[launch]) ** 2, group[first], launches.kind[launch], shape)


def _find_stretches(launches: Launches, start: Ints, stretch: Ints, row: _Numbers, overlaps: _Overlaps) -> Ints:
    """Number each launch's stretch, where all launches in it were sampled whole; else -1."""
    if not len(start):
        return np.full(len(launches.start), -1)
    whole = np.bincount(overlaps.launch, overlaps.of_launch, minlength=len(launches.start)) > WHOLE
    clear = np.ones(int(stretch[-1]) + 1, dtype=bool)
    clear[stretch[row[~whole[overlaps.launch]]]] = False
    of_start = stretch[np.clip(np.searchsorted(start, launches.start, side="right") - 1, 0, None)]
    return np.where(whole & clear[of_start], of_start, -1)
