"""What was noticed while a recording was read and attributed, beside the frames: facts, which findings judge."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import distinct
from tcprof.analysis.ranges.projection import CAUSES, REMEDIES, Attribution, Hierarchy
from tcprof.frames import UNPROFILED
from tcprof.sources import InvalidValues, Samples, Source

# Words of diagnostics that speak of lost events of CUDA: only then the launches without a kernel are counted.
_OF_LOST_EVENTS = "CUPTI|GPU events were discarded|Trace data will likely be truncated"


@dataclass(frozen=True)
class Unattributed:
    """Activities that belong to no range, for one reason."""

    cause: str  # the reason
    remedy: str  # how to record them so that they do
    count: int  # how many they are
    share_pct: float  # their share of the activity time of all GPUs


@dataclass(frozen=True)
class Observed:
    """Facts of reading and attribution."""

    diagnostics: pd.DataFrame  # what the recorder said about its own recording
    lost_ns: int  # time that the recorder marked as having no samples
    shared_pipe: bool  # whether the tensor counter also counts plain half-precision arithmetic
    lost_launches: int | None  # those whose kernels are not in the recording; None if unknown, or no reason to count
    range_count: int  # NVTX ranges in the recording
    path_count: int  # their paths by all names: more than in the frame of paths where names were folded
    unattributed: tuple[Unattributed, ...]  # by reason, the largest share first
    inherited_count: int  # activities launched by a thread without a range, and counted for one of its process
    wrong: tuple[InvalidValues, ...] = ()  # what the file held that cannot be, and is not in the frames
    unprofiled: pd.DataFrame = field(default_factory=UNPROFILED.empty)  # the steps of a run without a profiler


def observe(
    source: Source, samples: Samples, hierarchy: Hierarchy, activities: pd.DataFrame, attribution: Attribution
) -> Observed:
    """Collect the facts."""
    diagnostics = source.diagnostics()
    mentioned = diagnostics["text"].astype(str).str.contains(_OF_LOST_EVENTS, regex=True).any()
    lost_launches = source.lost_launches() if mentioned else None
    return Observed(
        diagnostics=diagnostics,
        lost_ns=samples.lost_ns,
        shared_pipe=samples.shared_pipe,
        lost_launches=lost_launches,
        range_count=len(hierarchy.ranges),
        path_count=hierarchy.path_count,
        unattributed=_list_unattributed(activities, attribution),
        inherited_count=len(distinct(attribution.activity[attribution.inherited])),
        unprofiled=source.unprofiled(),
        wrong=source.wrong(),  # in all that was read: the last
    )


def _list_unattributed(activities: pd.DataFrame, attribution: Attribution) -> tuple[Unattributed, ...]:
    duration = (activities["end_ns"] - activities["start_ns"]).to_numpy()
    codes = attribution.cause.codes
    shares = 100 * np.bincount(codes, duration, minlength=len(CAUSES)) / max(int(duration.sum()), 1)
    counts = np.bincount(codes, minlength=len(CAUSES))
    return tuple(
        Unattributed(CAUSES[code], REMEDIES[CAUSES[code]], int(counts[code]), float(shares[code]))
        for code in np.argsort(-shares, kind="stable").tolist()
        if CAUSES[code] and counts[code]
    )
