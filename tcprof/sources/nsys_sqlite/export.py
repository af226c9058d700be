"""An SQLite export of Nsight Systems: frames of samples, ranges, launches and activities, and what is known of it."""

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable, DropTable

from tcprof.errors import OutputError
from tcprof.files import name_of
from tcprof.frames import DIAGNOSTICS, DRIVER_LOG, GPUS, SAMPLE_METRICS, UNPROFILED
from tcprof.identity import Identity, alias_of, identify_launch
from tcprof.nsys import schema
from tcprof.sources import Clean, InvalidValues, Recording, Samples
from tcprof.sources.nsys_sqlite.database import BEYOND_NS, Columns, Database, texts
from tcprof.sources.nsys_sqlite.events import (
    count_lost_launches,
    read_activities,
    read_calls,
    read_graph_nodes,
    read_launches,
    size_messages,
)
from tcprof.sources.nsys_sqlite.nvtx import read_captured, read_clocks, read_marks, read_messages, read_ranges
from tcprof.sources.nsys_sqlite.query import UNKNOWN, Query
from tcprof.sources.nsys_sqlite.samples import ends_of, read_samples

HIGHEST_KILOHERTZ = 1e7  # a clock below this is in kHz, as old exports have it
LONGEST_MESSAGE = 4096  # bytes: what nsys says in one has some hundred
LONGEST_VALUE = 4096  # bytes: what is read is short, and of the rest some is of any length
_GPU_TEXTS = ("name", "chipName", "uuid", "busLocation")
_GPU_FACTS = ("smCount", "clockRate", "totalMemory", "memoryBandwidth")
# What allocates and frees waits for the GPU, too; what is called Async does not.
_WAITS = ("%Synchronize%", "cudaMalloc_v%", "cudaFree_v%", "cudaMallocHost%", "cudaHostAlloc%", "cudaFreeHost%")
_SETUP_CALLS = ("cu%Load%", "cu%Malloc%", "cu%Alloc%", "cu%Free%", "cuMemCreate%", "cuMemMap%")
_UNPROFILED = {
    "process": "process",
    "training": "training",
    "start": "start_ns",
    "end": "end_ns",
    "count": "step_count",
}
_CUDA_GPU_FACTS = ("numMultiprocessors", "coreClockRate", "totalMemory", "globalMemoryBandwidth")


class NsysExport:
    """Reads one export. No file stays open between calls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path)

    def recording(self) -> Recording:
        """Return what the export says about its recording."""
        exported = self._properties(schema.OLD_EXPORT_METADATA) | self._properties(schema.EXPORT_METADATA)
        settings = self._rows(schema.CAPTURE_METADATA)
        captured = dict(settings)
        system = self._properties(schema.SYSTEM)
        return Recording(
            file=name_of(self.path),
            nsys_version=exported.get("EXPORT_PRODUCT_VERSION", ""),
            schema_version=exported.get("EXPORT_SCHEMA_VERSION", ""),
            driver_version=_driver_version(system.get("NvDriverVersion", "")),
            started_utc=self._started(),
            duration_ns=float(self._duration or "nan"),
            frequency_hz=_frequency(captured.get("GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY", "")),
            metrics_requested=any(name.startswith("GPU_METRICS_OPTIONS:GPU_") for name in captured),
            cuda_version=_cuda_version(system.get("CudaDriverVersion", "")),
            identity=Identity.from_facts(self._properties(schema.RUN)).or_else(self._observed(settings, system)),
        )

    def _observed(self, settings: list[tuple[str, str]], system: Mapping[str, str]) -> Identity:
        """Identify host, GPUs and the started process from nsys's own notes; a redacted copy has none of them."""
        entries = (value.partition("=") for name, value in settings if name == "PROCESS_0:ENVIRONMENT_VARIABLE")
        command = [value for name, value in settings if re.fullmatch(r"PROCESS_0:(COMMAND|ARGUMENT_\d+)", name)]
        launch = identify_launch({None: {name: value.strip('"') for name, _, value in entries}}, command)
        named = zip(self._gpu_rows["id"].tolist(), texts(self._gpu_rows["uuid"]), strict=True)
        gpus = {gpu: alias_of("gpu", uuid) for gpu, uuid in sorted(named) if uuid.strip("0-")}
        host = system.get("Hostname", "")
        return replace(launch, gpus=gpus, host=alias_of("host", host) if host else "")

    def gpus(self) -> pd.DataFrame:
        """Return the GPUs that the export names, see ``tcprof.frames.GPUS``."""
        return self._gpus

    @cached_property
    def _gpus(self) -> pd.DataFrame:
        names, number, rows = _GPU_FACTS, "id", self._gpu_rows
        if not self._database.has(schema.GPUS):
            names, number = _CUDA_GPU_FACTS, "deviceId"
            facts = dict.fromkeys(names, 0)
            rows = self._database.read(Query(schema.CUDA_GPUS, (number,), facts=facts, texts=_GPU_TEXTS[:2]))
        columns = {"gpu": rows[number], "name": texts(rows["name"]), "chip": texts(rows["chipName"])}
        for name, fact in zip(("sm_count", "clock_hz", "memory_bytes", "dram_bandwidth"), names, strict=True):
            columns[name] = np.where(rows[fact] == 0, np.nan, rows[fact])
        columns["clock_hz"] *= np.where(columns["clock_hz"] < HIGHEST_KILOHERTZ, 1e3, 1)
        return GPUS.conform(pd.DataFrame(columns).drop_duplicates("gpu").sort_values("gpu"))

    @cached_property
    def _gpu_rows(self) -> Columns:
        """Read the table of GPUs of newer exports; no rows where there is no such table."""
        facts = dict.fromkeys(_GPU_FACTS, 0) | {"cuDevice": UNKNOWN}
        return self._database.read(Query(schema.GPUS, ("id",), facts=facts, texts=_GPU_TEXTS))

    def samples(self, metrics: Iterable[str] = SAMPLE_METRICS) -> Samples:
        """Read the GPU metric samples, only the given columns of ``tcprof.frames.SAMPLES``."""
        samples = read_samples(self._database, self.gpus(), metrics)
        return replace(samples, driver_log=self._read_driver_log())

    def ranges(self) -> pd.DataFrame:
        """Read the NVTX ranges, see ``tcprof.frames.NVTX_RANGES``."""
        return read_ranges(self._database, self._duration)

    def marks(self) -> pd.DataFrame:
        """Read the NVTX marks of the annotation, see ``tcprof.frames.MARKS``."""
        return read_marks(self._database)

    def graph_nodes(self) -> pd.DataFrame:
        """Read where the program made the nodes of its CUDA graphs, see ``tcprof.frames.GRAPH_NODES``."""
        return read_graph_nodes(self._database)

    def captured(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Read the ranges and marks that the annotation kept while streams were captured, as of the recording."""
        return read_captured(self._database)

    def api_calls(self) -> pd.DataFrame:
        """Read the API calls that started work on a GPU, see ``tcprof.frames.API_CALLS``."""
        return read_launches(self._database)

    def waits(self) -> pd.DataFrame:
        """Read the API calls that wait for a GPU, see ``tcprof.frames.WAITS``."""
        return read_calls(self._database, *_WAITS)

    def setup_calls(self) -> pd.DataFrame:
        """Read the API calls that load code or manage memory, with the columns of ``tcprof.frames.WAITS``."""
        return read_calls(self._database, *_SETUP_CALLS)

    def lost_launches(self) -> int | None:
        """Count launches whose kernels are not in the recording; None where this is unknown."""
        return count_lost_launches(self._database)

    def activities(self) -> pd.DataFrame:
        """Read work on the GPUs, see ``tcprof.frames.ACTIVITIES``."""
        activities = read_activities(self._database, self._gpu_numbers())
        if not any("nccl" in name for name in activities["name"].cat.categories):
            return activities
        messages = read_messages(self._database)
        return activities if messages.empty else size_messages(activities, self.api_calls(), messages)

    def diagnostics(self, without_private: Clean) -> pd.DataFrame:
        """Read nsys's messages on the recording, without what is private; see ``tcprof.frames.DIAGNOSTICS``."""
        table = schema.DIAGNOSTICS
        if not self._database.has_column(table, "text"):
            return DIAGNOSTICS.empty()
        rows = self._database.read(
            Query(
                table,
                facts={"severity": UNKNOWN},
                texts=("text",),
                where=table.c.text.is_not(None),
                longest=LONGEST_MESSAGE,
            )
        )
        severities = [schema.SEVERITIES.get(severity, "information") for severity in rows["severity"].tolist()]
        which, distinct = pd.factorize(np.array(texts(rows["text"]), dtype=object))  # processes say the same
        messages = np.array(without_private(self.path, distinct.tolist()), dtype=object)
        columns = {"severity": severities, "text": messages[which]}
        return DIAGNOSTICS.conform(pd.DataFrame(columns, dtype=object))

    def unprofiled(self) -> pd.DataFrame:
        """Read the steps of the run without a profiler, see ``tcprof.frames.UNPROFILED``; empty without such a run."""
        *required, count = _UNPROFILED
        rows = self._database.read(Query(schema.UNPROFILED, tuple(required), {count: 1}))  # early ones have no number
        columns = {ours: rows[theirs] for theirs, ours in _UNPROFILED.items()}
        steps = pd.DataFrame(columns | {"training": columns["training"] != 0})
        return UNPROFILED.conform(steps[steps["step_count"] > 0])

    def _read_driver_log(self) -> pd.DataFrame:
        facts = dict.fromkeys(("power", "powerLimit", "temperature", "clock", "reasons"), UNKNOWN)
        rows = pd.DataFrame(self._database.read(Query(schema.DRIVER_LOG, ("timestamp", "gpu"), facts=facts)))
        rows = rows.rename(columns={"timestamp": "start_ns"}).drop_duplicates([*DRIVER_LOG.key])
        rows = rows.sort_values([*DRIVER_LOG.key], ignore_index=True)
        values, reasons = rows.where(rows != UNKNOWN), rows["reasons"].clip(lower=0)
        held = [(reasons & bits) != 0 for bits in schema.CLOCK_LIMITS.values()]
        columns = {
            "end_ns": rows.groupby("gpu")["start_ns"].transform(lambda start: ends_of(start.to_numpy())),
            "power_w": values["power"] / 1e3,
            "power_limit_w": values["powerLimit"] / 1e3,
            "temperature_c": values["temperature"],
            "clock_hz": values["clock"] * 1e6,
            "clock_limit": np.select(held, [*schema.CLOCK_LIMITS], ""),
        }
        return DRIVER_LOG.conform(rows.assign(**columns))

    def find_gpus(self) -> dict[str, int]:
        """Map the GPUs' unique identifiers to their numbers; a redacted copy has none."""
        return dict(zip(texts(self._gpu_rows["uuid"]), self._gpu_rows["id"].tolist(), strict=True))

    def find_start(self) -> int | None:
        """Find when the recording began, in ns since 1970."""
        starts = self._database.read(Query(schema.SESSION_START, required=("utcEpochNs",)))["utcEpochNs"]
        return int(starts[0]) if len(starts) else None

    def wrong(self) -> tuple[InvalidValues, ...]:
        """List the invalid values in all that has been read so far; the frames do not have them."""
        return self._database.wrong()

    def _properties(self, table: Table) -> dict[str, str]:
        """Read a table of names and values; the last of a repeated name counts, and long values are cut."""
        return dict(self._rows(table))

    def _rows(self, table: Table) -> list[tuple[str, str]]:
        rows = self._database.read(Query(table, texts=("name", "value"), longest=LONGEST_VALUE))
        return list(zip(texts(rows["name"]), texts(rows["value"]), strict=True))

    @property
    def _duration(self) -> int:
        """Return the recording's length in ns, 0 where it is not known."""
        return next(iter(self._database.durations.tolist()), 0)

    def _started(self) -> str:
        began = self.find_start()
        return "" if began is None else datetime.fromtimestamp(began // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _gpu_numbers(self) -> dict[tuple[int, int], int]:
        """Map a process and its CUDA device number to the GPU's number; process -1 stands for any.

        CUDA_VISIBLE_DEVICES renumbers devices for each process, so the newer table by process comes first.
        """
        numbers: dict[tuple[int, int], int] = {}
        named = self._gpu_rows
        for device, gpu in zip(named["cuDevice"].tolist(), named["id"].tolist(), strict=True):
            if device != UNKNOWN:
                numbers.setdefault((UNKNOWN, device), gpu)
        visible = self._database.read(Query(schema.CUDA_DEVICES, required=("pid", "cudaId", "gpuId")))
        for pid, device, gpu in zip(*(visible[name].tolist() for name in ("pid", "cudaId", "gpuId")), strict=True):
            numbers[pid, device] = gpu
        return numbers


def _frequency(text: str) -> float:
    return float(text) if re.fullmatch(r"[1-9][0-9]{0,6}", text) else float("nan")


def _driver_version(text: str) -> str:
    """Write a driver's version with its dots, which exports until 2022 leave out: 5358605 is 535.86.05."""
    return f"{text[:3]}.{text[3:5]}.{text[5:]}" if re.fullmatch(r"[0-9]{7}", text) else text


def _cuda_version(text: str) -> str:
    """Write a version that CUDA numbers: 13010 is 13.1."""
    return f"{int(text) // 1000}.{int(text) % 1000 // 10}" if re.fullmatch(r"[0-9]{4,5}", text) else ""


def write_unprofiled(export: Path, steps: pd.DataFrame) -> None:
    """Add steps, see ``tcprof.frames.UNPROFILED``, in ns since 1970, to an export that tcprof has made."""
    source, first = NsysExport(export), int(steps["start_ns"].min())
    began = source.find_start() or first
    if not first - began >= 0 or not steps["end_ns"].max() - began < source.recording().duration_ns + BEYOND_NS:
        began = first  # they come soon after the recording, unless a clock is set meanwhile
    moved = steps.assign(start_ns=steps["start_ns"] - began, end_ns=steps["end_ns"] - began)
    _write(export, schema.UNPROFILED, moved[list(_UNPROFILED.values())].astype("int64").to_numpy().tolist())


def write_driver_log(export: Path, log: pd.DataFrame) -> None:
    """Add what the driver said during a recording, see ``tcprof.record.driver_log``, to its export, on its clock.

    So is what it said during unprofiled steps, which are in the export already.
    """
    source = NsysExport(export)
    began, until_ns = source.find_start(), source.recording().duration_ns
    until_ns = max([until_ns, *source.unprofiled()["end_ns"]])
    if began is None:
        return
    rows = log.assign(utc_ns=log["utc_ns"] - began, uuid=log["uuid"].map(source.find_gpus()))
    rows = rows[rows["uuid"].notna() & (rows["utc_ns"] >= 0) & ~(rows["utc_ns"] > until_ns)]
    _write(export, schema.DRIVER_LOG, rows.astype("int64").astype(object).replace(UNKNOWN, None).to_numpy().tolist())


def write_captured(export: Path, captured: Mapping[int, Sequence[Sequence[Any]]]) -> None:
    """Add the ranges of stream captures, by process, see ``tcprof.annotate.captures``, to an export, on its clock.

    The processes tell their clock in marks. Where there is none, the recording has the ranges itself.
    """
    clocks, rows = read_clocks(Database(export)), []
    for process, kept in captured.items():
        offsets = [(start - time, owner) for number, start, time, owner in clocks if number == process]
        if offsets:
            offset, owner = min(offsets)  # where the least time passed until it was marked
            rows += [
                [kind, owner | tid, begin + offset, until + offset, name] for kind, tid, begin, until, name in kept
            ]
    if rows:
        _write(export, schema.CAPTURED, rows)


def write_identity(export: Path, identity: Identity) -> None:
    """Add the program's identity to an export that tcprof has made, so that a redacted copy has it, too."""
    sound = Identity.from_facts(identity.facts())
    merged = sound.or_else(NsysExport(export).recording().identity)
    _write(export, schema.RUN, list(merged.facts().items()))


def _write(export: Path, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    create, drop, insert = (
        str(statement.compile(dialect=sqlite.dialect()))
        for statement in (CreateTable(table), DropTable(table, if_exists=True), table.insert())
    )
    try:
        with closing(sqlite3.connect(export)) as connection, connection:
            connection.execute(drop)
            connection.execute(create)
            connection.executemany(insert, rows)
    except sqlite3.Error as error:
        raise OutputError(f"{export} cannot be written: {error}.", hint="Its figures are unchanged.") from error
