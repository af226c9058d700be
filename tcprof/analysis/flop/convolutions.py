"""FLOP of convolutions: what they make is in none of their arguments.

It is known from the gradient that the backward pass had for it, or from the op that took it. Which gradients the
backward pass computed is known from the ops that took these: autograd gives every gradient that it computes to the node
of its tensor, which is an op, before the pass ends. Where its end was not recorded, one that no op took is not known.
"""

import json
from collections.abc import Container

import numpy as np
import pandas as pd

from tcprof.analysis.flop.formulas import (
    CONVOLUTION_BACKWARD,
    CONVOLUTIONS,
    Sizes,
    count_convolution,
    count_convolution_backward,
)
from tcprof.analysis.modules.backward import NONE, Backward, trace_back
from tcprof.analysis.ranges.projection import Hierarchy
from tcprof.annotate.steps import BACKWARD, DOMAIN
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import OPS_DOMAIN

_GRADIENTS = 2  # of the input and of the weight; that of the bias is no product
_TRANSPOSED = "transpose"  # in the names of transposed ones, or of what these call


class Names:
    """Names of ranges, of ops in their plain form."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        ranges = hierarchy.ranges
        self._is_op: Bools = (ranges["domain"] == OPS_DOMAIN).to_numpy()
        self._codes = ranges["name"].cat.codes.to_numpy()
        self._plain = [name.removesuffix("_") for name in ranges["name"].cat.categories]

    def among(self, names: Container[str]) -> Bools:
        """Which ranges are ops of these names."""
        return self._spread([name in names for name in self._plain]) & self._is_op

    def hold(self, part: str) -> Bools:
        """Which ranges have names with a part in them."""
        return self._spread([part in name for name in self._plain])

    def of(self, row: int) -> str:
        """The name of a range."""
        name: str = self._plain[self._codes[row]]
        return name

    def _spread(self, of_names: list[bool]) -> Bools:
        found: Bools = np.array(of_names, dtype=bool)[self._codes]
        return found


def count_convolutions(hierarchy: Hierarchy, names: Names, owner: Ints, flop: Floats) -> None:
    """Set the FLOP of all convolutions that count; ``owner`` is the op that counts for each range."""
    is_own = owner == np.arange(len(owner))
    is_forward = names.among(CONVOLUTIONS) & (owner >= 0)
    forward = np.flatnonzero(is_forward & is_own)
    backward = np.flatnonzero(names.among((CONVOLUTION_BACKWARD,)) & is_own)
    if not len(forward) + len(backward):
        return
    sizes, outputs = (_Texts(hierarchy.ranges[name]) for name in ("sizes", "output_sizes"))
    inside = np.flatnonzero(is_forward)
    transposed = np.zeros(len(owner), dtype=bool)
    transposed[owner[inside[names.hold(_TRANSPOSED)[inside]]]] = True
    made: dict[int, Sizes] = {}
    for row in inside[outputs.are_known(inside)].tolist():
        if outputs.of(row)[0]:
            made.setdefault(int(owner[row]), outputs.of(row)[0])
    back = trace_back(hierarchy)
    maker = np.append(owner, -1)[back.forward]  # -1, for none, is the last
    is_whole = _is_pass_whole(hierarchy, back, backward)
    for row, is_known_to_end in zip(backward.tolist(), is_whole.tolist(), strict=True):
        op = int(maker[row])
        is_known = op >= 0 and bool(is_forward[op])
        gradient, inputs, weight = [*sizes.of(row), [], [], []][:3]
        gradients = sum(bool(each) for each in outputs.of(row))
        gradients = gradients if is_known_to_end or gradients == _GRADIENTS else 0
        is_transposed = bool(transposed[op]) if is_known else None
        flop[row] = count_convolution_backward(gradient, inputs, weight, gradients, is_transposed)
        if is_known and gradient:
            made[op] = gradient
    for row in forward.tolist():
        inputs, weight = [*sizes.of(row), [], []][:2]
        flop[row] = count_convolution(inputs, weight, made.get(row, []), bool(transposed[row]))


def _is_pass_whole(hierarchy: Hierarchy, back: Backward, rows: Ints) -> Bools:
    """Whether the end of the backward pass that each of some ranges lies in was recorded."""
    ranges = hierarchy.ranges
    process, start, end = (ranges[name].to_numpy() for name in ("process", "start_ns", "end_ns"))
    is_op = (ranges["domain"] == OPS_DOMAIN).to_numpy()
    is_ours = ((ranges["domain"] == DOMAIN) & (ranges["name"] == BACKWARD)).to_numpy() & (end < end.max(initial=0))
    later = np.where(is_op & (back.engine == NONE), start, np.where(is_ours, end, np.iinfo(np.int64).min))
    later[rows] = np.iinfo(np.int64).min
    last = pd.Series(later).groupby(process).max()
    found: Bools = last[process[rows]].to_numpy() >= end[rows]
    return found


class _Texts:
    """Sizes of ranges, each text read once."""

    def __init__(self, column: pd.Series) -> None:
        self._codes = column.cat.codes.to_numpy()
        self._texts = column.cat.categories.tolist()
        self._read: dict[int, list[Sizes]] = {}

    def are_known(self, rows: Ints) -> Bools:
        """Which of these ranges have sizes."""
        found: Bools = np.array([bool(text) for text in self._texts], dtype=bool)[self._codes[rows]]
        return found

    def of(self, row: int) -> list[Sizes]:
        """The sizes of a range; none where they are not known."""
        code = int(self._codes[row])
        if code not in self._read:
            self._read[code] = json.loads(self._texts[code]) if self._texts[code] else []
        return self._read[code]
