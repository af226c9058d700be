"""Frames of what was computed, as ``tcprof.analysis`` and ``tcprof.comparison`` give it."""

from tcprof.frames.schema import BOOL, FLOAT, GPU, INT, TEXT, Column, Schema

_TENSOR = (
    Column("tensor_active_mean_pct", FLOAT, "Mean Tensor Active over the sampled part of the window."),
    Column(
        "tensor_active_low_pct",
        FLOAT,
        "Lower end of the mean's 95 % interval: bootstrap over the instances (at least 5), widened by what rounding "
        "can have done where samples are rounded.",
    ),
    Column("tensor_active_high_pct", FLOAT, "Upper end of the mean's 95 % interval."),
    Column("tensor_active_peak_pct", FLOAT, "Largest sample at least half inside the window."),
    Column("tensor_active_p95_pct", FLOAT, "95th percentile of the samples, weighted by overlap with the window."),
    Column("tensor_active_s", FLOAT, "Tensor-active time: Tensor Active integrated over the window. It adds up."),
    Column("tensor_cycles", FLOAT, "Tensor cycles in the window, over all SM sub-partitions, where recorded."),
    Column("coverage_pct", FLOAT, "Share of the window that lies under samples. Below 50 % no mean is given."),
)

INSTANCES = Schema(
    "instances",
    "Each instance of each range on each GPU that its process used.",
    (
        GPU,
        Column("range", INT, "Row of the range in the frame of ranges."),
        Column("path_id", INT, "Row of its path in the frame of paths."),
        Column("host_start_ns", INT, "Start of the range on the CPU."),
        Column("host_end_ns", INT, "End of the range on the CPU."),
        Column("activity_count", INT, "Activities launched in it."),
        Column("inherited_count", INT, "Of these, launched by another thread that had no range of its own."),
        Column("kernel_count", INT, "Kernels and graphs launched in it."),
        Column("kernel_ns", INT, "Sum of these kernels' durations."),
        Column("gpu_start_ns", FLOAT, "Start of its first activity on the GPU; unknown if it has none."),
        Column("gpu_end_ns", FLOAT, "End of its last activity on the GPU; unknown if it has none."),
        Column("tensor_active_mean_pct", FLOAT, "Mean Tensor Active over the sampled part of the window."),
        Column("tensor_active_s", FLOAT, "Tensor Active integrated over the window."),
        Column("tensor_cycles", FLOAT, "Tensor cycles in the window."),
        Column("coverage_pct", FLOAT, "Share of the window that lies under samples."),
    ),
)

PATHS = Schema(
    "paths",
    "Each path: the names of a range and of the ranges that it lies in, joined by ' / '.",
    (
        Column("domain", TEXT, "NVTX domain; empty for the default one."),
        Column("path", TEXT, "The names from the outermost range inwards, joined by ' / '."),
        Column("name", TEXT, "The innermost name."),
        Column("depth", INT, "1 for an outermost range."),
    ),
)

RANGE_SUMMARY = Schema(
    "range_summary",
    "One row for each GPU and path, over all its instances, and one with an empty path for the whole capture.",
    (
        GPU,
        Column("domain", TEXT, "NVTX domain; empty for the default one."),
        Column("path", TEXT, "The path; empty for the whole capture."),
        Column("name", TEXT, "The innermost name of the path; empty for the whole capture."),
        Column("depth", INT, "1 for an outermost range, 0 for the whole capture."),
        Column("instance_count", INT, "Instances of the path, in the processes that used the GPU."),
        Column("activity_count", INT, "Activities on the GPU launched in them."),
        Column("inherited_count", INT, "Of these, launched by another thread that had no range of its own."),
        Column("kernel_count", INT, "Kernels and graphs launched in them."),
        Column("host_ns", INT, "Sum of the instances' durations on the CPU; of the capture, its length."),
        Column("gpu_window_ns", FLOAT, "Time from an instance's first activity to its last, over all instances."),
        Column("busy_ns", FLOAT, "Time under at least one of its activities."),
        Column("kernel_ns", INT, "Sum of the durations of its kernels and graphs."),
        Column("window_ns", FLOAT, "Length of the windows that the figures from samples are taken over."),
        *_TENSOR,
    ),
)

COMPARISON = Schema(
    "comparison",
    "One row for each GPU, path and quantity of two recordings. Times are means per instance.",
    (
        GPU,
        Column("domain", TEXT, "NVTX domain; empty for the default one."),
        Column("path", TEXT, "The path; empty for the whole capture."),
        Column("depth", INT, "1 for an outermost range, 0 for the whole capture."),
        Column("quantity", TEXT, "What is compared; its unit stands at the end."),
        Column("base", FLOAT, "The baseline's value."),
        Column("new", FLOAT, "The other recording's value."),
        Column("difference", FLOAT, "new - base."),
        Column("ratio", FLOAT, "new / base; unknown where the baseline is 0."),
        Column("base_instance_count", FLOAT, "Instances in the baseline; unknown where it has none."),
        Column("new_instance_count", FLOAT, "Instances in the other recording; unknown where it has none."),
    ),
)

LAUNCHED = Schema(
    "launched",
    "Each launch of a kernel, or of a graph recorded as a whole, with what the fit gives it.",
    (
        GPU,
        Column("activity", INT, "Row of the launch in the frame of activities."),
        Column("path_id", INT, "Row of the path that it belongs to in the frame of paths; -1 for none."),
        Column("kernel_class", INT, "Class of launches that do the same work, numbered for each GPU."),
        Column("pooled", BOOL, "Whether that class is a pool of several rare kernels."),
        Column("duration_ns", INT, "Its duration."),
        Column("tensor_active_ns", FLOAT, "Its tensor-active time: Tensor Active, as a share, times its duration."),
        Column("tensor_cycles", FLOAT, "Its tensor cycles over all SM sub-partitions, where recorded."),
        Column("tensor_flop", FLOAT, "FLOP on the Tensor Cores, where instruction family and precision are known."),
    ),
)

KERNELS = Schema(
    "kernels",
    "One row for each GPU, kernel and launch geometry, and path if asked for.",
    (
        GPU,
        Column("name", TEXT, "The kernel's demangled name; graph for CUDA graphs recorded as a whole."),
        Column("launch_geometry", TEXT, "Grid and block."),
        Column("launch_count", INT, "Launches."),
        Column("path", TEXT, "The path in which it spent most of its time; empty outside of all ranges."),
        Column("total_ns", INT, "Sum of its durations."),
        Column("median_ns", FLOAT, "Median duration."),
        Column("share_pct", FLOAT, "Its share of the kernel time of the GPU."),
        Column("tensor_active_pct", FLOAT, "Tensor Active while it ran, from the fit."),
        Column("tensor_active_low_pct", FLOAT, "Lower end of the 95 % interval."),
        Column("tensor_active_high_pct", FLOAT, "Upper end of the 95 % interval."),
        Column("tensor_cycles", FLOAT, "Tensor cycles of all its launches, where recorded."),
        Column("tensor_cycles_per_launch", FLOAT, "Their mean per launch."),
        Column("tensor_flop", FLOAT, "FLOP on the Tensor Cores, where instruction family and precision are known."),
        Column("tensor_tflops", FLOAT, "These per second of its time, in 10^12."),
        Column(
            "fit",
            TEXT,
            "resolved; pooled with other rare kernels; unresolved, the samples cannot tell; not sampled; or estimated "
            "from kernel names, where the recording has no samples at all.",
        ),
        Column("tensor_kernel", BOOL, "Whether the interval lies above 5 %; without samples, what the name says."),
        Column("name_verdict", TEXT, "Counter and name: agrees, counter only, name only or neither."),
        Column("precision", TEXT, "Precision of the inputs, as the name has it; empty where it does not tell."),
        Column("family", TEXT, "Tensor instructions, as the name has it: wgmma, mma.sync or tcgen05."),
        Column("tile", TEXT, "Tile of the output, as the name has it."),
    ),
)
