"""The steps of each GPU and its roles, from one's first activity to the next's: length, idleness, Tensor Active."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, open_times
from tcprof.analysis.ranges.summary import Functions, mean_columns, tensor_columns
from tcprof.analysis.samples.interval_estimates import FEWEST_STEP_TIMES, bootstrap_interval, find_medians
from tcprof.analysis.samples.sampling import MINIMUM_COVERAGE, Windows, measure
from tcprof.analysis.steps.marked_steps import are_steady
from tcprof.analysis.steps.roles import DECODE
from tcprof.analysis.time.account import sum_classes
from tcprof.analysis.time.range_metrics import range_rates, values_of_launches
from tcprof.arrays import Bools, Floats, Ints, pick_rows, rows_of_gpu, union
from tcprof.frames import DRIVER_LOG, KINDS, STEP_SUMMARY, STEPS
from tcprof.sources import Samples

_RENEWED_NS = 100_000_000  # how long NVML keeps a value of power, as measured on H200s
_LONG = 2.0  # times the median from one step to the next
_KEYS = ["gpu", "kind"]
_RATES = ("tensor_kernel_share_pct", "dram_pct")
_SPREAD = {"step_p10_ns": 0.1, "step_p90_ns": 0.9}


def measure_steps(steps: pd.DataFrame, activities: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Measure each step to the next one's begin, and complete ``tcprof.frames.STEPS`` by it."""
    steps = steps.assign(step_ns=np.nan, busy_ns=np.nan, idle_pct=np.nan, tensor_active_mean_pct=np.nan)
    parts = []
    for gpu, rows in steps.groupby("gpu"):
        timed = pick_started(rows)
        length = timed["gpu_start_ns"].diff().shift(-1)
        timed = timed[(timed["number"].diff().shift(-1) == 1) & (length > 0)]
        length = length[timed.index].astype(np.int64)
        start = timed["gpu_start_ns"].to_numpy(np.int64)
        end = start + length.to_numpy()
        work = rows_of_gpu(activities, gpu)
        busy_ns = open_times(work["start_ns"].to_numpy(), work["end_ns"].to_numpy()).integral(start, end)
        figures = {
            "step_ns": length,
            "busy_ns": busy_ns,
            "idle_pct": 100 * (1 - busy_ns / length),
            "tensor_active_mean_pct": _mean_active(rows_of_gpu(samples, gpu), start, end),
        }
        parts.append(pd.DataFrame(figures, timed.index, dtype=np.float64))
    if parts:
        steps.update(pd.concat(parts))
    return STEPS.conform(steps)


def pick_started(steps: pd.DataFrame) -> pd.DataFrame:
    """Pick the steps of one GPU that have work on it, in their order."""
    return steps.dropna(subset="gpu_start_ns").sort_values("number")


def time_followed_steps(steps: pd.DataFrame, activities: pd.DataFrame, gpu: int) -> pd.DataFrame:
    """Pick a GPU's steps with work on it, without ``step_ns`` where something else follows: see ``are_followed``."""
    timed = pick_started(rows_of_gpu(steps, gpu)).reset_index(drop=True)
    start, end = (timed["gpu_start_ns"].to_numpy(np.float64) + more for more in (0, timed["gpu_window_ns"].to_numpy()))
    begun = np.sort(rows_of_gpu(activities, gpu)["start_ns"].to_numpy(np.int64))
    followed = are_followed(timed["number"].to_numpy(), timed["kind"].to_numpy(), start, end, begun)
    return timed.assign(step_ns=timed["step_ns"].where(followed))


def are_followed(number: Ints, kind: Ints, start: Floats, end: Floats, work: Ints) -> Bools:
    """Tell whether the next step follows each interval on a GPU, without other work between, such as a test pass."""
    period = np.append(np.where(np.diff(number) == 1, np.diff(start), np.nan), np.nan)
    between = np.searchsorted(work, start + np.nan_to_num(period)) - np.searchsorted(work, end, side="right")
    usual, usually_between = np.empty((2, len(period)))
    for number in np.unique(kind):
        rows = np.flatnonzero(kind == number)
        usual[rows] = np.nanmedian(np.append(period[rows], end[rows[-1]] - start[rows[-1]]))
        usually_between[rows] = np.median(between[rows])  # such as the copy of each batch
    has_other_work = between > usually_between
    return np.asarray((period > 0) & ~((period > _LONG * usual) & has_other_work))


def _mean_active(samples: pd.DataFrame, start: Ints, end: Ints) -> Floats:
    """Average Tensor Active over the sampled part of each interval; NaN where that is too little."""
    sampled = pick_rows(samples, samples["tensor_active_pct"].notna().to_numpy())
    borders = sampled["start_ns"].to_numpy(), sampled["end_ns"].to_numpy()
    covered = StepFunction(*borders, np.ones(len(sampled))).integral(start, end)
    active = StepFunction(*borders, sampled["tensor_active_pct"].to_numpy()).integral(start, end)
    enough = (covered > 0) & (covered >= MINIMUM_COVERAGE * (end - start))
    return np.asarray(np.divide(active, covered, out=np.full(len(start), np.nan), where=enough))


def summarize_steps(
    steps: pd.DataFrame, activities: pd.DataFrame, functions: Functions, samples: Samples | None = None
) -> pd.DataFrame:
    """Summarize the counted steps, see ``tcprof.frames.STEP_SUMMARY``.

    Args:
        samples: What the functions are of: intervals hold its rounding, and the mean power is its. None for neither.
    """
    if steps.empty:
        return STEP_SUMMARY.empty()
    rows = []
    for gpu in sorted(steps["gpu"].unique().tolist()):
        counted = time_followed_steps(steps, activities, gpu)
        counted = counted[counted["counted"] & (counted["gpu_window_ns"] > 0)]
        if len(counted):
            rows.append(_summarize(gpu, counted, rows_of_gpu(activities, gpu), functions, samples))
    return STEP_SUMMARY.conform(pd.DataFrame(rows)) if rows else STEP_SUMMARY.empty()


def _summarize(
    gpu: int, steps: pd.DataFrame, activities: pd.DataFrame, functions: Functions, samples: Samples | None
) -> dict[str, float | str]:
    start, step_ns = steps["gpu_start_ns"].to_numpy(np.int64), steps["step_ns"]
    last = start + steps["gpu_window_ns"].to_numpy(np.int64)
    end = np.where(step_ns.notna(), start + step_ns.fillna(0), last).astype(np.int64)
    to_next = step_ns.dropna().to_numpy(np.float64)
    count = len(start)
    inside = open_times(start, end)
    busy = open_times(activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy())
    median = find_medians(np.zeros(len(to_next), dtype=np.int64), to_next, 1, FEWEST_STEP_TIMES)
    step_figures = measure(_windows(gpu, start, end, np.arange(count)), count, functions)
    none = np.zeros(count, dtype=np.int64)
    interval = bootstrap_interval(none, step_figures["active_ns"].to_numpy(), step_figures["covered_ns"].to_numpy(), 1)
    whole = _windows(gpu, inside.start, inside.end, np.zeros(len(inside.start), dtype=np.int64))
    rounded = samples is not None and samples.tensor_source == "rounded"
    sampled = tensor_columns(whole, 1, functions, rounded, interval)
    window_figures = measure(_windows(gpu, start, last, none), 1, functions)
    logged = _summarize_log(DRIVER_LOG.empty() if samples is None else rows_of_gpu(samples.driver_log, gpu), inside)
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
        "window_active_pct": float(mean_columns(window_figures)["tensor_active_mean_pct"][0]),
        **logged,
        "energy_j": float(logged["power_w"]) * float(median.value[0]) / 1e9,
    }


def _summarize_log(log: pd.DataFrame, steps: StepFunction) -> dict[str, float | str]:
    """Summarize what the driver said during a GPU's steps."""
    within = pd.Series(steps.covered(log["start_ns"].to_numpy(), log["end_ns"].to_numpy()), log.index)
    by_limit = within.groupby(log["clock_limit"]).sum()
    limit = str(by_limit.idxmax()) if 2 * by_limit.max() > within.sum() else ""
    return {"power_w": mean_power(log, steps), "power_limit_w": log["power_limit_w"].median(), "clock_limit": limit}


def mean_power(samples: pd.DataFrame, steps: StepFunction) -> float:
    """Average power over the sampled part of a GPU's steps, see ``MEAN_POWER``; NaN where that is too little."""
    power = StepFunction(*(samples[name].to_numpy() for name in ("start_ns", "end_ns", "power_w")))
    start = np.minimum(steps.start + _RENEWED_NS, steps.end)  # until then a value may be of what ran before
    covered_ns = float(power.covered(start, steps.end).sum())
    least_ns = 2 * max(_RENEWED_NS, int((power.end - power.start).max(initial=0)))
    if covered_ns < max(MINIMUM_COVERAGE * steps.known_ns, least_ns):
        return np.nan
    return float(power.integral(start, steps.end).sum()) / covered_ns


def _windows(gpu: int, start: Ints, end: Ints, group: Ints) -> Windows:
    return Windows(group, np.full(len(start), gpu), start, end)


def summarize_kinds(
    steps: pd.DataFrame, instances: pd.DataFrame, activities: pd.DataFrame, functions: Functions
) -> pd.DataFrame:
    """Summarize each role of steps, the first as in ``summarize_steps``, without rates: ``add_rates_of_kinds``."""
    if steps.empty:
        return KINDS.empty()
    is_steady = are_steady(steps)
    steady = steps[is_steady]
    kinds = steps.groupby(_KEYS).agg(
        name=("role", "first"), warm_up_count=("warm_up", "sum"), slow_count=("slow", lambda slow: (slow != "").sum())
    )
    kinds["step_count"] = steady_count = steady.groupby(_KEYS).size().reindex(kinds.index, fill_value=0)
    parts = []
    for kind in steps["kind"].unique().tolist():
        kind_steps = steps.assign(counted=is_steady & (steps["kind"] == kind))
        figures = summarize_steps(kind_steps, activities, functions)  # rounding widens intervals alone
        parts.append(figures.assign(kind=kind))
    figures = pd.concat(parts).set_index(_KEYS).reindex(kinds.index)
    columns = ["gpu", "range", "kernel_count"]
    mean = steady.merge(instances[columns], on=columns[:2]).groupby(_KEYS)[["kernel_count", "kernel_ns"]].mean()
    timed = pd.concat(time_followed_steps(steps, activities, gpu) for gpu in steps["gpu"].unique().tolist())
    spread = timed[are_steady(timed)].groupby(_KEYS)["step_ns"]
    slow = timed[timed["slow"] != ""].groupby(_KEYS)["step_ns"].agg(["sum", "count"]).reindex(kinds.index, fill_value=0)
    frame = kinds.assign(
        # Over all steps, as a program counts them: the median ignores what differs.
        tokens_per_second=1e9 * steady_count / figures["total_ns"].where(kinds["name"] == DECODE),
        step_time_ns=figures["step_ns"],
        **{name: spread.quantile(share).reindex(kinds.index) for name, share in _SPREAD.items()},
        slow_ns=slow["sum"] - slow["count"] * figures["total_ns"] / steady_count.where(steady_count > 0),
        total_ns=figures["total_ns"],
        share_pct=100 * figures["total_ns"] / figures["total_ns"].groupby("gpu").transform("sum"),
        tensor_active_mean_pct=figures["tensor_active_mean_pct"],
        gpu_idle_pct=100 * figures["idle_ns"] / figures["total_ns"],
        **mean.reindex(kinds.index),
    )
    return KINDS.conform(frame.reset_index())


def add_rates_of_kinds(
    kinds: pd.DataFrame,
    steps: pd.DataFrame,
    launches: pd.DataFrame,
    kernels: pd.DataFrame,
    activities: pd.Series,
    timelines: dict[int, StepFunction],
) -> pd.DataFrame:
    """Add times by class, and rates of memory and tensor kernels; ``activities`` has the kind of each activity."""
    steady = np.append(are_steady(steps), False)[launches["step"].to_numpy()]
    row: Ints = pd.MultiIndex.from_frame(kinds[_KEYS]).get_indexer(pd.MultiIndex.from_frame(steps[_KEYS]))
    kind_row = np.append(row, -1)[launches["step"].to_numpy()][steady]
    sums = pd.DataFrame(
        {
            name: np.bincount(kind_row, values[steady], minlength=len(kinds))
            for name, values in values_of_launches(launches, kernels, activities)
        }
    )
    rates = range_rates(sums, kinds["total_ns"].to_numpy(np.float64))
    moved = rates["dram_bytes"]
    intensity = rates["tensor_flop"] / moved.where(moved > 0)
    times = _sum_times(kinds, steps[are_steady(steps) & (steps["gpu_window_ns"] > 0)], timelines)
    return kinds.assign(flop_per_byte=intensity, **{name: rates[name] for name in _RATES}, **times)


def _sum_times(kinds: pd.DataFrame, steps: pd.DataFrame, timelines: dict[int, StepFunction]) -> dict[str, Floats]:
    row: Ints = pd.MultiIndex.from_frame(kinds[_KEYS]).get_indexer(pd.MultiIndex.from_frame(steps[_KEYS]))
    start = steps["gpu_start_ns"].to_numpy(np.int64)
    group, *window = union(row, start, start + steps["gpu_window_ns"].to_numpy(np.int64))
    return sum_classes(Windows(group, kinds["gpu"].to_numpy()[group], *window), len(kinds), timelines)
