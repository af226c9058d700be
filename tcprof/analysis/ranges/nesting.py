"""How the ranges of a thread lie in each other, and which are open at a time.

A range lies in the innermost one that encloses the whole of it. Push/pop ranges always nest. A start/end range may
*cross* them: begin in one and end in another. Then it lies in neither; and where both are open, other ranges lie in the
push/pop range. So a step keeps its ranges, whatever is being prefetched meanwhile.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import OpenIntervals
from tcprof.annotate.steps import BACKWARD, DOMAIN, FORWARD, NAMES, RECOMPUTE
from tcprof.arrays import Bools, Ints


class Nesting:
    """The nesting of ranges on their lanes, which are threads and domains; in the order of ``OpenIntervals.order``."""

    def __init__(self, lane: Ints, start: Ints, end: Ints, start_end: Bools) -> None:
        self._lane, self._start, self._end = lane, start, end
        self._start_end = np.flatnonzero(start_end)
        # An interval that ends where it starts is never found. So start/end ranges have two: an empty one that keeps
        # their place in the order, and what is left of them where a push/pop range that they cross is not open.
        empty = np.where(start_end, start, end)
        left_start, left_end = self._uncrossed(OpenIntervals(lane, start, empty))
        every = np.append(np.arange(len(lane)), self._start_end)
        starts, ends = np.append(start, left_start), np.append(end, left_end)
        order = np.lexsort((np.arange(len(every)) >= len(lane), every, -ends, starts, lane[every]))
        self._row = every[order]
        self._place = np.empty(len(every), dtype=np.int64)
        self._place[order] = np.arange(len(every))
        self._open = OpenIntervals(lane[self._row], starts[order], np.append(empty, left_end)[order])

    def _uncrossed(self, stack: OpenIntervals) -> tuple[Ints, Ints]:
        """Starts and ends of the start/end ranges without what they share with push/pop ranges that they cross."""
        row = self._start_end
        start, end = self._start[row], self._end[row]
        first = stack.reaching(row, start)
        before = _climb(first, lambda p, i: stack.reaching(p, start[i]), lambda p, i: self._end[p] < end[i])
        first = stack.at(self._lane[row], end - 1, until=end)
        after = _climb(first, lambda p, i: stack.reaching(p, end[i]), lambda p, i: self._start[p] > start[i])
        low = np.where(before >= 0, self._end[before], start)
        high = np.where(after >= 0, self._start[after], end)
        return low, np.maximum(low, high)

    def parents(self) -> Ints:
        """For each range the row of the innermost one that it lies in, -1 for an outermost one."""
        last = np.maximum(self._end - 1, self._start)
        return self._rows(self._open.reaching(self._place[: len(last)], last))

    def at(self, lane: Ints, time: Ints) -> Ints:
        """The row of the innermost open range of a lane at a time, -1 for none; of two that cross, the push/pop one."""
        return self._rows(self._open.at(lane, time))

    def _rows(self, place: Ints) -> Ints:
        return np.where(place >= 0, np.append(self._row, -1)[place], -1)

    def start_end_at(self, path: Ints, lane: Ints, time: Ints) -> tuple[Ints, Ints]:
        """Pairs of a query and the row of a start/end range open then; of several of one path the last to begin."""
        of_lane, low, high, row = self._segments(path)
        if not len(row) or not len(time):
            return row[:0], row[:0]
        origin = min(int(low.min()), int(time.min()))
        span = max(int(high.max()), int(time.max())) - origin + 1  # lanes are moved apart on one time line
        key = lane * span + (time - origin)
        order = np.argsort(key, kind="stable")
        first, last = (np.searchsorted(key[order], of_lane * span + (times - origin)) for times in (low, high))
        count = last - first
        place = np.arange(count.sum()) + np.repeat(first - (np.cumsum(count) - count), count)
        return order[place], np.repeat(row, count)

    def _segments(self, path: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """The start/end ranges of each lane and path, cut so that one of them holds at a time: the last to begin."""
        key = self._lane[self._start_end] * (int(path.max(initial=0)) + 1) + path[self._start_end]
        order = np.argsort(key, kind="stable")
        rows, key = self._start_end[order], key[order]
        start, end = self._start[rows], self._end[rows]
        border_key, border = np.tile(key, 2), np.append(start, end)
        order = np.lexsort((border, border_key))
        border_key, border = border_key[order], border[order]
        place = OpenIntervals(key, start, end).at(border_key[:-1], border[:-1])
        held = np.flatnonzero((place >= 0) & (border[1:] > border[:-1]) & (border_key[1:] == border_key[:-1]))
        row = rows[place[held]]
        return self._lane[row], border[held], border[held + 1], row


def _climb(row: Ints, around: Callable[[Ints, Ints], Ints], holds: Callable[[Ints, Ints], Bools]) -> Ints:
    """From the innermost of nested rows outwards, the last one for which a condition holds; -1 for none."""
    found = np.full(len(row), -1, dtype=np.int64)
    index = np.flatnonzero(row >= 0)
    row = row[index]
    while len(index):
        kept = holds(row, index)
        index, row = index[kept], row[kept]
        found[index] = row
        row = around(row, index)
        index, row = index[row >= 0], row[row >= 0]
    return found


def bring_home(parent: Ints, ranges: pd.DataFrame, lane: Ints, nesting: Nesting) -> Ints:
    """The row of the range that each lies in, on its own thread or on one that it works for; -1 for none.

    Recomputations on threads of autograd lie in the backward pass. A replica that DataParallel calls lies beside the
    call of its module, whose name it has: both are in the forward pass. ``parent`` is of their own threads.
    """
    outermost = (ranges["domain"] == DOMAIN).to_numpy() & (parent < 0)
    name = ranges["name"]
    code = name.cat.codes.to_numpy()
    again = np.flatnonzero(outermost & (name == RECOMPUTE).to_numpy())
    backward = np.full(len(again), name.cat.categories.get_indexer([BACKWARD])[0])
    found = parent.copy()
    found[again] = _find_open(BACKWARD, again, backward, ranges, lane, nesting)
    called = np.flatnonzero(outermost & ~name.isin(NAMES).to_numpy() & ~ranges["start_end"].to_numpy())
    found[called] = np.append(parent, -1)[_find_open(FORWARD, called, code[called], ranges, lane, nesting)]
    return found


def _find_open(phase: str, rows: Ints, sought: Ints, ranges: pd.DataFrame, lane: Ints, nesting: Nesting) -> Ints:
    """For each range the one of a name that is open on another lane of its process; -1 for none, or for several."""
    process, start = (ranges[column].to_numpy() for column in ("process", "start_ns"))
    code = ranges["name"].cat.codes.to_numpy()
    count, found = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), -1, dtype=np.int64)
    has_phase = ((ranges["domain"] == DOMAIN) & (ranges["name"] == phase)).to_numpy()
    for each in np.unique(lane[has_phase]) if len(rows) else ():
        around = nesting.at(np.full(len(rows), each), start[rows])
        is_open = (lane[rows] != each) & (around >= 0) & (code[around] == sought) & (process[around] == process[rows])
        count += is_open
        found = np.where(is_open, around, found)
    return np.where(count == 1, found, -1)
