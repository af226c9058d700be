"""Warm-up: which iterations, and which ranges in them, are left out of the figures per range and iteration."""

import numpy as np
import pandas as pd

from tcprof.arrays import Bools
from tcprof.errors import UsageError

ALL = "all"


def parse_warm_up(given: int | str | None) -> int | None:
    """How many first iterations are warm-up; None for those that are found to be.

    Args:
        given: A number, as text or not; ``all`` where all iterations count, so that none is warm-up; None.

    Raises:
        UsageError: It is none of these.
    """
    if given is None:
        return None
    if given == ALL:
        return 0
    try:
        number = int(given)
    except ValueError:
        number = -1
    if number < 0:
        raise UsageError(f"there is no warm-up of {given!r}", f"Give a number of iterations, 0 or more, or {ALL!r}.")
    return number


def choose_warm_up(iterations: pd.DataFrame, given: int | str | None) -> pd.DataFrame:
    """The iterations, of which so many first ones on each GPU are warm-up; None leaves those that were found.

    Args:
        iterations: See ``tcprof.frames.ITERATIONS``.
        given: See ``parse_warm_up``.
    """
    count = parse_warm_up(given)
    return iterations if count is None else iterations.assign(warm_up=iterations["number"] < count)


def find_left_out(instances: pd.DataFrame, iterations: pd.DataFrame) -> Bools:
    """Whether each instance is a warm-up iteration or lies in one: its time on the CPU does, whichever its thread.

    Ranges around iterations are none of these, so they stay whole.

    Args:
        instances: See ``tcprof.frames.INSTANCES``.
        iterations: See ``tcprof.frames.ITERATIONS``.
    """
    found = np.zeros(len(instances), dtype=bool)
    names = ("gpu", "range", "host_start_ns", "host_end_ns")
    gpu, place, start, end = (instances[name].to_numpy() for name in names)
    of_gpu, outer = (iterations[name].to_numpy()[iterations["warm_up"].to_numpy()] for name in ("gpu", "range"))
    for number in np.unique(of_gpu):
        rows = np.flatnonzero((gpu == number) & np.isin(place, outer[of_gpu == number]))
        rows = rows[np.argsort(start[rows], kind="stable")]
        begun = np.searchsorted(start[rows], start, side="right")
        reach = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end[rows]))
        found |= (gpu == number) & (end <= reach[begun])
    return found
