"""Medians and means over the instances of a recording, with intervals that allow for correlated neighbours.

All functions take many groups at once. ``docs/statistics.md`` explains the methods.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tcprof.analysis.intervals import enumerate_keys, index_in_runs, run_starts
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.arrays import Bools, Floats, Ints

FEWEST_INSTANCES = 5  # whose median or mean has an interval
FEWEST_STEP_TIMES = FEWEST_INSTANCES - 1  # likewise: as many have five steps, since the last has no next one
LEVEL = 0.05
BATCHES, FEWEST_FOR_BATCHES = 10, 50
FEWEST_EFFECTIVE = 2
LARGEST_CORRELATION = 0.9
RESAMPLES = 1000
BLOCKS = 200
GROUPS_AT_ONCE = 2000
DRAWN_AT_ONCE = 100_000


@dataclass(frozen=True)
class Centers:
    """The median, or the mean, over the instances of each group in one recording."""

    count: Ints  # instances with a known value
    value: Floats  # their median or mean; NaN without any
    low: Floats  # lower end of its 95 % interval over the instances of this recording; NaN for too few
    high: Floats  # its upper end
    constant: Bools  # whether all instances have the same value


def _sort_known(group: Ints, values: Floats, groups: int) -> tuple[Ints, Floats, Ints]:
    """Sort known values by group, in order of time within it; returns groups, values and their number in each."""
    rows = np.flatnonzero(~np.isnan(values))
    rows = rows[np.argsort(group[rows], kind="stable")]
    return group[rows], values[rows], np.bincount(group[rows], minlength=groups)


def find_medians(group: Ints, values: Floats, groups: int, fewest: int = FEWEST_INSTANCES) -> Centers:
    """Find the median of each group, with the interval between two order statistics.

    Values are not below 0, and those of a group in order of time; NaN is left out. Fewer than ``fewest`` have no
    interval.

    Of n independent values those at n/2 ± 1.96 sqrt(n)/2 enclose the true median in 95 % of cases (David and Nagaraja,
    Order Statistics, section 7.1). Instances that follow each other are not independent: sqrt(n) is multiplied by the
    root of the inflation of the variance. Where so few values have no such ranks, their range is extended to fit.
    """
    group, values, count = _sort_known(group, values, groups)
    ranked = values[np.lexsort((values, group))]
    first = np.cumsum(count) - count
    centre: Floats = (count - 1) / 2

    def at(rank: Floats) -> Floats:
        """Interpolate the value of that rank in each group."""
        if not len(ranked):
            return np.full(groups, np.nan)
        inside = np.clip(rank, 0, np.maximum(count - 1, 0))
        below = np.minimum(first + np.floor(inside).astype(np.int64), len(ranked) - 1)
        above = np.minimum(first + np.ceil(inside).astype(np.int64), len(ranked) - 1)
        part = inside - np.floor(inside)
        return np.where(count > 0, ranked[below] * (1 - part) + ranked[above] * part, np.nan)

    median = at(centre)
    # Of normal values with correlation r that of the signs is 2/pi arcsin r (Sheppard 1899), which is smaller.
    spread = _inflate_variance(group, np.sign(values - median[group]), count, lambda r: np.sin(np.pi / 2 * r))
    reach: Floats = NORMAL_95 * np.sqrt(count * spread) / 2
    extended = np.maximum(reach / np.maximum(centre, 0.5), 1)
    low = median - (median - at(centre - reach)) * extended
    high = median + (at(centre + reach) - median) * extended
    constant = (count > 0) & (at(np.zeros(groups)) == at(2 * centre))
    return _drop_short_intervals(Centers(count, median, low, high, constant), fewest)


def find_means(group: Ints, values: Floats, groups: int, fewest: int = FEWEST_INSTANCES) -> Centers:
    """Find the mean of each group, with an interval for values that may be skewed or few; values as for medians.

    It is Student's, with the root of the inflation of the variance, for the number of independent values. Where a few
    values are far off it is too short on their side: there it reaches as far as Hall's transformation (On the removal
    of skewness by transformation, J. R. Stat. Soc. B 54, 1992) has it, but never less far.
    """
    from scipy import special  # here, since what needs no mean should not wait

    number, values, count = _sort_known(group, values, groups)
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, number, values)
    np.maximum.at(high, number, values)
    constant = (count > 0) & (low == high)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Sums of equal values round.
        mean = np.bincount(number, values, minlength=groups) / np.where(count > 0, count, np.nan)
        mean = np.where(constant, low, mean)
        off = values - mean[number]
        moments = [np.bincount(number, off**power, minlength=groups) / count for power in (2, 3)]
        spread = _inflate_variance(number, off, count, lambda r: r)
        effective = count / spread
        error = np.sqrt(moments[0] * count / np.maximum(count - 1, 1) / effective)
        skewness = np.where(moments[0] > 0, moments[1] / moments[0] ** 1.5, 0)
        reach = special.stdtrit(np.maximum(effective - 1, FEWEST_EFFECTIVE), 1 - LEVEL / 2)
        toward_tail = np.maximum(_reach_toward_tail(np.abs(skewness) / np.sqrt(effective), reach), reach)
    down, up = (error * np.where(skewness * sign > 0, toward_tail, reach) for sign in (-1, 1))
    return _drop_short_intervals(Centers(count, mean, mean - down, mean + up, constant), fewest)


def _reach_toward_tail(skewness: Floats, reach: Floats) -> Floats:
    """Return how many standard errors an interval reaches toward the tail (Hall)."""
    inner = np.cbrt(1 - skewness * (reach + skewness / 6))
    return np.asarray(np.where(skewness > 0, 3 * (1 - inner) / np.where(skewness > 0, skewness, 1), reach))


def _drop_short_intervals(centers: Centers, fewest: int) -> Centers:
    """Drop the intervals of too few instances."""
    enough = centers.count >= fewest
    low, high = np.where(enough, np.maximum(centers.low, 0), np.nan), np.where(enough, centers.high, np.nan)
    return Centers(centers.count, centers.value, low, high, centers.constant)


def _inflate_variance(group: Ints, score: Floats, count: Ints, undo: Callable[[Floats], Floats]) -> Floats:
    """Estimate the variance of each group's median or mean, relative to that of independent values."""
    groups = len(count)
    square = np.bincount(group, score**2, minlength=groups) / np.maximum(count, 1)
    neighbours = group[1:] == group[:-1]
    product = np.bincount(group[1:][neighbours], (score[1:] * score[:-1])[neighbours], minlength=groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        serial = product / np.maximum(count - 1, 1) / square
        # Kendall 1954; Marriott and Pope 1954: it is too low by (1 + 3 r) / n.
        correlation = np.where(count > 3, (count * serial + 1) / np.maximum(count - 3, 1), 0)
        correlation = undo(np.clip(np.nan_to_num(correlation), 0, LARGEST_CORRELATION))
        batch = group * BATCHES + index_in_runs(count) * BATCHES // np.maximum(count, 1)[group]
        sums = np.bincount(batch, score, minlength=groups * BATCHES).reshape(groups, BATCHES)
        batched = (sums**2).sum(axis=1) / (BATCHES - 1) / (count / BATCHES * square)
    batched = np.where(count >= FEWEST_FOR_BATCHES, np.nan_to_num(batched, nan=1.0), 1)
    inflation = np.maximum((1 + correlation) / (1 - correlation), np.maximum(batched, 1))
    return np.asarray(np.minimum(inflation, np.maximum(count / FEWEST_EFFECTIVE, 1)))


def bootstrap_interval(group: Ints, part: Floats, whole: Floats, groups: int) -> tuple[Floats, Floats]:
    """Compute the 95 % interval of each group's ratio sum(part) / sum(whole), by bootstrap over its instances.

    It draws instances with replacement 1000 times (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13:
    percentile interval). Of more than 200 instances it draws runs of neighbours together: they are not independent,
    and drawing them one by one would give too narrow intervals. Instances of no whole do not count; fewer than 5 give
    NaN.
    """
    low, high = np.full(groups, np.nan), np.full(groups, np.nan)
    order = np.argsort(group, kind="stable")
    order = order[whole[order] > 0]
    group, part, whole = group[order], part[order], whole[order]
    count = np.bincount(group, minlength=groups)
    block = group * BLOCKS + index_in_runs(count) * np.minimum(count, BLOCKS)[group] // count[group]
    keys, codes = enumerate_keys(block)
    block_part, block_whole = (np.bincount(codes, values).astype(np.float64) for values in (part, whole))
    block_group = keys // BLOCKS
    enough = np.flatnonzero(count >= FEWEST_INSTANCES)
    generator = np.random.default_rng(0)
    for chunk in np.split(enough, np.arange(GROUPS_AT_ONCE, len(enough), GROUPS_AT_ONCE)):
        rows = np.flatnonzero(np.isin(block_group, chunk))
        if len(rows):
            low[chunk], high[chunk] = _resample(block_group[rows], block_part[rows], block_whole[rows], generator)
    return low, high


def _resample(group: Ints, part: Floats, whole: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Compute the percentile interval of the ratio for each run of equal group numbers."""
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
