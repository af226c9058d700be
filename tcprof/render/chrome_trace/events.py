"""The Trace Event Format: processes, rows and tracks as lines of JSON, some ten thousand events at once."""

import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tcprof.analysis.intervals import OpenIntervals
from tcprof.arrays import Floats, Ints
from tcprof.untrusted import without_surrogates

ROWS_AT_ONCE = 100_000
BYTES_AT_ONCE = 1 << 25  # fewer rows at once, where names are long
MOST_ROWS = 8  # rows for events that overlap; the format's asynchronous events take any that are left
_COMPRESSION = 4  # two thirds of the time of the usual 6, for an eighth more bytes
_FRACTIONS = pa.array([f".{part:03d}" for part in range(1000)])


def clean_json(value: Any) -> str:
    """A value as JSON in one line; lone surrogates, which no UTF-8 can hold, become U+FFFD."""
    return without_surrogates(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def quoted(values: Iterable[Any]) -> pa.Array:
    """Texts or objects as JSON."""
    return pa.array([clean_json(value) for value in values], pa.string())


def microseconds(time: Ints) -> pa.Array:
    """Times in ns, which are not negative, as microseconds with all their digits."""
    return join(pa.array(time // 1000).cast(pa.string()), _FRACTIONS.take(pa.array(time % 1000)))


def numbers(values: Ints | Floats) -> pa.Array:
    """Numbers as text, to 6 decimals; null where they are not known."""
    if values.dtype.kind == "i":
        return pa.array(values).cast(pa.string())
    with np.errstate(over="ignore"):
        rounded = np.round(values, 6)
    return pa.array(rounded, mask=~np.isfinite(rounded)).cast(pa.string())


def join(*parts: pa.Array | str) -> pa.Array:
    """The parts of each line, one after the other; nulls are left out. One part at least is an array."""
    return pc.binary_join_element_wise(*parts, "", null_handling="skip")


def chunks(rows: int, longest: int = 0) -> Iterator[slice]:
    """So many rows at a time that their lines, the longest text of which has so many bytes, take little memory."""
    step = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // (longest + 1)))
    for first in range(0, rows, step):
        yield slice(first, min(first + step, rows))


def assign_rows(lane: Ints, start: Ints, end: Ints) -> Ints:
    """For each event of a lane the row to draw it on, such that the events of a row lie in each other or apart.

    Events come in the order of ``OpenIntervals.order``. Rows are numbered from 0 for each lane; -1 is for events that
    would need more than ``MOST_ROWS`` rows.
    """
    row = np.zeros(len(lane), dtype=np.int64)
    parent = OpenIntervals(lane, start, end).parents()
    crosses = (parent >= 0) & (end > end[parent])
    if not crosses.any():
        return row
    # A cluster is what hangs together; one in which all is nested needs no second row, and no look at each event.
    cluster = np.cumsum(parent < 0)
    index = np.flatnonzero(np.isin(cluster, cluster[crosses]))
    columns = (array[index].tolist() for array in (cluster, start, end))
    row[index] = list(_first_rows(zip(*columns, strict=True)))
    return row


def _first_rows(events: Iterator[tuple[int, int, int]]) -> Iterator[int]:
    """The first row that each event fits on, between or into those before it."""
    current, rows = -1, [[0]]
    for cluster, start, end in events:
        if cluster != current:
            current, rows = cluster, [[] for _ in range(MOST_ROWS)]
        for number, ends in enumerate(rows):
            while ends and ends[-1] <= start:
                ends.pop()
            if not ends or end <= ends[-1]:
                ends.append(end)
                yield number
                break
        else:
            yield -1


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
    """A trace that is being written, one process after the other; times are counted from ``zero``, in ns."""

    def __init__(self, file: BinaryIO, about: Mapping[str, Any], zero: int) -> None:
        self._file = file
        self._zero = zero
        self._between = b""
        self._places = count()
        self._tids = count(_TIDS)
        file.write(clean_json({"displayTimeUnit": "ns", "otherData": about})[:-1].encode() + b',"traceEvents":[\n')

    def _write(self, lines: pa.Array) -> None:
        """Write events, each as ``join`` made it."""
        if len(lines):
            joined = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), ",\n")
            self._file.write(self._between)
            self._file.write(joined[0].as_buffer())
            self._between = b",\n"

    def _name(self, what: str, pid: int, tid: int, name: str) -> None:
        """Name a ``process`` or a ``thread``, and place it under those before."""
        row = {"ph": "M", "pid": pid, "tid": tid}
        place = {**row, "name": f"{what}_sort_index", "args": {"sort_index": next(self._places)}}
        self._write(quoted([{**row, "name": f"{what}_name", "args": {"name": name}}, place]))

    def process(self, name: str, pid: int) -> None:
        """Name a process, and place it under those before."""
        self._name("process", pid, pid, name)

    def slices(self, pid: int, slices: Slices) -> None:
        """Draw events with a duration; those of a lane that overlap, but do not nest, get rows of their own."""
        order = OpenIntervals.order(slices.lane, slices.start, slices.end)
        lane = slices.lane[order]
        row = assign_rows(lane, slices.start[order], slices.end[order])
        place = lane * OUTSIDE + np.maximum(row, 0)
        places = np.unique(place)
        tids = np.array([self._thread(pid, slices.lanes[key // OUTSIDE], key % OUTSIDE) for key in places.tolist()])
        texts = (slices.name[1], *(texts for _, texts in slices.shared.values()))
        longest = sum(pc.max(pc.binary_length(each)).as_py() or 0 for each in texts)
        for some in chunks(len(order), longest):
            tid, alone = tids[np.searchsorted(places, place[some])], row[some] < 0
            self._draw(pid, slices, order[some][~alone], tid[~alone], "X")
            for phase in ("b", "e"):  # events that may overlap in any way: their begins, then their ends
                self._draw(pid, slices, order[some][alone], tid[alone], phase)

    def _thread(self, pid: int, lane: Lane, level: int) -> int:
        tid = next(self._tids) if level or lane.tid is None else lane.tid
        self._name("thread", pid, tid, f"{lane.name}, overlapping {level}" if level else lane.name)
        return tid

    def _draw(self, pid: int, slices: Slices, rows: Ints, tid: Ints, phase: str) -> None:
        """Draw events that have their end in them (phase X), or the begins (b) or ends (e) of others, tied by an id."""
        times = slices.end if phase == "e" else slices.start
        details: tuple[Any, ...] = (',"id":"', numbers(tid), ".", numbers(slices.number[rows]), '"')
        if phase == "X":
            details = ',"dur":', microseconds(slices.end[rows] - slices.start[rows])
        name, category = (_take(texts, number[rows]) for number, texts in (slices.name, slices.category))
        line = join(
            f'{{"ph":"{phase}","pid":{pid},"tid":',
            *(numbers(tid), ',"ts":', microseconds(times[rows] - self._zero)),
            *details,
            *(',"name":', name, ',"cat":', category, ',"args":{'),
            *([] if phase == "e" else _arguments(slices, rows)),
            "}}",
        )
        self._write(line)

    def counter(self, pid: int, name: str, unit: str, start: Ints, end: Ints, value: Floats) -> None:
        """Draw a track of one process from samples; the format knows no gaps: what is not known is 0."""
        head, key = f'{{"ph":"C","pid":{pid},"ts":', f',"name":"{name}","args":{{"{unit}":'
        for some in chunks(len(start)):
            times, values = _steps(start, end, value, some)
            self._write(join(head, microseconds(times - self._zero), key, numbers(values), "}}"))


@contextmanager
def open_drawing(path: Path, about: Mapping[str, Any], zero: int) -> Iterator[Drawing]:
    """A new trace, compressed if its name ends in .gz; what is known of it precedes its events.

    The same events give the same bytes.
    """
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(path.open("wb"))
        if path.suffix == ".gz":
            packed = gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=file, mtime=0)
            file = stack.enter_context(io.BufferedWriter(stack.enter_context(packed), 1 << 20))
        yield Drawing(file, about, zero)
        file.write(b"\n]}\n")


def _take(texts: pa.Array, rows: Ints) -> pa.Array:
    """The texts with these numbers; -1 takes none."""
    return texts.take(pa.array(rows, mask=rows < 0))


def _arguments(slices: Slices, rows: Ints) -> Iterator[pa.Array | str]:
    """``"key":value`` for each event, where it is known: ``join`` leaves out what is null."""
    yield f'"{slices.row}":'
    yield numbers(slices.number[rows])
    own = ((key, numbers(values[rows])) for key, values in slices.own.items())
    shared = ((key, _take(texts, number[rows])) for key, (number, texts) in slices.shared.items())
    for key, values in chain(own, shared):
        yield pc.binary_join_element_wise(f",{clean_json(key)}:", values, "")


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
