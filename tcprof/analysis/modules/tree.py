"""The modules and phases that ranges name: those of ``tcprof.annotate``, and a program's that are paths of modules."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.paths import tree_order
from tcprof.analysis.ranges.projection import Hierarchy
from tcprof.annotate.steps import BACKWARD, DATA, DOMAIN, FORWARD, INFERENCE, OPTIMIZER, RECOMPUTE
from tcprof.arrays import Bools, Ints
from tcprof.frames import MODULE_TREE

NO_MODULE = -1
OTHER = "other"
BETWEEN = "between calls"  # of a model that nothing trains: sampling, a cache, what is told of the results
PHASES = (OTHER, DATA, FORWARD, BETWEEN, BACKWARD, RECOMPUTE, OPTIMIZER)
ALL = "all"  # the sum of the phases
_CODE = {phase: code for code, phase in enumerate(PHASES)}
FORWARD_CODE, BACKWARD_CODE, RECOMPUTE_CODE = (_CODE[phase] for phase in (FORWARD, BACKWARD, RECOMPUTE))
OTHER_CODE, BETWEEN_CODE, OPTIMIZER_CODE = _CODE[OTHER], _CODE[BETWEEN], _CODE[OPTIMIZER]
_INFERENCE = f"{INFERENCE} "  # what a step that trains nothing begins with


@dataclass(frozen=True)
class Tree:
    """The modules, and where each range lies among them."""

    modules: pd.DataFrame  # see ``tcprof.frames.MODULE_TREE``
    domain: str  # the domain whose ranges name them
    module_of_range: Ints  # for each range the innermost module that it lies in or is, ``NO_MODULE`` for none
    phase_of_range: Ints  # for each range of that domain its phase, as a number in ``PHASES``


def find_modules(hierarchy: Hierarchy) -> Tree:
    """The modules of a recording; none where no range names one.

    In our own domain, every range inside a forward pass is a module's, and so is one between the calls of a model: what
    this does itself, when it generates. In the default one those are that have the path of a module:
    ``Llama.layers.0`` inside ``Llama``.
    """
    paths = hierarchy.paths
    ours = (paths["domain"] == DOMAIN).to_numpy()
    names, parents = paths["name"].tolist(), paths["parent_id"].tolist()
    phase = _phases(names, parents, ours)
    is_step = np.array([name.startswith(_INFERENCE) for name in names], dtype=bool)
    called = ours & np.isin(phase, (FORWARD_CODE, BETWEEN_CODE, RECOMPUTE_CODE)) & ~np.isin(names, PHASES) & ~is_step
    domain = DOMAIN
    if not ours.any():
        domain = ""
        called = _dotted(names, parents) & (paths["domain"] == "").to_numpy()
        phase = np.where(called, FORWARD_CODE, phase)
    order = [path for path in range(len(names)) if called[path]]
    modules, number = make_tree([names[path] for path in order])
    module = np.full(len(names), NO_MODULE)
    module[order] = [number[names[path]] for path in order]
    for path, parent in enumerate(parents):  # paths come after those that they lie in
        if module[path] == NO_MODULE and parent >= 0:
            module[path] = module[parent]
            phase[path] = phase[path] if ours[path] else phase[parent]
    return Tree(modules, domain, module[hierarchy.path_id], phase[hierarchy.path_id])


def _phases(names: list[str], parents: list[int], ours: Bools) -> Ints:
    """The phase of each path in our domain: that of the innermost range that names one."""
    found = np.full(len(names), OTHER_CODE)
    for path, (name, parent) in enumerate(zip(names, parents, strict=True)):
        if ours[path]:
            around = found[parent] if parent >= 0 else OTHER_CODE
            found[path] = _CODE.get(name, BETWEEN_CODE if name.startswith(_INFERENCE) else around)
    return found


def _dotted(names: list[str], parents: list[int]) -> Bools:
    """Which paths are named as modules are: by what they lie in and a part of their own, or they hold one such."""
    found = np.zeros(len(names), dtype=bool)
    for path, parent in enumerate(parents):
        if parent >= 0 and names[path].startswith(f"{names[parent]}."):
            found[[path, parent]] = True
    return found


def make_tree(called: list[str]) -> tuple[pd.DataFrame, dict[str, int]]:
    """The tree of modules, see ``tcprof.frames.MODULE_TREE``, and the row of each.

    Paths are called in this order; a container that is never called is no module.
    """
    names = list(dict.fromkeys(called))
    known = set(names)
    around = [_around(name, known) for name in names]
    row = dict(zip(names, range(len(names)), strict=True))
    order = tree_order([row.get(parent, NO_MODULE) for parent in around], range(len(names)))
    number = {names[each]: place for place, each in enumerate(order)}
    depth = {"": 0}
    rows = []
    for each in order:
        name, parent = names[each], around[each]
        depth[name] = depth[parent] + 1
        rows.append((name, name.removeprefix(f"{parent}."), depth[name], number.get(parent, NO_MODULE)))
    return MODULE_TREE.conform(pd.DataFrame(rows, columns=MODULE_TREE.names)), number


def _around(name: str, known: set[str]) -> str:
    """The innermost module that a name lies in; empty for a root."""
    while name:
        name = name.rpartition(".")[0]
        if name in known:
            return name
    return ""
