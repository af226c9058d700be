"""What is known of two sides, and what a difference between them proves; see ``docs/statistics.md``.

Arrays have one element for each row of a comparison, or, with several recordings, one row for each recording.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from tcprof.analysis.samples.interval_estimates import LEVEL, Centers
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.arrays import Bools, Floats, Ints

NORMAL_80 = float(special.ndtri(0.8))
# The deviations assumed for runs come from 5 runs of each of 5 programs: 20 degrees of freedom.
STUDENT_95 = float(special.stdtrit(20, 1 - LEVEL / 2))

Slack = tuple[Floats, Floats]  # how far below and above a value the truth may lie

# Anything above 0 reads at least 1, all else the nearest, see ``tcprof.analysis.samples.sampling.rounding_slack``.
MOST_BELOW_PCT, MOST_ABOVE_PCT = 1.0, 0.5
ROUNDED_QUANTITIES = ("tensor_active_mean_pct", "tensor_active_s")
WORK = 0.005  # deviation of the logarithm of time under kernels
COPYING = 0.2  # of the time in which only copies run
GAP_NS, GAPS = 2_000.0, 0.05  # max gap between back-to-back launches (ns); its relative deviation
WAITING = 0.35  # that of the time in which the GPU waits for the CPU, and of the CPU's own
TIMER_NS = 50.0  # deviation of any time on the GPU
BORDER = 0.05  # that of the part of the sample at a window's border that belongs to the window
ROUNDING_PCT = 0.3  # that of a mean of whole percentages, in points

Deviations = dict[str, tuple[Floats, Floats]]


@dataclass(frozen=True)
class Estimate:
    """One side's figures."""

    value: Floats  # median, or mean, over instances; of several recordings the median of theirs
    low: Floats  # lower end of its 95 % interval, over instances and runs; NaN where it is unknown
    high: Floats  # its upper end
    constant: Bools  # whether all instances of all recordings have the same value
    recordings: Ints  # recordings that have a value


@dataclass(frozen=True)
class ChangeEstimate:
    """The difference between two sides."""

    ratio_low: Floats  # lower end of the 95 % interval of new / base; NaN where it is unknown, or the baseline is 0
    ratio_high: Floats  # its upper end
    difference_low: Floats  # lower end of the 95 % interval of new - base
    difference_high: Floats  # its upper end
    p_value: Floats  # how often a difference at least so large would be seen between runs of the same program
    # Instances or recordings a side that would decide it; NaN where more would not, or it is decided.
    needed_count: Floats


def estimate_within(recordings: Sequence[Centers], required: bool = True) -> Estimate:
    """Estimate a side from its instances, as if runs did not differ; unknown, or without width, where they are few."""
    values, lows, highs = (np.stack([getattr(run, name) for run in recordings]) for name in ("value", "low", "high"))
    down, up, count = values - lows, highs - values, (~np.isnan(values)).sum(axis=0)
    missing = np.isnan(values)
    has_value = ~missing.all(axis=0)
    value = np.where(has_value, np.nanmedian(np.where(has_value, values, 0), axis=0), np.nan)
    if not required:
        down, up = (np.nan_to_num(side) for side in (down, up))
    half = [np.sqrt((np.where(missing, 0, side) ** 2).sum(axis=0)) / np.maximum(count, 1) for side in (down, up)]
    low = np.maximum(value - half[0], 0)
    constant = (np.stack([run.constant for run in recordings]) | missing).all(axis=0)
    constant &= np.fmin.reduce(values) == np.fmax.reduce(values)
    return Estimate(value, low, value + half[1], constant, count)


def add_run_deviation(side: Estimate, relative: Floats, absolute: Floats) -> Estimate:
    """Widen a side's interval by run-to-run variation: of a run's logarithm, and in the quantity's unit.

    Several recordings do not reduce it: they are too few to show whether their runs were usual ones.
    """
    wide, far = STUDENT_95 * relative, STUDENT_95 * absolute
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(side.value > 0, side.value * np.exp(-np.hypot(np.log(side.value / side.low), wide)), side.low)
        high = np.where(side.value > 0, side.value * np.exp(np.hypot(np.log(side.high / side.value), wide)), side.high)
    low = np.maximum(side.value - np.hypot(side.value - low, far), 0)
    high = side.value + np.hypot(high - side.value, far)
    return Estimate(side.value, low, high, side.constant, side.recordings)


def decided_by_ratio(base: Estimate, new: Estimate) -> Bools:
    """Find where the ratio decides; elsewhere, as one side is 0, the difference does."""
    return np.asarray((base.value > 0) & (new.value > 0))


def compare_estimates(base: Estimate, new: Estimate, within: tuple[Estimate, Estimate], count: Ints) -> ChangeEstimate:
    """Estimate the change between two independent sides; ``within`` are these without run-to-run variation.

    The distances from an estimate to the ends of its interval add as squares, those of logarithms for the ratio: the
    method of variance estimates recovery (Zou and Donner, Statistics in Medicine 27, 2008). ``count`` is the smaller
    side's number of instances.
    """
    use_ratio = decided_by_ratio(base, new)
    with np.errstate(divide="ignore", invalid="ignore"):
        log, log_down, log_up = _recover(base, new, np.ones_like(use_ratio))
        plain, down, up = _recover(base, new, np.zeros_like(use_ratio))
        shift = np.where(use_ratio, log, plain)
        half = np.where(shift > 0, np.where(use_ratio, log_down, down), np.where(use_ratio, log_up, up))
        p_value = two_sided(shift, half / NORMAL_95)
        shift_within, down_within, up_within = _recover(*within, use_ratio)
        half_within = np.where(shift_within > 0, down_within, up_within)
        needed = _needed_instances(shift, half_within / NORMAL_95, half / NORMAL_95, count)
        needed = np.where(p_value < LEVEL, np.nan, needed)
        ends = np.where(base.value > 0, np.exp([log - log_down, log + log_up]), np.nan)
    return ChangeEstimate(ends[0], ends[1], plain - down, plain + up, p_value, needed)


def survived_spread(within: tuple[Estimate, Estimate], slack: Floats) -> Floats:
    """Return the largest relative deviation of runs at which a change beyond ``slack`` still shows; NaN for none."""
    base, new = within
    use_ratio = decided_by_ratio(base, new)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift, down, up = _recover(base, new, use_ratio)
        margin = np.maximum(np.abs(shift) - slack, 0) ** 2 - np.where(shift > 0, down, up) ** 2
        scale = np.where(use_ratio, np.sqrt(2), np.hypot(base.value, new.value))
        return np.asarray(np.sqrt(np.where(margin > 0, margin, np.nan)) / (STUDENT_95 * scale))


def _recover(base: Estimate, new: Estimate, use_ratio: Bools) -> tuple[Floats, Floats, Floats]:
    """Return the shift, of logarithms where the ratio is used, and the distances to the ends of its interval."""
    first, second = (
        [np.where(use_ratio, np.log(end), end) for end in (side.value, side.low, side.high)] for side in (base, new)
    )
    down = np.hypot(second[0] - second[1], first[2] - first[0])
    up = np.hypot(second[2] - second[0], first[0] - first[1])
    return second[0] - first[0], down, up


def two_sided(shift: Floats, error: Floats) -> Floats:
    """Compute the p value of a normal shift; without any error it is 0, or 1 where nothing changed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(shift == 0, 0, np.abs(shift) / error)
    return np.asarray(2 * special.ndtr(-score))


def _needed_instances(shift: Floats, within: Floats, error: Floats, count: Ints) -> Floats:
    """Count the instances per side that would show the shift in 80 % of cases, if runs differ as they do."""
    allowed = (shift / (NORMAL_95 + NORMAL_80)) ** 2 - (error**2 - within**2)
    needed = np.ceil(count * within**2 / np.where(allowed > 0, allowed, np.nan))
    return np.where(needed > count, needed, np.nan)


def rounding_of(value: Floats, mean_pct: Floats) -> Slack:
    """Bound how far the truth lies below and above rounded mean Tensor Active, or what is in proportion to it."""
    per_point = np.divide(value, mean_pct, out=np.zeros_like(value), where=mean_pct > 0)
    return np.minimum(MOST_BELOW_PCT * per_point, value), MOST_ABOVE_PCT * per_point


def widen_side(side: Estimate, slack: Slack) -> Estimate:
    """Widen a side's interval by what rounding may have done to it."""
    return replace(side, low=np.maximum(side.low - slack[0], 0), high=side.high + slack[1])


def slack_toward_none(base: Estimate, new: Estimate, slacks: tuple[Slack, Slack]) -> Floats:
    """Bound by how much rounding made the change too large, of logarithms where the ratio decides."""
    ratios, differences = _slack(base, new, slacks)
    rises = new.value > base.value
    return np.where(decided_by_ratio(base, new), *(np.where(rises, *slack) for slack in (ratios, differences)))


def widen_change(change: ChangeEstimate, base: Estimate, new: Estimate, slacks: tuple[Slack, Slack]) -> ChangeEstimate:
    """Widen a change's interval and p by what rounding may have done, which repeating does not average out."""
    (log_down, log_up), (down, up) = _slack(base, new, slacks)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(decided_by_ratio(base, new), np.log(new.value / base.value), new.value - base.value)
        factor = 1 - slack_toward_none(base, new, slacks) / np.abs(shift)
        p_value = 2 * special.ndtr(special.ndtri(change.p_value / 2) * factor)
    p_value = np.where(factor > 0, p_value, np.where(np.isnan(change.p_value), np.nan, 1.0))
    return replace(
        change,
        ratio_low=change.ratio_low * np.exp(-log_down),
        ratio_high=change.ratio_high * np.exp(log_up),
        difference_low=change.difference_low - down,
        difference_high=change.difference_high + up,
        p_value=p_value,
    )


def _slack(base: Estimate, new: Estimate, slacks: tuple[Slack, Slack]) -> tuple[Slack, Slack]:
    """Return how far below and above it the true ratio may lie, in logarithms, and the true difference."""
    (base_down, base_up), (new_down, new_up) = slacks
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [
            np.log1p(part / np.where(side.value > 0, side.value, np.nan))
            for side, part in ((new, -new_down), (new, new_up), (base, -base_down), (base, base_up))
        ]
    return (ends[3] - ends[0], ends[1] - ends[2]), (new_down + base_up, new_up + base_down)


def run_deviations(medians: Mapping[str, Floats], window: str, period_ns: float, rounded: bool) -> Deviations:
    """Estimate deviations between runs from medians over instances: of the logarithm, and in the quantity's unit."""
    medians = {name: np.nan_to_num(values) for name, values in medians.items()}
    host, span, idle = medians["host_ns"], medians["gpu_window_ns"], medians["idle_ns"]
    none = np.zeros_like(span)
    gaps = np.minimum(idle, GAP_NS * np.maximum(medians["activity_count"] - 1, 0))
    waiting = idle - gaps
    awaited = np.minimum(medians["awaited_ns"], host)
    kernels = np.minimum(medians["kernel_ns"], span - idle)
    copies = span - idle - kernels
    work, timer = np.full_like(span, WORK), np.full_like(span, TIMER_NS)
    kernel_timer = np.where(medians["kernel_ns"] > 0, TIMER_NS, 0)
    between = np.maximum(medians["step_ns"] - span, 0)  # from its last activity to the next step's first one
    step = combine_deviations(kernels, copies, gaps, waiting + between), timer
    spread = {
        "step_ns": step,
        "unprofiled_step_ns": step,
        "host_ns": (combine_deviations(awaited, none, none, host - awaited), none),
        "gpu_window_ns": (combine_deviations(kernels, copies, gaps, waiting), timer),
        "kernel_ns": (work, kernel_timer),
        "idle_ns": (np.full_like(span, WAITING), timer),
        "kernel_count": (none, none),
        "tensor_kernel_share_pct": (work, none),
    }
    busy = combine_deviations(kernels, copies, none, none)
    over = {"host": spread["host_ns"][0], "gpu": spread["gpu_window_ns"][0], "busy": busy}
    mean, active_s, cycles = _border_deviations(
        medians, {"host": host, "gpu": span, "busy": span - idle}[window], period_ns, rounded
    )
    spread["tensor_active_mean_pct"] = (over[window], mean)
    for name in ("tensor_tflops", "hfu_pct", "useful_tflops", "mfu_pct"):
        spread[name] = (over[window], none)  # FLOP are of kernels, which no border cuts
    # Of the same forward and backward passes, runs on an H200 read and wrote 0.01 to 0.5 % more or less.
    spread["dram_bytes"] = (work, none)
    return spread | {"tensor_active_s": (work, active_s), "tensor_cycles": (work, cycles)}


def _border_deviations(
    medians: Mapping[str, Floats], length_ns: Floats, period_ns: float, rounded: bool
) -> tuple[Floats, Floats, Floats]:
    """Return what samples at the borders of windows add to mean Tensor Active, its seconds, and the cycles."""
    # Short windows have no peak.
    highest = np.maximum(medians["tensor_active_peak_pct"], medians["tensor_active_mean_pct"])
    border_ns = BORDER * np.nan_to_num(period_ns) * highest / 100
    if rounded:
        border_ns = np.hypot(border_ns, ROUNDING_PCT / 100 * length_ns)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(length_ns > 0, 100 * border_ns / length_ns, 0)
        active_ns = 1e9 * medians["tensor_active_s"]
        cycles = np.where(active_ns > 0, border_ns * medians["tensor_cycles"] / active_ns, 0)
    return mean, 1e-9 * border_ns, cycles


def combine_deviations(kernels: Floats, copies: Floats, gaps: Floats, waiting: Floats) -> Floats:
    """Combine the deviations of a time's parts into that of its logarithm."""
    total = kernels + copies + gaps + waiting
    parts = ((WORK, kernels), (COPYING, copies), (GAPS, gaps), (WAITING, waiting))
    deviation = np.sqrt(sum((relative * part) ** 2 for relative, part in parts))
    return np.divide(deviation, total, out=np.zeros_like(total), where=total > 0)
