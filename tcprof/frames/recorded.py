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
        Text("name", "The GPU's name."),
        Text("chip", "The chip's name, such as GH100; empty if the export has none."),
        Float("sm_count", "Streaming multiprocessors."),
        Float("clock_hz", "The highest SM clock."),
        Float("memory_bytes", "Device memory."),
        Float("dram_bandwidth", "Peak bandwidth of its memory, in bytes per second.", unit="B/s"),
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
        Text("board", "Its name in tcprof."),
        Text("gpu_names", "Its names in exports, without the word NVIDIA; separated by semicolons."),
        Text("chips", "The chips that it may have; separated by commas."),
        Float("sm_count", "Streaming multiprocessors.", title="SMs"),
        Float("boost_clock_hz", "The SM clock at which its peaks are stated.", title="Boost"),
        Float("dram_bandwidth", "Peak bandwidth of its memory, in bytes per second.", title="Memory", unit="B/s"),
        *(
            Float(f"{name}_tflops", _DENSE.format(name.upper(), ""), title=name.upper())
            for name in ("fp64", "tf32", "fp16", "bf16", "int8", "fp8", "fp4")
        ),
        *(
            Float(f"{name}_in_fp16_tflops", _DENSE.format(name.upper(), _IN_FP16), title=f"{name.upper()} in FP16")
            for name in ("fp16", "fp8")
        ),
        Text("source", "Source of these figures, or why they are unknown."),
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
        Float(
            "tensor_active_pct",
            "Cycles in which the tensor pipe was active, as a share of elapsed cycles, over all SMs. Computed from "
            "tensor cycles if they were recorded; otherwise Nsight Systems' whole percentages, in which 1 can be "
            "anything from 0 to 1.5.",
            title="Tensor Active",
        ),
        Float("tensor_cycles", "Active cycles of the tensor pipes in the sample, over all SM sub-partitions."),
        Float(
            "pipe_cycles",
            "Elapsed cycles of the tensor pipes in the sample, over all SM sub-partitions, where a clock was recorded.",
        ),
        Float(
            "gr_active_pct", "Share of the time in which the graphics and compute engine was active.", title="GR Active"
        ),
        Float(
            "sm_active_pct",
            "Share of cycles in which an SM held at least one warp, averaged over the SMs.",
            title="SM Active",
        ),
        Float(
            "sm_issue_pct",
            "Share of cycles in which an SM issued an instruction, averaged over the SMs.",
            title="SM Issue",
        ),
        Float(
            "dram_read_pct",
            (
                "Memory read bandwidth, as a share of the peak. Like sm_active_pct and sm_issue_pct, it is computed "
                "from counts if these were recorded."
            ),
            title="DRAM read",
        ),
        Float("dram_write_pct", "Memory write bandwidth, as a share of the peak.", title="DRAM write"),
        Float(
            "gpc_clock_hz",
            "Clock of the graphics processing clusters (GPCs), which is the SM clock.",
            title="GPC clock",
        ),
        Float("sm_active_cycles", "Cycles in which an SM held at least one warp, summed over the SMs."),
        Float("instruction_count", "Instructions that warps executed."),
        Float("fma_instruction_count", "Instructions in the FMA pipe: float32 arithmetic and integer multiplication."),
        Float("dram_read_bytes", "Bytes read from device memory."),
        Float("dram_write_bytes", "Bytes written to device memory."),
        Float("l2_bytes", "Bytes requested from the L2 cache."),
        Float("l2_request_count", "Requests to the L2 cache; each slice takes one per cycle."),
        Float("l2_cycles", "Elapsed cycles of the L2 cache, over all its slices."),
        Float(
            "l1_wavefront_count",
            "Wavefronts through the L1 data pipes, shared memory included; an SM processes at most one per cycle.",
        ),
    ),
    key=("gpu", "start_ns"),
)
DRIVER_LOG = Schema(
    "driver_log",
    "What NVIDIA's driver (NVML) reports for each GPU, ten times a second. A value holds until the next one.",
    (
        GPU,
        START,
        END,
        Float("power_w", "Power of the GPU board.", title="Power", unit="W"),
        Float("power_limit_w", "Power limit of the GPU.", title="Power limit", unit="W"),
        Float("temperature_c", "Temperature of the GPU.", title="Temperature", unit="°C"),
        Float("clock_hz", "SM clock.", title="SM clock"),
        Text("clock_limit", "What keeps the SM clock below its maximum, see *step_summary*; empty for none."),
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
        Owner("process", "Process that opened the range."),
        Owner("thread", "Thread that opened the range, within its process."),
        Category("domain", f"NVTX domain; empty for the default one, {OPS_DOMAIN} for ranges of PyTorch's emit_nvtx."),
        Category("name", "The range's name, without the numbers that ops add to it; (unnamed) if it has none."),
        START,
        IntTime("end_ns", "End on the recording's clock; for a range that was never closed, the end of the recording."),
        Bool("start_end", "Whether it is a start/end range: unlike push/pop ranges, these may partly overlap others."),
        Float("sequence", "Sequence number of the autograd node that an op created or ran; unknown if there is none."),
        Category(
            "sizes", "Sizes of each argument of an op, such as [[512, 4096], [4096, 4096], []]; empty if not recorded."
        ),
        Category(
            "output_sizes",
            "Sizes of a convolution's output, in the same form, taken from the op that read it; [] if no op read it.",
        ),
    ),
)

MARKS = Schema(
    "marks",
    "NVTX marks that --annotate adds: the module whose backward pass begins on the thread.",
    (
        Int("process", "Process that made the mark."),
        Int("thread", "Thread that made the mark, within its process."),
        Category("name", "The module's path; backward if there is none."),
        START,
    ),
)

API_CALLS = Schema(
    "api_calls",
    "CUDA API calls that started work on a GPU.",
    (
        Owner("process", "Process that made the call."),
        Owner("thread", "Thread that made the call, within its process."),
        Int("correlation", "Number that ties the call to its activities, unique within the process."),
        START,
        FloatTime("returned_ns", "When the call returned, on the same clock; unknown if that was not recorded."),
    ),
    key=("process", "correlation"),
)

WAITS = Schema(
    "waits",
    "CUDA API calls that do nothing but wait for a GPU, such as cudaStreamSynchronize, or that allocate or free its "
    "memory.",
    (
        Owner("process", "Process that made the call."),
        Owner("thread", "Thread that made the call, within its process."),
        Category("name", "The call's name."),
        START,
        END,
    ),
)

ACTIVITIES = Schema(
    "activities",
    "Work on a GPU: kernels, copies, memsets, and CUDA graphs that were recorded as a whole.",
    (
        GPU,
        Category("kind", "kernel, memcpy, memset or graph."),
        Category("name", "The kernel's demangled name; for a copy, its direction; otherwise the kind."),
        Category("launch_geometry", "A kernel's grid and block, such as 8x64x1 384x1x1; empty for anything else."),
        Number("stream", "CUDA stream within the process's context."),
        Owner("process", "Process that started it; -1 if the export does not say."),
        Number("correlation", "Number of the launch within the process; -1 if there is none."),
        START,
        END,
        Float("moved_bytes", "Size of a copy or memset; unknown for others."),
        Category(
            "host_memory",
            "Kind of a copy's host memory: pageable, pinned or managed; empty for other activities, and if not "
            "recorded.",
        ),
        Float(
            "graph_node", "Number of the CUDA graph node that it executes, unique within the process; unknown if none."
        ),
    ),
)

GRAPH_NODES = Schema(
    "graph_nodes",
    "Where and when the program made the nodes of its CUDA graphs; for a copied node, where it made the original.",
    (
        Int("process", "Process that made the node."),
        Float("graph_node", "The node."),
        Int("thread", "Thread that made it, within its process."),
        START,
    ),
)

UNPROFILED = Schema(
    "unprofiled",
    "Consecutive steps of the recorded program that ran without profiling; their timestamps are not on the "
    "recording's clock. ``tcprof profile`` times them in the same processes, before the steps that it records.",
    (
        Number("process", "Process that ran the step."),
        Bool("training", "Whether it is a training step; otherwise it is a model call."),
        START,
        END,
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
    (Text("severity", "information, warning, error or verbose."), Text("text", "The message.")),
)
