"""The frame of modules, as ``tcprof.analysis.modules`` gives it."""

from tcprof.frames.places import DRAM_BYTES, HFU_MEANING, KNOWN_FLOP, MFU_MEANING, NO_PEAK, UNCOVERED, UNRESOLVED_SHARE
from tcprof.frames.schema import GPU, UNBOUNDED, Float, Int, Number, Schema, Signed, Text

IN_NO_MODULE = "({phase})"  # the module of kernels that belong to none
PHASE = Text("phase").means(
    "data, forward, between calls (of a model not in training), backward, recompute (activation checkpointing runs "
    "the forward pass again), optimizer, other, or all for their sum."
)
MODULES = Schema(
    "modules",
    "One row for each GPU, module and phase, over the kernels of the steps after warm-up (if there are no steps, over "
    "all kernels); each GPU also has rows for all kernels, which name no module. A backward kernel belongs to the "
    "module whose forward op created its autograd node, if ops were recorded. Kernels that belong to no module are "
    "listed under a placeholder for each phase, such as (optimizer).",
    (
        GPU,
        Number("module_id").means("Number of the module, -1 for the rows of all kernels."),
        Number("parent_id").means(
            "Number of the module that contains it; -1 for a root, and for the rows of all kernels."
        ),
        Text("module").means("Path of the module, beginning with its root's class; empty for the rows of all kernels."),
        Text("name").means("The last part of the path."),
        Int("depth").means("1 for a root, 0 for the rows of all kernels."),
        PHASE,
        Int("step_count").means("Steps that its figures cover; 0 without steps."),
        Int("kernel_count", title="Kernels").means("Kernels launched in it."),
        Int("kernel_ns", title="Kernel time").means("Sum of their durations."),
        Int("own_kernel_ns").means("Kernel time of the module itself, without its submodules."),
        Float("share_pct", title="Share of the time").means("Its share of the time of all kernels."),
        Float("tensor_kernel_share_pct", title="Tensor kernel share", missing=UNRESOLVED_SHARE.name).means(
            "Share of its kernel time in tensor kernels, see *kernels*; unknown if CUDA graphs were recorded as a "
            "whole."
        ),
        UNRESOLVED_SHARE,
        Float("tensor_active_pct", title="Tensor Active").means("Tensor Active while its kernels ran, from the fit."),
        Float("tensor_active_low_pct").means("Lower end of the 95 % interval."),
        Float("tensor_active_high_pct").means("Upper end of the 95 % interval."),
        Float("tensor_cycles").means("Tensor cycles of its kernels, where recorded."),
        Float("tensor_flop", title="Executed FLOP", missing=UNCOVERED.name).means(
            f"FLOP of its kernels, {KNOWN_FLOP}."
        ),
        Float("useful_flop", title="Useful FLOP").means(
            "FLOP that its ops require, given their operand sizes, counted as in torch.utils.flop_counter: matrix "
            "multiplications, convolutions, and attention as if it had no mask; none in the phase recompute. Unknown "
            "if sizes were not recorded, or if over 1 % of the tensor kernels' time is in ops whose sizes do not "
            "determine the FLOP."
        ),
        Float("useful_pct", title="Useful", limits=UNBOUNDED).means(
            "Useful FLOP of the ops that ran tensor kernels, as a share of the FLOP that these kernels executed "
            "(tensor_flop)."
        ),
        Float("mfu_pct", title="MFU").means(f"{MFU_MEANING} kernel time. {NO_PEAK}"),
        Float("tensor_tflops", title="Tensor FLOP/s", missing=UNCOVERED.name).means(
            "tensor_flop divided by its kernel time, in TFLOP/s."
        ),
        Float("tensor_peak_pct", title="Share of peak", missing=UNCOVERED.name).means(
            "Its Tensor FLOP/s, as a share of the chip's peak at the sampled clock, for its kernels' precisions."
        ),
        Float("hfu_pct", title="HFU", missing=UNCOVERED.name).means(f"{HFU_MEANING} kernel time. {NO_PEAK}"),
        UNCOVERED,
        DRAM_BYTES,
        Float("dram_pct", title="DRAM bandwidth").means(
            "Bytes of device memory per second of its kernel time, as a share of the memory's bandwidth."
        ),
        Float("lost_ns", title="Time above ideal").means(
            "Its kernel time minus the time that its FLOP would take at the chip's peak; unknown if the FLOP are a "
            "lower bound."
        ),
    ),
    key=("gpu", "module_id", "phase"),
)
MODULE_TREE = Schema(
    "module_tree",
    "The modules of a recording; each is followed by its submodules, in the order of their first calls.",
    tuple(MODULES[name] for name in ("module", "name", "depth", "parent_id")),
)
FOLDED_MODULES = Schema(
    "folded_modules",
    "The modules of one GPU, with similar ones combined in one row.",
    (
        *MODULES.columns,
        Int("alike_count").means("How many modules a row stands for."),
        Int("shortest_ns").means("Kernel time of the shortest of them, over all phases."),
        Int("longest_ns").means("Kernel time of the longest of them, over all phases."),
    ),
)

_SIDES = {"base": "In the baseline", "new": "On the new side"}
_OF_SIDES = (
    ("alike_count", "how many modules the row stands for", "Modules", "count"),
    ("ns", "kernel time per step", "Time", "ns"),
    ("low_ns", "lower end of its 95 % interval", "Time, low", "ns"),
    ("high_ns", "upper end of that interval", "Time, high", "ns"),
    ("tensor_active_pct", "Tensor Active while its kernels ran", "Tensor Active", "pct"),
    ("tensor_active_low_pct", "lower end of its 95 % interval", "Low", "pct"),
    ("tensor_active_high_pct", "upper end of that interval", "High", "pct"),
)
MODULE_CHANGES = Schema(
    "module_changes",
    "Modules of two sides, matched by path, per step without warm-up; no rows if only one side has steps. Values are "
    "means over the steps; for several recordings, the median of their means. Intervals are as in *comparison*; those "
    "of Tensor Active include the fit's uncertainty. Numbers in paths are replaced by \\*, so that a row covers all "
    "layers of a list.",
    (
        GPU,
        Number("module_id").means("Number of the row's module, -1 for all kernels."),
        Number("parent_id").means("Number of the module that contains it; -1 for a root and for all kernels."),
        Text("module").means("Path of the module; empty for all kernels."),
        Int("depth").means("1 for a root, 0 for all kernels."),
        PHASE,
        *(
            Float(f"{side}_{name}", title=f"{title}, {side}", unit=unit).means(
                f"{of}, {meaning}; unknown if it has no such module."
            )
            for name, meaning, title, unit in _OF_SIDES
            for side, of in _SIDES.items()
        ),
        Signed("difference_ns", title="Change").means("new - base; a module that a side lacks counts as 0 there."),
        Signed("difference_low_ns").means("Lower end of its 95 % interval."),
        Signed("difference_high_ns").means("Its upper end."),
        Float("ratio").means("new / base; unknown if a side lacks the module."),
        Float("ratio_low", limits=UNBOUNDED).means("Lower end of its 95 % interval."),
        Float("ratio_high", limits=UNBOUNDED).means("Its upper end."),
        Float("p_value").means(
            "Probability that two runs of the same program differ this much in time, see *comparison*."
        ),
        Text("verdict", title="Verdict").means(
            "Verdict on its time: higher, lower, ~ (inconclusive) or =, see *comparison*; empty if it cannot be judged."
        ),
        Signed("tensor_active_difference_pct", title="Tensor Active, change").means(
            "Difference in Tensor Active, new - base, in points."
        ),
        Signed("tensor_active_difference_low_pct").means("Lower end of its 95 % interval."),
        Signed("tensor_active_difference_high_pct").means("Its upper end."),
        Float("tensor_active_p_value").means("The same as p_value, for Tensor Active."),
        Text("tensor_active_verdict").means("The same as verdict, for Tensor Active."),
        Text("not_judged").means("Why interval and verdict of its time are missing; empty if they are given."),
    ),
)
