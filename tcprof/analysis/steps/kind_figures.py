"""What an iteration of each kind takes, and what it does, see ``tcprof.frames.KINDS``."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import open_times
from tcprof.analysis.ranges.instances import Work, instance_windows, united_windows
from tcprof.analysis.samples.sampling import MINIMUM_COVERAGE, Tensor, Windows, measure
from tcprof.analysis.steps.generation import DECODE, name_phases
from tcprof.analysis.steps.iterations import name_kin, reach_to_next
from tcprof.analysis.steps.step_times import time_steps
from tcprof.analysis.time.range_metrics import range_rates, values_of_launches
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.frames import KINDS

_KEYS = ["gpu", "kind"]
_RATES = ("tensor_kernel_share_pct", "dram_pct")


def summarize_kinds(
    iterations: pd.DataFrame,
    instances: pd.DataFrame,
    windows: Windows,
    work: Work,
    tensor: dict[int, Tensor],
    activities: pd.DataFrame,
    paths: "pd.Series[str]",
) -> pd.DataFrame:
    """One row for each GPU and kind of iteration, without what follows from the fit: see ``add_rates_of_kinds``."""
    if iterations.empty:
        return KINDS.empty()
    steady = iterations[~iterations["warm_up"]]
    kinds = iterations.groupby(_KEYS).agg(warm_up_count=("warm_up", "sum"))
    kinds["iteration_count"] = steady.groupby(_KEYS).size().reindex(kinds.index, fill_value=0)
    rows = pd.MultiIndex.from_frame(instances[["gpu", "range"]]).get_indexer(
        pd.MultiIndex.from_frame(steady[["gpu", "range"]])
    )
    group = np.full(len(instances), -1, dtype=np.int64)
    group[rows] = kinds.index.get_indexer(pd.MultiIndex.from_frame(steady[_KEYS]))
    gpu_of = kinds.index.get_level_values("gpu").to_numpy(np.int64)
    mean = _mean_active(measure(united_windows(group, gpu_of, windows), len(kinds), tensor))
    on_gpu = united_windows(group, gpu_of, instance_windows(instances, work, "gpu"))
    inside = instances.iloc[rows].assign(kind=steady["kind"].to_numpy(), length=_lengths(steady, instances.iloc[rows]))
    per_kind = inside.groupby(_KEYS)
    time = per_kind["length"].sum()
    steps = pd.concat([time_steps(iterations, instances, gpu) for gpu in np.unique(gpu_of)])
    step_ns = steps[~steps["warm_up"]].groupby(_KEYS)["step_ns"].median().reindex(kinds.index)
    phases = name_phases(iterations, paths, per_kind["kernel_ns"].mean().reindex(kinds.index))
    found = kinds.assign(
        name=_name_kinds(iterations, phases),
        tokens_per_second=1e9 / step_ns.where(phases.reindex(kinds.index) == DECODE),
        step_time_ns=step_ns,
        share_pct=100 * time / time.groupby("gpu").transform("sum"),
        tensor_active_mean_pct=mean,
        gpu_idle_pct=_idle(on_gpu, len(kinds), activities),
        **{name: per_kind[name].mean() for name in ("kernel_count", "kernel_ns")},
    )
    return KINDS.conform(found.reset_index())


def _mean_active(sums: pd.DataFrame) -> Floats:
    """Mean Tensor Active of each group; unknown where less than half of its windows was sampled."""
    covered = sums["covered_ns"].where(sums["covered_ns"] >= MINIMUM_COVERAGE * sums["window_ns"])
    mean: Floats = (100 * sums["active_ns"] / covered.where(covered > 0)).to_numpy(np.float64)
    return mean


def _name_kinds(iterations: pd.DataFrame, phases: "pd.Series[str]") -> "pd.Series[str]":
    """The innermost names of kinds, by GPU and number; where several have one name, the path, or with a number."""
    by = [iterations[key] for key in _KEYS]
    names, paths = (each.groupby(by).first() for each in (name_kin(iterations), iterations["path"].astype(str)))
    names = phases.reindex(names.index).fillna(names)
    is_one = iterations["path"].groupby(by).nunique() == 1
    for better in (paths.where(is_one & ~names.index.isin(phases.index), names), None):
        twice = names.groupby([names.index.get_level_values("gpu"), names]).transform("size") > 1
        number = (names.groupby([names.index.get_level_values("gpu"), names]).cumcount() + 1).astype(str)
        names = names.where(~twice, names + ", kind " + number if better is None else better)
    return names


def _lengths(steady: pd.DataFrame, instances: pd.DataFrame) -> Floats:
    """From each iteration's start on the GPU to the next one's."""
    length = np.full(len(steady), np.nan)
    start, end = (instances[name].to_numpy(np.float64) for name in ("gpu_start_ns", "gpu_end_ns"))
    for rows in steady.groupby("gpu").indices.values():
        rows = rows[~np.isnan(start[rows])]
        order = rows[np.argsort(steady["number"].to_numpy()[rows], kind="stable")]
        number, kind = (steady[name].to_numpy()[order] for name in ("number", "kind"))
        length[order] = reach_to_next(number, kind, start[order], end[order]) - start[order]
    return length


def _idle(windows: Windows, count: int, activities: pd.DataFrame) -> Floats:
    """The share of each group's windows under no activity of its GPU."""
    length, busy = (np.zeros(count) for _ in range(2))
    np.add.at(length, windows.group, windows.end - windows.start)
    for gpu in np.unique(windows.gpu):
        rows = np.flatnonzero(windows.gpu == gpu)
        mine = rows_of_gpu(activities, int(gpu))
        open_now = open_times(mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy())
        np.add.at(busy, windows.group[rows], open_now.integral(windows.start[rows], windows.end[rows]))
    return 100 * np.maximum(0.0, 1 - busy / np.where(length > 0, length, np.nan))


def add_rates_of_kinds(
    kinds: pd.DataFrame, iterations: pd.DataFrame, launches: pd.DataFrame, kernels: pd.DataFrame, activities: pd.Series
) -> pd.DataFrame:
    """The kinds with what their launches did to memory; ``activities`` has the kind of each activity."""
    steady = np.append(~iterations["warm_up"].to_numpy(), False)[launches["iteration"].to_numpy()]
    row: Ints = pd.MultiIndex.from_frame(kinds[_KEYS]).get_indexer(pd.MultiIndex.from_frame(iterations[_KEYS]))
    of_launch = np.append(row, -1)[launches["iteration"].to_numpy()][steady]
    sums = pd.DataFrame(
        {
            name: np.bincount(of_launch, values[steady], minlength=len(kinds))
            for name, values in values_of_launches(launches, kernels, activities)
        }
    )
    window = iterations["gpu_window_ns"].where(~iterations["warm_up"]).fillna(0).groupby(row).sum()
    rates = range_rates(sums, window.to_numpy(np.float64))
    moved = rates["dram_bytes"]
    intensity = rates["tensor_flop"] / moved.where(moved > 0)
    return kinds.assign(flop_per_byte=intensity, **{name: rates[name] for name in _RATES})
