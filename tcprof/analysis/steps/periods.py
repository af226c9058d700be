"""The period of a sequence: where what repeats begins, each time, though some of it differs now and then.

What is done over and over again leaves anchors: short runs of elements that come back at the same distance, once in
each repetition. An inner loop, such as the layers of a step, has anchors too, but its repetitions stop and resume: the
outer loop repeats what comes between. But for sorting, the time taken is linear in the length.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import index_in_runs
from tcprof.arrays import Bools, Floats, Ints

FEWEST_PERIODS = 3
LEAST_COVER = 0.5  # of the weight, that the repetitions have to hold
_MANY, _COVER_OF_FEW = 5, 0.75  # fewer repetitions have to hold so much: layers of one step repeat a few times, too
_RUN = 4  # elements of an anchor, where a period has so many
_MOST_LENGTHS = 12  # lengths of a period that are tried, for each length of an anchor
_TOLERANCE = 0.03  # of a period's length: by so much repetitions differ
_LEAST_GAIN = 0.01  # of the weight, that a longer period has to repeat and a shorter one does not
_HALF = 0.5
_ALIKE = 0.01  # of the weight: anchors that cover as much
_MOST_MISSED = 4  # repetitions whose anchors are filled in between two others
_LONGEST = 1.5  # periods: what reaches further is followed by something else


@dataclass(frozen=True)
class Sequence:
    """A sequence to search for repetitions."""

    elements: Ints  # numbers that stand for the elements, from 0
    kinds: Ints  # coarser numbers, without details
    weight: Floats
    starting: Bools  # elements that may begin a repetition
    several: Bools  # elements that stand for several unknown things
    whole: Bools  # elements that a step has, and its layers have not: an optimizer, or what follows a copy or a wait


@dataclass(frozen=True)
class _Runs:
    """The runs of some length: a number for each, by its first element; and those that recur."""

    size: int
    number: Ints
    here: Ints
    next_one: Ints


@dataclass(frozen=True)
class _Period:
    """A period of about some length."""

    length: int  # that length
    runs: _Runs  # runs as long as it allows, to find repeated elements
    anchors: _Runs  # the runs that its anchor is one of
    anchor: int  # number of the run whose repetitions cover most of the weight
    cover: float  # that share


def find_repetitions(sequence: Sequence) -> tuple[Ints, Ints]:
    """Find first element and end of each repetition of the longest period that explains more than any shorter one.

    The one that covers most, where that one does not hold most of the weight: a program may have two loops. None where
    fewer than three do.
    """
    none = np.empty(0, dtype=np.int64)
    if len(sequence.elements) < FEWEST_PERIODS or not sequence.weight.sum() > 0:
        return none, none
    periods = [one for one in _list_periods(sequence) if one.cover >= LEAST_COVER and _is_mixed(sequence, one)]
    if not periods:
        return none, none
    chosen = reduce(lambda short, long: long if _explains_more(sequence, short, long) else short, periods)
    total = np.append(0, np.cumsum(sequence.weight))
    for period in (chosen, max(periods, key=lambda one: one.cover)):
        candidates = [_cut(start, period.length, len(sequence.elements)) for start in _list_begins(sequence, period)]
        start, end = max(candidates, key=lambda part: len(part[0]))  # the first of those with as many
        least = LEAST_COVER if len(start) >= _MANY else _COVER_OF_FEW
        if len(start) >= FEWEST_PERIODS and (total[end] - total[start]).sum() >= least * total[-1]:
            return start, end
    return none, none


def _is_mixed(sequence: Sequence, period: _Period) -> bool:
    """Tell whether it recurs often enough, with more than one kind in most repetitions."""
    first = _find_anchors(period)
    last = np.minimum(first + period.length, len(sequence.kinds)) - 1
    differing = np.cumsum(np.diff(sequence.kinds, prepend=sequence.kinds[0]) != 0)
    several = np.append(0, np.cumsum(sequence.several))
    mixed = (differing[last] > differing[first]) | (several[last + 1] > several[first])
    return len(first) >= FEWEST_PERIODS and bool(mixed.mean() >= _HALF)


def _explains_more(sequence: Sequence, short: _Period, long: _Period) -> bool:
    """Tell whether the longer period repeats most of what the shorter one does not, and that is something else.

    Where nothing shows that the shorter one is a whole step, anything more will do.
    """
    if long.cover < short.cover:  # that repeats elsewhere
        return False
    if long.length < 2 * short.length:
        return long.cover > short.cover
    repeated, weight = _find_repeated(short), sequence.weight
    added = _find_repeated(long) & ~repeated
    gain, missing = weight[added].sum(), weight[~repeated].sum()
    if not _is_whole(sequence, short):
        return bool(gain > 0)
    if gain < max(_LEAST_GAIN * weight.sum(), _HALF * missing):
        return False
    is_repeated = np.zeros(int(sequence.elements.max()) + 1, dtype=bool)
    is_repeated[sequence.elements[repeated]] = True
    return bool(weight[added & is_repeated[sequence.elements]].sum() < _HALF * gain)


def _is_whole(sequence: Sequence, period: _Period) -> bool:
    """Tell whether most repetitions hold what a step has once: see ``Sequence.whole``."""
    first = _find_anchors(period)
    total = np.append(0, np.cumsum(sequence.whole))
    return bool((total[np.minimum(first + period.length, len(sequence.whole))] > total[first]).mean() >= _HALF)


def _list_periods(sequence: Sequence) -> Iterator[_Period]:
    """List the best period of each length at which many runs recur, shortest first."""
    total = np.append(0.0, np.cumsum(sequence.weight)) / sequence.weight.sum()
    runs = {size: _number_runs(sequence.elements, size) for size in range(1, _RUN + 1)}
    for length in sorted({length for size in (1, _RUN) for length in _frequent_distances(runs[size])}):
        longest = runs[min(_RUN, length)]
        measured = [(*_measure(run_set, length, total), run_set) for run_set in (longest, runs[1])]
        anchor, cover, anchors = max(measured, key=lambda part: part[1])
        yield _Period(length, longest, anchors, anchor, cover)


def _number_runs(elements: Ints, size: int) -> _Runs:
    """Number the runs of so many elements; those that the end cuts are unique."""
    number = elements.astype(np.int64)
    for ahead in range(1, min(size, len(elements))):
        following = np.append(elements[ahead:], -1 - np.arange(ahead)) + ahead
        number = pd.factorize(number * (int(elements.max()) + ahead + 1) + following)[0].astype(np.int64)
    order = np.argsort(number, kind="stable")
    again = np.flatnonzero(number[order[1:]] == number[order[:-1]])
    return _Runs(size, number, order[again], order[again + 1])


def _frequent_distances(runs: _Runs) -> Iterator[int]:
    """List the distances at which most runs recur, without those within the tolerance of another."""
    count = np.bincount(runs.next_one - runs.here, minlength=1)
    distance = np.flatnonzero(count)
    slack = (distance * _TOLERANCE).astype(np.int64)
    before = np.append(0, np.cumsum(count))
    near = before[np.minimum(distance + slack + 1, len(count))] - before[distance - slack]
    for _ in range(min(_MOST_LENGTHS, len(distance))):
        index = int(np.argmax(near))
        if near[index] < 0:
            return
        yield int(distance[index])
        near[np.abs(distance - distance[index]) <= slack[index]] = -1


def _measure(runs: _Runs, length: int, total: Floats) -> tuple[int, float]:
    """Find the best anchor of a period of about that length, and its cover."""
    regular = np.abs(runs.next_one - runs.here - length) <= int(length * _TOLERANCE)
    here, next_one = runs.here[regular], runs.next_one[regular]
    cover = np.bincount(runs.number[here], total[next_one] - total[here], minlength=int(runs.number.max()) + 1)
    is_last = np.zeros(len(total) - 1, dtype=bool)
    is_last[next_one] = True
    is_last[runs.here] = False
    last = np.flatnonzero(is_last)
    cover += np.bincount(
        runs.number[last], total[np.minimum(last + length, len(total) - 1)] - total[last], minlength=len(cover)
    )
    # Of anchors that cover as much, the one that occurs least often is the likeliest to occur once in a repetition.
    often = np.bincount(runs.number, minlength=len(cover))
    anchor = int(np.argmin(np.where(cover >= cover.max() - _ALIKE, often, len(total) + 1)))
    return anchor, float(cover[anchor])


def _find_repeated(period: _Period) -> Bools:
    """Find the elements of all runs that recur at about the period's distance."""
    number, count = period.runs.number, len(period.runs.number)
    slack = int(period.length * _TOLERANCE)
    order = np.argsort(number, kind="stable")
    key = number[order] * 2 * count + order  # sorted, since the positions of a run are in order
    target = key + period.length
    position = np.searchsorted(key, target - slack)
    again = np.flatnonzero(key[np.minimum(position, count - 1)] <= target + slack)
    again = again[position[again] < count]
    inside = np.zeros(count + period.runs.size, dtype=bool)
    for ahead in range(period.runs.size):
        inside[order[again] + ahead] = True
        inside[order[position[again]] + ahead] = True
    return inside[:count]


def _find_anchors(period: _Period) -> Ints:
    """Find where the anchor is; of several close by, the last one."""
    anchors = np.flatnonzero(period.anchors.number == period.anchor)
    return np.asarray(anchors[np.append(np.diff(anchors) >= _HALF * period.length, True)])


def _list_begins(sequence: Sequence, period: _Period) -> Iterator[Ints]:
    """List where each repetition may begin, the likeliest first: a period has no beginning."""
    anchor, run = _find_anchors(period), _number_runs(sequence.elements, min(_RUN, period.length)).number
    low = max(0, int(anchor[0] - _LONGEST * period.length))
    marked = np.flatnonzero(sequence.starting)
    latest = np.append(-len(run), marked)[np.searchsorted(marked, anchor, side="right")]
    if (anchor - latest <= period.length).mean() >= _HALF:
        yield _occurrences_before(marked, low, anchor)
    often = np.bincount(run[anchor[0] : anchor[-1]], minlength=int(run.max()) + 1) >= _HALF * len(anchor)
    first = low + int(np.argmax(often[run[low : anchor[0] + 1]]))
    yield _occurrences_before(np.flatnonzero(run == run[first]), first, anchor)


def _occurrences_before(positions: Ints, first: int, anchor: Ints) -> Ints:
    """Find the position that begins each anchor's repetition: as many before it as in the first one."""
    reached = np.searchsorted(positions, anchor, side="right")
    ahead = int(reached[0] - np.searchsorted(positions, first))
    usual = int(np.median(np.diff(reached)))
    index = reached - max(1, min(ahead, usual))
    return np.unique(positions[index[index >= 0]])


def _cut(start: Ints, length: int, count: int) -> tuple[Ints, Ints]:
    """Cut repetitions at their first elements: each reaches to the next one, or as far as usual."""
    gap = np.diff(start)
    near = gap[gap <= _LONGEST * length]
    if not len(near):
        return start[:0], start[:0]
    usual = int(np.median(near))
    # Where an anchor was missing, the distance is that of several repetitions.
    missed = (gap % usual == 0) & (gap <= _MOST_MISSED * usual) & (usual >= _RUN)
    several = np.append(np.where(missed, gap // usual, 1), 1)
    start = np.repeat(start, several) + usual * index_in_runs(several)
    gap = np.append(np.diff(start), usual)
    end = np.minimum(start + np.where(gap <= _LONGEST * usual, gap, usual), count)
    whole = end - start >= (1 - 2 * _TOLERANCE) * np.minimum(usual, gap)
    return start[whole], end[whole]
