"""Figures per instance, per path and for the whole capture, from ranges, activities and samples."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import open_times
from tcprof.analysis.ranges.instances import (
    Work,
    busy_time,
    group_by_path,
    instance_windows,
    number_groups,
    united_windows,
)
from tcprof.analysis.ranges.projection import Attribution
from tcprof.analysis.samples.interval_estimates import bootstrap_interval
from tcprof.analysis.samples.sampling import (
    MINIMUM_COVERAGE,
    NORMAL_95,
    Tensor,
    Windows,
    measure,
    measure_distribution,
    measure_errors,
)
from tcprof.arrays import Floats, pick_rows
from tcprof.frames import KERNEL_KINDS, OUTSIDE, WHOLE_CAPTURE
from tcprof.sources import Samples

Functions = dict[int, Tensor]

ROUNDING = 1e-9  # by so much the sum over a window may be above that of its samples
_SUMMED = ("activity_count", "inherited_count", "kernel_count", "kernel_ns", "host_ns")


def measure_instances(instances: pd.DataFrame, windows: Windows, functions: Functions) -> pd.DataFrame:
    """Measure mean, time and cycles of the instances' windows, with the sums behind them."""
    sums = measure(windows, len(instances), functions)
    return instances.assign(**mean_columns(sums), **{name: sums[name] for name in ("covered_ns", "active_ns")})


def mean_columns(sums: pd.DataFrame) -> dict[str, Floats]:
    """Compute mean, tensor-active time, cycles and coverage; unknown below half of the window sampled."""
    window, covered, active = (sums[name].to_numpy() for name in ("window_ns", "covered_ns", "active_ns"))
    coverage = covered / np.where(window > 0, window, np.nan)
    enough = coverage >= MINIMUM_COVERAGE
    return {
        "tensor_active_mean_pct": 100 * active / np.where(enough, covered, np.nan),
        "tensor_active_s": np.where(enough, active * 1e-9, np.nan),
        "tensor_cycles": np.where(enough, sums["tensor_cycles"], np.nan),
        "coverage_pct": 100 * coverage,
    }


def tensor_columns(
    windows: Windows, groups: int, functions: Functions, rounded: bool, interval: tuple[Floats, Floats]
) -> dict[str, Floats]:
    """Compute all figures from samples, by group of windows; ``interval`` is the mean's, as shares, before rounding."""
    sums = measure(windows, groups, functions)
    shape = measure_distribution(windows, groups, functions)
    columns = mean_columns(sums)
    mean = columns["tensor_active_mean_pct"]
    is_sampled = ~np.isnan(mean)
    # Samples are shared among launches: the mean of a window that cuts the samples with most can be above all others.
    # Samples of which less than half is inside, the peak leaves out; in the percentile they count as no more than it.
    highest, percentile = (shape[name].to_numpy() for name in ("peak_pct", "p95_pct"))
    peak = np.where(is_sampled & (highest >= (1 - ROUNDING) * mean), np.maximum(highest, mean), np.nan)
    errors = measure_errors(windows, groups, functions, rounded)
    covered = np.where(is_sampled, sums["covered_ns"], np.nan)
    below, above = (100 * errors[name].to_numpy() / covered for name in ("below_ns", "above_ns"))
    border = 100 * NORMAL_95 * errors["border_ns"].to_numpy() / covered
    low, high = 100 * interval[0] - below - border, 100 * interval[1] + above + border
    return columns | {
        "window_ns": sums["window_ns"].to_numpy(),
        "tensor_active_low_pct": np.where(low < 0, 0.0, low),
        "tensor_active_high_pct": np.where(high > 100, 100.0, high),
        "tensor_active_peak_pct": peak,
        "tensor_active_p95_pct": np.minimum(percentile, peak),
    }


def summarize_paths(
    instances: pd.DataFrame, windows: Windows, work: Work, paths: pd.DataFrame, functions: Functions, samples: Samples
) -> pd.DataFrame:
    """Summarize each path on each GPU, with shared time once, without what is left out; else figures are unknown."""
    if not len(instances):
        return pd.DataFrame()
    group, groups = group_by_path(instances, paths)
    count, gpu_of = len(groups), groups["gpu"].to_numpy()
    chosen = united_windows(group, gpu_of, windows)
    gpu_windows = united_windows(group, gpu_of, instance_windows(instances, work, "gpu"))
    is_counted = group >= 0
    of = group[is_counted]
    active, covered = (instances[name].to_numpy()[is_counted] for name in ("active_ns", "covered_ns"))
    interval = bootstrap_interval(of, active, covered, count)
    summed = instances.assign(host_ns=instances["host_end_ns"] - instances["host_start_ns"])
    counts = {
        name: np.bincount(of, summed[name].to_numpy()[is_counted], minlength=count).astype(np.int64) for name in _SUMMED
    }
    has_activity = counts["activity_count"] > 0
    spans = np.bincount(gpu_windows.group, gpu_windows.end - gpu_windows.start, minlength=count)
    tensor = tensor_columns(chosen, count, functions, samples.tensor_source == "rounded", interval)
    figured_count = np.bincount(of, minlength=count)
    slow, _ = number_groups(instances.assign(left_out=~instances["slow"]), paths)
    slow_count = np.bincount(slow[slow >= 0], minlength=count)
    columns = {
        **groups,
        "instance_count": figured_count + slow_count,
        "slow_count": slow_count,
        "gpu_window_ns": np.where(has_activity, spans, np.nan),
        "busy_ns": np.where(has_activity, busy_time(instances, work, group, count), np.nan),
        **counts,
        **tensor,
        "window_ns": np.where(figured_count > 0, tensor["window_ns"], np.nan),
    }
    return pd.DataFrame(columns, groups.index)


def summarize_capture(
    gpus: list[int],
    activities: pd.DataFrame,
    attribution: Attribution,
    samples: pd.DataFrame,
    duration_ns: float,
    functions: Functions,
) -> pd.DataFrame:
    """Summarize the whole capture of each GPU; if empty, with the recording's length."""
    inherited = np.zeros(len(activities), dtype=bool)
    inherited[attribution.activity[attribution.inherited]] = True
    flagged = activities.assign(inherited=inherited)
    spans = capture_spans(gpus, activities, samples)
    gpu_of = flagged["gpu"].to_numpy()
    rows = [
        _capture_row(gpu, pick_rows(flagged, gpu_of == gpu), span, duration_ns, functions)
        for gpu, span in spans.items()
    ]
    return pd.DataFrame([{**WHOLE_CAPTURE, "instance_count": 1, "slow_count": 0, **row} for row in rows])


def capture_spans(gpus: list[int], activities: pd.DataFrame, samples: pd.DataFrame) -> dict[int, tuple[int, int]]:
    """Find the span of each GPU's activities in ns; else of its samples; without these either, empty."""
    spans = find_borders(samples) | find_borders(activities)
    return {gpu: spans.get(gpu, (0, 0)) for gpu in gpus}


def find_borders(times: pd.DataFrame) -> dict[int, tuple[int, int]]:
    """Find the first start and the last end of activities or samples on each GPU."""
    gpu, start, end = (times[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
    rows = {int(number): gpu == number for number in pd.unique(gpu)}
    return {number: (int(start[is_on_gpu].min()), int(end[is_on_gpu].max())) for number, is_on_gpu in rows.items()}


def _capture_row(
    gpu: int, activities: pd.DataFrame, span: tuple[int, int], duration_ns: float, functions: Functions
) -> dict[str, object]:
    kernels = pick_rows(activities, activities["kind"].isin(KERNEL_KINDS).to_numpy())
    busy = open_times(activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy())
    window = Windows(*(np.array([value], dtype=np.int64) for value in (0, gpu, *span)))
    tensor = tensor_columns(window, 1, functions, False, (np.full(1, np.nan), np.full(1, np.nan)))
    length, used = span[1] - span[0], len(activities) > 0
    return {
        "gpu": gpu,
        "activity_count": len(activities),
        "inherited_count": int(activities["inherited"].sum()),
        "kernel_count": len(kernels),
        "kernel_ns": int((kernels["end_ns"] - kernels["start_ns"]).sum()),
        "host_ns": length if length or not duration_ns > 0 else duration_ns,
        "gpu_window_ns": length if used else np.nan,
        "busy_ns": float(busy.known_ns) if used else np.nan,
        **{name: column[0] for name, column in tensor.items()},
    }


def measure_outside(
    gpus: list[int], activities: pd.DataFrame, samples: pd.DataFrame, duration_ns: float, functions: Functions
) -> pd.DataFrame:
    """Measure the time before and after each GPU's capture, see ``tcprof.frames.OUTSIDE``.

    A recording of known length begins at 0 or with its first sample, whichever is earlier, and ends likewise; another
    one reaches as far as its samples.
    """
    spans = capture_spans(gpus, activities, samples)
    captures = np.array([spans[gpu] for gpu in gpus], dtype=np.int64).reshape(-1, 2)
    sampled = find_borders(samples)
    first, last = np.array([sampled.get(gpu, (np.nan, np.nan)) for gpu in gpus], dtype=float).reshape(-1, 2).T
    begin = 0.0 if duration_ns > 0 else np.nan
    low = np.fmin(np.fmin(first, begin), captures[:, 0])
    high = np.fmax(np.fmax(last, duration_ns), captures[:, 1])
    has_end = ~np.isnan(last) | (duration_ns > 0)
    number = np.repeat(np.arange(len(gpus)), 2)
    start, end = (np.column_stack(part).ravel() for part in ((low, captures[:, 1]), (captures[:, 0], high)))
    rows = end > start
    parts = Windows(
        number[rows], np.array(gpus)[number[rows]], start[rows].astype(np.int64), end[rows].astype(np.int64)
    )
    sums = measure(parts, len(gpus), functions)
    return OUTSIDE.conform(
        pd.DataFrame(
            {
                "gpu": gpus,
                "before_s": np.where(has_end, captures[:, 0] - low, np.nan) * 1e-9,
                "after_s": np.where(has_end, high - captures[:, 1], np.nan) * 1e-9,
                "sampled_s": sums["covered_ns"] * 1e-9,
                "tensor_active_s": (sums["active_ns"] * 1e-9).where(sums["covered_ns"] > 0, 0),
            }
        )
    )
