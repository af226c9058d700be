"""Frames of what the time consists of, what the figures rest on, and what to do."""

from tcprof.frames.places import INSTANCE_COUNT, PLACE
from tcprof.frames.schema import END, GPU, SIGNED, START, Bool, Float, FloatTime, Int, Number, Schema, Signed, Text

_OVERLAPS = "if several run at once, the first of these columns gets the time"

TIMES = (
    Float("window_ns", title="GPU window").means(
        "Time from an instance's first activity to its last, over all instances."
    ),
    Float("tensor_kernel_ns", title="Tensor kernel").means(
        "Time in kernels that execute Tensor Core instructions; see *kernels*."
    ),
    Float("memory_bound_ns", title="Memory-bound").means(
        "Time in other kernels that use 60 % or more of memory or cache bandwidth; see bound in *kernels*."
    ),
    Float("fp32_bound_ns", title="FP32 on CUDA cores").means(
        "Time in other kernels that, by name, multiply float32 matrices on CUDA cores, or that use 60 % or more of "
        "the CUDA cores' float32 throughput; see bound in *kernels*."
    ),
    Float("issue_bound_ns", title="Issue-bound").means(
        "Time in other kernels that use 60 % or more of the issue slots."
    ),
    Float("small_grid_ns", title="Small grid").means("Time in other kernels that left at least 40 % of the SMs idle."),
    Float("other_kernel_ns", title="Other kernel").means(
        "Time in all other kernels, including those whose bound is unknown."
    ),
    Float("unresolved_kernel_ns", title="Unresolved").means(
        "Time in kernels whose names and samples do not show whether they are tensor kernels."
    ),
    Float("graph_ns", title="CUDA graph").means(
        "Time in CUDA graphs that were recorded as a whole, so their kernels are unknown."
    ),
    Float("communication_ns", title="NCCL").means("Time in which only NCCL kernels ran, or NCCL kernels and copies."),
    Float("copy_ns", title="Copy or memset").means("Time in which only copies and memsets ran."),
    Float("idle_ns", title="Idle").means("Time in which nothing ran on the GPU."),
)

TIMELINE = Schema(
    "timeline",
    "Where the time went: one row for each GPU and path, without warm-up, and one with an empty path for the whole "
    f"capture. Every nanosecond of the GPU windows is in exactly one column; {_OVERLAPS}. All GPU work in the window "
    "counts, whichever range launched it.",
    (GPU, *PLACE, Int("instance_count").means(INSTANCE_COUNT), *TIMES),
    key=("gpu", "path_id"),
)

_CAUSE = Text("cause").means(
    "*launch-bound*: the CPU was launching kernels; *synchronization* and *copy wait*: the CPU had just waited for "
    "the GPU or for a copy; *data loading* and *CPU work*: the CPU worked for longer than a launch takes, in a range "
    "called *data* or elsewhere; *launched before*: the work that ended the idle time was already queued. Empty if "
    "no launch was recorded."
)
_WAIT = Text("wait", title="Waits for").means("The call or copy that the CPU last waited for; empty for other causes.")
_SAVING = Float("saving_ns", title="Saves at most").means(
    "Upper bound on the saving per step if this idle time disappeared: its time within the steps over which figures "
    "are taken, divided by their number. It is measured under profiling, which lengthens launches."
)

GAPS = Schema(
    "gaps",
    "The gaps on each GPU with traced work: every period of more than 10 µs between two activities in which nothing "
    "ran.",
    (
        GPU,
        Int("number").means("Number of the gap on its GPU, from 1, in order of time."),
        START,
        END,
        Number("step").means(
            "Number of the step that contains it, where a step extends to the start of the next one; -1 for none."
        ),
        Bool("between_steps").means("Whether it lies after the last activity of that step."),
        _CAUSE,
        Text("path", title="Range").means("Path of the innermost range open on the CPU at that time; empty for none."),
        Number("range").means("Row of that range in *nvtx_ranges*; -1 for none."),
        _WAIT,
        Float("wait_ns").means("Time from its start to the end of the CPU's last wait."),
        Int("launch_count", title="Launches").means("CUDA API calls during the gap that start GPU work."),
        Int("activity").means("Row in *activities* of the work that ends the gap."),
        FloatTime("launched_ns").means("Start of the API call that launched this work; unknown if not recorded."),
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
        Text("path", title="Range").means("Path of the range, with numbers replaced by \\*; empty for none."),
        _WAIT,
        Bool("short").means("Whether the row is the sum of gaps of up to 10 µs, which have no range."),
        Int("gap_count", title="Gaps").means("Number of gaps with this cause in this range."),
        Float("total_ns", title="Total").means("Their total time between the GPU's first activity and its last."),
        Float("longest_ns", title="Longest").means(
            "The longest of them; gaps in warm-up count only if there are no others."
        ),
        Int("longest_gap").means("Number of the gap with this longest time; 0 for gaps of up to 10 µs."),
        _SAVING,
        Float("share_pct").means(
            "saving_ns as a share of the mean step; without steps, of the time from first to last activity."
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
        Text("account").means("activity time, kernel time, or sampled tensor-active time."),
        Text("entry").means("Where this part of the time went."),
        Float("seconds", title="Time", unit="s").means("Length of this part."),
        Float("share_pct").means("Its share of the account."),
        Text("remedy", title="For a better recording").means(
            "How to get a better recording; empty if there is nothing to fix."
        ),
    ),
    key=("gpu", "account", "entry"),
)

CLOCKS = Schema(
    "clocks",
    "For each GPU, whether the clocks of samples and trace agree, judged by GR Active at the edges of kernel activity.",
    (
        GPU,
        Float("edge_count").means("Number of edges between busy and idle at which they were compared, at least 3."),
        Float("agreement_pct", title="Agreement").means(
            "How well samples and trace agree at the offset, compared with other offsets: 100 is a perfect match; "
            "unknown if there are too few edges, or if samples or kernels hardly vary there."
        ),
        Signed("offset_ns").means(
            "How much later the samples' timestamps are than those of the kernels they show, judged by where GR "
            "Active rises and falls; 0 means that both share one clock. Unknown if the agreement is unknown or below "
            "50 %, or if several offsets fit."
        ),
        Signed("offset_low_ns").means("Lower end of its 95 % interval."),
        Signed("offset_high_ns").means("Upper end."),
        Int("shift_ns", limits=SIGNED).means(
            "How far back in time tcprof moved the first sample before computing any figure; usually 0."
        ),
        Int("last_shift_ns", limits=SIGNED).means(
            "How far back in time tcprof moved the last sample; differs from shift_ns if the clocks drift apart. "
            "Samples in between are moved by interpolated amounts."
        ),
        Float("error_ns").means(
            "How far off samples may still be; the kernels' intervals include it. Unknown if the offset is unknown."
        ),
    ),
    key=("gpu",),
)

OUTSIDE = Schema(
    "outside",
    "For each GPU that was used or sampled, the time before and after the whole capture, which no figure includes.",
    (
        GPU,
        Float("before_s").means(
            "From the beginning of the recording, or its first sample, to the first activity; unknown if neither is "
            "known."
        ),
        Float("after_s").means(
            "From the last activity to the end of the recording, or its last sample; unknown if neither is known."
        ),
        Float("sampled_s").means("How much of these two periods was sampled."),
        Float("tensor_active_s").means("Tensor Active integrated over their sampled part."),
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
        Text("gpus", title="All GPUs").means(
            "All GPUs to which it applies equally, separated by commas; figures are for the GPU in column gpu."
        ),
        Text("rule", title="Finding").means("The rule that found it, as in --fail-if 'finding fp32-matmul'."),
        Text("sentence").means("What was found."),
        Signed("low_pct").means(f"Smallest expected saving, {_OF_STEP}."),
        Signed("likely_pct", title="Likely saving").means("Likely saving, likewise."),
        Signed("high_pct").means("Largest expected saving, likewise."),
        Signed("low_ns").means("The smallest expected saving, as time."),
        Signed("likely_ns").means("The likely saving, as time."),
        Signed("high_ns").means("The largest expected saving, as time."),
        Float("step_ns", title="Step").means(
            "The unprofiled step time that savings are relative to: measured, or estimated."
        ),
        Text("confidence", title="Confidence").means("high, medium or low."),
    ),
)
