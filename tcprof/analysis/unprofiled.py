"""The steps that ran while nothing was recorded, and the recorded ones of the annotation."""

import numpy as np
import pandas as pd

from tcprof.analysis.analysis import Analysis
from tcprof.analysis.intervals import open_times
from tcprof.analysis.steps.step_summary import mean_power
from tcprof.annotate.steps import DOMAIN, FORWARD, INFERENCE, STEP
from tcprof.frames import UNPROFILED


def list_annotated_steps(analysis: Analysis) -> pd.DataFrame:
    """List the recorded steps that the annotation marks, as ``tcprof.frames.UNPROFILED`` does the others.

    These are of training if any is, else calls of models. A step with work on a GPU begins with the first of it.
    """
    ranges = analysis.nvtx_ranges
    ours = ranges[(ranges["domain"] == DOMAIN) & ranges["start_end"]]
    names = ours["name"].astype(str)
    ours = ours[(names == STEP) | names.str.startswith(f"{INFERENCE} ")]
    begins = analysis.instances.groupby("range")["gpu_start_ns"].min().reindex(ours.index)
    if begins.notna().any():
        ours = ours.assign(start_ns=begins)[begins.notna()]
    ours = ours.assign(training=ours["name"] == STEP, step_count=1)
    return _of_one_role(ours[list(UNPROFILED.names)])


def list_unprofiled_steps(analysis: Analysis) -> pd.DataFrame:
    """List unprofiled steps of the recorded ones' role, ``tcprof.frames.UNPROFILED``; none for several models."""
    unprofiled = _count_whole_steps(analysis)
    if unprofiled.empty:  # most recordings have none: then no range has to be read
        return unprofiled
    recorded, paths = list_annotated_steps(analysis), analysis.paths
    is_part = (paths["parent_id"] >= 0) & (paths["domain"] == DOMAIN) & paths["name"].str.startswith(f"{INFERENCE} ")
    if is_part.any() and not recorded["training"].any():
        return unprofiled[:0]
    is_alike = len(recorded) and recorded["training"].iloc[0] == unprofiled["training"].iloc[0]
    return unprofiled if is_alike and not explain_mismatch(analysis) else unprofiled[:0]


def _count_whole_steps(analysis: Analysis) -> pd.DataFrame:
    """List unprofiled steps of one role; their number is that of steps, each of which may call its model again."""
    steps, paths = _of_one_role(analysis.unprofiled), analysis.paths
    if steps.empty or steps["training"].any():
        return steps
    outer = paths.index[(paths["domain"] == DOMAIN) & paths["name"].str.startswith(f"{INFERENCE} ")]
    calls = paths.index[(paths["name"] == FORWARD) & paths["parent_id"].isin(outer)]
    path = analysis.instances.drop_duplicates("range")["path_id"]
    whole, count = path.isin(outer).sum(), path.isin(calls).sum()
    return steps.assign(step_count=steps["step_count"] * whole / count) if count > whole else steps


def explain_mismatch(analysis: Analysis) -> str:
    """Say why unprofiled steps are other ones than those recorded, as an end of a sentence; empty if they are not."""
    counted, unprofiled = analysis.steps["counted"], _count_whole_steps(analysis)
    ranges = analysis.nvtx_ranges.reindex(analysis.steps.loc[counted, "range"])
    trains = ranges.loc[ranges["domain"] == DOMAIN, "name"] == STEP
    if len(trains) and len(unprofiled) and trains.iloc[0] != unprofiled["training"].iloc[0]:
        return "they are of another role"
    if measure_step_times(unprofiled).median() < analysis.steps.loc[counted, "busy_ns"].min():
        return "they are shorter than the GPU's work in any recorded step"
    following = analysis.steps.groupby("gpu")["kind"].shift(-1)
    is_followed = counted & following.notna()
    if (following != analysis.steps["kind"])[is_followed].mean() > 0.5:  # so the median time holds both
        return "most are followed by a step of another role, which they contain"
    return ""


def measure_step_times(steps: pd.DataFrame, warm_up: int = 0) -> "pd.Series[float]":
    """Return the times in ns from one step's start to the next one's, of each process without its first steps.

    Of several steps that were timed together it is their mean.
    """
    ordered = steps.sort_values(["process", "start_ns"])
    distance = ordered.groupby("process")["start_ns"].diff().shift(-1) / ordered["step_count"]
    is_kept = (ordered.groupby("process").cumcount() >= warm_up) & distance.notna()
    return distance[is_kept].astype(float)


def time_unprofiled_steps(analysis: Analysis, gpu: int) -> "pd.Series[float]":
    """Return the unprofiled times of a GPU's steps in ns; none where steps are ranges of the program's own."""
    unprofiled = list_unprofiled_steps(analysis)
    if unprofiled.empty:
        return pd.Series(dtype=np.float64)
    ranges = analysis.nvtx_ranges.reindex(analysis.counted_steps(gpu)["range"])
    if not (ranges["domain"] == DOMAIN).all():
        return pd.Series(dtype=np.float64)
    if unprofiled["process"].nunique() > 1:  # each rank has its own
        unprofiled = unprofiled[unprofiled["process"].isin(ranges["process"])]
    return measure_step_times(unprofiled)


def measure_unprofiled_power(analysis: Analysis, gpu: int) -> float:
    """Return a GPU's mean power in W while unprofiled steps ran, see ``tcprof.frames.MEAN_POWER``; NaN if unknown."""
    steps, log = list_unprofiled_steps(analysis), analysis.driver_log
    if steps.empty:
        return np.nan
    begin, end = (np.array([moment], dtype=np.int64) for moment in (steps["start_ns"].min(), steps["end_ns"].max()))
    return mean_power(log[log["gpu"] == gpu], open_times(begin, end))


def _of_one_role(steps: pd.DataFrame) -> pd.DataFrame:
    return steps[steps["training"]] if steps["training"].any() else steps
