"""The instances of ranges on each GPU: their activities counted, and their windows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import enumerate_keys, search
from tcprof.analysis.ranges.captured import CapturedNodes
from tcprof.analysis.ranges.projection import Attribution, Hierarchy
from tcprof.analysis.samples.sampling import Windows
from tcprof.arrays import Bools, Floats, Ints, broadcast_if_constant, union
from tcprof.frames import KERNEL_KINDS

_COUNTS = ("activity_count", "inherited_count", "kernel_count", "kernel_ns")

_Numbers = TypeVar("_Numbers", Ints, Floats)


@dataclass(frozen=True)
class Work:
    """The activities that belong to a range, in order of time; see ``Attribution``."""

    instance: Ints  # row of an instance that an activity belongs to, with all instances around it
    counted: Ints  # depth of the instances down to which it counts already
    start: Ints  # starts in ns
    end: Ints  # ends in ns
    alone: Bools  # whether nothing else ran on their GPU at the same time


@dataclass(frozen=True)
class Evidence:
    """The recorded work with its ranges: the input of the time account."""

    activities: pd.DataFrame
    samples: pd.DataFrame
    gpus: pd.DataFrame
    hierarchy: Hierarchy
    attribution: Attribution
    instances: pd.DataFrame  # see ``list_instances``, with ``left_out``
    work: Work  # their activities
    remedies: Mapping[str, str]  # what to do about work of no range, by cause
    peak_tflops: float | None  # the peak that FLOP are held against; None for that of each kernel's precision
    window: str  # what the windows of the ranges are: gpu, host or busy
    captured: CapturedNodes | None  # where the nodes of CUDA graphs were made


def list_instances(
    hierarchy: Hierarchy, attribution: Attribution, activities: pd.DataFrame, recorded_gpus: list[int]
) -> tuple[pd.DataFrame, Work]:
    """List each range on each GPU that it used, with its activities counted, and those activities.

    A range without any work is shown where the range around it is, an outermost one where its thread had work, else
    where its process had, or on the recorded GPUs; but where its path on that thread had work, only there. Beside
    columns of ``tcprof.frames.INSTANCES`` there are ``parent``, the row of the instance around (-1 for none), and
    ``depth`` from 1.
    """
    gpus = np.union1d(np.array(recorded_gpus, dtype=np.int64), activities["gpu"])
    gpu_of = np.searchsorted(gpus, activities["gpu"].to_numpy())
    processes, recorded = activities["process"].to_numpy(), np.isin(gpus, recorded_gpus)
    is_listed = _list_gpus(hierarchy, attribution, processes, gpu_of, recorded)
    gpu_index, row = np.nonzero(is_listed.T)
    ranges = hierarchy.ranges.iloc[row]
    keys = gpu_index * len(hierarchy.ranges) + row
    around = hierarchy.parent[row]
    instances = pd.DataFrame(
        {
            "gpu": broadcast_if_constant(gpus[gpu_index]),
            "range": row,
            "path_id": hierarchy.path_id[row],
            "depth": hierarchy.paths["depth"].to_numpy()[hierarchy.path_id[row]],
            "host_start_ns": ranges["start_ns"].to_numpy(),
            "host_end_ns": ranges["end_ns"].to_numpy(),
            "parent": np.where(around < 0, -1, search(keys, gpu_index * len(hierarchy.ranges) + around)),
        },
        copy=False,
    )
    work = Work(
        instance=search(keys, gpu_of[attribution.activity] * len(hierarchy.ranges) + attribution.range),
        counted=attribution.counted,
        start=activities["start_ns"].to_numpy()[attribution.activity],
        end=activities["end_ns"].to_numpy()[attribution.activity],
        alone=_run_alone(gpu_of, activities)[attribution.activity],
    )
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()[attribution.activity]
    return instances.assign(**_count(instances, work, attribution.inherited, is_kernel)), work


def _list_gpus(hierarchy: Hierarchy, attribution: Attribution, process: Ints, gpu: Ints, recorded: Bools) -> Bools:
    """Find the GPUs to list each range on: a row for each range, a column for each GPU."""
    owner = hierarchy.ranges["process"].to_numpy()
    gpus = len(recorded)
    thread = pd.factorize(owner << 32 | hierarchy.ranges["thread"].to_numpy())[0]
    path = pd.factorize(thread * (len(hierarchy.paths) + 1) + hierarchy.path_id)[0]
    used = np.zeros((len(owner), gpus), dtype=bool)
    used[attribution.range, gpu[attribution.activity]] = True
    levels = hierarchy.levels
    for rows in levels[:0:-1]:
        row, column = np.nonzero(used[rows])
        used[hierarchy.parent[rows[row]], column] = True
    codes, processes = pd.factorize(np.append(owner, process))
    by_process = _any(codes[len(owner) :], gpu, (len(processes), gpus))[codes[: len(owner)]]
    row, column = np.nonzero(used)
    by_thread, by_path = (_any(code[row], column, (len(owner), gpus))[code] for code in (thread, path))
    is_listed = used.copy()
    around = _choose_known(by_thread, by_process, np.broadcast_to(recorded, used.shape))
    for rows in levels:
        rows = rows[~used[rows].any(axis=1)]
        outer = hierarchy.parent[rows]
        outer_gpus = np.where(outer[:, None] >= 0, is_listed[outer], around[rows])
        is_listed[rows] = _choose_known(outer_gpus & by_path[rows], outer_gpus)
    return is_listed


def _any(code: Ints, column: Ints, shape: tuple[int, int]) -> Bools:
    has_any = np.zeros(shape, dtype=bool)
    has_any[code, column] = True
    return has_any


def _choose_known(*choices: Bools) -> Bools:
    chosen = choices[-1]
    for choice in choices[-2::-1]:
        chosen = np.where(choice.any(axis=1, keepdims=True), choice, chosen)
    return chosen


def _count(instances: pd.DataFrame, work: Work, inherited: Bools, is_kernel: Bools) -> dict[str, Ints | Floats]:
    kernel_ns = np.where(is_kernel, work.end - work.start, 0)
    weights = (np.ones_like(kernel_ns), inherited.astype(np.int64), is_kernel.astype(np.int64), kernel_ns)
    counts = [*map(prepare_sums(instances, work), weights)]
    total, parent = len(instances), instances["parent"].to_numpy()
    first, last = np.full(total, np.iinfo(np.int64).max), np.full(total, np.iinfo(np.int64).min)
    np.minimum.at(first, work.instance, work.start)
    np.maximum.at(last, work.instance, work.end)
    for rows in _levels_upwards(instances):
        np.minimum.at(first, parent[rows], first[rows])
        np.maximum.at(last, parent[rows], last[rows])
    used = counts[0] > 0
    times = {"gpu_start_ns": np.where(used, first, np.nan), "gpu_end_ns": np.where(used, last, np.nan)}
    return {**dict(zip(_COUNTS, counts, strict=True)), **times}


def prepare_sums(instances: pd.DataFrame, work: Work) -> Callable[[_Numbers], _Numbers]:
    """Return a function that sums weights of the rows of ``work`` over each instance and all instances in it."""
    parent = instances["parent"].to_numpy()
    levels = [(rows, parent[rows]) for rows in _levels_upwards(instances)]
    crossing = np.flatnonzero(work.counted > 0)
    stop, depths = work.instance[crossing], instances["depth"].to_numpy()
    while len(index := np.flatnonzero(depths[stop] > work.counted[crossing])):  # the instance down to which they count
        stop[index] = parent[stop[index]]

    def add(weight: _Numbers) -> _Numbers:
        total = np.zeros(len(instances), dtype=weight.dtype)
        np.add.at(total, work.instance, weight)
        np.subtract.at(total, stop, weight[crossing])  # from here on outwards it counts by another row
        for rows, outer in levels:
            np.add.at(total, outer, total[rows])
        return total

    return add


def _levels_upwards(instances: pd.DataFrame) -> list[Ints]:
    """List the rows of instances that lie in others, by depth from the innermost."""
    depth = instances["depth"].to_numpy()
    order = np.argsort(-depth, kind="stable")
    order = order[: np.count_nonzero(depth > 1)]
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1) if len(order) else []


def _run_alone(gpu: Ints, activities: pd.DataFrame) -> Bools:
    """Find the activities that overlap no other one on their GPU; those of each GPU are in order of start."""
    alone = np.zeros(len(activities), dtype=bool)
    for number in np.unique(gpu):
        rows = np.flatnonzero(gpu == number)
        start, end = (activities[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
        reach = np.maximum.accumulate(end)
        alone[rows] = np.append(True, start[1:] >= reach[:-1]) & np.append(reach[:-1] <= start[1:], True)
    return alone


def work_by_depth(instances: pd.DataFrame, work: Work) -> Iterator[tuple[Ints, Ints]]:
    """Yield the instances that activities belong to, and their numbers in ``work``, by depth from the innermost.

    That takes the memory of one level, where all pairs of an activity and an instance take that of all levels.
    """
    parent, depth = instances["parent"].to_numpy(), instances["depth"].to_numpy()
    row = work.instance.copy()
    for level in range(int(depth[row].max(initial=0)), 0, -1):
        index = np.flatnonzero((depth[row] == level) & (work.counted < level))
        yield row[index], index
        row[index] = parent[row[index]]


def instance_windows(instances: pd.DataFrame, work: Work, window: str) -> Windows:
    """Make the host, gpu or busy windows of each instance; the group is the instance's row."""
    gpu = instances["gpu"].to_numpy()
    if window == "busy":
        parts = [union(row, work.start[index], work.end[index]) for row, index in work_by_depth(instances, work)]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [work.start[:0]] * 3
        order = np.argsort(columns[0], kind="stable")
        group, start, end = (column[order] for column in columns)
        return Windows(group, gpu[group], start, end)
    names = ("host_start_ns", "host_end_ns") if window == "host" else ("gpu_start_ns", "gpu_end_ns")
    rows = np.flatnonzero(instances[names[0]].notna())
    start, end = (instances[name].to_numpy()[rows].astype(np.int64) for name in names)
    return Windows(rows, gpu[rows], start, end)


def busy_time(instances: pd.DataFrame, work: Work, group: Ints, groups: int) -> Floats:
    """Sum the time in ns under at least one activity, for each group of instances of one depth; -1 for none."""
    # What runs alone adds up. Only what overlaps has to be united, for every depth anew.
    alone_ns = prepare_sums(instances, work)(np.where(work.alone, work.end - work.start, 0))
    counted = group >= 0
    total: Floats = np.bincount(group[counted], alone_ns[counted], minlength=groups).astype(float)
    rows = np.flatnonzero(~work.alone)
    work = Work(work.instance[rows], work.counted[rows], work.start[rows], work.end[rows], work.alone[rows])
    for row, index in work_by_depth(instances, work):
        counted = group[row] >= 0
        row, index = row[counted], index[counted]
        group_of_window, start, end = union(group[row], work.start[index], work.end[index])
        total += np.bincount(group_of_window, end - start, minlength=groups)
    return total


def group_by_path(instances: pd.DataFrame, paths: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    """Group instances by GPU and path, -1 for those left out; and list each group's GPU and path, in order."""
    group, keys = number_groups(instances, paths)
    gpu, path_id = keys // max(len(paths), 1), keys % max(len(paths), 1)
    return group, paths.iloc[path_id].reset_index(drop=True).assign(gpu=gpu, path_id=path_id)


def number_groups(instances: pd.DataFrame, paths: pd.DataFrame) -> tuple[Ints, Ints]:
    """Number the group of each instance, see ``group_by_path``; and the GPU and path of each group."""
    keys, group = enumerate_keys(instances["gpu"].to_numpy() * len(paths) + instances["path_id"].to_numpy())
    return np.where(instances["left_out"], -1, group), keys


def united_windows(group: Ints, gpu_of: Ints, windows: Windows) -> Windows:
    """Unite the windows of each group of instances; -1 for none."""
    rows = group[windows.group] >= 0
    merged, start, end = union(group[windows.group][rows], windows.start[rows], windows.end[rows])
    return Windows(merged, gpu_of[merged], start, end)
