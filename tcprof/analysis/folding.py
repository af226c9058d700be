"""Fold what is alike, ``layers.0–31`` for 32 rows of modules or ranges, and what is rare among very many kernels."""

import re

import numpy as np
import pandas as pd

from tcprof.analysis.modules.tree import ALL
from tcprof.arrays import Ints
from tcprof.frames import ACTIVITIES, FOLDED_MODULES, HEADLINE, HEADLINE_INTERVAL

MOST_KERNELS = 10_000  # names and grids: tables, comparisons and pages take some 50 kB for each
FOLDED_KERNELS = "(other kernels)"
MOST_APART = 0.1  # how far the kernel time of a layer may be from the median of those like it, of that
_MOST_PARTS = 4  # of the numbers of layers that a name lists
_NUMBERED = re.compile(r"(?P<stem>(?:.*[.\s#:])?)(?P<number>\d{1,9})", re.DOTALL)  # in a list or a sequence of modules
_SUMS = (
    *("kernel_count", "kernel_ns", "own_kernel_ns", "share_pct"),
    *("tensor_cycles", "tensor_flop", "useful_flop", "lost_ns"),
)
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_MEANS = (  # over the kernel time
    *(*_ACTIVE, "tensor_kernel_share_pct", "unresolved_kernel_share_pct"),
    *("tensor_peak_pct", "hfu_pct", "mfu_pct"),
)
_UNCOVERED = "uncovered_cycles_pct"  # over the cycles
_SUMMED = ("_ns", "_count", "_s", "_cycles", "_flop", "_bytes")
_END = "\0"  # of a domain before a name: names have none
_HIGHEST = "tensor_active_peak_pct"
_DROPPED = "tensor_active_p95_pct"  # percentiles do not add up
# Weights of means: the sampled part of the windows, the kernel time, cycles, or else the windows.
_WEIGHTS = {
    **dict.fromkeys((HEADLINE.name, *HEADLINE_INTERVAL), "covered_ns"),
    **dict.fromkeys(("tensor_kernel_share_pct", "unresolved_kernel_share_pct"), "kernel_ns"),
    "uncovered_cycles_pct": "tensor_cycles",
}


def fold_layers(modules: pd.DataFrame) -> tuple[pd.DataFrame, dict[int, tuple[int, ...]]]:
    """Fold numbered siblings that are alike into one row: ``tcprof.frames.FOLDED_MODULES`` of one GPU.

    The ends of intervals are averaged, as if all erred together: alike layers launch the same kernels, of which the fit
    knows one figure. Also returns the ids of the modules in each row, by its own.
    """
    tree = modules[modules["phase"] == ALL]
    alike = number_alike(tree, modules)
    number = alike["number"] - 1  # all kernels are first
    parents = number.reindex(tree["parent_id"]).fillna(-1).to_numpy()
    rows = alike.reset_index(drop=True).assign(
        number=number.to_numpy(), parent_id=parents, **tree[["depth", "kernel_ns"]].to_dict("list")
    )
    by = rows.groupby("number")
    folded = (
        by[["module", "name", "parent_id", "depth"]]
        .first()
        .assign(alike_count=by.size(), shortest_ns=by["kernel_ns"].min(), longest_ns=by["kernel_ns"].max())
    )
    summed = _sum_rows(modules.assign(number=number.reindex(modules["module_id"]).to_numpy()))
    rows = summed.join(folded, on="number").rename(columns={"number": "module_id"})
    members: dict[int, list[int]] = {}
    for module, row in zip(number.index.tolist(), number.tolist(), strict=True):
        members.setdefault(row, []).append(module)
    folded_rows = FOLDED_MODULES.conform(rows.sort_values("module_id", kind="stable"))
    return folded_rows, {row: tuple(ids) for row, ids in members.items()}


def number_alike(tree: pd.DataFrame, modules: pd.DataFrame) -> pd.DataFrame:
    """Return by the module's id what alike modules share: ``number`` of their row, their path ``module`` and ``name``.

    Alike are siblings whose names end in different numbers, that hold the same modules, with as many kernels in each
    phase of each, and took a time at most 10 % from their median.

    Args:
        tree: The modules in one phase, with ``kernel_ns`` for the time that makes them alike.
        modules: The modules in all phases that tell them apart.
    """
    paths = _fold_paths(tree, _number_shapes(modules, tree))
    folded, around = (tree[column].map(paths).fillna("").tolist() for column in ("module_id", "parent_id"))
    # Not factorize: that of pandas 2 ends a path at a NUL.
    row = {path: number for number, path in enumerate(dict.fromkeys(folded))}
    names = [path.removeprefix(f"{above}.") for path, above in zip(folded, around, strict=True)]
    columns = {"number": [row[path] for path in folded], "module": folded, "name": names}
    return pd.DataFrame(columns, index=tree["module_id"])


def _number_shapes(modules: pd.DataFrame, tree: pd.DataFrame) -> dict[int, int]:
    """Number modules by shape: those that hold the same modules and launch as many kernels share a number."""
    counts: dict[int, list[tuple[str, int]]] = {}
    for module, phase, count in zip(modules["module_id"], modules["phase"], modules["kernel_count"], strict=True):
        counts.setdefault(module, []).append((phase, count))
    below: dict[int, list[tuple[str, int]]] = {}
    shape_numbers: dict[object, int] = {}
    shapes: dict[int, int] = {}
    innermost_first = tree.iloc[np.argsort(-tree["depth"].to_numpy(), kind="stable")]
    for module, parent, name in innermost_first[["module_id", "parent_id", "name"]].itertuples(index=False):
        content = (tuple(sorted(counts[module])), tuple(sorted(below.get(module, []))))
        shapes[module] = shape_numbers.setdefault(content, len(shape_numbers))
        below.setdefault(parent, []).append((name, shapes[module]))
    return shapes


def _fold_paths(tree: pd.DataFrame, shapes: dict[int, int]) -> dict[int, str]:
    inside = tree[tree["module_id"] >= 0]
    names, times = (dict(zip(inside["module_id"], inside[column], strict=True)) for column in ("name", "kernel_ns"))
    paths = {-1: ""}
    folded = {-1: False}  # whether a module, or one around it, is folded: then times do not matter any more
    for parent, members in inside.groupby("parent_id", sort=False)["module_id"]:
        groups: dict[tuple[str, int], list[int]] = {}
        for module in members.tolist():
            match = _NUMBERED.fullmatch(names[module])
            groups.setdefault((match.group("stem"), shapes[module]) if match else ("", -1 - module), []).append(module)
        for (stem, _), alike in groups.items():
            usual = np.median([times[module] for module in alike])
            near = [module for module in alike if folded[parent] or abs(times[module] - usual) <= MOST_APART * usual]
            several = _list_numbers([int(names[module][len(stem) :]) for module in near]) if len(near) > 1 else ""
            for module in alike:
                folded[module] = folded[parent] or (bool(several) and module in near)
                name = f"{stem}{several}" if several and module in near else names[module]
                paths[module] = f"{paths[parent]}.{name}" if paths[parent] else name
    return paths


def _list_numbers(numbers: list[int]) -> str:
    """Write numbers as ranges: 0–3,5."""
    ordered = np.unique(numbers)
    runs = np.split(ordered, np.flatnonzero(np.diff(ordered) > 1) + 1)
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    return ",".join(parts if len(parts) <= _MOST_PARTS else [*parts[: _MOST_PARTS - 2], "…", parts[-1]])


def _sum_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Sum the figures of each row's modules, phase by phase."""
    time = rows["kernel_ns"].astype(float)
    weighted = {_UNCOVERED: rows[_UNCOVERED] * rows["tensor_cycles"], **{name: rows[name] * time for name in _MEANS}}
    by = rows.assign(**weighted).groupby(["number", "phase"], sort=False)
    is_complete = by[[*_SUMS, *weighted]].count().eq(by.size(), axis=0)  # a sum over something unknown is unknown
    sums = by[[*_SUMS, *weighted]].sum().where(is_complete)
    whole = sums["kernel_ns"].astype(float)
    means = {name: sums[name] / whole for name in _MEANS}
    cycles = sums["tensor_cycles"]
    means[_UNCOVERED] = (sums[_UNCOVERED] / cycles.where(cycles > 0)).where(cycles != 0, 0.0)
    rate = sums["tensor_flop"] / whole * 1e-3
    needed = (rows["useful_pct"] * rows["tensor_flop"]).groupby([rows["number"], rows["phase"]], sort=False)
    useful = needed.sum(min_count=1).where(needed.count() == by.size()) / sums["tensor_flop"]
    count = rows["step_count"].iloc[0]
    return sums.assign(
        **means, tensor_tflops=rate, useful_pct=useful, gpu=rows["gpu"].iloc[0], step_count=count
    ).reset_index()


def shorten(name: str, around: str) -> str:
    """Remove from a name what it repeats of the range around it: below ``Llama.model`` it is ``.layers.0``."""
    return name.removeprefix(around) if name.startswith(f"{around}.") else name


def find_alike(ranges: pd.DataFrame) -> pd.DataFrame:
    """Find alike paths of one GPU, see ``number_alike``: ``number`` and ``label`` of their row, by ``path_id``."""
    names = dict(zip(ranges["path_id"], ranges["name"], strict=True))
    rows = zip(ranges["domain"], ranges["name"], ranges["parent_id"], strict=True)
    tree = ranges[["depth", "kernel_count"]].assign(
        module_id=ranges["path_id"],
        parent_id=ranges["parent_id"].where(ranges["parent_id"].isin(ranges["path_id"]), -1),
        name=[f"{domain}{_END}{shorten(name, names.get(parent, ''))}" for domain, name, parent in rows],
        phase=ALL,
        kernel_ns=ranges["gpu_window_ns"].fillna(0.0),
    )
    folded = number_alike(tree, tree)
    return folded.assign(label=folded["name"].str.rpartition(_END)[2])


def fold_alike(rows: pd.DataFrame, alike: pd.DataFrame) -> pd.DataFrame:
    """Fold alike rows of paths into the first, with a ``label`` and an ``alike_count``.

    It adds times and counts, weights means, and keeps the highest peak. The ends of intervals are averaged, as if all
    erred together.
    """
    number = alike["number"].reindex(rows["path_id"]).to_numpy()
    first_rows = rows[~pd.Series(number).duplicated().to_numpy()]
    first = dict(zip(pd.unique(number), first_rows["path_id"], strict=True))
    parents = alike["number"].reindex(first_rows["parent_id"]).map(first).to_numpy()
    parents = np.where(np.isnan(parents), first_rows["parent_id"], parents).astype(np.int64)
    first_rows = first_rows.assign(parent_id=parents)
    label = alike["label"].reindex(first_rows["path_id"]).to_numpy()
    if len(first_rows) == len(rows):
        return rows.assign(label=label, alike_count=1)
    sums = [name for name in rows.columns if name.endswith(_SUMMED)]
    means = [name for name in rows.columns if name.endswith("_pct") and name not in (_HIGHEST, _DROPPED)]
    means += [name for name in ("tensor_tflops",) if name in rows.columns]
    weights = rows.assign(covered_ns=rows["window_ns"] * rows.get("coverage_pct", 100.0))
    weights = weights[[_WEIGHTS.get(name, "window_ns") for name in means]].set_axis(means, axis=1)
    with_sums, weighted, weighing = (
        frame.groupby(number, sort=False).sum(min_count=1)
        for frame in (rows[sums], rows[means] * weights, weights.where(rows[means].notna()))
    )
    folded = first_rows.assign(**with_sums.astype(rows[sums].dtypes).to_dict("list"))
    folded = folded.assign(**(weighted / weighing.where(weighing != 0)).to_dict("list"))
    count = pd.Series(number).groupby(number, sort=False).size().to_numpy()
    if _HIGHEST in rows.columns:
        highest = rows[_HIGHEST].groupby(number, sort=False).max().to_numpy()
        folded = folded.assign(**{_HIGHEST: highest, _DROPPED: folded[_DROPPED].where(count == 1)})
    return folded.assign(label=label, alike_count=count)


def fold_kernels(activities: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Rename kernels beyond the ``MOST_KERNELS`` that took longest to ``FOLDED_KERNELS``; also return their count."""
    name, geometry = (activities[column].array for column in ("name", "launch_geometry"))
    kernels = np.flatnonzero(activities["kind"] == "kernel")
    key = name.codes[kernels].astype(np.int64) * len(geometry.categories) + geometry.codes[kernels]
    codes, keys = pd.factorize(key)
    if len(keys) <= MOST_KERNELS:
        return activities, len(keys)
    lasted = np.bincount(codes, (activities["end_ns"] - activities["start_ns"]).to_numpy()[kernels])
    rare = np.ones(len(keys), dtype=bool)
    rare[np.argsort(-lasted, kind="stable")[:MOST_KERNELS]] = False
    rows = kernels[rare[codes]]
    renamed = {"name": _rename(name, rows, FOLDED_KERNELS), "launch_geometry": _rename(geometry, rows, "")}
    return ACTIVITIES.conform(activities.assign(**renamed)), len(keys)


def _rename(texts: pd.Categorical, rows: Ints, text: str) -> pd.Categorical:
    categories = texts.categories.union([text], sort=False)
    codes = texts.codes.astype(np.int64)
    codes[rows] = categories.get_loc(text)
    return pd.Categorical.from_codes(codes, categories).remove_unused_categories()
