"""What drawings of a recording are made of: fewer points for the same picture, and the rate of FLOP."""

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
    """At most twice so many bins' samples as they are, else smallest, mean and largest value of bins of equal width.

    Samples do not overlap; NaN counts as a gap.
    """
    samples = StepFunction(start, end, value)
    if len(samples.start) <= 2 * bins:
        return Envelope(samples.start, samples.end, samples.value, samples.value, samples.value, 0.0)
    edges = np.linspace(samples.start[0], samples.end[-1], bins + 1).round().astype(np.int64)
    left, right = edges[:-1], edges[1:]
    covered = samples.covered(left, right)
    seen = np.flatnonzero(covered > 0)
    left, right = left[seen], right[seen]
    first = np.searchsorted(samples.end, left, side="right")
    last = np.searchsorted(samples.start, right, side="left")
    pairs = np.column_stack((first, last)).ravel()  # every pair holds at least one sample
    padded = np.append(samples.value, 0.0)  # so that the end of the last pair is an index
    low, high = np.minimum.reduceat(padded, pairs)[::2], np.maximum.reduceat(padded, pairs)[::2]
    mean = np.clip(samples.integral(left, right) / covered[seen], low, high)  # a running sum rounds
    return Envelope(left, right, mean, low, high, float(edges[-1] - edges[0]) / bins)


def flop_rate(analysis: Analysis, gpu: int, start: Ints, end: Ints) -> Floats:
    """FLOP per second on the Tensor Cores in each interval, in ascending order; unknown where a launch's FLOP are."""
    launched = rows_of_gpu(analysis.kernel_instances, gpu)
    flop = launched["tensor_flop"].to_numpy()
    if analysis.tensor_source == "none" or np.isnan(flop).all() or not len(start):
        return np.full(len(start), np.nan)
    of_launch = analysis.activities.iloc[launched["activity"].to_numpy()]
    begin, finish = of_launch["start_ns"].to_numpy(), of_launch["end_ns"].to_numpy()
    amount = _between(begin, finish, np.nan_to_num(flop), start, end)
    unknown = _between(begin, finish, np.where(np.isnan(flop), finish - begin, 0.0), start, end) >= 1
    return np.where(unknown | (end <= start), np.nan, np.maximum(amount, 0) / np.maximum(end - start, 1) * 1e9)


def _between(begin: Ints, finish: Ints, amount: Floats, start: Ints, end: Ints) -> Floats:
    """How much of amounts, which are spread evenly from begin to finish, lies in each interval."""
    rate = amount / np.maximum(finish - begin, 1)
    times = np.concatenate([begin, finish])
    order = np.argsort(times, kind="stable")
    times = times[order]
    slope = np.cumsum(np.concatenate([rate, -rate])[order])
    total = np.append(0.0, np.cumsum(slope[:-1] * np.diff(times)))
    return np.asarray(np.interp(end, times, total) - np.interp(start, times, total))
