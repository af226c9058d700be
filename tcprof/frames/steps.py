"""Frames of what repeats: the steps, what they take, and their kinds."""

from tcprof.frames.accounts import TIMES
from tcprof.frames.places import SUMS
from tcprof.frames.schema import GPU, Bool, Float, FloatTime, Int, Schema, Text

MEAN_POWER = Float(
    "power_w",
    "Mean power of the GPU over the sampled part of the steps of *step_summary*, without the first 0.1 s of each "
    "sequence of consecutive steps, since NVML updates the value only about every 100 ms. Unknown if this leaves "
    "less than half of their time, less than 0.2 s or fewer than two samples.",
    title="Power",
    unit="W",
)

CLOCK_LIMIT = Text(
    "clock_limit",
    "What, according to the driver, keeps the SM clock below its maximum for more than half of the logged time of the "
    "steps of *step_summary*: *power*, *temperature*, a *setting* or the *hardware*, such as its power supply. Empty "
    "for none.",
    title="Clock limit",
)

STEPS = Schema(
    "steps",
    "Whether it is warm-up: by default, if it is among the first of its role and takes longer than the 95 % band of "
    "the others.",
    (
        GPU,
        Int("number", "Number of the step, from 0."),
        Int("range", "Row of its range in *nvtx_ranges*."),
        Text("path", "Their path."),
        Int("kind", "Number of its role, see *kinds*."),
        Text("role", "Its role, see *kinds*."),
        Bool(
            "warm_up",
            "Whether it is warm-up: by default, if it is among the first of its role and takes longer than the 95 % "
            "band of the others.",
        ),
        Text(
            "slow",
            "Why it takes longer than its work explains: *compiles*, *loads kernels*, *allocates memory* or *tries "
            "kernels*, if calls or kernels that occur in few steps of its role take at least half of the extra time; "
            "*stalls*, if it is beyond the 90th percentile and the GPU is idle for longer than a usual step takes. "
            "Empty for all other steps, and for warm-up.",
            title="Slow",
        ),
        Bool(
            "counted",
            "Whether figures per step cover it: it belongs to the GPU's first role, and is neither warm-up nor slow.",
        ),
        Int(
            "host_ns",
            "Duration of the range on the CPU; for a detected step, the time from its first launch to the next step's.",
        ),
        FloatTime("gpu_start_ns", "Start of its first activity on the GPU; unknown if it has none."),
        Float(
            "step_ns",
            "Time from its first activity to the next step's, whatever runs in between. Unknown for the last step, "
            "for a step followed by one without GPU work, and if steps overlap; figures over this time are then "
            "unknown, too.",
            title="Step time",
        ),
        Float(
            "gpu_window_ns",
            "Time from its first activity to its last, unknown if it has none; for a detected step, up to the next "
            "step's first kernel.",
        ),
        Int("kernel_ns", "Sum of its kernels' durations.", title="Kernel time"),
        Float("busy_ns", "Part of the step in which any work ran on the GPU.", title="GPU busy"),
        Float("idle_pct", "Share of the step without any work on the GPU.", title="GPU idle"),
        Float("tensor_active_mean_pct", "Mean Tensor Active over the sampled part of the step.", title="Tensor Active"),
        Float("window_active_pct", "Mean Tensor Active over the sampled part of its GPU window."),
        *SUMS,
    ),
    key=("gpu", "range"),
)

STEP_SUMMARY = Schema(
    "step_summary",
    "The steps on each GPU over which figures are taken: those of the first role, without warm-up and slow steps. "
    "Each extends from its first activity to that of the next step, or to its own last activity if no step follows "
    "directly: at the end, and where the next step begins more than twice the median step time later, with more "
    "other work than usual in between, such as a test pass.",
    (
        GPU,
        Int("step_count", "Steps with work on the GPU.", title="Steps"),
        Float(
            "step_ns",
            "Step time: the median time from a step's first activity on the GPU to that of the next, see *steps*; "
            "unknown if no step follows another.",
            title="Step time",
        ),
        Float(
            "step_low_ns",
            "Lower end of the median's 95 % interval within the recording; unknown with fewer than 5 steps.",
        ),
        Float("step_high_ns", "Upper end of the median's 95 % interval."),
        Float("total_ns", "Total length of all steps; time that two of them share counts once."),
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
        Float("power_limit_w", "Power limit of the GPU.", title="Power limit", unit="W"),
        CLOCK_LIMIT,
    ),
    key=("gpu",),
)

KINDS = Schema(
    "kinds",
    "The roles of steps on each GPU: what the steps are for, whatever their size. Figures per step are over the "
    "first role, which is the one with the most total time among those that recur. Figures of a role exclude its "
    "warm-up and slow steps.",
    (
        GPU,
        Int("kind", "Number of the role, from 0 for the first."),
        Text(
            "name",
            "The innermost name of their path, with numbers replaced by \\*; the whole path if several end alike. "
            "*training* and *evaluation* if only some steps of that name have a backward pass; *prefill* and "
            "*decode* if a model generates text; with the model's name if --annotate saw several models.",
            title="Role",
        ),
        Int("step_count", "Steps of the role, without warm-up and slow ones.", title="Steps"),
        Int("warm_up_count", "Warm-up steps of the role.", title="Warm-up"),
        Int("slow_count", "Slow steps of the role, see *steps*.", title="Slow"),
        Float("slow_ns", "Total time by which slow steps exceed the mean of the others.", title="Slow steps' excess"),
        Float("total_ns", "Total length of the role's steps, each up to the next step.", title="Time"),
        Float("share_pct", "Its share of the time of all roles.", title="Share"),
        Float(
            "step_time_ns",
            "Median time from a step's start on the GPU to that of the next step of any role, see *steps*; for "
            "prefill, roughly the time to first token.",
            title="Step time",
        ),
        Float("step_p10_ns", "10th percentile of this time: a tenth of the steps take less.", title="p10"),
        Float("step_p90_ns", "90th percentile of this time.", title="p90"),
        Float("tensor_active_mean_pct", "Mean Tensor Active over the steps.", title="Tensor Active"),
        Float("gpu_idle_pct", "Share of the steps' time in which nothing traced ran on the GPU.", title="GPU idle"),
        Float(
            "tokens_per_second",
            "Tokens that decode generates per second for each sequence of the batch: one per step, divided by the "
            "time of the steps. The batch size is not recorded, so the total over all sequences is unknown.",
            title="Tokens/s per sequence",
            unit="count",
        ),
        Float("kernel_count", "Mean number of kernels and graphs launched in a step.", title="Kernels"),
        Float(
            "kernel_ns",
            "Mean kernel time of a step: the sum of the durations of its kernels and graphs.",
            title="Kernel time",
        ),
        Float(
            "tensor_kernel_share_pct",
            "Share of their kernel time in tensor kernels, see *kernels*; unknown if CUDA graphs were recorded as a "
            "whole, or without a fit.",
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
