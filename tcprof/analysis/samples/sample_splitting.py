"""Cut samples into pieces where launches begin and end, and share each sample's count among its pieces.

A sample of 50 µs holds many kernels. tcprof shares its count among its launches in proportion to the fit; where nothing
was fitted, to the time under them. No moment gets more than full activity: the excess goes to the rest of the sample,
idle time last.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, distinct, index_in_runs, run_starts, search
from tcprof.arrays import Floats, Ints, mapping_of

FIXED_POINT = 2.0**40
LEAST_RATE = 1e-7  # of full activity, for every launch: what a sample counted must be of one of them
ROUNDING = 1e-9  # of full activity: by so much a moment may be above it
SAMPLES_AT_ONCE = 1 << 16
_NO_TIMES = np.empty(0, dtype=np.int64)
NOTHING = StepFunction(_NO_TIMES, _NO_TIMES, np.empty(0))


@dataclass(frozen=True)
class Rates:
    """The launches of one GPU, and how active the tensor pipes were in each."""

    start: Ints  # starts in ns
    end: Ints  # ends in ns
    rate: Floats  # mean Tensor Active of each launch, from 0 to 1
    error: Floats  # standard error of that that all launches of a class have in common
    spread: Floats  # that by which single launches differ
    parts: Ints  # how many equal parts of its time each launch has
    first: Ints  # where the first of these is in ``shape``
    shape: Floats  # rates of parts, over the mean of their launch
    # How much more, with each ns, what launches have counted since they began may be off
    inside: StepFunction = NOTHING
    late_ns: float = 0.0  # by how much samples and launches may be apart in time
    stamp_ns: float = 0.0  # by how much times of single launches are off, at random

    def between(self, low: int, high: int) -> tuple[Ints, Ints, Floats]:
        """Return start, end and rate of all parts of the launches that touch [low, high]."""
        rows = np.flatnonzero((self.end >= low) & (self.start <= high))
        count = self.parts[rows]
        launch = np.repeat(rows, count)
        index = index_in_runs(count)
        start, parts = self.start[launch], self.parts[launch]
        duration = self.end[launch] - start
        begin, finish = (start + duration * step // parts for step in (index, index + 1))
        return begin, finish, self.rate[launch] * self.shape[self.first[launch] + index]


def even_rates(start: Ints, end: Ints, rate: Floats, error: Floats, spread: Floats) -> Rates:
    """Make ``Rates`` of launches with one rate each."""
    one = np.ones(len(start), dtype=np.int64)
    return Rates(start, end, rate, error, spread, one, np.zeros_like(one), np.ones(1))


NO_LAUNCHES = even_rates(_NO_TIMES, _NO_TIMES, np.empty(0), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Pieces:
    """Pieces of samples, cut where launches, or parts of them, begin and end."""

    cut: Ints  # rows of the samples that are cut, ascending
    first: Ints  # the first piece of each of them
    start: Ints  # start of each piece; it lasts until the next one of its sample, or until the sample's end
    share: Floats  # its mean over that of its sample: times the sample's value it is the piece's
    before: Floats  # integral of that over pieces before it. Only differences within a sample mean something.


@dataclass(frozen=True)
class SplitSamples:
    """The samples of one GPU, cut where launches begin and end; as functions of time.

    Most samples of a long recording are not cut: only those that are have pieces.
    """

    start: Ints  # starts of the samples
    end: Ints  # their ends
    pieces: Pieces  # their pieces

    def locate(self, time: Ints) -> "CutPositions":
        """Locate times among the samples and their pieces."""
        number = search(self.start, time, "right")
        sample = np.maximum(number - 1, 0)
        part = np.flatnonzero((number > 0) & (time < self.end[sample]))
        sample, at = sample[part], time[part]
        cut = search(self.pieces.cut, sample)
        inside = np.flatnonzero(np.append(self.pieces.cut, -1)[cut] == sample)
        first = self.pieces.first[cut[inside]]
        piece = search(self.pieces.start, at[inside], "right") - 1
        past = at[inside] - self.pieces.start[piece]
        return CutPositions(number, part, sample, at - self.start[sample], inside, first, piece, past)


class CutPositions(NamedTuple):
    """Positions of times among samples and their pieces."""

    number: Ints  # how many samples begin before each time, or at it
    part: Ints  # those of the times that lie in a sample; the next two have a value for each of these
    sample: Ints  # the sample
    past: Ints  # how much of it lies before the time, in ns
    inside: Ints  # those of them whose sample has pieces; the last three have a value for each of these
    first: Ints  # the first piece of the sample
    piece: Ints  # the piece that the time lies in
    past_piece: Ints  # how much of it lies before the time, in ns


def split_samples(samples: pd.DataFrame, launches: Rates) -> SplitSamples:
    """Cut the samples of one GPU at the borders of its launches, and of their parts; some samples at a time."""
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    value = samples["tensor_active_pct"].to_numpy() / 100
    cuts: dict[str, list[Any]] = {field.name: [] for field in fields(Pieces)}
    count = 0

    def cut_from(first: int) -> Pieces:
        some = slice(first, first + SAMPLES_AT_ONCE)
        parts = launches.between(int(start[some][0]), int(end[some][-1]))
        return _cut(start[some], end[some], value[some], *parts)

    firsts = range(0, len(start), SAMPLES_AT_ONCE)
    with mapping_of(len(firsts)) as map_all:
        for first, pieces in zip(firsts, map_all(cut_from, firsts), strict=True):
            for name, column in vars(replace(pieces, cut=pieces.cut + first, first=pieces.first + count)).items():
                cuts[name].append(column)
            count += len(pieces.start)
    joined = {name: np.concatenate(cuts.pop(name)) for name in tuple(cuts)}  # each freed when it is joined
    return SplitSamples(start, end, Pieces(**joined))


@dataclass(frozen=True)
class LaunchErrors:
    """Errors of the launches' rates, as functions of time on the same steps."""

    launched: StepFunction  # 1 while a launch runs, else 0
    error: StepFunction  # standard error of Tensor Active (0 to 1) that all launches of a class have in common
    spread: StepFunction  # that by which single launches differ
    inside: StepFunction  # see ``Rates``; not on these steps
    late_ns: float  # see ``Rates``
    stamp_ns: float  # see ``Rates``


def launch_errors(launches: Rates) -> LaunchErrors:
    """Estimate the errors of the rates of one GPU's launches; at most 1, as a rate is from 0 to 1."""
    columns = np.ones(len(launches.start)), np.fmin(launches.error, 1.0), np.fmin(launches.spread, 1.0)
    running, error, spread = sum_open(launches.start, launches.end, *columns)
    launched = replace(running, value=(running.value > 0).astype(np.float64))
    return LaunchErrors(launched, error, spread, launches.inside, launches.late_ns, launches.stamp_ns)


def _cut(start: Ints, end: Ints, value: Floats, low: Ints, high: Ints, rate: Floats) -> Pieces:

    borders, (step_rate,) = _sum_open(low, high, rate + LEAST_RATE)
    around = np.searchsorted(start, borders, side="right") - 1
    inside = (around >= 0) & (borders > start[around]) & (borders < end[around])
    inside &= value[around] > 0  # nothing is to be shared in the others, which are most where few kernels use the pipes
    cut = around[inside]
    cut = cut[run_starts(cut)]
    times = distinct(start[cut], end[cut], borders[inside])
    begin, finish = times[:-1], times[1:]
    piece_sample = np.searchsorted(start[cut], begin, side="right") - 1
    is_cut = finish <= end[cut][piece_sample]  # not what lies between samples that are cut
    begin, finish, piece_sample = begin[is_cut], finish[is_cut], piece_sample[is_cut]
    step = np.searchsorted(borders, begin, side="right") - 1
    piece_rate = np.where(step >= 0, step_rate[step], 0.0)
    first = run_starts(piece_sample, piece_rate)  # merges neighbours of one rate
    begin, piece_sample, piece_rate = begin[first], piece_sample[first], piece_rate[first]
    finish = finish[np.append(first[1:], len(finish))[: len(first)] - 1]
    length, whole = (finish - begin).astype(np.float64), value[cut]
    active = _share_out(piece_sample, piece_rate, length, whole)
    share = np.divide(active, whole[piece_sample], out=np.ones(len(begin)), where=whole[piece_sample] > 0)
    before = np.zeros(len(begin))
    np.cumsum((share * length)[:-1], out=before[1:])
    return Pieces(cut, run_starts(piece_sample), begin, share, before)


def _share_out(sample: Ints, rate: Floats, length: Floats, value: Floats) -> Floats:
    """Share Tensor Active (0 to 1) among pieces in proportion to the rates, but none above full activity."""
    most = np.maximum(value, 1.0)
    idle = rate <= 0  # time without any launch has what these cannot have
    remaining = value * np.bincount(sample, length, len(value))
    full = np.zeros(len(sample), dtype=bool)
    while True:  # each pass fills pieces, and a sample is never all full before what it counted is shared out
        is_launched = np.bincount(sample, ~full & ~idle, len(value)) > 0
        rate = np.where(idle, ~is_launched[sample], rate)
        free = np.bincount(sample, rate * length * ~full, len(value))
        scale = np.divide(remaining, free, out=np.zeros(len(value)), where=free > 0)
        active: Floats = np.where(full, most[sample], rate * scale[sample])
        over = ~full & (active > most[sample] + ROUNDING)
        if not over.any():
            return active
        full |= over
        remaining = remaining - most * np.bincount(sample, length * over, len(value))


def sum_open(low: Ints, high: Ints, *values: Floats) -> list[StepFunction]:
    """Sum each of some values over the open intervals, on the same steps."""
    borders, sums = _sum_open(low, high, *values)
    return [StepFunction(borders[:-1], borders[1:], total[:-1]) for total in sums]


def _sum_open(low: Ints, high: Ints, *values: Floats) -> tuple[Ints, list[Floats]]:
    """Sum values over the open intervals from each border on; in whole units, so that ends cancel exactly."""
    borders = distinct(low, high)
    first, last = search(borders, low), search(borders, high)

    def sum_up(value: Floats) -> Floats:
        units = np.round(value * FIXED_POINT)
        change = np.bincount(first, units, len(borders))
        change -= np.bincount(last, units, len(borders))
        return np.cumsum(change.astype(np.int64)) / FIXED_POINT

    return borders, [sum_up(value) for value in values]
