"""What a kernel's figures say: whether the fit resolves it, whether it used Tensor Cores, and what bounds it."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.arrays import Bools, Floats
from tcprof.chips import NO_MATRIX

# What the counter shows of a kernel, by the interval of its Tensor Active. On Hopper index arithmetic runs on the same
# pipe and reaches 14 %, while products of small matrices stay below 0.1 %: so names are asked first.
COUNTER_ZERO_PCT = 0.01  # all below: no matrix instruction ran, whatever the name says
COUNTER_ACTIVE_PCT = 1.0  # all above: more than the index arithmetic of most kernels
COUNTER_DECIDES_PCT = 20.0  # all above: more than index arithmetic reaches
RESOLVED_POINTS, RESOLVED_SHARE = 5.0, 0.1  # half the interval of a resolved kernel: in points, or of its value
FLOP_PER_FMA = 64  # of a warp: 32 products and sums of float32
RESOLVED, POOLED, UNRESOLVED, NOT_SAMPLED = "resolved", "pooled", "unresolved", "not sampled"
UNDECIDED = (UNRESOLVED, NOT_SAMPLED)  # the counter cannot say whether these used the Tensor Cores
FROM_NAMES = "estimated from kernel names"
AGREES, COUNTER_ONLY, NAME_ONLY, NEITHER = "agrees", "counter only", "name only", "no"
NOT_NAMED = "unknown"  # without samples, of a name that does not tell
# SpeedOfLight.py of Nsight Compute calls what is below 60 % of compute and of memory bound by latency. Its compute
# throughput is the highest of issue slots and pipes, its memory throughput that of DRAM, L2 and L1, each by more
# counters than are recorded: what bounds a kernel may be one of those, and is latency here.
BOUND_PCT = 60.0
MEMORY, TENSOR, CUDA_CORES, ISSUE = "memory", "tensor", "fp32", "issue"
L1, L2 = "L1 cache", "L2 cache"
SMALL_GRID, LATENCY, UNKNOWN = "small grid", "latency", ""
COMMUNICATION = "communication"


def find_bounds(
    shares: Mapping[str, Floats], tensor_active: Floats, fp32_products: Bools, communication: Bools
) -> npt.NDArray[np.object_]:
    """Find each kernel's bound; names tell which are ``fp32_products`` and which are collective operations.

    ``COMMUNICATION`` of the latter: they wait for links and other GPUs, whatever else they do. ``MEMORY``, ``L1``,
    ``L2``, ``TENSOR`` or ``ISSUE`` where that is the highest and at 60 % or more; ``CUDA_CORES`` where it would be
    ``ISSUE`` and the FMA pipe is that busy, or, where that was not recorded, the kernel is of ``fp32_products``;
    ``SMALL_GRID`` where no warp was on 40 % of the SMs; else ``LATENCY``. ``UNKNOWN`` where memory or issue slots are.

    Args:
        shares: The shares of ``tcprof.analysis.kernels.work.SHARES`` in percent, as ``NAME_pct``; NaN for unknown.
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


def judge_kernels(frame: pd.DataFrame, from_samples: bool) -> dict[str, npt.NDArray[np.object_] | pd.Series]:
    """Judge what the fit resolves, whether this is a tensor kernel, and what counter and name say.

    Names decide where they can, unless the counter is all but 0; the counter decides where they tell nothing.
    """
    narrow = is_resolved(frame["tensor_active_pct"], frame["half_points"])
    measured = frame["tensor_active_pct"].notna()
    fit = np.select([~measured, ~narrow, frame["pooled"] > 0.5], [NOT_SAMPLED, UNRESOLVED, POOLED], RESOLVED)
    is_named = frame["named_tensor"].to_numpy(dtype=bool)
    if not from_samples:
        verdict = np.select([is_named, frame["family"] == NO_MATRIX], [NAME_ONLY, NEITHER], NOT_NAMED).astype(object)
        return {"fit": np.full(len(frame), FROM_NAMES), "tensor_kernel": is_named, "name_verdict": verdict}
    low, high = (frame[f"tensor_active_{end}_pct"].to_numpy() for end in ("low", "high"))
    has_no_matrix = (frame["family"] == NO_MATRIX).to_numpy()
    is_kernel = (frame["launch_geometry"] != "").to_numpy()  # else a graph recorded as a whole, of unknown kernels
    decided = is_kernel & ~has_no_matrix & (low > COUNTER_DECIDES_PCT)
    tensor = np.where(is_named, ~(high < COUNTER_ZERO_PCT), decided)
    counted = low > np.select([is_named, has_no_matrix], [0.0, COUNTER_DECIDES_PCT], COUNTER_ACTIVE_PCT)
    bound = frame["bound"].where(~are_unknown(frame["tensor_active_pct"], frame["half_points"]), UNKNOWN)
    return {"fit": fit, "tensor_kernel": tensor, "name_verdict": _compare(counted, is_named), "bound": bound}


def are_unknown(percent: "pd.Series | float", half_points: "pd.Series | float") -> Bools:
    """Tell where Tensor Active may be all or nothing: half of the interval is the value itself, or more."""
    return np.asarray(half_points >= np.maximum(RESOLVED_POINTS, percent))


def is_resolved(percent: pd.Series, half_points: pd.Series) -> pd.Series:
    """Tell whether the samples resolve Tensor Active: not where the interval is wide, or nothing was sampled."""
    return half_points <= np.maximum(RESOLVED_POINTS, RESOLVED_SHARE * percent)


def _compare(counted: Bools, is_named: Bools) -> npt.NDArray[np.object_]:
    verdict = np.select([counted & is_named, counted, is_named], [AGREES, COUNTER_ONLY, NAME_ONLY], NEITHER)
    return np.asarray(verdict, dtype=object)


def could_be_tensor(kernels: pd.DataFrame) -> pd.Series:
    """Kernels of which neither name nor counter tells whether they are tensor kernels.

    The name tells nothing, and the samples cannot tell, or show the tensor pipe active, but not more than index
    arithmetic reaches.
    """
    unnamed = (kernels["family"] == "") & (kernels["name_verdict"] != NAME_ONLY) & ~kernels["tensor_kernel"]
    undecided = kernels["fit"].isin(UNDECIDED) | kernels["name_verdict"].isin([COUNTER_ONLY, NOT_NAMED])
    return unnamed & undecided & ~(kernels["tensor_active_high_pct"] <= COUNTER_ACTIVE_PCT)
