"""What differs between two recordings: the quantities of a range that are compared, their only list, and the frames."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcprof.frames.places import RANGES
from tcprof.frames.schema import BOOL, FLOAT, GPU, INT, TEXT, Column, Schema

USEFUL_RATE = Column(
    "useful_tflops",
    FLOAT,
    "Useful FLOP per second of the window, in 10^12; unknown where tensor_tflops is for a host window.",
    title="Useful FLOP/s",
)
IDLE = Column("idle_ns", FLOAT, "The GPU window, less the time under its work.", title="GPU idle")


@dataclass(frozen=True)
class Quantity:
    """A quantity that is compared."""

    column: Column  # its name, title, unit and meaning
    gate_name: str  # what conditions of a gate call it
    part_of: str = ""  # the quantity below which a table shows it; empty for none
    # What its better values are: higher or lower; empty where a change is neither better nor worse in itself.
    better: str = ""

    @property
    def name(self) -> str:
        """What the rows of a comparison call it."""
        return self.column.name

    def format(self, row: Mapping[Any, Any]) -> str:
        """The value in a row of the ranges, instances or iterations, with its unit."""
        return self.column.format(row[self.name])

    @property
    def in_points(self) -> bool:
        """Whether its change is a difference of percentages in points; else it is a ratio."""
        return self.column.unit == "pct"

    @property
    def change(self) -> str:
        """The column of ``tcprof.frames.COMPARISON`` that has its change."""
        return "difference" if self.in_points else "ratio"


# The figure that tcprof is about: mean Tensor Active, which leads tables and sentences, and the ends of its interval.
HEADLINE = Quantity(RANGES["tensor_active_mean_pct"], "tensor_active", better="higher")
HEADLINE_INTERVAL = ("tensor_active_low_pct", "tensor_active_high_pct")
QUANTITIES = (
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
LISTED_QUANTITIES = (QUANTITIES[1], QUANTITIES[0], *QUANTITIES[2:])
_BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


def quantity_of(name: str) -> Quantity:
    """The quantity of a row of ``tcprof.frames.COMPARISON``."""
    return _BY_NAME[name]


KERNEL_CHANGES = Schema(
    "kernel_changes",
    "The kernels of two recordings, matched; one row for each GPU, path and pair, the largest difference first. "
    "Figures are per iteration, without warm-up; of the whole captures where one recording has no iterations.",
    (
        GPU,
        Column(
            "path",
            TEXT,
            "The path within the iteration, as in the new recording; of removed ones the baseline's.",
            title="In",
        ),
        Column(
            "status",
            TEXT,
            "same: name and launch geometry agree; renamed: matched, by place or by name, with another name or "
            "geometry; new; removed; or hidden: one side has CUDA graphs recorded as a whole, which may hold them.",
        ),
        Column("base_name", TEXT, "The kernel's name in the baseline; empty for new ones."),
        Column("new_name", TEXT, "Its name in the new recording; empty for removed ones."),
        Column("base_geometry", TEXT, "Grid and block in the baseline."),
        Column("new_geometry", TEXT, "Grid and block in the new recording."),
        Column("base_class", TEXT, "Class of the kernel, such as FP32 products or FP16 tensor kernels.", title="Class"),
        Column("new_class", TEXT, "The same in the new recording."),
        Column("base_count", FLOAT, "Launches in the baseline.", title="Launches, base"),
        Column("new_count", FLOAT, "Launches in the new recording.", title="Launches, new"),
        Column("base_ns", FLOAT, "Sum of their durations in the baseline.", title="Time, base"),
        Column("new_ns", FLOAT, "Sum of their durations in the new recording.", title="Time, new"),
        Column("difference_ns", FLOAT, "Their time in the new recording, less that in the baseline.", title="Change"),
        Column(
            "base_tensor_active_pct",
            FLOAT,
            "Tensor Active while they ran, from the fit; unknown for new ones.",
            title="Tensor Active, base",
        ),
        Column(
            "new_tensor_active_pct",
            FLOAT,
            "Tensor Active while they ran in the new recording, from the fit; unknown for removed ones.",
            title="Tensor Active, new",
        ),
        Column(
            "base_tensor_kernel", BOOL, "Whether the baseline's is a tensor kernel, see *kernels*; no for new ones."
        ),
        Column("new_tensor_kernel", BOOL, "Whether the new recording's is one; no for removed ones."),
        Column(
            "base_precision",
            TEXT,
            "Precision of the inputs, from the name; empty if the name does not say.",
            title="Precision",
        ),
        Column("new_precision", TEXT, "The same in the new recording."),
        Column("base_fit", TEXT, "How well the fit resolves it in the baseline, see *kernels*; empty for new ones."),
        Column("new_fit", TEXT, "The same in the new recording; empty for removed ones."),
    ),
)

WATERFALL = Schema(
    "waterfall",
    "What a change consists of, for each GPU: first the total, then its parts. The changes of the parts add up to that "
    "of the total; of time_ns also base and new do.",
    (
        GPU,
        Column(
            "quantity",
            TEXT,
            "time_ns: the mean GPU window of the iterations, every nanosecond of which is in one part: kernels first, "
            "of several at once the one that started first, then NCCL's, then copies. tensor_active_pct: the mean "
            "Tensor Active over these windows.",
        ),
        Column(
            "part",
            TEXT,
            "total; of time: same kernels, renamed kernels, new kernels, removed kernels, kernels hidden in whole CUDA "
            "graphs (those graphs, and on the other side the kernels without a counterpart), communication, copies "
            "and sets, idle; of Tensor Active: idle (how much of the window is under kernels), mix (which kernels have "
            "that time), intensity (Tensor Active of matched kernels), not explained by the fit.",
        ),
        Column("base_class", TEXT, "Of renamed and removed kernels their class in the baseline; else empty."),
        Column("new_class", TEXT, "Of renamed and new kernels their class in the new recording; else empty."),
        Column("base", FLOAT, "The part in the baseline; unknown for the parts of Tensor Active."),
        Column("new", FLOAT, "The part in the new recording, likewise."),
        Column("change", FLOAT, "What the part adds to the total's change."),
    ),
)

_OF_MEDIANS = (
    Column("base", FLOAT, "The baseline's value."),
    Column("base_low", FLOAT, "Lower end of its interval; unknown for fewer than 5 instances and no repeats."),
    Column("base_high", FLOAT, "Its upper end."),
    Column("new", FLOAT, "The other side's value."),
    Column("new_low", FLOAT, "Lower end of its interval, likewise."),
    Column("new_high", FLOAT, "Its upper end."),
    Column("difference", FLOAT, "new - base."),
    Column("difference_low", FLOAT, "Lower end of its interval."),
    Column("difference_high", FLOAT, "Its upper end."),
    Column("ratio", FLOAT, "new / base; unknown where the baseline is 0."),
    Column("ratio_low", FLOAT, "Lower end of its interval."),
    Column("ratio_high", FLOAT, "Its upper end."),
    Column(
        "p_value",
        FLOAT,
        "How often two runs of one program would differ so much. With repeats from Welch's t test of the "
        "recordings' medians; else the larger of that of a test with the deviation assumed for runs and, where "
        "this is below 0.05, that of the Mann-Whitney test of the instances.",
    ),
    Column(
        "verdict",
        TEXT,
        "higher or lower than the baseline; ~, inconclusive: p is 0.05 or more, or the interval includes "
        "no change; =, all instances of both have one and the same value; empty where it cannot be judged.",
    ),
    Column(
        "needed_count",
        FLOAT,
        "Instances a side, or with repeats recordings a side, that would show such a difference in 80 % of cases; "
        "unknown where more of them would not, or it is decided.",
    ),
    Column(
        "survives_spread_pct",
        FLOAT,
        "Of a difference that is shown, though how much runs differ is assumed: the largest standard deviation of runs "
        "of this figure with which it would still be shown; else unknown.",
    ),
    Column(
        "assumed_spread_pct", FLOAT, "The standard deviation of runs that was assumed; unknown where it is measured."
    ),
)

COMPARISON = Schema(
    "comparison",
    "One row for each GPU, path and quantity of two sides, which are one or more recordings each. Values are medians "
    "over instances, without those of warm-up iterations; of several recordings the median of theirs. Intervals are "
    "those of 95 %, over instances and runs. Everything is given twice, for medians and for means: work that only some "
    "steps do moves the mean alone. [statistics.md](statistics.md) explains the methods and how they were validated.",
    (
        GPU,
        Column("domain", TEXT, "NVTX domain; empty for the default one."),
        Column("path", TEXT, "The path, with the new side's names; empty for the whole capture."),
        Column("depth", INT, "1 for an outermost range, 0 for the whole capture."),
        Column("quantity", TEXT, "What is compared, with its unit at the end. idle_ns is gpu_window_ns less busy_ns."),
        *_OF_MEDIANS,
        *(
            Column(f"mean_{column.name}", column.dtype, f"The same as `{column.name}`, of means over the instances.")
            for column in _OF_MEDIANS
        ),
        Column(
            "not_judged",
            TEXT,
            "Why there is neither an interval nor a verdict; empty where there is, or where a side is unknown.",
        ),
        Column(
            "base_lower_bound",
            BOOL,
            "Whether the baseline's value is a lower bound: samples were lost, or some kernels' FLOP are unknown, or "
            "whether they are tensor kernels.",
        ),
        Column("new_lower_bound", BOOL, "The same of the other side's value."),
        Column("base_instance_count", FLOAT, "Instances compared of the baseline; unknown where it has no such path."),
        Column("new_instance_count", FLOAT, "Instances compared of the other side; unknown likewise."),
        Column("base_recording_count", INT, "Recordings of the baseline that have the path."),
        Column("new_recording_count", INT, "Recordings of the other side that have it."),
    ),
)

NOISE_FLOOR = Schema(
    "noise_floor",
    "How much recordings of one side differ, though the program is the same: over the iterations, without warm-up.",
    (
        GPU,
        Column("side", TEXT, "The side's name."),
        Column("quantity", TEXT, "What differs, with its unit at the end."),
        Column("ratio", FLOAT, "The largest of the recordings' medians, over the smallest."),
        Column("recording_count", INT, "Recordings of the side that have iterations on the GPU."),
    ),
)
