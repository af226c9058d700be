"""What copies and sets move through a GPU's memory beside its kernels: it is in the samples, and no kernel's."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, union
from tcprof.arrays import Floats, Ints
from tcprof.frames import DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE

# Of the size of a copy, what the counters have of it at least and at most: on an H200, copies of 1 to 200 MB, pinned or
# not. What the L2 cache holds is not read from the memory, and what it holds of the target is not written yet.
_REQUESTS = (1 / 128, 1 / 64)  # for each byte
_COUNTED = {
    HOST_TO_DEVICE: {"dram_write_bytes": (0.0, 1.15), "l2_bytes": (1.0, 1.25), "l2_request_count": _REQUESTS},
    DEVICE_TO_HOST: {"dram_read_bytes": (0.0, 1.02), "l2_bytes": (1.0, 1.1), "l2_request_count": _REQUESTS},
}
_OF_MEMORY = ("dram_read_bytes", "dram_write_bytes", "l2_bytes", "l2_request_count")


@dataclass(frozen=True)
class Moved:
    """What copies and sets add to the samples of a counter.

    Attributes:
        value: The middle of what they are known to add to each sample.
        shift: By how much all samples may be off together: half of the range.
        unknown_ns: How long in each sample the GPU copied or set its own memory, at any rate up to the memory's.
    """

    value: Floats
    shift: Floats
    unknown_ns: Floats


@dataclass(frozen=True)
class Copies:
    """The copies and sets of one GPU.

    Attributes:
        own: When it copied or set its own memory.
        of_host: Bytes a ns that copies of each direction from and to the host move.
    """

    own: StepFunction
    of_host: dict[str, StepFunction]

    def move(self, counter: str, start: Ints, end: Ints) -> Moved:
        """What they add to a counter.

        Args:
            counter: A column of ``tcprof.frames.WORK``.
            start: Starts of the samples.
            end: Their ends.
        """
        value, shift, unknown_ns = (np.zeros(len(start)) for _ in range(3))
        if counter in _OF_MEMORY:
            unknown_ns = self.own.covered(start, end)
        for direction, rate in self.of_host.items():
            least, most = _COUNTED[direction].get(counter, (0.0, 0.0))
            moved = rate.integral(start, end)
            value += (least + most) / 2 * moved
            shift += (most - least) / 2 * moved
        return Moved(value, shift, unknown_ns)


def find_own_moves(activities: pd.DataFrame) -> StepFunction:
    """When a GPU copied or set its own memory: the copy engines do so, or kernels that are not traced.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``; of one GPU.
    """
    own = (activities["kind"] == "memset") | (activities["name"] == DEVICE_TO_DEVICE)
    start, end = (activities.loc[own, name].to_numpy() for name in ("start_ns", "end_ns"))
    _, start, end = union(np.zeros(len(start), dtype=np.int64), start, end)
    return StepFunction(start, end, np.ones(len(start)))


def find_copies(activities: pd.DataFrame) -> Copies:
    """The copies and sets among the activities of one GPU; what has no size counts as nothing.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``.
    """
    is_sized = (activities["kind"] == "memcpy") & activities["moved_bytes"].notna()
    rates = {}
    for direction in _COUNTED:
        rows = np.flatnonzero(is_sized & (activities["name"] == direction))
        start, end, moved = (activities[name].to_numpy()[rows] for name in ("start_ns", "end_ns", "moved_bytes"))
        rates[direction] = _rate(start, np.maximum(end, start + 1), moved)
    return Copies(find_own_moves(activities), rates)


def _rate(start: Ints, end: Ints, moved: Floats) -> StepFunction:
    """Bytes that copies move in a ns: evenly while each runs, of several at once their sum."""
    rate = moved / (end - start)
    times, place = np.unique(np.concatenate([start, end]), return_inverse=True)
    change = np.bincount(place, np.concatenate([rate, -rate]), len(times)) if len(times) else np.empty(0)
    return StepFunction(times[:-1], times[1:], np.maximum(np.cumsum(change)[:-1], 0))
