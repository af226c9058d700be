"""The text of the Trace Event Format: columns in, lines of JSON out, some ten thousand events at once."""

import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tcprof.analysis.intervals import OpenIntervals
from tcprof.arrays import Floats, Ints

ROWS_AT_ONCE = 100_000
BYTES_AT_ONCE = 1 << 25  # fewer rows at once, where names are long
MOST_ROWS = 8  # rows for events that overlap; the format's asynchronous events take any that are left
_COMPRESSION = 4  # two thirds of the time of the usual 6, for an eighth more bytes
_FRACTIONS = pa.array([f".{part:03d}" for part in range(1000)])


class EventFile:
    """A trace that is being written; what is known of the whole trace precedes the events."""

    def __init__(self, file: BinaryIO, about: Mapping[str, Any]) -> None:
        self._file = file
        self._between = b""
        head = {"displayTimeUnit": "ns", "otherData": about}
        self._file.write(clean_json(head)[:-1].encode() + b',"traceEvents":[\n')

    def write(self, lines: pa.Array) -> None:
        """Events, each as ``join`` made it."""
        if not len(lines):
            return
        joined = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), ",\n")
        self._file.write(self._between)
        self._file.write(joined[0].as_buffer())
        self._between = b",\n"

    def name(self, what: str, pid: int, tid: int, name: str, place: int) -> None:
        """Name a ``process`` or a ``thread``, and give its position among the others."""
        row = {"ph": "M", "pid": pid, "tid": tid}
        events = (
            {**row, "name": f"{what}_name", "args": {"name": name}},
            {**row, "name": f"{what}_sort_index", "args": {"sort_index": place}},
        )
        self.write(pa.array([clean_json(event) for event in events]))


@contextmanager
def open_events(path: Path, about: Mapping[str, Any]) -> Iterator[EventFile]:
    """A new trace, compressed if its name ends in .gz; the same events give the same bytes."""
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(path.open("wb"))
        if path.suffix == ".gz":
            packed = gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=file, mtime=0)
            file = stack.enter_context(io.BufferedWriter(stack.enter_context(packed), 1 << 20))
        yield EventFile(file, about)
        file.write(b"\n]}\n")


def clean_json(value: Any) -> str:
    """A value as JSON in one line; lone surrogates, which no UTF-8 can hold, become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def quoted(texts: Sequence[str]) -> pa.Array:
    """Texts as JSON."""
    return pa.array([clean_json(text) for text in texts], pa.string())


def take(texts: pa.Array, rows: Ints) -> pa.Array:
    """The texts with these numbers; -1 takes none."""
    return texts.take(pa.array(rows, mask=rows < 0))


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


def argument(key: str, values: pa.Array) -> pa.Array:
    """``,"key":value`` for each value; null where it is null, so that ``join`` leaves it out."""
    return pc.binary_join_element_wise(f",{clean_json(key)}:", values, "")


def join(*parts: pa.Array | str) -> pa.Array:
    """The parts of each line, one after the other; nulls are left out. One part at least is an array."""
    return pc.binary_join_element_wise(*parts, "", null_handling="skip")


def chunks(rows: int, longest: int = 0) -> Iterator[slice]:
    """So many rows at a time that their lines, the longest text of which has so many bytes, take little memory."""
    step = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // (longest + 1)))
    for first in range(0, rows, step):
        yield slice(first, min(first + step, rows))


def longest_text(*texts: pa.Array) -> int:
    """Bytes of the longest text of each array, added up."""
    return sum(pc.max(pc.binary_length(array)).as_py() or 0 for array in texts)


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
