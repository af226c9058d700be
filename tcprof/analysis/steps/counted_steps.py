"""The steps of a recording: the role of each, which are slow and why, and which of them figures are over."""

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import StepFunction, open_times
from tcprof.analysis.kernels.names import PRODUCT
from tcprof.analysis.ranges.projection import Attribution, Hierarchy, launches_of
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER
from tcprof.analysis.steps.marked_steps import (
    ALL,
    LEAST_SHARE,
    MAD_TO_DEVIATION,
    NARROWEST_BAND,
    count_steady,
    find_marked_steps,
    set_warm_up,
)
from tcprof.analysis.steps.roles import StepContents
from tcprof.analysis.steps.step_summary import measure_steps, time_followed_steps
from tcprof.arrays import Bools, Floats, Ints, find_named, rows_of_gpu
from tcprof.frames import KERNEL_KINDS
from tcprof.sources.xla import COMPILATION

LOADS, ALLOCATES, COMPILES, TRIES, STALLS = "loads kernels", "allocates memory", "compiles", "tries kernels", "stalls"
_CALLS = (
    (COMPILES, re.compile(COMPILATION)),
    (LOADS, re.compile(r"cu(?:da)?(?:Module|Library)Load")),
    (ALLOCATES, re.compile(r"cu(?:da)?(?:Malloc|Free|Mem(?:Alloc|Free|Create|Map)|HostAlloc)(?!.*Async)")),
)
_FEWEST = 3  # steps of a role that show what is usual
_USUAL_PERCENTILE = 90  # that the spread of a role reaches to: a stall lies beyond it


def count_steps(
    instances: pd.DataFrame,
    hierarchy: Hierarchy,
    attribution: Attribution,
    activities: pd.DataFrame,
    samples: pd.DataFrame,
    api_calls: pd.DataFrame,
    setup_calls: pd.DataFrame,  # see ``Source.setup_calls``
    step: str | list[int],  # the path, or rows of paths, see ``find_marked_steps``
    warm_up: int | str | None,  # see ``set_warm_up``
) -> tuple[pd.DataFrame, Ints]:
    """Count steps, with role, warm-up and slowness of each; and find each activity's row of its step, -1 for none.

    On each GPU the role with most time is the first, those that occur but once follow the others.
    """
    steps = measure_steps(find_marked_steps(instances, hierarchy.paths, activities, step), activities, samples)
    step_of, contents = _find_contents(steps, hierarchy, attribution, activities, api_calls)
    for held in contents:
        roles, rows = held.name_roles(), held.steps.index
        steps.loc[rows, "role"] = roles
        steps.loc[rows, "kind"] = _rank_roles(roles, held.steps["gpu_window_ns"].fillna(0).to_numpy(np.float64))
    steps = set_warm_up(steps, warm_up)
    compiling = hierarchy.ranges[(hierarchy.ranges["name"] == COMPILATION).to_numpy()]
    parts = [rows[["name", "start_ns", "end_ns"]] for rows in (setup_calls, compiling)]
    calls = pd.concat([part for part in parts if len(part)] or parts[:1]).astype({"name": "category"})
    for held in contents if warm_up != ALL else ():
        gpu_steps = steps.loc[held.steps.index]
        gpu = int(gpu_steps["gpu"].iloc[0])
        followed = time_followed_steps(steps, activities, gpu).set_index("number")
        lengths = followed["step_ns"].fillna(followed["gpu_window_ns"]).reindex(gpu_steps["number"]).to_numpy()
        slow = find_slow_steps(replace(held, steps=gpu_steps), lengths, rows_of_gpu(activities, gpu), calls)
        steps.loc[gpu_steps.index, "slow"] = slow
    steps = count_steady(steps)
    return steps.assign(counted=steps["counted"] & ~_are_sparse(steps, activities)), step_of


def _are_sparse(steps: pd.DataFrame, activities: pd.DataFrame) -> Bools:
    """Find detected steps of GPUs that do something else, or nothing, most of the time: no figure covers these."""
    times = activities.groupby("gpu")
    span = times["end_ns"].max() - times["start_ns"].min()
    share = steps["gpu"].map(steps.groupby("gpu")["gpu_window_ns"].sum() / span)
    return np.asarray((steps["path"] == KERNEL_ORDER) & (share < LEAST_SHARE))


def _find_contents(
    steps: pd.DataFrame,
    hierarchy: Hierarchy,
    attribution: Attribution,
    activities: pd.DataFrame,
    api_calls: pd.DataFrame,
) -> tuple[Ints, list[StepContents]]:
    """Find the step that each activity belongs to, of several the last, and what the steps of each GPU hold."""
    step_of = np.full(len(activities), -1, dtype=np.int64)
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    thread = np.append(api_calls["thread"].to_numpy(), -1)[launches_of(api_calls, activities)]
    contents = []
    for gpu, gpu_steps in steps.groupby("gpu"):
        inside = np.full(len(hierarchy.ranges), -1, dtype=np.int64)
        inside[gpu_steps["range"].to_numpy()] = np.arange(len(gpu_steps))
        for ranges in hierarchy.levels[1:]:
            inside[ranges] = np.maximum(inside[ranges], inside[hierarchy.parent[ranges]])
        pairs = (activities["gpu"] == gpu).to_numpy()[attribution.activity]
        step = np.full(len(activities), -1, dtype=np.int64)
        np.maximum.at(step, attribution.activity[pairs], inside[attribution.range[pairs]])
        step_of = np.where(step >= 0, gpu_steps.index.to_numpy()[step], step_of)
        rows = np.flatnonzero((step >= 0) & is_kernel)
        contents.append(StepContents(gpu_steps, activities.iloc[rows], step[rows], thread[rows], hierarchy, inside))
    return step_of, contents


def _rank_roles(roles: npt.NDArray[np.object_], window: Floats) -> Ints:
    """Number roles in order of their time, by their shorter steps; those that occur once behind the others."""
    groups = pd.Series(window).groupby(roles)
    time = groups.quantile(0.25, interpolation="lower") * groups.size()
    ranked = time.index[np.lexsort((-time, groups.size() == 1))]
    return np.asarray(ranked.get_indexer(roles))


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
