"""The modules and phases that ranges name: those of ``tcprof.annotate``, and a program's that are paths of modules."""

from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.nesting import tree_order
from tcprof.analysis.ranges.projection import Hierarchy
from tcprof.annotate.steps import BACKWARD, DATA, DOMAIN, FORWARD, INFERENCE, OPTIMIZER, RECOMPUTE
from tcprof.arrays import Bools, Ints
from tcprof.frames import MODULE_TREE
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
    order = np.flatnonzero(called).tolist()
    called_names = [names[path] for path in order]
    if domain == XLA:  # it opens no range for the modules around
        parts = (accumulate(name.split("."), "{}.{}".format) for name in called_names)
        called_names = [*chain.from_iterable(parts), *called_names]
    modules, number = make_tree(called_names)
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


def _find_parent(name: str, names: set[str]) -> str:
    while name:
        name = name.rpartition(".")[0]
        if name in names:
            return name
    return ""
