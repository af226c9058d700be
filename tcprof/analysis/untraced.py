"""Work that a GPU's samples show and the trace does not: another process, or graphs that were not recorded."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, union
from tcprof.arrays import Floats

NEAR_NS = 5_000  # the engine stays active so close to an activity
LEAST_PCT = 1.0  # what an idle GPU reads, and Tensor Active that may be all but 0
LEAST_OF_SAMPLE = 0.1  # of a sample: less may be the engine's own
NOTABLE_SHARE = 0.01  # of the time traced: recordings of one program alone have up to 0.4 %
NOTABLE_IDLE_SHARE, FEWEST_SAMPLES = 0.05, 4  # of the idle time; alone they have 0.8 %, or fewer samples that show it
DOUBT = 2.0  # beside launches there may be so many times what ran while nothing was traced


@dataclass(frozen=True)
class Untraced:
    """What ran on a GPU between its first and its last activity while nothing was traced.

    Attributes:
        busy_ns: How long the GPU was busy with it.
        idle_ns: How long nothing was traced.
        whole_ns: The time between the two activities.
        samples: How many samples show it.
        tensor_ns: The time of full tensor activity in it.
    """

    busy_ns: float
    idle_ns: float
    whole_ns: float
    samples: int
    tensor_ns: float

    @property
    def is_notable(self) -> bool:
        """Whether this is more than what programs alone on a GPU show."""
        of_idle = self.busy_ns > NOTABLE_IDLE_SHARE * self.idle_ns and self.samples >= FEWEST_SAMPLES
        return self.busy_ns > NOTABLE_SHARE * self.whole_ns or of_idle

    def doubt(self, duration: Floats) -> Floats:
        """How much of what launches seem to do on the tensor pipes may be untraced, as ns of full activity."""
        rate = min(DOUBT * self.tensor_ns / self.idle_ns, 1.0) if self.is_notable and self.idle_ns else 0.0
        return rate * duration


def find_untraced(samples: pd.DataFrame, activities: pd.DataFrame) -> Untraced:
    """Find what samples show beyond all traced work: also in part of a sample, where pauses are short.

    Args:
        samples: See ``tcprof.frames.SAMPLES``; those of one GPU.
        activities: See ``tcprof.frames.ACTIVITIES``; those of that GPU.
    """
    start, end = activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy()
    first, last = int(start.min()), int(end.max())
    _, low, high = union(np.zeros(len(start), np.int64), start - NEAR_NS, np.maximum(end, start + 1) + NEAR_NS)
    near = StepFunction(low, high, np.ones(len(low)))
    mine = samples[(samples["start_ns"] >= first) & (samples["end_ns"] <= last)]
    begin, finish = mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy()
    length, traced = (finish - begin).astype(np.float64), near.covered(begin, finish)
    active, tensor = (mine[name].fillna(0).to_numpy() for name in ("gr_active_pct", "tensor_active_pct"))
    beyond = (active - LEAST_PCT) / 100 * length - traced
    beyond = np.where((tensor > LEAST_PCT) & (traced == 0), np.maximum(beyond, length / 2), beyond)
    shown = beyond > LEAST_OF_SAMPLE * length
    free = length - traced
    # What a sample shows of the tensor pipes beside traced work may be that work's.
    own = shown & (2 * traced < length)
    share = float(beyond[shown].sum() / beyond[own].sum()) if own.any() else 0.0
    tensor_ns = share * float((tensor / 100 * np.minimum(length, free))[own].sum())
    return Untraced(float(beyond[shown].sum()), float(free.sum()), float(last - first), int(shown.sum()), tensor_ns)
