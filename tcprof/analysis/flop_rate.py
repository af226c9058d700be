"""The rate of operations on the Tensor Cores over time, from what the fit gives each launch."""

import numpy as np

from tcprof.analysis.analysis import Analysis
from tcprof.arrays import Floats, Ints, rows_of_gpu


def flop_rate(analysis: Analysis, gpu: int, start: Ints, end: Ints) -> Floats:
    """FLOP per second in each interval; unknown where a launch lies in it whose FLOP are.

    Args:
        start: Starts of the intervals in ns, ascending.
    """
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
