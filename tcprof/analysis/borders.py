"""Samples that the border of a window cuts: how much of them lies on either side, and how far that may be off.

A sample of 50 µs holds many kernels, and a range may begin or end between any two of them. What the sample counted is
shared among its launches in proportion to what the fit gives them; where nothing was fitted, to the time under them.
No moment gets more than full activity: what is above that goes to the rest of the sample, idle time last.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import StepFunction

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_LAUNCHES = pd.DataFrame({name: [] for name in ("gpu", "start_ns", "end_ns", "rate", "error", "spread")}, dtype=float)
BORDER_NS = 500.0  # how well the count at a border inside a launch is known, as time at the launch's rate
NEAR_NS = 1000  # on either side of a border: whether a kernel runs across it
FIXED_POINT = 2.0**40
LEAST_RATE = 1e-7  # of full activity, for every launch: what a sample counted must be of one of them
IDLE_RATE = 1e-30  # for time without any: it has what no launch can have
ROUNDING = 1e-9  # of full activity: by so much a moment may be above it


@dataclass(frozen=True)
class SplitSamples:
    """The samples of one GPU, cut where launches begin and end; as functions of time.

    Attributes:
        share: Of each piece, its mean over that of its sample: times the sample's value it is the piece's.
        error: Standard error of the piece's Tensor Active (0 to 1) that all launches of a class have in common.
        spread: That by which single launches differ.
        start: Starts of the samples.
        end: Their ends.
    """

    share: StepFunction
    error: StepFunction
    spread: StepFunction
    start: Ints
    end: Ints


def split_samples(samples: pd.DataFrame, launches: pd.DataFrame) -> SplitSamples:
    """Cut the samples of one GPU at the borders of its launches.

    Args:
        samples: See ``tcprof.frames.SAMPLES``; of one GPU, with Tensor Active known.
        launches: ``start_ns``, ``end_ns``, and of Tensor Active (0 to 1) ``rate``, ``error`` and ``spread``.
    """
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    low, high = launches["start_ns"].to_numpy(), launches["end_ns"].to_numpy()
    times = np.unique(np.concatenate([start, end, low, high]))
    begin, finish = times[:-1], times[1:]
    sample = np.searchsorted(start, begin, side="right") - 1
    inside = (sample >= 0) & (finish <= end[np.maximum(sample, 0)])
    columns = (launches["rate"] + LEAST_RATE, launches["error"], launches["spread"])
    rate, error, spread = (_sum_open(times, low, high, column.to_numpy())[:-1][inside] for column in columns)
    begin, finish, sample = begin[inside], finish[inside], sample[inside]
    value = samples["tensor_active_pct"].to_numpy() / 100
    active = _share_out(sample, rate, (finish - begin).astype(np.float64), value)
    share = np.divide(active, value[sample], out=np.ones(len(rate)), where=value[sample] > 0)
    without = np.bincount(sample, rate, len(start)) == 0
    error = np.where(without[sample], value[sample], error)  # nobody knows whose it is
    return SplitSamples(
        StepFunction(begin, finish, share),
        StepFunction(begin, finish, error),
        StepFunction(begin, finish, spread),
        start,
        end,
    )


def _share_out(sample: Ints, rate: Floats, length: Floats, value: Floats) -> Floats:
    """Tensor Active (0 to 1) of each piece: in proportion to the rates, but none above full activity.

    Args:
        sample: Sample that each piece lies in.
        rate: Rate of each piece.
        length: Its length in ns.
        value: Tensor Active of each sample. One that reads above full activity is even.
    """
    most = np.maximum(value, 1.0)
    rate = np.maximum(rate, IDLE_RATE)
    left = value * np.bincount(sample, length, len(value))
    full = np.zeros(len(sample), dtype=bool)
    while True:  # each pass fills pieces, and a sample is never all full before what it counted is shared out
        free = np.bincount(sample, rate * length * ~full, len(value))
        scale = np.divide(left, free, out=np.zeros(len(value)), where=free > 0)
        active: Floats = np.where(full, most[sample], rate * scale[sample])
        over = ~full & (active > most[sample] + ROUNDING)
        if not over.any():
            return active
        full |= over
        left = left - most * np.bincount(sample, length * over, len(value))


def _sum_open(times: Ints, start: Ints, end: Ints, value: Floats) -> Floats:
    """The sum over the intervals that are open from each time on; in whole units, so that what ends is gone."""
    units = np.round(value * FIXED_POINT)
    opened, closed = (np.bincount(np.searchsorted(times, at), units, len(times)) for at in (start, end))
    return np.cumsum((opened - closed).astype(np.int64)) / FIXED_POINT


class SharedMetric:
    """A metric that is shared inside of samples, as a function of time.

    What lies before a time is the sum of whole samples, as recorded, and of a part of one: a window that cuts no sample
    has just what was recorded, without the rounding errors of all pieces before.

    Args:
        split: The pieces.
        value: The metric of each sample, per ns; NaN counts as unknown.
    """

    def __init__(self, split: SplitSamples, value: Floats) -> None:
        self.known = bool((~np.isnan(value)).any())
        self._split, pieces = split, split.share
        value = np.nan_to_num(value)
        whole = np.cumsum(value * (split.end - split.start))
        self._before = np.append(0.0, whole)
        self._first = np.searchsorted(pieces.start, split.start)
        sample = np.searchsorted(split.start, pieces.start, side="right") - 1
        self._rate = pieces.value * value[sample]
        self._inside = np.append(0.0, np.cumsum(self._rate * (pieces.end - pieces.start)))

    def integral(self, low: Ints, high: Ints) -> Floats:
        """The integral over [low, high) of what is known: value x ns."""
        return self._until(high) - self._until(low)

    def _until(self, time: Ints) -> Floats:
        number = np.searchsorted(self._split.start, time, side="right")
        sample = np.maximum(number - 1, 0)
        cut = (number > 0) & (time < self._split.end[sample])
        found: Floats = self._before[number]
        sample, at = sample[cut], time[cut]
        piece = np.searchsorted(self._split.share.start, at, side="right") - 1
        inside = self._inside[piece] - self._inside[self._first[sample]]
        inside += self._rate[piece] * (at - self._split.share.start[piece])
        found[cut] = np.minimum(self._before[sample] + inside, self._before[sample + 1])  # never more than is there
        return found


def border_errors(split: SplitSamples, active: SharedMetric, time: Ints) -> tuple[Floats, Floats]:
    """How far what lies before each time may be off, as ns of full activity: in common, and of single launches.

    What is before the border and what is behind it add up to the sample. So the split is off by no more than the less
    uncertain of the two, and by how well the count at a border inside a launch is known.

    Args:
        split: The pieces.
        active: Tensor Active (%).
        time: The borders of windows.
    """
    sample = np.searchsorted(split.start, time, side="right") - 1
    known = (sample >= 0) & (time < split.end[np.maximum(sample, 0)])
    low, high = split.start[np.maximum(sample, 0)], split.end[np.maximum(sample, 0)]
    found = [
        np.where(known, np.minimum(function.integral(low, time), function.integral(time, high)), 0.0)
        for function in (split.error, split.spread)
    ]
    near = np.minimum(active.integral(time - NEAR_NS, time), active.integral(time, time + NEAR_NS)) / NEAR_NS / 100
    return found[0], np.hypot(found[1], np.where(known & (time > low), BORDER_NS * near, 0.0))
