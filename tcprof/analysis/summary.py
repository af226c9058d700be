"""Figures per instance, per path and for the whole capture, from ranges, activities and samples."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.instances import KERNEL_KINDS, Work, busy_time, group_by_path, instance_windows, united_windows
from tcprof.analysis.intervals import StepFunction, union
from tcprof.analysis.projection import Attribution
from tcprof.analysis.sampling import (
    MINIMUM_COVERAGE,
    Windows,
    bootstrap_interval,
    measure,
    measure_distribution,
)
from tcprof.frames import RANGE_SUMMARY

Ints = npt.NDArray[np.int64]
Functions = dict[int, tuple[StepFunction, StepFunction]]


def measure_instances(instances: pd.DataFrame, windows: Windows, functions: Functions) -> pd.DataFrame:
    """Instances with the mean, time and cycles of their windows, and the sums that these come from."""
    sums = measure(windows, len(instances), functions)
    return instances.assign(**_mean_columns(sums), **{name: sums[name] for name in ("covered_ns", "active_ns")})


def _mean_columns(sums: pd.DataFrame) -> dict[str, pd.Series]:
    """Mean, tensor-active time, cycles and coverage; unknown where less than half of the window was sampled."""
    coverage = sums["covered_ns"] / sums["window_ns"].where(sums["window_ns"] > 0)
    enough = coverage >= MINIMUM_COVERAGE
    return {
        "tensor_active_mean_pct": (100 * sums["active_ns"] / sums["covered_ns"]).where(enough),
        "tensor_active_s": (sums["active_ns"] * 1e-9).where(enough),
        "tensor_cycles": sums["tensor_cycles"].where(enough),
        "coverage_pct": 100 * coverage,
    }


def _tensor_columns(
    windows: Windows, groups: int, functions: Functions, rounded: bool, interval: tuple[np.ndarray, np.ndarray]
) -> dict[str, pd.Series]:
    """All figures from samples, for each group of windows; ``interval`` is the mean's, as shares, before rounding."""
    sums = measure(windows, groups, functions)
    shape = measure_distribution(windows, groups, functions)
    columns = _mean_columns(sums)
    known = columns["tensor_active_mean_pct"].notna()
    below, above = (100 * sums[name] / sums["covered_ns"] * rounded for name in ("below_ns", "above_ns"))
    low, high = pd.Series(100 * interval[0]) - below, pd.Series(100 * interval[1]) + above
    return columns | {
        "window_ns": sums["window_ns"],
        "tensor_active_low_pct": low.clip(lower=0).where(known),
        "tensor_active_high_pct": high.clip(upper=100).where(known),
        "tensor_active_peak_pct": shape["peak_pct"].where(known),
        "tensor_active_p95_pct": shape["p95_pct"].where(known),
    }


def summarize_paths(
    instances: pd.DataFrame,
    windows: Windows,
    work: Work,
    paths: pd.DataFrame,
    functions: Functions,
    rounded: bool,
) -> pd.DataFrame:
    """One row for each GPU and path. Time that two instances of a path share counts once in all windows."""
    if not len(instances):
        return RANGE_SUMMARY.empty()
    group, groups = group_by_path(instances, paths)
    count, gpu_of = len(groups), groups["gpu"].to_numpy()
    chosen = united_windows(group, gpu_of, windows)
    gpu_windows = united_windows(group, gpu_of, instance_windows(instances, work, "gpu"))
    interval = bootstrap_interval(group, instances["active_ns"].to_numpy(), instances["covered_ns"].to_numpy(), count)
    host = (instances["host_end_ns"] - instances["host_start_ns"]).to_numpy()
    counts = {
        name: np.bincount(group, instances[name]).astype(np.int64)
        for name in ("activity_count", "inherited_count", "kernel_count", "kernel_ns")
    }
    has_activity = counts["activity_count"] > 0
    spans = np.bincount(gpu_windows.group, gpu_windows.end - gpu_windows.start, minlength=count)
    return RANGE_SUMMARY.conform(
        groups.assign(
            **{
                "instance_count": np.bincount(group),
                "host_ns": np.bincount(group, host).astype(np.int64),
                "gpu_window_ns": np.where(has_activity, spans, np.nan),
                "busy_ns": np.where(has_activity, busy_time(instances, work, group, count), np.nan),
                **counts,
                **_tensor_columns(chosen, count, functions, rounded, interval),
            }
        )
    )


def summarize_capture(
    gpus: list[int],
    activities: pd.DataFrame,
    attribution: Attribution,
    samples: pd.DataFrame,
    duration_ns: float,
    functions: Functions,
) -> pd.DataFrame:
    """One row for each GPU: all its samples and all its activities."""
    inherited = np.zeros(len(activities), dtype=bool)
    inherited[attribution.activity[attribution.inherited]] = True
    flagged = activities.assign(inherited=inherited)
    times = samples[["gpu", "start_ns", "end_ns"]]
    rows = [
        _capture_row(gpu, flagged[flagged["gpu"] == gpu], times[times["gpu"] == gpu], duration_ns, functions)
        for gpu in gpus
    ]
    return RANGE_SUMMARY.conform(pd.DataFrame(rows).assign(domain="", path="", name="", depth=0, instance_count=1))


def _capture_row(
    gpu: int, activities: pd.DataFrame, samples: pd.DataFrame, duration_ns: float, functions: Functions
) -> dict[str, object]:
    """The figures of one GPU over the whole capture: all its samples, else from its first activity to its last."""
    kernels = activities[activities["kind"].isin(KERNEL_KINDS)]
    whole = samples if len(samples) else activities
    start, end = (int(whole["start_ns"].min()), int(whole["end_ns"].max())) if len(whole) else (0, 0)
    _, busy_start, busy_end = union(
        np.zeros(len(activities), np.int64), activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy()
    )
    window = Windows(*(np.array([value], dtype=np.int64) for value in (0, gpu, start, end)))
    unknown = (np.full(1, np.nan), np.full(1, np.nan))
    tensor = _tensor_columns(window, 1, functions, False, unknown)
    used = len(activities) > 0
    return {
        "gpu": gpu,
        "activity_count": len(activities),
        "inherited_count": int(activities["inherited"].sum()),
        "kernel_count": len(kernels),
        "kernel_ns": int((kernels["end_ns"] - kernels["start_ns"]).sum()),
        "host_ns": duration_ns if duration_ns > 0 else end - start,
        "gpu_window_ns": activities["end_ns"].max() - activities["start_ns"].min() if used else np.nan,
        "busy_ns": float((busy_end - busy_start).sum()) if used else np.nan,
        **{name: column.iloc[0] for name, column in tensor.items()},
    }
