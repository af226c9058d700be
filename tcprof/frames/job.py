"""Frames of a job: its ranks, their steps, and what a mean step of each consists of, as ``tcprof.ranks`` makes them."""

from tcprof.frames.compared import OF_MEDIANS
from tcprof.frames.places import MFU_MEANING, NO_PEAK
from tcprof.frames.schema import Bool, Float, Int, IntTime, Number, Schema, Signed, Text
from tcprof.frames.steps import MEAN_POWER

RANK = Int("rank", "Number of the rank in the job.")
_STEP = Int("step", "Number of the step, from 0, without warm-up; the same on all ranks.")
_SPLIT = "If several run at once, kernels take precedence over communication, and communication over copies."
_PARTS = (
    Float("compute_ns", f"Time in which a kernel other than NCCL's ran. {_SPLIT}", title="Compute"),
    Float("communication_ns", "Time in which only NCCL kernels ran, or NCCL kernels and copies.", title="Exposed NCCL"),
    Float("copy_ns", "Time in which only copies and memsets ran.", title="Copies"),
    Float("idle_ns", "Time within the step's GPU window in which nothing ran on the GPU.", title="GPU idle"),
    Float(
        "between_ns",
        "Time between the step's last activity and the next step in which nothing ran on the GPU.",
        title="Between",
    ),
)
_WAIT = (
    "Exposed communication time spent waiting for slower ranks: how much longer its collectives took than on the "
    "rank that started them last, at most communication_ns. Unknown if they match no other rank's collectives."
)

_INPUT = Float(
    "input_ns",
    "Part of idle_ns and between_ns in which the program waited for its next batch, in a range called data or "
    "dataloader.",
    title="Input",
)

_UNTRACED = Float(
    "untraced_ns",
    "Part of idle_ns and between_ns in which samples show the GPU busy: with another program, or with work that was "
    "not traced. Unknown without samples.",
    title="Other work",
)
_CPU = Float(
    "cpu_ns",
    "Time from the launch of the step's first activity to that of the next step's, minus the time in which the CPU "
    "waits for the GPU; unknown if CUDA calls were not recorded.",
    title="CPU",
)

_STAGE = Float(
    "stage",
    "Pipeline stage: the rank's position in the smallest of its process groups named pp, pipe or pipeline; unknown "
    "if the program's groups were not recorded, or none has such a name.",
    title="Stage",
)
_MFU = Float("mfu_pct", f"{MFU_MEANING} step time. {NO_PEAK}", title="MFU")
_TENSOR_RATE = "TFLOP on the Tensor Cores per second of the step time."

RANK_STEPS = Schema(
    "rank_steps",
    "Each step of each rank, without the last step and warm-up; which steps are warm-up may differ between ranks.",
    (
        RANK,
        _STEP,
        IntTime("start_ns", "Start of its first activity on the GPU, on the clock of the rank's recording."),
        Float(
            "step_time_ns",
            "Time from the start of its first activity to the start of the next step's first activity.",
            title="Step time",
        ),
        *_PARTS,
        _INPUT,
        _UNTRACED,
        _CPU,
        Float("wait_ns", _WAIT, title="Waiting"),
        Float("own_ns", "Step time without waiting.", title="Own time"),
        Float(
            "held_ns",
            "Upper bound on how much its kernels were slowed by collectives that waited and occupied SMs: the waiting "
            "time that is not exposed, times sm_pct, or all of it if sm_pct is unknown. Part of own_ns.",
            title="Held",
        ),
        Float("tensor_active_ns", "Tensor-active time of the kernels that ran."),
        Float("tensor_flop", "FLOP of the kernels that ran, where known."),
        Float("useful_flop", "Useful FLOP of the kernels that ran, as in *ranges*.", title="Useful FLOP"),
        _MFU,
        Float("clock_hz", "Mean SM clock, where recorded.", title="SM clock"),
    ),
    key=("rank", "step"),
)

COLLECTIVES = Schema(
    "collectives",
    "The first collectives of each rank's steps: NCCL kernels, except point-to-point ones.",
    (
        RANK,
        _STEP,
        Int("place", "How many collectives of the step began before it."),
        Text("name", "The kernel's name."),
        IntTime("start_ns", "Start on the clock of the rank's recording."),
        Int("duration_ns", "How long it ran."),
        Float(
            "sm_pct",
            "Share of the GPU's SMs that its blocks occupy, at one block per SM; unknown if the number of blocks or "
            "SMs is unknown.",
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
        Text("time_class", "Class of the time, named like the columns of *timeline* without their unit."),
        Text("kernel", "The kernel's name; empty for copies and idle time."),
        Float("time_ns", "Time in a mean step."),
        Float("launch_count", "Launches in a mean step."),
    ),
    key=("rank", "path", "module", "time_class", "kernel"),
)

_UNPROFILED = Float("unprofiled_ns", "Mean time of its unprofiled steps; unknown if none were timed.")

RANKS = Schema(
    "ranks",
    "The ranks of a job. Times are means over the steps that all ranks of the group have in common.",
    (
        RANK,
        Text("file", "The recording, without its folder."),
        Text("host", "Alias of its host; empty where unknown."),
        Text("gpu_name", "Name of its GPU."),
        Int(
            "group",
            "Group of the rank: ranks of one group belong to the same pipeline stage and take part in the same "
            "collectives.",
        ),
        _STAGE,
        Int("step_count", "Steps that the figures cover.", title="Steps"),
        Float("step_time_ns", "Mean step time.", title="Step time"),
        _UNPROFILED,
        *_PARTS,
        _INPUT,
        _UNTRACED,
        _CPU,
        Float("wait_ns", _WAIT, title="Waiting"),
        Float("own_ns", "Step time without waiting.", title="Own time"),
        Float("last_pct", "Share of its collectives in which it was the last rank to start.", title="Last to arrive"),
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
            "How much its own time, or its CPU's time if that is longer, exceeds the median of the others in its "
            "group.",
            title="vs. median",
        ),
        Signed("excess_low_ns", "Lower end of the 95 % interval of excess_ns over the steps."),
        Signed("excess_high_ns", "Upper end of that interval."),
        Signed(
            "compute_excess_ns",
            "How much its compute time exceeds the median of the others in its group, if compute time stands out but "
            "no rank's own time does; otherwise unknown.",
        ),
        Signed("compute_excess_low_ns", "Lower end of the 95 % interval of compute_excess_ns over the steps."),
        Signed("compute_excess_high_ns", "Upper end of that interval."),
        Bool(
            "straggler",
            "Whether its own time stands out by more than the usual difference between steps and between GPUs of one "
            "kind; if no rank of its group stands out, whether its compute time does.",
        ),
        Float(
            "saves_ns",
            "What a step of the job would save if this rank were as fast as the median; unknown if the interval is "
            "too wide to say.",
            title="Saving",
        ),
        Float(
            "saves_low_ns",
            "Lower end of its 95 % interval over the steps, assuming that the other ranks' CPUs are as slow as "
            "recorded and that waiting collectives slowed no kernel. 0 if only compute time stands out.",
        ),
        Float(
            "saves_high_ns",
            "Upper end of that interval, assuming that the other ranks' GPUs never wait for the CPU and that all "
            "of held_ns is saved.",
        ),
        Float(
            "saves_together_ns",
            "What a step of the job would save if all ranks of its group that stand out were as fast as the median; "
            "unknown for ranks that do not stand out.",
            title="Saves together",
        ),
        Float("saves_together_low_ns", "Lower end of its interval, as for saves_ns."),
        Float("saves_together_high_ns", "Upper end of that interval."),
        Text("cause", "Why its own time or its compute time is longer; empty for ranks that do not stand out."),
    ),
    key=("rank",),
)

JOB = Schema(
    "job",
    "One row for the job as a whole. What is unknown for one of its ranks is unknown for the job.",
    (
        Int("rank_count", "Ranks with a recording here.", title="Ranks"),
        Float("step_time_ns", "Median over the ranks of their mean step time.", title="Step time"),
        Float("unprofiled_ns", "Median over the ranks of their mean unprofiled step.", title="Step time, unprofiled"),
        Float("tensor_tflops", f"{_TENSOR_RATE} Sum over the ranks.", title="Tensor FLOP/s"),
        Float("useful_tflops", "Useful TFLOP per second of the step time. Sum over the ranks.", title="Useful FLOP/s"),
        Float(
            "mfu_pct",
            "useful_tflops, as a share of the sum of the ranks' peaks, each at the precisions of its kernels (see "
            "mfu_pct of *ranks*).",
            title="MFU",
        ),
        Float(
            "throughput",
            "What the job processes per second, such as samples or tokens: the number per step, given by --per-step, "
            "divided by the step time.",
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
        Text("content", "SHA-256 of the file that was read."),
        Text("job", "Alias of the job; empty where unknown."),
        Text("host", "Alias of the host; empty where unknown."),
        Text("gpu_alias", "Alias of the GPU; empty where unknown."),
        Text("gpu_name", "The GPU's name."),
        Text("program", "Name of the script or module; empty where unknown."),
        _STAGE,
        MEAN_POWER,
        _UNPROFILED,
        Text("rank_from", "Source of the rank if it is not the recording; otherwise empty."),
    ),
    key=("rank",),
)

JOB_COMPARISON = Schema(
    "job_comparison",
    "One row for each quantity of the steps of two jobs: the mean over the ranks, then the median over the steps that "
    "all ranks have in common. Each job is one run, so run-to-run variation is assumed, as for recordings of one GPU.",
    (Text("quantity", "A column of *rank_steps*, or tensor_active_pct, a share of the step time."), *OF_MEDIANS),
    key=("quantity",),
)
