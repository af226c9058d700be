"""Frames of what the time consists of, what the figures rest on, and what to do."""

from tcprof.frames.places import COUNTED, PLACE
from tcprof.frames.schema import END, GPU, SIGNED, START, Bool, Float, FloatTime, Int, Number, Schema, Signed, Text

_OVERLAPS = "where several run at once, the first of these columns gets the time"

TIMES = (
    Float("window_ns", "Time from an instance's first activity to its last, over all instances.", title="GPU window"),
    Float(
        "tensor_kernel_ns",
        "A kernel that executes Tensor Core instructions, see *kernels*.",
        title="Tensor kernel",
    ),
    Float(
        "memory_bound_ns",
        "Another kernel, at 60 % or more of memory or cache bandwidth; see bound in *kernels*.",
        title="Memory-bound",
    ),
    Float(
        "fp32_bound_ns",
        "Another kernel that multiplies float32 matrices on CUDA cores, by its name, or uses 60 % or more of their "
        "float32 arithmetic; see bound in *kernels*.",
        title="FP32 on CUDA cores",
    ),
    Float("issue_bound_ns", "Another kernel, with 60 % or more of the issue slots used.", title="Issue-bound"),
    Float("small_grid_ns", "Another kernel, during which at least 40 % of the SMs were idle.", title="Small grid"),
    Float("other_kernel_ns", "Another kernel, bound by none of these or by something unknown.", title="Other kernel"),
    Float(
        "unresolved_kernel_ns",
        "A kernel whose name and samples do not show whether it is a tensor kernel.",
        title="Unresolved",
    ),
    Float(
        "graph_ns",
        "A CUDA graph that was recorded as a whole, so its kernels are unknown.",
        title="CUDA graph",
    ),
    Float("communication_ns", "Only NCCL's kernels, or copies beside them.", title="NCCL"),
    Float("copy_ns", "Only copies and memsets.", title="Copy or memset"),
    Float("idle_ns", "Nothing ran on the GPU.", title="Idle"),
)

TIMELINE = Schema(
    "timeline",
    "Where the time went, for each GPU and path without warm-up, and one row with an empty path for the whole capture: "
    f"every nanosecond of the GPU windows is in exactly one column; {_OVERLAPS}. All GPU work in the window counts, "
    "whichever range launched it.",
    (
        GPU,
        *PLACE,
        Int("instance_count", COUNTED),
        *TIMES,
    ),
    key=("gpu", "path_id"),
)

_CAUSE = Text(
    "cause",
    "*launch-bound*: the CPU launches kernels; *synchronization* and *copy wait*: it has just waited for the GPU, or "
    "for a copy; *data loading* and *CPU work*: it works for longer than a launch takes, in a range *data* or another; "
    "*launched before*: the work that ends it was in the queue. Empty where no launch was recorded.",
)
_WAIT = Text("wait", "The call, or the copy, that the CPU last waited for; empty for other causes.", title="Waits for")
_SAVING = Float(
    "saving_ns",
    "Upper bound on the saving per step from filling it: its time in the steps covered, divided by their number. "
    "As recorded: profiling lengthens launches.",
    title="Saves at most",
)

GAPS = Schema(
    "gaps",
    "The gaps of each GPU whose work was traced: each time over 10 µs without any work between two activities.",
    (
        GPU,
        Int("number", "Number of the gap on its GPU, from 1, by time."),
        START,
        END,
        Number("step", "Number of the step that it lies in, which reaches to the start of the next; -1 for none."),
        Bool("between_steps", "Whether it lies after the last activity of that step."),
        _CAUSE,
        Text("path", "Path of the innermost range that is open on the CPU then; empty for none.", title="Range"),
        Number("range", "Row of that range in *nvtx_ranges*; -1 for none."),
        _WAIT,
        Float("wait_ns", "Part of it up to the end of the CPU's last wait."),
        Int("launch_count", "CUDA API calls in it that start work.", title="Launches"),
        Int("activity", "Row in *activities* of the work that ends it."),
        FloatTime("launched_ns", "When the API call began that launched this work; unknown where not recorded."),
        _SAVING,
    ),
    key=("gpu", "number"),
)

GAP_SUMS = Schema(
    "gap_sums",
    "The idle time of each GPU by cause and range, costliest first. Where the CPU first waits and then "
    "works long, a gap counts for both.",
    (
        GPU,
        _CAUSE,
        Text("path", "Path of the range, numbers in it as \\*; empty for none.", title="Range"),
        _WAIT,
        Bool("short", "Whether the row is the sum of gaps up to 10 µs, which are in no range."),
        Int("gap_count", "Gaps.", title="Gaps"),
        Float("total_ns", "Their idle time between the first activity and the last.", title="Total"),
        Float("longest_ns", "The longest of them.", title="Longest"),
        Int("longest_gap", "Number of the gap that this is or belongs to; 0 up to 10 µs."),
        _SAVING,
        Float("share_pct", "This as a share of the mean step; without steps, of the time from first to last activity."),
    ),
    key=("gpu", "cause", "path", "wait", "short"),
)

LEDGER = Schema(
    "ledger",
    "What the figures rest on: activity time, kernel time and tensor-active time, each split by how tcprof accounts "
    "for it.",
    (
        GPU,
        Text("account", "activity time, kernel time, or sampled tensor-active time."),
        Text("entry", "Where this part of the time went."),
        Float("seconds", "Length of this part.", title="Time", unit="s"),
        Float("share_pct", "Its share of the account."),
        Text("remedy", "How to record it better; empty where there is nothing to fix.", title="To record it better"),
    ),
    key=("gpu", "account", "entry"),
)

CLOCKS = Schema(
    "clocks",
    "For each GPU, whether samples and trace agree on the time: GR Active at the edges of kernel activity.",
    (
        GPU,
        Float("edge_count", "Edges between busy and idle at which they were compared, at least 3."),
        Float(
            "agreement_pct",
            "How well samples and trace agree at the offset, compared with other offsets: 100 is a perfect match; "
            "unknown where there are too few edges, or where samples or kernels hardly vary at them.",
            title="Agreement",
        ),
        Signed(
            "offset_ns",
            "How much later the samples' timestamps are than those of the kernels they show, from where GR Active "
            "begins and ends: 0 means one clock. Unknown where the agreement is unknown or below 50 %, or where "
            "several offsets fit.",
        ),
        Signed("offset_low_ns", "Lower end of its 95 % interval."),
        Signed("offset_high_ns", "Upper end."),
        Int(
            "shift_ns",
            "How far tcprof moved the first sample back before computing any figure; mostly 0.",
            limits=SIGNED,
        ),
        Int(
            "last_shift_ns",
            "How far it moved the last sample back; not as far where the clocks drift apart. In between, it "
            "interpolates.",
            limits=SIGNED,
        ),
        Float(
            "error_ns",
            "How far samples may still be off; part of the kernels' intervals. Unknown where the offset is unknown.",
        ),
    ),
    key=("gpu",),
)

OUTSIDE = Schema(
    "outside",
    "For each GPU that was used or sampled, what lies before and after the whole capture; no figure includes it.",
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
        Float("sampled_s", "How much of that was sampled."),
        Float("tensor_active_s", "Tensor Active integrated over the sampled part of it."),
    ),
    key=("gpu",),
)

_OF_STEP = (
    "as a share of the step (without steps, of all the GPU's work); below 0 it costs time, unknown without a price"
)

ADVICE = Schema(
    "advice",
    "What to do about the program, and what it saves: one row for each finding, best first.",
    (
        GPU,
        Text(
            "gpus", "All GPUs to which it applies equally, separated by commas; figures are for gpu.", title="All GPUs"
        ),
        Text("rule", "The rule that found it, as in --fail-if 'finding fp32-matmul'.", title="Finding"),
        Text("sentence", "What was found."),
        Signed("low_pct", f"Least expected saving, {_OF_STEP}."),
        Signed("likely_pct", "Likely saving, likewise.", title="Likely saving"),
        Signed("high_pct", "Largest expected saving, likewise."),
        Signed("low_ns", "The least saving, as time."),
        Signed("likely_ns", "The likely saving, as time."),
        Signed("high_ns", "The largest saving, as time."),
        Float(
            "step_ns", "The unprofiled step time that savings are relative to: measured, or estimated.", title="Step"
        ),
        Text("confidence", "high, medium or low.", title="Confidence"),
    ),
)
