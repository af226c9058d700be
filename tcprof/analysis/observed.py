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
    """Activities that belong to no range, for one reason.

    Attributes:
        cause: The reason.
        remedy: How to record them so that they do.
        count: How many they are.
        share_pct: Their share of the activity time of all GPUs.
    """

    cause: str
    remedy: str
    count: int
    share_pct: float


@dataclass(frozen=True)
class Observed:
    """Facts of reading and attribution.

    Attributes:
        diagnostics: What the recorder said about its own recording, see ``tcprof.frames.DIAGNOSTICS``.
        lost_ns: Time that the recorder marked as having no samples.
        shared_pipe: Whether the tensor counter also counts plain half-precision arithmetic.
        lost_launches: Launches whose kernels are not in the recording; None where the diagnostics give no reason to
            count them, or this is unknown.
        range_count: NVTX ranges in the recording.
        path_count: Their paths by all names: more than there are in the frame of paths where names were folded.
        unattributed: Activities that belong to no range, by reason, the largest share first.
        inherited_count: Activities launched by a thread without a range, and counted for one of its process.
        wrong: What the file held that cannot be, and is not in the frames.
        alone: The steps of a run without a profiler, if there was one, see ``tcprof.frames.UNPROFILED``.
    """

    diagnostics: pd.DataFrame
    lost_ns: int
    shared_pipe: bool
    lost_launches: int | None
    range_count: int
    path_count: int
    unattributed: tuple[Unattributed, ...]
    inherited_count: int
    wrong: tuple[InvalidValues, ...] = ()
    unprofiled: pd.DataFrame = field(default_factory=UNPROFILED.empty)


def observe(
    source: Source, samples: Samples, hierarchy: Hierarchy, activities: pd.DataFrame, attribution: Attribution
) -> Observed:
    """Collect the facts.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``.
        attribution: Which range each activity belongs to.
    """
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
