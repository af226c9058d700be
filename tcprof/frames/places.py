"""Frames of ranges: instances, paths, their summary, and the steps, as ``tcprof.analysis`` gives them."""

from tcprof.frames.schema import GPU, Bool, Float, FloatTime, Int, IntTime, Number, Schema, Text

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
COUNTED = "Instances of the path on the GPU, without those that are excluded, see *instances*."

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
