"""Frames of what repeats: the steps, what they take, and their kinds."""

from tcprof.frames.accounts import TIMES
from tcprof.frames.places import SUMS
from tcprof.frames.schema import GPU, Bool, Float, FloatTime, Int, Schema, Text

MEAN_POWER = Float("power_w", title="Power", unit="W").means(
    "Mean power of the GPU over the sampled part of the steps of *step_summary*, without the first 0.1 s of each "
    "sequence of consecutive steps, since NVML updates the value only about every 100 ms. Unknown if this leaves "
    "less than half of their time, less than 0.2 s or fewer than two samples."
)

CLOCK_LIMIT = Text("clock_limit", title="Clock limit").means(
    "What, according to the driver, keeps the SM clock below its maximum for more than half of the logged time of the "
    "steps of *step_summary*: *power*, *temperature*, a *setting* or the *hardware*, such as its power supply. Empty "
    "for none."
)

STEPS = Schema(
    "steps",
    "Whether it is warm-up: by default, if it is among the first of its role and takes longer than the 95 % band of "
    "the others.",
    (
        GPU,
        Int("number").means("Number of the step, from 0."),
        Int("range").means("Row of its range in *nvtx_ranges*."),
        Text("path").means("Their path."),
        Int("kind").means("Number of its role, see *kinds*."),
        Text("role").means("Its role, see *kinds*."),
        Bool("warm_up").means(
            "Whether it is warm-up: by default, if it is among the first of its role and takes longer than the 95 % "
            "band of the others."
        ),
        Text("slow", title="Slow").means(
            "Why it takes longer than its work explains: *compiles*, *loads kernels*, *allocates memory* or *tries "
            "kernels*, if calls or kernels that occur in few steps of its role take at least half of the extra time; "
            "*stalls*, if it is beyond the 90th percentile and the GPU is idle for longer than a usual step takes. "
            "Empty for all other steps, and for warm-up."
        ),
        Bool("counted").means(
            "Whether figures per step cover it: it belongs to the GPU's first role, and is neither warm-up nor slow."
        ),
        Int("host_ns").means(
            "Duration of the range on the CPU; for a detected step, the time from its first launch to the next step's."
        ),
        FloatTime("gpu_start_ns").means("Start of its first activity on the GPU; unknown if it has none."),
        Float("step_ns", title="Step time").means(
            "Time from its first activity to the next step's, whatever runs in between. Unknown for the last step, "
            "for a step followed by one without GPU work, and if steps overlap; figures over this time are then "
            "unknown, too."
        ),
        Float("gpu_window_ns").means(
            "Time from its first activity to its last, unknown if it has none; for a detected step, up to the next "
            "step's first kernel."
        ),
        Int("kernel_ns", title="Kernel time").means("Sum of its kernels' durations."),
        Float("busy_ns", title="GPU busy").means("Part of the step in which any work ran on the GPU."),
        Float("idle_pct", title="GPU idle").means("Share of the step without any work on the GPU."),
        Float("tensor_active_mean_pct", title="Tensor Active").means(
            "Mean Tensor Active over the sampled part of the step."
        ),
        Float("window_active_pct").means("Mean Tensor Active over the sampled part of its GPU window."),
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
        Int("step_count", title="Steps").means("Steps with work on the GPU."),
        Float("step_ns", title="Step time").means(
            "Step time: the median time from a step's first activity on the GPU to that of the next, see *steps*; "
            "unknown if no step follows another."
        ),
        Float("step_low_ns").means(
            "Lower end of the median's 95 % interval within the recording; unknown with fewer than 5 steps."
        ),
        Float("step_high_ns").means("Upper end of the median's 95 % interval."),
        Float("total_ns").means("Total length of all steps; time that two of them share counts once."),
        Float("idle_ns", title="GPU idle").means("Part of the total in which no work ran on the GPU."),
        Float("tensor_active_mean_pct", title="Tensor Active").means(
            "Mean Tensor Active over the sampled part of the total."
        ),
        Float("tensor_active_low_pct").means(
            "Lower end of the mean's 95 % interval: bootstrap over the steps (at least 5)."
        ),
        Float("tensor_active_high_pct").means("Upper end of the mean's 95 % interval."),
        Float("coverage_pct").means("Share of the total covered by samples. Below 50 % no mean is given."),
        Float("window_active_pct").means(
            "Mean Tensor Active over the steps' GPU windows, each from its first activity to its last."
        ),
        MEAN_POWER,
        Float("energy_j", title="Energy", unit="J").means("Energy of the GPU per step: mean power times step time."),
        Float("power_limit_w", title="Power limit", unit="W").means("Power limit of the GPU."),
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
        Int("kind").means("Number of the role, from 0 for the first."),
        Text("name", title="Role").means(
            "The innermost name of their path, with numbers replaced by \\*; the whole path if several end alike. "
            "*training* and *evaluation* if only some steps of that name have a backward pass; *prefill* and "
            "*decode* if a model generates text; with the model's name if --annotate saw several models."
        ),
        Int("step_count", title="Steps").means("Steps of the role, without warm-up and slow ones."),
        Int("warm_up_count", title="Warm-up").means("Warm-up steps of the role."),
        Int("slow_count", title="Slow").means("Slow steps of the role, see *steps*."),
        Float("slow_ns", title="Slow steps' excess").means(
            "Total time by which slow steps exceed the mean of the others."
        ),
        Float("total_ns", title="Time").means("Total length of the role's steps, each up to the next step."),
        Float("share_pct", title="Share").means("Its share of the time of all roles."),
        Float("step_time_ns", title="Step time").means(
            "Median time from a step's start on the GPU to that of the next step of any role, see *steps*; for "
            "prefill, roughly the time to first token."
        ),
        Float("step_p10_ns", title="p10").means("10th percentile of this time: a tenth of the steps take less."),
        Float("step_p90_ns", title="p90").means("90th percentile of this time."),
        Float("tensor_active_mean_pct", title="Tensor Active").means("Mean Tensor Active over the steps."),
        Float("gpu_idle_pct", title="GPU idle").means(
            "Share of the steps' time in which nothing traced ran on the GPU."
        ),
        Float("tokens_per_second", title="Tokens/s per sequence", unit="count").means(
            "Tokens that decode generates per second for each sequence of the batch: one per step, divided by the "
            "time of the steps. The batch size is not recorded, so the total over all sequences is unknown."
        ),
        Float("kernel_count", title="Kernels").means("Mean number of kernels and graphs launched in a step."),
        Float("kernel_ns", title="Kernel time").means(
            "Mean kernel time of a step: the sum of the durations of its kernels and graphs."
        ),
        Float("tensor_kernel_share_pct", title="Tensor kernels").means(
            "Share of their kernel time in tensor kernels, see *kernels*; unknown if CUDA graphs were recorded as a "
            "whole, or without a fit."
        ),
        Float("dram_pct", title="DRAM bandwidth").means(
            "Bytes of device memory per second of the steps, as a share of the memory's bandwidth."
        ),
        Float("flop_per_byte", title="FLOP per byte").means(
            "Arithmetic intensity: FLOP on the Tensor Cores for each byte of device memory read or written."
        ),
        *TIMES,
    ),
    key=("gpu", "kind"),
)
