"""Which ranks hold the others up, and what the job would save without it.

A rank stands out if its own time is longer than the group's median by more than its steps vary, and by more than GPUs
of one kind differ. In a job without any, at most one in twenty is accused of having one: both limits are for the
largest of all ranks.
"""

import math
from dataclasses import dataclass

import numpy as np

from tcprof.analysis.samples.interval_estimates import find_means
from tcprof.arrays import Bools, Floats

LEVEL = 0.05
FEWEST_STEPS = 5
# What own times of equal work on GPUs of one kind differ by, of the step time, as a standard deviation; and how many
# ranks of the job itself count as much as that: few ranks cannot show their spread.
USUAL_SPREAD, USUAL_FREEDOM = 0.005, 10.0
LEAST_EXCESS = 0.01  # of the step time: less is not worth a search
_MAD_TO_DEVIATION = 1.4826
_MAD_EFFICIENCY = 0.37  # of a spread from the median deviation, against one from squares


@dataclass(frozen=True)
class Excess:
    """Of each rank how much longer its own time is than the group's median, and what a step of the job would save."""

    value: Floats
    low: Floats
    high: Floats
    stands_out: Bools
    saves: Floats
    saves_low: Floats
    saves_high: Floats


def find_stragglers(own: Floats) -> Excess:
    """Judge the ranks of one group.

    Args:
        own: Own times in ns, a row for each rank and a column for each step, all known.
    """
    ranks, steps = own.shape
    unknown = np.full(ranks, np.nan)
    if ranks < 2 or steps < FEWEST_STEPS:
        return Excess(unknown, unknown, unknown, np.zeros(ranks, dtype=bool), unknown, unknown, unknown)
    others = _median_of_others(own)
    value, low, high = _means(_without_outliers(own - others))
    step = float(np.median(own))
    limit = _limit(value, high - value, step, steps)
    stands_out = (value > limit) & (value > LEAST_EXCESS * step) & (low > 0)
    # As fast as the others, its steps would still vary as they do: each is shorter by the same.
    slowest = np.sort(own, axis=0)
    longest = np.where(own == slowest[-1], slowest[-2], slowest[-1])  # of the others
    saved = slowest[-1] - np.maximum(longest, own - np.maximum(value, 0)[:, None])
    return Excess(value, low, high, stands_out, *_means(saved))


def _median_of_others(own: Floats) -> Floats:
    """For each rank and step the median over the other ranks: one that stands out does not move its own measure."""
    ranks = len(own)
    place = np.argsort(np.argsort(own, axis=0, kind="stable"), axis=0, kind="stable")
    ordered = np.sort(own, axis=0)
    lower, upper = (ranks - 2) // 2, (ranks - 1) // 2  # ranks of the middle among the others
    below, above = (np.where(place <= middle, middle + 1, middle) for middle in (lower, upper))
    return np.asarray((np.take_along_axis(ordered, below, 0) + np.take_along_axis(ordered, above, 0)) / 2)


def _without_outliers(values: Floats) -> Floats:
    """A step that lasts far longer, such as one that writes a checkpoint, counts as the longest usual one."""
    centre = np.median(values, axis=1, keepdims=True)
    reach = 3 * _MAD_TO_DEVIATION * np.median(np.abs(values - centre), axis=1, keepdims=True)
    return np.clip(values, centre - reach, centre + reach)


def _means(values: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean of each row with its 95 % interval, which knows how alike neighbouring steps are."""
    ranks, steps = values.shape
    shift = float(values.min())
    found = find_means(np.repeat(np.arange(ranks), steps), (values - shift).ravel(), ranks)
    return found.value + shift, found.low + shift, found.high + shift


def _limit(value: Floats, half: Floats, step: float, steps: int) -> Floats:
    """The excess that the largest of so many ranks has by chance in one job of twenty."""
    from scipy import special  # here, since what finds no stragglers should not wait

    ranks = len(value)
    deviation = _MAD_TO_DEVIATION * float(np.median(np.abs(value - np.median(value))))
    freedom = _MAD_EFFICIENCY * (ranks - 1) if ranks > 2 else 0.0  # two are as far from each other
    usual = USUAL_SPREAD * step * math.sqrt(1 + 1 / (ranks - 1))
    spread = math.sqrt((USUAL_FREEDOM * usual**2 + freedom * deviation**2) / (USUAL_FREEDOM + freedom))
    reach = special.stdtrit(USUAL_FREEDOM + freedom, 1 - LEVEL / ranks) * spread
    own = half / special.stdtrit(steps - 1, 0.975) * special.stdtrit(steps - 1, 1 - LEVEL / ranks)
    return np.asarray(np.hypot(reach, own))
