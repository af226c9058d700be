"""Processes, rows and tracks of a trace in the Trace Event Format."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tcprof.analysis.intervals import OpenIntervals
from tcprof.arrays import Floats, Ints
from tcprof.render.chrome_trace.events import (
    EventFile,
    argument,
    assign_rows,
    chunks,
    join,
    longest_text,
    microseconds,
    numbers,
    take,
)

OUTSIDE = 1 << 24  # above all numbers of processes and threads in a recording, which have 24 bits
_TIDS = 3 * OUTSIDE  # rows that stand for no thread; each is the only one of its number, as old readers want it

Texts = tuple[Ints, pa.Array]  # texts as JSON that many events share, and for each event the number of its own


@dataclass(frozen=True)
class Lane:
    """A row of a process."""

    name: str
    tid: int | None = None  # the thread that it stands for; None where it stands for none


@dataclass(frozen=True)
class Slices:
    """Events with a duration."""

    lanes: Sequence[Lane]  # the lanes that they are drawn in
    lane: Ints  # number of each event's lane
    start: Ints  # ns
    end: Ints
    row: str  # what the events are rows of, such as ``activity``: the argument that each has
    number: Ints  # its value: the number of the row
    name: Texts
    category: Texts  # their categories, separated by commas
    shared: dict[str, Texts] = field(default_factory=dict)  # arguments that many events share; number -1 for none
    # Arguments that are numbers of each event's own, NaN where not known.
    own: dict[str, npt.NDArray[Any]] = field(default_factory=dict)


class Drawing:
    """Writes one process of a trace after the other; times are counted from ``zero``, in ns."""

    def __init__(self, file: EventFile, zero: int) -> None:
        self._file = file
        self._zero = zero
        self._places = count()
        self._tids = count(_TIDS)

    def process(self, name: str, pid: int) -> None:
        """Name a process, and place it under those before."""
        self._file.name("process", pid, pid, name, next(self._places))

    def slices(self, pid: int, slices: Slices) -> None:
        """Draw events with a duration; those of a lane that overlap, but do not nest, get rows of their own."""
        order = OpenIntervals.order(slices.lane, slices.start, slices.end)
        lane = slices.lane[order]
        row = assign_rows(lane, slices.start[order], slices.end[order])
        place = lane * OUTSIDE + np.maximum(row, 0)
        places = np.unique(place)
        tids = np.array([self._thread(pid, slices.lanes[key // OUTSIDE], key % OUTSIDE) for key in places.tolist()])
        longest = longest_text(slices.name[1], *(texts for _, texts in slices.shared.values()))
        for some in chunks(len(order), longest):
            tid, alone = tids[np.searchsorted(places, place[some])], row[some] < 0
            self._file.write(self._complete(pid, slices, order[some][~alone], tid[~alone]))
            self._file.write(self._asynchronous(pid, slices, order[some][alone], tid[alone]))

    def _thread(self, pid: int, lane: Lane, level: int) -> int:
        tid = next(self._tids) if level or lane.tid is None else lane.tid
        name = f"{lane.name}, overlapping {level}" if level else lane.name
        self._file.name("thread", pid, tid, name, next(self._places))
        return tid

    def _complete(self, pid: int, slices: Slices, rows: Ints, tid: Ints) -> pa.Array:
        """Events that have their end in them."""
        return join(
            f'{{"ph":"X","pid":{pid},"tid":',
            *(numbers(tid), ',"ts":', microseconds(slices.start[rows] - self._zero)),
            *(',"dur":', microseconds(slices.end[rows] - slices.start[rows])),
            *_named(slices, rows),
            *_arguments(slices, rows),
            "}}",
        )

    def _asynchronous(self, pid: int, slices: Slices, rows: Ints, tid: Ints) -> pa.Array:
        """Events that may overlap in any way, each as its begin and its end, tied by an id."""
        parts = []
        for phase, times, more in (("b", slices.start, _arguments(slices, rows)), ("e", slices.end, [',"args":{'])):
            line = join(
                f'{{"ph":"{phase}","pid":{pid},"tid":',
                *(numbers(tid), ',"ts":', microseconds(times[rows] - self._zero)),
                *(',"id":"', numbers(tid), ".", numbers(slices.number[rows]), '"'),
                *_named(slices, rows),
                *more,
                "}}",
            )
            parts.append(line)
        return pa.concat_arrays(parts)

    def counter(self, pid: int, name: str, unit: str, start: Ints, end: Ints, value: Floats) -> None:
        """Draw a track of one process from samples; the format knows no gaps: what is not known is 0."""
        head, key = f'{{"ph":"C","pid":{pid},"ts":', f',"name":"{name}","args":{{"{unit}":'
        for some in chunks(len(start)):
            times, values = _steps(start, end, value, some)
            self._file.write(join(head, microseconds(times - self._zero), key, numbers(values), "}}"))


def _named(slices: Slices, rows: Ints) -> list[pa.Array | str]:
    name, category = (take(texts, number[rows]) for number, texts in (slices.name, slices.category))
    return [',"name":', name, ',"cat":', category]


def _arguments(slices: Slices, rows: Ints) -> list[pa.Array | str]:
    own = [argument(key, numbers(values[rows])) for key, values in slices.own.items()]
    shared = [argument(key, take(texts, number[rows])) for key, (number, texts) in slices.shared.items()]
    return [f',"args":{{"{slices.row}":', numbers(slices.number[rows]), *own, *shared]


def _steps(start: Ints, end: Ints, value: Floats, some: slice) -> tuple[Ints, Floats]:
    """When some of the samples change the counter, and to what."""
    rows = np.arange(some.start, some.stop)
    before, after = np.maximum(rows - 1, 0), np.minimum(rows + 1, len(start) - 1)
    same = (value[before] == value[rows]) | (np.isnan(value[before]) & np.isnan(value[rows]))
    begins = rows[(before == rows) | (end[before] != start[rows]) | ~same]
    ends = rows[start[after] != end[rows]]  # the last one too
    times = np.concatenate((start[begins], end[ends]))
    values = np.nan_to_num(np.concatenate((value[begins], np.zeros(len(ends)))))
    order = np.argsort(times, kind="stable")
    return times[order], values[order]
