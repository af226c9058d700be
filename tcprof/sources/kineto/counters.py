"""Counters that CUPTI sampled beside a trace, PyTorch's ("CUPTI PM Sampling") and XLA's, as samples of GPU metrics.

Their names are those of Nsight Compute: a counter, how it is summed up, and what it is a share of.
"""

import math
import re
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from tcprof.chips import find_chip
from tcprof.frames import SAMPLES
from tcprof.sources import Samples
from tcprof.sources.nsys_sqlite.readings import HIGHEST_CLOCK_HZ, Reading, Readings
from tcprof.sources.nsys_sqlite.samples import NOTHING_LOST, GpuLimits, lasts, make_columns

IMPOSSIBLE = "counter values below 0, above 100 % or not numbers"
UNKNOWN_SHARE = "shares of active cycles without sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
_NAME = re.compile(r"(?:\w+\.)*?(?P<counter>[a-z]\w*__\w+?)(?:_realtime)?\.(?P<rollup>sum|avg)(?P<share>(?:\.\w+)?)")
# What XLA calls some: "SM Instructions - Tensor Active (%)".
_DISPLAYED = re.compile(r"(?:SM Instructions - )?(?P<name>.+) \((?:%|Hz)\)")
# Ends of the columns that a counter fills, by what its name ends in.
_UNITS = {".pct_of_peak_sustained_elapsed": "_pct", ".pct_of_peak_sustained_active": "_pct", ".per_second": "_hz"}
_OF_ACTIVE = ".pct_of_peak_sustained_active"
_TENSOR = "tensor_active_pct"
_BY_ACTIVE = "tensor_of_active_pct"  # in place of it: of the cycles in which SMs were active
COLUMNS = (_BY_ACTIVE, "sm_cycles", *SAMPLES.names[3:])


@cache
def find_column(name: str) -> int:
    """Find what a counter's samples fill, as its place in ``COLUMNS``; -1 for nothing that is read."""
    column = ""
    metrics = find_chip("").metrics
    if match := _NAME.fullmatch(name):
        counter, rollup, share = match.groups()
        unit = _UNITS.get(share, "_cycles" if rollup == "sum" and not share else None)
        counters = {
            column: {counter.removesuffix("_realtime") for metric in choices for counter in metric.counters}
            for column, choices in metrics.items()
        }
        column = next((name for name in counters if unit and name.endswith(unit) and counter in counters[name]), "")
        if share == _OF_ACTIVE:
            column = _BY_ACTIVE if column == _TENSOR else ""
    elif match := _DISPLAYED.fullmatch(name):
        column = next(
            (name for name, choices in metrics.items() if any(match["name"] in metric.names for metric in choices)), ""
        )
    return COLUMNS.index(column) if column in COLUMNS else -1


def make_samples(rows: pd.DataFrame, gpus: pd.DataFrame, wrong: Counter[str], wanted: frozenset[str]) -> Samples:
    """Make the samples of all GPUs from readings, each of a GPU, column and start; what cannot be is counted."""
    limits = dict(zip(gpus["gpu"], gpus["sm_count"], strict=True))
    rows = rows.assign(name=np.array(COLUMNS, dtype=object)[rows["column"]])
    most = np.select(
        [rows["name"].str.endswith("_pct"), rows["name"].str.endswith("_hz")], [100, HIGHEST_CLOCK_HZ], 2**53
    )
    possible = rows["value"].between(0, most)  # NaN is not
    wrong[IMPOSSIBLE] = int((~possible).sum())
    parts = []
    for gpu, gpu_rows in rows[possible].groupby("gpu"):
        columns = _with_share_of_elapsed(_readings(gpu_rows), wrong)
        if columns and lasts(columns):
            limit = GpuLimits(limits.get(gpu, math.nan))
            parts.append(make_columns(int(gpu), columns, NOTHING_LOST, limit, wanted))
    frames = [SAMPLES.conform(pd.DataFrame(part)) for part in parts]
    frame = SAMPLES.concat(frames) if frames else SAMPLES.empty()
    return Samples(frame, "cycles" if frame[_TENSOR].notna().any() else "none", False, 0)


def _readings(rows: pd.DataFrame) -> Readings:
    """Sort each column's values by time, one for each time stamp."""
    metrics = find_chip("").metrics
    readings: Readings = {}
    for name, column_rows in rows.groupby("name"):
        ordered = column_rows.drop_duplicates("start").sort_values("start")
        metric = metrics[_TENSOR if name == _BY_ACTIVE else str(name)][0]
        readings[str(name)] = Reading(metric, ordered["start"].to_numpy(), ordered["value"].to_numpy())
    return readings


def _with_share_of_elapsed(readings: Readings, wrong: Counter[str]) -> dict[str, Any]:
    """Turn a share of the cycles in which SMs were active into one of all, where it is known how many they were."""
    by_active, active = readings.pop(_BY_ACTIVE, None), readings.get("sm_active_pct")
    if by_active is None or _TENSOR in readings:
        return readings
    if active is None or not np.array_equal(active.times, by_active.times):
        wrong[UNKNOWN_SHARE] = len(by_active.values)
        return readings
    values: Any = by_active.values * active.values / 100
    share = by_active._replace(values=values)
    return {**readings, _TENSOR: share}
