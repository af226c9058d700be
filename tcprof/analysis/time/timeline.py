"""Where the time went: every nanosecond of a GPU is of exactly one class.

Where activities of several classes run at once, the first class in the order of ``TIME_CLASSES`` has the time: what the
Tensor Cores do counts before everything else, and a copy counts only where nothing else runs.
"""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, run_starts
from tcprof.analysis.kernels.bound import CUDA_CORES, ISSUE, L1, L2, MEMORY, SMALL_GRID
from tcprof.analysis.kernels.summary import could_be_tensor
from tcprof.analysis.ranges.instances import group_by_path, united_windows
from tcprof.analysis.samples.sampling import Windows
from tcprof.arrays import Floats, Ints
from tcprof.frames import TIMELINE, WHOLE_CAPTURE

# Columns of TIMELINE, without their unit.
TIME_CLASSES = (
    "tensor_kernel",
    "memory_bound",
    "fp32_bound",
    "issue_bound",
    "small_grid",
    "other_kernel",
    "unresolved_kernel",
    "graph",
    "communication",
    "copy",
    "idle",
)
IDLE = TIME_CLASSES.index("idle")


def classes_of_activities(activities: pd.DataFrame, launched: pd.DataFrame, kernels: pd.DataFrame) -> Ints:
    """The class of each activity, as an index of ``TIME_CLASSES``."""
    kind = activities["kind"]
    bound = kernels["bound"]
    conditions = {
        "communication": kernels["communication"],
        "tensor_kernel": kernels["tensor_kernel"],
        "unresolved_kernel": could_be_tensor(kernels),
        "memory_bound": bound.isin([MEMORY, L1, L2]),
        "fp32_bound": bound == CUDA_CORES,
        "issue_bound": bound == ISSUE,
        "small_grid": bound == SMALL_GRID,
    }
    of_kernel = np.select(
        [condition.to_numpy(dtype=bool) for condition in conditions.values()],
        [TIME_CLASSES.index(name) for name in conditions],
        TIME_CLASSES.index("other_kernel"),
    )
    found = np.full(len(activities), TIME_CLASSES.index("copy"), dtype=np.int64)
    found[launched["activity"].to_numpy()] = of_kernel[launched["kernel"].to_numpy()]
    found[(kind == "graph").to_numpy()] = TIME_CLASSES.index("graph")
    return found


def compute_timeline(start: Ints, end: Ints, time_class: Ints) -> StepFunction:
    """The class of every moment of one GPU, from its first activity to its last, as adjacent intervals."""
    times = np.concatenate([start, end])
    order = np.argsort(times, kind="stable")
    times = times[order]
    # Small numbers, since there may be millions of them.
    change = np.repeat(np.array([1, -1], dtype=np.int8), len(start))[order]
    of_class = np.tile(time_class.astype(np.int8), 2)[order]
    last = np.append(run_starts(times)[1:], len(times)) - 1  # what holds after all that happens at one time
    value = np.full(len(last), IDLE, dtype=np.int8)
    for number in range(IDLE - 1, -1, -1):
        value[np.cumsum(np.where(of_class == number, change, 0), dtype=np.int32)[last] > 0] = number
    first = run_starts(value)
    begin = times[last][first]
    return StepFunction(begin, np.append(begin[1:], times[-1:]), value[first].astype(np.float64))


def account_for_time(
    activities: pd.DataFrame, time_class: Ints, instances: pd.DataFrame, paths: pd.DataFrame, windows: Windows
) -> pd.DataFrame:
    """Time of each class over the whole capture, and in each path without warm-up; ``windows`` are of the GPU."""
    gpu_of, start, end = (activities[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
    timelines = {}
    for gpu in np.unique(gpu_of).tolist():
        mine = gpu_of == gpu
        rows = slice(None) if mine.all() else mine  # all without a copy
        timelines[gpu] = compute_timeline(start[rows], end[rows], time_class[rows])
    gpus = np.array(list(timelines), dtype=np.int64)
    first = np.array([timeline.start[0] for timeline in timelines.values()], dtype=np.int64)
    last = np.array([timeline.end[-1] for timeline in timelines.values()], dtype=np.int64)
    sums = _sum_classes(Windows(np.arange(len(gpus)), gpus, first, last), len(gpus), timelines)
    capture = pd.DataFrame({"gpu": gpus, "instance_count": 1, **WHOLE_CAPTURE, **sums})
    group, groups = group_by_path(instances, paths)
    sums = _sum_classes(united_windows(group, groups["gpu"].to_numpy(), windows), len(groups), timelines)
    count = np.bincount(group[group >= 0], minlength=len(groups))
    per_path = pd.DataFrame({**groups, "instance_count": count, **sums}, groups.index)
    rows = TIMELINE.concat([TIMELINE.conform(capture), TIMELINE.conform(per_path)])
    return rows.sort_values("gpu", kind="stable", ignore_index=True)


def _sum_classes(windows: Windows, groups: int, timelines: dict[int, StepFunction]) -> dict[str, Floats]:
    """Columns of times for each group of windows; they add up to the windows' length to the nanosecond."""
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
