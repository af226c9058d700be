"""What a kernel is bound by: the one place where rules ask that."""

import re

import pandas as pd

_CONVOLUTION = re.compile(r"conv|[fbdw](?:prop|grad)|winograd|implicit_|nhwc|nchw", re.IGNORECASE)


def what_bounds(kernels: pd.DataFrame) -> "pd.Series[str]":
    """What each kernel is bound by; empty where that is not known.

    Args:
        kernels: See ``tcprof.frames.KERNELS``.
    """
    return kernels["bound"].astype(str)


def is_convolution(name: str) -> bool:
    """Whether a product is a convolution, as its name tells."""
    return _CONVOLUTION.search(name) is not None
