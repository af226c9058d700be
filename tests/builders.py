"""Synthetic exports, and tables to hold frames against: what a test's recording holds is readable at a glance.

>>> path = (
...     TraceBuilder()
...     .gpu(0, "NVIDIA H200", sm_count=132)
...     .range("step", 0, 20_000)
...     .kernel("gemm", 2_000, 9_000, launched=1_000)
...     .samples([0, 50, 100], start=0, period=10_000)
...     .write(tmp_path)
... )

The tables come from ``tcprof.nsys.schema``. As in a real export, only tables that have rows are written,
beside the two that every export has. Processes, threads and GPUs that a test does not name are process ``PROCESS``,
thread 1 and GPU 0.
"""

import functools
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Table

from tcprof.analysis import Analysis, analyze
from tcprof.annotate.steps import DOMAIN
from tcprof.nsys import schema
from tcprof.sources import Source
from tcprof.sources.nsys_sqlite import NsysExport
from tcprof.sources.registry import find_type

FIXTURES = Path(__file__).parent.parent / "fixtures"
FP32, AMP = FIXTURES / "mnist_fp32.sqlite", FIXTURES / "mnist_amp.sqlite"
US, MS = 1_000, 1_000_000
PROCESS = 1000
TENSOR_ACTIVE = "Tensor Active [Throughput %]"
TENSOR_CYCLES = "Tensor Active [Sum]"
SM_CYCLES = "SM Cycles [Sum]"
CLOCK = "GPC Clock Frequency [MHz]"

_HOST = 1 << 48  # the bits of the machine and the hypervisor, above those of the process
_COPY_KINDS = {name: number for number, name in schema.COPY_KINDS.items()}
_SEVERITIES = {name: number for number, name in schema.SEVERITIES.items()}
Name = str | bytes
Time = int | None  # None where an export has no value


def global_id(process: int, thread: int = 0) -> int:
    """A ``globalTid``, or without a thread a ``globalPid``."""
    return _HOST | process << 24 | thread


def type_id(gpu: int, kind: int = schema.SAMPLE_ROW) -> int:
    """The ``typeId`` of a GPU's rows of metrics; kind 2 are diagnostic ranges."""
    return _HOST | kind << 8 | gpu


def read_back_signed(values: Iterable[int], width: int | None = None) -> list[int]:
    """Counts as an export gives them back: stored in ``width`` bytes, or the fewest, without a sign, read with one."""
    counts = [int(value) for value in values]
    size = max(1, (max(counts, default=0).bit_length() + 7) // 8) if width is None else width
    return [int.from_bytes(count.to_bytes(size, "little"), "little", signed=True) for count in counts]


class TraceBuilder:
    """Makes an export row by row; every method but ``write`` and ``trace`` gives the builder back."""

    def __init__(self) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._absent: set[str] = set()
        self._strings: dict[Name, int] = {}
        self._domains: dict[tuple[int, str], int] = {}
        self._metrics: dict[tuple[int, str], int] = {}
        self._correlation = 100
        # Every export has these two; by them it is told from other databases.
        self.row(schema.STRINGS, id=0, value="[Unknown]")
        self.row(schema.EXPORT_METADATA, name="EXPORT_PRODUCT_NAME", value="NVIDIA Nsight Systems")

    def row(self, table: Table | str, **values: Any) -> Self:
        """One row of any table, also of one that tcprof does not read; text may be bytes that are no UTF-8."""
        self._rows.setdefault(table if isinstance(table, str) else table.name, []).append(values)
        return self

    def without(self, *names: str) -> Self:
        """Leave out tables ("GPU_METRICS") or columns ("GPU_METRICS.value"), as other versions do."""
        self._absent.update(names)
        return self

    # The recording

    def recorded(self, duration: int | None = None, started: int | None = None) -> Self:
        """The recording's length in ns, and when it began in ns since 1970."""
        if duration is not None:
            self.row(schema.CAPTURE, duration=duration, startTime=0, stopTime=duration)
        return self if started is None else self.row(schema.SESSION_START, utcEpochNs=started)

    def exported(self, nsys: str = "2025.3.2.0", tables: str = "3.20.3") -> Self:
        """The versions of nsys and of the export's tables."""
        self.row(schema.EXPORT_METADATA, name="EXPORT_PRODUCT_VERSION", value=nsys)
        return self.row(schema.EXPORT_METADATA, name="EXPORT_SCHEMA_VERSION", value=tables)

    def captured(self, name: str, value: str) -> Self:
        """An option of the recording (META_DATA_CAPTURE)."""
        return self.row(schema.CAPTURE_METADATA, name=name, value=value)

    def system(self, name: str, value: str) -> Self:
        """A fact about the machine, such as NvDriverVersion."""
        return self.row(schema.SYSTEM, nameEnum=0, name=name, value=value)

    def diagnostic(self, severity: str, text: Name) -> Self:
        """Something that nsys said: information, warning, error or verbose."""
        return self.row(schema.DIAGNOSTICS, timestamp=0, source=1, severity=_SEVERITIES[severity], text=text)

    # GPUs

    def gpu(
        self,
        number: int = 0,
        name: str = "NVIDIA H200",
        *,
        chip: str | None = "GH100",
        sm_count: int | None = 132,
        clock_hz: int | None = 1_980_000_000,
        memory_bytes: int | None = 150_109_880_320,
        bandwidth: int | None = 4_800_000_000_000,
        cuda_device: int | None = None,
        bus: str | None = None,
    ) -> Self:
        """A GPU; ``cuda_device`` is its number in CUDA, where that differs from nsys's."""
        return self.row(
            schema.GPUS,
            id=number,
            name=name,
            chipName=chip,
            smCount=sm_count,
            clockRate=clock_hz,
            totalMemory=memory_bytes,
            memoryBandwidth=bandwidth,
            cuDevice=number if cuda_device is None else cuda_device,
            busLocation=bus,
        )

    def visible_device(self, device: int, gpu: int, *, process: int = PROCESS) -> Self:
        """The GPU that a process knows as a CUDA device, as CUDA_VISIBLE_DEVICES had it."""
        return self.row(schema.CUDA_DEVICES, gpuId=gpu, cudaId=device, pid=process)

    # Ranges

    def range(
        self,
        name: Name | None,
        start: int,
        end: int | None,
        *,
        thread: int = 1,
        process: int = PROCESS,
        domain: str = "",
        registered: bool = False,
        start_end: bool = False,
        payload: str | None = None,
    ) -> Self:
        """An NVTX range: push/pop, or start/end; without an end it never closed. A registered name is a number."""
        return self.row(
            schema.NVTX,
            start=start,
            end=end,
            eventType=schema.NVTX_START_END if start_end else schema.NVTX_PUSH_POP,
            globalTid=global_id(process, thread),
            domainId=self._domain(domain, process),
            textId=self._string(name) if registered and name is not None else None,
            text=None if registered else name,
            jsonText=payload,
        )

    def steps(self, count: int, period: int, length: int, *, name: str = "step", **place: Any) -> Iterator[int]:
        """Open so many ranges, one each period, and give the start of each, for what is in it."""
        for start in range(0, count * period, period):
            self.range(name, start, start + length, **place)
            yield start

    def mark(self, name: str, at: int, *, thread: int = 1, process: int = PROCESS, domain: str = DOMAIN) -> Self:
        return self.row(
            schema.NVTX,
            start=at,
            eventType=schema.NVTX_MARK,
            globalTid=global_id(process, thread),
            domainId=self._domain(domain, process),
            text=name,
        )

    def _domain(self, name: str, process: int) -> int:
        """The number of a domain in its process, which opens the domain when it is first met."""
        if not name:
            return 0
        if (process, name) not in self._domains:
            number = 1 + sum(owner == process for owner, _ in self._domains)
            self._domains[process, name] = number
            self.row(
                schema.NVTX,
                start=0,
                eventType=schema.NVTX_DOMAIN_CREATE,
                globalTid=global_id(process),
                domainId=number,
                text=name,
            )
        return self._domains[process, name]

    def _string(self, value: Name) -> int:
        if value not in self._strings:
            self._strings[value] = len(self._strings) + 1
            self.row(schema.STRINGS, id=self._strings[value], value=value)
        return self._strings[value]

    # Launches and activities

    def launch(
        self,
        start: int,
        correlation: int,
        *,
        returned: int | None = None,
        thread: int = 1,
        process: int = PROCESS,
        name: Name | None = None,
    ) -> Self:
        """An API call. ``kernel`` and its kin make their own; this is for calls with several activities or none."""
        owner = global_id(process, thread)
        named = 0 if name is None else self._string(name)
        end = start + 5 if returned is None else returned
        return self.row(
            schema.API_CALLS, start=start, end=end, globalTid=owner, correlationId=correlation, nameId=named
        )

    def kernel(self, name: Name, start: Time, end: Time, **place: Any) -> Self:
        """A kernel. For its launch and its place see ``activity``."""
        named = {"demangledName": self._string(name), "shortName": self._string(name)}
        geometry = {f"{what}{axis}": 1 for what in ("grid", "block") for axis in "XYZ"}
        return self.activity(schema.KERNELS, start, end, **(named | geometry | place))

    def copy(self, direction: str, start: Time, end: Time, **place: Any) -> Self:
        """A copy, such as "host to device"."""
        kind = _COPY_KINDS[direction]
        return self.activity(schema.COPIES, start, end, **({"copyKind": kind, "bytes": 1024} | place))

    def memset(self, start: Time, end: Time, **place: Any) -> Self:
        return self.activity(schema.SETS, start, end, **({"bytes": 1024} | place))

    def graph(self, start: Time, end: Time, **place: Any) -> Self:
        """A launch of a CUDA graph that was recorded as a whole."""
        return self.activity(schema.GRAPHS, start, end, **({"graphId": 1, "graphExecId": 2} | place))

    def activity(
        self,
        table: Table,
        start: Time,
        end: Time,
        *,
        launched: int | None = None,
        thread: int = 1,
        process: int = PROCESS,
        device: int = 0,
        stream: int = 7,
        correlation: int | None = None,
        **values: Any,
    ) -> Self:
        """Work on a GPU.

        Args:
            table: One of ``schema.ACTIVITY_TABLES``.
            start: Start on the GPU.
            end: End on the GPU.
            launched: Start of its launch; None where no launch was recorded.
            thread: Thread that launched it.
            process: Process that it belongs to.
            device: Number of the GPU in CUDA, as the process counts.
            stream: Its stream.
            correlation: Its number, by default a new one; for activities of one launch give the same to each.
            values: Other columns, which also replace those above.
        """
        if correlation is None:
            self._correlation += 1
            correlation = self._correlation
        if launched is not None:
            self.launch(launched, correlation, thread=thread, process=process)
        row = {
            "start": start,
            "end": end,
            "deviceId": device,
            "streamId": stream,
            "correlationId": correlation,
            "globalPid": global_id(process),
        }
        return self.row(table, **row | values)

    # Samples

    def samples(
        self,
        values: Sequence[int],
        *,
        start: int = 0,
        period: int = 10_000,
        times: Sequence[int] | None = None,
        gpu: int = 0,
        metric: str = TENSOR_ACTIVE,
        metric_id: int | None = None,
    ) -> Self:
        """Samples of a metric, one each period from ``start``, or at the given ``times``, as the export has them."""
        self._write_metric(type_id(gpu), metric, metric_id, values, times or self._times(len(values), start, period))
        return self

    def cycles(
        self,
        tensor: Sequence[int],
        *,
        sm: Sequence[int] | None = None,
        clock_hz: Sequence[int] | None = None,
        **when: Any,
    ) -> Self:
        """Samples of tcprof's own metric set: tensor cycles with the SMs' cycles, or with the clock."""
        self.samples(tensor, metric=TENSOR_CYCLES, **when)
        if sm is not None:
            self.samples(sm, metric=SM_CYCLES, **when)
        return self if clock_hz is None else self.samples(clock_hz, metric=CLOCK, **when)

    def lost(self, start: int, end: int, *, gpu: int = 0) -> Self:
        """A stretch that nsys marked as missing or inconsistent."""
        self._write_metric(type_id(gpu, schema.DIAGNOSTIC_ROW), "EndTimestamp", None, [end], [start])
        return self

    def driver_log(self, watts: Sequence[int | None], *, gpu: int = 0, start: int = 0, **facts: int | None) -> Self:
        """What the driver says every 100 ms, as ``tcprof profile`` adds it; ``facts`` are the same throughout."""
        for time, value in zip(self._times(len(watts), start, 100 * MS), watts, strict=True):
            power = None if value is None else 1000 * value
            self.row(schema.DRIVER_LOG, timestamp=time, gpu=gpu, power=power, powerLimit=700_000, **facts)
        return self

    def json_samples(
        self, metrics: dict[str, Sequence[int]], *, start: int = 0, period: int = 10_000, gpu: int = 0
    ) -> Self:
        """Samples as exports of 2022 have them: one JSON text for each time, with a string for each value."""
        fields = {"Name": "", "Fields": [{"Name": name} for name in metrics]}
        self.row(schema.GENERIC_TYPES, typeId=type_id(gpu), data=json.dumps(fields))
        lines = [dict(zip(metrics, values, strict=True)) for values in zip(*metrics.values(), strict=True)]
        for time, line in zip(self._times(len(lines), start, period), lines, strict=True):
            self.json_row(time, json.dumps({name: str(value) for name, value in line.items()}), gpu=gpu)
        return self

    def json_row(self, time: int, text: str, *, gpu: int = 0) -> Self:
        """One sample as JSON text, whole or not."""
        return self.row(schema.GENERIC_EVENTS, rawTimestamp=time, typeId=type_id(gpu), data=text)

    @staticmethod
    def _times(count: int, start: int, period: int) -> list[int]:
        return [start + i * period for i in range(count)]

    def _write_metric(
        self, kind: int, name: str, number: int | None, values: Sequence[int], times: Sequence[int]
    ) -> None:
        if (kind, name) not in self._metrics:
            taken = sum(other == kind for other, _ in self._metrics)
            self._metrics[kind, name] = taken if number is None else number
            self.row(schema.METRIC_NAMES, typeId=kind, metricId=self._metrics[kind, name], metricName=name)
        metric = self._metrics[kind, name]
        for time, value in zip(times, values, strict=True):
            self.row(schema.METRICS, timestamp=int(time), typeId=kind, metricId=metric, value=int(value))

    # The file

    def write(self, folder: Path, name: str = "trace.sqlite") -> Path:
        """Write the export into the folder, and give its path."""
        path = folder / name
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # nobody reads it before it is whole
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("BEGIN")
            for table, rows in self._rows.items():
                if table not in self._absent:
                    self._write_table(connection, table, rows)
            connection.execute("COMMIT")
        return path

    def _write_table(self, connection: sqlite3.Connection, table: str, rows: list[dict[str, Any]]) -> None:
        columns = self._columns(table, rows)
        declared = ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns.items())
        table = _quoted(table)
        connection.execute(f"CREATE TABLE {table} ({declared})")
        every = [tuple(map(row.get, columns)) for row in rows]
        plain = f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        connection.executemany(plain, (row for row in every if not _has_bytes(row)))
        for row in filter(_has_bytes, every):  # bytes are SQLite's text, valid UTF-8 or not
            marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, bytes) else "?" for value in row)
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # noqa: S608

    def trace(self, folder: Path) -> NsysExport:
        """Write the export into the folder, and open it."""
        return NsysExport(self.write(folder))

    def _columns(self, table: str, rows: list[dict[str, Any]]) -> dict[str, str]:
        """This version's columns with their types; those that the schema does not name come from the rows."""
        columns = dict(_declared(table))
        for row in rows:
            for key, value in row.items():
                if key not in columns:
                    columns[key] = "TEXT" if isinstance(value, str | bytes) else "BIGINT"
        return {key: kind for key, kind in columns.items() if f"{table}.{key}" not in self._absent}


@functools.cache
def _declared(table: str) -> dict[str, str]:
    """The columns that the schema names, with their types."""
    known = schema.metadata.tables.get(table)
    return {column.name: str(column.type) for column in known.columns} if known is not None else {}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _has_bytes(row: tuple[Any, ...]) -> bool:
    return bytes in map(type, row)


def count_at(
    times: np.ndarray, start: np.ndarray, end: np.ndarray, count: np.ndarray, shape: Sequence[Sequence[float]] = ((1,),)
) -> np.ndarray:
    """A cumulative counter at some times, as whole numbers; launches count in a shape, one for all or one for each."""
    shares = np.broadcast_to(shape, (len(start), np.shape(shape)[1]))
    knots = np.linspace(start, end, shares.shape[1] + 1, axis=1)
    slopes = np.pad(shares * count[:, None] / np.diff(knots), ((0, 0), (1, 1)))
    order = np.argsort(knots, axis=None, kind="stable")
    times_of_change, slope = knots.ravel()[order], np.cumsum(np.diff(slopes).ravel()[order])
    counted = np.append(0, np.cumsum(slope[:-1] * np.diff(times_of_change)))
    return np.round(np.interp(times, times_of_change, counted)).astype(np.int64)


def assert_rows(frame: pd.DataFrame, expected: str, **tolerance: float) -> None:
    """Hold a frame's columns against a table of text.

    The first line names columns of the frame, each line below is a row; columns are at least two blanks apart.
    "–" is unknown, "-" an empty text; numbers may have underscores.

    Args:
        frame: Must have just as many rows.
        expected: The table.
        tolerance: ``rel`` or ``abs`` of ``numpy.isclose`` for columns of floats; by default 1e-9, relative.
    """
    names, *rows = [re.split(r"\s{2,}", line.strip()) for line in expected.strip().splitlines()]
    wrong = [row for row in rows if len(row) != len(names)]
    assert not wrong, f"rows of the expected table without {len(names)} cells: {wrong}"
    shown = "\n" + frame[names].to_string()
    assert len(frame) == len(rows), f"{len(frame)} rows, not {len(rows)}:{shown}"
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        for row, cell, value in zip(range(len(rows)), cells, frame[name].tolist(), strict=True):
            assert _agree(value, cell, tolerance), f"row {row}, {name}: {value!r}, not {cell}{shown}"


def _agree(value: Any, cell: str, tolerance: dict[str, float]) -> bool:
    if isinstance(value, str):
        return value == ("" if cell == "-" else cell)
    if isinstance(value, bool):
        return str(value) == cell
    if cell == "–":
        return bool(np.isnan(value))
    if isinstance(value, int):
        return value == int(cell)
    return bool(np.isclose(value, float(cell), rtol=tolerance.get("rel", 1e-9), atol=tolerance.get("abs", 0)))


def small_trace(folder: Path, name: str = "small.sqlite") -> Path:
    builder = TraceBuilder().gpu().range("step", 0, 20_000).kernel("gemm", 2_000, 9_000, launched=1_000)
    return builder.samples([0, 50, 100], start=0, period=10_000).write(folder, name)


def analyzed(builder: TraceBuilder, folder: Path, name: str = "a.sqlite", window: str = "gpu") -> Analysis:
    """The analysis of a recording that is built, without findings."""
    return analyze(NsysExport(builder.write(folder, name)), window)


def open_source(path: Path) -> Source:
    """The source that a recording belongs to, by its content."""
    found = find_type(path)
    return found.open(found.find(path))


def write_tables(export: Path | str, folder: Path, suffix: str = ".parquet") -> Path:
    """Write the tables of an SQLite export as ``nsys export --type=parquetdir`` (or arrowdir) does, a file each."""
    folder.mkdir()
    with closing(sqlite3.connect(export)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cursor = connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608
            columns = zip(*cursor.fetchall(), strict=True)
            given = {title: pa.array(values) for (title, *_), values in zip(cursor.description, columns, strict=False)}
            unsigned = {
                title: column.cast(pa.uint64(), safe=False)
                for title, column in given.items()
                if title.startswith("global")
            }
            table = pa.table(given | unsigned)
            if suffix == ".parquet":
                pq.write_table(table, folder / f"{name}{suffix}")
            else:
                new = pa.ipc.new_stream if suffix == ".arrow" else pa.ipc.new_file
                with new(folder / f"{name}.arrow", table.schema) as stream:
                    stream.write_table(table)
    return folder
