"""The mean step of a GPU, split to the nanosecond: each moment is of one range, one time class and one kernel.

Of several activities at once, the first in ``TIME_CLASSES`` has the time, of one class what began first. Copies and
idle time are of the innermost range whose window on the GPU they lie in.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.analysis import Analysis
from tcprof.analysis.intervals import OpenIntervals, StepFunction, open_times
from tcprof.analysis.samples.interval_estimates import find_medians
from tcprof.analysis.time.account import IDLE, classes_of_activities
from tcprof.arrays import Ints, pick_rows, rows_of_gpu

BETWEEN = "between steps"  # what the time from one step to the next is called
_KEYS = ["path_id", "module", "time_class", "kernel"]


@dataclass(frozen=True)
class MeanStep:
    """The mean step of one GPU."""

    count: int  # how many steps it is the mean of; 0 for all that the GPU did, where nothing iterates
    length_ns: float  # its length
    paths: tuple[int, ...]  # rows in ``Analysis.paths`` of what iterates
    # what it consists of: ``path_id`` and ``module`` (-1 for none), ``time_class`` as an index of ``TIME_CLASSES``,
    # ``kernel`` (-1 for other work and idle time), ``time_ns``, ``launch_count``, and ``start_ns``, its mean start
    # after the step's; of idle time ``gap_count``, and ``longest_ns``, the longest gap, begun at ``longest_at_ns``
    parts: pd.DataFrame


def measure_mean_step(analysis: Analysis, gpu: int) -> MeanStep | None:
    """Measure the mean of a GPU's steps without warm-up, or all its work; None where hardly any was traced."""
    rows = np.flatnonzero((analysis.activities["gpu"] == gpu).to_numpy())
    if not len(rows) or not analysis.is_busy_known(gpu):
        return None
    start, end = (analysis.activities[name].to_numpy(np.int64)[rows] for name in ("start_ns", "end_ns"))
    paths, first, last = _list_windows(analysis, gpu)
    count = len(first)
    if not count:
        first, last = start.min(keepdims=True), end.max(keepdims=True)
    windows = open_times(first, last)
    low, high = windows.start, windows.end
    if not len(low):  # all work was in no time
        return None
    # Idle time is a class of its own, so that both are summed one after the other: there may be millions of pieces.
    work = _sum_pieces(_list_work(analysis, rows, low, high), low)
    idle = _sum_pieces(_list_idle(analysis, gpu, start, end, low, high), low)
    parts = pd.concat([work, idle]).sort_values(_KEYS, ignore_index=True)
    parts[["time_ns", "launch_count", "gap_count"]] /= max(count, 1)
    return MeanStep(count, windows.known_ns / max(count, 1), paths, parts[parts["time_ns"] > 0])


def _sum_pieces(pieces: pd.DataFrame, low: Ints) -> pd.DataFrame:
    """Sum pieces of the same range, module, class and kernel, with the mean start in their window."""
    index = np.maximum(np.searchsorted(low, pieces["begin"].to_numpy(), "right") - 1, 0)
    pieces["start_ns"] = pieces["begin"].to_numpy() - low[index]
    by = pieces.groupby(_KEYS, as_index=False)
    sums = {name: (name, "sum") for name in ("time_ns", "launch_count", "gap_count")}
    longest = {"longest_ns": ("time_ns", "max"), "longest_at_ns": ("time_ns", "idxmax")}
    summed = by.agg(**sums, start_ns=("start_ns", "mean"), **longest)
    rows = summed["longest_at_ns"].to_numpy(np.int64)
    return summed.assign(longest_at_ns=pieces["begin"].to_numpy()[rows])


def _list_windows(analysis: Analysis, gpu: int) -> tuple[tuple[int, ...], Ints, Ints]:
    rows = analysis.counted_steps(gpu)
    columns = ["gpu", "range", "path_id", "gpu_end_ns"]
    steps = rows.merge(analysis.instances[columns], on=["gpu", "range"])
    steps = steps[steps["gpu_end_ns"] > steps["gpu_start_ns"]]
    start, end = (steps[name].to_numpy(np.float64).astype(np.int64) for name in ("gpu_start_ns", "gpu_end_ns"))
    return tuple(int(path) for path in steps["path_id"].unique()), start, end


def _list_work(analysis: Analysis, activity_rows: Ints, low: Ints, high: Ints) -> pd.DataFrame:
    launched, columns = analysis.kernel_instances, {}
    time_class = classes_of_activities(analysis.activities, launched, analysis.kernels)[activity_rows]
    start, end = (analysis.activities[name].to_numpy()[activity_rows] for name in ("start_ns", "end_ns"))
    # Outside of the windows all time counts as busy.
    border = np.concatenate([[min(int(start.min()), int(low[0]))], high]), np.append(low, max(end.max(), high[-1]))
    busy = open_times(*border)
    self_ns, begin = np.zeros(len(activity_rows)), start.copy()
    for number in range(IDLE):
        rows = np.flatnonzero(time_class == number)
        rows = rows[np.argsort(start[rows], kind="stable")]
        if not len(rows):
            continue
        reach = np.maximum.accumulate(end[rows])
        begin[rows[1:]] = np.maximum(start[rows[1:]], reach[:-1])
        finish = np.maximum(end[rows], begin[rows])
        self_ns[rows] = finish - begin[rows] - busy.integral(begin[rows], finish)
        busy = open_times(np.append(busy.start, start[rows]), np.append(busy.end, end[rows]))
    pieces = np.flatnonzero(self_ns > 0)
    launch_row = np.full(len(analysis.activities), -1)
    launch_row[launched["activity"].to_numpy()] = np.arange(len(launched))
    row = launch_row[activity_rows[pieces]]
    for name, none in (("path_id", -2), ("module", -1), ("kernel", -1)):
        columns[name] = np.append(launched[name].to_numpy(), none)[row]
    begin, copies = begin[pieces], row < 0
    gpu = int(analysis.activities["gpu"].iloc[activity_rows[0]])
    columns["path_id"][copies] = _innermost(analysis, gpu, begin[copies], end[pieces[copies]])
    counts = {"launch_count": 1.0, "gap_count": 0.0}
    return pd.DataFrame(
        {**columns, "time_class": time_class[pieces], "time_ns": self_ns[pieces], "begin": begin, **counts}, copy=False
    )


def _list_idle(analysis: Analysis, gpu: int, start: Ints, end: Ints, low: Ints, high: Ints) -> pd.DataFrame:
    busy = open_times(start, end)
    gaps = StepFunction(busy.end[:-1], busy.start[1:], busy.value[1:])
    window, step, length = gaps.overlaps(low, high)
    begin = np.maximum(gaps.start[step], low[window])
    path = _innermost(analysis, gpu, begin, begin + length)
    idle = {"module": -1, "kernel": -1, "time_class": IDLE, "launch_count": 0.0, "gap_count": 1.0}
    return pd.DataFrame({"path_id": path, "begin": begin, "time_ns": length.astype(np.float64), **idle})


def _innermost(analysis: Analysis, gpu: int, start: Ints, end: Ints) -> Ints:
    """Find the path of the range that began last of those in whose windows on a GPU times lie; -1 for none."""
    rows = rows_of_gpu(analysis.instances[["gpu", "path_id", "gpu_start_ns", "gpu_end_ns"]], gpu)
    rows = pick_rows(rows, rows["gpu_end_ns"].notna().to_numpy())
    low, high = (rows[f"gpu_{side}_ns"].to_numpy(np.float64).astype(np.int64) for side in ("start", "end"))
    order = OpenIntervals.order(np.zeros_like(low), low, high)
    innermost = OpenIntervals(np.zeros_like(low), low[order], high[order]).at(np.zeros_like(start), start, end - 1)
    paths = np.append(rows["path_id"].to_numpy(np.int64)[order], -1)
    return paths[innermost]


@dataclass(frozen=True)
class Typical:
    """A median, such as over steps, with its 95 % interval within this recording; NaN where unknown."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


def find_typical(analysis: Analysis, gpu: int) -> dict[str, Typical]:
    """Find the typical ``gpu_window_ns`` and ``window_active_pct`` of a GPU's steps; empty where none counts."""
    steps = analysis.counted_steps(gpu)
    steps = steps[steps["gpu_window_ns"] > 0].sort_values("number")
    typical = {name: find_median(steps[name]) for name in ("gpu_window_ns", "window_active_pct") if len(steps)}
    if typical and analysis.tensor_source == "rounded":
        typical["window_active_pct"] = _widen_by_rounding(typical["window_active_pct"], analysis, gpu, steps)
    return typical


def find_median(values: "pd.Series[float]") -> Typical:
    """Return the median of values, with its interval where there are enough of them."""
    medians = find_medians(np.zeros(len(values), dtype=np.int64), np.asarray(values, dtype=np.float64), 1)
    return Typical(float(medians.value[0]), float(medians.low[0]), float(medians.high[0]))


def _widen_by_rounding(typical: Typical, analysis: Analysis, gpu: int, steps: pd.DataFrame) -> Typical:
    """Widen the interval by the samples' rounding, as the range summary does."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & analysis.ranges["path"].isin(steps["path"])]
    low = np.fmin(typical.low, rows["tensor_active_low_pct"].min())  # of two, the one that is known
    high = np.fmax(typical.high, rows["tensor_active_high_pct"].max())
    return Typical(typical.value, float(np.minimum(low, typical.value)), float(np.maximum(high, typical.value)))
