"""Frames of what was recorded, as ``tcprof.sources`` reads it."""

from tcprof.frames.schema import BOOL, CATEGORY, END, FLOAT, GPU, INT, START, TEXT, Column, Schema

GPUS = Schema(
    "gpus",
    "The GPUs of the recording.",
    (
        GPU,
        Column("name", TEXT, "The GPU's name."),
        Column("chip", TEXT, "The chip's name, such as GH100; empty where the export has none."),
        Column("sm_count", FLOAT, "Streaming multiprocessors."),
        Column("clock_hz", FLOAT, "The highest SM clock."),
        Column("memory_bytes", FLOAT, "Device memory."),
        Column("dram_bandwidth", FLOAT, "Bytes a second that its memory can move at most.", unit="B/s"),
    ),
)

SAMPLES = Schema(
    "samples",
    "GPU metric samples. A value holds for the sample's whole interval; gaps in sampling are gaps between the rows.",
    (
        GPU,
        START,
        END,
        Column(
            "tensor_active_pct",
            FLOAT,
            "Cycles in which the tensor pipe was active, of the cycles that passed, over all SMs. From tensor cycles "
            "where they are recorded, else Nsight Systems' whole percentages, where 1 is anything from 0 to 1.5.",
            title="Tensor Active",
        ),
        Column("tensor_cycles", FLOAT, "Active cycles of the tensor pipes in the sample, over all SM sub-partitions."),
        Column(
            "pipe_cycles",
            FLOAT,
            "Cycles that passed for the tensor pipes in the sample, over all SM sub-partitions: with a clock recorded.",
        ),
        Column("gr_active_pct", FLOAT, "Time in which the graphics and compute engine was active.", title="GR Active"),
        Column(
            "sm_active_pct",
            FLOAT,
            "Cycles in which an SM held at least one warp, mean over the SMs.",
            title="SM Active",
        ),
        Column(
            "sm_issue_pct", FLOAT, "Cycles in which an SM issued an instruction, mean over the SMs.", title="SM Issue"
        ),
        Column(
            "dram_read_pct",
            FLOAT,
            "Memory read bandwidth, of the peak; like the two before from counts where these are recorded.",
            title="DRAM read",
        ),
        Column("dram_write_pct", FLOAT, "Memory write bandwidth, of the peak.", title="DRAM write"),
        Column(
            "gpc_clock_hz", FLOAT, "Clock of the graphics processing clusters, that is of the SMs.", title="GPC clock"
        ),
        Column("sm_active_cycles", FLOAT, "Cycles in which an SM held at least one warp, summed over the SMs."),
        Column("instruction_count", FLOAT, "Instructions that warps executed."),
        Column("fma_instruction_count", FLOAT, "Those of the FMA pipe: float32 arithmetic, and integer products."),
        Column("dram_read_bytes", FLOAT, "Bytes read from device memory."),
        Column("dram_write_bytes", FLOAT, "Bytes written to device memory."),
        Column("l2_bytes", FLOAT, "Bytes that the L2 cache was asked for."),
        Column("l2_request_count", FLOAT, "Requests to the L2 cache, of which a slice of it takes one in a cycle."),
        Column("l2_cycles", FLOAT, "Cycles that passed for the L2 cache, over all its slices."),
        Column(
            "l1_wavefront_count",
            FLOAT,
            "Passes through the L1 data pipes, of shared memory too: an SM makes one in a cycle.",
        ),
    ),
)
SAMPLE_METRICS = tuple(SAMPLES.names[3:])
# What a sample counts of the GPU's work beside tensor cycles, and what launches get their share of.
WORK = (
    "sm_active_cycles",
    "instruction_count",
    "fma_instruction_count",
    "dram_read_bytes",
    "dram_write_bytes",
    "l2_bytes",
    "l2_request_count",
    "l1_wavefront_count",
)
COUNTED = ("cycles", "count", "bytes")  # units of what a sample counts, and that is not drawn: its rate is
# What follows from counts of the samples, where Nsight Systems' whole percentages were not recorded.
FROM_COUNTS = {
    "sm_active_pct": "sm_active_cycles",
    "sm_issue_pct": "instruction_count",
    "dram_read_pct": "dram_read_bytes",
    "dram_write_pct": "dram_write_bytes",
}
OPS_DOMAIN = "PyTorch ops"  # what the ranges of emit_nvtx are told apart by

NVTX_RANGES = Schema(
    "nvtx_ranges",
    "NVTX ranges as recorded: push/pop and start/end.",
    (
        Column("process", INT, "Process that opened the range."),
        Column("thread", INT, "Thread that opened the range, within its process."),
        Column(
            "domain",
            CATEGORY,
            f"NVTX domain; empty for the default one, {OPS_DOMAIN} for those of PyTorch's emit_nvtx.",
        ),
        Column("name", CATEGORY, "The range's name, of an op without its numbers; (unnamed) where it has none."),
        START,
        Column("end_ns", INT, "End on the recording's clock; of a range that never closed, the end of the recording."),
        Column("start_end", BOOL, "Whether it is a start/end range: unlike push/pop ranges, these may cross others."),
        Column("sequence", FLOAT, "Number of the autograd node that an op made or ran; unknown where it has none."),
        Column(
            "sizes",
            CATEGORY,
            "Sizes of each argument of an op, as [[512, 4096], [4096, 4096], []]; empty where not recorded.",
        ),
        Column(
            "output_sizes",
            CATEGORY,
            "Sizes of what a convolution made, likewise, as the ops have it that took it; [] for what none took.",
        ),
    ),
)

API_CALLS = Schema(
    "api_calls",
    "CUDA API calls that started work on a GPU.",
    (
        Column("process", INT, "Process that made the call."),
        Column("thread", INT, "Thread that made the call, within its process."),
        Column("correlation", INT, "Number that ties the call to its activities, unique within the process."),
        START,
        Column("returned_ns", FLOAT, "When the call returned, on the same clock; unknown where that was not recorded."),
    ),
)

WAITS = Schema(
    "waits",
    "CUDA API calls that do nothing but wait for a GPU, such as cudaStreamSynchronize.",
    (
        Column("process", INT, "Process that made the call."),
        Column("thread", INT, "Thread that made the call, within its process."),
        Column("name", CATEGORY, "The call's name."),
        START,
        END,
    ),
)

ACTIVITIES = Schema(
    "activities",
    "Work on a GPU: kernels, copies, sets, and CUDA graphs that were recorded as a whole.",
    (
        GPU,
        Column("kind", CATEGORY, "kernel, memcpy, memset or graph."),
        Column("name", CATEGORY, "The kernel's demangled name; of a copy its direction; else the kind."),
        Column(
            "launch_geometry", CATEGORY, "A kernel's grid and block, as 8x64x1 384x1x1; empty where it was not read."
        ),
        Column("stream", INT, "CUDA stream within the process's context."),
        Column("process", INT, "Process that started it; -1 where the export does not say."),
        Column("correlation", INT, "Number of the launch within the process; -1 where there is none."),
        START,
        END,
        Column("moved_bytes", FLOAT, "Size of a copy or memset; of others unknown."),
        Column(
            "host_memory",
            CATEGORY,
            "A copy's memory on the host: pageable, pinned or managed; empty for others, and where not recorded.",
        ),
    ),
)

UNPROFILED = Schema(
    "unprofiled",
    "The steps of an unprofiled run of the same program, on a clock of its own, by ``tcprof profile --unprofiled``.",
    (
        Column("process", INT, "Process that ran the step."),
        Column("training", BOOL, "Whether it trains; else it is a call of a model."),
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
    "What Nsight Systems said about its own recording.",
    (Column("severity", TEXT, "information, warning, error or verbose."), Column("text", TEXT, "The message.")),
)
