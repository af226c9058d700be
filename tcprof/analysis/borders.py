"""Samples that the border of a window cuts: how much of them lies on either side, and how far that may be off.

A sample of 50 µs holds many kernels, and a range may begin or end between any two of them. What the sample counted is
shared among its launches in proportion to what the fit gives them; where nothing was fitted, to the time under them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import StepFunction
from tcprof.frames import KERNEL_KINDS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_LAUNCHES = pd.DataFrame({name: [] for name in ("gpu", "start_ns", "end_ns", "rate", "error", "spread")}, dtype=float)
NOT_FITTED = 0.3  # deviation of a kernel's Tensor Active (0 to 1) of which nothing is known but the sample
BORDER_NS = 500.0  # how well the count at a border inside a launch is known, as time at the launch's rate
NEAR_NS = 1000  # on either side of a border: whether a kernel runs across it
LEAST_RATE = 1e-4  # of full activity, for every launch: what a sample counted must be of one of them


def rate_launches(activities: pd.DataFrame, launched: pd.DataFrame) -> pd.DataFrame:
    """What samples are shared among: kernels and graphs with their Tensor Active, from the fit if there is one.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``.
        launched: See ``tcprof.frames.LAUNCHED``; empty where nothing was fitted.

    Returns:
        gpu, start_ns, end_ns; rate, Tensor Active from 0 to 1; error, the standard error that its class has in common;
        spread, that of one launch.
    """
    if launched.empty or launched["tensor_active_ns"].isna().all():
        kernels = activities[activities["kind"].isin(KERNEL_KINDS)]
        return kernels[["gpu", "start_ns", "end_ns"]].assign(rate=NOT_FITTED, error=NOT_FITTED, spread=NOT_FITTED)
    rows = activities.iloc[launched["activity"].to_numpy()]
    duration = np.maximum(launched["duration_ns"].to_numpy(), 1)
    number = launched.groupby(["gpu", "kernel_class"])["activity"].transform("size").to_numpy()
    rate, error = (launched[name].fillna(0).to_numpy() / duration for name in ("tensor_active_ns", "tensor_error_ns"))
    columns = {"rate": rate, "error": error, "spread": error * np.sqrt(number)}
    return rows[["gpu", "start_ns", "end_ns"]].reset_index(drop=True).assign(**columns)


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
    length = (finish - begin).astype(np.float64)
    predicted = (np.bincount(sample, rate * length, len(start)) / (end - start))[sample]
    share = np.divide(rate, predicted, out=np.ones(len(rate)), where=predicted > 0)
    error = np.where(predicted > 0, error, samples["tensor_active_pct"].to_numpy()[sample] / 100)  # nobody knows whose
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
        active: Tensor Active (%) on the pieces.
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
