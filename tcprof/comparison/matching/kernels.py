"""Match the kernels of two recordings: by position in the step, then by name.

A *slot* is the n-th launch of a kernel in a path of a typical step. The slots of a path are aligned in order of launch
with those of the same path in the other recording; all launches follow their slot.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.intervals import index_in_runs, run_starts
from tcprof.analysis.kernels.names import GRAPH, PRODUCT, parse_name
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.arrays import Bools, Floats, Ints, rows_of_gpu
from tcprof.comparison.matching.sides import Renaming, rename_paths
from tcprof.frames import KERNEL_CHANGES, KERNEL_KINDS

HIDDEN = "hidden"
_STATUSES = ("same", "renamed", "new", "removed")
# Any two of these at one position do the same work in two ways. Others must share most words that say what they do.
_STAND_INS = (PRODUCT, GRAPH, "attention", "normalization", "softmax", "pooling")
_ALIKE = 0.5
_SAME_GEOMETRY = 0.5  # of similarity: a hint only, less than that of names
MOST_ALIGNED = 20_000  # launches of a path in a step; later launches follow their kernel's usual match
NONE = -1
WINDOW = 2000  # elements that are aligned at once: time and memory grow with the square


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


@dataclass(frozen=True)
class KernelNames:
    """What the codes of paths and kernels stand for, in both recordings."""

    name: npt.NDArray[np.object_]
    geometry: npt.NDArray[np.object_]
    path: npt.NDArray[np.object_]

    def similarity(self, base: Ints, new: Ints) -> Floats:
        """Score how well kernels of these codes can replace each other, a row for each of the baseline's."""
        score = similarities(self.name[base].tolist(), self.name[new].tolist())
        same = self.geometry[base][:, None] == self.geometry[new][None, :]
        return np.asarray(np.where((score > 0) & same, score + _SAME_GEOMETRY, score), dtype=np.float64)


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
    """Find each launch's step, by range or else time, -1 for none and warm-up; whether it has one; and inner paths."""
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


def classify_kernels(kernels: pd.DataFrame) -> list[str]:
    """Classify each kernel, such as FP32 matmuls, FP16 tensor kernels or softmax."""
    labels = []
    for name, is_tensor, precision in zip(kernels["name"], kernels["tensor_kernel"], kernels["precision"], strict=True):
        work = parse_name(name).work
        is_product = work != GRAPH and (is_tensor or work == PRODUCT)
        label = f"{precision.upper()} {'tensor kernels' if is_tensor else PRODUCT}".strip()
        labels.append(label if is_product else work)
    return labels


def similarities(base: Sequence[str], new: Sequence[str]) -> Floats:
    """Score how well kernels of these names can replace each other, a row for each of the baseline's.

    3.5 for the same name; 2 to 3 for the same work, such as two matmuls; 1 to 2 for most words in common; else 0.
    """
    parsed = [parse_name(name) for name in [*base, *new]]
    works, words = np.array([name.work for name in parsed], dtype=object), [name.words for name in parsed]
    codes = pd.factorize(works)[0]
    stand_in = np.isin(works, _STAND_INS)[: len(base), None]
    common = _common(words[: len(base)], words[len(base) :])
    same_work = codes[: len(base), None] == codes[None, len(base) :]
    score = np.select([same_work & stand_in, same_work & (common > _ALIKE)], [2 + common, 1 + common], 0.0)
    same = np.array(base, dtype=object)[:, None] == np.array(new, dtype=object)[None, :]
    return np.asarray(np.where(same, 3.5, score), dtype=np.float64)


def _common(base: Sequence[frozenset[str]], new: Sequence[frozenset[str]]) -> Floats:
    """Compute the share of their words that two names have in common (Jaccard); 0 where a name has none."""
    number = {word: column for column, word in enumerate(dict.fromkeys(itertools.chain(*base, *new)))}
    has = np.zeros((len(base) + len(new), len(number)))
    for row, words in enumerate((*base, *new)):
        has[row, [number[word] for word in words]] = 1
    first, second = np.split(has, [len(base)])
    both = first @ second.T
    either = first.sum(axis=1)[:, None] + second.sum(axis=1)[None, :] - both
    return np.asarray(both / np.maximum(either, 1), dtype=np.float64)


def find_slots(launches: pd.DataFrame) -> pd.DataFrame:
    """List the slots of a side: the launches of a typical step, path by path, and one for each kernel that it lacks.

    Typical is the sequence of kernels that most steps have in a path; where all differ, one of median length.
    Launches come by step (-1 for none), with codes of path and kernel, and ``occurrence`` of that kernel there.

    Returns:
        path, kernel, occurrence, ``rank`` (where in its step the launch is), ``rare`` (whether no typical
        step has it), and ``pair_path`` and ``other``: path of the pair and the other side's kernel, -1 for none.
    """
    counted = launches[launches["step"] >= 0]
    counted = counted.assign(rank=counted.groupby("step").cumcount())
    # Launches are in order of step, so that a stable sort leaves each sequence in order of launch.
    ordered = counted.sort_values(["path", "step"], kind="stable")
    first = run_starts(ordered["path"].to_numpy(), ordered["step"].to_numpy())
    length = np.diff(np.append(first, len(ordered)))
    typical = _typical(ordered["path"].to_numpy()[first], _hash(ordered["kernel"].to_numpy(), first, length), length)
    counts = np.minimum(length[typical], MOST_ALIGNED)
    index = index_in_runs(counts) + np.repeat(first[typical], counts)
    slots = ordered.iloc[index]
    keys = ["path", "kernel"]
    typical_keys = pd.MultiIndex.from_frame(slots[keys])
    rare = launches.assign(rank=0).drop_duplicates(keys)
    rare = rare[~pd.MultiIndex.from_frame(rare[keys]).isin(typical_keys)].assign(occurrence=0)
    frame = pd.concat([slots.assign(rare=False), rare.assign(rare=True)], ignore_index=True)
    return frame.assign(pair_path=frame["path"], other=NONE).drop(columns="step")


def _hash(kernel: Ints, first: Ints, length: Ints) -> npt.NDArray[np.uint64]:
    """Hash each sequence of kernels."""
    position = index_in_runs(length).astype(np.uint64)
    mixed = kernel.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + position * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = mixed ^ (mixed >> np.uint64(27))
    return np.add.reduceat(hashed, first) if len(kernel) else hashed


def _typical(path: Ints, sequence: npt.NDArray[np.uint64], length: Ints) -> Ints:
    """Find for each path the first of the most frequent sequences."""
    frame = pd.DataFrame({"path": path, "sequence": sequence, "length": length})
    count = frame.groupby(["path", "sequence"])["length"].transform("size")
    off = (frame["length"] - frame.groupby("path")["length"].transform("median")).abs()
    ordered = frame.assign(count=-count, off=off).sort_values(["path", "count", "off"], kind="stable")
    return np.asarray(ordered.drop_duplicates("path").index, dtype=np.int64)


def match_slots(base: pd.DataFrame, new: pd.DataFrame, names: KernelNames) -> None:
    """Fill in ``pair_path`` and ``other`` of the slots of both sides: by position, then by name."""
    partner = np.full(len(base), NONE, dtype=np.int64)
    free = np.ones(len(new), dtype=bool)
    kernels = base["kernel"].to_numpy(), new["kernel"].to_numpy()
    name = pd.factorize(names.name)[0]
    groups = _aligned_groups(base, new)
    for with_path in (True, False):
        for first, second in groups.values():
            pairs = align(kernels[0][first], kernels[1][second], names.similarity)
            partner[first[pairs[0]]] = second[pairs[1]]
            free[second[pairs[1]]] = False
        for of_kernel in (np.arange(len(name)), name):
            _match_equals(base, new, partner, free, of_kernel, with_path)
        # Align a range's remaining slots again: those that can replace each other may come in another order.
        groups = {
            path: (first[partner[first] < 0], second[free[second]])
            for path, (first, second) in groups.items()
            if path != NONE and names.path[path]
        }
    matched = np.flatnonzero(partner >= 0)
    pairs = matched, partner[matched]
    base.loc[pairs[0], "other"], new.loc[pairs[1], "other"] = kernels[1][pairs[1]], kernels[0][pairs[0]]
    base.loc[pairs[0], "pair_path"] = new["pair_path"].to_numpy()[pairs[1]]
    _join_rare(base, new)


def _aligned_groups(base: pd.DataFrame, new: pd.DataFrame) -> dict[int, tuple[Ints, Ints]]:
    """List the rows of slots to align: of each common path; under -1 of all that only one side has, as launched."""
    slots = [side[~side["rare"]] for side in (base, new)]
    rows = [side.index.to_numpy() for side in slots]
    of_path = [side.groupby("path").indices for side in slots]
    common = sorted(of_path[0].keys() & of_path[1].keys())
    groups = {path: (rows[0][of_path[0][path]], rows[1][of_path[1][path]]) for path in common}
    alone = [side[~side["path"].isin(common)].sort_values("rank", kind="stable").index.to_numpy() for side in slots]
    return groups | {NONE: (alone[0], alone[1])}


def _match_equals(
    base: pd.DataFrame, new: pd.DataFrame, partner: Ints, free: Bools, code: Ints, with_path: bool
) -> None:
    """Match free slots of equal codes, the n-th of one side with the n-th of the other."""
    keys = []
    rows = np.flatnonzero(partner < 0), np.flatnonzero(free)
    for side, side_rows in zip((base, new), rows, strict=True):
        frame = side.iloc[side_rows]
        key = pd.DataFrame({"path": frame["path"] if with_path else 0, "code": code[frame["kernel"].to_numpy()]})
        keys.append(key.assign(turn=key.groupby(["path", "code"]).cumcount(), row=side_rows))
    both = keys[0].merge(keys[1], on=["path", "code", "turn"])
    partner[both["row_x"].to_numpy()] = both["row_y"].to_numpy()
    free[both["row_y"].to_numpy()] = False


def _join_rare(base: pd.DataFrame, new: pd.DataFrame) -> None:
    """Pair free slots of a kernel in a path, if rare on either side: there they stand for any number of launches."""
    for side, other in ((base, new), (new, base)):
        paired = other[(other["other"] == other["kernel"]) & other["rare"]]
        pairs = pd.MultiIndex.from_frame(paired[["pair_path", "kernel"]])
        joins = (side["other"] == NONE) & pd.MultiIndex.from_frame(side[["path", "kernel"]]).isin(pairs)
        side["other"] = np.where(joins, side["kernel"], side["other"])


def follow_slots(launches: pd.DataFrame, slots: pd.DataFrame) -> tuple[Ints, Ints]:
    """Return pair path and other kernel of each launch: of its slot, else of most slots of its kernel."""
    matched = launches.merge(slots, on=["path", "kernel", "occurrence"], how="left")
    sizes = slots.groupby(["path", "kernel", "pair_path", "other"], sort=False).size().reset_index(name="size")
    most = sizes.sort_values("size", ascending=False, kind="stable").drop_duplicates(["path", "kernel"])
    usual = launches.merge(most, on=["path", "kernel"], how="left")
    path, other = (matched[name].fillna(usual[name]).to_numpy(np.int64) for name in ("pair_path", "other"))
    return path, other


def align(base: Ints, new: Ints, similarity: Callable[[Ints, Ints], Floats]) -> tuple[Ints, Ints]:
    """Pair positions, in the order of both sequences, so that the sum of similarities is largest; 0 is none.

    As Needleman and Wunsch (1970), with gaps that cost nothing. Long sequences are aligned in windows that each begin
    behind the last pair of the one before, so that time grows only in proportion to their length.
    """
    if len(base) == len(new) and (base == new).all():
        return np.arange(len(base)), np.arange(len(new))
    parts = [(np.empty(0, dtype=np.int64),) * 2]
    first, second = 0, 0
    while first < len(base) and second < len(new):
        ends = min(first + WINDOW, len(base)), min(second + WINDOW, len(new))
        pairs = _align_window(base[first : ends[0]], new[second : ends[1]], similarity)
        if ends != (len(base), len(new)):  # what pairs near the end of a window, more context could change
            near = 3 * WINDOW // 4
            inside = (pairs[0] < near) & (pairs[1] < near)
            pairs = pairs[0][inside], pairs[1][inside]
            last = (int(pairs[0][-1]) + 1, int(pairs[1][-1]) + 1) if inside.any() else (near, near)
            ends = first + last[0], second + last[1]
        parts.append((pairs[0] + first, pairs[1] + second))
        first, second = ends
    both = (np.concatenate(part) for part in zip(*parts, strict=True))
    return next(both), next(both)


def _align_window(base: Ints, new: Ints, similarity: Callable[[Ints, Ints], Floats]) -> tuple[Ints, Ints]:
    """Align all of two sequences; one step of numpy for each row of the table of best sums."""
    base_codes, rows = np.unique(base, return_inverse=True)
    new_codes, columns = np.unique(new, return_inverse=True)
    score = similarity(base_codes, new_codes)
    best = np.zeros((len(base) + 1, len(new) + 1))
    for i, row in enumerate(rows.tolist()):
        paired = best[i, :-1] + score[row][columns]
        np.maximum.accumulate(np.maximum(best[i, 1:], paired), out=best[i + 1, 1:])
    pairs: list[tuple[int, int]] = []
    i, j = len(base), len(new)
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    positions = np.array(pairs[::-1], dtype=np.int64).reshape(-1, 2)
    return positions[:, 0], positions[:, 1]
