"""What a long launch counts at least and at most, whatever the fit says.

Samples that lie inside a launch with nothing beside it are its own; those that it touches hold all that it counts. Of a
launch that is many samples long the two are close, also where the launches of its class differ, or the clock moves, and
the fit's interval is wide.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.design import Launches
from tcprof.analysis.samples.borders import MOST_OFFSET_NS
from tcprof.arrays import Bools, Floats, Ints

LEAST_INSIDE = 4  # samples of its own: with fewer the fit knows more


@dataclass(frozen=True)
class Bounds:
    """What launches count at least and at most.

    Attributes:
        launch: Rows of the launches that are long enough.
        kind: Class of each.
        least: What each counts at least.
        most: What it counts at most; infinite where that is not known.
    """

    launch: Ints
    kind: Ints
    least: Floats
    most: Floats

    def scaled(self, factor: Floats, error: Floats) -> "Bounds":
        """The same in another unit.

        Args:
            factor: For each launch of the recording.
            error: For each class, how far these may be off at most, as a share.
        """
        factor, error = factor[self.launch], error[self.kind]
        return replace(
            self, least=self.least * factor * np.maximum(1 - error, 0), most=self.most * factor * (1 + error)
        )

    def half_of_sums(self, group: Ints, value: Floats) -> Floats:
        """Half an interval around sums over groups of launches; infinite where a launch of it is not long.

        Args:
            group: Group of each launch of the recording, from 0.
            value: What each launch counts.
        """
        groups = int(group.max(initial=-1)) + 1
        mine = group[self.launch]
        total, count = np.bincount(group, value, groups), np.bincount(group, minlength=groups)
        least, most = (np.bincount(mine, bound, groups) for bound in (self.least, self.most))
        half = np.maximum(np.maximum(total - least, most - total), 0)
        return np.where(np.bincount(mine, minlength=groups) == count, half, np.inf)


def add_bounds(several: Sequence[Bounds | None]) -> Bounds | None:
    """Bounds of the sum of counters, of the same launches; None where one has none."""
    known = [bounds for bounds in several if bounds is not None]
    if not known or len(known) < len(several):
        return None
    least, most = (np.sum([getattr(one, name) for one in known], axis=0) for name in ("least", "most"))
    return replace(known[0], least=least, most=most)


@dataclass(frozen=True)
class Enclosure:
    """Which samples lie inside long launches, and which ones these touch.

    Attributes:
        launch: Rows of the long launches.
        kind: Class of each.
        inside: First sample inside each, and the one after the last.
        touched: First sample that each touches, and the one after the last.
        alone: For each sample, whether no more than one launch touches it, and no copy within the memory.
    """

    launch: Ints
    kind: Ints
    inside: tuple[Ints, Ints]
    touched: tuple[Ints, Ints]
    alone: Bools

    def bound(self, value: Floats, exact: Bools) -> Bounds:
        """Bounds from one counter.

        Args:
            value: What was sampled.
            exact: For each sample, whether that is exact, and of launches alone.
        """
        own, whole, inexact = (_sum_before(values) for values in (np.where(self.alone, value, 0), value, ~exact))
        least, most, wrong = (
            sums[last] - sums[first]
            for sums, (first, last) in ((own, self.inside), (whole, self.touched), (inexact, self.touched))
        )
        return Bounds(self.launch, self.kind, np.where(wrong > 0, 0, least), np.where(wrong > 0, np.inf, most))


def find_enclosure(launches: Launches, start: Ints, end: Ints, moves: StepFunction) -> Enclosure:
    """Find the long launches, and their samples.

    Args:
        launches: The launches of one GPU.
        start: Starts of its samples, ascending.
        end: Their ends.
        moves: When the GPU copied or set its own memory, which kernels may do that are not traced.
    """
    first, last = _within(end, start, launches.start - MOST_OFFSET_NS, launches.end + MOST_OFFSET_NS)
    touching = np.cumsum(np.bincount(first, minlength=len(start) + 1) - np.bincount(last, minlength=len(start) + 1))
    inner = np.searchsorted(start, launches.start + MOST_OFFSET_NS, side="left")
    outer = np.searchsorted(end, launches.end - MOST_OFFSET_NS, side="right")
    missing = _sum_before(np.append(start[1:] > end[:-1], False))  # gaps, each after the sample before it
    is_whole = (start[np.minimum(first, len(start) - 1)] <= launches.start) & (end[last - 1] >= launches.end)
    is_whole &= missing[np.maximum(last - 1, first)] == missing[first]
    alone = (touching[:-1] <= 1) & (moves.covered(start - int(MOST_OFFSET_NS), end + int(MOST_OFFSET_NS)) == 0)
    long = np.flatnonzero(is_whole & (outer - inner >= LEAST_INSIDE))
    return Enclosure(long, launches.kind[long], (inner[long], outer[long]), (first[long], last[long]), alone)


def _within(end: Ints, start: Ints, low: npt.NDArray[Any], high: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """The first sample that ends after a time, and the first one that does not begin before another."""
    first = np.searchsorted(end, low, side="right")
    return first, np.maximum(np.searchsorted(start, high, side="left"), first)


def _sum_before(values: Floats | Bools) -> Floats:
    """Sums of all before each place, and at the end of all."""
    return np.append(0.0, np.cumsum(values, dtype=np.float64))
