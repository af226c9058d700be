"""Which module and phase each activity belongs to."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.modules.backward import Backward, trace_back
from tcprof.analysis.modules.outside import place_outside
from tcprof.analysis.modules.tree import (
    BACKWARD_CODE,
    FORWARD_CODE,
    NO_MODULE,
    OPTIMIZER_CODE,
    OTHER_CODE,
    RECOMPUTE_CODE,
    Tree,
    find_modules,
)
from tcprof.analysis.ranges.projection import Attribution, Hierarchy, innermost_of_domain
from tcprof.arrays import Ints
from tcprof.frames import MODULE_TREE, OPS_DOMAIN


@dataclass(frozen=True)
class ModuleAssignment:
    """Where activities belong.

    Attributes:
        modules: See ``Tree.modules``; at the end what belongs to no module, see ``place_outside``.
        module: For each activity the innermost module that it belongs to.
        phase: Its phase, as a number in ``PHASES``.
    """

    modules: pd.DataFrame
    module: Ints
    phase: Ints


def find_homes(hierarchy: Hierarchy, attribution: Attribution, activities: int) -> ModuleAssignment:
    """Bring each activity to its module and phase.

    What was launched inside a range of its own thread belongs to that one's module and phase. A node of the autograd
    engine belongs to the module of the op that made it; of two around a launch, that counts which began last: the
    engine may call modules, to compute activations again. What another thread launched has the phase, not the module.
    Recomputation is told by our ranges, by modules that the engine calls, and by PyTorch's node of checkpoints.

    Args:
        attribution: Which range each activity belongs to.
    """
    tree, back = find_modules(hierarchy), trace_back(hierarchy)
    place, inherited = innermost_of_domain(hierarchy, attribution, tree.domain, activities)
    op, _ = innermost_of_domain(hierarchy, attribution, OPS_DOMAIN, activities)  # ops are never inherited
    start = np.append(hierarchy.ranges["start_ns"].to_numpy(), np.iinfo(np.int64).min)
    own = np.where(inherited, -1, place)
    module, phase = np.append(tree.module_of_range, NO_MODULE)[own], np.append(tree.phase_of_range, OTHER_CODE)[place]
    engine = np.append(back.engine, -1)[op]
    in_engine = (engine >= 0) & (start[engine] >= start[own])
    module = np.where(in_engine, np.append(_homes_of_ops(hierarchy, tree, back), NO_MODULE)[op], module)
    again = np.append(back.recompute, False)[op] | ((engine >= 0) & ~in_engine & (phase == FORWARD_CODE))
    phase = np.where(again, RECOMPUTE_CODE, np.where(in_engine, BACKWARD_CODE, phase))
    in_optimizer = np.append(back.optimizer, False)[op] & (phase == OTHER_CODE)
    phase = np.where(in_optimizer, OPTIMIZER_CODE, phase)
    outside = np.flatnonzero(module == NO_MODULE)
    others, row = place_outside(hierarchy, back, op[outside], phase[outside], len(tree.modules))
    module[outside] = row
    return ModuleAssignment(MODULE_TREE.concat([tree.modules, others]), module, phase)


def _homes_of_ops(hierarchy: Hierarchy, tree: Tree, back: Backward) -> Ints:
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
