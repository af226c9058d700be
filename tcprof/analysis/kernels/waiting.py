"""How much of the time that they wait launches do count in, estimated beside what they count.

A dependent launch is placed while the one before it still runs (programmatic dependent launch), and most wait for its
end before they do what they are for; but nobody has to. So each class has a share a of its counts that is spread as if
it began when it was recorded to: a random effect (Robinson, That BLUP is a good thing, 1991), whose error enters
the intervals as far as the samples do not tell it.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tcprof.analysis.kernels.design import Design
from tcprof.analysis.kernels.least_squares import Precision
from tcprof.arrays import Floats, Ints

SHARE = 0.5  # deviation of that share before samples are seen: none do, or all


class Correction(NamedTuple):
    """What follows for the fit."""

    parts: Floats  # what is to be added to each part
    ahead: Floats  # how much of each column is to be added to what the fit predicts
    right: Floats  # right-hand sides that stand for how far that may be off, in place of those before
    share: Floats  # how much of what launches count may be spread from their recorded start on: for each column


def find_early(kernels: pd.DataFrame) -> Ints:
    """Measure by how many ns each launch was recorded to start before the one before it on its stream had ended.

    Kernels of a stream run one after the other, unless the later one is launched as dependent on the earlier one: then
    its blocks are placed as soon as there is room, and wait.
    """
    stream = kernels.groupby(["process", "stream"], sort=False).ngroup().to_numpy()
    start, end = kernels["start_ns"].to_numpy(), kernels["end_ns"].to_numpy()
    order = np.argsort(stream, kind="stable")
    before, after = order[:-1], order[1:]
    overlap = np.where(stream[before] == stream[after], end[before] - start[after], 0)
    early = np.zeros(len(start), dtype=np.int64)
    early[after] = np.where(end[after] > end[before], np.maximum(overlap, 0), 0)
    return early


def find_ahead(design: Design, usual: Floats) -> csr_array:
    """Compute what rows would hold more if launches did not wait, in a column for each class with such launches."""
    kinds = np.unique(design.ahead.indices)
    return csr_array(design.ahead[:, kinds].multiply(usual[kinds][None, :]))


def correct(precision: Precision, right: Floats, normal: Floats, ahead: csr_array, weighted: Floats) -> Correction:
    """Predict these shares, linearly, and what follows from them."""
    of_parts = precision.solve(right)
    covariance = np.linalg.inv(np.eye(len(normal)) + normal - right.T @ of_parts)
    share = covariance @ (ahead.T @ weighted)
    most = SHARE * np.hypot(share, np.sqrt(np.diag(covariance)))
    return Correction(-of_parts @ share, share, right @ np.linalg.cholesky(covariance), most)
