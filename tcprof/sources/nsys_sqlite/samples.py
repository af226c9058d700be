"""GPU metric samples: gaps, missing stretches, and Tensor Active from cycles.

A sample's time stamp is the beginning of its interval: it lasts until the next one. A step of more than 1.5 periods is
a gap, and the sample before it ends after one period; samples in a stretch that nsys marked as missing are dropped.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcprof.arrays import Floats, Ints, broadcast_if_constant
from tcprof.chips import PIPES_PER_SM
from tcprof.frames import FROM_COUNTS, SAMPLES
from tcprof.nsys import schema
from tcprof.sources import Samples
from tcprof.sources.checks import MANY_GPUS
from tcprof.sources.nsys_sqlite.database import Database
from tcprof.sources.nsys_sqlite.readings import Reading, Readings, Wanted, read_events, read_table

GAP_PERIODS = 1.5
NOTHING_LOST = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
_MEGAHERTZ_AT_MOST = 100_000  # a clock below this is in MHz; nsys writes Hz under the name MHz


_LEAST_OF_CLOCK = 0.1  # of the cycles that the clock had: a slice of a GPU has a seventh of its SMs
_BYTE = 256


class GpuLimits(NamedTuple):
    """What a GPU has; NaN for unknown."""

    sm_count: float = float("nan")  # streaming multiprocessors
    dram_bandwidth: float = float("nan")  # bytes a second that its memory can move


def read_samples(database: Database, gpus: pd.DataFrame, metrics: Iterable[str]) -> Samples:
    """Read the samples of all GPUs.

    Args:
        gpus: See ``tcprof.frames.GPUS``: the chip gives the metrics' names, the number of SMs what a cycle is worth.
        metrics: Columns of ``SAMPLES`` to read; the others are left unknown, which saves time on large recordings.
    """
    limits = {
        gpu: GpuLimits(*limit) for gpu, *limit in gpus[["gpu", "sm_count", "dram_bandwidth"]].itertuples(index=False)
    }
    # The clock counts for one SM, so that it can stand for the SMs' own cycle counter only where their number is known.
    sms_known = bool(limits) and all(limit.sm_count > 0 for limit in limits.values())
    wanted = Wanted(
        frozenset(metrics),
        ("sm_cycles", "gpc_clock_hz") if sms_known else ("sm_cycles",),
        dict(zip(gpus["gpu"], gpus["chip"], strict=True)),
    )
    readings, lost = read_table(database, wanted)
    readings = readings or read_events(database, wanted)
    readings = {gpu: columns for gpu, columns in readings.items() if lasts(columns)}
    shared_pipe = any(reading.metric.shared_pipe for columns in readings.values() for reading in columns.values())
    parts = []
    kept, beyond = np.split(np.array(sorted(readings)), [schema.MOST_GPUS])
    database.tell(schema.METRICS, "typeId", MANY_GPUS, len(beyond))
    for gpu in kept.tolist():
        limit = limits.get(gpu, GpuLimits())
        columns = _leave_out_cut(database, readings.pop(gpu), limit.sm_count)  # all are not held in both forms
        parts.append(make_columns(gpu, columns, lost.get(gpu, NOTHING_LOST), limit, wanted.metrics))
    has_cycles = [("tensor_cycles" in part) for part in parts]
    has_percent = [("tensor_active_pct" in part) for part in parts]
    return Samples(
        frame=_joined(parts),
        tensor_source="none" if not any(has_percent) else "cycles" if all(has_cycles) else "rounded",
        shared_pipe=shared_pipe,
        lost_ns=sum(int((end - start).sum()) for start, end in lost.values()),
    )


def lasts(readings: Readings) -> bool:
    """Tell whether there are two samples: a single one has no next one, and so no length."""
    return len(np.unique(np.concatenate([reading.times[:2] for reading in readings.values()]))) > 1


def _leave_out_cut(database: Database, readings: Readings, sm_count: float) -> Readings:
    """Drop readings that the export cut off to their last byte.

    Nsight Systems 2025.3.2 did so in a long recording, for some metrics and not for others. The cycles of the SMs tell,
    where the clock was recorded too: then they are far below what it had. Another count that never needs more than a
    byte, and all of that, is cut off as well.
    """
    clock, cycles = (readings.get(name) for name in ("gpc_clock_hz", "sm_cycles"))
    if clock is None or cycles is None or len(cycles.times) < 2 or not len(clock.values):
        return readings
    hertz = float(np.median(clock.values)) * (1e6 if clock.values.max() < _MEGAHERTZ_AT_MOST else 1)
    expected = sm_count * hertz * 1e-9 * float(np.median(np.diff(cycles.times)))
    if not cycles.values.max() < _LEAST_OF_CLOCK * expected:
        return readings
    cut = [
        name
        for name, reading in readings.items()
        if not name.endswith(("_pct", "_hz")) and _BYTE // 2 <= reading.values.max(initial=0) < _BYTE
    ]
    for name in cut:
        words = f"{readings[name].metric.names[0]}, truncated to one byte"
        database.tell(schema.METRICS, "value", words, len(readings[name].values))
    return {name: reading for name, reading in readings.items() if name not in cut}


def _joined(parts: list[dict[str, Ints | Floats]]) -> pd.DataFrame:
    """Join the GPUs' columns, taking them out of the parts; a metric that a GPU lacks is unknown there."""
    columns = {}
    lengths = [len(part["end_ns"]) for part in parts]
    if len(parts) == 1:
        return SAMPLES.conform(pd.DataFrame(parts[0], copy=False))
    for name in SAMPLES.names:
        if any(name in part for part in parts):
            columns[name] = np.concatenate(
                [part.pop(name) if name in part else np.full(n, np.nan) for part, n in zip(parts, lengths, strict=True)]
            )
    return SAMPLES.conform(pd.DataFrame(columns, copy=False)) if columns else SAMPLES.empty()


def make_columns(
    gpu: int, readings: Readings, lost: tuple[Ints, Ints], limits: GpuLimits, wanted: frozenset[str]
) -> dict[str, Ints | Floats]:
    """Make one GPU's recorded columns of the frame of samples."""
    start = next(iter(readings.values())).times
    if any(not np.array_equal(reading.times, start) for reading in readings.values()):
        start = np.unique(np.concatenate([reading.times for reading in readings.values()]))
    end = ends_of(start)
    columns: dict[str, Floats] = {name: _aligned(start, reading) for name, reading in readings.items()}
    if "gpc_clock_hz" in columns and np.nanmax(columns["gpc_clock_hz"], initial=0) < _MEGAHERTZ_AT_MOST:
        columns["gpc_clock_hz"] = columns["gpc_clock_hz"] * 1e6
    if {"sm_cycles", "gpc_clock_hz"} & columns.keys():
        pipe_cycles = _pipe_cycles(columns, end - start, limits.sm_count)
        whole: dict[str, Floats] = {"tensor_cycles": pipe_cycles, "sm_active_cycles": pipe_cycles / PIPES_PER_SM}
        columns |= _shares(columns, whole | {"instruction_count": pipe_cycles}, {"tensor_active_pct", *wanted})
        if "pipe_cycles" in wanted:
            columns["pipe_cycles"] = pipe_cycles
    moved: Floats = (limits.dram_bandwidth * 1e-9 * (end - start)).astype(np.float64)
    columns |= _shares(columns, {"dram_read_bytes": moved, "dram_write_bytes": moved}, wanted)
    following = np.searchsorted(lost[1], start, side="right")  # the first stretch that ends after a sample begins
    keep = np.append(lost[0], schema.ANY.high)[following] >= end
    everything: dict[str, Ints | Floats] = {
        "gpu": broadcast_if_constant(np.full(len(start), gpu)),
        "start_ns": start,
        "end_ns": end,
        **columns,
    }
    return everything if keep.all() else {name: values[keep] for name, values in everything.items()}


def ends_of(start: Ints) -> Ints:
    """Return when each sample of a GPU ends, from their ascending begins: with the next, or after a period."""
    steps = np.diff(start)
    period = int(np.median(steps)) if len(steps) else 0
    ends: Ints = start + np.append(np.where(steps > GAP_PERIODS * period, period, steps), period)
    return ends


def _shares(columns: dict[str, Floats], whole: dict[str, Floats], wanted: Iterable[str]) -> dict[str, Floats]:
    """Compute percentages that were not recorded, from counts and the most that each can be."""
    return {
        share: np.minimum(100 * columns[count] / whole[count], 100)
        for share, count in (FROM_COUNTS | {"tensor_active_pct": "tensor_cycles"}).items()
        if share in wanted and share not in columns and count in columns and count in whole
    }


def _aligned(at: Ints, reading: Reading) -> Floats:
    """Place values at the given times, in the unit of their column; NaN where the metric has none."""
    values: Floats = reading.values * np.float64(reading.metric.scale)  # a float, and exact where the scale is 1
    if len(at) == len(values):
        return values
    aligned = np.full(len(at), np.nan)
    aligned[np.searchsorted(at, reading.times)] = values
    return aligned


def _pipe_cycles(columns: dict[str, Floats], duration: Ints, sm_count: float) -> Floats:
    """Count each sample's cycles of all tensor pipes, by the SMs' counter or clock and duration; NaN for none."""
    of_sms = columns["sm_cycles"] if "sm_cycles" in columns else sm_count * columns["gpc_clock_hz"] * duration * 1e-9
    return np.where(of_sms > 0, PIPES_PER_SM * of_sms, np.nan)
