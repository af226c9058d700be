"""The types of arrays, as every layer declares them; and what keeps the memory of large recordings small."""

import ctypes
import sys
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]


def broadcast_if_constant(values: Ints) -> Ints:
    """The same numbers; where all are one, as the number of the only GPU or process, without the memory of many."""
    return np.broadcast_to(values[0], values.shape) if len(values) and (values == values[0]).all() else values


def return_freed_memory() -> None:
    """Give freed memory back to the system: glibc keeps what several threads freed, often hundreds of MB."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None  # musl has none
    if trim is not None:
        trim(0)
