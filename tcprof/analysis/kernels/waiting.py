"""How much of the time that they wait launches do count in, estimated beside what they count.

A dependent launch is placed while the one before it still runs (programmatic dependent launch), and most wait for its
end before they do what they are for; but nobody has to. So each class has a share a of its counts that is spread as if
it began when it was recorded to: a random effect (Robinson, That BLUP is a good thing, 1991), whose error enters
the intervals as far as the samples do not tell it.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tcprof.analysis.kernels.design import Design
from tcprof.analysis.kernels.least_squares import Precision
from tcprof.arrays import Floats

SHARE = 0.5  # deviation of that share before samples are seen: none do, or all


class Correction(NamedTuple):
    """What follows for the fit.

    Attributes:
        parts: What is to be added to each part.
        rows: What is to be added to each row of what the fit predicts, beside that.
        right: Right-hand sides that stand for how far that may be off, in place of those before.
    """

    parts: Floats
    rows: Floats
    right: Floats


def find_ahead(design: Design, count: Floats) -> csr_array:
    """What rows would hold more if launches did not wait, in a column for each class that has such launches.

    Args:
        design: See ``build_design``.
        count: What a launch of each class counts.
    """
    ahead = design.ahead[:, np.unique(design.ahead.indices)] if design.ahead.nnz else design.ahead[:, :0]
    return csr_array(ahead.multiply(SHARE * count[np.unique(design.ahead.indices)][None, :]))


def correct(precision: Precision, right: Floats, normal: Floats, ahead: csr_array, weighted: Floats) -> Correction:
    """The best linear prediction of these shares, and what follows from it.

    Args:
        precision: That of the parts.
        right: Right-hand sides of ``ahead``, see ``normal_equations``.
        normal: The normal matrix of ``ahead``.
        ahead: See ``find_ahead``.
        weighted: What the fit leaves over, times the inverse of its covariance.
    """
    of_parts = precision.solve(right)
    told = np.eye(len(normal)) + normal - right.T @ of_parts
    share = np.linalg.solve(told, ahead.T @ weighted)
    return Correction(-of_parts @ share, ahead @ share, right @ np.linalg.cholesky(np.linalg.inv(told)))
