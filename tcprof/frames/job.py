"""Frames of a job: its ranks, their steps, and what a mean step of each consists of, as ``tcprof.ranks`` makes them."""

from tcprof.frames.compared import OF_MEDIANS
from tcprof.frames.places import MFU_MEANING, NO_PEAK
from tcprof.frames.schema import Bool, Float, Int, IntTime, Number, Schema, Signed, Text
from tcprof.frames.steps import MEAN_POWER

RANK = Int("rank", "Number of the rank in the job.")
_STEP = Int("step", "Number of the step, from 0, the same on all ranks; without warm-up.")
_SPLIT = "Where several run at once, kernels take precedence over communication, and communication over copies."
_PARTS = (
    Float("compute_ns", f"A kernel other than NCCL's ran. {_SPLIT}", title="Compute"),
    Float("communication_ns", "Only NCCL's kernels, or copies beside them.", title="Exposed NCCL"),
    Float("copy_ns", "Only copies and memsets.", title="Copies"),
    Float("idle_ns", "Nothing ran on the GPU, within the step's GPU window.", title="GPU idle"),
    Float(
        "between_ns",
        "Nothing ran on the GPU, between the last activity of the step and the next step.",
        title="Between",
    ),
)
_WAIT = (
    "Exposed communication spent waiting for slower ranks: how much longer its collectives took than on the rank "
    "that was last to start them, at most communication_ns. Unknown where they match no other rank's."
)

_INPUT = Float(
    "input_ns",
    "Of idle_ns and between_ns, the time in which the program waited for its next batch, in a range called data or "
    "dataloader.",
    title="Input",
)

_UNTRACED = Float(
    "untraced_ns",
    "Of idle_ns and between_ns, the time in which samples show the GPU busy: with another program, or with work that "
    "was not traced. Unknown without samples.",
    title="Other work",
)
_CPU = Float(
    "cpu_ns",
    "From the launch of the step's first activity to that of the next step's, the time in which the CPU does not wait "
    "for the GPU; unknown where its calls were not recorded.",
    title="CPU",
)

_STAGE = Float(
    "stage",
    "Pipeline stage: the rank's position in the smallest of its process groups named pp, pipe or pipeline; unknown "
    "where the program's groups are not recorded, or none has such a name.",
    title="Stage",
)
_MFU = Float("mfu_pct", f"{MFU_MEANING} step time. {NO_PEAK}", title="MFU")
_TENSOR_RATE = "TFLOP on the Tensor Cores per second of the step time."

RANK_STEPS = Schema(
    "rank_steps",
    "Each step of each rank, without the last and warm-up, which need not be warm-up on all ranks.",
    (
        RANK,
        _STEP,
        IntTime("start_ns", "Start of its first activity on the GPU, on the clock of the rank's recording."),
        Float("step_time_ns", "From that to the start of the next step's first activity.", title="Step time"),
        *_PARTS,
        _INPUT,
        _UNTRACED,
        _CPU,
        Float("wait_ns", _WAIT, title="Waiting"),
        Float("own_ns", "Step time without waiting.", title="Own time"),
        Float(
            "held_ns",
            "Upper bound on how much collectives slowed its kernels by holding SMs while they waited: the waiting "
            "that is not exposed, times their sm_pct, or all of it where that is unknown. Part of own_ns.",
            title="Held",
        ),
        Float("tensor_active_ns", "Tensor-active time of the kernels that ran."),
        Float("tensor_flop", "FLOP of the kernels that ran, where they are known."),
        Float("useful_flop", "Useful FLOP of the kernels that ran, as in *ranges*.", title="Useful FLOP"),
        _MFU,
        Float("clock_hz", "Mean SM clock, where recorded.", title="SM clock"),
    ),
    key=("rank", "step"),
)

COLLECTIVES = Schema(
    "collectives",
    "The first collectives of each rank's steps: NCCL's kernels, other than those that send from one rank to another.",
    (
        RANK,
        _STEP,
        Int("place", "How many collectives of the step began before it."),
        Text("name", "The kernel's name."),
        IntTime("start_ns", "Start on the clock of the rank's recording."),
        Int("duration_ns", "How long it ran."),
        Float(
            "sm_pct",
            "Share of the GPU's SMs that its blocks hold, at one block per SM; unknown where either number is.",
        ),
    ),
    key=("rank", "step", "place"),
)

RANK_PARTS = Schema(
    "rank_parts",
    "What the mean step of each rank consists of: the time of each kernel in each module and range.",
    (
        RANK,
        Text("path", "Path of the innermost range; empty for none."),
        Text("module", "The innermost module, and its phase; empty for none."),
        Text("time_class", "Class of the time, as the columns of *timeline* without their unit."),
        Text("kernel", "The kernel's name; empty for copies and idle time."),
        Float("time_ns", "Time in a mean step."),
        Float("launch_count", "Launches in a mean step."),
    ),
    key=("rank", "path", "module", "time_class", "kernel"),
)

RANKS = Schema(
    "ranks",
    "The ranks of a job. Times are means over the steps that all ranks of the group have.",
    (
        RANK,
        Text("file", "The recording, without its folder."),
        Text("host", "Alias of its host; empty where unknown."),
        Text("gpu_name", "Name of its GPU."),
        Int("group", "Ranks of one group are of one pipeline stage and take part in the same collectives."),
        _STAGE,
        Int("step_count", "Steps that the figures cover.", title="Steps"),
        Float("step_time_ns", "Mean step time.", title="Step time"),
        *_PARTS,
        _INPUT,
        _UNTRACED,
        _CPU,
        Float("wait_ns", _WAIT, title="Waiting"),
        Float("own_ns", "Step time without waiting.", title="Own time"),
        Float(
            "last_pct",
            "Share of its collectives that it started last of the ranks that take part.",
            title="Last to arrive",
        ),
        Float(
            "tensor_active_pct",
            "Tensor-active time of the kernels, as a share of the step time.",
            title="Tensor Active",
        ),
        Float("tensor_tflops", _TENSOR_RATE, title="Tensor FLOP/s"),
        Float("useful_tflops", "Useful TFLOP per second of the step time.", title="Useful FLOP/s"),
        _MFU,
        Float("clock_hz", "Mean SM clock, where recorded.", title="SM clock"),
        MEAN_POWER,
        Signed(
            "excess_ns",
            "How much its own time exceeds the median of the others in its group.",
            title="vs. median",
        ),
        Signed("excess_low_ns", "Lower end of the 95 % interval of excess_ns over the steps."),
        Signed("excess_high_ns", "Upper end of that interval."),
        Signed(
            "compute_excess_ns",
            "How much its compute exceeds the median of the others in its group, where compute stands out but "
            "no own time does; otherwise unknown.",
        ),
        Signed("compute_excess_low_ns", "Lower end of the 95 % interval of compute_excess_ns over the steps."),
        Signed("compute_excess_high_ns", "Upper end of that interval."),
        Bool(
            "straggler",
            "Whether its own time stands out, by more than steps and GPUs of one kind differ; or, where none of its "
            "group does, its compute.",
        ),
        Float(
            "saves_ns",
            "What a step of the job would save if this rank were as fast as the median; unknown where the interval is "
            "too wide to say.",
            title="Saving",
        ),
        Float(
            "saves_low_ns",
            "Lower end of its interval: by the steps' 95 % interval, if the other ranks' CPUs are as slow as recorded, "
            "and waiting collectives slowed no kernel. 0 where only compute stands out.",
        ),
        Float(
            "saves_high_ns", "Upper end: if the other ranks' GPUs never wait for the CPU, and all of held_ns is saved."
        ),
        Float(
            "saves_together_ns",
            "The same if all ranks of its group that stand out were as fast as the median; unknown for the others.",
            title="Saves together",
        ),
        Float("saves_together_low_ns", "Lower end of its interval, as for saves_ns."),
        Float("saves_together_high_ns", "Upper end of that interval."),
        Text("cause", "Why its own time is longer, or its compute; empty for ranks that do not stand out."),
    ),
    key=("rank",),
)

JOB = Schema(
    "job",
    "One row for the job as a whole. What is unknown for one of its ranks is unknown for the job.",
    (
        Int("rank_count", "Ranks with a recording here.", title="Ranks"),
        Float("step_time_ns", "Median over the ranks of their mean step time.", title="Step time"),
        Float("tensor_tflops", f"{_TENSOR_RATE} Sum over the ranks.", title="Tensor FLOP/s"),
        Float(
            "useful_tflops",
            "Useful TFLOP per second of the step time. Sum over the ranks.",
            title="Useful FLOP/s",
        ),
        Float(
            "mfu_pct",
            "useful_tflops, as a share of the sum of the ranks' peaks, each at the precisions of its kernels (see "
            "mfu_pct of *ranks*).",
            title="MFU",
        ),
        Float(
            "throughput",
            "What the job processes per second, such as samples or tokens: the number in a step, given by --per-step, "
            "over the step time.",
            title="Throughput",
            unit="count",
        ),
    ),
    key=(),
)

RANK_RECORDINGS = Schema(
    "rank_recordings",
    "Origin of each rank's recording.",
    (
        RANK,
        Int("world_size", "How many ranks the job has; 0 if unknown."),
        Number("local_rank", "Number of the rank on its host; -1 where unknown."),
        Text("file", "The recording, without its folder."),
        Text("content", "SHA-256 of what was read."),
        Text("job", "Alias of the job; empty where unknown."),
        Text("host", "Alias of the host; empty where unknown."),
        Text("gpu_alias", "Alias of the GPU; empty where unknown."),
        Text("gpu_name", "The GPU's name."),
        Text("program", "Name of the script or module; empty where unknown."),
        _STAGE,
        MEAN_POWER,
    ),
    key=("rank",),
)

JOB_COMPARISON = Schema(
    "job_comparison",
    "One row for each quantity of the steps of two jobs: the median over the steps that all ranks have, of the mean "
    "over the ranks. Each job is one run, and how much runs differ is assumed, as for the recordings of one GPU.",
    (Text("quantity", "A column of *rank_steps*, or tensor_active_pct, a share of the step time."), *OF_MEDIANS),
    key=("quantity",),
)
