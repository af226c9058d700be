"""Generalized least squares with a tridiagonal covariance, a smoothing prior, and no value below 0.

The errors of two neighbouring samples are one error with opposite signs where their border cuts a launch, so that the
covariance of the samples is tridiagonal (Aitken, On least squares and linear combinations of observations, 1935).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, solve_triangular, solveh_banded
from scipy.optimize import lsq_linear, nnls

from tcprof.analysis.kernels.design import Design

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SHAPE, SHAPE_FLOOR = 0.3, 0.005  # how much neighbouring parts differ: of the class's rate, and of the highest rate
RIDGE = 1e-10  # of a normal matrix scaled to a diagonal of 1: keeps it invertible
NEGLIGIBLE = 1e-5  # of the largest count per ns: less is below what the ridge resolves, and differs between CPUs
SAMPLES_AT_ONCE = 256


@dataclass(frozen=True)
class Noise:
    """The covariance of the samples.

    Attributes:
        diagonal: Its diagonal.
        coupling: For each row the variance of the border that it shares with the row before; 0 where they share none.
    """

    diagonal: Floats
    coupling: Floats

    def weigh(self, columns: Floats, begin: int = 0, end: int | None = None) -> Floats:
        """The inverse of the covariance of the rows from ``begin`` to ``end``, times columns of that many rows."""
        diagonal, coupling = self.diagonal[begin:end], self.coupling[begin:end]
        if len(diagonal) < 2:  # LAPACK refuses a matrix of one
            return np.asarray((columns.T / diagonal).T)
        banded = np.vstack([-np.append(0, coupling[1:]), diagonal])
        return np.asarray(solveh_banded(banded, columns, check_finite=False))


@dataclass(frozen=True)
class Common:
    """Errors that rows have in common.

    Attributes:
        group: Group of each row, from 0 on.
        error: Standard error of the row that all rows of the group share.
    """

    group: Ints
    error: Floats

    def columns(self, begin: int, end: int) -> Floats:
        """The errors of rows from ``begin`` to ``end``, a column for each group."""
        found = np.zeros((end - begin, int(self.group.max(initial=-1)) + 1))
        found[np.arange(end - begin), self.group[begin:end]] = self.error[begin:end]
        return found


def normal_equations(
    design: Design, targets: Floats, noise: Noise, common: Common | None = None
) -> tuple[Floats, Floats]:
    """The normal equations, summed over runs of samples.

    Runs end between stretches, where errors do not cross; stretches longer than a run are cut, which only loses what
    one border tells. So the cost is linear in the samples.

    Args:
        design: See ``tcprof.analysis.kernels.design.build_design``.
        targets: Columns of right-hand sides, before they are weighted.
        noise: The rows' covariance.
        common: Errors that become more columns.
    """
    unknowns, groups = design.shares.shape[1], 0 if common is None else int(common.group.max(initial=-1)) + 1
    normal, right = np.zeros((unknowns, unknowns)), np.zeros((unknowns, targets.shape[1] + groups))
    for begin, end in _runs(design.stretch):
        block = design.shares[begin:end]
        used = np.unique(block.indices)
        dense = block[:, used].toarray()
        of_run = [targets[begin:end]] if common is None else [targets[begin:end], common.columns(begin, end)]
        weighted = noise.weigh(np.column_stack([dense, *of_run]), begin, end)
        normal[np.ix_(used, used)] += dense.T @ weighted[:, : len(used)]
        right[used] += dense.T @ weighted[:, len(used) :]
    return normal, right


def _runs(stretch: Ints) -> list[tuple[int, int]]:
    """Rows from and to, whole stretches at a time where they fit."""
    ends = np.append(np.flatnonzero(np.diff(stretch)) + 1, len(stretch))
    runs, begin, reach = [], 0, 0
    for end in ends.tolist():
        if end - begin > SAMPLES_AT_ONCE and reach > begin:
            runs.append((begin, reach))
            begin = reach
        while end - begin > SAMPLES_AT_ONCE:
            runs.append((begin, begin + SAMPLES_AT_ONCE))
            begin += SAMPLES_AT_ONCE
        reach = end
    if len(stretch) > begin:
        runs.append((begin, len(stretch)))
    return runs


def smoothing_prior(design: Design, rate: Floats, highest: float, ceiling: float) -> Floats:
    """The precision of what is known before: neighbouring parts are alike, and no rate is far above the ceiling.

    Args:
        design: See ``build_design``.
        rate: Count per ns of each class.
        highest: The highest rate sampled.
        ceiling: The most that can be counted in a ns.
    """
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
    """A positive definite matrix, factored once.

    Args:
        matrix: The normal matrix with the prior.
    """

    def __init__(self, matrix: Floats) -> None:
        self._scale = np.sqrt(np.diag(matrix))
        scaled = matrix / np.outer(self._scale, self._scale)
        self._lower = np.tril(cho_factor(scaled + RIDGE * np.eye(len(scaled)), lower=True)[0])

    def solve(self, right: Floats) -> Floats:
        """The inverse times columns."""
        columns = (right.T / self._scale).T
        return np.asarray((cho_solve((self._lower, True), columns).T / self._scale).T)

    def minimize(self, right: Floats, negligible: Floats) -> Floats:
        """The minimum of x'Px/2 - r'x over x >= 0 (Lawson and Hanson, Solving Least Squares Problems, 1974).

        Args:
            right: r.
            negligible: What is below this is 0.
        """
        wanted = solve_triangular(self._lower, right / self._scale, lower=True)
        try:
            found: Floats = nnls(self._lower.T, wanted, maxiter=30 * len(right))[0]
        except RuntimeError:  # its active set cycles on rare, nearly singular systems
            found = lsq_linear(self._lower.T, wanted, bounds=(0, np.inf)).x
        found = found / self._scale
        return np.where(found > negligible, found, 0.0)
