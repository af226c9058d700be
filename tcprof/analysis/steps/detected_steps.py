"""Steps of programs that open no range around them: what repeats in the order in which kernels are launched.

They enter the analysis as ranges, in a domain that no program has. The order is that of the launches on the CPU, since
streams overlap differently in each step; where most of these are not recorded, that of the starts on the GPU. A
step reaches to the start of the next one's first kernel, or if something else follows to its last kernel's end.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.names import OPTIMIZER, parse_name
from tcprof.analysis.ranges.projection import Attribution, Hierarchy, launches_of
from tcprof.analysis.steps.periods import FEWEST_PERIODS, Sequence, find_repetitions
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import DEVICE_TO_HOST, HOST_TO_DEVICE, KERNEL_KINDS, NVTX_RANGES, PATHS

KERNEL_ORDER = "step (detected)"  # what the steps are called
KERNEL_ORDER_DOMAIN = "not NVTX"
_MUCH_LONGER = 1.1


@dataclass(frozen=True)
class DetectedSteps:
    """Steps from the kernels' order, in order of GPU and time."""

    ranges: pd.DataFrame  # the steps as ranges on the CPU, see ``tcprof.frames.NVTX_RANGES``
    gpu_start: Ints  # starts on the GPU in ns
    gpu_end: Ints  # ends on the GPU in ns
    activity: Ints  # rows of the activities that belong to one
    step: Ints  # the step that each of these belongs to

    def set_windows(self, instances: pd.DataFrame, ranges: int) -> pd.DataFrame:
        """Set the windows on the GPU of the instances of steps, which come after so many ranges."""
        rows = np.flatnonzero(instances["range"] >= ranges)
        number = instances["range"].to_numpy()[rows] - ranges
        start, end = (instances[name].to_numpy(copy=True) for name in ("gpu_start_ns", "gpu_end_ns"))
        start[rows], end[rows] = self.gpu_start[number], self.gpu_end[number]
        return instances.assign(gpu_start_ns=start, gpu_end_ns=end)


def find_detected_steps(launches: pd.DataFrame, activities: pd.DataFrame, waits: pd.DataFrame) -> DetectedSteps | None:
    """Detect the steps in the kernels' order on each GPU, of the process with most kernel time, by geometry too."""
    launch = launches_of(launches, activities)
    launched = np.append(launches["start_ns"].to_numpy(), 0)[launch]
    thread = np.append(launches["thread"].to_numpy(), 0)[launch]
    length = (activities["end_ns"] - activities["start_ns"]).where(activities["kind"].isin(KERNEL_KINDS), 0)
    spent = length.groupby([activities["gpu"], activities["process"]]).sum()
    parts: list[DetectedSteps] = []
    for gpu, process_ns in spent.groupby(level="gpu"):
        process = process_ns.idxmax()[1]
        rows = np.flatnonzero((activities["gpu"] == gpu) & (activities["process"] == process))
        has_launches = (launch[rows] >= 0).mean() > 0.5
        start = activities["start_ns"].to_numpy()[rows]
        time = np.where(launch[rows] >= 0, launched[rows], start) if has_launches else start
        waited = waits["end_ns"].to_numpy()[(waits["process"] == process).to_numpy()]
        one = _detect(activities.iloc[rows], time, thread[rows], waited if has_launches else waited[:0])
        if one is not None:
            before = sum(len(part.ranges) for part in parts)
            parts.append(replace(one, activity=rows[one.activity], step=one.step + before))
    if not parts:
        return None
    columns = [[getattr(part, name) for part in parts] for name in ("gpu_start", "gpu_end", "activity", "step")]
    return DetectedSteps(NVTX_RANGES.concat(part.ranges for part in parts), *map(np.concatenate, columns))


def _detect(activities: pd.DataFrame, time: Ints, thread: Ints, waits: Ints) -> DetectedSteps | None:
    start, end = (activities[name].to_numpy() for name in ("start_ns", "end_ns"))
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    order = np.lexsort((start, time))
    kernels, other_rows = order[is_kernel[order]], np.flatnonzero(~is_kernel)
    begins, ends = _find_borders(activities[~is_kernel], time[~is_kernel], waits, time[kernels])
    first, stop = _find_steps(activities.iloc[kernels], (end - start)[kernels].astype(np.float64), begins, ends)
    if not len(first):
        return None
    follows = np.append(stop[:-1] == first[1:], False)
    inside = np.ravel(np.column_stack((first, stop)))  # each second part lies between two steps
    last_end = np.maximum.reduceat(np.append(end[kernels], 0), inside)[::2]
    following = np.append(first[1:], first[-1])
    begin = start[kernels[first]]
    host_end = np.where(follows, time[kernels[following]], time[kernels[stop - 1]] + 1)
    # Kernels by their position, since those of a CUDA graph have one launch; copies by the time of theirs.
    kernel_step = np.searchsorted(first, np.arange(len(kernels)), side="right") - 1
    other_step = np.searchsorted(time[kernels[first]], time[other_rows], side="right") - 1
    in_one = np.append(np.arange(len(kernels)) < stop[kernel_step], time[other_rows] < host_end[other_step])
    step = np.append(kernel_step, other_step)
    in_one &= step >= 0
    ranges = pd.DataFrame(
        {
            "process": activities["process"].to_numpy()[kernels[first]],
            "thread": thread[kernels[first]],
            "domain": KERNEL_ORDER_DOMAIN,
            "name": KERNEL_ORDER,
            "start_ns": time[kernels[first]],
            "end_ns": host_end,
            "start_end": False,
        }
    ).assign(sizes="", output_sizes="")
    return DetectedSteps(
        ranges=NVTX_RANGES.conform(ranges),
        gpu_start=begin,
        gpu_end=np.maximum(np.where(follows, start[kernels[following]], last_end), begin),
        activity=np.append(kernels, other_rows)[in_one],
        step=step[in_one],
    )


def _find_borders(copies: pd.DataFrame, time: Ints, waits: Ints, launched: Ints) -> tuple[Bools, Bools]:
    """Find the launches that follow a copy to the GPU, and those that follow any copy to or from it, or a wait."""
    to_gpu, from_gpu = ((copies["name"] == name).to_numpy() for name in (HOST_TO_DEVICE, DEVICE_TO_HOST))
    either = np.sort(np.append(time[to_gpu | from_gpu], waits))
    return _follow(np.sort(time[to_gpu]), launched), _follow(either, launched)


def _follow(times: Ints, launched: Ints) -> Bools:
    """Find the launches that are the first after one of some times."""
    return np.asarray(np.diff(np.searchsorted(times, launched, side="right"), prepend=0) > 0)


def _find_steps(kernels: pd.DataFrame, weight: Floats, begins: Bools, ends: Bools) -> tuple[Ints, Ints]:
    names = kernels["name"].cat.codes.to_numpy(np.int64)
    geometry = kernels["launch_geometry"].cat.codes.to_numpy(np.int64)
    classes = pd.factorize(names << 32 | geometry & 0xFFFFFFFF)[0].astype(np.int64)
    total = np.append(0, np.cumsum(weight))
    is_graph = (kernels["kind"] == "graph").to_numpy()
    optimizes = [parse_name(text).work == OPTIMIZER for text in kernels["name"].cat.categories]
    is_update = np.array(optimizes, dtype=bool)[names]
    whole = ends | is_update
    both = [find_repetitions(Sequence(codes, names, weight, begins, is_graph, whole)) for codes in (classes, names)]
    length = [float(np.median(stop - first)) if len(first) else 0.0 for first, stop in both]
    held_ns = [float((total[stop] - total[first]).sum()) for first, stop in both]
    by_name = length[1] > _MUCH_LONGER * length[0] or (held_ns[1] > held_ns[0] and _MUCH_LONGER * length[1] > length[0])
    repeated = both[1] if by_name else both[0]
    return repeated if len(repeated[0]) else _find_updates(classes, is_update)


def _find_updates(classes: Ints, is_update: Bools) -> tuple[Ints, Ints]:
    """Find the steps that end with an optimizer's kernels, of whatever length: first kernel and end of each."""
    begin, stop = np.flatnonzero(np.diff(is_update, prepend=False, append=False)).reshape(-1, 2).T
    kind = pd.factorize(stop - begin + (classes[begin] << 32))[0]  # others clip gradients, or update another model
    stop = stop[kind == np.bincount(kind).argmax()] if len(kind) else stop
    stop = stop if len(stop) >= FEWEST_PERIODS else stop[:0]
    return np.append(0, stop[:-1])[: len(stop)], stop


def add_to_ranges(
    steps: DetectedSteps, hierarchy: Hierarchy, attribution: Attribution
) -> tuple[Hierarchy, Attribution]:
    """Append the steps to hierarchy and attribution; causes stay, as steps are no ranges."""
    count, added = len(hierarchy.ranges), len(steps.ranges)
    path = {"domain": KERNEL_ORDER_DOMAIN, "path": KERNEL_ORDER, "name": KERNEL_ORDER, "depth": 1, "parent_id": -1}
    rows = np.arange(count, count + added)
    outermost, *inner = hierarchy.levels or [rows[:0]]
    wider = replace(
        hierarchy,
        ranges=NVTX_RANGES.concat([hierarchy.ranges, steps.ranges]),
        parent=np.append(hierarchy.parent, np.full(added, -1)),
        path_id=np.append(hierarchy.path_id, np.full(added, len(hierarchy.paths))),
        paths=PATHS.concat([hierarchy.paths, PATHS.conform(pd.DataFrame([path]))]),
        levels=[np.append(outermost, rows), *inner],
        lane=np.append(hierarchy.lane, np.full(added, int(hierarchy.lane.max(initial=-1)) + 1)),
    )
    pairs = replace(
        attribution,
        activity=np.append(attribution.activity, steps.activity),
        range=np.append(attribution.range, count + steps.step),
        counted=np.append(attribution.counted, np.zeros_like(steps.activity)),
        inherited=np.append(attribution.inherited, np.zeros(len(steps.activity), dtype=bool)),
    )
    return wider, pairs
