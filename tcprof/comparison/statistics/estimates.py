"""The statistics of a comparison: medians with intervals, and what a difference between two sides proves.

Everything is computed for many places at once: arrays have one element for each place, or, with several recordings,
one row for each recording. ``docs/statistics.md`` explains the methods and what they were held against.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

FEWEST_INSTANCES = 5  # whose median has an interval
LEVEL = 0.05
NORMAL_95, NORMAL_80 = float(stats.norm.ppf(1 - LEVEL / 2)), float(stats.norm.ppf(0.8))
# The deviations assumed for runs come from 5 runs of each of 5 programs: 20 degrees of freedom.
STUDENT_95 = float(stats.t.ppf(1 - LEVEL / 2, 20))
BATCHES, FEWEST_FOR_BATCHES = 10, 50
FEWEST_EFFECTIVE = 2
LARGEST_CORRELATION = 0.9  # of signs
MOST_VALUES = 1000  # of a side, in the Mann-Whitney test


@dataclass(frozen=True)
class Medians:
    """The median over the instances of one recording at each place.

    Attributes:
        count: Instances with a known value.
        median: Their median; NaN without any.
        low: Lower end of its 95 % interval over the instances of this recording; NaN for fewer than 5.
        high: Its upper end.
        constant: Whether all instances have the same value.
    """

    count: Ints
    median: Floats
    low: Floats
    high: Floats
    constant: Bools


@dataclass(frozen=True)
class Estimate:
    """What is known about one side at each place.

    Attributes:
        value: Median over instances; of several recordings the median of their medians.
        low: Lower end of its 95 % interval, over instances and runs; NaN where it cannot be told.
        high: Its upper end.
        constant: Whether all instances of all recordings have the same value.
        recordings: Recordings that have a value.
    """

    value: Floats
    low: Floats
    high: Floats
    constant: Bools
    recordings: Ints


@dataclass(frozen=True)
class Change:
    """The difference between two sides at each place.

    Attributes:
        ratio_low: Lower end of the 95 % interval of new / base; NaN where it cannot be told, or the baseline is 0.
        ratio_high: Its upper end.
        difference_low: Lower end of the 95 % interval of new - base.
        difference_high: Its upper end.
        p_value: How often a difference at least so large would be seen between runs of the same program.
        needed_count: Instances or recordings a side that would decide it; NaN where more would not, or it is decided.
    """

    ratio_low: Floats
    ratio_high: Floats
    difference_low: Floats
    difference_high: Floats
    p_value: Floats
    needed_count: Floats


def find_medians(group: Ints, values: Floats, groups: int) -> Medians:
    """The median of each group, with the interval between two order statistics.

    Of n independent values those at n/2 ± 1.96 sqrt(n)/2 enclose the true median in 95 % of cases (David and Nagaraja,
    Order Statistics, section 7.1). Instances that follow each other are not independent: sqrt(n) is multiplied by the
    root of the inflation of the variance. Where so few values have no such ranks, their range is extended to fit.

    Args:
        group: Group of each value.
        values: The values, none below 0, those of a group in order of time; NaN is left out.
        groups: Number of groups.
    """
    known = ~np.isnan(values)
    group, values = group[known], values[known]
    in_time = np.argsort(group, kind="stable")
    ranked = values[np.lexsort((values, group))]
    count = np.bincount(group, minlength=groups)
    first = np.cumsum(count) - count
    centre: Floats = (count - 1) / 2

    def at(rank: Floats) -> Floats:
        """The value of that rank in each group, interpolated."""
        if not len(ranked):
            return np.full(groups, np.nan)
        inside = np.clip(rank, 0, np.maximum(count - 1, 0))
        below = np.minimum(first + np.floor(inside).astype(np.int64), len(ranked) - 1)
        above = np.minimum(first + np.ceil(inside).astype(np.int64), len(ranked) - 1)
        part = inside - np.floor(inside)
        return np.where(count > 0, ranked[below] * (1 - part) + ranked[above] * part, np.nan)

    median = at(centre)
    spread = _inflation(group[in_time], values[in_time] - median[group[in_time]], count)
    reach: Floats = NORMAL_95 * np.sqrt(count * spread) / 2
    extended = np.maximum(reach / np.maximum(centre, 0.5), 1)
    low = median - (median - at(centre - reach)) * extended
    high = median + (at(centre + reach) - median) * extended
    enough = count >= FEWEST_INSTANCES
    low, high = np.where(enough, np.maximum(low, 0), np.nan), np.where(enough, high, np.nan)
    return Medians(count, median, low, high, (count > 0) & (at(np.zeros(groups)) == at(2 * centre)))


def _inflation(group: Ints, deviation: Floats, count: Ints) -> Floats:
    """How many times larger than of independent values the variance of each group's median is.

    It is that of the signs about the median: from their correlation from one to the next, corrected for the bias of
    short series; and from the sums of ten batches where there are 50 values, which shows slower changes as well. The
    larger of both counts, and never less than 1; nor so large that fewer than two independent values are left, which
    a short series cannot tell.

    Args:
        group: Group of each value, ascending; in order of time within a group.
        deviation: The value less the median.
        count: Values of each group.
    """
    groups = len(count)
    sign = np.sign(deviation)
    square = np.bincount(group, sign**2, minlength=groups) / np.maximum(count, 1)
    neighbours = group[1:] == group[:-1]
    product = np.bincount(group[1:][neighbours], (sign[1:] * sign[:-1])[neighbours], minlength=groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = product / np.maximum(count - 1, 1) / square
        # Kendall 1954; Marriott and Pope 1954: it is too low by (1 + 3 r) / n.
        correlation = np.where(count > 3, (count * found + 1) / np.maximum(count - 3, 1), 0)
        # Of normal values with correlation r that of the signs is 2/pi arcsin r (Sheppard 1899), which is smaller.
        correlation = np.sin(np.pi / 2 * np.clip(np.nan_to_num(correlation), 0, LARGEST_CORRELATION))
        rank = np.arange(len(group)) - (np.cumsum(count) - count)[group]
        batch = group * BATCHES + rank * BATCHES // np.maximum(count, 1)[group]
        sums = np.bincount(batch, sign, minlength=groups * BATCHES).reshape(groups, BATCHES)
        batched = (sums**2).sum(axis=1) / (BATCHES - 1) / (count / BATCHES * square)
    batched = np.where(count >= FEWEST_FOR_BATCHES, np.nan_to_num(batched, nan=1.0), 1)
    found = np.maximum((1 + correlation) / (1 - correlation), np.maximum(batched, 1))
    return np.asarray(np.minimum(found, np.maximum(count / FEWEST_EFFECTIVE, 1)))


def _stack(recordings: Sequence[Medians]) -> tuple[Floats, Floats, Floats, Ints]:
    """Median, distance to the lower and to the upper end of each recording, and recordings that have a value."""
    median = np.stack([each.median for each in recordings])
    down = np.stack([each.median - each.low for each in recordings])
    up = np.stack([each.high - each.median for each in recordings])
    return median, down, up, (~np.isnan(median)).sum(axis=0)


def _middle(median: Floats) -> Floats:
    """The median of the recordings' medians; NaN where none has one."""
    known = ~np.isnan(median).all(axis=0)
    return np.where(known, np.nanmedian(np.where(known, median, 0), axis=0), np.nan)


def _all_constant(recordings: Sequence[Medians], median: Floats) -> Bools:
    constant = np.stack([each.constant | np.isnan(each.median) for each in recordings]).all(axis=0)
    low, high = np.fmin.reduce(median), np.fmax.reduce(median)
    return np.asarray(constant & (low == high))


def estimate_within(recordings: Sequence[Medians], required: bool = True) -> Estimate:
    """A side with the interval that the instances give, as if runs did not differ.

    Args:
        recordings: The side's recordings.
        required: Whether the interval is unknown where a recording has too few instances; else it has no width there.
    """
    median, down, up, count = _stack(recordings)
    value = _middle(median)
    if not required:
        down, up = (np.nan_to_num(side) for side in (down, up))
    missing = np.isnan(median)
    half = [np.sqrt((np.where(missing, 0, side) ** 2).sum(axis=0)) / np.maximum(count, 1) for side in (down, up)]
    low = np.maximum(value - half[0], 0)
    return Estimate(value, low, value + half[1], _all_constant(recordings, median), count)


def add_run_deviation(side: Estimate, relative: Floats, absolute: Floats) -> Estimate:
    """A side whose interval also holds what runs differ by.

    Several recordings do not make that less here: they are too few to tell whether their runs were usual ones.

    Args:
        side: See ``estimate_within``.
        relative: Standard deviation of a run's logarithm.
        absolute: Standard deviation of a run, in the quantity's unit.
    """
    wide, far = STUDENT_95 * relative, STUDENT_95 * absolute
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(side.value > 0, side.value * np.exp(-np.hypot(np.log(side.value / side.low), wide)), side.low)
        high = np.where(side.value > 0, side.value * np.exp(np.hypot(np.log(side.high / side.value), wide)), side.high)
    low = np.maximum(side.value - np.hypot(side.value - low, far), 0)
    high = side.value + np.hypot(high - side.value, far)
    return Estimate(side.value, low, high, side.constant, side.recordings)


def decided_by_ratio(base: Estimate, new: Estimate) -> Bools:
    """Where the ratio decides; elsewhere, as one side is 0, the difference does."""
    return np.asarray((base.value > 0) & (new.value > 0))


def compare_estimates(base: Estimate, new: Estimate, within: tuple[Estimate, Estimate], count: Ints) -> Change:
    """The change, with intervals from those of two independent sides.

    The distances from an estimate to the ends of its interval add as squares, those of logarithms for the ratio: the
    method of variance estimates recovery (Zou and Donner, Statistics in Medicine 27, 2008).

    Args:
        base: The baseline, with its interval over instances and runs.
        new: The other side.
        within: Both with the interval over instances alone.
        count: Instances of the side that has fewer.
    """
    use_ratio = decided_by_ratio(base, new)
    with np.errstate(divide="ignore", invalid="ignore"):
        log, log_down, log_up = _recover(base, new, np.ones_like(use_ratio))
        plain, down, up = _recover(base, new, np.zeros_like(use_ratio))
        shift = np.where(use_ratio, log, plain)
        half = _toward_none(shift, np.where(use_ratio, log_down, down), np.where(use_ratio, log_up, up))
        p_value = two_sided(shift, half / NORMAL_95)
        half_within = _toward_none(*_recover(*within, use_ratio))
        needed = _needed_instances(shift, half_within / NORMAL_95, half / NORMAL_95, count)
        ends = np.where(base.value > 0, np.exp([log - log_down, log + log_up]), np.nan)
    return Change(ends[0], ends[1], plain - down, plain + up, p_value, np.where(p_value < LEVEL, np.nan, needed))


def _recover(base: Estimate, new: Estimate, use_ratio: Bools) -> tuple[Floats, Floats, Floats]:
    """The shift, of logarithms where the ratio is used, and the distances to the ends of its interval."""
    first, second = (
        [np.where(use_ratio, np.log(end), end) for end in (side.value, side.low, side.high)] for side in (base, new)
    )
    down = np.hypot(second[0] - second[1], first[2] - first[0])
    up = np.hypot(second[2] - second[0], first[0] - first[1])
    return second[0] - first[0], down, up


def _toward_none(shift: Floats, down: Floats, up: Floats) -> Floats:
    """The distance to the end of the interval on the side of no change."""
    return np.where(shift > 0, down, up)


def two_sided(shift: Floats, error: Floats) -> Floats:
    """The p value of a normal shift with that standard error; without any error it is 0, or 1 where nothing changed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(shift == 0, 0, np.abs(shift) / error)
    return np.asarray(2 * stats.norm.sf(score))


def _needed_instances(shift: Floats, within: Floats, error: Floats, count: Ints) -> Floats:
    """Instances a side that would show the shift in 80 % of cases, if runs differ as they do.

    Args:
        shift: The shift.
        within: Its standard error over instances.
        error: Its standard error over instances and runs.
        count: Instances that there are.
    """
    room = (shift / (NORMAL_95 + NORMAL_80)) ** 2 - (error**2 - within**2)
    needed = np.ceil(count * within**2 / np.where(room > 0, room, np.nan))
    return np.where(needed > count, needed, np.nan)


def mann_whitney(pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The p values of Mann-Whitney tests of pairs of samples; those of equal sizes are tested together.

    Of more than 1000 values only some at equal distances are taken.
    """
    thinned = [tuple(side[:: max(-(-len(side) // MOST_VALUES), 1)] for side in pair) for pair in pairs]
    p_value = np.full(len(pairs), np.nan)
    by_size: dict[tuple[int, int], list[int]] = {}
    for number, (base, new) in enumerate(thinned):
        if len(base) and len(new):
            by_size.setdefault((len(base), len(new)), []).append(number)
    for numbers in by_size.values():
        base, new = (np.stack([thinned[number][side] for number in numbers]) for side in (0, 1))
        p_value[numbers] = stats.mannwhitneyu(base, new, axis=1, method="asymptotic").pvalue
    return p_value
