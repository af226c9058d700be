"""Generalized least squares with a tridiagonal covariance, a smoothing prior, and no value below 0.

The errors of two neighbouring samples are one error with opposite signs where their border cuts a launch, so that the
covariance of the samples is tridiagonal (Aitken, On least squares and linear combinations of observations, 1935).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solveh_banded
from scipy.linalg.lapack import dpttrf
from scipy.sparse import csr_array

from tcprof.analysis.intervals import run_starts
from tcprof.analysis.kernels.cholesky import factor, solve
from tcprof.analysis.kernels.design import Design, make_sparse
from tcprof.analysis.kernels.nonnegative import minimize_nonnegative
from tcprof.analysis.kernels.threads import mapping_of
from tcprof.arrays import Floats, Ints

SHAPE, SHAPE_FLOOR = 0.3, 0.005  # how much neighbouring parts differ: of the class's rate, and of the highest rate
RIDGE = 1e-10  # of a normal matrix scaled to a diagonal of 1: keeps it invertible
NEGLIGIBLE = 1e-5  # of the largest count per ns: less is below what the ridge resolves, and differs between CPUs
LONGEST = 256  # samples of a stretch
SAMPLES_AT_ONCE = 16_384
NOTHING = 1e-18  # of the diagonal: less makes no difference to a sum of doubles


@dataclass(frozen=True)
class Noise:
    """The covariance of the samples.

    Attributes:
        diagonal: Its diagonal.
        coupling: For each row the variance of the border that it shares with the row before; 0 where they share none.
    """

    diagonal: Floats
    coupling: Floats

    def weigh(self, columns: Floats) -> Floats:
        """The inverse of the covariance, times columns."""
        if len(self.diagonal) < 2:  # LAPACK refuses a matrix of one
            return np.asarray((columns.T / self.diagonal).T)
        banded = np.vstack([-np.append(0, self.coupling[1:]), self.diagonal])
        return np.asarray(solveh_banded(banded, columns, check_finite=False))

    def half_inverse(self, begin: int, end: int) -> csr_array:
        """What has no entry above its diagonal, and with its transpose is the inverse covariance of some rows.

        What falls off to nothing away from the diagonal is left out.
        """
        rows = np.arange(end - begin)
        if len(rows) < 2:  # LAPACK refuses a matrix of one
            return make_sparse(0.5 / self.diagonal[begin:end], rows, rows, (len(rows), len(rows)))
        pivot, below, _ = dpttrf(self.diagonal[begin:end], -self.coupling[begin + 1 : end])
        # The covariance is LDL', and what L has below its diagonal of ones gives the inverse of L, column by column.
        factor, found = -np.append(0, below), [(rows, rows, np.ones(len(rows)))]
        row, value = rows, np.ones(len(rows))
        while len(row):
            column = row - len(found)
            value = value * factor[column + 1]
            kept = np.abs(value) > NOTHING
            row, value = row[kept], value[kept]
            found.append((row, column[kept], value))
        row, column, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
        diagonal = np.bincount(column, value**2 / pivot[row])
        value *= diagonal[row]
        value[: len(rows)] /= 2  # the diagonal
        return make_sparse(value, row, column, (len(rows), len(rows)))


def normal_equations(
    design: Design, targets: Floats, noise: Noise, common: csr_array | None = None
) -> tuple[Floats, Floats]:
    """The normal equations, summed over runs of samples.

    A sample has few parts in it, and errors do not cross from one stretch to another, so all is sparse: time is linear
    in the samples, and memory does not grow with them. Stretches of more than ``LONGEST`` samples are cut, which only
    loses what one border tells.

    Args:
        design: See ``tcprof.analysis.kernels.design.build_design``.
        targets: Columns of right-hand sides, before they are weighted.
        noise: The rows' covariance.
        common: Errors that rows have in common, a column each; these become more columns.
    """
    unknowns = design.shares.shape[1]
    normal, of_common = np.zeros((unknowns, unknowns)), []
    begins = _uncoupled(design.stretch)
    apart = Noise(noise.diagonal, noise.coupling.copy())
    apart.coupling[begins] = 0
    ends = np.append(begins[run_starts(begins // SAMPLES_AT_ONCE)], len(targets))

    def sum_run(begin: int, end: int) -> tuple[csr_array, csr_array | None]:
        # With n parts under a sample and b samples tied to each this is n²b products; the square of what makes the
        # errors independent would be n²b².
        rows, half = design.shares[begin:end], apart.half_inverse(begin, end)
        weighted = half @ rows
        turned = rows.T.tocsr()  # a product of two forms would turn the second one, in more time than both take
        if common is None:
            return turned @ weighted, None
        others = common[begin:end]
        return turned @ weighted, turned @ (half @ others) + weighted.T @ others

    with mapping_of(len(ends) - 1) as run_all:
        for of_parts, others in run_all(sum_run, ends[:-1].tolist(), ends[1:].tolist()):
            normal += of_parts.toarray()
            if others is not None:
                of_common.append(others.toarray())
    right = design.shares.T @ apart.weigh(targets)
    return normal + normal.T, np.hstack([right, *([sum(of_common)] if of_common else [])])


def _uncoupled(stretch: Ints) -> Ints:
    """The first rows of all stretches, and those at which long ones are cut."""
    first = run_starts(stretch)
    place = np.arange(len(stretch)) - np.repeat(first, np.diff(np.append(first, len(stretch))))
    return np.flatnonzero(place % LONGEST == 0)


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
        self._scaled = scaled + RIDGE * np.eye(len(scaled))
        self._factor = factor(self._scaled)

    def solve(self, right: Floats) -> Floats:
        """The inverse times columns."""
        columns = (right.T / self._scale).T
        return np.asarray((solve(self._factor, columns).T / self._scale).T)

    def minimize(self, right: Floats, negligible: Floats) -> Floats:
        """The minimum of x'Px/2 - r'x over x >= 0.

        Args:
            right: r.
            negligible: What is below this is 0.
        """
        found = minimize_nonnegative(self._scaled, right / self._scale) / self._scale
        return np.where(found > negligible, found, 0.0)
