"""Slow steps: those that take longer than their work explains, and why; they are in no figure of their role."""

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import StepFunction, open_times
from tcprof.analysis.kernels.names import PRODUCT
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.analysis.steps.marked_steps import MAD_TO_DEVIATION, NARROWEST_BAND
from tcprof.analysis.steps.roles import StepContents, find_named
from tcprof.arrays import Floats, Ints
from tcprof.sources.xla import COMPILATION

LOADS, ALLOCATES, COMPILES, TRIES, STALLS = "loads kernels", "allocates memory", "compiles", "tries kernels", "stalls"
_CALLS = (
    (COMPILES, re.compile(COMPILATION)),
    (LOADS, re.compile(r"cu(?:da)?(?:Module|Library)Load")),
    (ALLOCATES, re.compile(r"cu(?:da)?(?:Malloc|Free|Mem(?:Alloc|Free|Create|Map)|HostAlloc)(?!.*Async)")),
)
_FEWEST = 3  # steps of a role that show what is usual
_USUAL_PERCENTILE = 90  # that the spread of a role reaches to: a stall lies beyond it


def find_slow_steps(
    contents: StepContents, lengths: Floats, work: pd.DataFrame, calls: pd.DataFrame
) -> npt.NDArray[np.object_]:
    """Name why each step of a GPU is slow; empty for those that are not.

    Args:
        contents: The steps; warm-up is neither judged nor shows what is usual.
        lengths: How long each takes, to the next one's begin or to the end of its own work.
        work: The GPU's activities.
        calls: Calls that prepare for work, see ``Source.setup_calls``, and ranges of compilation.
    """
    steps, causes = contents.steps, np.full(len(contents.steps), "", dtype=object)
    begin = steps["gpu_start_ns"].fillna(-1).to_numpy(np.int64)
    busy = open_times(work["start_ns"].to_numpy(), work["end_ns"].to_numpy())
    busy_ns = busy.integral(begin, begin + np.nan_to_num(lengths).astype(np.int64))
    gaps = _list_gaps(busy, begin, lengths, calls)
    is_judged = ~steps["warm_up"].to_numpy(bool) & (lengths > 0)
    for rows in steps.groupby("kind").indices.values():
        rows = rows[is_judged[rows]]
        if len(rows) < _FEWEST:
            continue
        by_cause = {name: np.maximum(ns[rows] - np.median(ns[rows]), 0) for name, ns in gaps.items()}
        by_cause[TRIES] = _time_trials(contents, rows)
        length, work_ns = lengths[rows], busy_ns[rows] - by_cause[TRIES]
        idle_ns = length - work_ns
        usual, usually_idle = np.median(length), np.median(idle_ns)
        band = NORMAL_95 * MAD_TO_DEVIATION * np.median(np.abs(idle_ns - usually_idle))
        excess = length - np.maximum(usual, work_ns + usually_idle)
        is_long = excess > max(band, NARROWEST_BAND * usual)
        is_stall = (excess > usual) & (length > np.percentile(length, _USUAL_PERCENTILE))
        names, times = np.array([*by_cause], dtype=object), np.stack([*by_cause.values()])
        is_caused = is_long & (times.max(axis=0) >= excess / 2)
        causes[rows] = np.where(is_caused, names[times.argmax(axis=0)], np.where(is_stall, STALLS, ""))
    return causes


def _list_gaps(busy: StepFunction, begin: Ints, lengths: Floats, calls: pd.DataFrame) -> dict[str, Floats]:
    """Sum by cause, for each step, the gaps of the GPU in which such calls are made."""
    gap_start, gap_end = busy.end[:-1], busy.start[1:]
    order = np.argsort(begin, kind="stable")
    end = begin + np.nan_to_num(lengths)
    sums_of_cause: dict[str, Floats] = {}
    for cause, pattern in _CALLS:
        rows = calls[find_named(calls["name"], pattern.match)]
        index = np.searchsorted(gap_start, rows["end_ns"]) - 1
        is_inside = (index >= 0) & (np.append(gap_end, 0)[index] > rows["start_ns"])
        gap = np.unique(index[is_inside])
        row = np.append(-1, order)[np.searchsorted(begin[order], gap_start[gap], side="right")]
        is_inside = (row >= 0) & (gap_start[gap] < end[row])
        length = (gap_end - gap_start)[gap[is_inside]]
        sums_of_cause[cause] = np.bincount(row[is_inside], length, len(begin)).astype(np.float64)
    return sums_of_cause


def _time_trials(contents: StepContents, rows: Ints) -> Floats:
    """Sum the matrix multiplications and convolutions beyond the usual number, of kernels that few of the steps run."""
    index = np.full(len(contents.steps) + 1, -1)
    index[rows] = np.arange(len(rows))
    chosen = contents.works_on((PRODUCT,)) & (index[contents.step] >= 0)
    kernels, step = contents.kernels[chosen], index[contents.step[chosen]]
    launched = pd.DataFrame({"step": step, "name": kernels["name"].cat.codes.to_numpy()})
    length = (kernels["end_ns"] - kernels["start_ns"]).to_numpy(np.float64)
    steps_of_name = launched.drop_duplicates().groupby("name").size()
    is_rare = (launched["name"].map(steps_of_name) * 2 < len(rows)).to_numpy(bool)
    count, rare_count = np.bincount(step, minlength=len(rows)), np.bincount(step, is_rare, len(rows))
    extra = np.minimum(np.maximum(count - np.median(count), 0), rare_count)
    is_trial = extra > np.median(count) / 2
    return np.where(is_trial, np.bincount(step, length * is_rare, len(rows)) * extra / np.maximum(rare_count, 1), 0)
