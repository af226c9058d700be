"""The Mann-Whitney test of many pairs of samples at once: whether the values of one side are the larger ones.

The normal approximation with corrections for ties and continuity, as ``scipy.stats.mannwhitneyu`` has it, to the last
bit: loading ``scipy.stats`` takes longer than all the rest of a small comparison.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from tcprof.arrays import Floats, Ints

MOST_VALUES = 1000  # of a side
EQUAL = 1e-9  # of the largest value: values closer than this are equal


@dataclass(frozen=True)
class Instances:
    """Instances of one side."""

    place: Ints
    values: Floats  # what was measured of each; NaN where that is unknown

    def values_at(self, places: Ints) -> list[Floats]:
        """The known values at each of the places."""
        known = ~np.isnan(self.values)
        place, values = self.place[known], self.values[known]
        order = np.argsort(place, kind="stable")
        ends = [np.searchsorted(place[order], places, side=which) for which in ("left", "right")]
        return [values[order[first:last]] for first, last in zip(*ends, strict=True)]


def mann_whitney(pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The p values of Mann-Whitney tests of pairs of samples; those of equal sizes are tested together.

    Of more than 1000 values only some at equal distances are taken. Values that only rounding errors separate are
    equal: which of them is larger differs between CPUs.
    """
    thinned = [tuple(side[:: max(-(-len(side) // MOST_VALUES), 1)] for side in pair) for pair in pairs]
    p_value = np.full(len(pairs), np.nan)
    by_size: dict[tuple[int, int], list[int]] = {}
    for number, (base, new) in enumerate(thinned):
        if len(base) and len(new):
            by_size.setdefault((len(base), len(new)), []).append(number)
    for numbers in by_size.values():
        base, new = (np.stack([thinned[number][side] for number in numbers]) for side in (0, 1))
        largest = np.maximum(np.abs(base).max(axis=1), np.abs(new).max(axis=1))[:, None]
        equal = np.where(largest > 0, EQUAL * largest, 1.0)
        p_value[numbers] = _test(np.round(base / equal), np.round(new / equal))
    return p_value


def _test(base: Floats, new: Floats) -> Floats:
    """The p values of pairs of samples, a pair a row."""
    count, base_count = base.shape[1] + new.shape[1], base.shape[1]
    both = np.hstack([base, new])
    order = np.argsort(both, axis=1)
    ordered = np.take_along_axis(both, order, axis=1)
    is_first = np.diff(ordered, axis=1, prepend=np.nan) != 0  # of those that are equal
    first = np.flatnonzero(is_first)
    ties = np.diff(first, append=both.size).astype(np.float64)
    rank = np.repeat(first % count + (ties + 1) / 2, ties.astype(np.int64)).reshape(both.shape)
    pairs = base_count * new.shape[1]
    larger = np.where(order < base_count, rank, 0).sum(axis=1) - base_count * (base_count + 1) / 2
    tied = np.bincount(first // count, ties**3 - ties, len(base))
    deviation = np.sqrt(pairs / 12 * ((count + 1) - tied / (count * (count - 1))))
    with np.errstate(divide="ignore"):  # where all are equal
        score = (np.maximum(larger, pairs - larger) - pairs / 2 - 0.5) / deviation
    p_value: Floats = np.clip(2 * special.ndtr(-score), 0.0, 1.0)
    return p_value
