"""The gaps of each GPU, the times in which it idles between two activities: their causes, and what filling them saves.

Causes are those of the prices, see ``tcprof.analysis.host``; a gap in which the CPU first waits and then works long
counts for both.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis, host
from tcprof.analysis.intervals import StepFunction, open_times
from tcprof.analysis.replay import find_windows
from tcprof.annotate.steps import DATA
from tcprof.arrays import Bools, Floats, Ints, rows_of_gpu
from tcprof.frames import GAP_SUMS, GAPS

SHORT_NS = 10_000  # gaps up to this are in the sums alone
LAUNCH_BOUND, SYNCHRONIZATION, COPY_WAIT = "launch-bound", "synchronization", "copy wait"
DATA_LOADING, CPU_WORK, LAUNCHED = "data loading", "CPU work", "launched before"
UNKNOWN = ""  # no launch was recorded
CAUSES = (LAUNCH_BOUND, SYNCHRONIZATION, COPY_WAIT, DATA_LOADING, CPU_WORK, LAUNCHED, UNKNOWN)
_COPIES = (host.FROM_GPU, host.TO_GPU, *host.FROM_MEMORY.values())
_BLOCKED = "a launch that blocks"
_NUMBER = r"\d+"
_SUM_KEYS = ["cause", "path", "wait", "short"]


@dataclass(frozen=True)
class Gaps:
    """The gaps of all GPUs of a recording."""

    gaps: pd.DataFrame  # see ``tcprof.frames.GAPS``
    gap_sums: pd.DataFrame  # see ``tcprof.frames.GAP_SUMS``


def list_gaps(analysis: Analysis) -> Gaps:
    """List the gaps of each GPU whose work the trace shows."""
    frames, sums = [], []
    for gpu in sorted(analysis.activities["gpu"].unique().tolist()):
        if analysis.is_busy_known(gpu):
            gaps, gap_sums = _list_of_gpu(analysis, gpu)
            frames.append(gaps)
            sums.append(gap_sums)
    return Gaps(GAPS.concat(frames), GAP_SUMS.concat(sums))


def _list_of_gpu(analysis: Analysis, gpu: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    activities = rows_of_gpu(analysis.activities, gpu)
    explained = host.explain_gaps(analysis, activities)
    gaps = explained.frame
    start, end = (gaps[name].to_numpy() for name in ("start_ns", "end_ns"))
    steps = find_windows(analysis, gpu)
    begins, ends = (activities[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    inside = open_times(*(steps[2] if steps else (begins.min(keepdims=True), ends.max(keepdims=True))))
    count = steps[1] if steps else 1
    is_long = end - start > SHORT_NS
    row = np.full(len(gaps), -1, dtype=np.int64)
    following = gaps["following"].to_numpy()
    process = activities["process"].to_numpy()[following[is_long]]
    row[is_long] = host.find_open_ranges(analysis, process, gaps["asked_ns"].to_numpy()[is_long])
    wait = _name_waits(explained)
    gaps = gaps.assign(
        gpu=gpu,
        cause=_name_causes(analysis, explained, wait, row),
        wait=np.where(gaps["cause"] == host.WAITS, wait, ""),
        range=row,
        path=_name_paths(analysis, row),
        wait_ns=gaps["wait_to_ns"] - start,
        saving_ns=inside.integral(start, end) / count,
    )
    sums = _sum_gaps(gaps, wait, is_long, inside, count)
    return _describe(analysis, gaps[is_long], activities, following[is_long]), sums


def _name_waits(explained: host.IdleGaps) -> npt.NDArray[np.object_]:
    """Name what the CPU last waited for before each gap ended."""
    names = [
        _BLOCKED if name in host.OF_QUEUE else str(name).partition("_v")[0] for name in explained.waits["name"].tolist()
    ]
    return np.asarray(pd.Series([*names, ""], dtype=object).to_numpy()[explained.frame["wait"].to_numpy()])


def _name_causes(
    analysis: Analysis, explained: host.IdleGaps, wait: npt.NDArray[np.object_], row: Ints
) -> npt.NDArray[np.object_]:
    cause = explained.frame["cause"].to_numpy()
    names = np.append(analysis.nvtx_ranges["name"].astype(object).to_numpy(), "")
    conditions = [
        (explained.frame["launch"] < 0).to_numpy(),
        cause == host.LAUNCHES,
        cause == host.GPU_SIDE,
        (cause == host.WAITS) & pd.Series(wait).isin(_COPIES).to_numpy(),
        cause == host.WAITS,
        names[row] == DATA,
    ]
    named = [UNKNOWN, LAUNCH_BOUND, LAUNCHED, COPY_WAIT, SYNCHRONIZATION, DATA_LOADING]
    causes = [np.array(name, dtype=object) for name in named]
    return np.asarray(np.select(conditions, causes, np.array(CPU_WORK, dtype=object)))


def _name_paths(analysis: Analysis, row: Ints) -> npt.NDArray[np.object_]:
    """Name the path of each range; its name alone where no work was launched in it."""
    used, place = np.unique(row, return_inverse=True)
    path_id, paths = find_paths(analysis.instances, used), analysis.paths["path"].tolist()
    names = np.append(analysis.nvtx_ranges["name"].astype(object).to_numpy(), "")[used]
    texts = [paths[path] if path >= 0 else name for path, name in zip(path_id.tolist(), names.tolist(), strict=True)]
    return np.asarray(pd.Series(texts, dtype=object))[place]


def find_paths(instances: pd.DataFrame, row: Ints) -> Ints:
    """Find the path of each range, by rows of ``nvtx_ranges``; -1 for none, and where no work was launched in it."""
    of_range = instances.drop_duplicates("range").set_index("range")["path_id"]
    return np.asarray(of_range.reindex(row).fillna(-1), dtype=np.int64)


def find_savings(gaps: pd.DataFrame, gap_sums: pd.DataFrame) -> "pd.Series[float]":
    """Find for each gap of a GPU what filling all that have its cause, range and wait would save, in ns of a step."""
    sums = gap_sums[~gap_sums["short"]].set_index(_SUM_KEYS[:3])["saving_ns"]
    alike = gaps.assign(path=gaps["path"].str.replace(_NUMBER, "*", regex=True))
    return sums.reindex(pd.MultiIndex.from_frame(alike[_SUM_KEYS[:3]]))


def _sum_gaps(
    gaps: pd.DataFrame, wait: npt.NDArray[np.object_], is_long: Bools, inside: StepFunction, count: int
) -> pd.DataFrame:
    """Sum the gaps by cause and range; numbers in a path count as alike."""
    columns = gaps[["gpu", "cause", "path", "wait", "start_ns", "end_ns", "saving_ns"]].assign(short=~is_long)
    places = columns["path"].astype("category")
    alike = pd.Series(places.cat.categories).str.replace(_NUMBER, "*", regex=True).to_numpy(object)
    columns["path"] = alike[places.cat.codes] if len(alike) else columns["path"]
    columns["gap_count"] = 1
    both = ~columns["cause"].isin([SYNCHRONIZATION, COPY_WAIT]).to_numpy() & (gaps["wait_ns"] > 0).to_numpy()
    waited = columns[both].assign(end_ns=gaps["wait_to_ns"][both], wait=wait[both], gap_count=0)
    waited["cause"] = np.where(waited["wait"].isin(_COPIES), COPY_WAIT, SYNCHRONIZATION)
    columns.loc[both, "start_ns"] = gaps.loc[both, "wait_to_ns"]
    parts = pd.concat([columns, waited]) if both.any() else columns
    start, end = parts["start_ns"].to_numpy(), parts["end_ns"].to_numpy()
    time, saved = end - start, inside.integral(start, end)
    # One of warm-up is the longest only where none is in the steps that count.
    rank = np.where(saved > 0, saved, time - max(float(time.max(initial=0)), 1.0))
    parts = parts.assign(time_ns=time, saving_ns=saved / count, rank=rank).reset_index(names="gap")
    by = parts.groupby(["gpu", *_SUM_KEYS], as_index=False, sort=False)
    sums = by.agg(
        gap_count=("gap_count", "sum"),
        total_ns=("time_ns", "sum"),
        longest=("rank", "idxmax"),
        saving_ns=("saving_ns", "sum"),
    )
    longest = parts.iloc[sums["longest"].to_numpy(np.int64)]
    sums["longest_ns"] = longest["time_ns"].to_numpy()
    sums["longest_gap"] = np.where(is_long, is_long.cumsum(), 0)[longest["gap"].to_numpy(np.int64)]
    share = 100 * sums["saving_ns"] / (inside.known_ns / count)
    order = ["saving_ns", "total_ns"]
    return GAP_SUMS.conform(sums.assign(share_pct=share).sort_values(order, ascending=False, kind="stable"))


def _describe(analysis: Analysis, gaps: pd.DataFrame, activities: pd.DataFrame, following: Ints) -> pd.DataFrame:
    """Complete the gaps of one GPU by their steps and by the calls in them."""
    start, end = (gaps[name].to_numpy() for name in ("start_ns", "end_ns"))
    calls = analysis.api_calls["start_ns"].to_numpy()
    begun = np.sort(calls[analysis.api_calls["process"].isin(activities["process"].unique()).to_numpy()])
    launched: Floats = np.append(calls.astype(np.float64), np.nan)[gaps["launch"].to_numpy()]
    step, is_between = _find_steps(analysis, int(activities["gpu"].iloc[0]), start)
    rows = np.flatnonzero((analysis.activities["gpu"] == activities["gpu"].iloc[0]).to_numpy())
    return GAPS.conform(
        gaps.assign(
            number=np.arange(1, len(gaps) + 1),
            step=step,
            between_steps=is_between,
            activity=rows[following],
            launched_ns=launched,
            launch_count=np.searchsorted(begun, end) - np.searchsorted(begun, start),
        )
    )


def _find_steps(analysis: Analysis, gpu: int, time: Ints) -> tuple[Ints, Bools]:
    """Find the number of the step that each time lies in, -1 for none, and whether its work had ended."""
    steps = rows_of_gpu(analysis.steps, gpu).dropna(subset="gpu_start_ns").sort_values("gpu_start_ns", kind="stable")
    if steps.empty:
        return np.full(len(time), -1), np.zeros(len(time), dtype=bool)
    start = steps["gpu_start_ns"].to_numpy(np.float64)
    end = start + steps["gpu_window_ns"].to_numpy(np.float64)
    row = np.searchsorted(start, time, side="right") - 1
    has_ended = time >= end[np.maximum(row, 0)]
    is_in = (row >= 0) & ~(has_ended & (row == len(start) - 1))
    return np.where(is_in, steps["number"].to_numpy()[np.maximum(row, 0)], -1), is_in & has_ended
