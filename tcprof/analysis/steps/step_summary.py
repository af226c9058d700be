"""The steps of each GPU, from the first activity of one to that of the next: how long, how idle, how Tensor Active."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import open_times
from tcprof.analysis.ranges.summary import Functions, mean_columns, tensor_columns
from tcprof.analysis.samples.interval_estimates import bootstrap_interval, find_medians
from tcprof.analysis.samples.sampling import Windows, measure
from tcprof.analysis.steps.iterations import reach_to_next
from tcprof.analysis.steps.step_times import time_steps
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.frames import STEP_SUMMARY


def summarize_steps(
    iterations: pd.DataFrame, instances: pd.DataFrame, activities: pd.DataFrame, functions: Functions, source: str
) -> pd.DataFrame:
    """The steps that figures are over, see ``tcprof.frames.STEP_SUMMARY``."""
    if iterations.empty:
        return STEP_SUMMARY.empty()
    columns = ["gpu", "range", "gpu_start_ns", "gpu_end_ns"]
    found = iterations[iterations["gpu_window_ns"] > 0].merge(instances[columns], on=["gpu", "range"])
    rows = []
    for gpu, steps in found.sort_values("number").groupby("gpu", sort=True):
        if steps["counted"].any():
            timed = time_steps(iterations, instances, int(str(gpu)))
            to_next = timed["step_ns"][timed["counted"] & timed["step_ns"].notna()].to_numpy(np.float64)
            work = rows_of_gpu(activities, int(str(gpu)))
            rows.append(_summarize(int(str(gpu)), steps, to_next, work, functions, source == "rounded"))
    return STEP_SUMMARY.conform(pd.DataFrame(rows)) if rows else STEP_SUMMARY.empty()


def _summarize(
    gpu: int, steps: pd.DataFrame, to_next: Floats, activities: pd.DataFrame, functions: Functions, rounded: bool
) -> dict[str, float]:
    number, kind, first, last = (steps[name].to_numpy() for name in ("number", "kind", "gpu_start_ns", "gpu_end_ns"))
    reach = reach_to_next(number, kind, first.astype(np.float64), last.astype(np.float64))
    start, end, last = (each[steps["counted"].to_numpy()].astype(np.int64) for each in (first, reach, last))
    count = len(start)
    inside = open_times(start, end)
    busy = open_times(activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy())
    median = find_medians(np.zeros(len(to_next), dtype=np.int64), to_next, 1)
    each = measure(_windows(gpu, start, end, np.arange(count)), count, functions)
    none = np.zeros(count, dtype=np.int64)
    interval = bootstrap_interval(none, each["active_ns"].to_numpy(), each["covered_ns"].to_numpy(), 1)
    whole = _windows(gpu, inside.start, inside.end, np.zeros(len(inside.start), dtype=np.int64))
    sampled = tensor_columns(whole, 1, functions, rounded, interval)
    own = measure(_windows(gpu, start, last, none), 1, functions)
    names = ("tensor_active_mean_pct", "tensor_active_low_pct", "tensor_active_high_pct", "coverage_pct")
    return {
        "gpu": gpu,
        "step_count": count,
        "step_ns": float(median.value[0]),
        "step_low_ns": float(median.low[0]),
        "step_high_ns": float(median.high[0]),
        "total_ns": float(inside.known_ns),
        "idle_ns": inside.known_ns - float(busy.integral(inside.start, inside.end).sum()),
        **{name: float(sampled[name][0]) for name in names},
        "window_active_pct": float(mean_columns(own)["tensor_active_mean_pct"][0]),
    }


def _windows(gpu: int, start: Ints, end: Ints, group: Ints) -> Windows:
    return Windows(group, np.full(len(start), gpu), start, end)
