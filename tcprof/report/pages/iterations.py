"""What an iteration of a recording is like: medians with intervals over the iterations that are not warm-up."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.intervals import StepFunction, union
from tcprof.comparison.statistics.centers import find_medians
from tcprof.report.figures.lanes import one_line

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Typical:
    """A median over iterations, with the 95 % interval over the iterations of this recording; NaN where unknown."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class IterationFigures:
    """The iterations of one GPU, without warm-up.

    Attributes:
        name: Innermost name of their path, as one line of untrusted text.
        paths: Their paths.
        count: How many are measured.
        warm_up_count: How many first ones are left out.
        window_ns: From an iteration's first activity on the GPU to its last.
        host_ns: Its time on the CPU.
        tensor_active_pct: Its mean Tensor Active; for rounded samples the interval has room for the rounding.
        tensor_kernel_share_pct: Share of its kernel time that tensor kernels have.
        idle_pct: Share of its window in which nothing runs on the GPU.
        gap_pct: Share of the time from one iteration's start to the next one's that the GPU idles between both.
        kernel_count: Kernels launched in it.
        kernel_ns: Sum of their durations.
        coverage_pct: Share of the windows of all of them that lies under samples.
    """

    name: str
    paths: tuple[str, ...]
    count: int
    warm_up_count: int
    window_ns: Typical
    host_ns: Typical
    tensor_active_pct: Typical
    tensor_kernel_share_pct: Typical
    idle_pct: Typical
    gap_pct: Typical
    kernel_count: Typical
    kernel_ns: Typical
    coverage_pct: float


def measure_iterations(analysis: Analysis, gpu: int) -> IterationFigures | None:
    """The iterations of a GPU; nothing where no path iterates there, or none but warm-up has work on it."""
    iterations = analysis.iterations[analysis.iterations["gpu"] == gpu]
    columns = ["gpu", "range", "gpu_start_ns", "gpu_end_ns", "kernel_count", "tensor_kernel_ns", "coverage_pct"]
    found = iterations.merge(analysis.instances[columns], on=["gpu", "range"]).sort_values("number")
    rest = found[~found["warm_up"] & (found["gpu_window_ns"] > 0)]
    if not len(rest):
        return None
    start, end = rest["gpu_start_ns"].astype(np.int64).to_numpy(), rest["gpu_end_ns"].astype(np.int64).to_numpy()
    busy = _busy_function(analysis, gpu)
    window = rest["gpu_window_ns"].to_numpy()
    kernel_ns = rest["kernel_ns"].where(rest["kernel_ns"] > 0)
    covered = rest["coverage_pct"].fillna(0)
    return IterationFigures(
        name=one_line(analysis.paths["name"][analysis.paths["path"] == rest["path"].iloc[0]].iloc[0], 40),
        paths=tuple(dict.fromkeys(iterations["path"])),
        count=len(rest),
        warm_up_count=int(found["warm_up"].sum()),
        window_ns=_typical(window),
        host_ns=_typical(rest["host_ns"]),
        tensor_active_pct=_with_rounding(_typical(rest["tensor_active_mean_pct"]), analysis, gpu, iterations),
        tensor_kernel_share_pct=_typical(100 * rest["tensor_kernel_ns"] / kernel_ns),
        idle_pct=_typical(np.clip(100 * (1 - busy.integral(start, end) / window), 0, 100)),
        gap_pct=_typical(_gaps(busy, rest["number"].to_numpy(), start, end)),
        kernel_count=_typical(rest["kernel_count"]),
        kernel_ns=_typical(rest["kernel_ns"]),
        coverage_pct=float(np.average(covered, weights=window)),
    )


def _typical(values: "pd.Series[float] | Floats") -> Typical:
    found = find_medians(np.zeros(len(values), dtype=np.int64), np.asarray(values, dtype=np.float64), 1)
    return Typical(float(found.value[0]), float(found.low[0]), float(found.high[0]))


def _with_rounding(found: Typical, analysis: Analysis, gpu: int, iterations: pd.DataFrame) -> Typical:
    """A wider interval, if the samples were rounded: the range summary says how far that may have moved the mean."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & analysis.ranges["path"].isin(iterations["path"])]
    if analysis.tensor_source != "rounded" or math.isnan(found.value):
        return found
    low = np.nanmin([found.value, found.low, rows["tensor_active_low_pct"].min()])
    return Typical(found.value, float(low), float(np.nanmax([found.high, rows["tensor_active_high_pct"].max()])))


def _busy_function(analysis: Analysis, gpu: int) -> StepFunction:
    """1 while anything runs on the GPU."""
    activities = analysis.activities[analysis.activities["gpu"] == gpu]
    start, end = activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy()
    _, begin, finish = union(np.zeros(len(activities), dtype=np.int64), start, end)
    return StepFunction(begin, finish, np.ones(len(begin)))


def _gaps(
    busy: StepFunction, number: npt.NDArray[np.int64], start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> Floats:
    """Idle time between neighbouring iterations, as a share of the time from one's start to the next one's."""
    follows = (np.diff(number) == 1) & (np.diff(start) > 0)
    finish, begin = end[:-1][follows], start[1:][follows]
    begin = np.maximum(begin, finish)  # neighbours may overlap
    period = np.diff(start)[follows]
    return np.asarray(100 * np.clip(begin - finish - busy.integral(finish, begin), 0, None) / period)
