"""Kernels: what each did on the Tensor Cores and counted beside, what bounds it, and what its name says about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tcprof.analysis.intervals import enumerate_keys, run_starts
from tcprof.analysis.kernels.design import Launches, make_sparse
from tcprof.analysis.kernels.fit import Fit
from tcprof.analysis.kernels.launches import KernelFit
from tcprof.analysis.kernels.names import PRODUCT, read_names
from tcprof.analysis.kernels.verdicts import FLOP_PER_FMA, find_bounds, judge_kernels
from tcprof.analysis.kernels.work import SHARES
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import KERNELS, LARGEST_UNCOVERED_PCT, WORK

ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class _Members:
    """Which launches of one GPU groups hold."""

    group: Ints  # the groups that have some, ascending
    row: Ints  # for each launch the place of its group there
    weight: csr_array  # for each of these groups and each class the sum of the launches' weights
    # the same of what varies with the choice of the launches: (sum over all of the class - weight) * weight, launch by
    # launch
    chosen: csr_array

    @classmethod
    def of(cls, group: Ints, launches: Launches) -> "_Members":
        """List the launches of a GPU that each of its groups holds."""
        groups, row = enumerate_keys(group)
        shape = (len(groups), int(launches.kind.max()) + 1)
        weight, squares = (make_sparse(launches.weight**power, row, launches.kind, shape) for power in (1, 2))
        whole = np.bincount(launches.kind, launches.weight)
        return cls(groups, row, weight, squares.multiply(whole) - squares.multiply(weight))

    def half_of_sums(self, fit: Fit) -> Floats:
        """Half the interval of sums a'x over classes, from a'Ca and a'b.

        A sum over some of a class's launches also varies with the choice: by at most the variance of the class's mean
        for each launch, times the number of all its launches.
        """
        some = (self.weight[first : first + ROWS_AT_ONCE] for first in range(0, len(self.group), ROWS_AT_ONCE))
        of_classes = np.concatenate([rows.multiply(rows @ fit.covariance).sum(axis=1) for rows in some])
        variance = of_classes + self.chosen @ np.diag(fit.covariance)
        half = np.asarray(NORMAL_95 * np.sqrt(np.maximum(variance, 0)) + np.abs(self.weight @ fit.bias))
        return np.minimum(half, fit.bounds.half_of_sums(self.row, fit.per_launch)) if fit.bounds else half


class GroupSums:
    """Sums over groups of launches, each on one GPU. Which launches a group holds is found once for all fits."""

    def __init__(self, kernel_fit: KernelFit, group: Ints) -> None:
        self._fit, self._groups = kernel_fit, int(group.max(initial=-1)) + 1
        gpu = kernel_fit.kernel_instances["gpu"].to_numpy()
        self._held = {one: _Members.of(group[gpu == one], fit.launches) for one, fit in kernel_fit.gpus.items()}

    def active(self, metric: str) -> tuple[Floats, Floats]:
        """Sum each group's ns of full activity, by ``tensor`` or a share, with half the 95 % interval; else unknown."""
        value, half = self._sum({one: fit.fits.get(metric) for one, fit in self._fit.gpus.items()})
        if metric == "tensor":
            for one, fit in self._fit.gpus.items():
                held = self._held[one]
                half[held.group] += np.bincount(held.row, fit.doubt)
        return value, half

    def half_of_count(self, name: str) -> Floats:
        """Half the 95 % interval of what each group counts, by column of ``tcprof.frames.WORK``."""
        return self._sum({one: fit.counts.get(name) for one, fit in self._fit.gpus.items()})[1]

    def _sum(self, fits: Mapping[int, Fit | None]) -> tuple[Floats, Floats]:
        value, half = (np.full(self._groups, np.nan) for _ in range(2))
        for one, fit in fits.items():
            if fit is not None:
                held = self._held[one]
                value[held.group] = np.bincount(held.row, fit.per_launch)
                half[held.group] = held.half_of_sums(fit)
        return value, half


OTHER_RESOLVED_POINTS = 20.0  # half the interval of other metrics than Tensor Active that are known, in points


def summarize_kernels(
    kernel_fit: KernelFit,
    activities: pd.DataFrame,
    paths: pd.DataFrame,
    find_peaks: Callable[[pd.DataFrame], Mapping[str, "pd.Series[Any]"]],
    by_path: bool = False,
) -> tuple[pd.DataFrame, Ints]:
    """One row for each GPU, kernel and geometry, and path if asked for, longest first; and the row of each launch."""
    launched = kernel_fit.kernel_instances
    if launched.empty:
        return KERNELS.empty(), np.empty(0, dtype=np.int64)
    activity = activities.iloc[launched["activity"].to_numpy()]
    keys = {
        "gpu": launched["gpu"].to_numpy(),
        "name": activity["name"].cat.codes.to_numpy(),
        "geometry": activity["launch_geometry"].cat.codes.to_numpy(),
        **({"path_id": launched["path_id"].to_numpy()} if by_path else {}),
    }
    group, rows = _group(keys)
    names = read_names(activities["name"].cat.categories).iloc[rows["name"]].reset_index(drop=True)
    texts = {"name": activities["name"].cat.categories[rows["name"]]}
    texts["launch_geometry"] = activities["launch_geometry"].cat.categories[rows["geometry"]]
    path_id = _longest_path(group, launched)
    labels = np.append(paths["path"].to_numpy(dtype=object), "")
    sums, add_up = GroupSums(kernel_fit, group), _prepare_sums(launched, group)
    measured = _measure(sums, launched, group, add_up)
    shares = _measure_others(sums, measured["total_ns"], ~np.isnan(measured["tensor_active_pct"]))
    fp32_products = ((names["work"] == PRODUCT) & (names["precision"] == "fp32")).to_numpy(dtype=bool)
    bound = find_bounds(shares, measured["tensor_active_pct"], fp32_products, names["communication"].to_numpy(bool))
    work = _measure_work(sums, measured["total_ns"], add_up)
    columns = {**rows, **texts, "path": labels[path_id], **measured, **shares, **work, "bound": bound, **names}
    frame = pd.DataFrame(columns, index=rows.index)
    frame = frame.assign(share_pct=100 * frame["total_ns"] / frame.groupby("gpu")["total_ns"].transform("sum"))
    frame = frame.assign(**judge_kernels(frame, kernel_fit.from_samples))
    # Float32 is what a matrix instruction can't multiply: what reads it was turned into something else.
    frame["precision"] = frame["precision"].where(~(frame["tensor_kernel"] & (frame["precision"] == "fp32")), "")
    frame = frame.assign(**find_peaks(frame))
    frame = frame.assign(hfu_pct=100 * frame["tensor_tflops"] / frame["peak_tflops"])
    ordered = frame.sort_values(["gpu", "total_ns"], ascending=[True, False], kind="stable")
    return KERNELS.conform(ordered), np.argsort(ordered.index.to_numpy())[group]


def _group(keys: dict[str, Ints]) -> tuple[Ints, pd.DataFrame]:
    group = np.zeros(len(next(iter(keys.values()))), dtype=np.int64)
    for values in keys.values():  # after each there are no more numbers than launches
        codes, distinct = pd.factorize(values)
        group = pd.factorize(group * len(distinct) + codes)[0]
    first = np.unique(group, return_index=True)[1]
    return group, pd.DataFrame({name: values[first] for name, values in keys.items()})


def _longest_path(group: Ints, launched: pd.DataFrame) -> Ints:
    """Find the path in which each group spent most time; -1 for outside of all ranges."""
    path = launched["path_id"].to_numpy()
    paths = int(path.max(initial=-1)) + 2  # with -1
    keys, key_index = enumerate_keys(group * paths + path + 1)
    time = np.bincount(key_index, launched["duration_ns"])
    of_group = keys // paths
    order = np.lexsort((keys, -time, of_group))  # of paths with the same time the first
    return keys[order[run_starts(of_group[order])]] % paths - 1


def _prepare_sums(launched: pd.DataFrame, group: Ints) -> Callable[[str], Floats]:
    """Sums of a column over each group; unknown where what no sample shows has more than a little of the time."""
    duration, seen = launched["duration_ns"].to_numpy(np.float64), launched["tensor_active_ns"].notna().to_numpy()
    time, of_seen = (np.bincount(group, of_launch) for of_launch in (duration, np.where(seen, duration, 0)))
    is_known = (np.bincount(group, seen) > 0) & (100 * of_seen >= (100 - LARGEST_UNCOVERED_PCT) * time)
    return lambda name: np.where(is_known, np.bincount(group, np.where(seen, launched[name], 0)), np.nan)


def _measure(
    sums: GroupSums, launched: pd.DataFrame, group: Ints, add_up: Callable[[str], Floats]
) -> dict[str, Floats]:
    by = launched.groupby(group)
    total = by["duration_ns"].sum().to_numpy()
    count = by.size().to_numpy()
    active, cycles, flop, ideal = (add_up(f"tensor_{name}") for name in ("active_ns", "cycles", "flop", "ideal_ns"))
    percent = 100 * active / total
    points = 100 * sums.active("tensor")[1] / total
    return {
        "launch_count": count,
        "total_ns": total,
        "median_ns": by["duration_ns"].median().to_numpy(),
        "tensor_active_pct": percent,
        "half_points": points,
        "tensor_active_low_pct": np.clip(percent - points, 0, 100),
        "tensor_active_high_pct": np.clip(percent + points, 0, 100),
        "tensor_cycles": cycles,
        "tensor_cycles_per_launch": cycles / count,
        "tensor_flop": flop,
        "tensor_tflops": flop / total * 1e-3,
        "tensor_peak_pct": 100 * ideal / total,
        "lost_ns": np.where(flop == 0, total, np.maximum(total - ideal, 0)),
        "pooled": by["pooled"].mean().to_numpy(),
    }


def _measure_others(sums: GroupSums, total: Floats, is_seen: Bools) -> dict[str, Floats]:
    columns = {}
    for name in SHARES:
        active, half = sums.active(name)
        is_resolved = is_seen & (100 * half / total <= OTHER_RESOLVED_POINTS)
        columns[f"{name}_pct"] = np.where(is_resolved, np.minimum(100 * active / total, 100), np.nan)
    return columns


def _measure_work(sums: GroupSums, total: Floats, add_up: Callable[[str], Floats]) -> dict[str, Floats]:
    """Measure each group's counts beside tensor cycles, half their intervals, and rates; unknown where not recorded."""
    columns = {name: add_up(name) for name in ("sm_cycles", *WORK)}
    for name in WORK:
        columns[f"{name}_error"] = np.where(np.isnan(columns[name]), np.nan, sums.half_of_count(name))
    seconds = total * 1e-9
    moved = columns["dram_read_bytes"] + columns["dram_write_bytes"]
    return columns | {
        "dram_bandwidth": moved / seconds,
        "fma_tflops": FLOP_PER_FMA * columns["fma_instruction_count"] / seconds * 1e-12,
    }
