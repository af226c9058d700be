"""Match the kernels of two recordings: by position in the step, then by name."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import GRAPH
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.arrays import Bools, Ints, rows_of_gpu
from tcprof.comparison.matching.sides import Renaming, rename_paths
from tcprof.comparison.matching.slots import NONE, KernelNames, classify_kernels, find_slots, follow_slots, match_slots
from tcprof.frames import KERNEL_CHANGES, KERNEL_KINDS

HIDDEN = "hidden"
_STATUSES = ("same", "renamed", "new", "removed")


@dataclass(frozen=True)
class Spans:
    """The GPU windows of the steps on one GPU, without warm-up, or the whole capture as one window."""

    start: Ints  # ns
    end: Ints
    whole: bool  # whether it is the whole capture, from the GPU's first activity to its last

    def overlap(self, start: Ints, end: Ints) -> Ints:
        """Measure how much of each interval lies in the windows, in ns; time in two windows counts twice."""
        return self._before(end) - self._before(start)

    def _before(self, time: Ints) -> Ints:
        total = np.zeros(len(time), dtype=np.int64)
        for edges, sign in ((np.sort(self.start), 1), (np.sort(self.end), -1)):
            passed = np.searchsorted(edges, time, side="right")
            total += sign * (passed * (time - edges[0]) - np.append(0, np.cumsum(edges - edges[0]))[passed])
        return total


@dataclass(frozen=True)
class Scope:
    """The launches of one GPU that are compared, in order of step and of launch."""

    spans: Spans
    row: Ints  # row of the launch in ``Analysis.kernel_instances``
    step: Ints  # number of the step that it was launched in; -1 where it only runs in one's window
    path: Ints  # its path, as an index of ``paths``
    paths: npt.NDArray[np.object_]  # texts of paths: within the step, or of what was launched outside the path
    duration: Ints


def compared_gpus(base: Analysis, new: Analysis) -> list[int]:
    """List the GPUs on which both recordings have activities, and whose kernels were distinguished in both."""
    for analysis in (base, new):
        if analysis.kernel_instances.empty and analysis.activities["kind"].isin(KERNEL_KINDS).any():
            return []
    return sorted({*base.activities["gpu"].unique().tolist()} & {*new.activities["gpu"].unique().tolist()})


def compared_spans(base: Analysis, new: Analysis, gpu: int) -> tuple[Spans, Spans]:
    """Return the windows to compare: the steps' where both recordings have some on this GPU, else the captures."""
    spans = _step_spans(base, gpu), _step_spans(new, gpu)
    if all(len(side.start) for side in spans):
        return spans
    return _capture_span(base, gpu), _capture_span(new, gpu)


def _step_spans(analysis: Analysis, gpu: int) -> Spans:
    steps = analysis.counted_steps(gpu).dropna(subset="gpu_start_ns")
    start = steps["gpu_start_ns"].to_numpy(np.int64)
    return Spans(start, start + steps["gpu_window_ns"].to_numpy(np.int64), whole=False)


def _capture_span(analysis: Analysis, gpu: int) -> Spans:
    activities = rows_of_gpu(analysis.activities, gpu)
    start, end = activities["start_ns"].min(), activities["end_ns"].max()
    return Spans(np.array([start], dtype=np.int64), np.array([end], dtype=np.int64), whole=True)


def find_scope(analysis: Analysis, gpu: int, spans: Spans, mapping: Mapping[str, str]) -> Scope:
    """Find the kernels launched in the steps of a GPU, and all others that run in their windows."""
    launched = rows_of_gpu(analysis.kernel_instances, gpu)
    activity = analysis.activities.iloc[launched["activity"].to_numpy()]
    start = activity["start_ns"].to_numpy()
    end = start + launched["duration_ns"].to_numpy()
    path = np.append(rename_paths(analysis.paths, Renaming(mapping))["path"].to_numpy(dtype=object), "")
    if spans.whole:
        number, chosen = np.zeros(len(launched), dtype=np.int64), np.ones(len(launched), dtype=bool)
    else:
        number, counted, path = _find_steps(analysis, gpu, launched, start, path)
        chosen = counted | (spans.overlap(start, end) > 0)
    order = np.lexsort((start, activity["correlation"], activity["process"], number))
    order = order[chosen[order]]
    return Scope(
        spans=spans,
        row=launched.index.to_numpy(np.int64)[order],
        step=number[order],
        path=launched["path_id"].to_numpy()[order] % len(path),  # -1, for none, is the last
        paths=path,
        duration=launched["duration_ns"].to_numpy()[order],
    )


def _find_steps(
    analysis: Analysis, gpu: int, launched: pd.DataFrame, start: Ints, path: npt.NDArray[np.object_]
) -> tuple[Ints, Bools, npt.NDArray[np.object_]]:
    """Find the step of each launch, -1 for none and for warm-up; whether it has one; and paths within the step.

    A launch that belongs to a range of another domain, or to none, goes by the time at which it runs.
    """
    steps = analysis.steps[analysis.steps["gpu"] == gpu].sort_values("range")
    instances = rows_of_gpu(analysis.instances, gpu).set_index("range").loc[steps["range"]]
    within = np.full(len(path), -1, dtype=np.int64)  # for each path the steps' path that it lies in
    depth = np.append(analysis.paths["depth"].to_numpy(), 0)
    relative = path.copy()
    for around in sorted(instances["path_id"].unique().tolist()):
        end = around + 1 + int(np.argmax(depth[around + 1 :] <= depth[around]))
        within[around:end] = around
        prefix = path[around] + SEPARATOR
        relative[around:end] = [text.removeprefix(prefix) if text != path[around] else "" for text in path[around:end]]
    # Ranges are in order of thread and time, and on a thread instances of a path never overlap: it is the last before.
    row = np.searchsorted(steps["range"].to_numpy(), launched["range"].to_numpy(), side="right") - 1
    inside = within[launched["path_id"].to_numpy()] >= 0
    order = np.argsort(instances["gpu_start_ns"].to_numpy(), kind="stable")
    opened = np.searchsorted(instances["gpu_start_ns"].to_numpy()[order], start, side="right") - 1
    by_time = np.where(opened >= 0, order[opened], -1)
    by_time = np.where(start < instances["gpu_end_ns"].to_numpy()[by_time], by_time, -1)
    row = np.where(inside, row, by_time)
    counted = (row >= 0) & steps["counted"].to_numpy()[row]
    return np.where(counted, steps["number"].to_numpy()[row], -1), counted, relative


@dataclass(frozen=True)
class Matching:
    """The kernels of two recordings, matched."""

    # See ``tcprof.frames.KERNEL_CHANGES``; empty where the kernels of a recording were not fitted.
    changes: pd.DataFrame
    base_matched_pct: float  # share of the baseline's kernel time that matched kernels have; unknown where it has none
    new_matched_pct: float  # the same in the new recording
    # For each row of the baseline's ``Analysis.kernel_instances`` its row in ``changes``; -1 for none, as warm-up.
    base_row: Ints
    new_row: Ints  # the same for the new recording


def match_kernels(base: Analysis, new: Analysis, mapping: Mapping[str, str] | None = None) -> Matching:
    """Match the kernels of ``Analysis.steps`` GPU by GPU, without warm-up; else of the whole captures."""
    rows = [np.full(len(side.kernel_instances), NONE, dtype=np.int64) for side in (base, new)]
    parts: list[pd.DataFrame] = []
    before = 0
    for gpu in compared_gpus(base, new):
        spans = compared_spans(base, new, gpu)
        scopes = find_scope(base, gpu, spans[0], mapping or {}), find_scope(new, gpu, spans[1], {})
        launches, names = _encode((base, new), scopes)
        pairs, pair_numbers = _pair_launches(launches, names)
        for side, scope, number in zip(rows, scopes, pair_numbers, strict=True):
            side[scope.row] = before + number
        parts.append(_measure_pairs((base, new), scopes, pairs, pair_numbers, names).assign(gpu=gpu))
        before += len(pairs)
    if not before:
        return Matching(KERNEL_CHANGES.empty(), np.nan, np.nan, rows[0], rows[1])
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.assign(size=-frame["difference_ns"].abs()).sort_values(["gpu", "size"], kind="stable")
    row = np.append(np.argsort(frame.index.to_numpy()), NONE)  # -1, for none, is the last
    changes = KERNEL_CHANGES.conform(frame)
    times = changes[["base_ns", "new_ns"]]
    total, matched = times.sum(), times[changes["status"].isin(["same", "renamed"])].sum()
    share = 100 * matched / total.where(total > 0)
    return Matching(changes, float(share["base_ns"]), float(share["new_ns"]), row[rows[0]], row[rows[1]])


def _encode(analyses: tuple[Analysis, Analysis], scopes: tuple[Scope, Scope]) -> tuple[list[pd.DataFrame], KernelNames]:
    """Encode the launches of both sides alike, for ``find_slots``."""
    kernels = pd.concat([side.kernels[["name", "launch_geometry"]] for side in analyses])
    kernel, unique = pd.MultiIndex.from_frame(kernels).factorize()
    path, paths = pd.factorize(np.concatenate([scope.paths for scope in scopes]))
    sides = []
    for analysis, scope, offsets in zip(
        analyses, scopes, ((0, 0), (len(analyses[0].kernels), len(scopes[0].paths))), strict=True
    ):
        launched = analysis.kernel_instances["kernel"].to_numpy()[scope.row]
        codes = {"path": path[offsets[1] + scope.path], "kernel": kernel[offsets[0] + launched]}
        side = pd.DataFrame({**codes, "step": scope.step})
        sides.append(side.assign(occurrence=side.groupby(["path", "kernel", "step"]).cumcount()))
    texts = [unique.get_level_values(level).to_numpy(dtype=object) for level in range(2)]
    return sides, KernelNames(texts[0], texts[1], np.asarray(paths, dtype=object))


def _pair_launches(launches: list[pd.DataFrame], names: KernelNames) -> tuple[pd.DataFrame, list[Ints]]:
    """Pair slots (path, base and new as codes, -1 for none), and number the pair of each launch."""
    slots = [find_slots(side) for side in launches]
    match_slots(slots[0], slots[1], names)
    keys = []
    for side, side_slots, order in zip(launches, slots, (("base", "new"), ("new", "base")), strict=True):
        path, other = follow_slots(side, side_slots)
        keys.append(pd.DataFrame({"path": path, order[0]: side["kernel"], order[1]: other})[["path", "base", "new"]])
    by = pd.concat(keys, ignore_index=True).groupby(["path", "base", "new"], sort=False)
    return by.size().index.to_frame(index=False), np.split(by.ngroup().to_numpy(), [len(keys[0])])


def _measure_pairs(
    analyses: tuple[Analysis, Analysis],
    scopes: tuple[Scope, Scope],
    pairs: pd.DataFrame,
    pair_numbers: list[Ints],
    names: KernelNames,
) -> pd.DataFrame:
    """Measure the pairs of a GPU: the columns of ``KERNEL_CHANGES``."""
    count = len(pairs)
    columns = {"path": names.path[pairs["path"]]}
    for side, analysis, scope, number in zip(("base", "new"), analyses, scopes, pair_numbers, strict=True):
        launched = analysis.kernel_instances.iloc[scope.row]
        total = np.bincount(number, scope.duration, minlength=count)
        active = np.bincount(number, launched["tensor_active_ns"], minlength=count)
        row = np.full(count, NONE, dtype=np.int64)  # all kernels of a pair on one side have one name and geometry
        row[number] = launched["kernel"].to_numpy()
        columns |= {
            f"{side}_count": np.bincount(number, minlength=count) / len(scope.spans.start),
            f"{side}_ns": total / len(scope.spans.start),
            f"{side}_tensor_active_pct": np.divide(100 * active, total, out=np.full(count, np.nan), where=total > 0),
        }
        kernels = analysis.kernels.assign(**{"class": classify_kernels(analysis.kernels)})
        for name in ("name", "launch_geometry", "class", "precision", "tensor_kernel", "fit"):
            absent = False if name == "tensor_kernel" else ""
            values = np.append(kernels[name].to_numpy(dtype=object), absent)[row]
            columns[f"{side}_{name.removeprefix('launch_')}"] = values
    base, new = pairs["base"], pairs["new"]
    status = np.select([base == new, (base >= 0) & (new >= 0), base < 0], _STATUSES[:3], _STATUSES[3])
    frame = pd.DataFrame({**columns, "status": status}).astype({"status": object})
    frame.loc[_hidden_in_graphs(frame), "status"] = HIDDEN
    return frame.assign(difference_ns=frame["new_ns"] - frame["base_ns"])


def _hidden_in_graphs(frame: pd.DataFrame) -> Bools:
    """Find kernels without a counterpart where the other side has whole graphs, which may hold it; and these graphs."""
    hidden = np.zeros(len(frame), dtype=bool)
    for status, label, lone in (("new", "new_class", "removed"), ("removed", "base_class", "new")):
        is_graph = ((frame["status"] == status) & (frame[label] == GRAPH)).to_numpy()
        is_lone = (frame["status"] == lone).to_numpy()
        if is_graph.any() and is_lone.any():
            hidden |= is_graph | is_lone
    return hidden
