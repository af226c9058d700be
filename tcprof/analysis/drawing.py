"""Data for drawings of a recording: fewer points for the same picture, and the rate of FLOP."""

from dataclasses import dataclass

import numpy as np

from tcprof.analysis.analysis import Analysis
from tcprof.analysis.intervals import StepFunction
from tcprof.arrays import Floats, Ints, rows_of_gpu


@dataclass(frozen=True)
class Envelope:
    """A step function as it is drawn."""

    start: Ints  # starts of the intervals in ns, ascending
    end: Ints  # their ends; where one lies before the next start, the function is unknown between them
    mean: Floats  # mean over the known part of the interval, weighted by time
    low: Floats  # smallest value in the interval
    high: Floats  # largest value in the interval
    bin_ns: float  # width of a bin; 0 where the intervals are the samples themselves

    def __len__(self) -> int:
        return len(self.start)


def compute_envelope(start: Ints, end: Ints, value: Floats, bins: int) -> Envelope:
    """Reduce samples to smallest, mean and largest value of bins of equal width; returns up to 2 x bins unchanged.

    Samples do not overlap; NaN counts as a gap.
    """
    samples = StepFunction(start, end, value)
    if len(samples.start) <= 2 * bins:
        return Envelope(samples.start, samples.end, samples.value, samples.value, samples.value, 0.0)
    edges = np.linspace(samples.start[0], samples.end[-1], bins + 1).round().astype(np.int64)
    begin, finish = edges[:-1], edges[1:]
    covered = samples.covered(begin, finish)
    sampled = np.flatnonzero(covered > 0)
    begin, finish = begin[sampled], finish[sampled]
    first = np.searchsorted(samples.end, begin, side="right")
    last = np.searchsorted(samples.start, finish, side="left")
    pairs = np.column_stack((first, last)).ravel()  # every pair holds at least one sample
    padded = np.append(samples.value, 0.0)  # so that the end of the last pair is an index
    low, high = np.minimum.reduceat(padded, pairs)[::2], np.maximum.reduceat(padded, pairs)[::2]
    mean = np.clip(samples.integral(begin, finish) / covered[sampled], low, high)  # a running sum rounds
    return Envelope(begin, finish, mean, low, high, float(edges[-1] - edges[0]) / bins)


def flop_rate(analysis: Analysis, gpu: int, start: Ints, end: Ints) -> Floats:
    """Compute Tensor Core FLOP per second in each interval, ascending; unknown where a launch's FLOP are unknown."""
    launched = rows_of_gpu(analysis.kernel_instances, gpu)
    flop = launched["tensor_flop"].to_numpy()
    if analysis.tensor_source == "none" or np.isnan(flop).all() or not len(start):
        return np.full(len(start), np.nan)
    activities = analysis.activities.iloc[launched["activity"].to_numpy()]
    begin, finish = activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy()
    amount = _sum_between(begin, finish, np.nan_to_num(flop), start, end)
    unknown = _sum_between(begin, finish, np.where(np.isnan(flop), finish - begin, 0.0), start, end) >= 1
    return np.where(unknown | (end <= start), np.nan, np.maximum(amount, 0) / np.maximum(end - start, 1) * 1e9)


def _sum_between(begin: Ints, finish: Ints, amount: Floats, start: Ints, end: Ints) -> Floats:
    """Sum the part of amounts, spread evenly from begin to finish, that lies in each interval."""
    rate = amount / np.maximum(finish - begin, 1)
    times = np.concatenate([begin, finish])
    order = np.argsort(times, kind="stable")
    times = times[order]
    slope = np.cumsum(np.concatenate([rate, -rate])[order])
    total = np.append(0.0, np.cumsum(slope[:-1] * np.diff(times)))
    return np.asarray(np.interp(end, times, total) - np.interp(start, times, total))
