"""Checks that work of every source passes at the border: what cannot be is dropped or corrected, and counted."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tcprof.arrays import Bools, Ints
from tcprof.nsys.schema import MOST_GPUS

LATER_WORK = "still running after later work of their stream had ended"
AFTER_END = "still running after the capture had ended"
NO_TIME = "without a time"
FAR = "far from all other times"
MANY_GPUS = f"of more than {MOST_GPUS} GPUs"
FAR_NS = 3600 * 10**9
FAR_TIMES = 10
_MUCH_USED = 0.01  # of the kernels of a process: a stream with fewer may have been left long before the end


class Stretch(NamedTuple):
    """The times that a recording's events may have."""

    first_ns: int
    last_ns: int

    def holds(self, times: Ints) -> Bools:
        """Tell which times lie in it."""
        return (times >= self.first_ns) & (times <= self.last_ns)


def find_stretch(times: Ints) -> Stretch:
    """Bound the times of a recording without length, by the densest half: an unread or other clock is days off."""
    ordered = np.sort(times)
    half = len(ordered) // 2
    lengths = ordered[half:] - ordered[: len(ordered) - half]
    at = int(np.argmin(lengths))
    slack = FAR_TIMES * int(lengths[at]) + FAR_NS
    return Stretch(int(ordered[at]) - slack, int(ordered[at + half]) + slack)


def cut_overruns(stream: Ints, correlation: Ints, start: Ints, end: Ints) -> tuple[Ints, int]:
    """End work where the next one of its stream begins, if later work of that serial stream ends before it does.

    Work of one launch, such as a graph's, may run side by side, and work overlaps the end of the one before where it
    was launched to begin early; but it does not end first.

    Args:
        stream: A number for each stream of each process and GPU; -1 where it is unknown.
        correlation: The launch's number; -1 where it is unknown.
        start: Ascending.

    Returns:
        The ends, and how many of them were cut.
    """
    if not len(start):
        return end, 0
    order = np.argsort(stream, kind="stable")
    streams, numbers, starts, ends = (column[order] for column in (stream, correlation, start, end))
    begins = np.append(True, (streams[1:] != streams[:-1]) | (numbers[1:] != numbers[:-1]) | (numbers[1:] < 0))
    first = np.flatnonzero(begins)
    unit, of_unit = np.cumsum(begins) - 1, streams[first]
    latest, earliest = np.maximum.reduceat(ends, first), np.minimum.reduceat(ends, first)
    following = pd.Series(earliest[::-1]).groupby(of_unit[::-1]).cummin().to_numpy()[::-1]
    before = (of_unit[1:] == of_unit[:-1]) & (of_unit[1:] >= 0)  # units with another one behind them in their stream
    overruns = np.append(before & (latest[:-1] > following[1:]), False)
    limit = np.where(overruns, np.append(starts[first[1:]], 0), np.iinfo(np.int64).max)[unit]
    cut = np.flatnonzero(ends > limit)
    corrected = end.copy()
    corrected[order[cut]] = np.maximum(limit[cut], starts[cut])
    return corrected, len(cut)


def end_before_waits(launched: pd.DataFrame, waits: pd.DataFrame) -> tuple[Ints, int]:
    """Find where work must have ended: the CPU waited for all that was launched, and launched more only then.

    Only times of one clock are compared: work ends no later than work behind the wait begins.

    Args:
        launched: The ``process``, ``start`` and ``end`` of launches, and when their work ``began`` and ``ended``.
        waits: The ``process``, ``start`` and ``end`` of calls that wait for the whole GPU.

    Returns:
        The latest end of each piece of work; and how many overrun it, and work behind the wait altogether.
    """
    limit = np.full(len(launched), np.iinfo(np.int64).max)
    # From the last one on: which wait returns first, and which work begins and ends first.
    waits = waits.sort_values("start", ascending=False, kind="stable")
    returned = waits.assign(returned=waits.groupby("process")["end"].cummin())[["process", "start", "returned"]][::-1]
    later = launched.sort_values("start", ascending=False, kind="stable")
    firsts = later.groupby("process")[["began", "ended"]].cummin()
    firsts = firsts.rename(columns={"began": "next_began", "ended": "next_ended"})
    later = later[["process", "start"]].join(firsts)[::-1]
    rows = launched.assign(row=range(len(launched))).sort_values("end", kind="stable")[
        ["process", "end", "ended", "row"]
    ]
    rows = (
        pd.merge_asof(rows, returned, left_on="end", right_on="start", by="process", direction="forward")
        .dropna(subset="returned")
        .astype({"returned": "int64"})
        .sort_values("returned", kind="stable")
    )
    rows = pd.merge_asof(
        rows.drop(columns="start"), later, left_on="returned", right_on="start", by="process", direction="forward"
    )
    over = rows[rows["ended"] > rows["next_ended"]]
    limit[over["row"]] = over["next_began"].astype("int64")
    return limit, len(over)


def count_lost(launches: pd.DataFrame) -> int:
    """Count launches without a kernel, though each much used stream of their process has kernels of later ones.

    Kernels of other launches may have run after the recording had ended.

    Args:
        launches: The ``process`` and ``start`` of each, and the ``stream`` of its kernel, NaN where it has none.
    """
    streams = launches.groupby(["process", "stream"])["start"].agg(["max", "size"])
    much = streams[streams["size"] >= _MUCH_USED * streams.groupby("process")["size"].transform("sum")]
    last = launches["process"].map(much.groupby("process")["max"].min())
    return int((launches["stream"].isna() & (launches["start"] < last)).sum())
