"""Where a GPU's time went: by class, by account, and the exposed time of activities."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, distinct, run_starts
from tcprof.analysis.kernels import verdicts
from tcprof.analysis.kernels.names import PRODUCT, parse_name, read_names
from tcprof.analysis.ranges.instances import Evidence, group_by_path, united_windows
from tcprof.analysis.ranges.projection import CAUSES
from tcprof.analysis.samples.sampling import Windows, tensor_counts
from tcprof.arrays import Floats, Ints, pick_rows, rows_of_gpu
from tcprof.chips import NO_MATRIX
from tcprof.frames import KERNEL_KINDS, LEDGER, TIMELINE, WHOLE_CAPTURE

if TYPE_CHECKING:
    from tcprof.analysis.kernels.launches import KernelFit

# Columns of TIMELINE, without their unit. Where activities of several classes run at once, the first has the time: what
# the Tensor Cores do counts before everything else, and a copy counts only where nothing else runs.
TIME_CLASSES = (
    *("tensor_kernel", "memory_bound", "fp32_bound", "issue_bound", "small_grid", "other_kernel"),
    *("unresolved_kernel", "graph", "communication", "copy", "idle"),
)
IDLE = TIME_CLASSES.index("idle")
ACTIVITY_TIME, KERNEL_TIME, TENSOR_TIME = "activity time", "kernel time", "sampled tensor-active time"
FITTED, NOT_FITTED, NO_KERNEL = "fitted to kernels", "while kernels ran, but not fitted", "while no kernel ran"
UNEXPLAINED = "fit residual, redistributed to the kernels"
NOT_TRACED = "sampled before or after the trace"
_MORE_SAMPLES = "record more steps, or sample at a higher --frequency"
_VARIES = "their work varies, or other work ran at the same time: record with the GPU to yourself"
_STATES = {
    verdicts.RESOLVED: "",
    verdicts.POOLED: "record more steps: these kernels were launched too rarely to be measured one by one",
    verdicts.UNRESOLVED: _MORE_SAMPLES,
    verdicts.NOT_SAMPLED: "record GPU metrics over the whole run: 'tcprof profile SCRIPT'",
    verdicts.FROM_NAMES: "record with 'tcprof profile SCRIPT', which samples GPU metrics",
}
_ROUNDING = 1e-9  # of a sum: less is left between two equal sums by the arithmetic, and differs between CPUs
_Entry = tuple[str, str, float, str]


def classes_of_activities(activities: pd.DataFrame, launched: pd.DataFrame, kernels: pd.DataFrame) -> Ints:
    """Classify each activity, as an index of ``TIME_CLASSES``."""
    kind = activities["kind"]
    bound, is_product = kernels["bound"], read_names(kernels["name"])["work"].to_numpy() == PRODUCT
    # On CUDA cores, by their names, whatever limits them.
    is_fp32_product = (kernels["family"] == NO_MATRIX) & (kernels["precision"] == "fp32") & is_product
    conditions = {
        "communication": kernels["communication"],
        "tensor_kernel": kernels["tensor_kernel"],
        "unresolved_kernel": verdicts.could_be_tensor(kernels),
        "memory_bound": bound.isin([verdicts.MEMORY, verdicts.L1, verdicts.L2]),
        "fp32_bound": (bound == verdicts.CUDA_CORES) | is_fp32_product,
        "issue_bound": bound == verdicts.ISSUE,
        "small_grid": bound == verdicts.SMALL_GRID,
    }
    kernel_class = np.select(
        [condition.to_numpy(dtype=bool) for condition in conditions.values()],
        [TIME_CLASSES.index(name) for name in conditions],
        TIME_CLASSES.index("other_kernel"),
    )
    time_class = np.full(len(activities), TIME_CLASSES.index("copy"), dtype=np.int64)
    time_class[launched["activity"].to_numpy()] = kernel_class[launched["kernel"].to_numpy()]
    time_class[(kind == "graph").to_numpy()] = TIME_CLASSES.index("graph")
    return time_class


def compute_timeline(start: Ints, end: Ints, time_class: Ints) -> StepFunction:
    """Classify every moment of one GPU, from its first activity to its last, as adjacent intervals."""
    times = np.concatenate([start, end])
    order = np.argsort(times, kind="stable")
    times = times[order]
    # Small numbers, since there may be millions of them.
    change = np.repeat(np.array([1, -1], dtype=np.int8), len(start))[order]
    edge_class = np.tile(time_class.astype(np.int8), 2)[order]
    last = np.append(run_starts(times)[1:], len(times)) - 1  # what holds after all that happens at one time
    value = np.full(len(last), IDLE, dtype=np.int8)
    for number in range(IDLE - 1, -1, -1):
        value[np.cumsum(np.where(edge_class == number, change, 0), dtype=np.int32)[last] > 0] = number
    first = run_starts(value)
    begin = times[last][first]
    return StepFunction(begin, np.append(begin[1:], times[-1:]), value[first].astype(np.float64))


def classify_time(activities: pd.DataFrame, time_class: Ints) -> dict[int, StepFunction]:
    """Classify every moment of each GPU, see ``compute_timeline``."""
    gpu_of, start, end = (activities[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
    timelines = {}
    for gpu in np.unique(gpu_of).tolist():
        is_on_gpu = gpu_of == gpu
        rows = slice(None) if is_on_gpu.all() else is_on_gpu  # all without a copy
        timelines[gpu] = compute_timeline(start[rows], end[rows], time_class[rows])
    return timelines


def account_for_time(
    timelines: dict[int, StepFunction], instances: pd.DataFrame, paths: pd.DataFrame, windows: Windows
) -> pd.DataFrame:
    """Sum time by class over the whole capture, and in each path without what is left out."""
    gpus = np.array(list(timelines), dtype=np.int64)
    first = np.array([timeline.start[0] for timeline in timelines.values()], dtype=np.int64)
    last = np.array([timeline.end[-1] for timeline in timelines.values()], dtype=np.int64)
    sums = sum_classes(Windows(np.arange(len(gpus)), gpus, first, last), len(gpus), timelines)
    capture = pd.DataFrame({"gpu": gpus, "instance_count": 1, **WHOLE_CAPTURE, **sums})
    group, groups = group_by_path(instances, paths)
    sums = sum_classes(united_windows(group, groups["gpu"].to_numpy(), windows), len(groups), timelines)
    count = np.bincount(group[group >= 0], minlength=len(groups))
    per_path = pd.DataFrame({**groups, "instance_count": count, **sums}, groups.index)
    rows = TIMELINE.concat([TIMELINE.conform(capture), TIMELINE.conform(per_path)])
    return rows.sort_values("gpu", kind="stable", ignore_index=True)


def sum_classes(windows: Windows, groups: int, timelines: dict[int, StepFunction]) -> dict[str, Floats]:
    """Sum time by class in each group of windows, over all GPUs."""
    sums = {name: np.zeros(groups) for name in TIME_CLASSES}
    for gpu, timeline in timelines.items():
        rows = np.flatnonzero(windows.gpu == gpu)
        masks = ((timeline.value == number).astype(np.float64) for number in range(IDLE))
        integrals = timeline.integrals_of(masks, windows.start[rows], windows.end[rows])
        for name, integral in zip(TIME_CLASSES, integrals, strict=False):
            sums[name] += np.bincount(windows.group[rows], integral, minlength=groups)
    window = np.bincount(windows.group, windows.end - windows.start, minlength=groups).astype(np.float64)
    sums["idle"] = window - sum(sums[name] for name in TIME_CLASSES[:IDLE])
    return {"window_ns": window, **{f"{name}_ns": sums[name] for name in TIME_CLASSES}}


def compute_time_account(evidence: Evidence, kernel_fit: "KernelFit", kernels: pd.DataFrame) -> pd.DataFrame:
    """Account for each GPU's activity, kernel and tensor-active time; the entries of each add up to all of it."""
    activities, samples, rows = evidence.activities, evidence.samples, []
    for gpu in sorted({*activities["gpu"].unique().tolist(), *samples["gpu"].unique().tolist()}):
        is_on_gpu = (activities["gpu"] == gpu).to_numpy()
        entries = [
            *_split_activity_time(
                pick_rows(activities, is_on_gpu), evidence.attribution.cause.codes[is_on_gpu], evidence.remedies
            ),
            *_split_kernel_time(kernels[kernels["gpu"] == gpu]),
            *_split_tensor_time(rows_of_gpu(samples, gpu), pick_rows(activities, is_on_gpu), kernel_fit, gpu),
        ]
        rows += [(gpu, account, entry, seconds, np.nan, remedy) for account, entry, seconds, remedy in entries]
    frame = pd.DataFrame(rows, columns=LEDGER.names)
    total = frame.groupby(["gpu", "account"])["seconds"].transform("sum")
    return LEDGER.conform(frame.assign(share_pct=100 * frame["seconds"] / total.where(total > 0)))


def _split_activity_time(activities: pd.DataFrame, cause: np.ndarray, remedies: Mapping[str, str]) -> Iterator[_Entry]:
    duration = (activities["end_ns"] - activities["start_ns"]).to_numpy()
    seconds = np.bincount(cause, duration, minlength=len(CAUSES)) * 1e-9
    for text, value in zip(CAUSES, seconds.tolist(), strict=True):
        if value > 0 or not text:
            yield ACTIVITY_TIME, text or "in a range", value, remedies.get(text, "")


def _split_kernel_time(kernels: pd.DataFrame) -> Iterator[_Entry]:
    seconds = kernels.groupby("fit")["total_ns"].sum() * 1e-9
    for state, remedy in _STATES.items():
        if state in seconds.index:
            yield KERNEL_TIME, state, float(seconds[state]), remedy


def _split_tensor_time(samples: pd.DataFrame, activities: pd.DataFrame, fit: "KernelFit", gpu: int) -> Iterator[_Entry]:
    """Split the sampled tensor-active time: fitted, under kernels only, under none, or not traced."""
    counted = fit.gpus[gpu].counted if gpu in fit.gpus else None
    if counted is None:
        return
    rows = pick_rows(samples, samples["tensor_active_pct"].notna().to_numpy())
    amount = tensor_counts(rows)[0]
    traced = (rows["end_ns"] > activities["start_ns"].min()) & (rows["start_ns"] < activities["end_ns"].max())
    total, inside = float(amount.sum()), float(amount[traced].sum())
    launches = pick_rows(activities, activities["kind"].isin(KERNEL_KINDS).to_numpy())
    start = launches["start_ns"].to_numpy()
    end = np.maximum(launches["end_ns"].to_numpy(), start + 1)
    sampled = StepFunction(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy(), np.ones(len(rows)))
    sampled_share = sampled.covered(start, end) / (end - start)  # of each launch: less than all where samples are lost
    # A fit that resolves little may give launches more than was sampled: no more than all of it is fitted.
    under_kernels = min(counted.sampled, inside)
    fitted = min(float((counted.per_launch * sampled_share).sum()), under_kernels)
    active_ns = rows["tensor_active_pct"].to_numpy() / 100 * (rows["end_ns"] - rows["start_ns"]).to_numpy()
    seconds = float(active_ns.sum()) * 1e-9 / total if total > 0 else 0.0
    unexplained = min(counted.unexplained, fitted) if fit.gpus[gpu].in_cycles else 0.0
    yield TENSOR_TIME, FITTED, (fitted - unexplained) * seconds, ""
    yield TENSOR_TIME, UNEXPLAINED, unexplained * seconds, _VARIES
    yield TENSOR_TIME, NOT_FITTED, _subtract(under_kernels, fitted) * seconds, _MORE_SAMPLES
    yield TENSOR_TIME, NO_KERNEL, _subtract(inside, under_kernels) * seconds, "trace its process: --trace=cuda,nvtx"
    yield TENSOR_TIME, NOT_TRACED, _subtract(total, inside) * seconds, ""


def _subtract(whole: float, part: float) -> float:
    """Subtract a part from the whole; 0 where only rounding remains."""
    remainder = whole - part
    return remainder if abs(remainder) > _ROUNDING * whole else 0.0


@dataclass(frozen=True)
class Exposure:
    """The exposed time of all activities of a recording."""

    # The time in all steps in which no other kernel runs on the GPU, or for a copy nothing else at all. Communication
    # that waits for other GPUs is no work: what runs beside it is exposed in part.
    exposed_ns: Floats
    exclusive_ns: Floats  # the same where communication counts as work, since it holds SMs while it waits, too
    certain: float  # the share of the other kernels' time in which no communication runs either


def find_exposure(activities: pd.DataFrame, gpu: int, inside: StepFunction) -> Exposure:
    """Find the time in which activities of one GPU run without other work; 0 on other GPUs.

    NCCL's kernels send, and wait for the slowest GPU. The GPU that communicates least waits least: tcprof takes the
    excess on others for waiting.
    """
    rows = np.flatnonzero(activities["gpu"] == gpu)
    start, end = (activities[name].to_numpy(np.int64)[rows] for name in ("start_ns", "end_ns"))
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    code, names = pd.factorize(activities["name"])
    communication = np.array([parse_name(str(name)).communication for name in names], dtype=bool)
    communicates = is_kernel & np.append(communication, False)[code]  # -1, without a name, is the last
    exposed = np.zeros(len(activities))
    exposed[rows] = time_alone(start, end, inside)
    exposed[rows[is_kernel[rows]]] = time_alone(start[is_kernel[rows]], end[is_kernel[rows]], inside)
    exclusive_ns = exposed.copy()
    certain, works = 1.0, is_kernel[rows] & ~communicates[rows]
    if communicates[rows].any() and works.any():
        alone = exposed[rows[works]]
        beside = time_alone(start[works], end[works], inside) - alone
        lasts = (activities["end_ns"] - activities["start_ns"])[communicates].groupby(activities["gpu"]).sum()
        exposed[rows[works]] += float(1 - lasts.min() / max(lasts[gpu], 1)) * beside
        certain = float(alone.sum() / max(exposed[rows[works]].sum(), 1.0))
    return Exposure(exposed, exclusive_ns, certain)


def time_alone(start: Ints, end: Ints, inside: StepFunction) -> Floats:
    """Measure for each interval the time in the windows in which no other one of them is open."""
    if (start[1:] >= end[:-1]).all():
        return inside.integral(start, end)
    times = distinct(start, end, inside.start, inside.end)
    change = [np.bincount(np.searchsorted(times, at), minlength=len(times)) for at in (start, end)]
    open_count = np.cumsum(change[0] - change[1])[:-1]
    is_inside = np.diff(inside.until(times)) > 0
    alone = StepFunction(times[:-1], times[1:], ((open_count == 1) & is_inside).astype(np.float64))
    return alone.integral(start, end)
