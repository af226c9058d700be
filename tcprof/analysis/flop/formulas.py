"""FLOP of an op by the sizes of its operands, with the conventions of ``torch.utils.flop_counter``.

A multiplication and the addition that follows are two FLOP. Matrix multiplications, convolutions and attention (as if
nothing were masked) count: all that Tensor Cores compute; an added bias, norms and element-wise functions do not.
"""

from collections.abc import Callable, Sequence
from math import prod

Sizes = Sequence[int]
Formula = Callable[[Sequence[Sizes]], float]

UNKNOWN = float("nan")
MOST_FLOP = 10**18  # of one op: a quarter of an hour at 10^15 FLOP/s
_MATRIX, _STACK, _ATTENTION = 2, 3, 4  # dimensions of a matrix, of a stack of matrices, of queries
_FEWEST, _MOST = 3, 5  # dimensions of a convolution's operands, with those of the batch and the channels


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
WRAPPERS: dict[str, Formula] = {
    "aten::linear": _take(_apply_linear, 0, 1),
    "aten::matmul": _take(_multiply_any, 0, 1),
}
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
