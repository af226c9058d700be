"""What runs outside of all modules, by the op that did it: a loss that is a function, the step of an optimizer."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.modules.backward import ENGINE, Backward
from tcprof.analysis.modules.tree import NO_MODULE, PHASES
from tcprof.analysis.ranges.projection import Hierarchy
from tcprof.arrays import Ints
from tcprof.frames import IN_NO_MODULE, MODULE_TREE, OPS_DOMAIN


def place_outside(hierarchy: Hierarchy, back: Backward, op: Ints, phase: Ints, first: int) -> tuple[pd.DataFrame, Ints]:
    """Rows for what is in no module: one for each phase, and in it one for each op that is in no other.

    In the backward pass that is the op of the forward pass which made the node; or the node, where it is not known.

    Args:
        back: What the ranges of ops belong to.
        op: For each activity in no module its innermost op, -1 for none.
        phase: Its phase, as a number in ``PHASES``.

    Returns:
        See ``tcprof.frames.MODULE_TREE``; and for each activity the number of its row.
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
    """For each range of an op what it is told as; for others nothing."""
    is_op, parent = (hierarchy.ranges["domain"] == OPS_DOMAIN).to_numpy(), hierarchy.parent
    outermost = np.arange(len(parent))
    for rows in hierarchy.levels[1:]:
        inside = rows[is_op[rows] & is_op[parent[rows]]]
        outermost[inside] = outermost[parent[inside]]
    shown = np.where(back.engine >= 0, back.engine, outermost)
    shown = np.where(back.forward >= 0, outermost[back.forward], shown)
    names = hierarchy.ranges["name"].cat
    codes = names.codes.to_numpy()
    told = np.full(len(names.categories), "", dtype=object)
    for code in np.unique(codes[is_op]):  # there may be millions of other names
        told[code] = _shorten(names.categories[code])
    found: npt.NDArray[np.object_] = told[codes[shown]]
    return found


def _shorten(name: str) -> str:
    """``aten::mm``, ``Optimizer.step#AdamW.step`` and the engine's own, as one would say them."""
    return name.removeprefix(ENGINE).rpartition("#")[2].rpartition("::")[2] or name
