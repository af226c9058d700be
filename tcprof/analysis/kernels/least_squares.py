"""Generalized least squares with a smoothing prior, and no value below 0; scipy has none for correlated rows."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, hstack

from tcprof.analysis.intervals import run_starts
from tcprof.analysis.kernels.constraints import minimize_nonnegative
from tcprof.analysis.kernels.design import Design, alike_rows, begin_pieces
from tcprof.analysis.kernels.noise import Noise, some_rows
from tcprof.arrays import Bools, Floats, mapping_of

SHAPE, SHAPE_FLOOR = 0.3, 0.005  # how much neighbouring parts differ: of the class's rate, and of the highest rate
RIDGE = 1e-10  # of a normal matrix scaled to a diagonal of 1: keeps it invertible
NEGLIGIBLE = 1e-5  # of the largest count per ns: less is below what the ridge resolves, and differs between CPUs
LONGEST = 256  # samples of a stretch
SAMPLES_AT_ONCE, DENSE_AT_ONCE = 16_384, 2048
DENSE = 0.1  # of all entries: products of matrices with more are faster as dense ones


def normal_equations(
    design: Design, targets: Floats, noise: Noise, common: csr_array | None = None
) -> tuple[Floats, Floats, Floats]:
    """Compute the normal equations, summed over runs of samples.

    A sample has few parts in it, and errors do not cross from one stretch to another, so all is sparse: time is linear
    in the samples, whose neighbours with the same parts are as one. Stretches of more than ``LONGEST`` samples are cut,
    which only loses what one border tells.

    Args:
        targets: Columns of right-hand sides, before they are weighted.
        common: Errors that rows have in common, a column each; these become more columns.

    Returns:
        The normal matrix, the right-hand sides, and the normal matrix of the common errors.
    """
    alike = design.alike if common is None else design.alike & alike_rows(common)
    begins = np.flatnonzero(begin_pieces(design.stretch, LONGEST))
    apart = Noise(noise.diagonal, noise.coupling.copy())
    apart.coupling[begins] = 0
    alike = alike & (apart.coupling > 0)
    is_dense = bool(design.shares.nnz > DENSE * np.prod(design.shares.shape))
    at_once = DENSE_AT_ONCE if is_dense else SAMPLES_AT_ONCE
    ends = np.append(begins[run_starts(begins // at_once)], len(targets))

    def sum_run(begin: int, end: int) -> csr_array | Floats:
        some = slice(begin, end)
        columns = some_rows(design.shares, begin, end)
        if common is not None:  # some at a time: both together are as large as the design again
            columns = hstack([columns, some_rows(common, begin, end)], format="csr")
        return Noise(apart.diagonal[some], apart.coupling[some]).half_product(columns, alike[some], is_dense)

    with mapping_of(len(ends) - 1) as run_all:
        half = sum(run_all(sum_run, ends[:-1].tolist(), ends[1:].tolist()))
    half = half if is_dense else half.toarray()
    normal, unknowns = half + half.T, design.shares.shape[1]
    right = design.shares.T @ apart.weigh(targets)
    right = np.hstack([right, normal[:unknowns, unknowns:]])
    return normal[:unknowns, :unknowns], right, normal[unknowns:, unknowns:]


def smoothing_prior(design: Design, rate: Floats, highest: float, ceiling: float) -> Floats:
    """Compute the precision of prior knowledge: neighbouring parts are alike, and no rate is far above the ceiling."""
    first = np.flatnonzero(design.part_kind[1:] == design.part_kind[:-1])
    deviation = SHAPE * rate[design.part_kind[first]] + SHAPE_FLOOR * highest
    weight = 1 / (design.part_ns[first] * deviation) ** 2
    length = np.bincount(design.part_kind, design.part_ns)[design.part_kind]
    prior = np.diag(1 / (length * ceiling) ** 2)
    np.add.at(prior, (first, first), weight)
    np.add.at(prior, (first + 1, first + 1), weight)
    np.add.at(prior, (first, first + 1), -weight)
    np.add.at(prior, (first + 1, first), -weight)
    return prior


class Precision:
    """A positive definite matrix, factored once."""

    def __init__(self, matrix: Floats) -> None:
        self._scale = np.sqrt(np.diag(matrix))
        scaled = matrix / np.outer(self._scale, self._scale)
        self._scaled = scaled + RIDGE * np.eye(len(scaled))
        self._factor = cho_factor(self._scaled, lower=True, check_finite=False)

    def solve(self, right: Floats) -> Floats:
        """Multiply columns by the inverse."""
        columns = (right.T / self._scale).T
        return np.asarray((cho_solve(self._factor, columns, check_finite=False).T / self._scale).T)

    def minimize(self, right: Floats, negligible: Floats, positive: Bools) -> Floats:
        """Minimize x'Px/2 - r'x over x >= 0."""
        solution = minimize_nonnegative(self._scaled, right / self._scale, positive) / self._scale
        return np.where(solution > negligible, solution, 0.0)
