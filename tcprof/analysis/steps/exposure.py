"""What activities have for themselves: the time in which nothing else that works runs on their GPU."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, distinct
from tcprof.analysis.kernels.names import parse_name
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import KERNEL_KINDS


@dataclass(frozen=True)
class Exposure:
    """The exposed time of all activities of a recording."""

    # For each, the time in all steps in which no other kernel runs on the GPU, or for a copy nothing else at all.
    # Communication that waits for other GPUs is no work: what runs beside it is exposed in part.
    exposed_ns: Floats
    alone_ns: Floats  # the same where communication counts as work, since it holds SMs while it waits, too
    certain: float  # the share of the other kernels' time in which no communication runs either


def find_exposure(activities: pd.DataFrame, gpu: int, inside: StepFunction) -> Exposure:
    """The exposed time on one GPU, of activities of all; 0 on others.

    NCCL's kernels send and wait for the slowest GPU alike. The one that communicates least waits least, so that what
    another one's last beyond is taken for waiting.
    """
    rows = np.flatnonzero(activities["gpu"] == gpu)
    start, end = (activities[name].to_numpy(np.int64)[rows] for name in ("start_ns", "end_ns"))
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    communicates = is_kernel & _are_communication(activities["name"])
    exposed = np.zeros(len(activities))
    exposed[rows] = time_alone(start, end, inside)
    exposed[rows[is_kernel[rows]]] = time_alone(start[is_kernel[rows]], end[is_kernel[rows]], inside)
    alone_ns = exposed.copy()
    certain, works = 1.0, is_kernel[rows] & ~communicates[rows]
    if communicates[rows].any() and works.any():
        alone = exposed[rows[works]]
        beside = time_alone(start[works], end[works], inside) - alone
        exposed[rows[works]] += _share_of_waiting(activities[communicates], gpu) * beside
        certain = float(alone.sum() / max(exposed[rows[works]].sum(), 1.0))
    return Exposure(exposed, alone_ns, certain)


def _are_communication(names: "pd.Series[str]") -> Bools:
    code, known = pd.factorize(names)
    found = np.array([parse_name(str(name)).communication for name in known], dtype=bool)
    return np.asarray(np.append(found, False)[code], dtype=bool)


def _share_of_waiting(communication: pd.DataFrame, gpu: int) -> float:
    """How much of a GPU's communication lasts beyond that of the one that communicates least."""
    lasts = (communication["end_ns"] - communication["start_ns"]).groupby(communication["gpu"]).sum()
    return float(1 - lasts.min() / max(lasts[gpu], 1))


def time_alone(start: Ints, end: Ints, inside: StepFunction) -> Floats:
    """For each interval the time in the windows in which no other one of them is open."""
    times = distinct(start, end, inside.start, inside.end)
    change = [np.bincount(np.searchsorted(times, at), minlength=len(times)) for at in (start, end)]
    open_count = np.cumsum(change[0] - change[1])[:-1]
    is_inside = np.diff(inside.until(times)) > 0
    alone = StepFunction(times[:-1], times[1:], ((open_count == 1) & is_inside).astype(np.float64))
    return alone.integral(start, end)
