"""Several recordings a side: how much runs of the same program differ is measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from tcprof.analysis.samples.interval_estimates import LEVEL, Centers
from tcprof.arrays import Bools, Floats, Ints
from tcprof.comparison.statistics.estimates import Change, Estimate, compare_estimates, estimate_within

POWER = 0.8
MOST_NEEDED = 1000  # recordings a side that are ever said to be needed


@dataclass(frozen=True)
class _Moments:
    """Mean and variance of the recordings' values at each place, as they are or as logarithms."""

    count: Ints
    mean: Floats
    variance: Floats

    @classmethod
    def of(cls, values: Floats) -> "_Moments":
        known = ~np.isnan(values)
        count = known.sum(axis=0)
        mean = np.where(known, values, 0).sum(axis=0) / count
        square = np.where(known, (values - mean) ** 2, 0).sum(axis=0)
        return cls(count, mean, np.where(count > 1, square / (count - 1), np.nan))


def is_measured(base_count: Ints | int, new_count: Ints | int) -> Bools:
    """Whether so many recordings measure run-to-run variation: two on both sides.

    One against many is not enough: there is no way to know whether that one was an unusual run.
    """
    return np.asarray(np.minimum(base_count, new_count) >= 2)


def compare_repeats(base: Sequence[Centers], new: Sequence[Centers]) -> tuple[Estimate, Estimate, Change]:
    """Both sides and their change, by Welch's t test of the logarithms of the recordings' medians, or means.

    Where a recording has 0 it is these themselves that are tested. No interval is narrower than the instances
    alone would have it, and each holds the value shown, which is a median where Welch's test is about means.
    """
    within = (estimate_within(base, required=False), estimate_within(new, required=False))
    values = [np.stack([each.value for each in side]) for side in (base, new)]
    use_ratio = np.logical_and(*(np.fmin.reduce(side) > 0 for side in values))
    floor = compare_estimates(*within, within, np.zeros_like(within[0].recordings))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = [_Moments.of(np.where(use_ratio, np.log(side), side)) for side in values]
        plain = [_Moments.of(side) for side in values]
        log, log_half, p_value, needed = _welch(*logs)
        shift, half, _, _ = _welch(*plain)
        p_value = np.fmax(p_value, floor.p_value)
        ratio = np.where(within[0].value > 0, within[1].value / within[0].value, np.nan)
        ratios = [np.where(use_ratio, np.exp(end), np.nan) for end in (log - log_half, log + log_half)]
    difference = within[1].value - within[0].value
    change = Change(
        np.fmin.reduce([ratios[0], floor.ratio_low, ratio]),
        np.fmax.reduce([ratios[1], floor.ratio_high, ratio]),
        np.fmin.reduce([shift - half, floor.difference_low, difference]),
        np.fmax.reduce([shift + half, floor.difference_high, difference]),
        p_value,
        np.where(p_value < LEVEL, np.nan, needed),
    )
    with np.errstate(invalid="ignore", over="ignore"):
        sides = [_with_interval(side, moments, use_ratio) for side, moments in zip(within, logs, strict=True)]
    return sides[0], sides[1], change


def _welch(base: _Moments, new: _Moments) -> tuple[Floats, Floats, Floats, Floats]:
    """Shift, half its 95 % interval, p, and recordings a side that would show it in 80 % of cases."""
    parts = [side.variance / side.count for side in (base, new)]
    shift, error = new.mean - base.mean, np.sqrt(parts[0] + parts[1])
    freedom = error**4 / (parts[0] ** 2 / (base.count - 1) + parts[1] ** 2 / (new.count - 1))
    freedom = np.where(error == 0, 1, freedom)  # then they are unknown, and do not matter
    score = np.where(shift == 0, 0, np.abs(shift) / error)
    deviation = np.sqrt((base.variance + new.variance) / 2)
    half = special.stdtrit(freedom, 1 - LEVEL / 2) * error
    return shift, half, 2 * special.stdtr(freedom, -score), _needed_recordings(shift, deviation)


def _needed_recordings(shift: Floats, deviation: Floats) -> Floats:
    """Recordings a side for which the t test shows the shift in 80 % of cases; NaN for more than 1000."""
    count = np.arange(2, MOST_NEEDED + 1)
    freedom = 2 * count - 2
    reach = special.stdtrit(freedom, 1 - LEVEL / 2) + special.stdtrit(freedom, POWER)
    least = reach * np.sqrt(2 / count)  # falls with count
    size = np.abs(shift) / deviation
    place = np.searchsorted(-least, -size)
    return np.where((place < len(count)) & (size > 0), count[np.minimum(place, len(count) - 1)], np.nan)


def _with_interval(side: Estimate, moments: _Moments, is_log: Bools) -> Estimate:
    """A side with the t interval of its recordings' mean."""
    reach = special.stdtrit(np.maximum(moments.count - 1, 1), 1 - LEVEL / 2)
    half = reach * np.sqrt(moments.variance / moments.count)
    ends = [np.where(is_log, np.exp(end), end) for end in (moments.mean - half, moments.mean + half)]
    return replace(side, low=np.maximum(np.fmin(ends[0], side.low), 0), high=np.fmax(ends[1], side.high))
