"""Launches of one name, geometry and duration that do other work by their place: each has a class of its own.

A place is the range that a kernel was launched in, with what ran before it. Whether a class differs by place is asked
of a fit in which each place is a class.
"""

from dataclasses import replace

import numpy as np

from tcprof.analysis.kernels.design import Launches
from tcprof.analysis.kernels.fit import Fit
from tcprof.arrays import Ints

LEAST_LAUNCHES = 4  # of a place: fewer do not tell how far their mean is off
MOST_KINDS = 400  # classes that are fitted to find out
SIGNIFICANT = 4.0  # standard errors between one place and the next: there are many to compare
DIFFERENT = 0.02  # nor do places differ if it is by less than this share


def separate_places(launches: Launches, path_id: Ints) -> Launches:
    """Launches with a class for each place; the same ones where there is nothing to split, or too much to ask.

    Args:
        launches: The launches of one GPU, in order of start.
        path_id: The range of each.
    """
    before = np.append(-1, launches.kind[:-1])
    place = np.unique((path_id + 1) * (int(launches.kind.max()) + 2) + before + 1, return_inverse=True)[1]
    fine, count = np.unique(launches.kind * (int(place.max()) + 1) + place, return_inverse=True, return_counts=True)[1:]
    rest = len(count) + launches.kind
    fine = np.where((count[fine] >= LEAST_LAUNCHES) & ~launches.opaque[launches.kind], fine, rest)
    kind = np.unique(fine, return_inverse=True)[1]
    more = int(launches.kind.max()) < int(kind.max()) < MOST_KINDS
    return _with_kinds(launches, kind) if more else launches


def join_alike(launches: Launches, places: Launches, fitted: Fit) -> Launches:
    """Launches with a class for all places whose values follow each other without a gap that is significant.

    Args:
        launches: The launches.
        places: The same with a class for each place.
        fitted: The fit of these.
    """
    whole = np.zeros(len(fitted.value), dtype=np.int64)
    whole[places.kind] = launches.kind
    order = np.lexsort((fitted.value, whole))
    low, high = order[:-1], order[1:]
    variance, value = np.diag(fitted.covariance), fitted.value
    error = np.sqrt(np.maximum(variance[low] + variance[high] - 2 * fitted.covariance[low, high], 0))
    step = value[high] - value[low]
    apart = (step > SIGNIFICANT * error) & (step > DIFFERENT * value[high])
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.cumsum(np.append(True, apart | (whole[low] != whole[high]))) - 1
    return _with_kinds(launches, found[places.kind])


def _with_kinds(launches: Launches, kind: Ints) -> Launches:
    """The same launches in finer classes."""
    opaque = np.zeros(int(kind.max()) + 1, dtype=bool)
    opaque[kind] = launches.opaque[launches.kind]
    return replace(launches, kind=kind, opaque=opaque)
