"""Kernels: what each did on the Tensor Cores, what bounds it, and what its name says about it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import enumerate_keys, run_starts
from tcprof.analysis.kernels.launches import KernelFit
from tcprof.analysis.kernels.names import PRODUCT, read_names
from tcprof.analysis.kernels.sums import GroupSums
from tcprof.analysis.kernels.work import SHARES
from tcprof.arrays import Bools, Floats, Ints
from tcprof.chips import NO_MATRIX
from tcprof.frames import KERNELS, LARGEST_UNCOVERED_PCT, WORK

# What the counter shows of a kernel, by the interval of its Tensor Active. On Hopper index arithmetic runs on the same
# pipe and reaches 14 %, while products of small matrices stay below 0.1 %: so names are asked first.
COUNTER_ZERO_PCT = 0.01  # all below: no matrix instruction ran, whatever the name says
COUNTER_ACTIVE_PCT = 1.0  # all above: more than the index arithmetic of most kernels
COUNTER_DECIDES_PCT = 20.0  # all above: more than index arithmetic reaches
RESOLVED_POINTS, RESOLVED_SHARE = 5.0, 0.1  # half the interval of a resolved kernel: in points, or of its value
FLOP_PER_FMA = 64  # of a warp: 32 products and sums of float32
OTHER_RESOLVED_POINTS = 20.0  # the same for other metrics
RESOLVED, POOLED, UNRESOLVED, NOT_SAMPLED = "resolved", "pooled", "unresolved", "not sampled"
UNDECIDED = (UNRESOLVED, NOT_SAMPLED)  # the counter cannot say whether these used the Tensor Cores
FROM_NAMES = "estimated from kernel names"
AGREES, COUNTER_ONLY, NAME_ONLY, NEITHER = "agrees", "counter only", "name only", "neither"
# SpeedOfLight.py of Nsight Compute calls what is below 60 % of compute and of memory bound by latency. Its compute
# throughput is the highest of issue slots and pipes, its memory throughput that of DRAM, L2 and L1, each by more
# counters than are recorded: what bounds a kernel may be one of those, and is latency here.
BOUND_PCT = 60.0
MEMORY, TENSOR, CUDA_CORES, ISSUE = "memory", "tensor", "fp32", "issue"
L1, L2 = "L1 cache", "L2 cache"
SMALL_GRID, LATENCY, UNKNOWN = "small grid", "latency", ""
COMMUNICATION = "communication"


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
    sums = GroupSums(kernel_fit, group)
    add_up = _prepare_sums(launched, group)
    measured = _measure(sums, launched, group, add_up)
    others = _measure_others(sums, measured["total_ns"], ~np.isnan(measured["tensor_active_pct"]))
    fp32_products = ((names["work"] == PRODUCT) & (names["precision"] == "fp32")).to_numpy(dtype=bool)
    bound = find_bounds(others, measured["tensor_active_pct"], fp32_products, names["communication"].to_numpy(bool))
    work = _measure_work(sums, measured["total_ns"], add_up)
    columns = {**rows, **texts, "path": labels[path_id], **measured, **others, **work, "bound": bound, **names}
    frame = pd.DataFrame(columns, index=rows.index)
    frame = frame.assign(share_pct=100 * frame["total_ns"] / frame.groupby("gpu")["total_ns"].transform("sum"))
    frame = frame.assign(**_judge(frame, kernel_fit.from_samples))
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
    """The path of each group in which it spent most time; -1 for outside of all ranges."""
    path = launched["path_id"].to_numpy()
    paths = int(path.max(initial=-1)) + 2  # with -1
    keys, place = enumerate_keys(group * paths + path + 1)
    time = np.bincount(place, launched["duration_ns"])
    of_group = keys // paths
    order = np.lexsort((keys, -time, of_group))  # of paths with the same time the first
    return keys[order[run_starts(of_group[order])]] % paths - 1


def _prepare_sums(launched: pd.DataFrame, group: Ints) -> Callable[[str], Floats]:
    """Sums of a column over each group; unknown where what no sample shows has more than a little of the time."""
    duration, seen = launched["duration_ns"].to_numpy(np.float64), launched["tensor_active_ns"].notna().to_numpy()
    time, of_seen = (np.bincount(group, of_launch) for of_launch in (duration, np.where(seen, duration, 0)))
    known = (np.bincount(group, seen) > 0) & (100 * of_seen >= (100 - LARGEST_UNCOVERED_PCT) * time)
    return lambda name: np.where(known, np.bincount(group, np.where(seen, launched[name], 0)), np.nan)


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
        "lost_ns": np.where(flop == 0, total, total - ideal),
        "pooled": by["pooled"].mean().to_numpy(),
    }


def _measure_others(sums: GroupSums, total: Floats, is_seen: Bools) -> dict[str, Floats]:
    found = {}
    for name in SHARES:
        active, half = sums.active(name)
        known = is_seen & (100 * half / total <= OTHER_RESOLVED_POINTS)
        found[f"{name}_pct"] = np.where(known, np.minimum(100 * active / total, 100), np.nan)
    return found


def find_bounds(
    shares: Mapping[str, Floats], tensor_active: Floats, fp32_products: Bools, communication: Bools
) -> npt.NDArray[np.object_]:
    """What each kernel is bound by; names tell which are ``fp32_products`` and which are collective operations.

    ``COMMUNICATION`` of the latter: they wait for links and other GPUs, whatever else they do. ``MEMORY``, ``L1``,
    ``L2``, ``TENSOR`` or ``ISSUE`` where that is the highest and at 60 % or more; ``CUDA_CORES`` where it would be
    ``ISSUE`` and the FMA pipe is that busy, or, where that was not recorded, the kernel is of ``fp32_products``;
    ``SMALL_GRID`` where no warp was on 40 % of the SMs; else ``LATENCY``. ``UNKNOWN`` where memory or issue slots are.
    Shares, as ``NAME_pct`` by ``work.SHARES``, and Tensor Active are in percent.
    """
    memory, issue, fma, l1, l2 = (shares[f"{name}_pct"] for name in ("dram", "sm_issue", "fma", "l1", "l2"))
    compute = np.fmax(np.fmax(issue, fma), tensor_active)
    cache = np.fmax(l1, l2)
    of_cache = (cache >= BOUND_PCT) & (cache > np.fmax(compute, memory))
    is_fp32 = np.where(np.isnan(fma), fp32_products & (issue >= BOUND_PCT), fma >= BOUND_PCT)
    choices = {
        COMMUNICATION: communication,
        UNKNOWN: np.isnan(memory) | np.isnan(issue),
        L1: of_cache & (l1 >= cache),
        L2: of_cache,
        MEMORY: (memory >= BOUND_PCT) & ~(compute > memory),
        TENSOR: (tensor_active >= BOUND_PCT) & ~(np.fmax(issue, fma) > tensor_active),
        CUDA_CORES: is_fp32,
        ISSUE: issue >= BOUND_PCT,
        SMALL_GRID: shares["sm_active_pct"] < BOUND_PCT,
    }
    return np.asarray(np.select(list(choices.values()), list(choices), LATENCY), dtype=object)


def _measure_work(sums: GroupSums, total: Floats, add_up: Callable[[str], Floats]) -> dict[str, Floats]:
    """What each group counts beside tensor cycles, half the interval of that, and rates; unknown where not recorded."""
    found = {name: add_up(name) for name in ("sm_cycles", *WORK)}
    for name in WORK:
        found[f"{name}_error"] = np.where(np.isnan(found[name]), np.nan, sums.half_of_count(name))
    seconds = total * 1e-9
    moved = found["dram_read_bytes"] + found["dram_write_bytes"]
    return found | {
        "dram_bandwidth": moved / seconds,
        "fma_tflops": FLOP_PER_FMA * found["fma_instruction_count"] / seconds * 1e-12,
    }


def _judge(frame: pd.DataFrame, from_samples: bool) -> dict[str, npt.NDArray[np.object_] | pd.Series]:
    """Whether the fit can tell, whether this is a tensor kernel, and what counter and name say.

    Names decide where they can, unless the counter is all but 0; the counter decides where they tell nothing.
    """
    narrow = is_resolved(frame["tensor_active_pct"], frame["half_points"])
    measured = frame["tensor_active_pct"].notna()
    found = np.select([~measured, ~narrow, frame["pooled"] > 0.5], [NOT_SAMPLED, UNRESOLVED, POOLED], RESOLVED)
    named = frame["named_tensor"].to_numpy(dtype=bool)
    if not from_samples:
        verdict = _verdict(np.zeros(len(frame), dtype=bool), named)
        return {"fit": np.full(len(frame), FROM_NAMES), "tensor_kernel": named, "name_verdict": verdict}
    low, high = (frame[f"tensor_active_{end}_pct"].to_numpy() for end in ("low", "high"))
    told_none = (frame["family"] == NO_MATRIX).to_numpy()
    is_kernel = (frame["launch_geometry"] != "").to_numpy()  # else a graph recorded as a whole, of unknown kernels
    decided = is_kernel & ~told_none & (low > COUNTER_DECIDES_PCT)
    tensor = np.where(named, ~(high < COUNTER_ZERO_PCT), decided)
    counted = low > np.select([named, told_none], [0.0, COUNTER_DECIDES_PCT], COUNTER_ACTIVE_PCT)
    return {"fit": found, "tensor_kernel": tensor, "name_verdict": _verdict(counted, named)}


def is_resolved(percent: pd.Series, half_points: pd.Series) -> pd.Series:
    """Whether the samples tell what Tensor Active is: not where the interval is wide, or nothing was sampled."""
    return half_points <= np.maximum(RESOLVED_POINTS, RESOLVED_SHARE * percent)


def _verdict(counted: Bools, named: Bools) -> npt.NDArray[np.object_]:
    found = np.select([counted & named, counted, named], [AGREES, COUNTER_ONLY, NAME_ONLY], NEITHER)
    return np.asarray(found, dtype=object)


def could_be_tensor(kernels: pd.DataFrame) -> pd.Series:
    """Kernels of which the name tells nothing, and samples cannot tell, or show no more than index arithmetic."""
    unnamed = (kernels["family"] == "") & (kernels["name_verdict"] != NAME_ONLY) & ~kernels["tensor_kernel"]
    untold = kernels["fit"].isin(UNDECIDED) | (kernels["name_verdict"] == COUNTER_ONLY)
    return unnamed & untold & ~(kernels["tensor_active_high_pct"] <= COUNTER_ACTIVE_PCT)
