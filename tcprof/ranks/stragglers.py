"""Find the ranks that slow the others down, and what they cost.

A rank stands out if its own time is longer than the group's median by more than its steps vary, and by more than GPUs
of one kind differ. Of jobs without any, at most one in twenty is accused of having one: both limits are for the
largest of all ranks. Where the CPU sets the pace, own times vary too much for that, and compute is judged the same way.
"""

from collections.abc import Callable
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


def find_pace(own_ns: Floats, cpu: Floats, step_ns: Floats) -> Floats:
    """Find how long each step takes at least without waiting: a wait of the GPU hides what the CPU needs meanwhile."""
    return np.fmax(own_ns, np.minimum(cpu, step_ns))


def find_stragglers(own_ns: Floats) -> Excess:
    """Judge the ranks of one group by times in ns, all known, a row for each rank and a column for each step."""
    ranks, steps = own_ns.shape
    unknown = np.full(ranks, np.nan)
    if ranks < 2 or steps < FEWEST_STEPS:
        return Excess(unknown, unknown, unknown, np.zeros(ranks, dtype=bool))
    longer = _compare_with_others(own_ns)
    value, low, high = find_means_of_ranks(longer)
    step = float(np.median(own_ns))
    limit = _limit(value, _variances_of_means(longer, np.minimum(value - low, high - value)), step)
    stands_out = (value > limit) & (value > LEAST_EXCESS * step) & (low > 0)
    return Excess(value, low, high, stands_out)


def find_more_compute(own_excess: Excess, compute: Floats, held: Floats) -> Excess:
    """Judge the ranks of one group by their compute, where none stands out by its own time.

    A rank that waits longer than the others does not hold them up, and collectives that wait slow the kernels beside
    them: no rank stands out that waits longer, exposed or not.

    Args:
        own: What ``find_stragglers`` finds in their own times.
        compute: As there, the times in which kernels other than NCCL's ran.
        held: Of these, what kernels took longer, at most, beside collectives that waited.
    """
    excess = find_stragglers(compute)
    if own_excess.stands_out.any() or not excess.stands_out.any():
        return replace(excess, stands_out=np.zeros_like(excess.stands_out))
    may_be_slow = (own_excess.value > 0) & (
        own_excess.high >= excess.low
    )  # else its own time shows that compute is not what counts
    return replace(excess, stands_out=excess.stands_out & may_be_slow & (mean_excess(held) <= 0))


def mean_excess(times: Floats) -> Floats:
    """Average how much longer each rank's own time is than the median of the others."""
    return np.asarray(_compare_with_others(times).mean(axis=1))


def _compare_with_others(times: Floats) -> Floats:
    return _without_outliers(times - _median_of_others(times))


def _median_of_others(times: Floats) -> Floats:
    """Take the median over the other ranks: one that stands out does not move its own measure."""
    ranks = len(times)
    position = np.argsort(np.argsort(times, axis=0, kind="stable"), axis=0, kind="stable")
    ordered = np.sort(times, axis=0)
    lower, upper = (ranks - 2) // 2, (ranks - 1) // 2  # ranks of the middle among the others
    below, above = (np.where(position <= middle, middle + 1, middle) for middle in (lower, upper))
    return np.asarray((np.take_along_axis(ordered, below, 0) + np.take_along_axis(ordered, above, 0)) / 2)


def _without_outliers(values: Floats) -> Floats:
    """Shorten steps that last far longer, such as one that writes a checkpoint, to the longest usual one."""
    centre = np.median(values, axis=1, keepdims=True)
    reach = 3 * _MAD_TO_DEVIATION * np.median(np.abs(values - centre), axis=1, keepdims=True)
    return np.clip(values, centre - reach, centre + reach)


def find_means_of_ranks(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Average each row, with a 95 % interval that knows how alike neighbouring steps are."""
    ranks, steps = values.shape
    shift = float(values.min())
    means = find_means(np.repeat(np.arange(ranks), steps), (values - shift).ravel(), ranks)
    return means.value + shift, means.low + shift, means.high + shift


def _variances_of_means(values: Floats, half: Floats) -> Floats:
    """Estimate each mean's variance; how alike neighbouring steps are is much the same on all ranks."""
    from scipy import special  # here, since what finds no stragglers should not wait

    steps = values.shape[1]
    independent = values.var(axis=1, ddof=1) / steps
    seen = (half / special.stdtrit(steps - 1, 0.975)) ** 2
    varies = independent > 0
    return np.asarray(independent * (float(np.median(seen[varies] / independent[varies])) if varies.any() else 1.0))


def _limit(value: Floats, noise: Floats, step: float) -> Floats:
    """Compute the excess that the largest of so many ranks has by chance in a share ``LEVEL`` of jobs.

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
    """Mirror the values up to the median, so that slow ranks, though many, widen no spread."""
    centre = np.median(values)
    fast = values[values <= centre]
    return np.concatenate([fast, 2 * centre - fast])


def _biweight_variance(values: Floats) -> float:
    """Estimate the variance of most of the values (Mosteller and Tukey 1977, biweight midvariance)."""
    off = values - np.median(values)
    deviation = float(np.median(np.abs(off)))
    if deviation == 0:
        return 0.0
    square = np.minimum((off / (_REACH * deviation)) ** 2, 1)
    return float(len(values) * (off**2 * (1 - square) ** 4).sum() / ((1 - square) * (1 - 5 * square)).sum() ** 2)


RESOLVED = 3.0  # an end of the interval that is further off than by this factor leaves the price unresolved


@dataclass(frozen=True)
class Prices:
    """What a mean step of the job would save, in ns, by rank; unresolved ones are NaN but have an interval."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Times:
    """The times of the ranks of one group, in ns: a row for each rank and a column for each step."""

    own_ns: Floats  # without waiting
    cpu: Floats  # how long the rank's CPU works in the step; NaN where not known
    busy: Floats  # how long its GPU works, without waiting
    held: Floats  # of both, what its kernels took longer, at most, beside collectives that waited


@dataclass(frozen=True)
class Profiling:
    """What recording adds, in ns, to a mean step of the job, and at most to each rank's excess; else 0."""

    step_ns: float
    excess_ns: Floats


def price_ranks(times: Times, excess: Excess, profiling: Profiling) -> Prices:
    """Price each rank alone: each step would last as long as its slowest rank would without waiting.

    A rank's own time is not all of that: while its GPU waits, its CPU runs ahead, and the launches of its next step
    come early. Without waiting, its step takes at least as long as its CPU works. But recording slows the CPU:
    unprofiled, the step may take only as long as its GPU works. And collectives that wait hold SMs, which slows the
    kernels beside them by up to ``held``. The price takes the recorded CPU and half of ``held``. Its interval reaches
    from the recorded CPU and nothing of ``held`` to the GPU alone and all of it. Where unprofiled steps were timed, it
    is of these: at most what is left of one above the GPU's work, at least what recording did not cause.
    """
    if np.isnan(excess.value).any():
        return Prices(*(np.full(len(times.own_ns), np.nan) for _ in range(3)))
    prices = _price(times, profiling, _longest_of_others, lambda rows: rows)
    slower = excess.value > 0
    return Prices(*(np.where(slower, ends, 0.0) for ends in (prices.value, prices.low, prices.high)))


def price_together(times: Times, excess: Excess, profiling: Profiling) -> Prices:
    """Price all ranks that stand out at once: of several that are equally slow, one alone saves nothing."""
    slow = excess.stands_out
    most = Profiling(profiling.step_ns, profiling.excess_ns[slow].max(keepdims=True))
    return _price(times, most, lambda rows: rows[~slow].max(axis=0)[None], lambda rows: rows[slow].max(axis=0)[None])


def _price(
    times: Times, profiling: Profiling, of_others: Callable[[Floats], Floats], of_slow: Callable[[Floats], Floats]
) -> Prices:
    """Price from what takes the longest time in each step: ranks that stay, and those that get faster."""
    slowest = times.own_ns.max(axis=0)
    has_cpu = ~np.isnan(times.cpu)

    def save(own_ns: Floats, stay_ns: Floats, alone: Floats) -> tuple[Floats, Floats, Floats]:
        # As fast as the others, its steps would still vary as they do: each is shorter by the same.
        faster = of_slow(alone - np.maximum(mean_excess(own_ns), 0)[:, None])
        return find_means_of_ranks(slowest - np.maximum(of_others(np.minimum(stay_ns, slowest)), faster))

    own_ns = times.own_ns - times.held / 2
    value = save(own_ns, np.where(has_cpu, np.maximum(own_ns, times.cpu), own_ns), own_ns)[0]
    low = save(times.own_ns, np.where(has_cpu, np.maximum(times.own_ns, times.cpu), np.inf), times.own_ns)[1]
    busy = times.busy - times.held
    high = save(times.own_ns - times.held, busy, busy)[2]
    high = np.maximum(np.maximum(high, value) - profiling.step_ns, 0)
    value = np.minimum(value, high)
    low = np.minimum(np.maximum(np.minimum(low, value) - profiling.excess_ns, 0), value)
    unresolved = (low < value / RESOLVED) | ((value > 0) & (high > RESOLVED * value))
    return Prices(np.where(unresolved, np.nan, value), low, high)


def _longest_of_others(times: Floats) -> Floats:
    """Find the longest time of the other ranks, for each rank and step."""
    ordered = np.sort(times, axis=0)
    return np.asarray(np.where(times == ordered[-1], ordered[-2], ordered[-1]))
