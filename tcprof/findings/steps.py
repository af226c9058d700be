"""What a step of a recording is like, without warm-up: see ``tcprof.frames.STEP_SUMMARY`` for what it is over."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.intervals import distinct
from tcprof.analysis.kernels.names import GRAPH, parse_name
from tcprof.analysis.mean_step import Typical, find_median
from tcprof.analysis.samples.interval_estimates import FEWEST_INSTANCES
from tcprof.analysis.samples.sampling import MINIMUM_COVERAGE
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER
from tcprof.analysis.unprofiled import explain_mismatch, list_annotated_steps, list_unprofiled_steps, measure_step_times
from tcprof.arrays import Bools, rows_of_gpu
from tcprof.findings.finding import Finding, Severity
from tcprof.frames import HEADLINE, HEADLINE_INTERVAL
from tcprof.sources.xla import COMPILATION
from tcprof.untrusted import one_line


@dataclass(frozen=True)
class RecordingCost:
    """The steps of a program, unprofiled and recorded, by the same hooks; without warm-up.

    Where they use a GPU, its times count, since the program may be ahead of it.
    """

    unprofiled: Typical  # median time in ns from one step's start to the next one's
    recorded: Typical

    @property
    def ratio(self) -> float:
        """How many times as long a recorded step takes."""
        return self.recorded.value / self.unprofiled.value

    @property
    def is_known(self) -> bool:
        """Whether recording is known to slow the steps."""
        return self.recorded.low > self.unprofiled.high


def measure_cost(analysis: Analysis) -> RecordingCost | None:
    """What recording costs; None where no unprofiled steps were timed."""
    unprofiled = list_unprofiled_steps(analysis)
    if unprofiled.empty:
        return None
    warm_up = int(analysis.steps.groupby("gpu")["warm_up"].sum().max()) if len(analysis.steps) else 1
    times = measure_step_times(unprofiled), measure_step_times(list_annotated_steps(analysis), max(warm_up, 1))
    return RecordingCost(*(find_median(of) if len(of) >= FEWEST_INSTANCES else Typical() for of in times))


def find_recording_cost(analysis: Analysis) -> list[Finding]:
    """The cost in a sentence; none where no unprofiled steps were timed."""
    cost = measure_cost(analysis)
    if cost is None:
        mismatch = explain_mismatch(analysis) if len(analysis.unprofiled) else ""
        sentence = f"The unprofiled steps are ignored: {mismatch}"
        return [Finding("recording-cost", Severity.CAUTION, sentence=sentence)] if mismatch else []
    unprofiled, recorded = (units.format_ns(cost_of.value) for cost_of in (cost.unprofiled, cost.recorded))
    has_intervals = (
        cost.unprofiled.low > 0 and cost.recorded.low > 0
    )  # no step takes 0 ns: such an interval says nothing
    if cost.is_known:
        sentence = (
            f"Profiling slowed a step from {unprofiled} to {recorded} ({cost.ratio:.2f}x); most of the difference is "
            f"idle time"
        )
    elif has_intervals:
        spans = [
            f"{units.format_ns(cost_of.low)} to {units.format_ns(cost_of.high)}"
            for cost_of in (cost.unprofiled, cost.recorded)
        ]
        took = f"a step took {unprofiled} unprofiled ({spans[0]}) and {recorded} profiled ({spans[1]})"
        sentence = f"Whether profiling slowed the steps is inconclusive: {took}"
    else:
        why = "there are too few steps after the warm-up"
        if not math.isnan(cost.unprofiled.low + cost.recorded.low):
            why = (
                f"there are too few steps after the warm-up, and they vary too much: about {unprofiled} unprofiled, "
                f"{recorded} profiled"
            )
        sentence = f"Whether profiling slowed the steps is unknown: {why}"
    return [Finding("recording-cost", Severity.CAUTION, sentence=sentence)]


_MOST_NAMED = 3
_SKEWED = 1.2  # mean over median, from which the spread is the cause that is named


def list_kinds(analysis: Analysis, gpu: int) -> pd.DataFrame:
    """The roles of steps on a GPU; none where there are not several."""
    kinds = analysis.kinds[analysis.kinds["gpu"] == gpu]
    return kinds if len(kinds) > 1 else kinds[:0]


def describe_roles(analysis: Analysis, gpu: int) -> tuple[str, ...]:
    """Sentences on the role that the verdict is about, on the others, and on slow steps; none where all are alike."""
    kinds = list_kinds(analysis, gpu)
    return (*_describe_roles(kinds.to_dict("records")), *_describe_slow(analysis, gpu))


def _describe_roles(kinds: list[dict[Hashable, Any]]) -> tuple[str, ...]:
    if not kinds:
        return ()
    first, *rest = kinds
    parts = [f"“{one_line(kind['name'], 40)}” ({_often(kind)}{_lacked(first, kind)})" for kind in rest[:_MOST_NAMED]]
    if more := rest[_MOST_NAMED:]:
        share = units.format_pct(sum(kind["share_pct"] for kind in more if kind["share_pct"] > 0))
        parts.append(f"{len(more)} more ({share})")
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    about = f"Figures are for “{one_line(first['name'], 40)}” ({_often(first)} of all step time)"
    return (f"{about}. Other step roles: {listed}.",)


def _describe_slow(analysis: Analysis, gpu: int) -> tuple[str, ...]:
    """Sentences on steps that no figure covers, by number, cause and time, and those that set mean and median apart."""
    steps = analysis.steps[(analysis.steps["gpu"] == gpu) & (analysis.steps["kind"] == 0)]
    kinds = analysis.kinds[(analysis.kinds["gpu"] == gpu) & (analysis.kinds["kind"] == 0)]
    if kinds.empty:
        return ()
    first, texts = kinds.iloc[0], []
    causes = steps[steps["slow"] != ""].groupby("slow")["number"].agg(list)
    if len(causes):
        parts = [
            f"{units.format_count(len(numbers))} {cause} ({_list_numbers(numbers)})"
            for cause, numbers in causes.items()
        ]
        excess = f" They take {units.format_ns(first['slow_ns'])} longer than usual." * bool(first["slow_ns"] > 0)
        slow = units.format_things(int(first["slow_count"]), "slow step is", "slow steps are")
        texts.append(f"{slow} excluded from all figures: {', '.join(parts)}.{excess}")
    mean = first["total_ns"] / max(first["step_count"], 1)
    if not 1 / _SKEWED < mean / first["step_time_ns"] < _SKEWED and first["step_p90_ns"] > 0:
        low, high = units.format_ns(first["step_p10_ns"]), units.format_ns(first["step_p90_ns"])
        texts.append(f"Steps differ in their work: 80 % take {low} to {high}, {units.format_ns(mean)} on average.")
    return tuple(texts)


def _list_numbers(numbers: list[int]) -> str:
    listed = ", ".join(f"{number}" for number in numbers[:_MOST_NAMED])
    return f"step{'s' * (len(numbers) > 1)} {listed}{', …' * (len(numbers) > _MOST_NAMED)}"


def _lacked(first: dict[Hashable, Any], other: dict[Hashable, Any]) -> str:
    has_tensor = not first["tensor_kernel_share_pct"] > 0 and other["tensor_kernel_share_pct"] > 0
    return ", with tensor kernels" * has_tensor


def _often(kind: dict[Hashable, Any]) -> str:
    count = kind["step_count"]
    often = "only once" if count == 1 else f"{units.format_count(count)} steps"
    time = f" of {units.format_ns(kind['step_time_ns'])}" * (count > 1 and kind["step_time_ns"] > 0)
    return f"{often}{time}, {units.format_pct(kind['share_pct'])}"


MUCH_OUTSIDE_PCT = 10.0  # of the kernel time: what the steps lack then is told
LAUNCH_BOUND, CPU_BOUND = "launch-bound", "CPU-bound"
WAITING_PCT = 50.0  # idle share of the GPU windows from which the GPU does little but wait
_KEEPS_UP = 0.8  # of the GPU window: a step that takes the CPU so long holds the GPU up
_LAUNCH_NS = 50_000  # with its share of Python, the launch of a kernel takes the CPU 5 to 40 µs


@dataclass(frozen=True)
class StepFigures:
    """The steady steps of a GPU's first role. Where all steps of one path are, these are its figures in ``ranges``."""

    name: str  # innermost name of their path, as one line of untrusted text
    rows: pd.DataFrame  # the rows of their paths in ``Analysis.ranges``
    time: pd.DataFrame  # their row in ``Analysis.kinds``; none without a fit
    count: int
    # Median time from one's first activity on the GPU to that of the next, with its 95 % interval
    step_ns: float
    step_low_ns: float
    step_high_ns: float
    total_ns: float  # all of them together, each to the next: what the shares below are of
    tensor_active_pct: float  # mean Tensor Active, with its 95 % interval
    low_pct: float
    high_pct: float
    tensor_kernel_share_pct: float  # share of their kernel time that tensor kernels have
    idle_pct: float  # share in which nothing runs on the GPU
    unprofiled_idle_pct: float  # the same without what recording adds; as recorded where that is unknown
    # The step time without it: measured, with its 95 % interval; or else the mean, estimated where that decides; NaN
    unprofiled_ns: float
    unprofiled_low_ns: float
    unprofiled_high_ns: float
    is_estimated: bool
    window_ns: float  # mean time from first activity to last
    # Mean time of a step on the CPU; unknown of those from the kernels' order, which reach from one to the next
    host_ns: float
    kernel_count: float  # mean number of kernels that run in a step, each of which takes ``kernel_ns``
    launch_count: float  # mean number of calls that launch these: a CUDA graph of many kernels is one
    kernel_ns: float
    coverage_pct: float  # share that lies under samples
    # Share of the GPU's kernel time that is in no step, not in one of warm-up either; NaN without a fit
    outside_pct: float
    outside_tensor_pct: float  # likewise of tensor kernels in none
    outside_graph_pct: float  # likewise of CUDA graphs that were recorded as a whole

    @property
    def slowdown(self) -> float:
        """Return the ratio of recorded to unprofiled step time, from the shares of idle time; 1 if unknown."""
        return (100 - self.unprofiled_idle_pct) / (100 - self.idle_pct) if self.idle_pct < 100 else 1.0

    @property
    def is_slowed(self) -> bool:
        """Tell whether recording was measured to slow the step; headline figures are of the unprofiled step then."""
        return not self.is_estimated and self.unprofiled_idle_pct < self.idle_pct

    def at_own_pace(self) -> "StepFigures":
        """Return the headline figures: those of the unprofiled step, if recording was measured to slow the step."""
        if not self.is_slowed:
            return self
        slowdown, mean_ns = self.slowdown, self.slowdown * self.unprofiled_ns
        return replace(
            self,
            step_ns=self.unprofiled_ns,
            step_low_ns=self.unprofiled_low_ns,
            step_high_ns=self.unprofiled_high_ns,
            total_ns=self.total_ns / slowdown,
            tensor_active_pct=self.tensor_active_pct * slowdown,
            low_pct=self.low_pct * mean_ns / self.unprofiled_high_ns,
            high_pct=self.high_pct * mean_ns / self.unprofiled_low_ns,
            idle_pct=self.unprofiled_idle_pct,
        )


def measure_step_figures(analysis: Analysis, gpu: int) -> StepFigures | None:
    """The steps of a GPU; nothing where no path iterates there, or where all with work are, or lie in, warm-up."""
    steps = analysis.counted_steps(gpu)
    summary = analysis.step_summary[analysis.step_summary["gpu"] == gpu]
    if summary.empty:
        return None
    instances = rows_of_gpu(analysis.instances, gpu)
    row = pd.Index(instances["range"]).get_indexer(steps.sort_values("number")["range"])
    paths = analysis.paths.loc[instances["path_id"].iloc[row].unique(), ["domain", "path", "name"]]
    if (rows := _rows_of(analysis.ranges, gpu, paths)).empty:
        return None
    step, counted = summary.iloc[0], instances.iloc[row]
    count, kernels, kernel_ns = len(counted), float(counted["kernel_count"].sum()), float(counted["kernel_ns"].sum())
    kinds = analysis.kinds[(analysis.kinds["gpu"] == gpu) & (analysis.kinds["kind"] == 0)].assign(depth=1)
    idle = 100 * _ratio(step["idle_ns"], step["total_ns"])
    outside = ("outside_pct", "outside_tensor_pct", "outside_graph_pct")
    cost, roles = measure_cost(analysis), list_kinds(analysis, gpu)
    return StepFigures(
        name=one_line(str((roles if len(roles) else paths)["name"].iloc[0]), 40),
        rows=rows,
        time=kinds[kinds["window_ns"].notna()],
        count=count,
        **{name: float(step[name]) for name in ("step_ns", "step_low_ns", "step_high_ns", "total_ns", "coverage_pct")},
        tensor_active_pct=float(step[HEADLINE.name]),
        low_pct=float(step[HEADLINE_INTERVAL[0]]),
        high_pct=float(step[HEADLINE_INTERVAL[1]]),
        tensor_kernel_share_pct=_average_tensor_share(kinds if len(kinds) else rows),
        idle_pct=idle,
        unprofiled_idle_pct=_measure_unprofiled_idle(idle, _ratio(step["total_ns"], step["step_count"]), cost),
        unprofiled_ns=cost.unprofiled.value if cost else math.nan,
        unprofiled_low_ns=cost.unprofiled.low if cost else math.nan,
        unprofiled_high_ns=cost.unprofiled.high if cost else math.nan,
        is_estimated=False,
        window_ns=float((counted["gpu_end_ns"] - counted["gpu_start_ns"]).sum()) / count,
        host_ns=math.nan if from_kernel_order(analysis) else float(steps["host_ns"].sum()) / count,
        kernel_count=kernels / count,
        launch_count=_count_launches(analysis, steps) / count,
        kernel_ns=_ratio(kernel_ns, kernels),
        **dict(zip(outside, measure_outside(analysis, gpu), strict=True)),
    )


def _measure_unprofiled_idle(idle_pct: float, mean_ns: float, cost: RecordingCost | None) -> float:
    """The idle share of steps in percent without a recording, which only adds idle time to their mean length."""
    if cost is None or not cost.is_known:
        return idle_pct
    return min(idle_pct, max(0.0, 100 - (100 - idle_pct) * mean_ns / cost.unprofiled.value))


def _average_tensor_share(rows: pd.DataFrame) -> float:
    weight = rows["kernel_ns"].astype(float)
    return _ratio((rows["tensor_kernel_share_pct"].where(weight > 0, 0) * weight).sum(skipna=False), weight.sum())


def _count_launches(analysis: Analysis, steps: pd.DataFrame) -> int:
    """How many calls launched the kernels of steps; a kernel whose call was not recorded counts as one."""
    launched = analysis.kernel_instances
    rows = launched["activity"].to_numpy()[launched["step"].isin(steps.index).to_numpy()]
    correlation = analysis.activities["correlation"].to_numpy()[rows]
    process = analysis.activities["process"].to_numpy()[rows]
    is_called = correlation >= 0
    return int((~is_called).sum()) + len(distinct(process[is_called] << 32 | correlation[is_called]))


def measure_outside(analysis: Analysis, gpu: int) -> tuple[float, float, float]:
    """Shares of a GPU's kernel time that are in no step, without XLA's compilation; NaN without a fit."""
    launched = rows_of_gpu(analysis.kernel_instances[~are_of_compilation(analysis)], gpu)
    time, is_outside = launched["duration_ns"].to_numpy(np.float64), (launched["step"] < 0).to_numpy()
    is_tensor, is_graph = (
        of_kernel.to_numpy(bool)[launched["kernel"].to_numpy()]
        for of_kernel in (analysis.kernels["tensor_kernel"], are_graphs(analysis.kernels))
    )
    whole, tensor, graphs = (
        100 * _ratio(time[is_outside & chosen].sum(), time.sum()) for chosen in (True, is_tensor, is_graph)
    )
    return whole, tensor, graphs


def are_of_compilation(analysis: Analysis) -> Bools:
    """Which launches are those of XLA's compilation, as it tries kernels."""
    compiling = analysis.paths.index[analysis.paths["name"] == COMPILATION]
    is_compiling: Bools = analysis.kernel_instances["path_id"].isin(compiling).to_numpy()
    return is_compiling


def share_of_compilation(analysis: Analysis) -> float:
    """Their share of the kernel time, in percent; launches, which may be millions, are read only if it is not 0."""
    if not (analysis.paths["name"] == COMPILATION).any():
        return 0.0
    time = analysis.kernel_instances["duration_ns"]
    return 100 * float(time[are_of_compilation(analysis)].sum() / time.sum())


def are_graphs(kernels: pd.DataFrame) -> "pd.Series[bool]":
    """Which rows of ``tcprof.frames.KERNELS`` are CUDA graphs that were recorded as a whole."""
    return kernels["name"].map(lambda name: parse_name(name).work == GRAPH).astype(bool)


def from_kernel_order(analysis: Analysis) -> bool:
    """Whether the steps are what repeats in the kernels' order, since no range iterates."""
    return bool((analysis.steps["path"] == KERNEL_ORDER).any())


def _rows_of(frame: pd.DataFrame, gpu: int, paths: pd.DataFrame) -> pd.DataFrame:
    ranges = frame[(frame["gpu"] == gpu) & (frame["depth"] > 0) & (frame["window_ns"] > 0)]
    wanted = set(zip(paths["domain"], paths["path"], strict=True))
    is_wanted = [key in wanted for key in zip(ranges["domain"], ranges["path"], strict=True)]
    return ranges[np.array(is_wanted, dtype=bool)]


def pool_tensor_active(rows: pd.DataFrame) -> tuple[float, float, float, float]:
    """Mean, both ends of its interval, and coverage over several paths; rounding goes the same way in all of them."""
    columns = (HEADLINE.name, *HEADLINE_INTERVAL)
    whole = float(rows["window_ns"].sum())
    coverage = _ratio((rows["window_ns"] * rows["coverage_pct"]).sum(), whole)
    measured = rows[rows[HEADLINE.name].notna()]
    if not coverage >= 100 * MINIMUM_COVERAGE or not len(measured):
        return math.nan, math.nan, math.nan, coverage
    if len(measured) == 1:
        mean, low, high = (float(measured[name].iloc[0]) for name in columns)
        return mean, low, high, coverage
    covered = measured["window_ns"] * measured["coverage_pct"]
    mean, low, high = (_ratio((measured[name] * covered).sum(skipna=False), covered.sum()) for name in columns)
    return mean, low, high, coverage


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else math.nan


def find_bound(figures: StepFigures) -> str:
    """Whether the launches of kernels, or else other work on the CPU, hold the GPU up; empty where neither is known to.

    The GPU is idle most of the steps without what recording is known to add, and the CPU is at work about as long as
    their GPU windows. It is the launches if each call has no more time than a launch takes.
    """
    waits = figures.unprofiled_idle_pct >= WAITING_PCT
    if not waits or not figures.host_ns >= _KEEPS_UP * figures.window_ns:
        return ""
    launches = figures.launch_count > 0 and figures.window_ns / figures.launch_count < _LAUNCH_NS
    return LAUNCH_BOUND if launches else CPU_BOUND
