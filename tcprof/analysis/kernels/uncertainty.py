"""How far the fit's values may be off: noise, misfit, and where the samples lie in time.

The covariance of the classes' values is the sum of three: that of the noise as the fit assumes it; that of what the fit
really leaves over, by clusters of neighbouring samples (Liang and Zeger, Longitudinal data analysis using generalized
linear models, 1986), with Student's t for few clusters; and that of the sampler's clock against the trace's.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from tcprof.analysis.intervals import run_starts
from tcprof.analysis.kernels.design import Design, make_sparse
from tcprof.analysis.kernels.least_squares import Precision
from tcprof.analysis.kernels.noise import Noise, some_rows
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.arrays import Floats, mapping_of

CLUSTERS_AT_ONCE = 16_384
GRADIENTS = 4  # of all rows: the value moves by as much as it would in 16


@dataclass(frozen=True)
class Offset:
    """By how much the samples are stamped later than what they show."""

    late_ns: float  # as the fit sees it; NaN where it cannot
    error_ns: float  # standard error of that; infinite where it cannot


def misfit_covariance(design: Design, precision: Precision, weighted: Floats, kinds: int) -> Floats:
    """Compute the classes' covariance from what the fit leaves over, ``weighted`` by its inverse covariance."""
    answer = response(design, precision, kinds)

    def influence_from(first: int) -> Floats:
        begin, end = np.searchsorted(design.cluster, (first, first + CLUSTERS_AT_ONCE))
        cluster, rows = design.cluster[begin:end] - first, np.arange(end - begin)
        summed = make_sparse(weighted[begin:end], cluster, rows, (int(cluster[-1]) + 1, len(rows)))
        some = summed @ some_rows(design.shares, begin, end) @ answer
        return np.asarray(some.T @ some)

    influence = np.zeros((kinds, kinds))
    firsts = range(0, int(design.cluster[-1]) + 1, CLUSTERS_AT_ONCE)
    with mapping_of(len(firsts)) as map_all:
        for of_some in map_all(influence_from, firsts):
            influence += of_some
    seen = np.bincount(design.cluster_squares.indices, minlength=kinds)  # clusters that each class is in
    degrees = np.maximum(seen - 1, 1)
    wider = np.where(seen > 1, special.stdtrit(degrees, 0.975) / NORMAL_95 * np.sqrt(seen / degrees), 1)
    return np.asarray(influence * np.outer(wider, wider))


def move_to_all(design: Design, precision: Precision, noise: Noise, residual: Floats) -> Floats:
    """Estimate by how much the parts' values would move if all rows were fitted, and not the sample of them.

    By conjugate gradients, preconditioned by the sample's precision: as much larger for each class as all rows hold
    more of it, that is nearly the precision of all.
    """
    some = design.sample
    more = np.asarray(design.class_ns.sum(axis=0) / np.maximum(some.class_ns.sum(axis=0), 1))[design.part_kind]
    weighted, scale = noise.weigh(residual), 1 / np.sqrt(np.maximum(more, 1))
    left = design.shares.T @ weighted - more * (some.shares.T @ weighted[design.sampled_rows])
    moved = step = np.zeros(len(left))
    size = np.inf
    for _ in range(GRADIENTS):
        turned = scale * precision.solve(scale * left)
        before, size = size, float(left @ turned)
        step = turned + size / before * step
        product = design.shares.T @ noise.weigh(design.shares @ step)
        length = size / max(float(step @ product), 1e-300)
        moved, left = moved + length * step, left - length * product
    return moved


def response(design: Design, precision: Precision, kinds: int) -> Floats:
    """Compute how the parts' precision gives the classes' values: the inverse times the sum over each class's parts."""
    total = np.zeros((len(design.part_kind), kinds))
    total[np.arange(len(design.part_kind)), design.part_kind] = 1
    return precision.solve(total)


def sum_parts(design: Design, parts: Floats, kinds: int) -> Floats:
    """Columns of the classes from columns of their parts."""
    total = np.zeros((kinds, *parts.shape[1:]))
    np.add.at(total, design.part_kind, parts)
    return total


def rate_change(design: Design, parts: Floats) -> Floats:
    """Subtract the count per ns at each row's beginning from that at its end: what a late stamp takes from the row."""
    slope = parts / design.part_ns
    ends, begins = (
        np.bincount(cuts.row, slope[cuts.part], len(design.length)) for cuts in (design.ends, design.begins)
    )
    return np.asarray(ends - begins)


def estimate_offset(
    design: Design, precision: Precision, noise: Noise, change: Floats, weighted: Floats
) -> tuple[Offset, Floats]:
    """Estimate, by one Gauss-Newton step, samples' offset to launches, and how each part's value falls by ns."""
    of_change = noise.weigh(change)
    parts = precision.solve(design.shares.T @ of_change)
    change_residual = change - design.shares @ parts
    size = float(change_residual @ of_change)
    if not size > 0:
        return Offset(np.nan, np.inf), parts
    sums = np.bincount(design.cluster, change_residual * weighted)
    return Offset(-float(sums.sum()) / size, float(np.hypot(np.linalg.norm(sums) / size, size**-0.5))), parts


START, LEAST, MOST = 0.03**2, 1e-4**2, 1.0
STEPS = 10


def estimate_variation(
    variation: Floats, design: Design, count: Floats, residual: Floats, sampling: Floats, borders: tuple[Floats, Floats]
) -> Floats:
    """Estimate the squared relative deviation of the launches of each class.

    Args:
        sampling: Variance of each row without its borders.
        borders: Variance of the count at the left and the right border of each row.
    """
    first = run_starts(design.cluster)
    last = np.append(first[1:], len(residual)) - 1
    square = np.bincount(design.cluster, residual) ** 2
    other = np.bincount(design.cluster, sampling) + borders[0][first] + borders[1][last]
    unit = design.cluster_squares.copy()  # a product with a row would have another form, which is slow to multiply
    unit.data *= (count**2)[unit.indices]
    turned = unit.T
    for _ in range(STEPS):
        predicted = other + unit @ variation
        observed, expected = turned @ (square / predicted**2), turned @ (1 / predicted)
        ratio = np.divide(observed, expected, out=np.zeros(len(variation)), where=expected > 0)
        variation = np.clip(variation * np.sqrt(ratio), LEAST, MOST)
    return variation
