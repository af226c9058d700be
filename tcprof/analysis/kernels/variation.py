"""How much launches of one class differ, learned from what the fit leaves over.

A launch of class k counts x_k (1 + d), where d has the deviation ``deviation[k]``. What the fit leaves of a cluster of
samples has then a variance that is linear in these squares, and they follow by maximum likelihood. The multiplicative
update keeps them positive, and its square root makes the likelihood grow with each step (Zhou, Hu, Zhou and Lange, MM
algorithms for variance components models, 2019).
"""

import numpy as np

from tcprof.analysis.intervals import run_starts
from tcprof.analysis.kernels.design import Design
from tcprof.arrays import Floats

START, LEAST, MOST = 0.03**2, 1e-4**2, 1.0
STEPS = 10


def estimate_variation(
    variation: Floats, design: Design, count: Floats, residual: Floats, sampling: Floats, borders: tuple[Floats, Floats]
) -> Floats:
    """The squared relative deviation of the launches of each class.

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
        found, expected = turned @ (square / predicted**2), turned @ (1 / predicted)
        ratio = np.divide(found, expected, out=np.zeros(len(variation)), where=expected > 0)
        variation = np.clip(variation * np.sqrt(ratio), LEAST, MOST)
    return variation
