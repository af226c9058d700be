"""When steps are on a GPU and on the CPU."""

import numpy as np

from tcprof.analysis import Analysis
from tcprof.analysis.intervals import union
from tcprof.analysis.replay.host import Pair
from tcprof.arrays import Floats, Ints
from tcprof.untrusted import one_line

_LONG = 2.0  # times the median from one iteration to the next: between them lies something else, such as a test pass


def find_windows(analysis: Analysis, gpu: int) -> tuple[str, int, Pair, Pair] | None:
    """Name and number of the iterations without warm-up, and from when to when they are on the GPU and on the CPU."""
    rows = analysis.iterations[(analysis.iterations["gpu"] == gpu) & ~analysis.iterations["warm_up"]]
    columns = ["gpu", "range", "gpu_start_ns", "gpu_end_ns", "host_start_ns", "host_end_ns"]
    found = rows.merge(analysis.instances[columns], on=["gpu", "range"]).sort_values("number")
    found = found[found["gpu_window_ns"] > 0]
    if found.empty:
        return None
    number = found["number"].to_numpy()
    windows = [
        _reach_to_next(number, *(found[f"{side}_{name}_ns"].to_numpy(np.float64) for name in ("start", "end")))
        for side in ("gpu", "host")
    ]
    return one_line(str(found["path"].iloc[0]), 60), len(found), windows[0], windows[1]


def measure_length(analysis: Analysis, gpu: int) -> float:
    """The mean time in ns from one step's start to the next one's; NaN where nothing iterates."""
    found = find_windows(analysis, gpu)
    if found is None:
        return float("nan")
    _, count, windows, _ = found
    _, first, last = union(np.zeros_like(windows[0]), *windows)
    return float((last - first).sum()) / count


def _reach_to_next(number: Ints, start: Floats, end: Floats) -> tuple[Ints, Ints]:
    """Intervals that end where the next one starts, if that is the next iteration, and starts soon."""
    following = np.append(start[1:], np.nan)
    period = np.where(np.append(np.diff(number), 0) == 1, following - start, np.nan)
    is_near = (period > 0) & (period <= _LONG * np.nanmedian(np.append(period, end[-1] - start[-1])))
    return start.astype(np.int64), np.where(is_near, following, np.maximum(start, end)).astype(np.int64)
