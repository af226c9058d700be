"""Names of ranges that PyTorch's ``emit_nvtx`` opens for its ops: what is a number in them is no part of the name."""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

# "aten::mm, seq = 8051, op_id = 80985, sizes = [[8, 64], [64, 64]]", as torch/csrc/profiler/util.cpp writes it.
_NUMBERS = re.compile(
    r"(?=, (?:seq|op_id|sizes) = )"
    r"(?:, seq = (?P<sequence>\d{1,15}))?"
    r"(?:, op_id = \d{1,20})?"
    r"(?:, sizes = \[[][\d, ]*\])?"
    r"(?:, input_op_ids = [][()\d, ]*)?\Z"
)


@dataclass(frozen=True)
class Ops:
    """What the names of ranges say of ops.

    Attributes:
        name: The ranges' names; of an op without its numbers.
        is_op: Whether a range is an op's.
        sequence: Number of the autograd node that an op made or ran; unknown where it has none.
    """

    name: pd.Categorical
    is_op: npt.NDArray[np.bool_]
    sequence: Floats


def split_names(names: pd.Categorical) -> Ops:
    """Take the names of ops apart.

    Args:
        names: The ranges' names, as recorded.
    """
    recorded = names.categories.tolist()
    found = [_NUMBERS.search(name) if " = " in name else None for name in recorded]
    if not any(found):
        return Ops(names, np.zeros(len(names), dtype=bool), np.full(len(names), np.nan))
    stems = [match.string[: match.start()] if match else name for match, name in zip(found, recorded, strict=True)]
    numbers = [float(match["sequence"] or "nan") if match else np.nan for match in found]
    code_of_stem, unique = pd.factorize(np.array(stems, dtype=object))
    codes = names.codes
    return Ops(
        name=pd.Categorical.from_codes(code_of_stem[codes], unique),
        is_op=np.array([match is not None for match in found])[codes],
        sequence=np.array(numbers)[codes],
    )
