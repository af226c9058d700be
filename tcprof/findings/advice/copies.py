"""Copies from the host: how long they are exposed, and whether their memory is pinned."""

import numpy as np
import pandas as pd

from tcprof.analysis.projection import launches_of
from tcprof.findings.advice.step import Step
from tcprof.frames import HOST_TO_DEVICE

_SMALL_BYTES = 65_536  # at most so many of pageable memory are copied without waiting, as those of pinned memory are
_PINNED = 0.5  # of the bytes


def find_copies(step: Step) -> pd.DataFrame:
    """Copies to the GPU in the steps, as ``tcprof.frames.ACTIVITIES``, with ``exposed_ns``."""
    activities = step.analysis.activities.assign(exposed_ns=step.exposed_ns)
    is_copy = (activities["gpu"] == step.gpu) & (activities["name"] == HOST_TO_DEVICE)
    return activities[is_copy & (activities["exposed_ns"] > 0)]


def are_pinned(step: Step) -> bool:
    """Whether most bytes come from pinned memory: their calls return long before the copy has ended."""
    activities = step.analysis.activities
    is_large = (activities["name"] == HOST_TO_DEVICE) & (activities["moved_bytes"] > _SMALL_BYTES)
    copies = activities[is_large & (activities["gpu"] == step.gpu)]
    launch = launches_of(step.analysis.launches, copies)
    returned = np.append(step.analysis.launches["returned_ns"].to_numpy(), np.nan)[launch]
    is_early = returned < (copies["start_ns"] + copies["end_ns"]) / 2
    return bool(copies["moved_bytes"][is_early].sum() > _PINNED * copies["moved_bytes"].sum())
