"""What the CPU launches in a step: how long launching some kernels takes it, and the copies from its memory."""

import numpy as np
import pandas as pd

from tcprof.analysis.host import CALL_NS, LONG_NS
from tcprof.analysis.kernels.names import GRAPH
from tcprof.analysis.ranges.projection import launches_of
from tcprof.arrays import Floats, Ints
from tcprof.findings.pricing.step import Step
from tcprof.frames import HOST_TO_DEVICE, PINNED

_SMALL_BYTES = 65_536  # at most so many of pageable memory are copied without waiting, as those of pinned memory are
_MOSTLY = 0.5  # of the bytes
_GUESSED = ("whether their memory is pinned was not recorded: it is guessed from when the calls return",)


def time_launching(step: Step, kernels: pd.DataFrame) -> float:
    """CPU time of a step that launching some of its kernels takes, without those of graphs, which come together."""
    launch = _calls_of(step)
    is_single = (launch >= 0) & ~pd.Series(launch).duplicated(keep=False).to_numpy()
    is_meant = is_single & step.launches["kernel"].isin(kernels.index).to_numpy()
    return float(_time_calls(step.analysis.api_calls)[launch[is_meant]].sum()) / max(step.count, 1)


def replays_graphs(step: Step) -> bool:
    """Whether CUDA graphs run in the steps: recorded as a whole, or as launches of several kernels each."""
    launch = _calls_of(step)
    return bool((step.kernels["work"] == GRAPH).any() or pd.Series(launch[launch >= 0]).duplicated().any())


def _calls_of(step: Step) -> Ints:
    """The call that launched each of ``Step.launches``; -1 where it is not known."""
    return launches_of(step.analysis.api_calls, step.analysis.activities.iloc[step.launches["activity"].to_numpy()])


def _time_calls(launches: pd.DataFrame) -> Floats:
    """From each launch to its thread's next one; where that is long after it, the call alone."""
    process, thread, start = (launches[name].to_numpy() for name in ("process", "thread", "start_ns"))
    call = launches["returned_ns"].fillna(launches["start_ns"] + CALL_NS).to_numpy(np.float64) - start
    order = np.lexsort((start, thread, process))
    until_next = np.diff(start[order])
    is_next = (np.diff(process[order]) == 0) & (np.diff(thread[order]) == 0) & (until_next < LONG_NS)
    found: Floats = np.minimum(call, LONG_NS)
    found[order[:-1][is_next]] = until_next[is_next]
    return found


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
    return bool(large["moved_bytes"][is_early].sum() > _MOSTLY * large["moved_bytes"].sum())


def is_mostly_pinned(copies: pd.DataFrame) -> bool:
    """Whether most bytes of some copies are from or to memory that was recorded as pinned."""
    pinned = copies["moved_bytes"][copies["host_memory"] == PINNED].sum()
    return bool(pinned > _MOSTLY * copies["moved_bytes"].sum())


def tell_guess(step: Step) -> tuple[str, ...]:
    """That it was not recorded, and only guessed, whether memory is pinned; nothing where it was."""
    return _GUESSED * bool((_copies_in_steps(step)["host_memory"] == "").all())


def _copies_in_steps(step: Step) -> pd.DataFrame:
    copies = step.copies[step.copies["name"] == HOST_TO_DEVICE]
    begins, ends = step.windows
    place = np.searchsorted(begins, copies["start_ns"].to_numpy(), side="right") - 1
    return copies[(place >= 0) & (copies["start_ns"].to_numpy() < ends[place])]
