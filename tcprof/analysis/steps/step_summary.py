"""The steps of each GPU, from the first activity of one to that of the next: how long, how idle, how Tensor Active."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, open_times
from tcprof.analysis.ranges.summary import Functions, mean_columns, tensor_columns
from tcprof.analysis.samples.interval_estimates import bootstrap_interval, find_medians
from tcprof.analysis.samples.sampling import MINIMUM_COVERAGE, Windows, measure
from tcprof.arrays import Bools, Floats, Ints, pick_rows, rows_of_gpu
from tcprof.frames import STEP_SUMMARY, STEPS
from tcprof.sources import Samples

_RENEWED_NS = 100_000_000  # how long NVML keeps a value of power, as measured on H200s
_PLACE = ["gpu", "range", "gpu_start_ns"]
_LONG, _VERY_LONG = 2.0, 10.0  # times the median from one iteration to the next


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


def time_followed_steps(
    iterations: pd.DataFrame, instances: pd.DataFrame, activities: pd.DataFrame, gpu: int
) -> pd.DataFrame:
    """The same, in which a step has no ``step_ns`` where something else follows it: see ``are_followed``."""
    steps = time_steps(iterations, instances, gpu)
    start, end = (steps["start_ns"].to_numpy(np.float64) + more for more in (0, steps["gpu_window_ns"].to_numpy()))
    begun = np.sort(rows_of_gpu(activities, gpu)["start_ns"].to_numpy(np.int64))
    followed = are_followed(steps["number"].to_numpy(), steps["kind"].to_numpy(), start, end, begun)
    return steps.assign(step_ns=steps["step_ns"].where(followed))


def are_followed(number: Ints, kind: Ints, start: Floats, end: Floats, work: Ints) -> Bools:
    """Whether what comes after each interval on a GPU is the next iteration, and not something else before it.

    Something else is other work, such as a test pass, or nothing for very long, such as the start of a loader.

    Args:
        number: Numbers of the iterations; intervals are in order.
        kind: Their kinds.
        start: When they start on the GPU.
        end: When their own work ends there.
        work: When each activity of the GPU starts, in order.
    """
    period = np.append(np.where(np.diff(number) == 1, np.diff(start), np.nan), np.nan)
    between = np.searchsorted(work, start + np.nan_to_num(period)) - np.searchsorted(work, end, side="right")
    usual, usually_between = np.empty((2, len(period)))
    for each in np.unique(kind):
        rows = np.flatnonzero(kind == each)
        usual[rows] = np.nanmedian(np.append(period[rows], end[rows[-1]] - start[rows[-1]]))
        usually_between[rows] = np.median(between[rows])  # such as the copy of each batch
    has_other_work = between > usually_between
    is_long = (period > _VERY_LONG * usual) | ((period > _LONG * usual) & has_other_work)
    followed: Bools = (period > 0) & ~is_long
    return followed


def _mean_active(samples: pd.DataFrame, start: Ints, end: Ints) -> Floats:
    """Mean Tensor Active over the sampled part of each interval; NaN where that is too little."""
    known = pick_rows(samples, samples["tensor_active_pct"].notna().to_numpy())
    borders = known["start_ns"].to_numpy(), known["end_ns"].to_numpy()
    covered = StepFunction(*borders, np.ones(len(known))).integral(start, end)
    active = StepFunction(*borders, known["tensor_active_pct"].to_numpy()).integral(start, end)
    enough = (covered > 0) & (covered >= MINIMUM_COVERAGE * (end - start))
    mean: Floats = np.divide(active, covered, out=np.full(len(start), np.nan), where=enough)
    return mean


def summarize_steps(
    iterations: pd.DataFrame,
    instances: pd.DataFrame,
    activities: pd.DataFrame,
    functions: Functions,
    samples: Samples | None = None,
) -> pd.DataFrame:
    """The steps that figures are over, see ``tcprof.frames.STEP_SUMMARY``.

    Args:
        samples: What the functions are of: intervals hold its rounding, and the mean power is its. None for neither.
    """
    if iterations.empty:
        return STEP_SUMMARY.empty()
    rows = []
    for gpu in sorted(iterations["gpu"].unique().tolist()):
        steps = time_followed_steps(iterations, instances, activities, gpu)
        steps = steps[steps["counted"] & (steps["gpu_window_ns"] > 0)]
        if len(steps):
            rows.append(_summarize(gpu, steps, rows_of_gpu(activities, gpu), functions, samples))
    return STEP_SUMMARY.conform(pd.DataFrame(rows)) if rows else STEP_SUMMARY.empty()


def _summarize(
    gpu: int,
    steps: pd.DataFrame,
    activities: pd.DataFrame,
    functions: Functions,
    samples: Samples | None,
) -> dict[str, float]:
    start, step_ns = steps["start_ns"].to_numpy(np.int64), steps["step_ns"]
    last = start + steps["gpu_window_ns"].to_numpy(np.int64)
    end = np.where(step_ns.notna(), start + step_ns.fillna(0), last).astype(np.int64)
    to_next = step_ns.dropna().to_numpy(np.float64)
    count = len(start)
    inside = open_times(start, end)
    busy = open_times(activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy())
    median = find_medians(np.zeros(len(to_next), dtype=np.int64), to_next, 1)
    each = measure(_windows(gpu, start, end, np.arange(count)), count, functions)
    none = np.zeros(count, dtype=np.int64)
    interval = bootstrap_interval(none, each["active_ns"].to_numpy(), each["covered_ns"].to_numpy(), 1)
    whole = _windows(gpu, inside.start, inside.end, np.zeros(len(inside.start), dtype=np.int64))
    rounded = samples is not None and samples.tensor_source == "rounded"
    sampled = tensor_columns(whole, 1, functions, rounded, interval)
    own = measure(_windows(gpu, start, last, none), 1, functions)
    names = ("tensor_active_mean_pct", "tensor_active_low_pct", "tensor_active_high_pct", "coverage_pct")
    return {
        "gpu": gpu,
        "step_count": count,
        "step_ns": float(median.value[0]),
        "step_low_ns": float(median.low[0]),
        "step_high_ns": float(median.high[0]),
        "total_ns": float(inside.known_ns),
        "idle_ns": inside.known_ns - float(busy.integral(inside.start, inside.end).sum()),
        **{name: float(sampled[name][0]) for name in names},
        "window_active_pct": float(mean_columns(own)["tensor_active_mean_pct"][0]),
        "power_w": np.nan if samples is None else _mean_power(rows_of_gpu(samples.power, gpu), inside),
    }


def _mean_power(samples: pd.DataFrame, steps: StepFunction) -> float:
    """Mean power of a GPU over the sampled part of its steps, see ``MEAN_POWER``; NaN where that is too little."""
    power = StepFunction(*(samples[name].to_numpy() for name in ("start_ns", "end_ns", "power_w")))
    start = np.minimum(steps.start + _RENEWED_NS, steps.end)  # until then a value may be of what ran before
    covered_ns = float(power.covered(start, steps.end).sum())
    least_ns = 2 * max(_RENEWED_NS, int((power.end - power.start).max(initial=0)))
    if covered_ns < max(MINIMUM_COVERAGE * steps.known_ns, least_ns):
        return np.nan
    return float(power.integral(start, steps.end).sum()) / covered_ns


def _windows(gpu: int, start: Ints, end: Ints, group: Ints) -> Windows:
    return Windows(group, np.full(len(start), gpu), start, end)
