"""Figures per instance, per path and for the whole capture, from ranges, activities and samples."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import StepFunction, union
from tcprof.analysis.projection import Attribution, Hierarchy
from tcprof.analysis.sampling import (
    MINIMUM_COVERAGE,
    Windows,
    bootstrap_interval,
    measure,
    measure_distribution,
)
from tcprof.frames import RANGE_SUMMARY

KERNEL_KINDS = ("kernel", "graph")

Ints = npt.NDArray[np.int64]
Functions = dict[int, tuple[StepFunction, StepFunction]]


def list_members(hierarchy: Hierarchy, every: Attribution, activities: pd.DataFrame) -> pd.DataFrame:
    """One row for each pair of an activity and a range in ``every``, with path, GPU and times."""
    return pd.DataFrame(
        {
            "activity": every.activity,
            "range": every.range,
            "path_id": hierarchy.path_id[every.range],
            "inherited": every.inherited,
            "gpu": activities["gpu"].to_numpy()[every.activity],
            "start_ns": activities["start_ns"].to_numpy()[every.activity],
            "end_ns": activities["end_ns"].to_numpy()[every.activity],
        },
        copy=False,
    )


def _used_gpus(
    hierarchy: Hierarchy, activities: pd.DataFrame, gpus: pd.DataFrame, samples: pd.DataFrame
) -> pd.DataFrame:
    """The GPUs on which each process's ranges are shown: those it used, or, if it used none, all recorded ones."""
    used = activities[["process", "gpu"]].drop_duplicates()
    idle = set(hierarchy.ranges["process"].unique()) - set(used["process"])
    recorded = sorted({*samples["gpu"].unique(), *used["gpu"].unique()}) or gpus["gpu"].tolist()[:1] or [0]
    everywhere = pd.MultiIndex.from_product([sorted(idle), recorded], names=["process", "gpu"])
    return pd.concat([used, everywhere.to_frame(index=False)], ignore_index=True).astype("int64")


def count_instances(
    hierarchy: Hierarchy,
    members: pd.DataFrame,
    activities: pd.DataFrame,
    gpus: pd.DataFrame,
    samples: pd.DataFrame,
) -> pd.DataFrame:
    """Each range on each GPU that its process used, with its activities counted."""
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()[members["activity"]]
    duration = (members["end_ns"] - members["start_ns"]).to_numpy()
    counted = members.assign(kernel=is_kernel.astype(np.int8), kernel_ns=np.where(is_kernel, duration, 0))
    totals = counted.groupby(["range", "gpu"], sort=False).agg(
        activity_count=("activity", "size"),
        inherited_count=("inherited", "sum"),
        kernel_count=("kernel", "sum"),
        kernel_ns=("kernel_ns", "sum"),
        gpu_start_ns=("start_ns", "min"),
        gpu_end_ns=("end_ns", "max"),
    )
    ranges = hierarchy.ranges
    every = pd.DataFrame(
        {
            "range": np.arange(len(ranges)),
            "path_id": hierarchy.path_id,
            "process": ranges["process"],
            "host_start_ns": ranges["start_ns"],
            "host_end_ns": ranges["end_ns"],
        }
    ).merge(_used_gpus(hierarchy, activities, gpus, samples), on="process")
    joined = every.join(totals, on=["range", "gpu"]).sort_values(["gpu", "range"], kind="stable", ignore_index=True)
    counts = ["activity_count", "inherited_count", "kernel_count", "kernel_ns"]
    return joined.assign(**{name: joined[name].fillna(0).astype("int64") for name in counts})


def instance_windows(instances: pd.DataFrame, members: pd.DataFrame, window: str) -> Windows:
    """The host, gpu or busy windows of each instance; the group is the instance's row."""
    gpu = instances["gpu"].to_numpy()
    if window == "busy":
        row_of = pd.MultiIndex.from_frame(instances[["range", "gpu"]])
        row = row_of.get_indexer(pd.MultiIndex.from_frame(members[["range", "gpu"]])).astype(np.int64)
        group, start, end = union(row, members["start_ns"].to_numpy(), members["end_ns"].to_numpy())
        return Windows(group, gpu[group], start, end)
    names = ("host_start_ns", "host_end_ns") if window == "host" else ("gpu_start_ns", "gpu_end_ns")
    rows = np.flatnonzero(instances[names[0]].notna())
    start, end = (instances[name].to_numpy()[rows].astype(np.int64) for name in names)
    return Windows(rows, gpu[rows], start, end)


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
    members: pd.DataFrame,
    paths: pd.DataFrame,
    functions: Functions,
    rounded: bool,
) -> pd.DataFrame:
    """One row for each GPU and path. Time that two instances of a path share counts once in all windows."""
    if not len(instances):
        return RANGE_SUMMARY.empty()
    key = instances["gpu"].to_numpy() * len(paths) + instances["path_id"].to_numpy()
    keys, group = np.unique(key, return_inverse=True)
    gpu_of = keys // len(paths)
    chosen = _united(group, gpu_of, windows)
    gpu_windows = _united(group, gpu_of, instance_windows(instances, members, "gpu"))
    busy = _united(group, gpu_of, instance_windows(instances, members, "busy"))
    interval = bootstrap_interval(
        group, instances["active_ns"].to_numpy(), instances["covered_ns"].to_numpy(), len(keys)
    )
    host = (instances["host_end_ns"] - instances["host_start_ns"]).to_numpy()
    counts = {
        name: np.bincount(group, instances[name]).astype(np.int64)
        for name in ("activity_count", "inherited_count", "kernel_count", "kernel_ns")
    }
    has_activity = counts["activity_count"] > 0
    rows = pd.DataFrame(
        {
            "gpu": gpu_of,
            "path_id": keys % len(paths),
            "instance_count": np.bincount(group),
            "host_ns": np.bincount(group, host).astype(np.int64),
            "gpu_window_ns": np.where(has_activity, _lengths(gpu_windows, len(keys)), np.nan),
            "busy_ns": np.where(has_activity, _lengths(busy, len(keys)), np.nan),
            **counts,
            **_tensor_columns(chosen, len(keys), functions, rounded, interval),
        }
    )
    return RANGE_SUMMARY.conform(rows.join(paths, on="path_id"))


def _united(group: Ints, gpu_of: Ints, windows: Windows) -> Windows:
    """The union over each group of instances of their windows."""
    of_group, start, end = union(group[windows.group], windows.start, windows.end)
    return Windows(of_group, gpu_of[of_group], start, end)


def _lengths(windows: Windows, groups: int) -> np.ndarray:
    """Total length of each group's windows, in ns."""
    return np.bincount(windows.group, windows.end - windows.start, minlength=groups)


def summarize_capture(
    gpus: pd.DataFrame,
    activities: pd.DataFrame,
    attribution: Attribution,
    samples: pd.DataFrame,
    duration_ns: float,
    functions: Functions,
) -> pd.DataFrame:
    """One row for each GPU that was sampled or used: all its samples and all its activities."""
    inherited = np.zeros(len(activities), dtype=bool)
    inherited[attribution.activity] = attribution.inherited
    flagged = activities.assign(inherited=inherited)
    active = {*samples["gpu"].unique(), *activities["gpu"].unique()}
    times = samples[["gpu", "start_ns", "end_ns"]]
    shown = [gpu for gpu in gpus["gpu"] if gpu in active] or gpus["gpu"].tolist()[:1] or [0]
    rows = [
        _capture_row(gpu, flagged[flagged["gpu"] == gpu], times[times["gpu"] == gpu], duration_ns, functions)
        for gpu in shown
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
