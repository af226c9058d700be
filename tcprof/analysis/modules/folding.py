"""Layers that are alike, told as one: ``layers.0–31`` in place of 32 rows, and what each of them repeats."""

import re

import numpy as np
import pandas as pd

from tcprof.analysis.modules.tree import ALL
from tcprof.frames import FOLDED_MODULES

MOST_APART = 0.1  # how far the kernel time of a layer may be from the median of those like it, of that
_MOST_PARTS = 4  # of the numbers of layers that a name lists
_NUMBERED = re.compile(r"(?P<stem>(?:.*\.)?)(?P<number>\d{1,9})", re.DOTALL)  # in a list or a sequence of modules
_SUMS = (
    "kernel_count",
    "kernel_ns",
    "own_kernel_ns",
    "share_pct",
    "tensor_cycles",
    "tensor_flop",
    "useful_flop",
    "lost_ns",
)
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_MEANS = (
    *_ACTIVE,
    "tensor_kernel_share_pct",
    "unresolved_kernel_share_pct",
    "tensor_peak_pct",
    "hfu_pct",
    "mfu_pct",
)  # over the kernel time
_UNCOVERED = "uncovered_cycles_pct"  # over the cycles


def fold_layers(modules: pd.DataFrame) -> pd.DataFrame:
    """The modules of one GPU, numbered siblings that are alike in one row: ``tcprof.frames.FOLDED_MODULES``.

    Alike are those that hold the same modules, with as many kernels in each phase of each, and took a time that is at
    most 10 % from their median. A row's figures are over them together. The ends of intervals are averaged, as if all
    erred together: alike layers launch the same kernels, of which the fit knows one figure.
    """
    tree = modules[modules["phase"] == ALL]
    paths = _fold_paths(tree, _shapes(modules, tree))
    number = _number(tree, paths)
    of_tree = tree.assign(
        number=number.to_numpy(),
        module=tree["module_id"].map(paths),
        parent_id=number.reindex(tree["parent_id"]).fillna(-1).to_numpy(),
    )
    by = of_tree.groupby("number")
    places = (
        by[["module", "parent_id", "depth"]]
        .first()
        .assign(alike_count=by.size(), shortest_ns=by["kernel_ns"].min(), longest_ns=by["kernel_ns"].max())
    )
    around = places["module"].reindex(places["parent_id"]).to_numpy()
    names = [path.removeprefix(f"{above}.") for path, above in zip(places["module"], around, strict=True)]
    summed = _sum(modules.assign(number=number.reindex(modules["module_id"]).to_numpy()))
    rows = summed.join(places.assign(name=names), on="number").rename(columns={"number": "module_id"})
    return FOLDED_MODULES.conform(rows.sort_values("module_id", kind="stable"))


def list_alike(modules: pd.DataFrame) -> dict[int, tuple[int, ...]]:
    """The ids of the modules that each row of ``fold_layers`` stands for, by its own."""
    tree = modules[modules["phase"] == ALL]
    number = _number(tree, _fold_paths(tree, _shapes(modules, tree)))
    return {int(row): tuple(int(each) for each in members.index) for row, members in number.groupby(number)}


def _number(tree: pd.DataFrame, paths: dict[int, str]) -> "pd.Series[int]":
    """The number of each module's row, by the module's id; all kernels are first, as -1."""
    return pd.Series(pd.factorize(tree["module_id"].map(paths))[0] - 1, index=tree["module_id"])


def _shapes(modules: pd.DataFrame, tree: pd.DataFrame) -> dict[int, int]:
    """For each module a number, which those have in common that hold the same and launch as many kernels."""
    counts: dict[int, list[tuple[str, int]]] = {}
    for module, phase, count in zip(modules["module_id"], modules["phase"], modules["kernel_count"], strict=True):
        counts.setdefault(module, []).append((phase, count))
    below: dict[int, list[tuple[str, int]]] = {}
    known: dict[object, int] = {}
    shapes: dict[int, int] = {}
    innermost_first = tree.iloc[np.argsort(-tree["depth"].to_numpy(), kind="stable")]
    for module, parent, name in innermost_first[["module_id", "parent_id", "name"]].itertuples(index=False):
        content = (tuple(sorted(counts[module])), tuple(sorted(below.get(module, []))))
        shapes[module] = known.setdefault(content, len(known))
        below.setdefault(parent, []).append((name, shapes[module]))
    return shapes


def _fold_paths(tree: pd.DataFrame, shapes: dict[int, int]) -> dict[int, str]:
    """The path of each module; alike ones have the same."""
    inside = tree[tree["module_id"] >= 0]
    names, times = (dict(zip(inside["module_id"], inside[column], strict=True)) for column in ("name", "kernel_ns"))
    paths = {-1: ""}
    folded = {-1: False}  # whether a module, or one around it, is told with others: then times do not matter any more
    for parent, members in inside.groupby("parent_id", sort=False)["module_id"]:
        groups: dict[tuple[str, int], list[int]] = {}
        for module in members.tolist():
            match = _NUMBERED.fullmatch(names[module])
            groups.setdefault((match.group("stem"), shapes[module]) if match else ("", -1 - module), []).append(module)
        for (stem, _), alike in groups.items():
            usual = np.median([times[module] for module in alike])
            near = [each for each in alike if folded[parent] or abs(times[each] - usual) <= MOST_APART * usual]
            several = _list_numbers([int(names[each][len(stem) :]) for each in near]) if len(near) > 1 else ""
            for module in alike:
                folded[module] = folded[parent] or (bool(several) and module in near)
                name = f"{stem}{several}" if several and module in near else names[module]
                paths[module] = f"{paths[parent]}.{name}" if paths[parent] else name
    return paths


def _list_numbers(numbers: list[int]) -> str:
    """Numbers as one writes them: 0–3,5."""
    ordered = np.unique(numbers)
    runs = np.split(ordered, np.flatnonzero(np.diff(ordered) > 1) + 1)
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    return ",".join(parts if len(parts) <= _MOST_PARTS else [*parts[: _MOST_PARTS - 2], "…", parts[-1]])


def _sum(rows: pd.DataFrame) -> pd.DataFrame:
    """The figures of each row's modules together, phase by phase."""
    time = rows["kernel_ns"].astype(float)
    weighted = {_UNCOVERED: rows[_UNCOVERED] * rows["tensor_cycles"], **{name: rows[name] * time for name in _MEANS}}
    by = rows.assign(**weighted).groupby(["number", "phase"], sort=False)
    known = by[[*_SUMS, *weighted]].count().eq(by.size(), axis=0)  # a sum over something unknown is unknown
    sums = by[[*_SUMS, *weighted]].sum().where(known)
    whole = sums["kernel_ns"].astype(float)
    means = {name: sums[name] / whole for name in _MEANS}
    cycles = sums["tensor_cycles"]
    means[_UNCOVERED] = (sums[_UNCOVERED] / cycles.where(cycles > 0)).where(cycles != 0, 0.0)
    rate = sums["tensor_flop"] / whole * 1e-3
    needed = (rows["useful_pct"] * rows["tensor_flop"]).groupby([rows["number"], rows["phase"]], sort=False)
    useful = needed.sum(min_count=1).where(needed.count() == by.size()) / sums["tensor_flop"]
    count = rows["iteration_count"].iloc[0]
    return sums.assign(
        **means, tensor_tflops=rate, useful_pct=useful, gpu=rows["gpu"].iloc[0], iteration_count=count
    ).reset_index()
