"""Samples and windows: mean, peak, percentile and coverage.

A sample holds for its whole interval, so every figure weighs samples by their overlap with the window; none counts
samples by their time stamps.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, run_starts, search
from tcprof.analysis.samples.borders import SharedMetric, border_errors
from tcprof.analysis.samples.sample_splitting import (
    NO_LAUNCHES,
    LaunchErrors,
    Rates,
    SplitSamples,
    launch_errors,
    split_samples,
)
from tcprof.arrays import Floats, Ints, mapping_of, return_freed_memory

NORMAL_95 = 1.959963984540054  # half of a 95 % interval, in standard errors
MINIMUM_COVERAGE = 0.5
PERCENTILE = 0.95
PAIRS_AT_ONCE = 500_000
TIMES_AT_ONCE = 1 << 17
# The mean of a reading of 1 %, and by how much it may be off everywhere: 0.00 to 0.67 in the fixtures, see
# docs/how-it-works.md.
ONE_MEANS, ONE_SHIFTS = 0.25, 0.42


@dataclass(frozen=True)
class Windows:
    """Disjoint intervals of time, each on one GPU and in one group."""

    group: Ints  # number of the group, ascending
    gpu: Ints  # the GPU; all windows of a group are on the same one
    start: Ints  # starts in ns, ascending within a group
    end: Ints  # ends in ns


@dataclass(frozen=True)
class Tensor:
    """What the tensor pipes of one GPU did, as functions of time."""

    recorded: StepFunction  # Tensor Active (%), sample by sample
    active: SharedMetric  # the same, with what a sample holds shared among its launches
    cycles: SharedMetric  # Tensor cycles per ns, likewise
    split: SplitSamples  # how samples were shared
    errors: LaunchErrors  # how far that may be off


def samples_by_gpu(samples: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """Split samples by GPU, without a copy."""
    gpu = samples["gpu"].to_numpy()
    first = run_starts(gpu)
    return {int(gpu[low]): samples.iloc[low:high] for low, high in pairwise([*first.tolist(), len(gpu)])}


def tensor_functions(samples: pd.DataFrame, launches: Mapping[int, Rates] | None = None) -> dict[int, Tensor]:
    """Make each GPU's Tensor Active and tensor cycles functions of time, shared among launches by their rates."""
    functions = {}
    for gpu, sampled in samples_by_gpu(samples).items():
        is_sampled = sampled["tensor_active_pct"].notna().to_numpy()
        gpu_samples = sampled if is_sampled.all() else sampled[is_sampled]
        if gpu_samples.empty:
            continue
        rates = (launches or {}).get(gpu, NO_LAUNCHES)
        split = split_samples(gpu_samples, rates)
        percent = gpu_samples["tensor_active_pct"].to_numpy()
        functions[gpu] = Tensor(
            StepFunction(split.start, split.end, percent),
            SharedMetric(split, percent),
            SharedMetric(split, gpu_samples["tensor_cycles"].to_numpy() / np.maximum(split.end - split.start, 1)),
            split,
            launch_errors(rates),
        )
    return_freed_memory()
    return functions


def _in_parts(function: Callable[[Ints], tuple[Floats, ...]], times: Ints) -> list[Floats]:
    """Call a function with some of many times at once: its intermediate arrays take several times their memory."""
    some = [times[low : low + TIMES_AT_ONCE] for low in range(0, max(len(times), 1), TIMES_AT_ONCE)]
    with mapping_of(len(some)) as map_all:
        parts = list(map_all(function, some))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def rounding_slack(percent: Floats) -> tuple[Floats, Floats]:
    """Bound how far the truth lies below and above Nsight Systems' whole percentages, in points.

    They are rounded to the nearest, but anything above 0 reads at least 1: ``tests/test_fixtures.py`` compares them
    with recorded cycles.
    """
    return np.where(percent > 1, 0.5, percent), np.where(percent > 0, 0.5, 0.0)


def read_rounded(percent: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the expected value of Nsight Systems' whole percentages, its standard error, and a shift.

    From 2 on a reading is uniform within half a point. What reads 1 lies anywhere up to 1.5, and mostly far below 1:
    compared with cycles in ``fixtures/``, its mean is 0.00 to 0.67. It differs by recording, so that all readings of 1
    may be off in the same direction: the shift.
    """
    is_one = percent == 1
    value = np.where(is_one, ONE_MEANS, percent)
    error = np.select([percent == 0, is_one], [0.02, 0.4], 1 / np.sqrt(12))
    return value, error, np.where(is_one, ONE_SHIFTS, 0.0)


def tensor_counts(samples: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Return each sample's tensor count, its standard error, and by how much all may be off together.

    Counts are cycles where these were recorded, else the rounded percentages of the cycles that passed, or, where the
    clock was not recorded either, of the time.
    """
    cycles = samples["tensor_cycles"].to_numpy()
    if not np.isnan(cycles).any():
        return cycles, np.zeros(len(cycles)), np.zeros(len(cycles))
    readings = read_rounded(samples["tensor_active_pct"].to_numpy())
    value, error, shift = (reading / 100 * passed_cycles(samples) for reading in readings)
    return value, error, shift


def passed_cycles(samples: pd.DataFrame) -> Floats:
    """Return the count of a sample at 100 %: the cycles that passed, or, without a recorded clock, the time."""
    passed: Floats = samples["pipe_cycles"].to_numpy()
    length: Floats = (samples["end_ns"] - samples["start_ns"]).to_numpy(np.float64)
    return length if np.isnan(passed).any() else passed


def measure(windows: Windows, groups: int, functions: Mapping[int, Tensor]) -> pd.DataFrame:
    """Integrate over each group's windows.

    Returns:
        window_ns, covered_ns, active_ns (the integral of Tensor Active, as a share, over time) and tensor_cycles (NaN
        where not recorded).
    """
    sums = {name: np.zeros(groups) for name in ("covered_ns", "active_ns", "tensor_cycles")}
    for gpu, tensor in functions.items():
        rows = np.flatnonzero(windows.gpu == gpu)
        group, low, high = windows.group[rows], windows.start[rows], windows.end[rows]
        times, index = np.unique(np.append(low, high), return_inverse=True)  # most windows share borders with others
        until = _in_parts(partial(_integrals_until, tensor), times)
        for (name, total), values in zip(sums.items(), until, strict=True):
            integral = values[index[len(low) :]] - values[index[: len(low)]]
            weights = integral / 100 if name == "active_ns" else integral
            total += np.bincount(group, weights=weights, minlength=groups)
    window = np.bincount(windows.group, weights=windows.end - windows.start, minlength=groups)
    return pd.DataFrame({"window_ns": window, **sums}, copy=False)


def _integrals_until(tensor: Tensor, times: Ints) -> tuple[Floats, ...]:
    """Integrate up to each time: known time, Tensor Active and tensor cycles."""
    positions = tensor.split.locate(times)
    cycles = tensor.cycles.before(positions) if tensor.cycles.is_known else np.full(len(times), np.nan)
    return tensor.recorded.indicator.until(times), tensor.active.before(positions), cycles


def measure_errors(windows: Windows, groups: int, functions: Mapping[int, Tensor], rounded: bool) -> pd.DataFrame:
    """Estimate how far the integral of Tensor Active over each group's windows may be off.

    Returns:
        below_ns and above_ns (by how much it could be lower or higher, if samples are rounded), and border_ns
        (standard error from samples that a border cuts).
    """
    sums = {
        name: np.zeros(groups) for name in ("below_ns", "above_ns", "first_ns", "last_ns", "moved_ns", "single_ns2")
    }
    for gpu, tensor in functions.items():
        rows = np.flatnonzero(windows.gpu == gpu)
        group, low, high = windows.group[rows], windows.start[rows], windows.end[rows]
        integrals = [np.zeros(len(low))] * 2
        if rounded:
            slack = [points / 100 for points in rounding_slack(tensor.recorded.value)]
            integrals = list(tensor.recorded.integrals_of(slack, low, high))
        times, index = np.unique(np.append(low, high), return_inverse=True)
        errors = _in_parts(partial(border_errors, tensor.split, tensor.errors, tensor.active), times)
        common, single, moved = ((column[index[: len(low)]], column[index[len(low) :]]) for column in errors)
        integrals += [*common, tensor.errors.late_ns * (moved[1] - moved[0]), single[0] ** 2 + single[1] ** 2]
        for total, integral in zip(sums.values(), integrals, strict=True):
            total += np.bincount(group, weights=integral, minlength=groups)
    border = np.sqrt(sums.pop("single_ns2") + sum(sums.pop(name) ** 2 for name in ("first_ns", "last_ns", "moved_ns")))
    return pd.DataFrame({**sums, "border_ns": border})


def measure_distribution(windows: Windows, groups: int, functions: Mapping[int, Tensor]) -> pd.DataFrame:
    """Find peak and 95th percentile of Tensor Active over each group's windows, the latter weighted by overlap.

    The peak is the largest sample that lies at least half inside the windows; NaN where none does.
    """
    peak, percentile = np.full(groups, np.nan), np.full(groups, np.nan)
    for gpu, tensor in functions.items():
        active = tensor.recorded
        for rows in _chunks(windows, np.flatnonzero(windows.gpu == gpu), active):
            group, step, overlap = _merged_overlaps(windows, rows, active)
            if not len(group):
                continue
            values = active.value[step]
            first = run_starts(group)
            group_numbers = group[first]
            is_inside = 2 * overlap >= (active.end - active.start)[step]
            highest = np.maximum.reduceat(np.where(is_inside, values, -np.inf), first)
            peak[group_numbers] = np.where(highest >= 0, highest, np.nan)
            percentile[group_numbers] = _weighted_percentile(group, first, values, overlap)
    return pd.DataFrame({"peak_pct": peak, "p95_pct": percentile})


def _chunks(windows: Windows, rows: Ints, active: StepFunction) -> Iterator[Ints]:
    """Yield rows of windows, whole groups at a time, with no more than some millions of samples under them."""
    counts = search(active.start, windows.end[rows]) - search(active.end, windows.start[rows])
    part = np.cumsum(counts) // PAIRS_AT_ONCE
    group = windows.group[rows]
    # A group goes to the part of its first window.
    first = run_starts(group)
    part = np.repeat(part[first], np.diff(np.append(first, len(rows))))
    yield from np.split(rows, np.flatnonzero(np.diff(part)) + 1)


def _merged_overlaps(windows: Windows, rows: Ints, active: StepFunction) -> tuple[Ints, Ints, Ints]:
    """Return group, sample and overlap, one row for each group and sample that share time."""
    query, step, overlap = active.overlaps(windows.start[rows], windows.end[rows])
    group = windows.group[rows][query]
    keep = overlap > 0
    group, step, overlap = group[keep], step[keep], overlap[keep]
    if not len(group):
        return group, step, overlap
    # Windows of a group are disjoint and in order, so that a sample under two of them has adjacent rows.
    first = run_starts(group, step)
    return group[first], step[first], np.add.reduceat(overlap, first)


def _weighted_percentile(group: Ints, first: Ints, values: Floats, weights: Ints) -> Floats:
    """Find the smallest value of each group that at least 95 % of the weight does not exceed."""
    order = np.lexsort((values, group))
    running = np.cumsum(weights[order])
    before = np.append(0, running)[first]
    total = np.add.reduceat(weights, first)
    index = np.searchsorted(running, before + np.ceil(PERCENTILE * total).astype(np.int64), side="left")
    return values[order][index]
