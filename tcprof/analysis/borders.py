"""Samples that the border of a window cuts: how much of them lies on either side, and how far that may be off.

A sample of 50 µs holds many kernels, and a range may begin or end between any two of them. What the sample counted is
shared among its launches in proportion to what the fit gives them; where nothing was fitted, to the time under them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import StepFunction

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BORDER_NS = 500.0  # how well the count at a border inside a launch is known, as time at the launch's rate
LEAST_RATE = 1e-4  # of full activity, for every launch: what a sample counted must be of one of them


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
    rates = launches[["rate", "error", "spread"]].to_numpy(np.float64) + [LEAST_RATE, 0, 0]
    rate, error, spread = (_sum_open(times, low, high, column)[:-1][inside] for column in rates.T)
    begin, finish, sample = begin[inside], finish[inside], sample[inside]
    length = (finish - begin).astype(np.float64)
    predicted = np.bincount(sample, rate * length, len(start)) / (end - start)
    share = np.divide(rate, predicted[sample], out=np.ones(len(rate)), where=predicted[sample] > 0)
    return SplitSamples(
        StepFunction(begin, finish, share),
        StepFunction(begin, finish, error),
        StepFunction(begin, finish, spread),
        start,
        end,
    )


def _sum_open(times: Ints, start: Ints, end: Ints, value: Floats) -> Floats:
    """The sum over the intervals that are open from each time on; what cancels is 0 to the last digit but few."""
    steps = np.bincount(np.searchsorted(times, start), value, len(times))
    steps -= np.bincount(np.searchsorted(times, end), value, len(times))
    total = np.cumsum(steps)
    return np.where(np.abs(total) > 1e-9 * np.abs(steps).sum(), total, 0.0)


def scale_pieces(split: SplitSamples, value: Floats) -> StepFunction:
    """A metric on the pieces.

    Args:
        split: The pieces.
        value: The metric of each sample.
    """
    pieces = split.share
    sample = np.searchsorted(split.start, pieces.start, side="right") - 1
    return StepFunction(pieces.start, pieces.end, pieces.value * value[sample])


def border_errors(split: SplitSamples, active: StepFunction, time: Ints) -> tuple[Floats, Floats]:
    """How far what lies before each time may be off, as ns of full activity: in common, and of single launches.

    What is before the border and what is behind it add up to the sample. So the split is off by no more than the less
    uncertain of the two, and by how well the count at a border inside a launch is known.

    Args:
        split: The pieces.
        active: Tensor Active (0 to 1) on the pieces.
        time: The borders of windows.
    """
    sample = np.searchsorted(split.start, time, side="right") - 1
    known = (sample >= 0) & (time < split.end[np.maximum(sample, 0)])
    low, high = split.start[np.maximum(sample, 0)], split.end[np.maximum(sample, 0)]
    found = [
        np.where(known, np.minimum(function.integral(low, time), function.integral(time, high)), 0.0)
        for function in (split.error, split.spread)
    ]
    near = np.minimum(active.integral(time - _NEAR, time), active.integral(time, time + _NEAR)) / _NEAR
    return found[0], np.hypot(found[1], np.where(known & (time > low), BORDER_NS * near, 0.0))


_NEAR = 1000  # ns on either side of a border: what runs there
