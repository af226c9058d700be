"""Positive definite systems by LAPACK itself: for matrices as small as those of a fit, scipy's checks take longest."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from tcprof.arrays import Floats


def factor(matrix: Floats) -> Floats:
    """The lower triangle L of A = LL'; what is above the diagonal means nothing.

    Args:
        matrix: A, of finite numbers.

    Raises:
        LinAlgError: It is not positive definite.
    """
    found, minor = dpotrf(matrix, lower=True, clean=False)
    if minor:
        raise np.linalg.LinAlgError(f"{minor}-th leading minor of the array is not positive definite")
    return np.asarray(found)


def solve(factored: Floats, right: Floats) -> Floats:
    """The inverse of A times a column, or columns.

    Args:
        factored: See ``factor``.
        right: The columns.
    """
    return np.asarray(dpotrs(factored, right, lower=True)[0])
