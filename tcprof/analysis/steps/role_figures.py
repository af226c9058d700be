"""Figures of each role of steps, see ``tcprof.frames.KINDS``."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.ranges.summary import Functions
from tcprof.analysis.samples.sampling import Windows
from tcprof.analysis.steps.marked_steps import are_steady
from tcprof.analysis.steps.roles import DECODE
from tcprof.analysis.steps.step_summary import summarize_steps, time_followed_steps
from tcprof.analysis.time.account import sum_classes
from tcprof.analysis.time.range_metrics import range_rates, values_of_launches
from tcprof.arrays import Floats, Ints, union
from tcprof.frames import KINDS

_KEYS = ["gpu", "kind"]
_RATES = ("tensor_kernel_share_pct", "dram_pct")
_SPREAD = {"step_p10_ns": 0.1, "step_p90_ns": 0.9}


def summarize_kinds(
    steps: pd.DataFrame, instances: pd.DataFrame, activities: pd.DataFrame, functions: Functions
) -> pd.DataFrame:
    """Summarize each role of steps on each GPU, without rates from the fit: see ``add_rates_of_kinds``.

    Figures of steps are as in ``summarize_steps``, of which the first role has just these.
    """
    if steps.empty:
        return KINDS.empty()
    is_steady = are_steady(steps)
    steady = steps[is_steady]
    kinds = steps.groupby(_KEYS).agg(
        name=("role", "first"), warm_up_count=("warm_up", "sum"), slow_count=("slow", lambda slow: (slow != "").sum())
    )
    kinds["step_count"] = steady_count = steady.groupby(_KEYS).size().reindex(kinds.index, fill_value=0)
    parts = []
    for kind in steps["kind"].unique().tolist():
        kind_steps = steps.assign(counted=is_steady & (steps["kind"] == kind))
        figures = summarize_steps(kind_steps, activities, functions)  # rounding widens intervals alone
        parts.append(figures.assign(kind=kind))
    figures = pd.concat(parts).set_index(_KEYS).reindex(kinds.index)
    columns = ["gpu", "range", "kernel_count"]
    mean = steady.merge(instances[columns], on=columns[:2]).groupby(_KEYS)[["kernel_count", "kernel_ns"]].mean()
    timed = pd.concat(time_followed_steps(steps, activities, gpu) for gpu in steps["gpu"].unique().tolist())
    spread = timed[are_steady(timed)].groupby(_KEYS)["step_ns"]
    slow = timed[timed["slow"] != ""].groupby(_KEYS)["step_ns"].agg(["sum", "count"]).reindex(kinds.index, fill_value=0)
    frame = kinds.assign(
        # Over all steps, as a program counts them: the median ignores what differs.
        tokens_per_second=1e9 * steady_count / figures["total_ns"].where(kinds["name"] == DECODE),
        step_time_ns=figures["step_ns"],
        **{name: spread.quantile(share).reindex(kinds.index) for name, share in _SPREAD.items()},
        slow_ns=slow["sum"] - slow["count"] * figures["total_ns"] / steady_count.where(steady_count > 0),
        total_ns=figures["total_ns"],
        share_pct=100 * figures["total_ns"] / figures["total_ns"].groupby("gpu").transform("sum"),
        tensor_active_mean_pct=figures["tensor_active_mean_pct"],
        gpu_idle_pct=100 * figures["idle_ns"] / figures["total_ns"],
        **mean.reindex(kinds.index),
    )
    return KINDS.conform(frame.reset_index())


def add_rates_of_kinds(
    kinds: pd.DataFrame,
    steps: pd.DataFrame,
    launches: pd.DataFrame,
    kernels: pd.DataFrame,
    activities: pd.Series,
    timelines: dict[int, StepFunction],
) -> pd.DataFrame:
    """Add times by class, and rates of memory and tensor kernels; ``activities`` has the kind of each activity."""
    steady = np.append(are_steady(steps), False)[launches["step"].to_numpy()]
    row: Ints = pd.MultiIndex.from_frame(kinds[_KEYS]).get_indexer(pd.MultiIndex.from_frame(steps[_KEYS]))
    kind_row = np.append(row, -1)[launches["step"].to_numpy()][steady]
    sums = pd.DataFrame(
        {
            name: np.bincount(kind_row, values[steady], minlength=len(kinds))
            for name, values in values_of_launches(launches, kernels, activities)
        }
    )
    rates = range_rates(sums, kinds["total_ns"].to_numpy(np.float64))
    moved = rates["dram_bytes"]
    intensity = rates["tensor_flop"] / moved.where(moved > 0)
    times = _sum_times(kinds, steps[are_steady(steps) & (steps["gpu_window_ns"] > 0)], timelines)
    return kinds.assign(flop_per_byte=intensity, **{name: rates[name] for name in _RATES}, **times)


def _sum_times(kinds: pd.DataFrame, steps: pd.DataFrame, timelines: dict[int, StepFunction]) -> dict[str, Floats]:
    row: Ints = pd.MultiIndex.from_frame(kinds[_KEYS]).get_indexer(pd.MultiIndex.from_frame(steps[_KEYS]))
    start = steps["gpu_start_ns"].to_numpy(np.int64)
    group, *window = union(row, start, start + steps["gpu_window_ns"].to_numpy(np.int64))
    return sum_classes(Windows(group, kinds["gpu"].to_numpy()[group], *window), len(kinds), timelines)
