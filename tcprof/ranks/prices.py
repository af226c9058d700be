"""What a step of a job would save if a slow rank were as fast as the others."""

from dataclasses import dataclass

import numpy as np

from tcprof.arrays import Floats
from tcprof.ranks.stragglers import Excess, find_means_of_ranks

RESOLVED = 3.0  # an end of the interval that is further off than by this factor leaves the price unresolved


@dataclass(frozen=True)
class Prices:
    """Of each rank what a mean step of the job would save, in ns; unresolved ones are NaN but have an interval."""

    value: Floats
    low: Floats
    high: Floats


def price_ranks(own: Floats, cpu: Floats, busy: Floats, found: Excess) -> Prices:
    """Price the ranks of one group: each step would last as long as its slowest rank would without waiting.

    A rank's own time is not all of that: while its GPU waits, its CPU runs ahead, and the launches of its next step
    are there early. Without waiting, its step takes at least as long as its CPU works. On the other side, recording
    slows the CPU: unprofiled, it takes at least as long as its GPU works. The price is by the former, and its interval
    reaches from that to the latter.

    Args:
        own: Own times in ns, a row for each rank and a column for each step.
        cpu: How long the rank's CPU works in the step; NaN where not known.
        busy: How long its GPU works, without waiting.
        found: How much longer each rank's own time is.
    """
    if np.isnan(found.value).any():
        return Prices(*(np.full(len(own), np.nan) for _ in range(3)))
    slowest = own.max(axis=0)
    excess = np.maximum(found.value, 0)[:, None]
    # As fast as the others, its steps would still vary as they do: each is shorter by the same.
    saved, least = (
        find_means_of_ranks(
            slowest - np.maximum(_longest_of_others(np.minimum(np.fmax(own, times), slowest)), own - excess)
        )
        for times in (cpu, np.where(np.isnan(cpu), np.inf, cpu))
    )
    most = find_means_of_ranks(slowest - np.maximum(_longest_of_others(busy), busy - excess))
    slower = found.value > 0
    value, low, high = (np.where(slower, each, 0.0) for each in (saved[0], np.minimum(least[1], saved[0]), most[2]))
    unresolved = (low < value / RESOLVED) | ((value > 0) & (high > RESOLVED * value))
    return Prices(np.where(unresolved, np.nan, value), low, high)


def _longest_of_others(times: Floats) -> Floats:
    """For each rank and step the longest time of the other ranks."""
    ordered = np.sort(times, axis=0)
    return np.asarray(np.where(times == ordered[-1], ordered[-2], ordered[-1]))
