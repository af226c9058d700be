"""Frames of what was recorded, as ``tcprof.sources`` reads it."""

from tcprof.frames.schema import (
    END,
    GPU,
    START,
    Bool,
    Category,
    Float,
    FloatTime,
    Int,
    IntTime,
    Number,
    Owner,
    Schema,
    Text,
)

GPUS = Schema(
    "gpus",
    "The GPUs of the recording.",
    (
        GPU,
        Text("name").means("The GPU's name."),
        Text("chip").means("The chip's name, such as GH100; empty if the export has none."),
        Float("sm_count").means("Streaming multiprocessors."),
        Float("clock_hz").means("The highest SM clock."),
        Float("memory_bytes").means("Device memory."),
        Float("dram_bandwidth", unit="B/s").means("Peak bandwidth of its memory, in bytes per second."),
    ),
    key=("gpu",),
)

_DENSE = "Dense peak in {}, in 10^12 operations per second, as stated at the boost clock.{}"
_IN_FP16 = " With FP16 accumulation, on boards where FP32 accumulation is slower."
BOARDS = Schema(
    "boards",
    "Boards that tcprof knows, see ``tcprof chips``. A GPU gets a board's figures if its full name is one of "
    "gpu_names.",
    (
        Text("board").means("Its name in tcprof."),
        Text("gpu_names").means("Its names in exports, without the word NVIDIA; separated by semicolons."),
        Text("chips").means("The chips that it may have; separated by commas."),
        Float("sm_count", title="SMs").means("Streaming multiprocessors."),
        Float("boost_clock_hz", title="Boost").means("The SM clock at which its peaks are stated."),
        Float("dram_bandwidth", title="Memory", unit="B/s").means("Peak bandwidth of its memory, in bytes per second."),
        *(
            Float(f"{name}_tflops", title=name.upper()).means(_DENSE.format(name.upper(), ""))
            for name in ("fp64", "tf32", "fp16", "bf16", "int8", "fp8", "fp4")
        ),
        *(
            Float(f"{name}_in_fp16_tflops", title=f"{name.upper()} in FP16").means(
                _DENSE.format(name.upper(), _IN_FP16)
            )
            for name in ("fp16", "fp8")
        ),
        Text("source").means("Source of these figures, or why they are unknown."),
    ),
    key=("board",),
)

SAMPLES = Schema(
    "samples",
    "GPU metric samples. A value holds for the sample's whole interval; gaps in sampling are gaps between the rows.",
    (
        GPU,
        START,
        END,
        Float("tensor_active_pct", title="Tensor Active").means(
            "Cycles in which the tensor pipe was active, as a share of elapsed cycles, over all SMs. Computed from "
            "tensor cycles if they were recorded; otherwise Nsight Systems' whole percentages, in which 1 can be "
            "anything from 0 to 1.5."
        ),
        Float("tensor_cycles").means("Active cycles of the tensor pipes in the sample, over all SM sub-partitions."),
        Float("pipe_cycles").means(
            "Elapsed cycles of the tensor pipes in the sample, over all SM sub-partitions, where a clock was recorded."
        ),
        Float("gr_active_pct", title="GR Active").means(
            "Share of the time in which the graphics and compute engine was active."
        ),
        Float("sm_active_pct", title="SM Active").means(
            "Share of cycles in which an SM held at least one warp, averaged over the SMs."
        ),
        Float("sm_issue_pct", title="SM Issue").means(
            "Share of cycles in which an SM issued an instruction, averaged over the SMs."
        ),
        Float("dram_read_pct", title="DRAM read").means(
            "Memory read bandwidth, as a share of the peak. Like sm_active_pct and sm_issue_pct, it is computed "
            "from counts if these were recorded."
        ),
        Float("dram_write_pct", title="DRAM write").means("Memory write bandwidth, as a share of the peak."),
        Float("gpc_clock_hz", title="GPC clock").means(
            "Clock of the graphics processing clusters (GPCs), which is the SM clock."
        ),
        Float("sm_active_cycles").means("Cycles in which an SM held at least one warp, summed over the SMs."),
        Float("instruction_count").means("Instructions that warps executed."),
        Float("fma_instruction_count").means(
            "Instructions in the FMA pipe: float32 arithmetic and integer multiplication."
        ),
        Float("dram_read_bytes").means("Bytes read from device memory."),
        Float("dram_write_bytes").means("Bytes written to device memory."),
        Float("l2_bytes").means("Bytes requested from the L2 cache."),
        Float("l2_request_count").means("Requests to the L2 cache; each slice takes one per cycle."),
        Float("l2_cycles").means("Elapsed cycles of the L2 cache, over all its slices."),
        Float("l1_wavefront_count").means(
            "Wavefronts through the L1 data pipes, shared memory included; an SM processes at most one per cycle."
        ),
    ),
    key=("gpu", "start_ns"),
)
DRIVER_LOG = Schema(
    "driver_log",
    "What NVIDIA's driver (NVML) reports for each GPU, ten times a second, also "
    "while unprofiled steps run. A value holds until the next one.",
    (
        GPU,
        START,
        END,
        Float("power_w", title="Power", unit="W").means("Power of the GPU board."),
        Float("power_limit_w", title="Power limit", unit="W").means("Power limit of the GPU."),
        Float("temperature_c", title="Temperature", unit="°C").means("Temperature of the GPU."),
        Float("clock_hz", title="SM clock").means("SM clock."),
        Text("clock_limit").means("What keeps the SM clock below its maximum, see *step_summary*; empty for none."),
    ),
    key=("gpu", "start_ns"),
)
SAMPLE_METRICS = tuple(SAMPLES.names[3:])
# What a sample counts of the GPU's work beside tensor cycles, and what launches get their share of.
WORK = (
    *("sm_active_cycles", "instruction_count", "fma_instruction_count", "dram_read_bytes", "dram_write_bytes"),
    *("l2_bytes", "l2_request_count", "l1_wavefront_count"),
)
COUNTED = ("cycles", "count", "bytes")  # units of what a sample counts, and that is not drawn: its rate is
# What follows from counts of the samples, where Nsight Systems' whole percentages were not recorded.
FROM_COUNTS = {
    "sm_active_pct": "sm_active_cycles",
    "sm_issue_pct": "instruction_count",
    "dram_read_pct": "dram_read_bytes",
    "dram_write_pct": "dram_write_bytes",
}
OPS_DOMAIN = "PyTorch ops"  # marks the ranges of emit_nvtx

NVTX_RANGES = Schema(
    "nvtx_ranges",
    "NVTX ranges as recorded: push/pop and start/end.",
    (
        Owner("process").means("Process that opened the range."),
        Owner("thread").means("Thread that opened the range, within its process."),
        Category("domain").means(
            f"NVTX domain; empty for the default one, {OPS_DOMAIN} for ranges of PyTorch's emit_nvtx."
        ),
        Category("name").means("The range's name, without the numbers that ops add to it; (unnamed) if it has none."),
        START,
        IntTime("end_ns").means(
            "End on the recording's clock; for a range that was never closed, the end of the recording."
        ),
        Bool("start_end").means(
            "Whether it is a start/end range: unlike push/pop ranges, these may partly overlap others."
        ),
        Float("sequence").means(
            "Sequence number of the autograd node that an op created or ran; unknown if there is none."
        ),
        Category("sizes").means(
            "Sizes of each argument of an op, such as [[512, 4096], [4096, 4096], []]; empty if not recorded."
        ),
        Category("output_sizes").means(
            "Sizes of a convolution's output, in the same form, taken from the op that read it; [] if no op read it."
        ),
    ),
)

MARKS = Schema(
    "marks",
    "NVTX marks that --annotate adds: the module whose backward pass begins on the thread.",
    (
        Int("process").means("Process that made the mark."),
        Int("thread").means("Thread that made the mark, within its process."),
        Category("name").means("The module's path; backward if there is none."),
        START,
    ),
)

API_CALLS = Schema(
    "api_calls",
    "CUDA API calls that started work on a GPU.",
    (
        Owner("process").means("Process that made the call."),
        Owner("thread").means("Thread that made the call, within its process."),
        Int("correlation").means("Number that ties the call to its activities, unique within the process."),
        START,
        FloatTime("returned_ns").means("When the call returned, on the same clock; unknown if that was not recorded."),
    ),
    key=("process", "correlation"),
)

WAITS = Schema(
    "waits",
    "CUDA API calls that do nothing but wait for a GPU, such as cudaStreamSynchronize, or that allocate or free its "
    "memory.",
    (
        Owner("process").means("Process that made the call."),
        Owner("thread").means("Thread that made the call, within its process."),
        Category("name").means("The call's name."),
        START,
        END,
    ),
)

ACTIVITIES = Schema(
    "activities",
    "Work on a GPU: kernels, copies, memsets, and CUDA graphs that were recorded as a whole.",
    (
        GPU,
        Category("kind").means("kernel, memcpy, memset or graph."),
        Category("name").means("The kernel's demangled name; for a copy, its direction; otherwise the kind."),
        Category("launch_geometry").means(
            "A kernel's grid and block, such as 8x64x1 384x1x1; empty for anything else."
        ),
        Number("stream").means("CUDA stream within the process's context."),
        Owner("process").means("Process that started it; -1 if the export does not say."),
        Number("correlation").means("Number of the launch within the process; -1 if there is none."),
        START,
        END,
        Float("moved_bytes").means(
            "Size of a copy or memset, or of the messages of an NCCL kernel, where recorded; unknown for others."
        ),
        Category("host_memory").means(
            "Kind of a copy's host memory: pageable, pinned or managed; empty for other activities, and if not "
            "recorded."
        ),
        Float("graph_node").means(
            "Number of the CUDA graph node that it executes, unique within the process; unknown if none."
        ),
    ),
)

GRAPH_NODES = Schema(
    "graph_nodes",
    "Where and when the program made the nodes of its CUDA graphs; for a copied node, where it made the original.",
    (
        Int("process").means("Process that made the node."),
        Float("graph_node").means("The node."),
        Int("thread").means("Thread that made it, within its process."),
        START,
    ),
)

UNPROFILED = Schema(
    "unprofiled",
    "Consecutive steps of the recorded program that ran without profiling, on the recording's clock to about 0.1 s. "
    "``tcprof profile`` times them in the same processes, after the steps that it records; a row is a step, or several "
    "short ones.",
    (
        Number("process").means("Process that ran the steps."),
        Bool("training").means("Whether they are training steps; otherwise they are model calls."),
        START,
        END,
        Int("step_count").means("Number of steps."),
    ),
)

# Names of copies.
DEVICE_TO_DEVICE = "device to device"  # within a GPU's memory
HOST_TO_DEVICE = "host to device"
DEVICE_TO_HOST = "device to host"
PAGEABLE, PINNED, MANAGED = "pageable", "pinned", "managed"  # memory of the host
KERNEL_KINDS = ("kernel", "graph")  # kinds of activities that run on the SMs

DIAGNOSTICS = Schema(
    "diagnostics",
    "Messages of Nsight Systems about its own recording.",
    (Text("severity").means("information, warning, error or verbose."), Text("text").means("The message.")),
)
