"""Launches under samples: which share of which part of which launch lies in each sample."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tcprof.analysis.intervals import StepFunction

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PART_NS = 2500.0  # parts of a kernel's duration are about so long,
MOST_PARTS = 8  # no more than these in a class,
MOST_UNKNOWNS = 600  # nor than these in all
WHOLE = 0.999  # share of a launch under samples from which it counts as sampled whole


@dataclass(frozen=True)
class Launches:
    """Launches of kernels on one GPU, in order of start.

    Attributes:
        start: Starts in ns.
        end: Ends in ns, after the starts.
        kind: Number of the class, without holes.
        weight: What a launch counts relative to its class's unit: 1, or in a pool its share of the mean duration.
    """

    start: Ints
    end: Ints
    kind: Ints
    weight: Floats


@dataclass(frozen=True)
class Design:
    """Samples under launches, and which part of which class lies under each.

    Attributes:
        shares: Shares of a part (column) that lie in a sample (row).
        part_kind: Class of each part.
        part_ns: Length of each part.
        stretch: Stretch of each row: rows between borders that no launch crosses.
        cut_row: Rows at whose left border a launch is cut,
        cut_kind: and that launch's class.
        launch_stretch: Stretch that each launch lies in; -1 where it, or another one there, was not sampled whole.
        row: The samples that the rows stand for.
        length: Their lengths in ns.
    """

    shares: csr_array
    part_kind: Ints
    part_ns: Floats
    stretch: Ints
    cut_row: Ints
    cut_kind: Ints
    launch_stretch: Ints
    row: Ints
    length: Ints


def build_design(launches: Launches, samples: StepFunction) -> Design:
    """Cut launches into parts, lay them under the samples, and find the borders between stretches."""
    start, end, kind = launches.start, launches.end, launches.kind
    number = np.bincount(kind)
    duration = np.bincount(kind, end - start) / number
    parts = _count_parts(duration)
    first = np.cumsum(parts) - parts
    of_launch = np.repeat(np.arange(len(start)), parts[kind])
    place = np.arange(len(of_launch)) - np.repeat(np.cumsum(parts[kind]) - parts[kind], parts[kind])
    length = ((end - start) / parts[kind])[of_launch]
    low = start[of_launch] + place * length
    piece, step, overlap = samples.overlaps(low, low + length)
    share = np.maximum(overlap, 0) / length[piece]
    row, place_of = np.unique(step, return_inverse=True)
    column = (first[kind[of_launch]] + place)[piece]
    weight = share * launches.weight[of_launch[piece]]
    shares = csr_array((weight, (place_of, column)), shape=(len(row), int(parts.sum())))
    part_kind = np.repeat(np.arange(len(parts)), parts)
    adjacent = np.append(False, samples.end[row[:-1]] == samples.start[row[1:]])
    cut_row, cut_kind = _cut_launches(launches, samples.start[row], adjacent)
    is_cut = np.zeros(len(row), dtype=bool)
    is_cut[cut_row] = True
    stretch = np.cumsum(~is_cut) - 1
    sampled = np.bincount(of_launch[piece], share, minlength=len(start)) / parts[kind]
    begin = np.clip(np.searchsorted(samples.start[row], start, side="right") - 1, 0, None)
    whole = sampled > WHOLE
    clear = np.ones(len(row), dtype=bool)
    clear[np.isin(stretch, stretch[place_of[~whole[of_launch[piece]]]])] = False
    launch_stretch = np.where(whole & clear[begin], stretch[begin], -1) if len(row) else np.full(len(start), -1)
    part_ns = (duration / parts)[part_kind]
    lengths = (samples.end - samples.start)[row]
    return Design(shares, part_kind, part_ns, stretch, cut_row, cut_kind, launch_stretch, row, lengths)


def _count_parts(duration: Floats) -> Ints:
    """Into how many parts each class is cut."""
    length = PART_NS
    while True:
        parts = np.clip(np.round(duration / length), 1, MOST_PARTS).astype(np.int64)
        if parts.sum() <= max(MOST_UNKNOWNS, len(duration)) or parts.max() == 1:
            return parts
        length *= 1.25


def _cut_launches(launches: Launches, border: Ints, adjacent: Bools) -> tuple[Ints, Ints]:
    """Rows whose left border lies inside a launch, and that launch's class; only borders between adjacent samples."""
    low = np.searchsorted(border, launches.start, side="right")
    count = np.maximum(np.searchsorted(border, launches.end, side="left") - low, 0)
    row = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
    kind = np.repeat(launches.kind, count)
    return row[adjacent[row]], kind[adjacent[row]]
