"""An SQLite export of Nsight Systems: frames of samples, ranges, launches and activities, and what is known of it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Table, func, select

from tcprof.frames import DIAGNOSTICS, GPUS, SAMPLE_METRICS
from tcprof.sources.nsys_sqlite import schema
from tcprof.sources.nsys_sqlite.activities import count_lost_launches, read_activities, read_launches
from tcprof.sources.nsys_sqlite.database import UNKNOWN, Database
from tcprof.sources.nsys_sqlite.ranges import read_ranges
from tcprof.sources.nsys_sqlite.samples import read_samples
from tcprof.sources.source import Recording, Samples

HIGHEST_KILOHERTZ = 1e7  # a clock below this is in kHz, as old exports have it


class NsysExport:
    """Reads one export. No file stays open between calls.

    Args:
        path: An SQLite export of Nsight Systems. It is opened read-only.

    Raises:
        InputError: The file cannot be read as a database.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path)

    def recording(self) -> Recording:
        """What the export says about its recording."""
        exported = self._properties(schema.OLD_EXPORT_METADATA) | self._properties(schema.EXPORT_METADATA)
        captured = self._properties(schema.CAPTURE_METADATA)
        system = self._properties(schema.SYSTEM)
        frequency = captured.get("GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY", "")
        return Recording(
            file=self.path.name,
            nsys_version=exported.get("EXPORT_PRODUCT_VERSION", ""),
            schema_version=exported.get("EXPORT_SCHEMA_VERSION", ""),
            driver_version=_driver_version(system.get("NvDriverVersion", "")),
            started_utc=self._started(),
            duration_ns=float(self._first(schema.CAPTURE, "duration", float("nan"))),
            frequency_hz=float(frequency) if frequency.isdigit() and int(frequency) > 0 else float("nan"),
            metrics_requested=any(name.startswith("GPU_METRICS_OPTIONS:GPU_") for name in captured),
        )

    def gpus(self) -> pd.DataFrame:
        """The GPUs that the export names, see ``tcprof.frames.GPUS``."""
        table, number, count, clock = schema.GPUS, "id", "smCount", "clockRate"
        if not self._database.has(table):
            table, number, count, clock = schema.CUDA_GPUS, "deviceId", "numMultiprocessors", "coreClockRate"
        if not self._database.has(table):
            return GPUS.empty()
        names = (number, "name", "chipName", count, clock, "totalMemory")
        rows = self._database.rows(select(*(self._column(table, name) for name in names)))
        frame = pd.DataFrame(rows, columns=["gpu", "name", "chip", "sm_count", "clock_hz", "memory_bytes"])
        numbers = {
            name: pd.to_numeric(frame[name], errors="coerce").astype("float64").replace(0, float("nan"))
            for name in ("sm_count", "clock_hz", "memory_bytes")
        }
        numbers["clock_hz"] *= np.where(numbers["clock_hz"] < HIGHEST_KILOHERTZ, 1e3, 1)
        texts = {name: frame[name].fillna("").astype(str) for name in ("name", "chip")}
        known = frame.assign(**numbers, **texts).dropna(subset="gpu")
        return GPUS.conform(known.drop_duplicates("gpu").sort_values("gpu"))

    def samples(self, metrics: Iterable[str] = SAMPLE_METRICS) -> Samples:
        """The GPU metric samples; only the given columns of ``tcprof.frames.SAMPLES`` are read."""
        return read_samples(self._database, self.gpus(), metrics)

    def ranges(self) -> pd.DataFrame:
        """The NVTX ranges, see ``tcprof.frames.NVTX_RANGES``."""
        duration = self._first(schema.CAPTURE, "duration", 0)
        return read_ranges(self._database, int(duration))

    def launches(self) -> pd.DataFrame:
        """The API calls that started work on a GPU, see ``tcprof.frames.LAUNCHES``."""
        return read_launches(self._database)

    def lost_launches(self) -> int | None:
        """Launches of kernels whose kernels are not in the recording; None where this is unknown."""
        return count_lost_launches(self._database)

    def activities(self, geometry: bool = False) -> pd.DataFrame:
        """Work on the GPUs, see ``tcprof.frames.ACTIVITIES``; with the kernels' launch geometry if asked for."""
        return read_activities(self._database, self._gpu_numbers(), geometry)

    def diagnostics(self) -> pd.DataFrame:
        """What nsys said about the recording, see ``tcprof.frames.DIAGNOSTICS``."""
        if not self._database.has(schema.DIAGNOSTICS):
            return DIAGNOSTICS.empty()
        table = schema.DIAGNOSTICS.c
        rows = self._database.rows(select(table.severity, table.text).where(table.text.is_not(None)))
        # SQLite keeps numbers, and bytes, in columns of text.
        known = [(schema.SEVERITIES.get(severity, "information"), str(text)) for severity, text in rows]
        return DIAGNOSTICS.conform(pd.DataFrame(known, columns=DIAGNOSTICS.names, dtype=object))

    def _column(self, table: Table, name: str) -> Any:
        return self._database.column(table, name)

    def _properties(self, table: Table) -> dict[str, str]:
        """A table of names and values; of a repeated name the last value."""
        if not self._database.has(table):
            return {}
        rows = self._database.rows(select(self._column(table, "name"), self._column(table, "value")))
        return {str(name): "" if value is None else str(value) for name, value in rows}

    def _first(self, table: Table, name: str, default: float) -> Any:
        """A value of a table of one row, or the default."""
        if not self._database.has(table):
            return default
        rows = self._database.rows(select(self._column(table, name)).limit(1))
        return rows[0][0] if rows and isinstance(rows[0][0], int) else default

    def _started(self) -> str:
        if not self._database.has(schema.SESSION_START):
            return ""
        epoch = self._column(schema.SESSION_START, "utcEpochNs")
        rows = self._database.rows(select(func.strftime("%Y-%m-%dT%H:%M:%SZ", epoch / 1_000_000_000, "unixepoch")))
        return str(rows[0][0] or "") if rows else ""

    def _gpu_numbers(self) -> dict[tuple[int, int], int]:
        """The GPU's number for a process and its CUDA device number; process -1 stands for any.

        CUDA_VISIBLE_DEVICES renumbers devices for each process, so the newer table by process comes first.
        """
        numbers: dict[tuple[int, int], int] = {}
        if self._database.has(schema.GPUS):
            columns = (self._column(schema.GPUS, name) for name in ("cuDevice", "id"))
            for device, gpu in self._database.rows(select(*columns)):
                if device is not None and gpu is not None:
                    numbers.setdefault((UNKNOWN, device), gpu)
        if self._database.has(schema.CUDA_DEVICES):
            columns = (self._column(schema.CUDA_DEVICES, name) for name in ("pid", "cudaId", "gpuId"))
            for pid, device, gpu in self._database.rows(select(*columns)):
                if pid is not None and gpu is not None:
                    numbers[(pid, device)] = gpu
        return numbers


def _driver_version(text: str) -> str:
    """A driver's version; exports until 2022 leave out the dots: 5358605 is 535.86.05."""
    return f"{text[:3]}.{text[3:5]}.{text[5:]}" if text.isdigit() and len(text) == 7 else text
