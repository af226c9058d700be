"""Frames of ranges, instances, paths and modules, as ``tcprof.analysis`` gives them."""

from tcprof.frames.schema import GPU, UNBOUNDED, Bool, Float, FloatTime, Int, IntTime, Number, Schema, Signed, Text

_PARENT = "Row in *paths* of its parent; -1 for an outermost path"
PLACE = (
    Text("domain").means("NVTX domain; empty for the default one."),
    Text("path").means("The path; empty for the whole capture."),
    Text("name").means("The innermost name of the path; empty for the whole capture."),
    Int("depth").means("1 for an outermost range, 0 for the whole capture."),
    Number("path_id").means("Row of the path in *paths*; -1 for the whole capture."),
    Number("parent_id").means(f"{_PARENT} and for the whole capture."),
)
WHOLE_CAPTURE = {"domain": "", "path": "", "name": "", "depth": 0, "path_id": -1, "parent_id": -1}  # its place
_SAMPLED = "Lost samples are missing from it: if coverage_pct is below 99, it is a lower bound (≥)."
SUMS = (
    Float("tensor_active_s", title="Tensor-active time", covered="coverage_pct").means(
        f"Tensor Active integrated over the window; values can be added up. {_SAMPLED}"
    ),
    Float("tensor_cycles", covered="coverage_pct").means(
        f"Tensor cycles in the window, over all SM sub-partitions, where recorded. {_SAMPLED}"
    ),
    Float("coverage_pct", title="Coverage").means(
        "Share of the window covered by samples. Below 50 % no mean is given."
    ),
)
_TENSOR = (
    Float("tensor_active_mean_pct", title="Tensor Active").means(
        "Mean Tensor Active over the sampled part of the window."
    ),
    Float("tensor_active_low_pct").means(
        "Lower end of the mean's 95 % interval: bootstrap over the instances (at least 5), widened by the rounding "
        "error where samples are rounded."
    ),
    Float("tensor_active_high_pct").means("Upper end of the mean's 95 % interval."),
    Float("tensor_active_peak_pct", title="Peak").means(
        "Largest sample that is at least half inside the window; unknown if that would be below the mean."
    ),
    Float("tensor_active_p95_pct", title="p95").means(
        "95th percentile of the samples, weighted by overlap with the window; at most the peak, and unknown if that "
        "is unknown."
    ),
    *SUMS,
)

UNCOVERED = Float("uncovered_cycles_pct", title="Cycles without FLOP").means(
    "Share of the tensor cycles that are in kernels with unknown FLOP per cycle, among kernels that are or may be "
    "tensor kernels. Above 1 %, FLOP, FLOP/s and the share of the peak are lower bounds (≥); at 100 % they are "
    "unknown."
)
UNRESOLVED_SHARE = Float("unresolved_kernel_share_pct", title="Unresolved kernels").means(
    "Share of the kernel time in kernels whose names and samples do not show whether they are tensor kernels. Above "
    "1 %, the share of tensor kernels is a lower bound (≥)."
)
DRAM_BYTES = Float("dram_bytes", title="DRAM bytes").means(
    "Bytes of device memory that its kernels read and wrote, from the fit, where recorded."
)
HFU_MEANING = (
    "Hardware FLOP utilization: the time that the FLOP executed on the Tensor Cores would take at the dense peak of "
    "each kernel's precision at the boost clock (see peak_tflops of *kernels*), as a share of the"
)
MFU_MEANING = (
    "Model FLOP utilization: the time that the useful FLOP would take at the same peaks (see HFU), as a share of the"
)
NO_PEAK = "Unknown if over 1 % of the FLOP ran in kernels whose peak is unknown."
_NOT_HOST = "For host windows, unknown if the range ends before its GPU work does."
_UTILIZATION = (
    Float("hfu_pct", title="HFU", missing=UNCOVERED.name).means(f"{HFU_MEANING} window. {_NOT_HOST} {NO_PEAK}"),
    UNCOVERED,
    Float("useful_flop", title="Useful FLOP").means(
        "FLOP that its ops require, given their operand sizes, see *modules*; unknown if sizes were not recorded, or "
        "if over 1 % of the tensor kernels' time is in ops whose sizes do not determine the FLOP."
    ),
    Float("mfu_pct", title="MFU").means(f"{MFU_MEANING} window. {_NOT_HOST} {NO_PEAK}"),
    DRAM_BYTES,
)
KNOWN_FLOP = "where known"
_CAPTURE = "from the GPU's first activity to its last or, if it has none, over all its samples"
INSTANCE_COUNT = "Instances of the path on the GPU, without those that are excluded, see *instances*."

INSTANCES = Schema(
    "instances",
    "One row for each instance of a range on each GPU that it used. An instance without GPU work is listed under the "
    "GPUs that its enclosing range used; if that used none, under those that its path used on that thread, failing "
    "that its thread, failing that its process.",
    (
        GPU,
        Int("range").means("Row of the range in *nvtx_ranges*."),
        Int("path_id").means("Row of its path in *paths*."),
        IntTime("host_start_ns").means("Start of the range on the CPU."),
        IntTime("host_end_ns").means("End of the range on the CPU."),
        Int("activity_count").means("Activities launched in it."),
        Int("inherited_count").means("Of these, activities launched by another thread that had no range open."),
        Int("kernel_count").means("Kernels and graphs launched in it."),
        Int("kernel_ns").means("Sum of these kernels' durations."),
        FloatTime("gpu_start_ns").means("Start of its first activity on the GPU; unknown if it has none."),
        FloatTime("gpu_end_ns").means("End of its last activity on the GPU; unknown if it has none."),
        Float("tensor_active_mean_pct").means("Mean Tensor Active over the sampled part of the window."),
        *SUMS,
        Float("busy_ns").means("Time covered by its activities; unknown if it has none, or if hardly any were traced."),
        Float("tensor_kernel_ns").means(
            "Time in its tensor kernels, see *kernels*; unknown if CUDA graphs were recorded as a whole, or without "
            "a fit."
        ),
        Float("unresolved_kernel_ns").means(
            "Time in its kernels whose names and samples do not show whether they are tensor kernels; unknown in the "
            "same cases."
        ),
        Float("tensor_flop", missing=UNCOVERED.name).means(f"FLOP of its kernels, {KNOWN_FLOP}."),
        *_UTILIZATION,
        Bool("left_out").means(
            "Whether it is, or lies in, a warm-up step or a slow step; if so, no figure of its path includes it."
        ),
    ),
    key=("gpu", "range"),
)

PATHS = Schema(
    "paths",
    "One row for each path: the names of a range and of its enclosing ranges, joined by ' / '.",
    (
        Text("domain").means("NVTX domain; empty for the default one."),
        Text("path").means(
            "The names from the outermost range inwards, joined by ' / '; beyond 2,000 characters, the names in the "
            "middle are replaced by their count and a checksum."
        ),
        Text("name").means("The innermost name."),
        Int("depth").means("1 for an outermost range."),
        Number("parent_id").means(f"{_PARENT}."),
    ),
)

RANGES = Schema(
    "ranges",
    "One row for each GPU and path, over its instances that are not excluded, and one with an empty path for the "
    f"whole capture: {_CAPTURE}.",
    (
        GPU,
        *PLACE,
        Int("instance_count", title="Instances").means("Instances of the path on the GPU, without those in warm-up."),
        Int("slow_count").means("Of these, instances in slow steps; no other figure in the row includes them."),
        Int("activity_count").means("Activities on the GPU launched in them."),
        Int("inherited_count").means("Of these, activities launched by another thread that had no range open."),
        Int("kernel_count", title="Kernels").means("Kernels and graphs launched in them."),
        Int("host_ns", title="Host time").means(
            "Sum of the instances' durations on the CPU; for the capture, its length."
        ),
        Float("gpu_window_ns", title="GPU window").means(
            "Time from an instance's first activity to its last, over all instances."
        ),
        Float("busy_ns", title="Busy time").means("Time covered by its activities."),
        Int("kernel_ns", title="Kernel time").means("Sum of the durations of its kernels and graphs."),
        Float("window_ns").means("Total length of the windows over which sample-based figures are taken."),
        *_TENSOR,
        Float("tensor_kernel_share_pct", title="Tensor kernel share", missing=UNRESOLVED_SHARE.name).means(
            "Share of the kernel time in tensor kernels, see *kernels*; without samples, from kernel names. Unknown "
            "if there are no kernels, if CUDA graphs were recorded as a whole, or if the kernels were not fitted."
        ),
        UNRESOLVED_SHARE,
        Float("fitted_active_s").means("Tensor-active time of the kernels launched in them, from the fit."),
        Float("fitted_cycles").means(
            "Tensor cycles of the kernels launched in them, from the fit; the cycles in *kernels* and *modules* add "
            "up to this value. Cycles in the window (tensor_cycles), in contrast, include everything that ran in it; "
            "samples at its edges count in part."
        ),
        Float("tensor_flop", missing=UNCOVERED.name).means(f"FLOP of their kernels, {KNOWN_FLOP}."),
        Float("tensor_tflops", title="Tensor FLOP/s", missing=UNCOVERED.name).means(
            f"TFLOP on the Tensor Cores per second of the window. {_NOT_HOST}"
        ),
        Float("tensor_peak_pct", title="Share of peak", missing=UNCOVERED.name).means(
            "Tensor FLOP/s, as a share of the chip's peak at the sampled clock, for its kernels' precisions. "
            f"{_NOT_HOST}"
        ),
        *_UTILIZATION,
        Float("dram_pct", title="DRAM bandwidth").means(
            f"Bytes of device memory per second of the window, as a share of the memory's bandwidth. {_NOT_HOST}"
        ),
    ),
    key=("gpu", "path_id"),
)


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
