"""Frames of a job: its ranks, their steps, and what a mean step of each consists of, as ``tcprof.ranks`` makes them."""

from tcprof.frames.compared import OF_MEDIANS
from tcprof.frames.places import MFU_MEANING, NO_PEAK
from tcprof.frames.schema import Bool, Float, Int, IntTime, Number, Schema, Signed, Text
from tcprof.frames.steps import MEAN_POWER

RANK = Int("rank").means("Number of the rank in the job.")
_STEP = Int("step").means("Number of the step, from 0, without warm-up; the same on all ranks.")
_SPLIT = "If several run at once, kernels take precedence over communication, and communication over copies."
_PARTS = (
    Float("compute_ns", title="Compute").means(f"Time in which a kernel other than NCCL's ran. {_SPLIT}"),
    Float("communication_ns", title="Exposed NCCL").means(
        "Time in which only NCCL kernels ran, or NCCL kernels and copies."
    ),
    Float("copy_ns", title="Copies").means("Time in which only copies and memsets ran."),
    Float("idle_ns", title="GPU idle").means("Time within the step's GPU window in which nothing ran on the GPU."),
    Float("between_ns", title="Between").means(
        "Time between the step's last activity and the next step in which nothing ran on the GPU."
    ),
)
_WAIT = (
    "Exposed communication time spent waiting for slower ranks: how much longer its collectives took than on the "
    "rank that started them last, at most communication_ns. Unknown if they match no other rank's collectives."
)

_INPUT = Float("input_ns", title="Input").means(
    "Part of idle_ns and between_ns in which the program waited for its next batch, in a range called data or "
    "dataloader."
)

_UNTRACED = Float("untraced_ns", title="Other work").means(
    "Part of idle_ns and between_ns in which samples show the GPU busy: with another program, or with work that was "
    "not traced. Unknown without samples."
)
_CPU = Float("cpu_ns", title="CPU").means(
    "Time from the launch of the step's first activity to that of the next step's, minus the time in which the CPU "
    "waits for the GPU; unknown if CUDA calls were not recorded."
)

_STAGE = Float("stage", title="Stage").means(
    "Pipeline stage: the rank's position in the smallest of its process groups named pp, pipe or pipeline; unknown "
    "if the program's groups were not recorded, or none has such a name."
)
_MFU = Float("mfu_pct", title="MFU").means(f"{MFU_MEANING} step time. {NO_PEAK}")
_TENSOR_RATE = "TFLOP on the Tensor Cores per second of the step time."

RANK_STEPS = Schema(
    "rank_steps",
    "Each step of each rank, without the last step and warm-up; which steps are warm-up may differ between ranks.",
    (
        RANK,
        _STEP,
        IntTime("start_ns").means("Start of its first activity on the GPU, on the clock of the rank's recording."),
        Float("step_time_ns", title="Step time").means(
            "Time from the start of its first activity to the start of the next step's first activity."
        ),
        *_PARTS,
        _INPUT,
        _UNTRACED,
        _CPU,
        Float("wait_ns", title="Waiting").means(_WAIT),
        Float("own_ns", title="Own time").means("Step time without waiting."),
        Float("held_ns", title="Held").means(
            "Upper bound on how much its kernels were slowed by collectives that waited and occupied SMs: the waiting "
            "time that is not exposed, times sm_pct, or all of it if sm_pct is unknown. Part of own_ns."
        ),
        Float("tensor_active_ns").means("Tensor-active time of the kernels that ran."),
        Float("tensor_flop").means("FLOP of the kernels that ran, where known."),
        Float("useful_flop", title="Useful FLOP").means("Useful FLOP of the kernels that ran, as in *ranges*."),
        _MFU,
        Float("clock_hz", title="SM clock").means("Mean SM clock, where recorded."),
    ),
    key=("rank", "step"),
)

COLLECTIVES = Schema(
    "collectives",
    "The first collectives of each rank's steps: NCCL kernels, except point-to-point ones.",
    (
        RANK,
        _STEP,
        Int("place").means("How many collectives of the step began before it."),
        Text("name").means("The kernel's name."),
        IntTime("start_ns").means("Start on the clock of the rank's recording."),
        Int("duration_ns").means("How long it ran."),
        Float("sm_pct").means(
            "Share of the GPU's SMs that its blocks occupy, at one block per SM; unknown if the number of blocks or "
            "SMs is unknown."
        ),
        Float("message_bytes").means(
            "Size of its messages, as NCCL's NVTX ranges give it: what a rank contributes to an all-gather or receives "
            "from a reduce-scatter; unknown if that was not recorded."
        ),
    ),
    key=("rank", "step", "place"),
)

COLLECTIVE_KINDS = Schema(
    "collective_kinds",
    "The collectives of one kernel, means per step and rank. Data and bandwidths are those of nccl-tests, "
    "and unknown if no message sizes were recorded or a rank is missing.",
    (
        Text("name").means("The kernel's name."),
        Float("launch_count", title="Per step").means("How many a step has."),
        Float("duration_ns", title="Time").means("How long they run, beside other kernels or not."),
        Float("wait_ns", title="Waiting").means("Part of duration_ns spent waiting for the last rank to start."),
        Float("transfer_ns", title="Transfer").means("The rest of duration_ns: how long they run on the last rank."),
        Float("data_bytes", title="Data").means(
            "Their size; of all-gathers and reduce-scatters, that of all ranks together."
        ),
        Float("bus_bandwidth", title="Bus BW", unit="B/s").means(
            "algorithm_bandwidth times what crosses each rank's link per byte: 2(n-1)/n in an all-reduce of n ranks, "
            "(n-1)/n in an all-gather or reduce-scatter."
        ),
        Float("link_pct", title="Of NVLink").means(
            "bus_bandwidth as a share of the stated NVLink bandwidth in one direction; unknown for boards without a "
            "figure in tcprof, and for ranks on several hosts."
        ),
        Float("algorithm_bandwidth", title="Algorithm BW", unit="B/s").means("data_bytes per second of transfer_ns."),
    ),
    key=("name",),
)

RANK_PARTS = Schema(
    "rank_parts",
    "What the mean step of each rank consists of: the time of each kernel in each module and range.",
    (
        RANK,
        Text("path").means("Path of the innermost range; empty for none."),
        Text("module").means("The innermost module, and its phase; empty for none."),
        Text("time_class").means("Class of the time, named like the columns of *timeline* without their unit."),
        Text("kernel").means("The kernel's name; empty for copies and idle time."),
        Float("time_ns").means("Time in a mean step."),
        Float("launch_count").means("Launches in a mean step."),
    ),
    key=("rank", "path", "module", "time_class", "kernel"),
)

_UNPROFILED = Float("unprofiled_ns", title="Step time, unprofiled").means(
    "Mean time of its unprofiled steps; unknown if none were timed."
)

RANKS = Schema(
    "ranks",
    "The ranks of a job. Times are means over the steps that all ranks of the group have in common.",
    (
        RANK,
        Text("file").means("The recording, without its folder."),
        Text("host").means("Alias of its host; empty where unknown."),
        Text("gpu_name").means("Name of its GPU."),
        Int("group").means(
            "Group of the rank: ranks of one group belong to the same pipeline stage and take part in the same "
            "collectives."
        ),
        _STAGE,
        Int("step_count", title="Steps").means("Steps that the figures cover."),
        Float("step_time_ns", title="Step time").means("Mean step time."),
        _UNPROFILED,
        *_PARTS,
        _INPUT,
        _UNTRACED,
        _CPU,
        Float("wait_ns", title="Waiting").means(_WAIT),
        Float("own_ns", title="Own time").means("Step time without waiting."),
        Float("last_pct", title="Last to arrive").means(
            "Share of its collectives in which it was the last rank to start."
        ),
        Float("tensor_active_pct", title="Tensor Active").means(
            "Tensor-active time of the kernels, as a share of the step time."
        ),
        Float("tensor_tflops", title="Tensor FLOP/s").means(_TENSOR_RATE),
        Float("useful_tflops", title="Useful FLOP/s").means("Useful TFLOP per second of the step time."),
        _MFU,
        Float("clock_hz", title="SM clock").means("Mean SM clock, where recorded."),
        MEAN_POWER,
        Signed("excess_ns", title="vs. median").means(
            "How much its own time, or its CPU's time if that is longer, exceeds the median of the others in its group."
        ),
        Signed("excess_low_ns").means("Lower end of the 95 % interval of excess_ns over the steps."),
        Signed("excess_high_ns").means("Upper end of that interval."),
        Signed("compute_excess_ns").means(
            "How much its compute time exceeds the median of the others in its group, if compute time stands out but "
            "no rank's own time does; otherwise unknown."
        ),
        Signed("compute_excess_low_ns").means("Lower end of the 95 % interval of compute_excess_ns over the steps."),
        Signed("compute_excess_high_ns").means("Upper end of that interval."),
        Float("profiling_ns").means(
            "How much of excess_ns profiling may account for: the time in which its GPU does not work, up to what "
            "profiling adds to a step. Unknown if no unprofiled steps were timed."
        ),
        Bool("straggler").means(
            "Whether its own time stands out by more than the usual difference between steps and between GPUs of one "
            "kind; if no rank of its group stands out, whether its compute time does."
        ),
        Float("saves_ns", title="Saving").means(
            "What a step of the job would save if this rank were as fast as the median; unknown if the interval is "
            "too wide to say."
        ),
        Float("saves_low_ns").means(
            "Lower end of its 95 % interval over the steps, assuming that the other ranks' CPUs are as slow as "
            "recorded and that waiting collectives slowed no kernel. 0 if only compute time stands out."
        ),
        Float("saves_high_ns").means(
            "Upper end of that interval, assuming that the other ranks' GPUs never wait for the CPU and that all "
            "of held_ns is saved. What profiling adds to a step is subtracted, if unprofiled steps were timed."
        ),
        Float("saves_together_ns", title="Saves together").means(
            "What a step of the job would save if all ranks of its group that stand out were as fast as the median; "
            "unknown for ranks that do not stand out."
        ),
        Float("saves_together_low_ns").means("Lower end of its interval, as for saves_ns."),
        Float("saves_together_high_ns").means("Upper end of that interval."),
        Text("cause").means("Why its own time or its compute time is longer; empty for ranks that do not stand out."),
    ),
    key=("rank",),
)

JOB = Schema(
    "job",
    "One row for the job as a whole. What is unknown for one of its ranks is unknown for the job.",
    (
        Int("rank_count", title="Ranks").means("Ranks with a recording here."),
        Float("step_time_ns", title="Step time").means("Median over the ranks of their mean step time."),
        Float("unprofiled_ns", title="Step time, unprofiled").means(
            "Median over the ranks of their mean unprofiled step."
        ),
        Float("tensor_tflops", title="Tensor FLOP/s").means(f"{_TENSOR_RATE} Sum over the ranks."),
        Float("useful_tflops", title="Useful FLOP/s").means(
            "Useful TFLOP per second of the step time. Sum over the ranks."
        ),
        Float("mfu_pct", title="MFU").means(
            "useful_tflops, as a share of the sum of the ranks' peaks, each at the precisions of its kernels (see "
            "mfu_pct of *ranks*)."
        ),
        Float("throughput", title="Throughput", unit="count").means(
            "What the job processes per second, such as samples or tokens: the number per step, given by --per-step, "
            "divided by the step time."
        ),
        Float("per_joule", title="Per joule", unit="count").means(
            "What the job processes per joule of all its GPUs: throughput divided by the sum of their power."
        ),
    ),
    key=(),
)

RANK_RECORDINGS = Schema(
    "rank_recordings",
    "Origin of each rank's recording.",
    (
        RANK,
        Int("world_size").means("How many ranks the job has; 0 if unknown."),
        Number("local_rank").means("Number of the rank on its host; -1 where unknown."),
        Text("file").means("The recording, without its folder."),
        Text("content").means("SHA-256 of the file that was read."),
        Text("job").means("Alias of the job; empty where unknown."),
        Text("host").means("Alias of the host; empty where unknown."),
        Text("gpu_alias").means("Alias of the GPU; empty where unknown."),
        Text("gpu_name").means("The GPU's name."),
        Text("program").means("Name of the script or module; empty where unknown."),
        _STAGE,
        MEAN_POWER,
        _UNPROFILED,
        Text("rank_from").means("Source of the rank if it is not the recording; otherwise empty."),
    ),
    key=("rank",),
)

JOB_COMPARISON = Schema(
    "job_comparison",
    "One row for each quantity of the steps of two jobs: the mean over the ranks, then the median over the steps that "
    "all ranks have in common. Each job is one run, so run-to-run variation is assumed, as for recordings of one GPU.",
    (
        Text("quantity").means(
            "A column of *rank_steps*; tensor_active_pct, a share of the step time; or the mean unprofiled step "
            "(unprofiled_ns), if both jobs timed some."
        ),
        *OF_MEDIANS,
    ),
    key=("quantity",),
)
