"""GPU metric samples: two ways of storage, wrapped counters, gaps, and Tensor Active from cycles.

A sample's time stamp is the beginning of its interval: it lasts until the next one. A step of more than 1.5 periods is
a gap, and the sample before it ends after one period; samples in a stretch that nsys marked as missing are dropped.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sqlalchemy import func, select

from tcprof.chips import Chip, Metric, find_chip
from tcprof.frames import SAMPLES
from tcprof.sources.nsys_sqlite import schema
from tcprof.sources.nsys_sqlite.database import Database
from tcprof.sources.source import Samples

GAP_PERIODS = 1.5
TENSOR_COLUMNS = {"tensor_active_pct", "tensor_cycles"}
SUB_PARTITIONS = 4  # tensor pipes of one SM, Volta to Blackwell
_MEGAHERTZ_AT_MOST = 100_000  # a clock below this is in MHz; nsys writes Hz under the name MHz

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Reading(NamedTuple):
    """What was read of one metric of one GPU.

    Attributes:
        metric: The metric, as its chip has it.
        times: Time stamps, ascending.
        values: As recorded.
    """

    metric: Metric
    times: Ints
    values: Ints


Readings = dict[str, Reading]  # of one GPU, by column


@dataclass(frozen=True)
class Wanted:
    """What to read of the samples.

    Attributes:
        metrics: Columns of ``SAMPLES``.
        clocks: Sources of the cycles that passed in a sample, best first.
        chips: The chip of each GPU.
    """

    metrics: frozenset[str]
    clocks: tuple[str, ...]
    chips: dict[int, str]

    def chip(self, gpu: int) -> Chip:
        """What is known about a GPU's chip."""
        return find_chip(self.chips.get(gpu, ""))


def read_samples(database: Database, gpus: pd.DataFrame, metrics: Iterable[str]) -> Samples:
    """The samples of all GPUs.

    Args:
        database: The export.
        gpus: See ``tcprof.frames.GPUS``: the chip determines the metrics' names, the number of SMs what a
            cycle is worth.
        metrics: Columns of ``SAMPLES`` to read; the others are left unknown, which saves time on large recordings.
    """
    sm_counts = dict(zip(gpus["gpu"], gpus["sm_count"], strict=True))
    # The clock counts for one SM, so that it can stand for the SMs' own cycle counter only where their number is known.
    sms_known = bool(sm_counts) and all(count > 0 for count in sm_counts.values())
    wanted = Wanted(
        frozenset(metrics),
        ("sm_cycles", "gpc_clock_hz") if sms_known else ("sm_cycles",),
        dict(zip(gpus["gpu"], gpus["chip"], strict=True)),
    )
    readings, lost = _read_table(database, wanted)
    readings = readings or _read_json(database, wanted)
    parts = []
    for gpu, of_gpu in sorted(readings.items()):
        lost_here = [(start, end) for number, start, end in lost if number == gpu]
        sm_count = sm_counts.get(gpu, float("nan"))
        parts.append(_sample_columns(gpu, of_gpu, lost_here, sm_count, "pipe_cycles" in wanted.metrics))
    has_cycles = [("tensor_cycles" in part) for part in parts]
    has_percent = [("tensor_active_pct" in part) for part in parts]
    return Samples(
        frame=_joined(parts),
        tensor_source="none" if not any(has_percent) else "cycles" if all(has_cycles) else "rounded",
        shared_pipe=any(reading.metric.shared_pipe for of_gpu in readings.values() for reading in of_gpu.values()),
        lost_ns=sum(end - start for _, start, end in lost),
    )


def _column_of(names: Iterable[str], wanted: Wanted, gpu: int) -> dict[str, tuple[str, Metric]]:
    """The columns that the recorded metrics of a GPU fill: recorded name -> column, and what is known of the metric."""
    known = frozenset(names)
    recorded = {column: _first_recorded(metrics, known) for column, metrics in wanted.chip(gpu).metrics.items()}
    recorded = {column: found for column, found in recorded.items() if found}
    needed = set(wanted.metrics)
    clock = next((column for column in wanted.clocks if column in recorded), "")
    if "pipe_cycles" in needed:
        needed.add(clock)
    if needed & TENSOR_COLUMNS:
        # Cycles and a clock give exact percentages; then the rounded ones need not be read.
        needed -= TENSOR_COLUMNS
        needed |= {"tensor_cycles", clock} if "tensor_cycles" in recorded and clock else {"tensor_active_pct"}
    return {found[0]: (column, found[1]) for column, found in recorded.items() if found and column in needed}


def _first_recorded(metrics: Iterable[Metric], known: frozenset[str]) -> tuple[str, Metric] | None:
    """The first name that was recorded, and its metric."""
    return next(((name, metric) for metric in metrics for name in metric.names if name in known), None)


def _read_table(database: Database, wanted: Wanted) -> tuple[dict[int, Readings], list[tuple[int, int, int]]]:
    """Readings per GPU from GPU_METRICS, and the stretches marked as missing."""
    if not (database.has(schema.METRICS) and database.has(schema.METRIC_NAMES)):
        return {}, []
    m = schema.METRICS.c
    columns, lost_keys = _metric_keys(database, wanted)
    keys = columns.keys() | lost_keys
    # A metric's number alone is tested in SQL, since that is cheap; the rows of other GPUs or kinds that share the
    # number fall out below.
    key = (m.typeId.op("&")(0xFFFF).op("<<")(16)).op("|")(m.metricId).label("key")
    numbers = sorted({k & 0xFFFF for k in keys})
    if not numbers:
        return {}, []
    statement = select(m.timestamp, key, m.value).where(m.metricId.in_(numbers))
    parts: dict[int, list[tuple[Ints, Ints]]] = {code: [] for code in keys}
    for batch in database.batches(statement):
        times, row_keys, values = (column.to_numpy() for column in batch.columns)
        for code, collected in parts.items():
            mask = row_keys == code
            if mask.any():
                collected.append((times[mask], values[mask]))
    readings: dict[int, Readings] = {}
    lost: list[tuple[int, int, int]] = []
    for code in [code for code, collected in parts.items() if collected]:
        times, values = (np.concatenate(column) for column in zip(*parts.pop(code), strict=True))
        gpu, counts = (code >> 16) & 0xFF, unwrap(values)
        if code in columns:
            column, metric = columns[code]
            readings.setdefault(gpu, {})[column] = Reading(metric, *_in_order(times, counts))
        else:
            lost += [
                (gpu, start, end) for start, end in zip(times.tolist(), counts.tolist(), strict=True) if end > start
            ]
    return readings, lost


def _metric_keys(database: Database, wanted: Wanted) -> tuple[dict[int, tuple[str, Metric]], set[int]]:
    """Which metric of which GPU a row of GPU_METRICS holds, as one number: the low bits of typeId, then metricId.

    Returns:
        The column that each key's values fill and its metric, and the keys of stretches marked as missing.
    """
    names = schema.METRIC_NAMES.c
    by_type: dict[int, dict[str, int]] = {}
    for type_id, metric_id, name in database.rows(select(names.typeId, names.metricId, names.metricName)):
        by_type.setdefault(type_id & 0xFFFF, {})[name] = metric_id
    columns: dict[int, tuple[str, Metric]] = {}
    lost_keys: set[int] = set()
    for type_bits, metric_ids in by_type.items():
        if type_bits >> 8 == schema.DIAGNOSTIC_ROW:
            lost_keys |= {(type_bits << 16) | metric_id for metric_id in metric_ids.values()}
        elif type_bits >> 8 == schema.SAMPLE_ROW:
            for name, found in _column_of(metric_ids, wanted, type_bits & 0xFF).items():
                columns[(type_bits << 16) | metric_ids[name]] = found
    return columns, lost_keys


def _in_order(times: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Readings sorted by time, one for each time stamp; an export promises no order."""
    if np.all(times[1:] > times[:-1]):
        return times, values
    unique, first = np.unique(times, return_index=True)
    return unique, values[first]


def unwrap(counts: Ints) -> Ints:
    """Counts as they were before the export read them back as signed.

    The export stores a metric in the fewest bytes that hold its largest value, and reads that as signed. With w the
    fewest bytes whose signed range holds all that was read, a negative value is too small by 2^(8w).
    """
    smallest, largest = int(counts.min(initial=0)), int(counts.max(initial=0))
    if smallest >= 0:
        return counts
    width = next(w for w in range(1, 9) if max(-smallest - 1, largest) < 1 << (8 * w - 1))
    return np.where(counts < 0, counts + (1 << (8 * width)), counts) if width < 8 else counts


def _read_json(database: Database, wanted: Wanted) -> dict[int, Readings]:
    """Readings per GPU from exports of 2022, where a sample is one JSON text with a string for each metric."""
    if not (database.has(schema.GENERIC_TYPES) and database.has(schema.GENERIC_EVENTS)):
        return {}
    t, e = schema.GENERIC_TYPES.c, schema.GENERIC_EVENTS.c
    described = (database.column(schema.GENERIC_TYPES, name) for name in ("typeId", "data"))
    readings: dict[int, Readings] = {}
    for type_id, data in database.rows(select(*described).where(t.data.is_not(None))):
        fields = [field.get("Name", "") for field in _json_object(data).get("Fields", [])]
        columns = _column_of(fields, wanted, type_id & 0xFF)
        if not columns or (type_id >> 8) & 0xFF != schema.SAMPLE_ROW:
            continue
        stamp = func.coalesce(database.column(schema.GENERIC_EVENTS, "timestamp"), e.rawTimestamp)
        rows = database.rows(select(stamp, e.data).where(e.typeId == type_id))
        samples = pd.DataFrame([_json_object(text) for _, text in rows])
        times = np.array([stamp for stamp, _ in rows], dtype=np.int64)
        for name, (column, metric) in columns.items():
            if name in samples:
                values = pd.to_numeric(samples[name], errors="coerce")
                known = values.notna().to_numpy()
                counts = unwrap(values[known].to_numpy(np.int64))
                readings.setdefault(type_id & 0xFF, {})[column] = Reading(metric, *_in_order(times[known], counts))
    return readings


def _json_object(text: str) -> dict[str, Any]:
    """A JSON object, or an empty one where the text is none."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _joined(parts: list[dict[str, Ints | Floats]]) -> pd.DataFrame:
    """The GPUs' columns one below the other; a metric that a GPU lacks is unknown there."""
    columns = {}
    for name in SAMPLES.names:
        if any(name in part for part in parts):
            lengths = (len(part["end_ns"]) for part in parts)
            columns[name] = np.concatenate(
                [part[name] if name in part else np.full(n, np.nan) for part, n in zip(parts, lengths, strict=True)]
            )
    return SAMPLES.conform(pd.DataFrame(columns, copy=False)) if columns else SAMPLES.empty()


def _sample_columns(
    gpu: int, readings: Readings, lost: list[tuple[int, int]], sm_count: float, with_pipe_cycles: bool
) -> dict[str, Ints | Floats]:
    """One GPU's columns of the frame of samples, those that are recorded."""
    start = next(iter(readings.values())).times
    if any(not np.array_equal(reading.times, start) for reading in readings.values()):
        start = np.unique(np.concatenate([reading.times for reading in readings.values()]))
    end = _ends(start)
    columns: dict[str, Floats] = {name: _aligned(start, reading) for name, reading in readings.items()}
    if "gpc_clock_hz" in columns and np.nanmax(columns["gpc_clock_hz"], initial=0) < _MEGAHERTZ_AT_MOST:
        columns["gpc_clock_hz"] = columns["gpc_clock_hz"] * 1e6
    if {"sm_cycles", "gpc_clock_hz"} & columns.keys():
        pipe_cycles = _pipe_cycles(columns, end - start, sm_count)
        if "tensor_cycles" in columns:
            columns["tensor_active_pct"] = np.minimum(100 * columns["tensor_cycles"] / pipe_cycles, 100)
        if with_pipe_cycles:
            columns["pipe_cycles"] = pipe_cycles
    keep = np.ones(len(start), dtype=bool)
    for lost_start, lost_end in lost:
        keep &= (end <= lost_start) | (start >= lost_end)
    everything = {"gpu": np.full(len(start), gpu), "start_ns": start, "end_ns": end, **columns}
    return everything if keep.all() else {name: values[keep] for name, values in everything.items()}


def _ends(start: Ints) -> Ints:
    """Where each sample ends: at the next one, or after one period before a gap and at the end."""
    steps = np.diff(start)
    period = int(np.median(steps)) if len(steps) else 0
    end: Ints = start + np.append(np.where(steps > GAP_PERIODS * period, period, steps), period)
    return end


def _aligned(at: Ints, reading: Reading) -> Floats:
    """Values at the given times, in the unit of their column; NaN where the metric has none."""
    values: Floats = reading.values * np.float64(reading.metric.scale)  # a float, and exact where the scale is 1
    if len(at) == len(values):
        return values
    aligned = np.full(len(at), np.nan)
    aligned[np.searchsorted(at, reading.times)] = values
    return aligned


def _pipe_cycles(columns: dict[str, Floats], duration: Ints, sm_count: float) -> Floats:
    """Cycles that all tensor pipes together had in each sample, NaN for none: the denominator of Tensor Active.

    From the SMs' own cycle counter where it is recorded, else from the clock and the sample's duration.
    """
    of_sms = columns["sm_cycles"] if "sm_cycles" in columns else sm_count * columns["gpc_clock_hz"] * duration * 1e-9
    return np.where(of_sms > 0, SUB_PARTITIONS * of_sms, np.nan)
