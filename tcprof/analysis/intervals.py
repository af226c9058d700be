"""Half-open intervals and step functions on integer time, vectorized; each group is a time line of its own."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tcprof.arrays import Floats, Ints, union


def run_starts(*keys: npt.NDArray[Any]) -> Ints:
    """Find where a run of rows with equal keys begins."""
    if not len(keys[0]):
        return np.empty(0, dtype=np.int64)
    changes = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(np.append(True, changes))


def index_in_runs(count: Ints) -> Ints:
    """Index each row in its run, where runs of so many rows follow one another: 0, 1, 2, 0, 1 and so on."""
    return np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)


def distinct(*times: Ints) -> Ints:
    """Sort all times without repetitions; ``np.unique``, which builds a hash table, is far slower."""
    every = np.sort(np.concatenate(times), kind="stable")  # linear, where each of them is in order
    return every[run_starts(every)]


def enumerate_keys(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys, ascending, and the index of each key in them: ``np.unique``, but linear if small."""
    most = int(keys.max(initial=-1)) + 1
    if most > 4 * len(keys) or keys.min(initial=0) < 0:
        return np.unique(keys, return_inverse=True)
    present = np.zeros(most, dtype=bool)
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


def open_times(start: Ints, end: Ints) -> "StepFunction":
    """Return a function that is 1 while at least one of some intervals is open."""
    _, start, end = union(np.zeros(len(start), dtype=np.int64), start, end)
    return StepFunction(start, end, np.ones(len(start)))


def search(times: Ints, values: Ints | Floats, side: Literal["left", "right"] = "left") -> Ints:
    """Search sorted times as ``np.searchsorted`` does, but for values in order: far quicker where there are many."""
    if np.all(values[1:] >= values[:-1]):
        return np.searchsorted(times, values, side)
    order = np.argsort(values, kind="stable")  # ends of ranges are nearly in order: then it takes a third of the time
    indices = np.empty(len(values), dtype=np.int64)
    indices[order] = np.searchsorted(times, values[order], side)
    return indices


class OpenIntervals:
    """Finds the interval that is open at a time and began last: the innermost one, if they nest.

    Those that overlap only in part are found as well. A tree of maxima of the ends is climbed and descended for all
    queries at once, O(log n) steps of numpy. They are in the order of ``order``.
    """

    def __init__(self, group: Ints, start: Ints, end: Ints) -> None:
        self._low = int(start.min(initial=0))
        self._span = int(max(end.max(initial=0), start.max(initial=0))) - self._low + 2
        self._groups, codes = np.unique(group, return_inverse=True)
        self._shift = codes * self._span - self._low  # moves each group's times apart from those of the others
        self._start = start + self._shift
        levels = [end + self._shift]
        while len(levels[-1]) > 1:
            level = levels[-1]
            padded = np.append(level, level[-1:]) if len(level) % 2 else level
            levels.append(np.maximum(padded[0::2], padded[1::2]))
        self._levels = levels

    @staticmethod
    def order(group: Ints, start: Ints, end: Ints) -> Ints:
        """Order intervals by group and start; of those that start together, the longer comes first."""
        return np.lexsort((-end, start, group))

    def parents(self) -> Ints:
        """Find for each interval the one that encloses its start, other than itself; -1 for none."""
        return self._find(np.arange(len(self._start)), self._start)

    def reaching(self, rows: Ints, time: Ints) -> Ints:
        """Find for each of these rows the last one before it, of its group, that ends after a time; -1 for none."""
        return self._find(rows, self._shift[rows] + time)

    def at(self, group: Ints, time: Ints, until: Ints | None = None) -> Ints:
        """Find for each query its group's interval open from ``time`` to ``until`` that began last; -1 for none."""
        if not len(self._start):
            return np.full(len(time), -1, dtype=np.int64)
        codes = np.searchsorted(self._groups, group)
        is_inside = (codes < len(self._groups)) & (self._groups[np.minimum(codes, len(self._groups) - 1)] == group)
        is_inside &= (time >= self._low) & (time < self._low + self._span - 1)
        times = np.where(is_inside, codes * self._span + (time - self._low), -1)
        ends = times if until is None else times + (until - time)
        return self._find(search(self._start, times, "right"), ends)

    def _find(self, before: Ints, times: Ints) -> Ints:
        """Find the last interval whose position is under ``before`` and whose end is after the time; -1 for none."""
        rows = np.full(len(before), -1, dtype=np.int64)
        rising, node, height = np.flatnonzero(before), before[before > 0], 0
        stopped: list[tuple[Ints, Ints]] = []  # of each level the queries whose interval is below a node, and that node
        while len(rising):  # everything left of the node is still to be searched; most queries end after a few levels
            odd = np.flatnonzero(node & 1)
            hit = odd[self._levels[height][node[odd] - 1] > times[rising[odd]]]
            stopped.append((rising[hit], node[hit] - 1))
            node = node >> 1
            node[hit] = 0
            open_queries = np.flatnonzero(node)
            rising, node, height = rising[open_queries], node[open_queries], height + 1
        falling = node = np.empty(0, dtype=np.int64)
        for height in range(len(stopped) - 1, -1, -1):
            falling, node = (np.concatenate(both) for both in zip((falling, node), stopped[height], strict=True))
            if height:
                below = self._levels[height - 1]
                right = np.minimum(2 * node + 1, len(below) - 1)
                node = np.where(below[right] > times[falling], right, 2 * node)
        rows[falling] = node
        return rows


class StepPositions(NamedTuple):
    """Positions of times among the steps of a function."""

    step: Ints  # the step that each time lies in, or the last one before it; 0 where there is none
    past: Ints  # how much of that step lies before the time, in ns


@dataclass(frozen=True)
class StepFunction:
    """A function that is constant on disjoint intervals and unknown between them."""

    start: Ints  # starts of the intervals, ascending
    end: Ints  # their ends
    value: Floats  # the function's value on each; NaN counts as unknown

    def __post_init__(self) -> None:
        is_known = ~np.isnan(self.value)
        if not is_known.all():
            for name, array in (("start", self.start), ("end", self.end), ("value", self.value)):
                object.__setattr__(self, name, array[is_known])

    @property
    def known_ns(self) -> int:
        """Return for how long the function is known."""
        return int((self.end - self.start).sum())

    def between(self, low: int, high: int) -> "StepFunction":
        """Return the whole steps that overlap [low, high)."""
        steps = slice(np.searchsorted(self.end, low, side="right"), np.searchsorted(self.start, high, side="left"))
        return StepFunction(self.start[steps], self.end[steps], self.value[steps])

    def integral(self, low: Ints, high: Ints) -> Floats:
        """Integrate over the known part of [low, high): value x ns."""
        return self.until(high) - self.until(low)

    def until(self, time: Ints) -> Floats:
        """Integrate over the known part from the first step's start to a time: value x ns."""
        return self.before(self.locate(time))

    def locate(self, time: Ints) -> StepPositions:
        """Locate times among the steps, for any function with the same steps."""
        if not len(self.start):
            return StepPositions(np.zeros(len(time), dtype=np.int64), np.zeros(len(time), dtype=np.int64))
        step = np.maximum(search(self.start, time, "right") - 1, 0)
        past = np.minimum(time, self.end[step]) - self.start[step]
        return StepPositions(step, np.maximum(past, 0, out=past))  # before the first step it is negative

    def before(self, locate: StepPositions) -> Floats:
        """Integrate up to positions among the steps: value x ns."""
        if not len(self.value):
            return np.zeros(len(locate.step))
        integral: Floats = self._before[locate.step] + self.value[locate.step] * locate.past
        return integral

    @cached_property
    def indicator(self) -> "StepFunction":
        """Return a function that is 1 where this one is known."""
        return replace(self, value=np.broadcast_to(1.0, len(self.value)))

    def covered(self, low: Ints, high: Ints) -> Floats:
        """Measure how much of [low, high) is known, in ns."""
        return self.indicator.integral(low, high)

    def integrals_of(self, weights: Iterable[Floats], low: Ints, high: Ints) -> Iterator[Floats]:
        """Integrate over [low, high) other functions that are constant on the same steps."""
        begin, end = self.locate(low), self.locate(high)
        for function in (replace(self, value=weight) for weight in weights):
            yield function.before(end) - function.before(begin)

    @cached_property
    def _before(self) -> Floats:
        """Integrals up to each step's start, on demand: most functions have far more steps than queries."""
        sums = np.zeros(len(self.value))
        np.cumsum((self.value * (self.end - self.start))[:-1], out=sums[1:])
        return sums

    def overlaps(self, low: Ints | Floats, high: Ints | Floats) -> tuple[Ints, Ints, Ints]:
        """List all overlapping pairs of a query interval and a step, in order: their numbers, and the overlap in ns."""
        first = search(self.end, low, "right")
        count = np.maximum(search(self.start, high) - first, 0)
        query = np.repeat(np.arange(len(low)), count)
        step = index_in_runs(count) + np.repeat(first, count)
        overlap = np.minimum(self.end[step], high[query]) - np.maximum(self.start[step], low[query])
        return query, step, overlap


def last_before(group: Ints, time: Ints, of_group: Ints, start: Ints) -> Ints:
    """Find for each query the row of its group that starts last before its time; -1 for none."""
    order = np.lexsort((start, of_group))
    if not len(order) or not len(time):
        return np.full(len(time), -1)
    low = min(int(start.min()), int(time.min()))
    span = max(int(start.max()), int(time.max())) - low + 1  # groups are moved apart on one time line
    key = of_group[order] * span + (start[order] - low)
    index = np.searchsorted(key, group * span + (time - low)) - 1
    has_row = (index >= 0) & (of_group[order][index] == group)
    return np.where(has_row, order[index], -1)
