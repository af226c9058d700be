"""Which ranks hold the others up.

A rank stands out if its own time is longer than the group's median by more than its steps vary, and by more than GPUs
of one kind differ. Of jobs without any, at most one in twenty is accused of having one: both limits are for the
largest of all ranks. Where the CPU sets the pace, own times vary too much for that, and compute is judged the same way.
"""

from dataclasses import dataclass, replace

import numpy as np

from tcprof.analysis.samples.interval_estimates import find_means
from tcprof.arrays import Bools, Floats

LEVEL = 0.04  # of jobs; measured, up to 4.9 % of those with 1,024 ranks, and docs/ranks.md promises 5 %
FEWEST_STEPS = 5
# How far GPUs of one kind may be apart in equal work, as a standard deviation in shares of the step time, so that no
# more jobs than LEVEL are wrongly accused; and how many ranks of the job itself outweigh it. Two ranks show no spread.
USUAL_SPREAD, USUAL_FREEDOM = 0.006, 10.0
LEAST_EXCESS = 0.01  # of the step time: less is not worth a search
_MAD_TO_DEVIATION = 1.4826
_REACH = 9.0  # of the biweight, in median deviations: a value further off counts for nothing
_EFFICIENCY = 0.85  # of its spread, against one from squares


@dataclass(frozen=True)
class Excess:
    """How much longer the own time, or the compute, of each rank is than the median of the others of its group."""

    value: Floats
    low: Floats
    high: Floats
    stands_out: Bools  # by more than chance


def find_stragglers(own: Floats) -> Excess:
    """Judge the ranks of one group.

    Args:
        own: Own times in ns, or other times, a row for each rank and a column for each step, all known.
    """
    ranks, steps = own.shape
    unknown = np.full(ranks, np.nan)
    if ranks < 2 or steps < FEWEST_STEPS:
        return Excess(unknown, unknown, unknown, np.zeros(ranks, dtype=bool))
    longer = _compare_with_others(own)
    value, low, high = find_means_of_ranks(longer)
    step = float(np.median(own))
    limit = _limit(value, _variances_of_means(longer, np.minimum(value - low, high - value)), step)
    stands_out = (value > limit) & (value > LEAST_EXCESS * step) & (low > 0)
    return Excess(value, low, high, stands_out)


def find_more_compute(own: Excess, compute: Floats, held: Floats) -> Excess:
    """Judge the ranks of one group by their compute, where none stands out by its own time.

    A rank that waits longer than the others does not hold them up, and collectives that wait slow the kernels beside
    them: no rank stands out that waits longer, exposed or not.

    Args:
        own: What ``find_stragglers`` finds in their own times.
        compute: As there, the times in which kernels other than NCCL's ran.
        held: Of these, what kernels took longer, at most, beside collectives that waited.
    """
    found = find_stragglers(compute)
    if own.stands_out.any() or not found.stands_out.any():
        return replace(found, stands_out=np.zeros_like(found.stands_out))
    may_be_slow = (own.value > 0) & (own.high >= found.low)  # else its own time shows that compute is not what counts
    return replace(found, stands_out=found.stands_out & may_be_slow & (mean_excess(held) <= 0))


def mean_excess(own: Floats) -> Floats:
    """How much longer each rank's own time is than the median of the others, on average over the steps."""
    return np.asarray(_compare_with_others(own).mean(axis=1))


def _compare_with_others(own: Floats) -> Floats:
    return _without_outliers(own - _median_of_others(own))


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


def find_means_of_ranks(values: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean of each row with its 95 % interval, which knows how alike neighbouring steps are."""
    ranks, steps = values.shape
    shift = float(values.min())
    found = find_means(np.repeat(np.arange(ranks), steps), (values - shift).ravel(), ranks)
    return found.value + shift, found.low + shift, found.high + shift


def _variances_of_means(values: Floats, half: Floats) -> Floats:
    """How much each mean varies with the steps; how alike neighbouring steps are is much the same on all ranks."""
    from scipy import special  # here, since what finds no stragglers should not wait

    steps = values.shape[1]
    independent = values.var(axis=1, ddof=1) / steps
    seen = (half / special.stdtrit(steps - 1, 0.975)) ** 2
    varies = independent > 0
    return np.asarray(independent * (float(np.median(seen[varies] / independent[varies])) if varies.any() else 1.0))


def _limit(value: Floats, noise: Floats, step: float) -> Floats:
    """The excess that the largest of so many ranks has by chance in a share ``LEVEL`` of jobs.

    Values differ because GPUs do and because steps do, by ``noise``. Their spread has both; where they are few, what is
    known of both outweighs it. A rank whose own steps vary more than usual needs more.
    """
    from scipy import special

    ranks, usual_noise = len(value), float(np.median(noise))
    usual = (USUAL_SPREAD * step) ** 2 * ranks / (ranks - 1) + usual_noise
    # Two are as far from each other; of more, half the values say how far they are apart.
    freedom = _EFFICIENCY * (ranks - 1) / 2 if ranks > 2 else 0.0
    seen = _biweight_variance(_mirror_fast(value)) * (ranks - 1) / ranks  # each is less the others, not all
    expected = (USUAL_FREEDOM * usual + freedom * seen) / (USUAL_FREEDOM + freedom)
    if freedom > USUAL_FREEDOM:  # so many show their spread themselves: what is assumed must not narrow it
        expected = max(expected, seen)
    reach = special.stdtrit(USUAL_FREEDOM + freedom, 1 - LEVEL / ranks)
    return np.asarray(reach * np.sqrt(expected + np.maximum(noise - usual_noise, 0)))


def _mirror_fast(values: Floats) -> Floats:
    """The values up to the median, and these once more on its other side: slow ranks, though many, widen no spread."""
    centre = np.median(values)
    fast = values[values <= centre]
    return np.concatenate([fast, 2 * centre - fast])


def _biweight_variance(values: Floats) -> float:
    """The variance of most of the values, whatever the rest are (Mosteller and Tukey 1977, biweight midvariance)."""
    off = values - np.median(values)
    deviation = float(np.median(np.abs(off)))
    if deviation == 0:
        return 0.0
    square = np.minimum((off / (_REACH * deviation)) ** 2, 1)
    return float(len(values) * (off**2 * (1 - square) ** 4).sum() / ((1 - square) * (1 - 5 * square)).sum() ** 2)
