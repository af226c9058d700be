"""Which module and phase each activity belongs to."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.modules.backward import ENGINE, Backward, trace_back
from tcprof.analysis.modules.tree import (
    BACKWARD_CODE,
    FORWARD_CODE,
    NO_MODULE,
    OPTIMIZER_CODE,
    OTHER_CODE,
    PHASES,
    RECOMPUTE_CODE,
    Tree,
    find_modules,
)
from tcprof.analysis.ranges.projection import Attribution, Hierarchy, innermost_of_domain
from tcprof.arrays import Ints
from tcprof.frames import IN_NO_MODULE, MODULE_TREE, OPS_DOMAIN


@dataclass(frozen=True)
class ModuleAssignment:
    """Where activities belong."""

    modules: pd.DataFrame  # see ``Tree.modules``; at the end what belongs to no module, see ``place_outside``
    module: Ints  # for each activity the innermost module that it belongs to
    phase: Ints  # its phase, as a number in ``PHASES``


def assign_modules(hierarchy: Hierarchy, attribution: Attribution, activities: int) -> ModuleAssignment:
    """Bring each activity to its module and phase.

    What was launched inside a range of its own thread belongs to that one's module and phase. A node of the autograd
    engine belongs to the module of the op that made it; of two around a launch, that counts which began last: the
    engine may call modules, to compute activations again. What another thread launched has the phase, not the module.
    Recomputation is told by our ranges, by modules that the engine calls, and by PyTorch's node of checkpoints.
    """
    tree, back = find_modules(hierarchy), trace_back(hierarchy)
    place, inherited = innermost_of_domain(hierarchy, attribution, tree.domain, activities)
    op, _ = innermost_of_domain(hierarchy, attribution, OPS_DOMAIN, activities)  # ops are never inherited
    start = np.append(hierarchy.ranges["start_ns"].to_numpy(), np.iinfo(np.int64).min)
    own = np.where(inherited, -1, place)
    module, phase = np.append(tree.module_of_range, NO_MODULE)[own], np.append(tree.phase_of_range, OTHER_CODE)[place]
    engine = np.append(back.engine, -1)[op]
    in_engine = (engine >= 0) & (start[engine] >= start[own])
    module = np.where(in_engine, np.append(_modules_of_ops(hierarchy, tree, back), NO_MODULE)[op], module)
    again = np.append(back.recompute, False)[op] | ((engine >= 0) & ~in_engine & (phase == FORWARD_CODE))
    phase = np.where(again, RECOMPUTE_CODE, np.where(in_engine, BACKWARD_CODE, phase))
    in_optimizer = np.append(back.optimizer, False)[op] & (phase == OTHER_CODE)
    phase = np.where(in_optimizer, OPTIMIZER_CODE, phase)
    outside = np.flatnonzero(module == NO_MODULE)
    others, row = place_outside(hierarchy, back, op[outside], phase[outside], len(tree.modules))
    module[outside] = row
    return ModuleAssignment(MODULE_TREE.concat([tree.modules, others]), module, phase)


def _modules_of_ops(hierarchy: Hierarchy, tree: Tree, back: Backward) -> Ints:
    """For each range the module in which the op of the forward pass was called that made its node."""
    ranges = hierarchy.ranges
    found = np.full(len(ranges), NO_MODULE)
    rows = np.flatnonzero(back.forward >= 0)
    if not len(rows):
        return found
    named = ranges[ranges["domain"] == tree.domain]
    lanes = pd.Series(hierarchy.lane[named.index], index=_thread(named))
    lanes = lanes[~lanes.index.duplicated()]
    made, which = np.unique(back.forward[rows], return_inverse=True)
    lane = lanes.reindex(_thread(ranges.iloc[made])).fillna(-1).to_numpy(np.int64)
    around = hierarchy.open.at(lane, ranges["start_ns"].to_numpy()[made])
    found[rows] = np.append(tree.module_of_range, NO_MODULE)[around][which]
    return found


def _thread(ranges: pd.DataFrame) -> Ints:
    found: Ints = ranges["process"].to_numpy() << 32 | ranges["thread"].to_numpy()
    return found


def place_outside(hierarchy: Hierarchy, back: Backward, op: Ints, phase: Ints, first: int) -> tuple[pd.DataFrame, Ints]:
    """Rows for what is in no module: one for each phase, and in it one for each op that is in no other.

    In the backward pass that is the op of the forward pass which made the node; or the node, where it is not known.
    ``op`` and ``phase`` are of the activities in no module; the row of each is returned as well.
    """
    code, names = pd.factorize(np.append(_name_ops(hierarchy, back), "")[op])
    # A key for each phase, and one for each op in it, in the order in which they are met.
    width = len(names) + 1
    met = np.append(np.arange(len(PHASES)) * width, phase * width + np.where(op >= 0, code + 1, 0))
    number, keys = pd.factorize(met)
    order = np.argsort(keys // width, kind="stable")
    of_phase, code = keys[order] // width, keys[order] % width - 1
    is_op = code >= 0
    whole = np.array([IN_NO_MODULE.format(phase=PHASES[each]) for each in of_phase], dtype=object)
    above = first + np.flatnonzero(~is_op)[of_phase]
    own = np.where(is_op, np.append(names, "")[code], whole)
    path = np.where(is_op, whole + "." + own, whole)
    modules = pd.DataFrame(
        {"module": path, "name": own, "depth": 1 + is_op, "parent_id": np.where(is_op, above, NO_MODULE)}
    )
    return MODULE_TREE.conform(modules), first + np.argsort(order)[number[len(PHASES) :]]


def _name_ops(hierarchy: Hierarchy, back: Backward) -> npt.NDArray[np.object_]:
    """For each range of an op its short name; empty for others."""
    is_op, parent = (hierarchy.ranges["domain"] == OPS_DOMAIN).to_numpy(), hierarchy.parent
    outermost = np.arange(len(parent))
    for rows in hierarchy.levels[1:]:
        inside = rows[is_op[rows] & is_op[parent[rows]]]
        outermost[inside] = outermost[parent[inside]]
    shown = np.where(back.engine >= 0, back.engine, outermost)
    shown = np.where(back.forward >= 0, outermost[back.forward], shown)
    names = hierarchy.ranges["name"].cat
    codes = names.codes.to_numpy()
    short = np.full(len(names.categories), "", dtype=object)
    for code in np.unique(codes[is_op]):  # there may be millions of other names
        short[code] = _shorten(names.categories[code])
    shortened: npt.NDArray[np.object_] = short[codes[shown]]
    return shortened


def _shorten(name: str) -> str:
    """``aten::mm``, ``Optimizer.step#AdamW.step`` and the engine's own, as one would say them."""
    return name.removeprefix(ENGINE).rpartition("#")[2].rpartition("::")[2] or name
