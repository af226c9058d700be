"""What copies and memsets move through a GPU's memory beside its kernels: it is in the samples, and no kernel's."""

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
_OWN = {"dram_read_bytes": 1.02, "dram_write_bytes": 2 * 1.15, "l2_bytes": 2.5, "l2_request_count": 2.5 / 64}


@dataclass(frozen=True)
class Moved:
    """What copies and memsets add to the samples of a counter."""

    value: Floats  # the middle of what they are known to add to each sample
    shift: Floats  # by how much all samples may be off together: half of the range
    own_ns: Floats  # how long in each sample the GPU copied or set its own memory, at any rate up to the memory's
    own_most: Floats  # what that adds at most, by its size; infinite where a size was not recorded


@dataclass(frozen=True)
class Copies:
    """The copies and memsets of one GPU."""

    own: StepFunction  # when it copied or set its own memory
    unsized: StepFunction  # when it did so and the size was not recorded
    own_rate: StepFunction  # bytes that it copied or set in a ns, where the size was recorded
    of_host: dict[str, StepFunction]  # bytes a ns that copies of each direction from and to the host move

    def move(self, counter: str, start: Ints, end: Ints) -> Moved:
        """What they add to a counter, a column of ``tcprof.frames.WORK``, in samples from start to end."""
        value, shift, own_ns, own_most = (np.zeros(len(start)) for _ in range(4))
        if counter in _OWN:
            own_ns = self.own.covered(start, end)
            sized = _OWN[counter] * self.own_rate.integral(start, end)
            own_most = np.where(self.unsized.covered(start, end) > 0, np.inf, sized)
        for direction, rate in self.of_host.items():
            least, most = _COUNTED[direction].get(counter, (0.0, 0.0))
            moved = rate.integral(start, end)
            value += (least + most) / 2 * moved
            shift += (most - least) / 2 * moved
        return Moved(value, shift, own_ns, own_most)


def find_own_moves(activities: pd.DataFrame) -> StepFunction:
    """When one GPU copied or set its own memory: the copy engines do so, or kernels that are not traced."""
    own = activities[(activities["kind"] == "memset") | (activities["name"] == DEVICE_TO_DEVICE)]
    return open_times(own["start_ns"].to_numpy(), own["end_ns"].to_numpy())


def find_copies(activities: pd.DataFrame) -> Copies:
    """Those among the activities of one GPU; copies from and to the host without a size count as nothing."""
    is_sized = activities["moved_bytes"].notna().to_numpy()
    is_own = ((activities["kind"] == "memset") | (activities["name"] == DEVICE_TO_DEVICE)).to_numpy()
    is_copy = (activities["kind"] == "memcpy").to_numpy() & is_sized
    rates = {way: _rate(activities, is_copy & (activities["name"] == way).to_numpy()) for way in _COUNTED}
    own, unsized = (find_own_moves(rows) for rows in (activities, activities[~is_sized]))
    return Copies(own, unsized, _rate(activities, is_own & is_sized), rates)


def _rate(activities: pd.DataFrame, those: Bools) -> StepFunction:
    """Bytes that those move in a ns: evenly while each runs, of several at once their sum."""
    start, end, moved = (activities[name].to_numpy()[those] for name in ("start_ns", "end_ns", "moved_bytes"))
    end = np.maximum(end, start + 1)
    rate = moved / (end - start)
    times, place = np.unique(np.concatenate([start, end]), return_inverse=True)
    change = np.bincount(place, np.concatenate([rate, -rate]), len(times)) if len(times) else np.empty(0)
    return StepFunction(times[:-1], times[1:], np.maximum(np.cumsum(change)[:-1], 0))
