"""What copies and memsets move through a GPU's memory beside its kernels: samples count it, but no kernel's rate."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, open_times
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE

# Of the size of a copy, what the counters have of it at least and at most: on an H200, copies of 1 to 200 MB, pinned or
# not. What the L2 cache holds is not read from the memory, and what it holds of the target is not written yet.
_REQUESTS = (1 / 128, 1 / 64)  # for each byte
_COUNTED = {
    HOST_TO_DEVICE: {"dram_write_bytes": (0.0, 1.15), "l2_bytes": (1.0, 1.25), "l2_request_count": _REQUESTS},
    DEVICE_TO_HOST: {"dram_read_bytes": (0.0, 1.02), "l2_bytes": (1.0, 1.1), "l2_request_count": _REQUESTS},
}
# The same of what the GPU copies within its memory or sets there, at most: what a copy from the host and one to it have
# together, and written once more, since each line that it takes in the L2 cache may first have to be written back.
_INTERNAL = {"dram_read_bytes": 1.02, "dram_write_bytes": 2 * 1.15, "l2_bytes": 2.5, "l2_request_count": 2.5 / 64}


@dataclass(frozen=True)
class CopyCount:
    """What copies and memsets add to the samples of a counter."""

    value: Floats  # the middle of the range that they add to each sample
    shift: Floats  # by how much all samples may be off together: half of the range
    internal_ns: Floats  # how long in each sample the GPU copied or set its own memory, at any rate up to the memory's
    internal_most: Floats  # what that adds at most, by its size; infinite where a size was not recorded


@dataclass(frozen=True)
class Copies:
    """The copies and memsets of one GPU."""

    internal: StepFunction  # when it copied or set its own memory
    unsized: StepFunction  # when it did so and the size was not recorded
    internal_rate: StepFunction  # bytes that it copied or set in a ns, where the size was recorded
    of_host: dict[str, StepFunction]  # bytes a ns that copies of each direction from and to the host move

    def move(self, counter: str, start: Ints, end: Ints) -> CopyCount:
        """Estimate what they add to a counter, a column of ``tcprof.frames.WORK``, in samples from start to end."""
        value, shift, internal_ns, internal_most = (np.zeros(len(start)) for _ in range(4))
        if counter in _INTERNAL:
            internal_ns = self.internal.covered(start, end)
            sized = _INTERNAL[counter] * self.internal_rate.integral(start, end)
            internal_most = np.where(self.unsized.covered(start, end) > 0, np.inf, sized)
        for direction, rate in self.of_host.items():
            least, most = _COUNTED[direction].get(counter, (0.0, 0.0))
            move_bytes = rate.integral(start, end)
            value += (least + most) / 2 * move_bytes
            shift += (most - least) / 2 * move_bytes
        return CopyCount(value, shift, internal_ns, internal_most)


def find_internal_moves(activities: pd.DataFrame) -> StepFunction:
    """Find when one GPU copied or set its own memory: the copy engines do so, or untraced kernels."""
    internal = activities[(activities["kind"] == "memset") | (activities["name"] == DEVICE_TO_DEVICE)]
    return open_times(internal["start_ns"].to_numpy(), internal["end_ns"].to_numpy())


def find_copies(activities: pd.DataFrame) -> Copies:
    """Find the copies of one GPU; those from and to the host without a size count as nothing."""
    is_sized = activities["moved_bytes"].notna().to_numpy()
    is_internal = ((activities["kind"] == "memset") | (activities["name"] == DEVICE_TO_DEVICE)).to_numpy()
    is_copy = (activities["kind"] == "memcpy").to_numpy() & is_sized
    rates = {way: _rate(activities, is_copy & (activities["name"] == way).to_numpy()) for way in _COUNTED}
    internal, unsized = (find_internal_moves(rows) for rows in (activities, activities[~is_sized]))
    return Copies(internal, unsized, _rate(activities, is_internal & is_sized), rates)


def _rate(activities: pd.DataFrame, rows: Bools) -> StepFunction:
    """Sum the bytes that rows move in a ns, evenly while each runs."""
    start, end, moved = (activities[name].to_numpy()[rows] for name in ("start_ns", "end_ns", "moved_bytes"))
    end = np.maximum(end, start + 1)
    rate = moved / (end - start)
    times, index = np.unique(np.concatenate([start, end]), return_inverse=True)
    change = np.bincount(index, np.concatenate([rate, -rate]), len(times)) if len(times) else np.empty(0)
    return StepFunction(times[:-1], times[1:], np.maximum(np.cumsum(change)[:-1], 0))
