"""Steps of a GPU, each from its begin to that of the next one, so that all time between two of them is in one."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, open_times
from tcprof.analysis.samples.sampling import MINIMUM_COVERAGE
from tcprof.arrays import Floats, Ints, pick_rows, rows_of_gpu
from tcprof.frames import STEPS

_PLACE = ["gpu", "range", "gpu_start_ns"]


def list_steps(
    iterations: pd.DataFrame, instances: pd.DataFrame, activities: pd.DataFrame, samples: pd.DataFrame
) -> pd.DataFrame:
    """The iterations that have work on the GPU as ``tcprof.frames.STEPS``."""
    parts = []
    for gpu in iterations["gpu"].unique():
        steps = time_steps(iterations, instances, gpu)
        start = steps["start_ns"].to_numpy(np.int64)
        end = np.where(steps["step_ns"].notna(), start + steps["step_ns"], start).astype(np.int64)
        work = rows_of_gpu(activities, gpu)
        busy_ns = open_times(work["start_ns"].to_numpy(), work["end_ns"].to_numpy()).integral(start, end)
        length = steps["step_ns"]
        steps = steps.assign(
            busy_ns=np.where(length.notna(), busy_ns, np.nan),
            idle_pct=100 * (1 - busy_ns / length),
            tensor_active_mean_pct=_mean_active(rows_of_gpu(samples, gpu), start, end),
        )
        parts.append(STEPS.conform(steps))
    return STEPS.concat(parts)


def time_steps(iterations: pd.DataFrame, instances: pd.DataFrame, gpu: int) -> pd.DataFrame:
    """The iterations of a GPU that have work on it, in order, with their ``start_ns`` there and their ``step_ns``."""
    mine = iterations[iterations["gpu"] == gpu].merge(instances[_PLACE], on=_PLACE[:2])
    mine = mine.rename(columns={"gpu_start_ns": "start_ns"}).dropna(subset="start_ns").sort_values("number")
    length = mine["start_ns"].diff().shift(-1)
    follows = mine["number"].diff().shift(-1) == 1
    return mine.assign(step_ns=length.where(follows & (length > 0))).reset_index(drop=True)


def _mean_active(samples: pd.DataFrame, start: Ints, end: Ints) -> Floats:
    """Mean Tensor Active over the sampled part of each interval; NaN where that is too little."""
    known = pick_rows(samples, samples["tensor_active_pct"].notna().to_numpy())
    borders = known["start_ns"].to_numpy(), known["end_ns"].to_numpy()
    covered = StepFunction(*borders, np.ones(len(known))).integral(start, end)
    active = StepFunction(*borders, known["tensor_active_pct"].to_numpy()).integral(start, end)
    enough = (covered > 0) & (covered >= MINIMUM_COVERAGE * (end - start))
    mean: Floats = np.divide(active, covered, out=np.full(len(start), np.nan), where=enough)
    return mean
