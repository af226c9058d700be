"""What a step of a job would save if slow ranks were as fast as the others."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tcprof.arrays import Floats
from tcprof.ranks.stragglers import Excess, find_means_of_ranks, mean_excess

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

    own: Floats  # without waiting
    cpu: Floats  # how long the rank's CPU works in the step; NaN where not known
    busy: Floats  # how long its GPU works, without waiting
    held: Floats  # of both, what its kernels took longer, at most, beside collectives that waited


def price_ranks(times: Times, found: Excess) -> Prices:
    """Price each rank alone: each step would last as long as its slowest rank would without waiting.

    A rank's own time is not all of that: while its GPU waits, its CPU runs ahead, and the launches of its next step
    come early. Without waiting, its step takes at least as long as its CPU works. But recording slows the CPU:
    unprofiled, the step may take only as long as its GPU works. And collectives that wait hold SMs, which slows the
    kernels beside them by up to ``held``. The price takes the recorded CPU and half of ``held``. Its interval reaches
    from the recorded CPU and nothing of ``held`` to the GPU alone and all of it.
    """
    if np.isnan(found.value).any():
        return Prices(*(np.full(len(times.own), np.nan) for _ in range(3)))
    prices = _price(times, _longest_of_others, lambda rows: rows)
    slower = found.value > 0
    return Prices(*(np.where(slower, each, 0.0) for each in (prices.value, prices.low, prices.high)))


def price_together(times: Times, found: Excess) -> Prices:
    """Price all ranks that stand out at once: of several that are equally slow, one alone saves nothing."""
    out = found.stands_out
    return _price(times, lambda rows: rows[~out].max(axis=0)[None], lambda rows: rows[out].max(axis=0)[None])


def _price(times: Times, of_others: Callable[[Floats], Floats], of_slow: Callable[[Floats], Floats]) -> Prices:
    """Prices from what takes the longest time in each step, of the ranks that stay and of those that get faster."""
    slowest = times.own.max(axis=0)
    known = ~np.isnan(times.cpu)

    def save(own: Floats, others: Floats, alone: Floats) -> tuple[Floats, Floats, Floats]:
        # As fast as the others, its steps would still vary as they do: each is shorter by the same.
        faster = of_slow(alone - np.maximum(mean_excess(own), 0)[:, None])
        return find_means_of_ranks(slowest - np.maximum(of_others(np.minimum(others, slowest)), faster))

    own = times.own - times.held / 2
    value = save(own, np.where(known, np.maximum(own, times.cpu), own), own)[0]
    low = save(times.own, np.where(known, np.maximum(times.own, times.cpu), np.inf), times.own)[1]
    busy = times.busy - times.held
    high = save(times.own - times.held, busy, busy)[2]
    low, high = np.minimum(low, value), np.maximum(high, value)
    unresolved = (low < value / RESOLVED) | ((value > 0) & (high > RESOLVED * value))
    return Prices(np.where(unresolved, np.nan, value), low, high)


def _longest_of_others(times: Floats) -> Floats:
    """For each rank and step the longest time of the other ranks."""
    ordered = np.sort(times, axis=0)
    return np.asarray(np.where(times == ordered[-1], ordered[-2], ordered[-1]))
