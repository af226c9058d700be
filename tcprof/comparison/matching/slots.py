"""Match the launches of two recordings' typical steps, path by path.

A *slot* is the n-th launch of a kernel in a path of a typical step. The slots of a path are aligned in order of
launch with those of the same path in the other recording; all launches follow their slot.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import index_in_runs, run_starts
from tcprof.analysis.kernels.names import GRAPH, PRODUCT, parse_name
from tcprof.arrays import Bools, Floats, Ints

# Any two of these at one position do the same work in two ways. Others must share most words that say what they do.
_STAND_INS = (PRODUCT, GRAPH, "attention", "normalization", "softmax", "pooling")
_ALIKE = 0.5
_SAME_GEOMETRY = 0.5  # of similarity: a hint only, less than that of names
MOST_ALIGNED = 20_000  # launches of a path in a step; later launches follow their kernel's usual match
NONE = -1
WINDOW = 2000  # elements that are aligned at once: time and memory grow with the square


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
