"""The instances of ranges on each GPU: their activities counted, and their windows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import union
from tcprof.analysis.projection import Attribution, Hierarchy
from tcprof.analysis.sampling import Windows

KERNEL_KINDS = ("kernel", "graph")
_COUNTS = ("activity_count", "inherited_count", "kernel_count", "kernel_ns")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """The activities that belong to a range, in order of time; one that belongs to ranges of several domains repeats.

    Attributes:
        instance: Row of the innermost instance that an activity belongs to.
        start: Starts in ns.
        end: Ends in ns.
    """

    instance: Ints
    start: Ints
    end: Ints


def list_instances(
    hierarchy: Hierarchy, attribution: Attribution, activities: pd.DataFrame, recorded_gpus: list[int]
) -> tuple[pd.DataFrame, Work]:
    """Each range on each GPU that its process used, with its activities counted, and those activities.

    Args:
        hierarchy: The nested ranges.
        attribution: Which activity belongs to which range.
        activities: See ``tcprof.frames.ACTIVITIES``; in order of start.
        recorded_gpus: The GPUs on which ranges of a process are shown that used none.

    Returns:
        Columns of ``tcprof.frames.INSTANCES`` that need no samples, with ``parent``, the row of the instance around
        (-1 for none), and ``depth``, 1 for an outermost one.
    """
    ranges = hierarchy.ranges
    every = pd.DataFrame(
        {
            "range": np.arange(len(ranges)),
            "path_id": hierarchy.path_id,
            "depth": hierarchy.paths["depth"].to_numpy()[hierarchy.path_id],
            "process": ranges["process"],
            "host_start_ns": ranges["start_ns"],
            "host_end_ns": ranges["end_ns"],
        }
    ).merge(_used_gpus(hierarchy, activities, recorded_gpus), on="process")
    instances = every.sort_values(["gpu", "range"], kind="stable", ignore_index=True)
    keys = instances["gpu"].to_numpy() * len(ranges) + instances["range"].to_numpy()
    around = hierarchy.parent[instances["range"].to_numpy()]
    parent = np.where(around < 0, -1, np.searchsorted(keys, instances["gpu"].to_numpy() * len(ranges) + around))
    instances = instances.assign(parent=parent)
    gpu = activities["gpu"].to_numpy()[attribution.activity]
    work = Work(
        instance=np.searchsorted(keys, gpu * len(ranges) + attribution.range),
        start=activities["start_ns"].to_numpy()[attribution.activity],
        end=activities["end_ns"].to_numpy()[attribution.activity],
    )
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()[attribution.activity]
    return instances.assign(**_count(instances, work, attribution.inherited, is_kernel)), work


def _used_gpus(hierarchy: Hierarchy, activities: pd.DataFrame, recorded: list[int]) -> pd.DataFrame:
    """The GPUs on which each process's ranges are shown: those it used, or, if it used none, all recorded ones."""
    used = activities[["process", "gpu"]].drop_duplicates()
    idle = set(hierarchy.ranges["process"].unique()) - set(used["process"])
    everywhere = pd.MultiIndex.from_product([sorted(idle), recorded], names=["process", "gpu"])
    return pd.concat([used, everywhere.to_frame(index=False)], ignore_index=True).astype("int64")


def _count(
    instances: pd.DataFrame, work: Work, inherited: npt.NDArray[np.bool_], is_kernel: npt.NDArray[np.bool_]
) -> dict[str, Ints | npt.NDArray[np.float64]]:
    """Counts and times of each instance: of its own activities, then with those of the instances in it."""
    rows, total = work.instance, len(instances)
    weights = (None, inherited, is_kernel, np.where(is_kernel, work.end - work.start, 0))
    counts = [np.bincount(rows, weight, minlength=total).astype(np.int64) for weight in weights]
    first, last = np.full(total, np.iinfo(np.int64).max), np.full(total, np.iinfo(np.int64).min)
    np.minimum.at(first, rows, work.start)
    np.maximum.at(last, rows, work.end)
    parent, depth = instances["parent"].to_numpy(), instances["depth"].to_numpy()
    for level in range(int(depth.max(initial=0)), 1, -1):
        inner = np.flatnonzero(depth == level)
        for count in counts:
            np.add.at(count, parent[inner], count[inner])
        np.minimum.at(first, parent[inner], first[inner])
        np.maximum.at(last, parent[inner], last[inner])
    used = counts[0] > 0
    times = {"gpu_start_ns": np.where(used, first, np.nan), "gpu_end_ns": np.where(used, last, np.nan)}
    return {**dict(zip(_COUNTS, counts, strict=True)), **times}


def work_by_depth(instances: pd.DataFrame, work: Work) -> Iterator[tuple[Ints, Ints]]:
    """The instances that activities belong to, one depth after the other from the innermost.

    Going up level by level takes no more memory than one level, where all pairs of an activity and an instance would
    take as much as there are levels.

    Yields:
        Row of the instance, and number of the activity in ``work``, in order of time.
    """
    parent, depth = instances["parent"].to_numpy(), instances["depth"].to_numpy()
    row = work.instance.copy()
    for level in range(int(depth.max(initial=0)), 0, -1):
        index = np.flatnonzero(depth[row] == level)
        yield row[index], index
        row[index] = parent[row[index]]


def instance_windows(instances: pd.DataFrame, work: Work, window: str) -> Windows:
    """The host, gpu or busy windows of each instance; the group is the instance's row."""
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


def busy_time(instances: pd.DataFrame, work: Work, group: Ints, groups: int) -> npt.NDArray[np.float64]:
    """Time in ns under at least one activity, for each group of instances.

    Args:
        instances: See ``list_instances``.
        work: Their activities.
        group: Group of each instance, -1 for none; the instances of a group have one depth.
        groups: Number of groups.
    """
    total = np.zeros(groups)
    for row, index in work_by_depth(instances, work):
        counted = group[row] >= 0
        row, index = row[counted], index[counted]
        of_group, start, end = union(group[row], work.start[index], work.end[index])
        total += np.bincount(of_group, end - start, minlength=groups)
    return total


def group_by_path(instances: pd.DataFrame, paths: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    """The instances of each path on each GPU that count: warm-up is in no group.

    Args:
        instances: See ``list_instances``, with ``warm_up``.
        paths: See ``tcprof.frames.PATHS``.

    Returns:
        The group of each instance, -1 for warm-up; and for each group, some of which may have no instance left, its
        GPU and path, in that order, with the columns of ``paths``.
    """
    key = instances["gpu"].to_numpy() * len(paths) + instances["path_id"].to_numpy()
    keys, group = np.unique(key, return_inverse=True)
    groups = pd.DataFrame({"gpu": keys // max(len(paths), 1), "path_id": keys % max(len(paths), 1)})
    return np.where(instances["warm_up"], -1, group), groups.join(paths, on="path_id")


def united_windows(group: Ints, gpu_of: Ints, windows: Windows) -> Windows:
    """The union over each group of instances of their windows.

    Args:
        group: Group of each instance, -1 for none.
        gpu_of: GPU of each group.
        windows: Windows of instances.
    """
    kept = group[windows.group] >= 0
    of_group, start, end = union(group[windows.group][kept], windows.start[kept], windows.end[kept])
    return Windows(of_group, gpu_of[of_group], start, end)
