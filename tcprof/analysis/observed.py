"""Facts of a recording that findings judge, beside its frames; and marks by which to recognize its copies."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import distinct
from tcprof.analysis.ranges.projection import CAUSES, DEEPEST, Attribution, Hierarchy, list_remedies
from tcprof.frames import DRIVER_LOG, UNPROFILED
from tcprof.sources import InvalidValues, Recording, Samples, Source

# Words of diagnostics that speak of lost events of CUDA: only then the launches without a kernel are counted.
_OF_LOST_EVENTS = "CUPTI|GPU events were discarded|Trace data will likely be truncated"
Marks: TypeAlias = npt.NDArray[np.uint64]
KEPT = 256  # numbers; two runs have none in common
_SPARE = 4  # times as many are looked at: pieces of work that began and ended together have the same
_AT_ONCE = 1 << 20
_MOST = 0.5  # of what the smaller one did
_MIXERS = tuple(np.uint64(mixer) for mixer in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_SHIFT = np.uint64(31)
_TOO_DEEP = f"inside more than {DEEPEST} others"


@dataclass(frozen=True)
class Unattributed:
    """Activities that belong to no range, for one reason."""

    cause: str  # the reason
    remedy: str  # how to record them so that they do; empty where they need not, outside of the steps
    count: int
    share_pct: float  # their share of the activity time of all GPUs


@dataclass(frozen=True)
class Observed:
    """Facts of reading and attribution."""

    diagnostics: pd.DataFrame  # the recorder's messages about its own recording
    lost_ns: int  # time that the recorder marked as having no samples
    shared_pipe: bool  # whether the tensor counter also counts plain half-precision arithmetic
    lost_launches: int | None  # those whose kernels are not in the recording; None if unknown, or no reason to count
    range_count: int  # NVTX ranges in the recording
    path_count: int  # their paths by all names: more than in the frame of paths where names were folded
    unattributed: tuple[Unattributed, ...]  # by reason, the largest share first
    inherited_count: int  # activities launched by a thread without a range, and counted for one of its process
    wrong: tuple[InvalidValues, ...] = ()  # what the file held that cannot be, and is not in the frames
    kernel_count: int = 0  # kernels by all names and grids: more than in the frame of kernels where they were folded
    unprofiled: pd.DataFrame = field(default_factory=UNPROFILED.empty)  # the steps of a run without a profiler
    driver_log: pd.DataFrame = field(default_factory=DRIVER_LOG.empty)  # power, temperature and clock of the GPUs


def observe(
    source: Source,
    recording: Recording,
    samples: Samples,
    hierarchy: Hierarchy,
    kernel_count: int,
    activities: pd.DataFrame,
    attribution: Attribution,
) -> Observed:
    """Collect the facts; ``kernel_count`` is that of ``fold_kernels``."""
    from tcprof.redaction.copy_check import without_private  # here, since what reads a saved analysis does without

    diagnostics = source.diagnostics(without_private)
    mentioned = diagnostics["text"].astype(str).str.contains(_OF_LOST_EVENTS, regex=True).any()
    lost_launches = source.lost_launches() if mentioned or recording.recorder != "nsys" else None
    too_deep = [InvalidValues("ranges", _TOO_DEEP, hierarchy.too_deep)] if hierarchy.too_deep else []
    return Observed(
        diagnostics=diagnostics,
        lost_ns=samples.lost_ns,
        shared_pipe=samples.shared_pipe,
        lost_launches=lost_launches,
        range_count=len(hierarchy.ranges),
        path_count=hierarchy.path_count,
        unattributed=_list_unattributed(activities, attribution, recording.remedies.launches),
        inherited_count=len(distinct(attribution.activity[attribution.inherited])),
        kernel_count=kernel_count,
        unprofiled=source.unprofiled(),
        driver_log=samples.driver_log,
        wrong=(*source.wrong(), *too_deep),  # in all that was read: the last
    )


def _list_unattributed(activities: pd.DataFrame, attribution: Attribution, remedy: str) -> tuple[Unattributed, ...]:
    duration, codes = (activities["end_ns"] - activities["start_ns"]).to_numpy(), attribution.cause.codes
    remedies = list_remedies(remedy)
    shares = 100 * np.bincount(codes, duration, minlength=len(CAUSES)) / max(int(duration.sum()), 1)
    counts = np.bincount(codes, minlength=len(CAUSES))
    return tuple(
        Unattributed(CAUSES[code], remedies[CAUSES[code]], int(counts[code]), float(shares[code]))
        for code in np.argsort(-shares, kind="stable").tolist()
        if CAUSES[code] and counts[code]
    )


def take_fingerprint(work: pd.DataFrame) -> Marks:
    """Return the smallest hashes of the ``start_ns`` and ``end_ns`` of each piece of work, ascending."""
    marks = np.empty(0, dtype=np.uint64)
    for low in range(0, len(work), _AT_ONCE):
        start, end = (work[name].to_numpy()[low : low + _AT_ONCE].astype(np.uint64) for name in ("start_ns", "end_ns"))
        mixed = start * _MIXERS[0] + end
        for mixer in _MIXERS[1:]:  # after these, the smallest are random
            mixed ^= mixed >> _SHIFT
            mixed *= mixer
        most = min(_SPARE * KEPT, len(mixed)) - 1
        marks = np.unique(np.append(marks, np.partition(mixed, most)[: most + 1]))[:KEPT]
    return marks


def is_same_recording(one: Marks, other: Marks) -> bool:
    """Tell whether most work of one is the other's, by the marks up to the smaller of the largest two."""
    last = min((marks[-1] for marks in (one, other) if len(marks) >= KEPT), default=None)
    first, second = (marks if last is None else marks[marks <= last] for marks in (one, other))
    fewer = min(len(first), len(second))
    return fewer > 0 and len(np.intersect1d(first, second)) > _MOST * fewer
