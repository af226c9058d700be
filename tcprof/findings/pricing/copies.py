"""Copies from the host: how long they are exposed, and whether their memory is pinned."""

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.projection import launches_of
from tcprof.findings.pricing.step import Step
from tcprof.frames import HOST_TO_DEVICE, PINNED

_SMALL_BYTES = 65_536  # at most so many of pageable memory are copied without waiting, as those of pinned memory are
_PINNED = 0.5  # of the bytes
_GUESSED = ("whether their memory is pinned was not recorded: it is guessed from when the calls return",)


def find_copies(step: Step) -> pd.DataFrame:
    """Copies to the GPU in the steps, as ``tcprof.frames.ACTIVITIES``, with ``exposed_ns``."""
    activities = step.analysis.activities.assign(exposed_ns=step.exposure.exposed_ns)
    is_copy = (activities["gpu"] == step.gpu) & (activities["name"] == HOST_TO_DEVICE)
    return activities[is_copy & (activities["exposed_ns"] > 0)]


def are_pinned(step: Step) -> bool:
    """Whether most bytes that the steps copy to the GPU come from pinned memory, as recorded, or else as guessed."""
    copies = _copies_in_steps(step)
    known = copies[copies["host_memory"] != ""]
    if len(known):
        return is_mostly_pinned(known)
    large = copies[copies["moved_bytes"] > _SMALL_BYTES]
    launch = launches_of(step.analysis.api_calls, large)
    returned = np.append(step.analysis.api_calls["returned_ns"].to_numpy(), np.nan)[launch]
    is_early = returned < (large["start_ns"] + large["end_ns"]) / 2
    return bool(large["moved_bytes"][is_early].sum() > _PINNED * large["moved_bytes"].sum())


def is_mostly_pinned(copies: pd.DataFrame) -> bool:
    """Whether most bytes of some copies are from or to memory that was recorded as pinned."""
    pinned = copies["moved_bytes"][copies["host_memory"] == PINNED].sum()
    return bool(pinned > _PINNED * copies["moved_bytes"].sum())


def tell_guess(step: Step) -> tuple[str, ...]:
    """That it was not recorded, and only guessed, whether memory is pinned; nothing where it was."""
    return _GUESSED * bool((_copies_in_steps(step)["host_memory"] == "").all())


def _copies_in_steps(step: Step) -> pd.DataFrame:
    activities = step.analysis.activities
    copies = activities[(activities["gpu"] == step.gpu) & (activities["name"] == HOST_TO_DEVICE)]
    begins, ends = step.windows
    place = np.searchsorted(begins, copies["start_ns"].to_numpy(), side="right") - 1
    return copies[(place >= 0) & (copies["start_ns"].to_numpy() < ends[place])]
