"""Launches of one name, geometry and duration that do other work by their place: each has a class of its own.

A place is the range that a kernel was launched in, with what ran before it, and how often both came before in the same
step. Whether a class differs by place is asked of a fit in which each place is a class.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.design import Launches
from tcprof.analysis.kernels.fit import Fit
from tcprof.arrays import Ints

LEAST_LAUNCHES = 4  # of a place: fewer do not tell how far their mean is off
REGULAR = 0.75  # of the steps are as long as each other, in launches
MOST_KINDS = 400  # classes that are fitted to find out
SIGNIFICANT = (
    2.5  # standard errors between one place and the next: what is joined by mistake has too narrow an interval
)
DIFFERENT = 0.005  # nor do places differ if it is by less than this share


def separate_places(launches: Launches, path_id: Ints) -> Launches:
    """Launches with a class for each place; the same ones where there is nothing to split, or too much to ask.

    Args:
        launches: The launches of one GPU, in order of start.
        path_id: The range of each.
    """
    before = np.append(-1, launches.kind[:-1])
    place = _join(launches.kind, path_id + 1, before + 1)
    for order in (*_orders(launches.kind, place), np.zeros_like(place)):
        kind = _often(launches, _join(place, order))
        if int(launches.kind.max()) < int(kind.max()) < MOST_KINDS:
            return _with_kinds(launches, kind)
    return launches


def _join(first: Ints, *others: Ints) -> Ints:
    """One number for several that are 0 or more."""
    for other in others:
        first = np.unique(first * (int(other.max()) + 1) + other, return_inverse=True)[1]
    return first


def _often(launches: Launches, place: Ints) -> Ints:
    """The places of classes that are not opaque with enough launches; the class for all others."""
    count = np.bincount(place)
    apart = (count[place] >= LEAST_LAUNCHES) & ~launches.opaque[launches.kind]
    return np.unique(np.where(apart, place, len(count) + launches.kind), return_inverse=True)[1]


def _orders(kind: Ints, place: Ints) -> Iterator[Ints]:
    """How often each launch's place came before in its step: by the longest steps first.

    A step begins with a launch of a class that mostly comes back after the same number of launches.
    """
    count, tried = np.bincount(kind), set()
    for marker in np.argsort(count, kind="stable").tolist():
        at = np.flatnonzero(kind == marker)
        length = np.diff(at)
        if count[marker] < LEAST_LAUNCHES or count[marker] in tried:
            continue
        if np.mean(length == np.median(length)) >= REGULAR:
            tried.add(count[marker])
            step = np.cumsum(kind == marker)
            yield pd.Series(place).groupby(_join(place, step)).cumcount().to_numpy(np.int64)


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
