"""Frames of what repeats: the steps, what they take, and their kinds."""

from tcprof.frames.accounts import TIMES
from tcprof.frames.places import SUMS
from tcprof.frames.schema import GPU, Bool, Float, FloatTime, Int, Schema, Text

MEAN_POWER = Float(
    "power_w",
    "Mean power of the GPU over the sampled part of the steps of *step_summary*, without the first 0.1 s of steps that "
    "follow each other: NVML updates the value only about every 100 ms. Unknown where that is less than half of their "
    "time, less than 0.2 s or less than two samples.",
    title="Power",
    unit="W",
)

STEPS = Schema(
    "steps",
    "The steps as the program marks them: the instances of one path, on each GPU. Where no range repeats, steps are "
    "detected from the order of the kernels, in the domain *not NVTX*. *step_summary* has the step time of the "
    "recording: the median over the first role, without warm-up and slow steps.",
    (
        GPU,
        Int("number", "Number of the step, from 0."),
        Int("range", "Row of its range in *nvtx_ranges*."),
        Text("path", "Their path."),
        Int("kind", "Number of its role, see *kinds*."),
        Text("role", "What it is for: see *kinds*."),
        Bool(
            "warm_up",
            "Whether it is warm-up: by default one of the first of its role, and longer than the others' 95 % band.",
        ),
        Text(
            "slow",
            "Why it takes longer than its work explains: *compiles*, *loads kernels*, *allocates memory* or *tries "
            "kernels*, if calls or kernels that few steps of its role have fill at least half of the excess; *stalls* "
            "where it is beyond the 90th percentile and the GPU is idle for longer than a usual step takes. Empty for "
            "all others, and for warm-up.",
            title="Slow",
        ),
        Bool("counted", "Whether figures per step cover it: it is of the GPU's first role, not warm-up and not slow."),
        Int(
            "host_ns",
            "Duration of the range on the CPU; of a detected step, the time from its first launch to the next one's.",
        ),
        FloatTime("gpu_start_ns", "Its first activity on the GPU, unknown if it has none."),
        Float(
            "step_ns",
            "Time to the next step's first activity, whatever runs between them. Unknown, as are the figures over it, "
            "for the last step, for one before a step without work on the GPU, and where steps overlap.",
            title="Step time",
        ),
        Float(
            "gpu_window_ns",
            "Time from its first activity to its last, unknown if it has none; of a detected step, to the next "
            "one's first kernel.",
        ),
        Int("kernel_ns", "Sum of its kernels' durations.", title="Kernel time"),
        Float("busy_ns", "Time of the step in which any work ran on the GPU.", title="GPU busy"),
        Float("idle_pct", "Share of the step without any work on the GPU.", title="GPU idle"),
        Float("tensor_active_mean_pct", "Mean Tensor Active over the sampled part of the step.", title="Tensor Active"),
        Float("window_active_pct", "Mean Tensor Active over the sampled part of its GPU window."),
        *SUMS,
    ),
    key=("gpu", "range"),
)

STEP_SUMMARY = Schema(
    "step_summary",
    "The steps of each GPU that figures cover: of the first role, without warm-up and slow steps. Each reaches from "
    "its first activity to that of the next step, or ends with its last activity where no step follows it: at the "
    "end, and where the next one begins over twice the median later, after more other work than usual, such as a test "
    "pass.",
    (
        GPU,
        Int("step_count", "Steps with work on the GPU.", title="Steps"),
        Float(
            "step_ns",
            "Step time: the median time from a step's first activity on the GPU to that of the next, see *steps*; "
            "unknown where no step follows another.",
            title="Step time",
        ),
        Float("step_low_ns", "Lower end of the median's 95 % interval within the recording; unknown under 5 steps."),
        Float("step_high_ns", "Upper end of the median's 95 % interval."),
        Float("total_ns", "Length of all steps together; time that two of them share counts once."),
        Float("idle_ns", "Part of the total in which no work ran on the GPU.", title="GPU idle"),
        Float(
            "tensor_active_mean_pct", "Mean Tensor Active over the sampled part of the total.", title="Tensor Active"
        ),
        Float("tensor_active_low_pct", "Lower end of the mean's 95 % interval: bootstrap over the steps (at least 5)."),
        Float("tensor_active_high_pct", "Upper end of the mean's 95 % interval."),
        Float("coverage_pct", "Share of the total covered by samples. Below 50 % no mean is given."),
        Float(
            "window_active_pct",
            "Mean Tensor Active over the steps' GPU windows, each from its first activity to its last.",
        ),
        MEAN_POWER,
    ),
    key=("gpu",),
)

KINDS = Schema(
    "kinds",
    "The roles of steps on each GPU: what they are for, whatever their size. Figures per step are over the first role, "
    "the longest in total of those that recur. Figures of a role are without its warm-up and its slow steps.",
    (
        GPU,
        Int("kind", "Number of the role, from 0 for the first."),
        Text(
            "name",
            "The innermost name of their path, numbers in it as \\*; the path where several end alike. *training* and "
            "*evaluation* where steps of one name have a backward pass, or none; *prefill* and *decode* where a model "
            "generates; with the model where the annotation saw several.",
            title="Role",
        ),
        Int("step_count", "Steps of the role, without warm-up and slow ones.", title="Steps"),
        Int("warm_up_count", "Those that are warm-up.", title="Warm-up"),
        Int("slow_count", "Those that are slow, see *steps*.", title="Slow"),
        Float("slow_ns", "Total time by which they exceed the mean of the others.", title="Slow steps' excess"),
        Float("total_ns", "Length of these steps together, each up to the next one.", title="Time"),
        Float("share_pct", "Its share of the time of all roles.", title="Share"),
        Float(
            "step_time_ns",
            "Median time from a step's start on the GPU to the next one's, of whatever role, see *steps*; for "
            "prefill, roughly the time to first token.",
            title="Step time",
        ),
        Float("step_p10_ns", "10th percentile of this time: a tenth of the steps take less.", title="p10"),
        Float("step_p90_ns", "90th percentile of this time.", title="p90"),
        Float("tensor_active_mean_pct", "Mean Tensor Active over the steps.", title="Tensor Active"),
        Float("gpu_idle_pct", "Share of the steps in which nothing was traced on the GPU.", title="GPU idle"),
        Float(
            "tokens_per_second",
            "Tokens that decode generates per second per sequence of the batch: one per step, over the time of all "
            "these steps. The batch is not recorded, so the tokens of all sequences together are unknown.",
            title="Tokens/s a sequence",
            unit="count",
        ),
        Float("kernel_count", "Mean number of kernels and graphs launched in one.", title="Kernels"),
        Float("kernel_ns", "Mean sum of the durations of its kernels and graphs.", title="Kernel time"),
        Float(
            "tensor_kernel_share_pct",
            "Share of their kernel time in tensor kernels, see *kernels*; unknown where whole graphs ran, or "
            "without a fit.",
            title="Tensor kernels",
        ),
        Float(
            "dram_pct",
            "Bytes of device memory per second of the steps, as a share of the memory's bandwidth.",
            title="DRAM bandwidth",
        ),
        Float(
            "flop_per_byte",
            "Arithmetic intensity: FLOP on the Tensor Cores for each byte of device memory read or written.",
            title="FLOP per byte",
        ),
        *TIMES,
    ),
    key=("gpu", "kind"),
)
