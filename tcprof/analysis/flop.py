"""FLOP that ops ask for by the sizes of their operands, whatever the kernels execute.

A multiplication and the addition that follows are two FLOP. Matrix multiplications, convolutions and attention (as if
nothing were masked) count: all that Tensor Cores compute; an added bias, norms and element-wise functions do not.

Of ops that lie in each other the outermost counts that has a formula for all that happens in it.

What a convolution makes is in none of its arguments. It is known from the gradient that the backward pass had for it,
or from the op that took it. Which gradients the backward pass computed is known from the ops that took these: autograd
gives each to the node of its tensor, which is an op, before the pass ends. Where its end was not recorded, one that no
op took is not known.
"""

import json
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from math import prod

import numpy as np
import pandas as pd

from tcprof.analysis.modules.summary import NONE, ModuleAssignment, OpOrigin, trace_back
from tcprof.analysis.modules.tree import RECOMPUTE_CODE
from tcprof.analysis.ranges.instances import Evidence
from tcprof.analysis.ranges.projection import Hierarchy, innermost_of_domain
from tcprof.analysis.time.range_metrics import tensor_launches
from tcprof.annotate.steps import BACKWARD, DOMAIN
from tcprof.arrays import Bools, Floats, Ints, find_named
from tcprof.frames import OPS_DOMAIN

Sizes = Sequence[int]
Formula = Callable[[Sequence[Sizes]], float]

UNKNOWN = float("nan")
MOST_FLOP = 10**18  # of one op: a quarter of an hour at 10^15 FLOP/s
_MATRIX, _STACK, _ATTENTION = 2, 3, 4  # dimensions of a matrix, of a stack of matrices, of queries
_FEWEST, _MOST = 3, 5  # dimensions of a convolution's operands, with those of the batch and the channels
_GRADIENTS = 2  # of the input and of the weight; that of the bias is no product
_TRANSPOSED = "transpose"  # in the names of transposed ones, or of what these call


class _NoSuchError(Exception):
    """These are no sizes of such an op's operands."""


def _check(is_so: bool) -> None:
    if not is_so:
        raise _NoSuchError


def _multiply(a: Sizes, b: Sizes) -> float:
    _check(len(a) == len(b) == _MATRIX and a[1] == b[0])
    return 2 * a[0] * a[1] * b[1]


def _multiply_stacks(a: Sizes, b: Sizes) -> float:
    _check(len(a) == len(b) == _STACK and a[0] == b[0])
    return a[0] * _multiply(a[1:], b[1:])


def _multiply_any(a: Sizes, b: Sizes) -> float:
    """Count ``torch.matmul`` of matrices and stacks of them, whose batches are broadcast."""
    _check(min(len(a), len(b)) >= _MATRIX)
    count = 1
    for back in range(_MATRIX + 1, max(len(a), len(b)) + 1):
        one, other = (sizes[-back] if back <= len(sizes) else 1 for sizes in (a, b))
        _check(one == other or 1 in (one, other))
        count *= other if one == 1 else one
    return count * _multiply(a[-_MATRIX:], b[-_MATRIX:])


def _apply_linear(inputs: Sizes, weight: Sizes) -> float:
    _check(len(weight) == _MATRIX and bool(inputs) and inputs[-1] == weight[1])
    return 2 * prod(inputs) * weight[0]


def _attend(query: Sizes, key: Sizes, value: Sizes, products: tuple[int, int] = (1, 1)) -> float:
    """Count scores and their product with the values: so many products of a query's length, so many of a value's."""
    _check(len(query) == len(key) == len(value) == _ATTENTION)
    batch, heads, length, width = query
    _check(batch == key[0] == value[0] and key[1] == value[1] and key[2] == value[2] and key[3] == width)
    _check(0 < key[1] <= heads and heads % key[1] == 0)
    return 2 * batch * heads * length * key[2] * (products[0] * width + products[1] * value[3])


def _attend_backward(gradient: Sizes, query: Sizes, key: Sizes, value: Sizes) -> float:
    """Count the scores again, and the gradients of values, scores, queries and keys."""
    _check(len(gradient) == _ATTENTION and list(gradient[:3]) == list(query[:3]) and gradient[3] == value[-1])
    return _attend(query, key, value, (3, 2))


def _take(function: Callable[..., float], *indices: int) -> Formula:
    return lambda sizes: function(*(sizes[index] for index in indices))


def _packed(function: Callable[..., float], count: int, offsets: int) -> Formula:
    """Count attention of sequences with heads behind the length; unknown with offsets, as lengths then differ."""

    def formula(sizes: Sequence[Sizes]) -> float:
        _check(not sizes[offsets] and all(len(operand) == _ATTENTION for operand in sizes[:count]))
        return function(*((batch, heads, length, width) for batch, length, heads, width in sizes[:count]))

    return formula


_KERNELS = ("flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu")
# By the op's name, without an underscore of one that works in place.
WHOLE: dict[str, Formula] = {
    **dict.fromkeys(("aten::mm", "aten::_int_mm", "aten::_scaled_mm"), _take(_multiply, 0, 1)),
    **dict.fromkeys(("aten::addmm", "aten::_addmm_activation"), _take(_multiply, 1, 2)),
    "aten::bmm": _take(_multiply_stacks, 0, 1),
    "aten::baddbmm": _take(_multiply_stacks, 1, 2),
    **{f"aten::_scaled_dot_product_{kind}": _take(_attend, 0, 1, 2) for kind in _KERNELS},
    **{f"aten::_scaled_dot_product_{kind}_backward": _take(_attend_backward, 0, 1, 2, 3) for kind in _KERNELS},
    "aten::_flash_attention_forward": _packed(_attend, 3, 3),
    "aten::_efficient_attention_forward": _packed(_attend, 3, 4),
    "aten::_flash_attention_backward": _packed(_attend_backward, 4, 6),
    "aten::_efficient_attention_backward": _packed(_attend_backward, 4, 6),
}
# These call others as a rule, which then count; where none of those below is called either, they are one product.
WRAPPERS: dict[str, Formula] = {"aten::linear": _take(_apply_linear, 0, 1), "aten::matmul": _take(_multiply_any, 0, 1)}
NOT_COUNTED = frozenset(("aten::mv", "aten::addmv", "aten::dot", "aten::vdot"))  # by the reference, which these are of
CONVOLUTIONS = frozenset(
    (
        *(f"aten::conv{kind}{number}d" for kind in ("", "_transpose") for number in (1, 2, 3)),
        *("aten::convolution", "aten::_convolution", "aten::_convolution_mode", "aten::convolution_overrideable"),
        *("aten::cudnn_convolution", "aten::cudnn_convolution_transpose", "aten::cudnn_convolution_relu"),
        *("aten::cudnn_convolution_add_relu", "aten::mkldnn_convolution", "aten::_slow_conv2d_forward"),
        *("aten::_conv_depthwise2d", "aten::conv_depthwise3d"),
    )
)
CONVOLUTION_BACKWARD = "aten::convolution_backward"


def count_flop(formula: Formula, sizes: Sequence[Sizes]) -> float:
    """Count the FLOP of an op; unknown where the sizes are no such op's."""
    try:
        return _limit(formula(sizes))
    except (_NoSuchError, IndexError):
        return UNKNOWN


def _limit(flop: float) -> float:
    return float(flop) if flop <= MOST_FLOP else UNKNOWN


def count_convolution(inputs: Sizes, weight: Sizes, output: Sizes, transposed: bool) -> float:
    """Count a convolution: each value of output (empty if unknown), or input if transposed, times its weights."""
    if len(inputs) == len(weight) - 1:  # without a batch
        inputs, output = [1, *inputs], [1, *output] if output else []
    if not _is_convolution(inputs, weight, output, transposed):
        return UNKNOWN
    points = inputs[2:] if transposed else output[2:]
    return _limit(2 * inputs[0] * prod(points) * prod(weight))


def _is_convolution(inputs: Sizes, weight: Sizes, output: Sizes, transposed: bool) -> bool:
    if len(inputs) != len(weight) or not _FEWEST <= len(weight) <= _MOST or 0 in weight[:2]:
        return False
    if transposed:
        return inputs[1] == weight[0]
    same_rank = len(output) == len(inputs)
    return same_rank and output[:2] == [inputs[0], weight[0]] and inputs[1] % weight[1] == 0


def count_convolution_backward(
    gradient: Sizes, inputs: Sizes, weight: Sizes, gradients: int, transposed: bool | None
) -> float:
    """Count the FLOP of so many of a convolution's gradients (0 if unknown); ``transposed`` is None if unknown."""
    counts = {
        count_convolution(inputs, weight, gradient, is_transposed)
        for is_transposed in ((False, True) if transposed is None else (transposed,))
        if _is_convolution(inputs, weight, gradient, is_transposed)
        and (not is_transposed or (len(gradient) == len(weight) and gradient[1] % weight[1] == 0))
    }
    return _limit(gradients * counts.pop()) if len(counts) == 1 and gradients else UNKNOWN


def find_ops(ranges: pd.DataFrame, names: Container[str]) -> Bools:
    """Find the ranges that are ops of these names, whose in-place forms end in an underscore."""
    is_named = find_named(ranges["name"], lambda name: name.removesuffix("_") in names)
    return np.asarray(is_named & (ranges["domain"] == OPS_DOMAIN).to_numpy())


def count_ops(hierarchy: Hierarchy) -> tuple[Ints, Floats] | None:
    """Find for each range the counting op that it is or lies in, or ``NONE``, and its FLOP; None without sizes.

    FLOP of an op that counts are unknown where its sizes do not suffice; of others 0.
    """
    sizes = hierarchy.ranges["sizes"].cat
    none = sizes.categories.get_indexer(pd.Index([""], dtype=sizes.categories.dtype))[0]
    if not (sizes.codes.to_numpy() != none).any():
        return None
    counting = find_ops(hierarchy.ranges, {*WHOLE, *CONVOLUTIONS, CONVOLUTION_BACKWARD})
    wraps = find_ops(hierarchy.ranges, WRAPPERS)
    wraps &= ~_find_holders(hierarchy, counting | find_ops(hierarchy.ranges, NOT_COUNTED))
    owner = _find_outermost(hierarchy, counting | wraps)
    flop = np.zeros(len(owner))
    rows = np.flatnonzero(owner == np.arange(len(owner)))
    flop[rows] = _count_by_sizes(hierarchy.ranges.iloc[rows])
    count_convolutions(hierarchy, owner, flop)
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


def _count_by_sizes(ops: pd.DataFrame) -> Floats:
    """Count FLOP of ops by the sizes of their arguments; unknown for others. Computes each name and sizes once."""
    op_formulas = {**WHOLE, **WRAPPERS}
    key = ops["name"].cat.codes.to_numpy(np.int64) << 32 | ops["sizes"].cat.codes.to_numpy(np.int64)
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    flop = np.full(len(first), UNKNOWN)
    for number, (name, sizes) in enumerate(ops[["name", "sizes"]].iloc[first].itertuples(index=False)):
        if sizes and (formula := op_formulas.get(name.removesuffix("_"))):
            flop[number] = count_flop(formula, json.loads(sizes))
    return flop[which]


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


def count_convolutions(hierarchy: Hierarchy, owner: Ints, flop: Floats) -> None:
    """Set the FLOP of all convolutions that count; ``owner`` is the op that counts for each range."""
    is_own = owner == np.arange(len(owner))
    is_forward = find_ops(hierarchy.ranges, CONVOLUTIONS) & (owner >= 0)
    forward = np.flatnonzero(is_forward & is_own)
    backward = np.flatnonzero(find_ops(hierarchy.ranges, (CONVOLUTION_BACKWARD,)) & is_own)
    if not len(forward) + len(backward):
        return
    sizes, outputs = (hierarchy.ranges[name].array for name in ("sizes", "output_sizes"))
    inside = np.flatnonzero(is_forward)
    transposed = np.zeros(len(owner), dtype=bool)
    transposed[owner[inside[find_named(hierarchy.ranges["name"], lambda name: _TRANSPOSED in name)[inside]]]] = True
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
