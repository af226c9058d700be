"""How much another recording of the same program would differ, where there is only one a side: assumed.

The deviations were taken from repeated recordings; ``docs/statistics.md`` has those figures and their limits. Work on
the GPU reproduces to a fraction of a percent; waiting for the CPU, and copies, differ by up to a factor of two.
"""

from collections.abc import Mapping

import numpy as np

from tcprof.arrays import Floats

WORK = 0.005  # deviation of the logarithm of time under kernels
COPYING = 0.2  # of the time in which only copies run
GAP_NS, GAPS = 2_000.0, 0.05  # max gap between back-to-back launches (ns); its relative deviation
WAITING = 0.35  # that of the time in which the GPU waits for the CPU, and of the CPU's own
TIMER_NS = 50.0  # deviation of any time on the GPU
BORDER = 0.05  # that of the part of the sample at a window's border that belongs to the window
ROUNDING_PCT = 0.3  # that of a mean of whole percentages, in points

Deviations = dict[str, tuple[Floats, Floats]]


def run_deviations(medians: Mapping[str, Floats], window: str, period_ns: float, rounded: bool) -> Deviations:
    """Standard deviations between runs at each place, for each quantity.

    Args:
        medians: Medians over the instances of what ``tcprof.comparison.statistics.quantities`` lists; unknown is NaN.
        period_ns: Time from one sample to the next; NaN without samples.
        rounded: Whether Tensor Active comes from whole percentages.

    Returns:
        The deviation of the logarithm, and one in the quantity's own unit that is added to it.
    """
    known = {name: np.nan_to_num(values) for name, values in medians.items()}
    host, span, idle = known["host_ns"], known["gpu_window_ns"], known["idle_ns"]
    none = np.zeros_like(span)
    gaps = np.minimum(idle, GAP_NS * np.maximum(known["activity_count"] - 1, 0))
    waiting = idle - gaps
    awaited = np.minimum(known["awaited_ns"], host)
    kernels = np.minimum(known["kernel_ns"], span - idle)
    copies = span - idle - kernels
    work, timer = np.full_like(span, WORK), np.full_like(span, TIMER_NS)
    kernel_timer = np.where(known["kernel_ns"] > 0, TIMER_NS, 0)
    found = {
        "host_ns": (_combine(awaited, none, none, host - awaited), none),
        "gpu_window_ns": (_combine(kernels, copies, gaps, waiting), timer),
        "kernel_ns": (work, kernel_timer),
        "idle_ns": (np.full_like(span, WAITING), timer),
        "kernel_count": (none, none),
        "tensor_kernel_share_pct": (work, none),
    }
    busy = _combine(kernels, copies, none, none)
    over = {"host": found["host_ns"][0], "gpu": found["gpu_window_ns"][0], "busy": busy}
    length_ns = {"host": host, "gpu": span, "busy": span - idle}[window]
    highest = np.maximum(known["tensor_active_peak_pct"], known["tensor_active_mean_pct"])  # short windows have no peak
    border_ns = BORDER * np.nan_to_num(period_ns) * highest / 100
    if rounded:
        border_ns = np.hypot(border_ns, ROUNDING_PCT / 100 * length_ns)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(length_ns > 0, 100 * border_ns / length_ns, 0)
        active_ns = 1e9 * known["tensor_active_s"]
        cycles = np.where(active_ns > 0, border_ns * known["tensor_cycles"] / active_ns, 0)
    found["tensor_active_mean_pct"] = (over[window], mean)
    for name in ("tensor_tflops", "hfu_pct", "useful_tflops", "mfu_pct"):
        found[name] = (over[window], none)  # FLOP are of kernels, which no border cuts
    # Of the same forward and backward passes, runs on an H200 read and wrote 0.01 to 0.5 % more or less.
    found["dram_bytes"] = (work, none)
    return found | {"tensor_active_s": (work, 1e-9 * border_ns), "tensor_cycles": (work, cycles)}


def _combine(kernels: Floats, copies: Floats, gaps: Floats, waiting: Floats) -> Floats:
    total = kernels + copies + gaps + waiting
    parts = ((WORK, kernels), (COPYING, copies), (GAPS, gaps), (WAITING, waiting))
    deviation = np.sqrt(sum((relative * part) ** 2 for relative, part in parts))
    return np.divide(deviation, total, out=np.zeros_like(total), where=total > 0)
