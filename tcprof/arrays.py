"""The types of arrays, as every layer declares them; and arrays that take no memory."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]


def broadcast_if_constant(values: Ints) -> Ints:
    """The same numbers; where all are one, as the number of the only GPU or process, without the memory of many."""
    return np.broadcast_to(values[0], values.shape) if len(values) and (values == values[0]).all() else values
