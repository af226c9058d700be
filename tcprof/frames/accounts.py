"""Frames of what the time consists of, what the figures rest on, and what to do."""

from tcprof.frames.places import COUNTED, PLACE
from tcprof.frames.schema import END, GPU, SIGNED, START, Bool, Float, FloatTime, Int, Number, Schema, Signed, Text

_OVERLAPS = "if several run at once, the first of these columns gets the time"

TIMES = (
    Float("window_ns", "Time from an instance's first activity to its last, over all instances.", title="GPU window"),
    Float(
        "tensor_kernel_ns",
        "Time in kernels that execute Tensor Core instructions; see *kernels*.",
        title="Tensor kernel",
    ),
    Float(
        "memory_bound_ns",
        "Time in other kernels that use 60 % or more of memory or cache bandwidth; see bound in *kernels*.",
        title="Memory-bound",
    ),
    Float(
        "fp32_bound_ns",
        "Time in other kernels that, by name, multiply float32 matrices on CUDA cores, or that use 60 % or more of "
        "the CUDA cores' float32 throughput; see bound in *kernels*.",
        title="FP32 on CUDA cores",
    ),
    Float("issue_bound_ns", "Time in other kernels that use 60 % or more of the issue slots.", title="Issue-bound"),
    Float("small_grid_ns", "Time in other kernels that left at least 40 % of the SMs idle.", title="Small grid"),
    Float(
        "other_kernel_ns", "Time in all other kernels, including those whose bound is unknown.", title="Other kernel"
    ),
    Float(
        "unresolved_kernel_ns",
        "Time in kernels whose names and samples do not show whether they are tensor kernels.",
        title="Unresolved",
    ),
    Float(
        "graph_ns",
        "Time in CUDA graphs that were recorded as a whole, so their kernels are unknown.",
        title="CUDA graph",
    ),
    Float("communication_ns", "Time in which only NCCL kernels ran, or NCCL kernels and copies.", title="NCCL"),
    Float("copy_ns", "Time in which only copies and memsets ran.", title="Copy or memset"),
    Float("idle_ns", "Time in which nothing ran on the GPU.", title="Idle"),
)

TIMELINE = Schema(
    "timeline",
    "Where the time went: one row for each GPU and path, without warm-up, and one with an empty path for the whole "
    f"capture. Every nanosecond of the GPU windows is in exactly one column; {_OVERLAPS}. All GPU work in the window "
    "counts, whichever range launched it.",
    (GPU, *PLACE, Int("instance_count", COUNTED), *TIMES),
    key=("gpu", "path_id"),
)

_CAUSE = Text(
    "cause",
    "*launch-bound*: the CPU was launching kernels; *synchronization* and *copy wait*: the CPU had just waited for "
    "the GPU or for a copy; *data loading* and *CPU work*: the CPU worked for longer than a launch takes, in a range "
    "called *data* or elsewhere; *launched before*: the work that ended the idle time was already queued. Empty if "
    "no launch was recorded.",
)
_WAIT = Text("wait", "The call or copy that the CPU last waited for; empty for other causes.", title="Waits for")
_SAVING = Float(
    "saving_ns",
    "Upper bound on the saving per step if this idle time disappeared: its time within the steps over which figures "
    "are taken, divided by their number. It is measured under profiling, which lengthens launches.",
    title="Saves at most",
)

GAPS = Schema(
    "gaps",
    "The gaps on each GPU with traced work: every period of more than 10 µs between two activities in which nothing "
    "ran.",
    (
        GPU,
        Int("number", "Number of the gap on its GPU, from 1, in order of time."),
        START,
        END,
        Number(
            "step",
            "Number of the step that contains it, where a step extends to the start of the next one; -1 for none.",
        ),
        Bool("between_steps", "Whether it lies after the last activity of that step."),
        _CAUSE,
        Text("path", "Path of the innermost range open on the CPU at that time; empty for none.", title="Range"),
        Number("range", "Row of that range in *nvtx_ranges*; -1 for none."),
        _WAIT,
        Float("wait_ns", "Time from its start to the end of the CPU's last wait."),
        Int("launch_count", "CUDA API calls during the gap that start GPU work.", title="Launches"),
        Int("activity", "Row in *activities* of the work that ends the gap."),
        FloatTime("launched_ns", "Start of the API call that launched this work; unknown if not recorded."),
        _SAVING,
    ),
    key=("gpu", "number"),
)

GAP_SUMS = Schema(
    "gap_sums",
    "The idle time of each GPU by cause and range, costliest first. A gap in which the CPU first waits and then "
    "works for a long time counts towards both causes.",
    (
        GPU,
        _CAUSE,
        Text("path", "Path of the range, with numbers replaced by \\*; empty for none.", title="Range"),
        _WAIT,
        Bool("short", "Whether the row is the sum of gaps of up to 10 µs, which have no range."),
        Int("gap_count", "Number of gaps with this cause in this range.", title="Gaps"),
        Float("total_ns", "Their total time between the GPU's first activity and its last.", title="Total"),
        Float("longest_ns", "The longest of them; gaps in warm-up count only if there are no others.", title="Longest"),
        Int("longest_gap", "Number of the gap with this longest time; 0 for gaps of up to 10 µs."),
        _SAVING,
        Float(
            "share_pct",
            "saving_ns as a share of the mean step; without steps, of the time from first to last activity.",
        ),
    ),
    key=("gpu", "cause", "path", "wait", "short"),
)

LEDGER = Schema(
    "ledger",
    "What the figures are based on: activity time, kernel time and tensor-active time, each split by how tcprof "
    "accounts for it.",
    (
        GPU,
        Text("account", "activity time, kernel time, or sampled tensor-active time."),
        Text("entry", "Where this part of the time went."),
        Float("seconds", "Length of this part.", title="Time", unit="s"),
        Float("share_pct", "Its share of the account."),
        Text(
            "remedy", "How to get a better recording; empty if there is nothing to fix.", title="For a better recording"
        ),
    ),
    key=("gpu", "account", "entry"),
)

CLOCKS = Schema(
    "clocks",
    "For each GPU, whether the clocks of samples and trace agree, judged by GR Active at the edges of kernel activity.",
    (
        GPU,
        Float("edge_count", "Number of edges between busy and idle at which they were compared, at least 3."),
        Float(
            "agreement_pct",
            "How well samples and trace agree at the offset, compared with other offsets: 100 is a perfect match; "
            "unknown if there are too few edges, or if samples or kernels hardly vary there.",
            title="Agreement",
        ),
        Signed(
            "offset_ns",
            "How much later the samples' timestamps are than those of the kernels they show, judged by where GR "
            "Active rises and falls; 0 means that both share one clock. Unknown if the agreement is unknown or below "
            "50 %, or if several offsets fit.",
        ),
        Signed("offset_low_ns", "Lower end of its 95 % interval."),
        Signed("offset_high_ns", "Upper end."),
        Int(
            "shift_ns",
            "How far back in time tcprof moved the first sample before computing any figure; usually 0.",
            limits=SIGNED,
        ),
        Int(
            "last_shift_ns",
            "How far back in time tcprof moved the last sample; differs from shift_ns if the clocks drift apart. "
            "Samples in between are moved by interpolated amounts.",
            limits=SIGNED,
        ),
        Float(
            "error_ns",
            "How far off samples may still be; the kernels' intervals include it. Unknown if the offset is unknown.",
        ),
    ),
    key=("gpu",),
)

OUTSIDE = Schema(
    "outside",
    "For each GPU that was used or sampled, the time before and after the whole capture, which no figure includes.",
    (
        GPU,
        Float(
            "before_s",
            "From the beginning of the recording, or its first sample, to the first activity; unknown if neither is "
            "known.",
        ),
        Float(
            "after_s",
            "From the last activity to the end of the recording, or its last sample; unknown if neither is known.",
        ),
        Float("sampled_s", "How much of these two periods was sampled."),
        Float("tensor_active_s", "Tensor Active integrated over their sampled part."),
    ),
    key=("gpu",),
)

_OF_STEP = (
    "as a share of the step (without steps, of all GPU work); negative if it costs time, unknown if there is no "
    "estimate"
)

ADVICE = Schema(
    "advice",
    "What to change in the program, and what each change saves: one row for each finding, best first.",
    (
        GPU,
        Text(
            "gpus",
            "All GPUs to which it applies equally, separated by commas; figures are for the GPU in column gpu.",
            title="All GPUs",
        ),
        Text("rule", "The rule that found it, as in --fail-if 'finding fp32-matmul'.", title="Finding"),
        Text("sentence", "What was found."),
        Signed("low_pct", f"Smallest expected saving, {_OF_STEP}."),
        Signed("likely_pct", "Likely saving, likewise.", title="Likely saving"),
        Signed("high_pct", "Largest expected saving, likewise."),
        Signed("low_ns", "The smallest expected saving, as time."),
        Signed("likely_ns", "The likely saving, as time."),
        Signed("high_ns", "The largest expected saving, as time."),
        Float(
            "step_ns", "The unprofiled step time that savings are relative to: measured, or estimated.", title="Step"
        ),
        Text("confidence", "high, medium or low.", title="Confidence"),
    ),
)
