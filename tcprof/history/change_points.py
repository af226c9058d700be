"""Where a series of recordings changes its level; ``docs/history.md`` has the method and how it was measured.

A step is where E-divisive (Matteson and James, J. Am. Stat. Assoc. 109, 2014) places it. Whether it is one, a t test
says: with the noise and the autocorrelation of the whole series, and for the best of all places (Miller and Siegmund,
Biometrics 38, 1982). A permutation test would take neighbours for independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special

from tcprof.arrays import Bools, Floats

Verdict = Literal["too few", "steady", "changed", "unconfirmed"]

LEAST = 3  # recordings of a level
FEWEST = 12  # recordings whose noise and autocorrelation are known; with repeats of commits fewer do
FEWEST_OF_SPELL = 24  # recordings in which two steps at once are looked for
FEWEST_REPEATS = 5  # degrees of freedom between repeats of one commit from which on these tell the noise
FALSE_ALARMS = 0.03  # chance of a step where there is none, over a series, or the share of false ones over several
LARGEST_CORRELATION = 0.9
_FEW = 7  # of so many recordings a correlation may be anything
ROUNDING = 1e-9
_BLOCK = 64
_LOWER = np.tri(_BLOCK)
# A few runs are far off. Values are held within this many deviations of the median of their neighbours; one that is
# twice as far says nothing of the level, and counts as that median. LEAST alike ones in a row are a level themselves.
FARTHEST, NEIGHBOURS = 2.5, 7
_OF_END = 2 * LEAST - 1
_MEDIAN_DEVIATION = 0.6745 * 0.87  # of normal values, from the median of 7 neighbours that they are among


@dataclass(frozen=True)
class Change:
    """A step from one level to another."""

    index: int  # first recording of the new level
    before: float  # level up to it, in the unit of the values
    after: float  # level from it on
    p_value: float  # how often noise alone would show such a step anywhere in the stretch between its neighbours
    accepted: bool  # whether somebody has accepted the new level


@dataclass(frozen=True)
class Trend:
    """The levels of a series."""

    verdict: Verdict
    changes: tuple[Change, ...]
    level: float  # of the last stretch; NaN without any value
    low: float  # lower end of its 95 % interval, NaN where the noise is not known
    high: float  # its upper end
    spread: float  # deviation from one recording to the next, relative to the level where all values are above 0
    correlation: float  # of neighbours
    # The first of fewer than LEAST recordings at the end that are off the level; further ones would confirm a step.
    candidate: int | None = None

    @property
    def wanted(self) -> int:
        """Return how many recordings of the newest program would decide about the candidate."""
        return 0 if self.candidate is None else LEAST


@dataclass(frozen=True)
class _Series:
    """Values as they are tested."""

    is_log: bool  # whether they are logarithms, since all are above 0
    raw: Floats
    held: Floats  # the same without their outliers
    between: Bools  # whether a step may lie before each: not between recordings of one commit
    repeats: tuple[float, int]  # variance between recordings of one commit, and its degrees of freedom
    fixed: tuple[int, ...]  # where accepted levels begin
    # By the borders of a stretch the best place for a step in it; -1 for none.
    _best: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, values: Floats, commits: Sequence[object] | None, fixed: Sequence[int]) -> "_Series":
        is_log = bool((values > 0).all())
        raw = np.log(values) if is_log else values
        held = _hold_outliers(raw)
        # A recording without a commit is the only one of its program.
        names = [str(commit or number) for number, commit in enumerate(commits or [None] * len(raw))]
        code = np.unique(names, return_inverse=True)[1]
        count = np.bincount(code)
        rest = held - (np.bincount(code, held) / count)[code]
        freedom = len(held) - len(count)
        repeats = (float((rest**2).sum()) / max(freedom, 1), freedom)
        return cls(is_log, raw, held, np.diff(code, prepend=-1) != 0, repeats, tuple(sorted(set(fixed))))

    @property
    def is_known(self) -> bool:
        """Tell whether the noise is known."""
        return len(self.held) >= (2 * LEAST if self.repeats[1] >= FEWEST_REPEATS else FEWEST)

    def best_place(self, first: int, last: int) -> int:
        """Find the cut of E-divisive in a stretch; -1 for none."""
        if (first, last) not in self._best:
            candidates = np.arange(first + LEAST, last - LEAST + 1)
            energy = np.where(self.between[candidates], _energies(self.held[first:last]), -np.inf)
            best = int(candidates[np.argmax(energy)])
            self._best[first, last] = best if self.between[best] else -1
        return self._best[first, last]

    def in_unit(self, value: float) -> float:
        """Convert a tested value back into the unit that it was given in."""
        return float(np.exp(value)) if self.is_log else float(value)


@dataclass(frozen=True)
class _Noise:
    variance: float
    correlation: float
    freedom: float

    def of_mean(self, count: int) -> float:
        """Compute the variance of the mean of so many neighbours."""
        lag = np.arange(1, count)
        return self.variance / count * float(1 + 2 * ((1 - lag / count) * self.correlation**lag).sum())

    def score(self, shift: float, before: int, after: int) -> float:
        """Score a shift of means in deviations of a normal value, from Student's t."""
        error = np.sqrt(self.of_mean(before) + self.of_mean(after))
        if abs(shift) <= ROUNDING or error == 0:
            return 0.0 if abs(shift) <= ROUNDING else np.inf
        return -float(special.ndtri(special.stdtr(self.freedom, -abs(shift) / error)))


def find_trends(series: Sequence[tuple[Floats, Sequence[object] | None, Sequence[int]]]) -> list[Trend]:
    """Find the levels of several series, each with values, commits and accepted begins; at most 3 % of steps are false.

    By Benjamini and Hochberg (1995).
    """
    tested = [_Series.of(*one) for one in series]
    strongest = [min(_splits(one, one.fixed), default=(1.0, 0))[0] for one in tested if one.is_known]
    level = largest_rejected(np.array(strongest), FALSE_ALARMS)
    return [_find_trend(one, level) for one in tested]


def largest_rejected(p_values: Floats, rate: float) -> float:
    """Compute the p value up to which claims hold, so that at most that rate of them is false."""
    count = max(len(p_values), 1)
    bounds = rate * np.arange(1, count + 1) / count
    met = bounds[: len(p_values)][np.sort(p_values) <= bounds[: len(p_values)]]
    return float(met[-1]) if len(met) else rate / count


def _find_trend(series: _Series, level: float) -> Trend:
    cuts = list(series.fixed)
    while series.is_known and (new_cuts := _find_steps(series, cuts, level)):
        cuts = sorted([*cuts, *new_cuts])
    while loose := [(p, cut) for cut in cuts if cut not in series.fixed and (p := _test(series, cuts, cut)) > level]:
        cuts.remove(max(loose)[1])
    stretches = np.split(series.held, cuts)
    levels = [series.in_unit(part.mean()) if len(part) else np.nan for part in stretches]
    changes = tuple(
        Change(cut, levels[number], levels[number + 1], _test(series, cuts, cut), cut in series.fixed)
        for number, cut in enumerate(cuts)
    )
    if not series.is_known:
        return Trend("too few", changes, levels[-1], np.nan, np.nan, np.nan, np.nan)
    noise = _measure_noise(series, cuts)
    candidate = _find_candidate(series, cuts, noise, level)
    reach = special.stdtrit(noise.freedom, 0.975) * np.sqrt(noise.of_mean(len(stretches[-1])))
    low, high = (series.in_unit(stretches[-1].mean() + side * reach) for side in (-1, 1))
    changed = any(not change.accepted for change in changes)
    verdict: Verdict = "changed" if changed else "steady" if candidate is None else "unconfirmed"
    spread = float(np.sqrt(noise.variance))
    return Trend(verdict, changes, levels[-1], low, high, spread, noise.correlation, candidate)


def _find_steps(series: _Series, cuts: Sequence[int], level: float) -> tuple[int, ...]:
    """Find the next step; or two, as each end of a spell hides the other one while it counts as noise."""
    splits = sorted(_splits(series, cuts))
    if splits and splits[0][0] <= level:
        return (splits[0][1],)
    for _, first in splits if len(series.held) >= FEWEST_OF_SPELL else ():
        p_value, second = min(_splits(series, sorted([*cuts, first])), default=(1.0, 0))
        worse = max(p_value, _test(series, [*cuts, first, second], first))
        if len(series.held) * worse <= level:  # either end was the best for each place of the other
            return first, second
    return ()


def _splits(series: _Series, cuts: Sequence[int]) -> list[tuple[float, int]]:
    """Find the best cut in each stretch between the given ones, with its p value."""
    splits = []
    for first, last in pairwise([0, *cuts, len(series.held)]):
        if last - first >= 2 * LEAST and (cut := series.best_place(first, last)) >= 0:
            splits.append((_test(series, cuts, cut), cut))
    return splits


def _energies(values: Floats) -> Floats:
    """Compute Matteson and James' statistic, exponent 1, of each split with LEAST values on both sides."""
    count, values = len(values), values - np.median(values)
    ordered = np.sort(values)
    rank, sums = np.searchsorted(ordered, values), np.append(0, ordered.cumsum())
    to_all = sums[-1] - 2 * sums[rank] + (2 * rank - count) * values  # sum of each one's distances from all
    left = np.arange(LEAST, count - LEAST + 1)
    right, inner, upto = count - left, 2 * _earlier(values).cumsum()[left - 1], to_all.cumsum()[left - 1]
    within = inner / (left * (left - 1)) + (to_all.sum() - 2 * upto + inner) / (right * (right - 1))
    return np.asarray(left * right / count * (2 * (upto - inner) / (left * right) - within))


def _earlier(values: Floats) -> Floats:
    """Sum each value's distances from those before it, by blocks of rows that stay in the CPU's cache."""
    sums = np.empty(len(values))
    for first in range(0, len(values), _BLOCK):
        some = values[first : first + _BLOCK]
        sums[first : first + len(some)] = np.abs(some[:, None] - values[:first]).sum(axis=1)
        inner = np.abs(some[:, None] - some) * _LOWER[: len(some), : len(some)]
        sums[first : first + len(some)] += inner.sum(axis=1)
    return sums


def _test(series: _Series, cuts: Sequence[int], cut: int) -> float:
    """Compute the p value of a step, as the best of all cuts between its neighbours."""
    all_cuts = sorted({*cuts, cut})
    borders = [0, *all_cuts, len(series.held)]
    at = borders.index(cut, 1)
    first, last = borders[at - 1], borders[at + 1]
    if min(cut - first, last - cut) < 1:
        return 1.0
    shift = series.held[cut:last].mean() - series.held[first:cut].mean()
    score = _measure_noise(series, all_cuts).score(shift, cut - first, last - cut)
    return _best_of_all(score, last - first)


def _best_of_all(score: float, count: int) -> float:
    """Estimate how often the best of all splits of so many values scores so high: Bonferroni or a closer bound."""
    if not 1.5 < score < np.inf or count < 2 * LEAST:
        return float(np.clip(2 * max(count - 2 * LEAST + 1, 1) * special.ndtr(-score), 0, 1))
    density = np.exp(-(score**2) / 2) / np.sqrt(2 * np.pi)
    closer = density * ((score - 1 / score) * 2 * np.log(count / LEAST - 1) + 4 / score)
    return float(min(closer, 2 * (count - 2 * LEAST + 1) * special.ndtr(-score), 1))


def _measure_noise(series: _Series, cuts: Sequence[int]) -> _Noise:
    """Measure the noise around the levels; no less than between recordings of one commit."""
    stretches = [part for part in np.split(series.held, cuts) if len(part)]
    rest = [part - part.mean() for part in stretches]
    count, levels = len(series.held), len(stretches)
    square = float(sum((part**2).sum() for part in rest))
    freedom = max(count - levels, 1)
    neighbours = max(count - levels, 1)
    product = float(sum((part[1:] * part[:-1]).sum() for part in rest))
    correlation = product / neighbours / (square / count) if square > 0 else 0.0
    # Too low by (1 + 3 r) / n for each level (Marriott and Pope 1954); and half its error more, as it is not certain,
    # which does not suffice for a few recordings.
    correlation = (count * correlation + levels) / max(count - 3 * levels, 1) + 0.5 / np.sqrt(count)
    correlation += (_FEW / count) ** 2
    correlation = float(np.clip(correlation, 0, LARGEST_CORRELATION))
    variance = square / freedom
    independent = max(freedom * (1 - correlation) / (1 + correlation), 2.0)
    if series.repeats[1] >= FEWEST_REPEATS and series.repeats[0] > variance:
        return _Noise(series.repeats[0], correlation, max(independent, series.repeats[1]))
    return _Noise(variance, correlation, independent)


def _find_candidate(series: _Series, cuts: Sequence[int], noise: _Noise, level: float) -> int | None:
    """Find the first of the last recordings that are too few for a level, but off the one before them."""
    first, last = (cuts[-1] if cuts else 0), len(series.raw)
    scores = {
        index: noise.score(
            float(series.raw[index:].mean() - series.held[first:index].mean()), index - first, last - index
        )
        for index in range(max(last - LEAST + 1, first + LEAST), last)
        if series.between[index]
    }
    index = max(scores, key=lambda index: scores[index], default=None)
    if index is None or 2 * (LEAST - 1) * special.ndtr(-scores[index]) > level:
        return None
    return index


def _hold_outliers(values: Floats) -> Floats:
    """Bring values that are far from the median of their neighbours nearer to it.

    At both ends neighbours are the outermost of which most make a level: fewer that are off must not pass for one.
    """
    if len(values) < NEIGHBOURS:
        return values
    inner = np.median(sliding_window_view(values, NEIGHBOURS), axis=1)
    first, last = (np.full(NEIGHBOURS // 2, np.median(part)) for part in (values[:_OF_END], values[-_OF_END:]))
    median = np.concatenate([first, inner, last])
    off = np.abs(values - median)
    reach = FARTHEST * float(np.median(off)) / _MEDIAN_DEVIATION
    sides = np.where(off > reach, np.sign(values - median), 0)
    near = np.ptp(sliding_window_view(values, LEAST), axis=1) <= 2 * reach
    starts = near & (np.abs(sliding_window_view(sides, LEAST).sum(axis=1)) == LEAST)
    held = np.where(off > 2 * reach, median, np.clip(values, median - reach, median + reach))
    return np.where(np.convolve(starts, np.ones(LEAST)) > 0, values, held) if reach > 0 else values
