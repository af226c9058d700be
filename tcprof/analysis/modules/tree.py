"""The modules and phases that ranges name: those of ``tcprof.annotate``, and a program's that are paths of modules.

Layers that are alike share a row: ``layers.0–31`` in place of 32 rows and their contents.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.nesting import tree_order
from tcprof.analysis.ranges.projection import Hierarchy
from tcprof.annotate.steps import BACKWARD, DATA, DOMAIN, FORWARD, INFERENCE, OPTIMIZER, RECOMPUTE
from tcprof.arrays import Bools, Ints
from tcprof.frames import FOLDED_MODULES, MODULE_TREE
from tcprof.sources.xla import DOMAIN as XLA
from tcprof.sources.xla import read_scopes

NO_MODULE = -1
OTHER = "other"
BETWEEN = "between calls"  # of a model that nothing trains: sampling, a cache, what is told of the results
PHASES = (OTHER, DATA, FORWARD, BETWEEN, BACKWARD, RECOMPUTE, OPTIMIZER)
ALL = "all"  # the sum of the phases
_CODE = {phase: code for code, phase in enumerate(PHASES)}
FORWARD_CODE, BACKWARD_CODE, RECOMPUTE_CODE = (_CODE[phase] for phase in (FORWARD, BACKWARD, RECOMPUTE))
OTHER_CODE, BETWEEN_CODE, OPTIMIZER_CODE = _CODE[OTHER], _CODE[BETWEEN], _CODE[OPTIMIZER]
_INFERENCE = f"{INFERENCE} "  # what a step that trains nothing begins with
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


@dataclass(frozen=True)
class ModuleTree:
    """The modules, and where each range lies among them."""

    modules: pd.DataFrame  # see ``tcprof.frames.MODULE_TREE``
    domain: str  # the domain whose ranges name them
    module_of_range: Ints  # for each range the innermost module that it lies in or is, ``NO_MODULE`` for none
    phase_of_range: Ints  # for each range of that domain its phase, as a number in ``PHASES``


def find_modules(hierarchy: Hierarchy) -> ModuleTree:
    """Find the modules of a recording; none where no range names one.

    In our own domain, every range in a forward pass, or between the calls of a model, is a module's. In the default one
    those are that have the path of a module: ``Llama.layers.0`` inside ``Llama``. Where there is none either, those of
    XLA name the scopes of JAX.
    """
    paths = hierarchy.paths
    ours = (paths["domain"] == DOMAIN).to_numpy()
    names, parents = paths["name"].tolist(), paths["parent_id"].tolist()
    phase = _find_phases(names, parents, ours)
    is_step = np.array([name.startswith(_INFERENCE) for name in names], dtype=bool)
    called = ours & np.isin(phase, (FORWARD_CODE, BETWEEN_CODE, RECOMPUTE_CODE)) & ~np.isin(names, PHASES) & ~is_step
    domain = DOMAIN
    if not ours.any():
        domain = ""
        called = _find_dotted(names, parents) & (paths["domain"] == "").to_numpy()
        phase = np.where(called, FORWARD_CODE, phase)
        if not called.any():
            domain = XLA
            called, phase = _name_scopes(names, parents, (paths["domain"] == XLA).to_numpy())
    order = [path for path in range(len(names)) if called[path]]
    scopes = [] if domain != XLA else [part for path in order for part in _list_around(names[path])]
    modules, number = make_tree([*scopes, *(names[path] for path in order)])
    module = np.full(len(names), NO_MODULE)
    module[order] = [number[names[path]] for path in order]
    for path, parent in enumerate(parents):  # paths come after those that they lie in
        if module[path] == NO_MODULE and parent >= 0:
            module[path] = module[parent]
            phase[path] = phase[path] if ours[path] or domain == XLA else phase[parent]
    return ModuleTree(modules, domain, module[hierarchy.path_id], phase[hierarchy.path_id])


def _find_phases(names: list[str], parents: list[int], ours: Bools) -> Ints:
    """Find the phase of each path in our domain: that of the innermost range that names one."""
    phases = np.full(len(names), OTHER_CODE)
    for path, (name, parent) in enumerate(zip(names, parents, strict=True)):
        if ours[path]:
            around = phases[parent] if parent >= 0 else OTHER_CODE
            phases[path] = _CODE.get(name, BETWEEN_CODE if name.startswith(_INFERENCE) else around)
    return phases


def _find_dotted(names: list[str], parents: list[int]) -> Bools:
    """Find paths named like modules, by their parent's name and another part; and these parents."""
    is_dotted = np.zeros(len(names), dtype=bool)
    for path, parent in enumerate(parents):
        if parent >= 0 and names[path].startswith(f"{names[parent]}."):
            is_dotted[[path, parent]] = True
    return is_dotted


def _name_scopes(names: list[str], parents: list[int], is_of_xla: Bools) -> tuple[Bools, Ints]:
    """Replace XLA's names of its programs' parts by those of modules; returns which these are, and all phases."""
    called, phase = np.zeros(len(names), dtype=bool), np.full(len(names), OTHER_CODE)
    inside = [path for path in np.flatnonzero(is_of_xla).tolist() if parents[path] >= 0]
    for path, (module, of_phase) in zip(inside, read_scopes([names[path] for path in inside]), strict=True):
        phase[path] = _CODE.get(of_phase, OTHER_CODE)
        if module:
            called[path], names[path] = True, module
    return called, phase


def make_tree(called: list[str]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Make the tree of modules called in this order, ``tcprof.frames.MODULE_TREE``, and number its rows by name."""
    names = list(dict.fromkeys(called))
    unique = set(names)
    around = [_find_parent(name, unique) for name in names]
    row = dict(zip(names, range(len(names)), strict=True))
    order = tree_order([row.get(parent, NO_MODULE) for parent in around], range(len(names)))
    number = {names[index]: row for row, index in enumerate(order)}
    depth = {"": 0}
    rows = []
    for index in order:
        name, parent = names[index], around[index]
        depth[name] = depth[parent] + 1
        rows.append((name, name.removeprefix(f"{parent}."), depth[name], number.get(parent, NO_MODULE)))
    return MODULE_TREE.conform(pd.DataFrame(rows, columns=MODULE_TREE.names)), number


def _list_around(name: str) -> list[str]:
    """List a module's path and those around it, outermost first: XLA opens no range for these."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def _find_parent(name: str, names: set[str]) -> str:
    while name:
        name = name.rpartition(".")[0]
        if name in names:
            return name
    return ""


def fold_layers(modules: pd.DataFrame) -> pd.DataFrame:
    """Fold numbered siblings that are alike into one row: ``tcprof.frames.FOLDED_MODULES`` of one GPU.

    Alike are those that hold the same modules, with as many kernels in each phase of each, and took a time at most
    10 % from their median. The ends of intervals are averaged, as if all erred together: alike layers launch the same
    kernels, of which the fit knows one figure.
    """
    tree = modules[modules["phase"] == ALL]
    paths = _fold_paths(tree, _number_shapes(modules, tree))
    number = _number_rows(tree, paths)
    rows = tree.assign(
        number=number.to_numpy(),
        module=tree["module_id"].map(paths),
        parent_id=number.reindex(tree["parent_id"]).fillna(-1).to_numpy(),
    )
    by = rows.groupby("number")
    folded = (
        by[["module", "parent_id", "depth"]]
        .first()
        .assign(alike_count=by.size(), shortest_ns=by["kernel_ns"].min(), longest_ns=by["kernel_ns"].max())
    )
    around = folded["module"].reindex(folded["parent_id"]).to_numpy()
    names = [path.removeprefix(f"{above}.") for path, above in zip(folded["module"], around, strict=True)]
    summed = _sum_rows(modules.assign(number=number.reindex(modules["module_id"]).to_numpy()))
    rows = summed.join(folded.assign(name=names), on="number").rename(columns={"number": "module_id"})
    return FOLDED_MODULES.conform(rows.sort_values("module_id", kind="stable"))


def number_alike(tree: pd.DataFrame) -> pd.DataFrame:
    """Return ``number`` and ``label`` of each module's row, which alike modules share, by the module's id.

    Args:
        tree: The modules in one phase, with ``kernel_ns`` for the time that makes them alike.
    """
    paths = _fold_paths(tree, _number_shapes(tree, tree))
    above = tree["parent_id"].map(paths).fillna("")
    folded = tree["module_id"].map(paths)
    labels = [path.removeprefix(f"{around}.") for path, around in zip(folded, above, strict=True)]
    # Not factorize: that of pandas 2 ends a path at a NUL.
    row = {path: number for number, path in enumerate(dict.fromkeys(folded))}
    return pd.DataFrame({"number": folded.map(row).to_numpy(), "label": labels}, index=tree["module_id"])


def list_alike(modules: pd.DataFrame) -> dict[int, tuple[int, ...]]:
    """List the ids of the modules in each row of ``fold_layers``, by its own."""
    tree = modules[modules["phase"] == ALL]
    number = _number_rows(tree, _fold_paths(tree, _number_shapes(modules, tree)))
    return {int(row): tuple(int(module) for module in members.index) for row, members in number.groupby(number)}


def _number_rows(tree: pd.DataFrame, paths: dict[int, str]) -> "pd.Series[int]":
    """Number each module's row, by the module's id; all kernels are first, as -1."""
    return pd.Series(pd.factorize(tree["module_id"].map(paths))[0] - 1, index=tree["module_id"])


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
