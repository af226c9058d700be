"""What kernels come closest to exhausting, by the thresholds of Nsight Compute's speed-of-light rules."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tcprof.arrays import Bools, Floats

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
    """What each kernel is bound by.

    Args:
        shares: The shares of ``tcprof.analysis.kernels.work.SHARES`` in percent, as ``NAME_pct``; NaN for unknown.
        tensor_active: Tensor Active in percent.
        fp32_products: Which multiply matrices of float32, as their names tell.
        communication: Which are collective operations, as theirs do.

    Returns:
        ``COMMUNICATION`` of those: they wait for links and other GPUs, whatever else they do. ``MEMORY``, ``L1``,
        ``L2``, ``TENSOR`` or ``ISSUE`` where that is the highest and at 60 % or more; ``CUDA_CORES`` where it would be
        ``ISSUE`` and the FMA pipe is that busy, or, where that was not recorded, the kernel is of ``fp32_products``;
        ``SMALL_GRID`` where no warp was on 40 % of the SMs; else ``LATENCY``.
        ``UNKNOWN`` where memory or issue slots are.
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
