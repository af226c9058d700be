"""Launches under samples: which share of which part of which launch lies in each sample."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tcprof.analysis.intervals import StepFunction, run_starts

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PART_NS = 2500.0  # target length of a part of a kernel's duration (ns)
MOST_PARTS = 8  # max parts per class
MOST_UNKNOWNS = 600  # max unknowns
CLUSTER = 8  # max samples per cluster
WHOLE = 0.999  # share of a launch under samples from which it counts as sampled whole


@dataclass(frozen=True)
class Launches:
    """Launches of kernels on one GPU, in order of start.

    Attributes:
        start: Starts in ns.
        end: Ends in ns, after the starts.
        kind: Number of the class, without holes.
        weight: What a launch counts relative to its class's unit: 1, or in a pool its share of the mean duration.
        opaque: For each class, whether its rate varies in an unknown way, as that of a graph recorded as a whole.
    """

    start: Ints
    end: Ints
    kind: Ints
    weight: Floats
    opaque: Bools


@dataclass(frozen=True)
class Cuts:
    """Borders of samples that lie inside a launch.

    Attributes:
        row: Row of the sample.
        part: Part of the launch's class that the border lies in.
    """

    row: Ints
    part: Ints


@dataclass(frozen=True)
class Design:
    """Samples under launches, and which part of which class lies under each.

    A *stretch* is a run of samples between borders that no launch crosses; a *cluster* is up to ``CLUSTER`` neighbours
    of one stretch.

    Attributes:
        shares: Shares of a part (column) that lie in a sample (row).
        part_kind: Class of each part.
        part_ns: Length of each part.
        begins: Cuts at the beginning of samples.
        ends: Cuts at their end.
        adjacent: Whether each row begins where the one before ends; else a gap or a sample under no launch precedes.
        stretch: Stretch of each row.
        cluster: Cluster of each row.
        squares: For each row and class, the sum over launches of (share of the launch that lies in the row)².
        cluster_squares: The same for each cluster.
        class_ns: For each row and class, the time under its launches.
        launch_stretch: Stretch that each launch lies in; -1 where it, or another one there, was not sampled whole.
        row: The samples that the rows stand for.
        length: Their lengths in ns.
    """

    shares: csr_array
    part_kind: Ints
    part_ns: Floats
    begins: Cuts
    ends: Cuts
    adjacent: Bools
    stretch: Ints
    cluster: Ints
    squares: csr_array
    cluster_squares: csr_array
    class_ns: csr_array
    launch_stretch: Ints
    row: Ints
    length: Ints


@dataclass(frozen=True)
class _Parts:
    """The parts of each class, and those of each launch, one after the other.

    Attributes:
        count: Parts of each class.
        first: Number of each class's first part.
        launch: Launch that each piece belongs to.
        place: Its place among the pieces of the launch.
        column: Its part.
    """

    count: Ints
    first: Ints
    launch: Ints
    place: Ints
    column: Ints


def build_design(launches: Launches, samples: StepFunction) -> Design:
    """Cut launches into parts, lay them under the samples, and find the borders between stretches."""
    kind, duration = launches.kind, launches.end - launches.start
    mean = np.bincount(kind, duration) / np.bincount(kind)
    parts = _divide(kind, _count_parts(mean))
    length = (duration / parts.count[kind])[parts.launch]
    low = launches.start[parts.launch] + parts.place * length
    piece, step, overlap = samples.overlaps(low, low + length)
    share = np.maximum(overlap, 0) / length[piece]
    row, place = np.unique(step, return_inverse=True)
    of_launch, weight = parts.launch[piece], launches.weight[parts.launch[piece]]
    shares = csr_array((share * weight, (place, parts.column[piece])), shape=(len(row), int(parts.count.sum())))
    start, end = samples.start[row], samples.end[row]
    adjacent = np.append(False, end[:-1] == start[1:]) if len(row) else np.zeros(0, dtype=bool)
    begins, ends = (_find_cuts(launches, parts, border) for border in (start, end))
    inside = np.zeros(len(row), dtype=bool)
    inside[begins.row] = True
    stretch = np.cumsum(~(inside & adjacent)) - 1
    cluster = _clusters(stretch)
    of_whole = share / parts.count[kind[of_launch]]
    counts = of_whole * weight
    part_kind = np.repeat(np.arange(len(parts.count)), parts.count)
    part_ns = (mean / parts.count)[part_kind]
    of_class = csr_array((part_ns, (np.arange(len(part_ns)), part_kind)), shape=(len(part_ns), len(mean)))
    return Design(
        shares,
        part_kind,
        part_ns,
        begins,
        ends,
        adjacent,
        stretch,
        cluster,
        _squares(launches, place, of_launch, counts),
        _squares(launches, cluster[place], of_launch, counts),
        shares @ of_class,
        _stretches_of_launches(launches, start, stretch, place, of_launch, of_whole),
        row,
        end - start,
    )


def _count_parts(duration: Floats) -> Ints:
    """Into how many parts each class is cut."""
    length = PART_NS
    while True:
        parts = np.clip(np.round(duration / length), 1, MOST_PARTS).astype(np.int64)
        if parts.sum() <= max(MOST_UNKNOWNS, len(duration)) or parts.max() == 1:
            return parts
        length *= 1.25


def _divide(kind: Ints, count: Ints) -> _Parts:
    of_launch = count[kind]
    first, begin = np.cumsum(count) - count, np.cumsum(of_launch) - of_launch
    launch = np.repeat(np.arange(len(kind)), of_launch)
    place = np.arange(len(launch)) - np.repeat(begin, of_launch)
    return _Parts(count, first, launch, place, first[kind[launch]] + place)


def _find_cuts(launches: Launches, parts: _Parts, border: Ints) -> Cuts:
    """The borders, one a row, that lie inside a launch."""
    low = np.searchsorted(border, launches.start, side="right")
    count = np.maximum(np.searchsorted(border, launches.end, side="left") - low, 0)
    row = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
    launch = np.repeat(np.arange(len(low)), count)
    of_class, start = parts.count[launches.kind[launch]], launches.start[launch]
    place = (border[row] - start) * of_class // (launches.end[launch] - start)
    return Cuts(row, parts.first[launches.kind[launch]] + np.minimum(place, of_class - 1))


def _clusters(stretch: Ints) -> Ints:
    """Number of the cluster of each row."""
    rows, first = np.arange(len(stretch)), run_starts(stretch)
    place = rows - np.repeat(first, np.diff(np.append(first, len(stretch))))
    return np.cumsum(place % CLUSTER == 0) - 1


def _squares(launches: Launches, group: Ints, launch: Ints, share: Floats) -> csr_array:
    """For each group of rows and class, the sum over launches of the square of the share that lies in the group."""
    shape = (int(group.max(initial=-1)) + 1, len(launches.start))
    summed = csr_array((share, (group, launch)), shape=shape).tocoo()
    of_class = (summed.row, launches.kind[summed.col])
    return csr_array((summed.data**2, of_class), shape=(shape[0], int(launches.kind.max(initial=-1)) + 1))


def _stretches_of_launches(
    launches: Launches, start: Ints, stretch: Ints, row: Ints, launch: Ints, share: Floats
) -> Ints:
    """The stretch of each launch, of those stretches in which all launches were sampled whole; else -1."""
    if not len(start):
        return np.full(len(launches.start), -1)
    whole = np.bincount(launch, share, minlength=len(launches.start)) > WHOLE
    clear = np.ones(int(stretch[-1]) + 1, dtype=bool)
    clear[stretch[row[~whole[launch]]]] = False
    found = stretch[np.clip(np.searchsorted(start, launches.start, side="right") - 1, 0, None)]
    return np.where(whole & clear[found], found, -1)
