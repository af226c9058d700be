"""The interval of a mean over the instances of a range, by drawing them again."""

import numpy as np

from tcprof.analysis.intervals import enumerate_keys, run_starts
from tcprof.arrays import Floats, Ints

MINIMUM_INSTANCES = 5
RESAMPLES = 1000
BLOCKS = 200
GROUPS_AT_ONCE = 2000
DRAWN_AT_ONCE = 100_000


def bootstrap_interval(group: Ints, part: Floats, whole: Floats, groups: int) -> tuple[Floats, Floats]:
    """The 95 % interval of each group's ratio sum(part) / sum(whole), by bootstrap over its instances.

    Instances are drawn with replacement 1000 times (Efron and Tibshirani, An Introduction to the Bootstrap, chapter
    13: percentile interval). Of more than 200 instances, runs of neighbours are drawn together: they are not
    independent, and drawing them one by one would give intervals that are too narrow. Instances of no whole are left
    out; fewer than 5 have no interval, but NaN.
    """
    low, high = np.full(groups, np.nan), np.full(groups, np.nan)
    order = np.argsort(group, kind="stable")
    order = order[whole[order] > 0]
    group, part, whole = group[order], part[order], whole[order]
    count = np.bincount(group, minlength=groups)
    rank = np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
    block = group * BLOCKS + rank * np.minimum(count, BLOCKS)[group] // count[group]
    keys, codes = enumerate_keys(block)
    block_part, block_whole = (np.bincount(codes, values).astype(np.float64) for values in (part, whole))
    block_group = keys // BLOCKS
    enough = np.flatnonzero(count >= MINIMUM_INSTANCES)
    generator = np.random.default_rng(0)
    for chunk in np.split(enough, np.arange(GROUPS_AT_ONCE, len(enough), GROUPS_AT_ONCE)):
        rows = np.flatnonzero(np.isin(block_group, chunk))
        if len(rows):
            low[chunk], high[chunk] = _resample(block_group[rows], block_part[rows], block_whole[rows], generator)
    return low, high


def _resample(group: Ints, part: Floats, whole: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Percentile interval of the ratio for each run of equal group numbers."""
    first = run_starts(group)
    size = np.diff(np.append(first, len(group)))
    base, extent = np.repeat(first, size), np.repeat(size, size)
    ratios = np.empty((RESAMPLES, len(first)))
    at_once = max(1, DRAWN_AT_ONCE // len(group))
    for some in (ratios[low : low + at_once] for low in range(0, RESAMPLES, at_once)):
        drawn = base + (generator.random((len(some), len(group))) * extent).astype(np.int64)
        some[:] = np.add.reduceat(part[drawn], first, axis=1) / np.add.reduceat(whole[drawn], first, axis=1)
    ends = np.quantile(ratios, (0.025, 0.975), axis=0)
    return ends[0], ends[1]
