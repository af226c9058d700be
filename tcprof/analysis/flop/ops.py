"""Which ops count, and how many FLOP each asks for.

Ops call each other: of those that lie in each other the outermost counts that has a formula for all that happens in
it, so that nothing counts twice.
"""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.flop import formulas
from tcprof.analysis.flop.convolutions import Names, count_convolutions
from tcprof.analysis.modules.assignment import ModuleAssignment
from tcprof.analysis.modules.tree import RECOMPUTE_CODE
from tcprof.analysis.ranges.projection import Hierarchy, innermost_of_domain
from tcprof.analysis.time.account import Evidence
from tcprof.analysis.time.range_metrics import tensor_launches
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import OPS_DOMAIN

NONE = -1


@dataclass(frozen=True)
class Ops:
    """The ops that count; one value for each range."""

    owner: Ints  # the op that counts for a range: it lies in it or is it; ``NONE`` for none
    flop: Floats  # FLOP of an op that counts, unknown where its sizes do not tell; 0 for other ranges


def count_ops(hierarchy: Hierarchy) -> Ops | None:
    """The ops that count; None where no op has sizes."""
    sizes = hierarchy.ranges["sizes"].cat
    if not (sizes.codes.to_numpy() != _code_of_none(sizes.categories)).any():
        return None
    names = Names(hierarchy)
    counting = names.among(formulas.WHOLE) | names.among(formulas.CONVOLUTIONS)
    counting |= names.among((formulas.CONVOLUTION_BACKWARD,))
    wraps = names.among(formulas.WRAPPERS) & ~_hold(hierarchy, counting | names.among(formulas.NOT_COUNTED))
    owner = _outermost(hierarchy, counting | wraps)
    flop = np.zeros(len(owner))
    rows = np.flatnonzero(owner == np.arange(len(owner)))
    flop[rows] = _count_by_sizes(hierarchy, names, rows)
    count_convolutions(hierarchy, names, owner, flop)
    return Ops(owner, flop)


def _code_of_none(categories: "pd.Index[str]") -> int:
    return int(categories.get_indexer(pd.Index([""], dtype=categories.dtype))[0])


def _hold(hierarchy: Hierarchy, found: Bools) -> Bools:
    """Which ranges hold one that was found."""
    holds = np.zeros(len(found), dtype=bool)
    for rows in reversed(hierarchy.levels[1:]):
        inside = rows[holds[rows] | found[rows]]
        holds[hierarchy.parent[inside]] = True
    return holds


def _outermost(hierarchy: Hierarchy, found: Bools) -> Ints:
    """For each range the outermost of those found that it lies in or is."""
    owner = np.where(found, np.arange(len(found)), NONE)
    for rows in hierarchy.levels[1:]:
        around = owner[hierarchy.parent[rows]]
        owner[rows] = np.where(around >= 0, around, owner[rows])
    return owner


def _count_by_sizes(hierarchy: Hierarchy, names: Names, rows: Ints) -> Floats:
    """FLOP of ops whose arguments' sizes tell them; not known for others. Each pair of name and sizes counts once."""
    ranges = hierarchy.ranges.iloc[rows]
    known = {**formulas.WHOLE, **formulas.WRAPPERS}
    texts = ranges["sizes"].cat.categories
    key = ranges["name"].cat.codes.to_numpy(np.int64) << 32 | ranges["sizes"].cat.codes.to_numpy(np.int64)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    found = []
    for row, code in zip(rows[first].tolist(), ranges["sizes"].cat.codes.to_numpy()[first].tolist(), strict=True):
        formula, text = known.get(names.of(row)), texts[code]
        found.append(formulas.count_flop(formula, json.loads(text)) if formula and text else formulas.UNKNOWN)
    return np.array(found, dtype=np.float64)[which] if found else np.empty(0)


def count_useful_flop(
    launches: pd.DataFrame, kernels: pd.DataFrame, evidence: Evidence, assignment: ModuleAssignment
) -> Floats:
    """The FLOP of each op, on its first tensor kernel, or if it has none on its first kernel.

    Unknown for what is or could be a tensor kernel of no op that counts, or of one whose FLOP are not known; 0 for all
    other launches and where something is computed again. Where no op has sizes, all are unknown.
    """
    ops = count_ops(evidence.hierarchy)
    if ops is None:
        return np.broadcast_to(np.nan, len(launches))
    kinds, activity = evidence.activities["kind"], launches["activity"].to_numpy()
    op, _ = innermost_of_domain(evidence.hierarchy, evidence.attribution, OPS_DOMAIN, len(kinds))
    owner = np.append(ops.owner, NONE)[op[activity]]
    is_tensor = np.logical_or.reduce(tensor_launches(launches, kernels, kinds))
    flop = np.append(ops.flop, np.nan)[owner]
    rows = np.flatnonzero(owner >= 0)
    order = rows[np.lexsort((rows, ~is_tensor[rows], owner[rows]))]
    first = order[np.append(True, np.diff(owner[order]) != 0)[: len(order)]]
    useful = np.where(is_tensor & np.isnan(flop), np.nan, 0.0)
    useful[first] = flop[first]
    useful[assignment.phase[activity] == RECOMPUTE_CODE] = 0
    return useful
