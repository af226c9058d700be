"""What is compared between two recordings: the windows of the iterations on a GPU, and the kernels launched in them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.ranges.paths import SEPARATOR
from tcprof.arrays import Bools, Ints, rows_of_gpu
from tcprof.comparison.matching.places import Renaming, rename_paths
from tcprof.frames import KERNEL_KINDS


@dataclass(frozen=True)
class Spans:
    """The GPU windows of the iterations on one GPU, without warm-up, or the whole capture as one window."""

    start: Ints  # ns
    end: Ints
    whole: bool  # whether it is the whole capture, from the GPU's first activity to its last

    def overlap(self, start: Ints, end: Ints) -> Ints:
        """How much of each interval lies in the windows, in ns; what lies in two of them counts twice."""
        return self._before(end) - self._before(start)

    def _before(self, time: Ints) -> Ints:
        total = np.zeros(len(time), dtype=np.int64)
        for edges, sign in ((np.sort(self.start), 1), (np.sort(self.end), -1)):
            passed = np.searchsorted(edges, time, side="right")
            total += sign * (passed * (time - edges[0]) - np.append(0, np.cumsum(edges - edges[0]))[passed])
        return total


@dataclass(frozen=True)
class Scope:
    """The launches of one GPU that are compared, in order of iteration and of launch."""

    spans: Spans
    row: Ints  # row of the launch in ``Analysis.kernel_instances``
    iteration: Ints  # number of the iteration that it was launched in; -1 where it only runs in one's window
    path: Ints  # its path, as an index of ``paths``
    paths: npt.NDArray[np.object_]  # texts of paths: within the iteration, or of what was launched outside the path
    duration: Ints


def compared_gpus(base: Analysis, new: Analysis) -> list[int]:
    """The GPUs on which both recordings have activities, and whose kernels were distinguished in both."""
    for analysis in (base, new):
        if analysis.kernel_instances.empty and analysis.activities["kind"].isin(KERNEL_KINDS).any():
            return []
    return sorted({*base.activities["gpu"].unique().tolist()} & {*new.activities["gpu"].unique().tolist()})


def compared_spans(base: Analysis, new: Analysis, gpu: int) -> tuple[Spans, Spans]:
    """The windows that are compared: the iterations' where both recordings have some on this GPU, else the captures."""
    spans = _iteration_spans(base, gpu), _iteration_spans(new, gpu)
    if all(len(each.start) for each in spans):
        return spans
    return _capture_span(base, gpu), _capture_span(new, gpu)


def _iteration_spans(analysis: Analysis, gpu: int) -> Spans:
    iterations = analysis.iterations[(analysis.iterations["gpu"] == gpu) & ~analysis.iterations["warm_up"]]
    windows = _instances(analysis, gpu).reindex(iterations["range"])[["gpu_start_ns", "gpu_end_ns"]].dropna()
    start, end = windows.to_numpy(np.int64).reshape(-1, 2).T
    return Spans(start, end, whole=False)


def _capture_span(analysis: Analysis, gpu: int) -> Spans:
    activities = rows_of_gpu(analysis.activities, gpu)
    start, end = activities["start_ns"].min(), activities["end_ns"].max()
    return Spans(np.array([start], dtype=np.int64), np.array([end], dtype=np.int64), whole=True)


def _instances(analysis: Analysis, gpu: int) -> pd.DataFrame:
    return analysis.instances[analysis.instances["gpu"] == gpu].set_index("range")


def find_scope(analysis: Analysis, gpu: int, spans: Spans, mapping: Mapping[str, str]) -> Scope:
    """The kernels launched in the iterations of a GPU, and those that run in their windows wherever they are from."""
    launched = rows_of_gpu(analysis.kernel_instances, gpu)
    activity = analysis.activities.iloc[launched["activity"].to_numpy()]
    start = activity["start_ns"].to_numpy()
    end = start + launched["duration_ns"].to_numpy()
    path = np.append(rename_paths(analysis.paths, Renaming(mapping))["path"].to_numpy(dtype=object), "")
    if spans.whole:
        number, kept = np.zeros(len(launched), dtype=np.int64), np.ones(len(launched), dtype=bool)
    else:
        number, counted, path = _iterations_of(analysis, gpu, launched, start, path)
        kept = counted | (spans.overlap(start, end) > 0)
    order = np.lexsort((start, activity["correlation"], activity["process"], number))
    order = order[kept[order]]
    return Scope(
        spans=spans,
        row=launched.index.to_numpy(np.int64)[order],
        iteration=number[order],
        path=launched["path_id"].to_numpy()[order] % len(path),  # -1, for none, is the last
        paths=path,
        duration=launched["duration_ns"].to_numpy()[order],
    )


def _iterations_of(
    analysis: Analysis, gpu: int, launched: pd.DataFrame, start: Ints, path: npt.NDArray[np.object_]
) -> tuple[Ints, Bools, npt.NDArray[np.object_]]:
    """The iteration of each launch, -1 for none and for warm-up; whether it has one; and paths within the iteration.

    A launch that belongs to a range of another domain, or to none, goes by the time at which it runs.
    """
    iterations = analysis.iterations[analysis.iterations["gpu"] == gpu].sort_values("range")
    instances = _instances(analysis, gpu).loc[iterations["range"]]
    within = np.full(len(path), -1, dtype=np.int64)  # for each path the iterations' path that it lies in
    depth = np.append(analysis.paths["depth"].to_numpy(), 0)
    relative = path.copy()
    for around in sorted(instances["path_id"].unique().tolist()):
        end = around + 1 + int(np.argmax(depth[around + 1 :] <= depth[around]))
        within[around:end] = around
        prefix = path[around] + SEPARATOR
        relative[around:end] = [text.removeprefix(prefix) if text != path[around] else "" for text in path[around:end]]
    # Ranges are in order of thread and time, and on a thread instances of a path never overlap: it is the last before.
    row = np.searchsorted(iterations["range"].to_numpy(), launched["range"].to_numpy(), side="right") - 1
    inside = within[launched["path_id"].to_numpy()] >= 0
    order = np.argsort(instances["gpu_start_ns"].to_numpy(), kind="stable")
    opened = np.searchsorted(instances["gpu_start_ns"].to_numpy()[order], start, side="right") - 1
    by_time = np.where(opened >= 0, order[opened], -1)
    by_time = np.where(start < instances["gpu_end_ns"].to_numpy()[by_time], by_time, -1)
    row = np.where(inside, row, by_time)
    counted = (row >= 0) & ~iterations["warm_up"].to_numpy()[row]
    return np.where(counted, iterations["number"].to_numpy()[row], -1), counted, relative
