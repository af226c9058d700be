"""Which ops count, and how many FLOP each asks for.

Of ops that lie in each other the outermost counts that has a formula for all that happens in it.

What a convolution makes is in none of its arguments. It is known from the gradient that the backward pass had for it,
or from the op that took it. Which gradients the backward pass computed is known from the ops that took these: autograd
gives each to the node of its tensor, which is an op, before the pass ends. Where its end was not recorded, one that no
op took is not known.
"""

import json
from collections.abc import Container
from functools import lru_cache

import numpy as np
import pandas as pd

from tcprof.analysis.flop import formulas
from tcprof.analysis.flop.formulas import (
    CONVOLUTION_BACKWARD,
    CONVOLUTIONS,
    Sizes,
    count_convolution,
    count_convolution_backward,
)
from tcprof.analysis.modules.assignment import NONE, ModuleAssignment, OpOrigin, trace_back
from tcprof.analysis.modules.tree import RECOMPUTE_CODE
from tcprof.analysis.ranges.instances import Evidence
from tcprof.analysis.ranges.projection import Hierarchy, innermost_of_domain
from tcprof.analysis.time.range_metrics import tensor_launches
from tcprof.annotate.steps import BACKWARD, DOMAIN
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import OPS_DOMAIN

_GRADIENTS = 2  # of the input and of the weight; that of the bias is no product
_TRANSPOSED = "transpose"  # in the names of transposed ones, or of what these call


class OpNames:
    """Names of ranges, of ops in their plain form."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        ranges = hierarchy.ranges
        self._is_op: Bools = (ranges["domain"] == OPS_DOMAIN).to_numpy()
        self._codes = ranges["name"].cat.codes.to_numpy()
        self._plain = [name.removesuffix("_") for name in ranges["name"].cat.categories]

    def among(self, names: Container[str]) -> Bools:
        """Find the ranges that are ops of these names."""
        return self._spread([name in names for name in self._plain]) & self._is_op

    def hold(self, part: str) -> Bools:
        """Find the ranges whose names contain a part."""
        return self._spread([part in name for name in self._plain])

    def of(self, row: int) -> str:
        """Return the name of a range."""
        return str(self._plain[self._codes[row]])

    def _spread(self, of_names: list[bool]) -> Bools:
        return np.asarray(np.array(of_names, dtype=bool)[self._codes])


def count_ops(hierarchy: Hierarchy) -> tuple[Ints, Floats] | None:
    """Find for each range the counting op that it is or lies in, or ``NONE``, and its FLOP; None without sizes.

    FLOP of an op that counts are unknown where its sizes do not suffice; of others 0.
    """
    sizes = hierarchy.ranges["sizes"].cat
    none = sizes.categories.get_indexer(pd.Index([""], dtype=sizes.categories.dtype))[0]
    if not (sizes.codes.to_numpy() != none).any():
        return None
    names = OpNames(hierarchy)
    counting = names.among(formulas.WHOLE) | names.among(formulas.CONVOLUTIONS)
    counting |= names.among((formulas.CONVOLUTION_BACKWARD,))
    wraps = names.among(formulas.WRAPPERS) & ~_find_holders(hierarchy, counting | names.among(formulas.NOT_COUNTED))
    owner = _find_outermost(hierarchy, counting | wraps)
    flop = np.zeros(len(owner))
    rows = np.flatnonzero(owner == np.arange(len(owner)))
    flop[rows] = _count_by_sizes(hierarchy, names, rows)
    count_convolutions(hierarchy, names, owner, flop)
    return owner, flop


def _find_holders(hierarchy: Hierarchy, is_counting: Bools) -> Bools:
    holds = np.zeros(len(is_counting), dtype=bool)
    for rows in reversed(hierarchy.levels[1:]):
        inside = rows[holds[rows] | is_counting[rows]]
        holds[hierarchy.parent[inside]] = True
    return holds


def _find_outermost(hierarchy: Hierarchy, is_counting: Bools) -> Ints:
    owner = np.where(is_counting, np.arange(len(is_counting)), NONE)
    for rows in hierarchy.levels[1:]:
        around = owner[hierarchy.parent[rows]]
        owner[rows] = np.where(around >= 0, around, owner[rows])
    return owner


def _count_by_sizes(hierarchy: Hierarchy, names: OpNames, rows: Ints) -> Floats:
    """Count FLOP of ops by the sizes of their arguments; unknown for others. Computes each name and sizes once."""
    ranges = hierarchy.ranges.iloc[rows]
    op_formulas = {**formulas.WHOLE, **formulas.WRAPPERS}
    texts = ranges["sizes"].cat.categories
    key = ranges["name"].cat.codes.to_numpy(np.int64) << 32 | ranges["sizes"].cat.codes.to_numpy(np.int64)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    flop = []
    for row, code in zip(rows[first].tolist(), ranges["sizes"].cat.codes.to_numpy()[first].tolist(), strict=True):
        formula, text = op_formulas.get(names.of(row)), texts[code]
        flop.append(formulas.count_flop(formula, json.loads(text)) if formula and text else formulas.UNKNOWN)
    return np.array(flop, dtype=np.float64)[which] if flop else np.empty(0)


def count_useful_flop(
    launches: pd.DataFrame, kernels: pd.DataFrame, evidence: Evidence, assignment: ModuleAssignment
) -> Floats:
    """Assign the FLOP of each op to its first tensor kernel, or if it has none to its first kernel.

    Unknown for what is or could be a tensor kernel of no counting op, or of one of unknown FLOP, and where no op has
    sizes; 0 for other launches and for recomputation.
    """
    ops = count_ops(evidence.hierarchy)
    if ops is None:
        return np.broadcast_to(np.nan, len(launches))
    kinds, activity = evidence.activities["kind"], launches["activity"].to_numpy()
    op, _ = innermost_of_domain(evidence.hierarchy, evidence.attribution, OPS_DOMAIN, len(kinds))
    owner = np.append(ops[0], NONE)[op[activity]]
    is_tensor = np.logical_or.reduce(tensor_launches(launches, kernels, kinds))
    flop = np.append(ops[1], np.nan)[owner]
    rows = np.flatnonzero(owner >= 0)
    order = rows[np.lexsort((rows, ~is_tensor[rows], owner[rows]))]
    first = order[np.append(True, np.diff(owner[order]) != 0)[: len(order)]]
    useful = np.where(is_tensor & np.isnan(flop), np.nan, 0.0)
    useful[first] = flop[first]
    useful[assignment.phase[activity] == RECOMPUTE_CODE] = 0
    return useful


def count_convolutions(hierarchy: Hierarchy, names: OpNames, owner: Ints, flop: Floats) -> None:
    """Set the FLOP of all convolutions that count; ``owner`` is the op that counts for each range."""
    is_own = owner == np.arange(len(owner))
    is_forward = names.among(CONVOLUTIONS) & (owner >= 0)
    forward = np.flatnonzero(is_forward & is_own)
    backward = np.flatnonzero(names.among((CONVOLUTION_BACKWARD,)) & is_own)
    if not len(forward) + len(backward):
        return
    sizes, outputs = (hierarchy.ranges[name].array for name in ("sizes", "output_sizes"))
    inside = np.flatnonzero(is_forward)
    transposed = np.zeros(len(owner), dtype=bool)
    transposed[owner[inside[names.hold(_TRANSPOSED)[inside]]]] = True
    made: dict[int, Sizes] = {}
    for row in inside[(outputs != "")[inside]].tolist():
        if output := _read_sizes(outputs[row])[0]:
            made.setdefault(int(owner[row]), output)
    back = trace_back(hierarchy)
    maker = np.append(owner, -1)[back.forward]  # -1, for none, is the last
    is_whole = _is_pass_whole(hierarchy, back, backward)
    for row, is_known_to_end in zip(backward.tolist(), is_whole.tolist(), strict=True):
        op = int(maker[row])
        is_known = op >= 0 and bool(is_forward[op])
        gradient, inputs, weight = [*_read_sizes(sizes[row]), [], [], []][:3]
        gradients = sum(bool(gradient_sizes) for gradient_sizes in _read_sizes(outputs[row]))
        gradients = gradients if is_known_to_end or gradients == _GRADIENTS else 0
        is_transposed = bool(transposed[op]) if is_known else None
        flop[row] = count_convolution_backward(gradient, inputs, weight, gradients, is_transposed)
        if is_known and gradient:
            made[op] = gradient
    for row in forward.tolist():
        inputs, weight = [*_read_sizes(sizes[row]), [], []][:2]
        flop[row] = count_convolution(inputs, weight, made.get(row, []), bool(transposed[row]))


def _is_pass_whole(hierarchy: Hierarchy, back: OpOrigin, rows: Ints) -> Bools:
    """Find the ranges whose backward pass was recorded to its end."""
    ranges = hierarchy.ranges
    process, start, end = (ranges[name].to_numpy() for name in ("process", "start_ns", "end_ns"))
    is_op = (ranges["domain"] == OPS_DOMAIN).to_numpy()
    is_ours = ((ranges["domain"] == DOMAIN) & (ranges["name"] == BACKWARD)).to_numpy() & (end < end.max(initial=0))
    later = np.where(is_op & (back.engine == NONE), start, np.where(is_ours, end, np.iinfo(np.int64).min))
    later[rows] = np.iinfo(np.int64).min
    last = pd.Series(later).groupby(process).max()
    return np.asarray(last[process[rows]].to_numpy() >= end[rows])


@lru_cache(maxsize=10_000)
def _read_sizes(text: str) -> list[Sizes]:
    return json.loads(text) if text else []
