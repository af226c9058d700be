"""Frames of what the time consists of, what the figures rest on, and what to do."""

from tcprof.frames.places import COUNTED, PLACE
from tcprof.frames.schema import FLOAT, GPU, INT, TEXT, Column, Schema

_OVERLAPS = "where several run at once, the first of these columns has the time"

TIMELINE = Schema(
    "timeline",
    "Where the time went, for each GPU and path without warm-up, and one row with an empty path for the whole capture: "
    f"every nanosecond of the GPU windows is in exactly one column; {_OVERLAPS}. All GPU work in the window counts, "
    "whichever range launched it.",
    (
        GPU,
        *PLACE,
        Column("instance_count", INT, COUNTED),
        Column(
            "window_ns",
            FLOAT,
            "Time from an instance's first activity to its last, over all instances.",
            title="GPU window",
        ),
        Column(
            "tensor_kernel_ns",
            FLOAT,
            "A kernel ran that executes instructions of the Tensor Cores, see *kernels*.",
            title="Tensor kernel",
        ),
        Column(
            "memory_bound_ns",
            FLOAT,
            "Another kernel, at 60 % or more of what the memory or a cache gives; see bound of *kernels*.",
            title="Memory-bound",
        ),
        Column(
            "fp32_bound_ns",
            FLOAT,
            "Another kernel, with 60 % or more of the CUDA cores' float32 arithmetic used; see bound of *kernels*.",
            title="FP32 on CUDA cores",
        ),
        Column(
            "issue_bound_ns", FLOAT, "Another kernel, with 60 % or more of the issue slots used.", title="Issue-bound"
        ),
        Column(
            "small_grid_ns",
            FLOAT,
            "Another kernel, for which 40 % of the SMs or more had nothing to do.",
            title="Small grid",
        ),
        Column("other_kernel_ns", FLOAT, "Another kernel: bound by none of these, or not known.", title="Other kernel"),
        Column(
            "unresolved_kernel_ns",
            FLOAT,
            "A kernel of which neither name nor samples tell whether it is a tensor kernel.",
            title="Unresolved",
        ),
        Column(
            "graph_ns",
            FLOAT,
            "A CUDA graph that was recorded as a whole, so that its kernels are not known.",
            title="CUDA graph",
        ),
        Column("communication_ns", FLOAT, "Only NCCL's kernels, or copies beside them.", title="NCCL"),
        Column("copy_ns", FLOAT, "Only copies and memsets.", title="Copy or memset"),
        Column("idle_ns", FLOAT, "Nothing ran on the GPU.", title="Idle"),
    ),
)

LEDGER = Schema(
    "ledger",
    "What the figures rest on: activity time, kernel time and tensor-active time, each split by what became of it.",
    (
        GPU,
        Column("account", TEXT, "activity time, kernel time, or sampled tensor-active time."),
        Column("entry", TEXT, "What became of this part."),
        Column("seconds", FLOAT, "How long that part is.", title="Time", unit="s"),
        Column("share_pct", FLOAT, "Its share of the account."),
        Column(
            "remedy", TEXT, "How to record it better; empty where there is nothing to fix.", title="To record it better"
        ),
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
            "idle, or GR Active is missing. It is active 0.45 µs before its kernels: -450 means one clock.",
        ),
        Column("correlation", FLOAT, "Correlation of GR Active with the time under kernels at that offset."),
        Column("shift_ns", INT, "By how much the first sample was moved back before any figure was taken; mostly 0."),
        Column(
            "last_shift_ns",
            INT,
            "The same for the last sample; not the same where the clocks drift apart. Those between are moved evenly.",
        ),
        Column(
            "error_ns",
            FLOAT,
            "How far samples may still be off. It is part of the kernels' intervals. Unknown where the offset is.",
        ),
    ),
)

OUTSIDE = Schema(
    "outside",
    "For each GPU that was used or sampled, what lies before and after the whole capture; it is in no figure.",
    (
        GPU,
        Column(
            "before_s",
            FLOAT,
            "From the beginning of the recording, or its first sample, to the first activity; unknown if neither is "
            "known.",
        ),
        Column(
            "after_s",
            FLOAT,
            "From the last activity to the end of the recording, or its last sample; unknown if neither is known.",
        ),
        Column("sampled_s", FLOAT, "How much of that was sampled."),
        Column("tensor_active_s", FLOAT, "Tensor Active integrated over what was sampled of it."),
    ),
)

_OF_STEP = "of a step, or where nothing iterates of all the GPU's work; below 0 it costs time, unknown without a price"

ADVICE = Schema(
    "advice",
    "What to do about the program, with what it is likely to win: one row for each finding, best first.",
    (
        GPU,
        Column(
            "gpus", TEXT, "All GPUs on which that is alike, separated by commas; figures are of gpu.", title="All GPUs"
        ),
        Column("rule", TEXT, "The rule that found it, as in --fail-if 'finding fp32-matmul'.", title="Finding"),
        Column("sentence", TEXT, "What was found."),
        Column("low_pct", FLOAT, f"The least that is expected to be won, {_OF_STEP}."),
        Column("likely_pct", FLOAT, "What is likely to be won, likewise.", title="Likely gain"),
        Column("high_pct", FLOAT, "The most, likewise."),
        Column("low_ns", FLOAT, "The least, as time."),
        Column("likely_ns", FLOAT, "What is likely, as time."),
        Column("high_ns", FLOAT, "The most, as time."),
        Column(
            "step_ns",
            FLOAT,
            "The step that all shares and times are of, as long as it is without profiling: measured, or estimated.",
            title="Step",
        ),
        Column("confidence", TEXT, "high, medium or low.", title="Confidence"),
    ),
)
