"""The covariance of the samples, and products with its inverse.

The errors of two neighbouring samples are one error with opposite signs where their border cuts a launch, so that the
covariance is tridiagonal (Aitken, On least squares and linear combinations of observations, 1935). What its inverse has
in a row and a column left of the diagonal is the diagonal's, times a factor for each row from the column's to this one
(Meurant, A review on the inverse of symmetric tridiagonal and block tridiagonal matrices, 1992): sums over it follow
row after row from those of the row before.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpttrf, dpttrs, dtbtrs
from scipy.sparse import csr_array

from tcprof.analysis.kernels.design import make_sparse
from tcprof.arrays import Bools, Floats, Ints

NOTHING = 1e-18  # of the diagonal: less makes no difference to a sum of doubles

_QUANTILE, _OF_SQUARE = 0.8, 1.6424  # of chi-squared with one degree of freedom


@dataclass(frozen=True)
class Noise:
    """The covariance of the samples."""

    diagonal: Floats  # its diagonal
    # For each row the variance of the border that it shares with the row before; 0 where they share none
    coupling: Floats

    def weigh(self, columns: Floats) -> Floats:
        """Multiply columns by the inverse of the covariance."""
        pivot, below = self._factored
        if len(pivot) < 2:  # LAPACK refuses a matrix of one
            return np.asarray((columns.T / pivot).T)
        return np.asarray(dpttrs(pivot, below, columns)[0])

    def half_product(self, columns: csr_array, alike: Bools, is_dense: bool) -> csr_array | Floats:
        """Compute half of columns, inverse and columns, see ``Inverse.half_product``; as a dense matrix if asked to."""
        if not is_dense:
            return self.invert().half_product(columns, alike)
        pivot, below = self._factored
        white = (_accumulate(np.append(0, -below), columns.toarray(order="F")).T / np.sqrt(pivot)).T
        return np.asarray(white.T @ white / 2)

    def invert(self) -> "Inverse":
        """Prepare the inverse."""
        pivot, below = self._factored
        factor = np.append(np.zeros(len(pivot) - len(below)), -below)
        # The diagonal follows from the last row on.
        return Inverse(_accumulate(np.append(0, factor[:0:-1] ** 2), 1 / pivot[::-1])[::-1], factor)

    def border_misfit(self, residual: Floats, borders: Floats) -> float:
        """Divide the residual at borders by what this covariance expects of it.

        By a quantile, so that a few launches that do other work than their class do not count as borders that are off.
        """
        expected = self.invert().diagonal
        ratio, weight = self.weigh(residual) ** 2 / expected, borders * expected
        order = np.argsort(ratio)
        reached = np.cumsum(weight[order])
        if not len(reached) or reached[-1] <= 0:
            return 1.0
        return float(ratio[order][np.searchsorted(reached, reached[-1] * _QUANTILE)]) / _OF_SQUARE

    @cached_property
    def _factored(self) -> tuple[Floats, Floats]:
        """LDL': D, and what L has below its diagonal of ones."""
        if len(self.diagonal) < 2:
            return self.diagonal, self.diagonal[:0]
        pivot, below, _ = dpttrf(self.diagonal, -self.coupling[1:])
        return pivot, below


@dataclass(frozen=True)
class Inverse:
    """The inverse of the covariance."""

    diagonal: Floats  # its diagonal
    # Left of the diagonal, a row divided by its diagonal is this times the row before divided by its own
    factor: Floats

    def half_product(self, columns: csr_array, alike: Bools) -> csr_array:
        """Return the factor whose product with its transpose is that of columns, inverse and columns.

        A run of rows in the same columns, as those under one part of a long launch, is summed first, and enters as one
        row what goes over all pairs of rows until nothing is left between them.
        """
        turned = columns.T.tocsr()  # a product of two forms would turn the second one, in more time than both take
        first = np.flatnonzero(~alike)
        last = np.append(first[1:], len(alike)) - 1
        between = _join(self.factor[first], np.multiply.reduceat(self.factor, first), last)
        if len(first) == len(alike):  # each row is a run of its own
            of_others = scale_rows(self.factor * self.diagonal, between) @ columns
            return turned @ (of_others + scale_rows(self.diagonal / 2, columns))
        since = np.where(alike, self.factor, 0.0)
        reaching = _sum_alike(columns, alike, since)
        within = _like(columns, reaching - columns.data / 2)
        taking = _accumulate(since, np.where(alike, 0.0, self.factor)) * self.diagonal
        taken = _sums_of_rows(taking, first) @ columns
        return turned @ scale_rows(self.diagonal, within) + taken.T.tocsr() @ (between @ _like(columns, reaching))


def _sum_alike(columns: csr_array, alike: Bools, factor: Floats) -> Floats:
    """Add to the entries of each row what is left of those before it in its run."""
    values: Floats = columns.data.copy()
    count = np.diff(columns.indptr)
    in_run = alike | np.append(alike[1:], False)
    rows, entry = np.flatnonzero(in_run), np.flatnonzero(np.repeat(in_run, count))
    row = np.repeat(np.arange(len(rows)), count[rows])
    column = entry - columns.indptr[rows][row]
    side_by_side = np.zeros((len(rows), int(count[rows].max())), order="F")
    side_by_side[row, column] = values[entry]
    values[entry] = _accumulate(factor[rows], side_by_side)[row, column]
    return values


def _accumulate(factor: Floats, values: Floats) -> Floats:
    """Add to each row what is left of those before it, a factor of the row before at each step."""
    banded = np.vstack([np.ones(len(factor)), -np.append(factor[1:], 0)])
    return np.asarray(dtbtrs(banded, values, uplo="L", diag="U")[0])


def _join(tied: Floats, through: Floats, last: Ints) -> csr_array:
    """Pass what the last row of each run hands on to later runs, until nothing is left.

    Args:
        tied: Of each run, the factor of its first row: 0 where the run before hands it nothing.
        through: What each run hands on of what it is handed.
    """
    run = np.flatnonzero(tied)
    value, parts = np.ones(len(run)), [(run[:0], run[:0], tied[:0])]
    while len(run):
        before = run - len(parts)
        parts.append((run, last[before], value))
        value = value * through[before]
        is_large = value > NOTHING
        run, value = run[is_large], value[is_large]
    run, row, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    return make_sparse(value, run, row, (len(tied), int(last[-1]) + 1))


def scale_rows(factors: Floats, rows: csr_array) -> csr_array:
    """Multiply each row by a factor."""
    return _like(rows, rows.data * np.repeat(factors, np.diff(rows.indptr)))


def some_rows(rows: csr_array, begin: int, end: int) -> csr_array:
    """Neighbouring rows, in the same memory: scipy copies them."""
    ends = rows.indptr[begin : end + 1]
    some = slice(ends[0], ends[-1])
    return csr_array((rows.data[some], rows.indices[some], ends - ends[0]), shape=(end - begin, rows.shape[1]))


def _sums_of_rows(weight: Floats, first: Ints) -> csr_array:
    """Make the matrix whose product sums neighbouring rows, each times a weight."""
    return csr_array((weight, np.arange(len(weight)), np.append(first, len(weight))))


def _like(columns: csr_array, values: Floats) -> csr_array:
    """Other values in the same places."""
    return csr_array((values, columns.indices, columns.indptr), shape=columns.shape)
