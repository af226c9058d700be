"""The steps of a recording, with the role of each, and which of them figures are over."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.ranges.projection import Attribution, Hierarchy, launches_of
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER
from tcprof.analysis.steps.marked_steps import (
    ALL,
    LEAST_SHARE,
    count_steady,
    find_marked_steps,
    set_warm_up,
)
from tcprof.analysis.steps.roles import StepContents
from tcprof.analysis.steps.slow_steps import find_slow_steps
from tcprof.analysis.steps.step_summary import measure_steps, time_followed_steps
from tcprof.arrays import Bools, Floats, Ints, rows_of_gpu
from tcprof.frames import KERNEL_KINDS
from tcprof.sources.xla import COMPILATION


def count_steps(
    instances: pd.DataFrame,
    hierarchy: Hierarchy,
    attribution: Attribution,
    activities: pd.DataFrame,
    samples: pd.DataFrame,
    api_calls: pd.DataFrame,
    setup_calls: pd.DataFrame,
    step: str | list[int],
    warm_up: int | str | None,
) -> tuple[pd.DataFrame, Ints]:
    """Count steps, with role, warm-up and slowness of each; and find each activity's row of its step, -1 for none.

    On each GPU the role with most time is the first, those that occur but once follow the others.

    Args:
        setup_calls: See ``Source.setup_calls``.
        step: The path, or rows of paths, see ``find_marked_steps``.
        warm_up: See ``set_warm_up``.
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
    """Number roles in order of their time, those that occur once behind the others.

    A role's time is that of its shorter steps, as often as it has steps: long first steps are no time of the program's.
    """
    groups = pd.Series(window).groupby(roles)
    time = groups.quantile(0.25, interpolation="lower") * groups.size()
    ranked = time.index[np.lexsort((-time, groups.size() == 1))]
    return np.asarray(ranked.get_indexer(roles))
