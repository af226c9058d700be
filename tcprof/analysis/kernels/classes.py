"""Classes of launches: those that are expected to do the same work.

A class is a kernel's name, its launch geometry, and a duration. The duration is needed since persistent kernels, such
as most matrix products on Hopper, start as many blocks as the GPU holds, whatever the size of their work: one name and
geometry then stands for products of quite different sizes, which last quite differently.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.arrays import Bools, Floats, Ints

SPLIT_RATIO = 1.06  # durations of one class lie closer than this
SPLIT_NS = 500  # nor does a difference that is below the accuracy of a border between kernels split them
MOST_CLASSES, MOST_POOLS = 400, 100


@dataclass(frozen=True)
class Classes:
    """Which class each launch belongs to.

    Attributes:
        kind: Number of the class of each launch, without holes.
        weight: What a launch counts relative to its class's mean: 1, or in a pool its duration over the mean.
        pooled: For each class, whether it holds kernels of several kinds.
    """

    kind: Ints
    weight: Floats
    pooled: Bools


def classify(name: Ints, geometry: Ints, duration: Ints) -> Classes:
    """Group launches by name, geometry and duration, and pool what is rare.

    Pools are taken by name, and what is still rare, or too much, into one remainder; within a pool a launch counts in
    proportion to its duration.

    Args:
        name: Number of the name of each launch.
        geometry: Number of the launch geometry.
        duration: In ns.
    """
    kind = _split_by_duration(pd.factorize(name * (int(geometry.max(initial=0)) + 1) + geometry)[0], duration)
    groups = int(kind.max(initial=-1)) + 1
    kind = np.where(_is_rare(kind, duration, MOST_CLASSES), groups + name, kind)
    pools = np.flatnonzero(kind >= groups)
    left = _is_rare(pd.factorize(kind[pools])[0], duration[pools], MOST_POOLS)
    kind[pools[left]] = groups + int(name.max(initial=0)) + 1
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
    found = np.empty(len(group), dtype=np.int64)
    found[order] = np.cumsum(np.append(True, (group[1:] != group[:-1]) | gap)) - 1 if len(group) else 0
    return found


def _is_rare(kind: Ints, duration: Ints, most: int) -> Bools:
    """Launches of the classes beyond those that took longest."""
    rare = np.zeros(int(kind.max(initial=-1)) + 1, dtype=bool)
    rare[np.argsort(-np.bincount(kind, duration), kind="stable")[most:]] = True
    return np.asarray(rare[kind])
