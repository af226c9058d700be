"""What the fit gives groups of launches, and how far that may be off."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tcprof.analysis.intervals import enumerate_keys
from tcprof.analysis.kernels.design import Launches, make_sparse
from tcprof.analysis.kernels.fit import Fit
from tcprof.analysis.kernels.launches import KernelFit
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.arrays import Floats, Ints

ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class _Held:
    """Which launches of one GPU groups hold."""

    group: Ints  # the groups that have some, ascending
    row: Ints  # for each launch the place of its group there
    weight: csr_array  # for each of these groups and each class the sum of the launches' weights
    # the same of what varies with the choice of the launches: (sum over all of the class - weight) * weight, launch by
    # launch
    chosen: csr_array

    @classmethod
    def of(cls, group: Ints, launches: Launches) -> "_Held":
        """Which launches of a GPU each of its groups holds."""
        found, row = enumerate_keys(group)
        shape = (len(found), int(launches.kind.max()) + 1)
        weight, squares = (make_sparse(launches.weight**power, row, launches.kind, shape) for power in (1, 2))
        whole = np.bincount(launches.kind, launches.weight)
        return cls(found, row, weight, squares.multiply(whole) - squares.multiply(weight))

    def half_of_sums(self, fit: Fit) -> Floats:
        """Half the interval of sums a'x over classes, from a'Ca and a'b.

        A sum over some of a class's launches also varies with the choice: by at most the variance of the class's mean
        for each launch, times the number of all its launches.
        """
        some = (self.weight[first : first + ROWS_AT_ONCE] for first in range(0, len(self.group), ROWS_AT_ONCE))
        of_classes = np.concatenate([rows.multiply(rows @ fit.covariance).sum(axis=1) for rows in some])
        variance = of_classes + self.chosen @ np.diag(fit.covariance)
        half = np.asarray(NORMAL_95 * np.sqrt(np.maximum(variance, 0)) + np.abs(self.weight @ fit.bias))
        return np.minimum(half, fit.bounds.half_of_sums(self.row, fit.per_launch)) if fit.bounds else half


class GroupSums:
    """Sums over groups of launches, each on one GPU. Which launches a group holds is found once for all fits."""

    def __init__(self, kernel_fit: KernelFit, group: Ints) -> None:
        self._fit, self._groups = kernel_fit, int(group.max(initial=-1)) + 1
        gpu = kernel_fit.kernel_instances["gpu"].to_numpy()
        self._held = {one: _Held.of(group[gpu == one], of_gpu.launches) for one, of_gpu in kernel_fit.gpus.items()}

    def active(self, metric: str) -> tuple[Floats, Floats]:
        """Each group's ns of full activity, and half the 95 % interval of that; unknown where there is no fit.

        The metric is ``tensor`` or one of ``tcprof.analysis.kernels.work.SHARES``.
        """
        value, half = self._sum({one: of_gpu.fits.get(metric) for one, of_gpu in self._fit.gpus.items()})
        if metric == "tensor":
            for one, of_gpu in self._fit.gpus.items():
                held = self._held[one]
                half[held.group] += np.bincount(held.row, of_gpu.doubt)
        return value, half

    def half_of_count(self, name: str) -> Floats:
        """Half the 95 % interval of what each group counts, by column of ``tcprof.frames.WORK``."""
        return self._sum({one: of_gpu.counts.get(name) for one, of_gpu in self._fit.gpus.items()})[1]

    def _sum(self, fits: Mapping[int, Fit | None]) -> tuple[Floats, Floats]:
        value, half = (np.full(self._groups, np.nan) for _ in range(2))
        for one, fit in fits.items():
            if fit is not None:
                held = self._held[one]
                value[held.group] = np.bincount(held.row, fit.per_launch)
                half[held.group] = held.half_of_sums(fit)
        return value, half
