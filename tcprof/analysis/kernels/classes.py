"""Classes of launches: those that are expected to do the same work.

A class is a kernel's name, its launch geometry, and a duration: persistent kernels, as most matrix products on Hopper,
start as many blocks as the GPU holds, whatever the size of their work. Launches of one class may still do other work by
their place: the range that launched them, what ran before, and how often both came before in the same step. Whether
they do is asked of a fit in which each place is a class.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import enumerate_keys
from tcprof.analysis.kernels.design import Launches
from tcprof.analysis.kernels.fit import Fit
from tcprof.arrays import Bools, Floats, Ints

SPLIT_RATIO = 1.06  # durations of one class lie closer than this
SPLIT_NS = 500  # nor does a difference that is below the accuracy of a border between kernels split them
MOST_CLASSES, MOST_POOLS = 400, 100
LEAST_LAUNCHES = 4  # of a place: fewer do not tell how far their mean is off
REGULAR = 0.75  # of the steps are as long as each other, in launches
MOST_KINDS = 400  # classes that are fitted to find out
SIGNIFICANT = 2.5  # standard errors between places: what is joined by mistake has too narrow an interval
DIFFERENT = 0.005  # nor do places differ if it is by less than this share
SAME_RATE = 0.03  # relative: launches that last longer and count as much more do more of the same work


@dataclass(frozen=True)
class Classes:
    """Which class each launch belongs to."""

    kind: Ints  # number of the class of each launch, without holes
    weight: Floats  # what a launch counts relative to its class's mean: 1, or in a pool its duration over the mean
    pooled: Bools  # for each class, whether it holds kernels of several kinds


def classify(name: Ints, geometry: Ints, duration: Ints) -> Classes:
    """Group launches by the numbers of their names and geometries, and by duration, and pool what is rare.

    Pools are taken by name, and what is still rare, or too much, into one remainder, weighted by duration.
    """
    kind = _split_by_duration(pd.factorize(name * (int(geometry.max(initial=0)) + 1) + geometry)[0], duration)
    groups = int(kind.max(initial=-1)) + 1
    kind = np.where(_is_rare(kind, duration, MOST_CLASSES), groups + name, kind)
    pools = np.flatnonzero(kind >= groups)
    is_remainder = _is_rare(pd.factorize(kind[pools])[0], duration[pools], MOST_POOLS)
    kind[pools[is_remainder]] = groups + int(name.max(initial=0)) + 1
    codes = pd.factorize(kind)[0].astype(np.int64)
    count = np.bincount(codes)
    is_pool = np.bincount(codes, kind >= groups) > 0
    mean = np.bincount(codes, duration) / count
    weight = np.where(is_pool[codes], duration / np.maximum(mean, 1)[codes], 1.0)
    return Classes(codes, weight, is_pool)


def _split_by_duration(kind: Ints, duration: Ints) -> Ints:
    """Split each group where its sorted durations leave a gap, however few launches there are on either side."""
    order = np.lexsort((duration, kind))
    group, length = kind[order], duration[order]
    step = np.diff(length)
    gap = (step > (SPLIT_RATIO - 1) * length[:-1]) & (step > SPLIT_NS)
    group_number = np.empty(len(group), dtype=np.int64)
    group_number[order] = np.cumsum(np.append(True, (group[1:] != group[:-1]) | gap)) - 1 if len(group) else 0
    return group_number


def _is_rare(kind: Ints, duration: Ints, most: int) -> Bools:
    """Launches of the classes beyond those that took longest."""
    rare = np.zeros(int(kind.max(initial=-1)) + 1, dtype=bool)
    rare[np.argsort(-np.bincount(kind, duration), kind="stable")[most:]] = True
    return np.asarray(rare[kind])


def separate_places(launches: Launches, path_id: Ints) -> Launches:
    """One GPU's launches with a class for each place; the same where there is nothing to split, or too much to ask."""
    before = np.append(-1, launches.kind[:-1])
    place_number = _join(launches.kind, path_id + 1, before + 1)
    for order in (*_orders(launches.kind, place_number), np.zeros_like(place_number)):
        # Places of classes that are not opaque with enough launches have a class of their own.
        finer = _join(place_number, order)
        count = np.bincount(finer)
        apart = (count[finer] >= LEAST_LAUNCHES) & ~launches.opaque[launches.kind]
        kind = enumerate_keys(np.where(apart, finer, len(count) + launches.kind))[1]
        if int(launches.kind.max()) < int(kind.max()) < MOST_KINDS:
            return _with_kinds(launches, kind)
    return launches


def _join(first: Ints, *codes: Ints) -> Ints:
    """One number for several that are 0 or more."""
    for code in codes:
        first = enumerate_keys(first * (int(code.max()) + 1) + code)[1]
    return first


def _orders(kind: Ints, place_number: Ints) -> Iterator[Ints]:
    """Count how often each launch's place came before in its step, by the longest steps first.

    A step begins with a launch of a class that mostly comes back after the same number of launches.
    """
    count, tried = np.bincount(kind), set()
    for marker in np.argsort(count, kind="stable").tolist():
        rows = np.flatnonzero(kind == marker)
        length = np.diff(rows)
        if count[marker] < LEAST_LAUNCHES or count[marker] in tried:
            continue
        if np.mean(length == np.median(length)) >= REGULAR:
            tried.add(count[marker])
            in_step = np.cumsum(kind == marker) * (int(place_number.max()) + 1) + place_number
            yield pd.Series(place_number).groupby(in_step, sort=False).cumcount().to_numpy(np.int64)


def join_alike(launches: Launches, places: Launches, fitted: Fit) -> Launches:
    """Launches with a class for all places of ``places``, as fitted, that follow without a significant gap."""
    whole = np.zeros(len(fitted.value), dtype=np.int64)
    whole[places.kind] = launches.kind
    order = np.lexsort((fitted.value, whole))
    low, high = order[:-1], order[1:]
    variance, value = np.diag(fitted.covariance), fitted.value
    error = np.sqrt(np.maximum(variance[low] + variance[high] - 2 * fitted.covariance[low, high], 0))
    step = value[high] - value[low]
    apart = (step > SIGNIFICANT * error) & (step > DIFFERENT * value[high])
    kind_number = np.empty(len(order), dtype=np.int64)
    kind_number[order] = np.cumsum(np.append(True, apart | (whole[low] != whole[high]))) - 1
    return _with_kinds(launches, kind_number[places.kind])


def _with_kinds(launches: Launches, kind: Ints) -> Launches:
    opaque = np.zeros(int(kind.max()) + 1, dtype=bool)
    opaque[kind] = launches.opaque[launches.kind]
    return replace(launches, kind=kind, opaque=opaque)


def doubt_interrupted(name: Ints, geometry: Ints, launches: Launches, counted: Floats) -> Floats:
    """Estimate how much of what each launch counts may be another process's that had a slice of its time.

    It is the difference from what the usual launches of its kernel count, where those have the same neighbours and are
    shorter by more than a class holds; else 0. What does other work, as a last layer, most often has other neighbours.
    """
    kernel = pd.factorize(name * (int(geometry.max(initial=0)) + 1) + geometry)[0]
    count = np.bincount(launches.kind)
    order = np.lexsort((count[launches.kind], kernel))
    last = order[np.append(kernel[order][1:] != kernel[order][:-1], True)]  # a launch of each kernel's largest class
    usual = launches.kind[last][kernel]
    is_usual = launches.kind == usual
    place = pd.factorize((kernel << 32) + (np.append(-1, name[:-1]) + 1 << 16) + np.append(name[1:], -1) + 1)[0]
    usual_places = np.zeros(int(place.max(initial=-1)) + 1, dtype=bool)
    usual_places[place[is_usual]] = True
    duration = (launches.end - launches.start).astype(np.float64)
    of_class = [np.bincount(launches.kind, values) / count for values in (duration, counted)]
    usual_ns, usual_count = (values[usual] for values in of_class)
    more = np.abs(counted * usual_ns - usual_count * duration) > SAME_RATE * usual_count * duration
    interrupted = ~is_usual & usual_places[place] & (duration > SPLIT_RATIO * usual_ns) & more
    return np.where(interrupted, np.abs(counted - usual_count), 0.0)
