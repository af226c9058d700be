"""Frames of what was computed, as ``tcprof.analysis`` and ``tcprof.comparison`` give it."""

from tcprof.frames.schema import BOOL, FLOAT, GPU, INT, TEXT, Column, Schema

_PLACE = (
    Column("domain", TEXT, "NVTX domain; empty for the default one."),
    Column("path", TEXT, "The path; empty for the whole capture."),
    Column("name", TEXT, "The innermost name of the path; empty for the whole capture."),
    Column("depth", INT, "1 for an outermost range, 0 for the whole capture."),
)
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

WARM_UP_PATH = "(warm-up)"
_CAPTURE = "from the GPU's first activity to its last, or where it has none, all its samples"
_COUNTED = "Instances of the path on the GPU that are not warm-up, see *instances*."

INSTANCES = Schema(
    "instances",
    "Each instance of each range on each GPU that it used; one without any work on those of the range around it, of "
    "its path on that thread, of its thread or of its process, the first of these that had some.",
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
        Column("busy_ns", FLOAT, "Time under at least one of its activities; unknown if it has none."),
        Column(
            "tensor_kernel_ns",
            FLOAT,
            "Time of its tensor kernels, see *kernels*; unknown where whole graphs ran, or without a fit.",
        ),
        Column("warm_up", BOOL, "Whether it is a warm-up iteration or lies in one: it is in no figure of its path."),
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
    "One row for each GPU and path, over its instances without those of warm-up, and one with an empty path for the "
    f"whole capture: {_CAPTURE}.",
    (
        GPU,
        *_PLACE,
        Column("instance_count", INT, _COUNTED),
        Column("activity_count", INT, "Activities on the GPU launched in them."),
        Column("inherited_count", INT, "Of these, launched by another thread that had no range of its own."),
        Column("kernel_count", INT, "Kernels and graphs launched in them."),
        Column("host_ns", INT, "Sum of the instances' durations on the CPU; of the capture, its length."),
        Column("gpu_window_ns", FLOAT, "Time from an instance's first activity to its last, over all instances."),
        Column("busy_ns", FLOAT, "Time under at least one of its activities."),
        Column("kernel_ns", INT, "Sum of the durations of its kernels and graphs."),
        Column("window_ns", FLOAT, "Length of the windows that the figures from samples are taken over."),
        *_TENSOR,
        Column(
            "tensor_kernel_share_pct",
            FLOAT,
            "Share of the kernel time that tensor kernels have, see *kernels*; without samples, from kernel names. "
            "Unknown where there are no kernels, or whole graphs, or they were not fitted.",
        ),
        Column("fitted_active_s", FLOAT, "Tensor-active time of the kernels launched in them, from the fit."),
        Column(
            "tensor_flop",
            FLOAT,
            "FLOP of their kernels; unknown where over 1 % of the tensor kernels' cycles have an unknown rate.",
        ),
        Column("tensor_tflops", FLOAT, "These per second of the window, in 10^12."),
        Column("tensor_peak_pct", FLOAT, "That rate, of the chip's peak for the precisions, at the sampled clock."),
    ),
)

LAUNCHED = Schema(
    "launched",
    "Each launch of a kernel, or of a graph recorded as a whole, with what the fit gives it.",
    (
        GPU,
        Column("activity", INT, "Row of the launch in the frame of activities."),
        Column("kernel", INT, "Row of its kernel in the frame of kernels."),
        Column("path_id", INT, "Row of the path that it belongs to in the frame of paths; -1 for none."),
        Column("range", INT, "Row of the innermost range of that path in the frame of ranges; -1 for none."),
        Column("kernel_class", INT, "Class of launches that do the same work, numbered for each GPU."),
        Column("pooled", BOOL, "Whether that class is a pool of several rare kernels."),
        Column("duration_ns", INT, "Its duration."),
        Column("tensor_active_ns", FLOAT, "Its tensor-active time: Tensor Active, as a share, times its duration."),
        Column("tensor_cycles", FLOAT, "Its tensor cycles over all SM sub-partitions, where recorded."),
        Column("tensor_flop", FLOAT, "FLOP on the Tensor Cores, where instruction family and precision are known."),
        Column(
            "tensor_ideal_ns",
            FLOAT,
            "The time these FLOP would take at the chip's peak for the precision, at the sampled clock.",
        ),
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
        Column(
            "path",
            TEXT,
            "The path in which it spent most of its time; empty outside of all ranges. Where each path has a row, "
            f"launches in warm-up have one of their own: {WARM_UP_PATH}.",
        ),
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
        Column("tensor_peak_pct", FLOAT, "That rate, of the chip's peak for the precision at the sampled clock."),
        Column("sm_active_pct", FLOAT, "SM Active while it ran, from the fit; unknown where wide (± 20 points)."),
        Column("sm_issue_pct", FLOAT, "SM Issue while it ran, likewise."),
        Column("dram_pct", FLOAT, "Memory bandwidth, read and write, of the peak, while it ran, likewise."),
        Column(
            "bound",
            TEXT,
            "memory or issue, if that is at 60 % or more and the higher of both; neither; empty where unknown.",
        ),
        Column(
            "fit",
            TEXT,
            "resolved; pooled with other rare kernels; unresolved, the samples cannot tell; not sampled; or estimated "
            "from kernel names, where the recording has no samples at all.",
        ),
        Column("communication", BOOL, "Whether its name is one of NCCL's."),
        Column(
            "tensor_kernel",
            BOOL,
            "Whether it executes matrix instructions: by its name, unless the counter shows 0; where the name tells "
            "nothing, if the interval lies above 20 %, which index arithmetic does not reach; without samples, by its "
            "name alone.",
        ),
        Column(
            "name_verdict",
            TEXT,
            "Counter and name: agrees, both say Tensor Cores; name only; counter only, the tensor pipe is active, but "
            "no matrix instruction is known; or neither.",
        ),
        Column(
            "precision",
            TEXT,
            "Precision of the inputs of products and convolutions, on Tensor Cores or CUDA cores, and of attention, as "
            "the name has it; empty where it does not tell.",
        ),
        Column(
            "family",
            TEXT,
            "Tensor instructions, as the name has it: wgmma, mma.sync or tcgen05; none, where the source is known to "
            "have no matrix instruction; empty where the name does not tell.",
        ),
        Column("tile", TEXT, "Tile of the output, as the name has it."),
    ),
)

CLOCKS = Schema(
    "clocks",
    "For each GPU, whether samples and trace agree on the time: GR Active against the time under kernels.",
    (
        GPU,
        Column(
            "offset_ns",
            FLOAT,
            "How much later samples are stamped than the kernels they show; unknown where the GPU was hardly ever "
            "idle, or GR Active is missing. It is active 0.6 µs before its kernels: -600 means one clock.",
        ),
        Column("correlation", FLOAT, "Correlation of GR Active with the time under kernels at that offset."),
        Column("shift_ns", INT, "By how much the samples were moved back before any figure was taken; mostly 0."),
    ),
)

OUTSIDE = Schema(
    "outside",
    "For each GPU that was sampled, what was sampled before and after the whole capture; it is in no figure.",
    (
        GPU,
        Column("sampled_s", FLOAT, "How long."),
        Column("tensor_active_s", FLOAT, "Tensor Active integrated over that time; unknown if it is not known there."),
    ),
)

_OVERLAPS = "where several run at once, the first of these columns has the time"
TIMELINE = Schema(
    "timeline",
    "Where the time went, for each GPU and path without warm-up, and one row with an empty path for the whole capture: "
    f"every nanosecond of the gpu windows is in exactly one column; {_OVERLAPS}. Work counts whichever range it is of.",
    (
        GPU,
        *_PLACE,
        Column("instance_count", INT, _COUNTED),
        Column("window_ns", FLOAT, "Time from an instance's first activity to its last, over all instances."),
        Column("tensor_kernel_ns", FLOAT, "A tensor kernel ran, see *kernels*."),
        Column("memory_bound_ns", FLOAT, "Another kernel, at 60 % or more of the memory's bandwidth."),
        Column("issue_bound_ns", FLOAT, "Another kernel, with 60 % or more of the issue slots used."),
        Column("other_kernel_ns", FLOAT, "Another kernel: bound by neither, or that is not known."),
        Column(
            "unresolved_kernel_ns",
            FLOAT,
            "A kernel of which neither name nor samples tell whether it is a tensor kernel.",
        ),
        Column("graph_ns", FLOAT, "A CUDA graph that was recorded as a whole, so that its kernels are not known."),
        Column("communication_ns", FLOAT, "Only NCCL's kernels, or copies beside them."),
        Column("copy_ns", FLOAT, "Only copies and sets."),
        Column("idle_ns", FLOAT, "Nothing."),
    ),
)

LEDGER = Schema(
    "ledger",
    "What the figures rest on: activity time, kernel time and tensor-active time, each split by what became of it.",
    (
        GPU,
        Column("account", TEXT, "activity time, kernel time, or tensor-active time."),
        Column("entry", TEXT, "What became of this part."),
        Column("seconds", FLOAT, "The part."),
        Column("share_pct", FLOAT, "Its share of the account."),
        Column("remedy", TEXT, "How to record it better; empty where there is nothing to fix."),
    ),
)

ITERATIONS = Schema(
    "iterations",
    "The iterations of the capture: the instances of one path, on each GPU.",
    (
        GPU,
        Column("number", INT, "Number of the iteration, from 0."),
        Column("range", INT, "Row of its range in the frame of ranges."),
        Column("path", TEXT, "Their path."),
        Column(
            "warm_up",
            BOOL,
            "Whether it is warm-up: by default one of the first, and longer than the others' 95 % band.",
        ),
        Column("host_ns", INT, "Duration of the range on the CPU."),
        Column("gpu_window_ns", FLOAT, "Time from its first activity to its last; unknown if it has none."),
        Column("kernel_ns", INT, "Sum of its kernels' durations."),
        Column("tensor_active_mean_pct", FLOAT, "Mean Tensor Active over the sampled part of the window."),
        Column("tensor_active_s", FLOAT, "Tensor Active integrated over the window."),
        Column("tensor_cycles", FLOAT, "Tensor cycles in the window."),
    ),
)
