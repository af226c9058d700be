"""What differs between two recordings: the quantities of a range that are compared, their only list, and the frames."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcprof.frames.places import RANGES
from tcprof.frames.schema import GPU, UNBOUNDED, Bool, Column, Float, Int, Schema, Signed, Text
from tcprof.frames.steps import STEPS

USEFUL_RATE = Float("useful_tflops", title="Useful FLOP/s").means(
    "Useful TFLOP per second of the window; unknown for host windows whose tensor_tflops is unknown."
)
UNPROFILED_STEP = Float("unprofiled_step_ns", title="Step time, unprofiled").means(
    "Time from one step's start to the next one's without profiling, see *unprofiled*; unknown if no such step was "
    "timed."
)
IDLE = Float("idle_ns", title="GPU idle").means("The GPU window minus its busy time.")


@dataclass(frozen=True)
class Quantity:
    """A quantity that is compared."""

    column: Column  # its name, title, unit and meaning
    gate_name: str  # what conditions of a gate call it
    part_of: str = ""  # the quantity below which a table shows it; empty for none
    # What its better values are: higher or lower; empty where a change is neither better nor worse in itself.
    better: str = ""
    of_steps: bool = False  # whether steps alone have it, and no range in them

    @property
    def name(self) -> str:
        """Return its name in the rows of a comparison."""
        return self.column.name

    def format(self, row: Mapping[Any, Any]) -> str:
        """Format the value in a row of the ranges, instances or steps, with its unit."""
        return self.column.format(row[self.name])

    @property
    def in_points(self) -> bool:
        """Tell whether its change is a difference of percentages in points; else it is a ratio."""
        return self.column.unit == "pct"

    @property
    def change(self) -> str:
        """Return the column of ``tcprof.frames.COMPARISON`` that has its change."""
        return "difference" if self.in_points else "ratio"


# The figure that tcprof is about: mean Tensor Active, which leads tables and sentences, and the ends of its interval.
HEADLINE = Quantity(RANGES["tensor_active_mean_pct"], "tensor_active", better="higher")
HEADLINE_INTERVAL = ("tensor_active_low_pct", "tensor_active_high_pct")
QUANTITIES = (
    Quantity(UNPROFILED_STEP, "unprofiled_step_time", better="lower", of_steps=True),
    Quantity(STEPS["step_ns"], "step_time", better="lower", of_steps=True),
    Quantity(RANGES["host_ns"], "host_time", better="lower"),
    Quantity(RANGES["gpu_window_ns"], "time", better="lower"),
    Quantity(RANGES["kernel_ns"], "kernel_time", better="lower"),
    Quantity(IDLE, "gpu_idle", better="lower"),
    Quantity(RANGES["kernel_count"], "kernel_count"),
    HEADLINE,
    Quantity(RANGES["tensor_active_peak_pct"], "tensor_active_peak", part_of=HEADLINE.name),
    Quantity(RANGES["tensor_active_s"], "tensor_active_time"),
    Quantity(RANGES["tensor_cycles"], "tensor_cycles"),
    Quantity(RANGES["tensor_kernel_share_pct"], "tensor_kernel_share"),
    Quantity(RANGES["tensor_tflops"], "tflops", better="higher"),
    Quantity(RANGES["hfu_pct"], "hfu", better="higher"),
    Quantity(USEFUL_RATE, "useful_tflops", better="higher"),
    Quantity(RANGES["mfu_pct"], "mfu", better="higher"),
    Quantity(RANGES["dram_bytes"], "dram_bytes"),
)
# As tables and messages list them: what matters at a glance comes first.
LISTED_QUANTITIES = (*QUANTITIES[:2], QUANTITIES[3], QUANTITIES[2], *QUANTITIES[4:])
_BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


def quantity_of(name: str) -> Quantity:
    """Return the quantity of a row of ``tcprof.frames.COMPARISON``."""
    return _BY_NAME[name]


_OF_KERNELS = [
    kind(f"{side}_{name}", title=title.format(side)).means(f"{of}: {meaning}.")
    for kind, name, meaning, title in (
        (Text, "name", "the kernel's name; empty if it has no such kernel", ""),
        (Text, "geometry", "grid and block", ""),
        (Text, "class", "class, such as FP32 matmuls (convolutions included) or FP16 tensor kernels", "Class"),
        (Float, "count", "number of launches", "Launches, {}"),
        (Float, "ns", "sum of their durations", "Time, {}"),
        (Float, "tensor_active_pct", "Tensor Active while they ran, from the fit", "Tensor Active, {}"),
        (Bool, "tensor_kernel", "whether it is a tensor kernel, see *kernels*; no if it has no such kernel", ""),
        (Text, "precision", "precision of the inputs, from the name; empty if the name does not say", "Precision"),
        (Text, "fit", "how well the fit resolves it, see *kernels*; empty if it has no such kernel", ""),
    )
    for side, of in (("base", "In the baseline"), ("new", "In the new recording"))
]
KERNEL_CHANGES = Schema(
    "kernel_changes",
    "The kernels of two recordings, matched; one row for each GPU, path and pair, largest difference first. Figures "
    "are per step, without warm-up, or for the whole captures if one recording has no steps.",
    (
        GPU,
        Text("path", title="In").means(
            "The path within the step in the new recording; for removed kernels, in the baseline."
        ),
        Text("status").means(
            "same: name and launch geometry agree; renamed: matched by position or by similar names, but name or "
            "launch geometry differs; new; removed; or hidden: one side has CUDA graphs recorded as a whole, which "
            "may contain the kernel."
        ),
        *_OF_KERNELS[:10],
        Signed("difference_ns", title="Change").means("Their time in the new recording minus that in the baseline."),
        *_OF_KERNELS[10:],
    ),
)

WATERFALL = Schema(
    "waterfall",
    "What a change consists of, for each GPU: first the total, then its parts. The parts' changes add up to the "
    "total change; for time_ns, base and new add up, too.",
    (
        GPU,
        Text("quantity").means(
            "time_ns: the mean step time. Each nanosecond of it is in exactly one part: kernels take precedence (if "
            "several run at once, the one that started first), then NCCL, then copies; time outside the steps' GPU "
            "windows counts as *between steps*. tensor_active_pct: the mean Tensor Active over the GPU windows."
        ),
        Text("part").means(
            "total; for time: same kernels, replaced kernels, new kernels, removed kernels, kernels hidden in CUDA "
            "graphs (on one side graphs recorded as a whole, on the other kernels without a counterpart), "
            "communication, copies and memsets, idle, between steps; for Tensor Active: idle (how much of the window "
            "has no kernels), mix (which kernels run in the rest), intensity (Tensor Active of matched kernels), not "
            "explained by the fit."
        ),
        Text("base_class").means("Class of replaced and removed kernels in the baseline; otherwise empty."),
        Text("new_class").means("Class of replaced and new kernels in the new recording; otherwise empty."),
        Float("base").means("The part in the baseline; unknown for the parts of Tensor Active."),
        Float("new").means("The part in the new recording, likewise."),
        Signed("change").means("What the part contributes to the total change."),
    ),
)

OF_MEDIANS = (
    Float("base").means("The baseline's value."),
    Float("base_low").means("Lower end of its interval; unknown with fewer than 5 instances and no repeats."),
    Float("base_high").means("Its upper end."),
    Float("new").means("The other side's value."),
    Float("new_low").means("Lower end of its interval, likewise."),
    Float("new_high").means("Its upper end."),
    Signed("difference").means("new - base."),
    Signed("difference_low").means("Lower end of its interval."),
    Signed("difference_high").means("Its upper end."),
    Float("ratio").means("new / base; unknown where the baseline is 0."),
    Float("ratio_low", limits=UNBOUNDED).means("Lower end of its interval; unknown where it would be 0."),
    Float("ratio_high", limits=UNBOUNDED).means("Its upper end; unknown where the baseline may be 0."),
    Float("p_value").means(
        "Probability that two runs of the same program differ this much. With repeats, it comes from Welch's t-test "
        "on the recordings' medians. Otherwise it comes from a test with the assumed run-to-run variation; if that "
        "gives less than 0.05, a Mann-Whitney test on the instances replaces it if its value is higher."
    ),
    Text("verdict").means(
        'higher or lower than the baseline; ~ if inconclusive (p is 0.05 or more, and the interval includes "no '
        'change"); = if all instances of both sides have the same value; empty if it cannot be judged.'
    ),
    Float("needed_count").means(
        "Instances per side (with repeats, recordings per side) needed to detect such a difference in 80 % of cases; "
        "unknown if more would not help, or if the difference is already significant."
    ),
    Float("survives_spread_pct").means(
        "If the difference is significant and the run-to-run variation is assumed: the largest standard deviation "
        "between runs at which it would still be significant; otherwise unknown."
    ),
    Float("assumed_spread_pct").means("The assumed standard deviation between runs; unknown if it is measured."),
)

COMPARISON = Schema(
    "comparison",
    "One row for each GPU, path and quantity of two sides with one or more recordings each. Values are medians over "
    "instances without warm-up; for several recordings, the median of their medians. Intervals are 95 % intervals, "
    "over instances and runs. Everything is given for medians and for means: work done in only a few steps affects "
    "only the mean. [statistics.md](statistics.md) explains the methods and how they were validated.",
    (
        GPU,
        Text("domain").means("NVTX domain; empty for the default one."),
        Text("path").means("The path, with the new side's names; empty for the whole capture."),
        Int("depth").means("1 for an outermost range, 0 for the whole capture."),
        Text("quantity").means("What is compared, with its unit at the end. idle_ns is gpu_window_ns minus busy_ns."),
        *OF_MEDIANS,
        *(
            Column(f"mean_{column.name}", dtype=column.dtype, limits=column.limits).means(
                f"The same as `{column.name}`, for means over instances."
            )
            for column in OF_MEDIANS
        ),
        Text("not_judged").means(
            "Why interval and verdict are missing; empty if they are given, or if a side's value is unknown."
        ),
        Bool("base_lower_bound").means(
            "Whether the baseline's value is a lower bound, because samples were lost, or because the FLOP or the "
            "Tensor Core use of some kernels is unknown."
        ),
        Bool("new_lower_bound").means("The same for the other side."),
        Float("base_instance_count").means(
            "Number of baseline instances compared; unknown if the baseline has no such path."
        ),
        Float("new_instance_count").means(
            "Number of instances of the other side compared; unknown if it has no such path."
        ),
        Int("base_recording_count").means("Number of baseline recordings that have the path."),
        Int("new_recording_count").means("Number of recordings of the other side that have the path."),
    ),
)
