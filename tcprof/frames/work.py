"""Frames of kernels and of their launches, from the fit of ``tcprof.analysis``."""

from collections.abc import Iterator

from tcprof.frames.schema import BOOL, FLOAT, GPU, INT, TEXT, Column, Schema

WARM_UP_PATH = "(warm-up)"

KERNEL_INSTANCES = Schema(
    "kernel_instances",
    "Each launch of a kernel, or of a graph recorded as a whole, with what the fit gives it.",
    (
        GPU,
        Column("activity", INT, "Row of the launch in *activities*."),
        Column("kernel", INT, "Row of its kernel in *kernels*."),
        Column("path_id", INT, "Row of the path that it belongs to in *paths*; -1 for none."),
        Column("range", INT, "Row of the innermost range of that path in *nvtx_ranges*; -1 for none."),
        Column("iteration", INT, "Row of the iteration that it belongs to in *iterations*; -1 for none."),
        Column(
            "module",
            INT,
            "Row in *modules* of the innermost module that it belongs to, in its phase; -1 where no range names a "
            "module or a phase, and for what only warm-up launched.",
        ),
        Column("kernel_class", INT, "Class of launches that do the same work, numbered for each GPU."),
        Column("pooled", BOOL, "Whether that class is a pool of several rare kernels."),
        Column("duration_ns", INT, "Its duration."),
        Column("tensor_active_ns", FLOAT, "Its tensor-active time: Tensor Active, as a share, times its duration."),
        Column("tensor_cycles", FLOAT, "Its tensor cycles over all SM sub-partitions, where recorded."),
        Column("sm_cycles", FLOAT, "Cycles that passed while it ran, summed over the SMs, where a clock was recorded."),
        Column("sm_active_cycles", FLOAT, "Those in which an SM held at least one warp, from the fit where recorded."),
        Column("instruction_count", FLOAT, "Instructions that its warps executed, likewise."),
        Column("fma_instruction_count", FLOAT, "Those of the FMA pipe, likewise."),
        Column("dram_read_bytes", FLOAT, "Bytes read from device memory while it ran, likewise."),
        Column(
            "dram_write_bytes",
            FLOAT,
            "Bytes written to device memory while it ran, likewise; what it leaves in the L2 cache is written later.",
        ),
        Column("l2_bytes", FLOAT, "Bytes that the L2 cache was asked for, likewise."),
        Column("l2_request_count", FLOAT, "Requests to the L2 cache, likewise."),
        Column("l1_wavefront_count", FLOAT, "Passes through the L1 data pipes, likewise."),
        Column(
            "dram_ideal_ns", FLOAT, "The time that its bytes of device memory would take at the memory's bandwidth."
        ),
        Column("tensor_flop", FLOAT, "FLOP on the Tensor Cores, where instruction family and precision are known."),
        Column(
            "tensor_ideal_ns",
            FLOAT,
            "The time these FLOP would take at the chip's peak for the precision, at the sampled clock.",
        ),
        Column(
            "useful_flop",
            FLOAT,
            "FLOP that the op asks for by the sizes of its operands, with the op's first tensor kernel; 0 with its "
            "other kernels, and in the phase recompute of *modules*; unknown for a tensor kernel of an op without a "
            "formula, or without sizes.",
        ),
    ),
)

_WORK = {
    "sm_active_cycles": "Cycles in which an SM held at least one of its warps",
    "instruction_count": "Instructions that its warps executed",
    "fma_instruction_count": "Those of the FMA pipe",
    "dram_read_bytes": "Bytes read from device memory while it ran",
    "dram_write_bytes": "Bytes written to device memory while it ran",
    "l2_bytes": "Bytes that the L2 cache was asked for while it ran",
    "l2_request_count": "Requests to the L2 cache while it ran",
    "l1_wavefront_count": "Passes through the L1 data pipes, of shared memory too",
}


def _work_of_kernels() -> Iterator[Column]:
    """The counts of a kernel, each with half its interval."""
    for name, meaning in _WORK.items():
        unit = name.rpartition("_")[2]
        yield Column(name, FLOAT, f"{meaning}, over all launches, from the fit where recorded.")
        yield Column(f"{name}_error", FLOAT, f"Half the 95 % interval of {name}.", unit=unit)


KERNELS = Schema(
    "kernels",
    "One row for each GPU, kernel and launch geometry, and path if asked for.",
    (
        GPU,
        Column("name", TEXT, "The kernel's demangled name; graph for CUDA graphs recorded as a whole."),
        Column("launch_geometry", TEXT, "Grid and block."),
        Column("launch_count", INT, "How often it was launched.", title="Launches"),
        Column(
            "path",
            TEXT,
            "The path in which it spent most of its time; empty outside of all ranges. Where each path has a row, "
            f"launches in warm-up have one of their own: {WARM_UP_PATH}.",
            title="Mostly in",
        ),
        Column("total_ns", INT, "Sum of its durations.", title="Kernel time"),
        Column("median_ns", FLOAT, "Median duration.", title="Median"),
        Column("share_pct", FLOAT, "Its share of the kernel time of the GPU.", title="Share of the time"),
        Column("tensor_active_pct", FLOAT, "Tensor Active of its own cycles, from the fit.", title="Tensor Active"),
        Column("tensor_active_low_pct", FLOAT, "Lower end of the 95 % interval."),
        Column("tensor_active_high_pct", FLOAT, "Upper end of the 95 % interval."),
        Column("tensor_cycles", FLOAT, "Tensor cycles of all its launches, where recorded."),
        Column(
            "tensor_cycles_per_launch",
            FLOAT,
            "Tensor cycles of a launch, in the mean.",
            title="Tensor cycles per launch",
            unit="count",
        ),
        Column("tensor_flop", FLOAT, "FLOP on the Tensor Cores, where instruction family and precision are known."),
        Column(
            "tensor_tflops", FLOAT, "FLOP on the Tensor Cores per second of its time, in 10^12.", title="Tensor FLOP/s"
        ),
        Column(
            "tensor_peak_pct",
            FLOAT,
            "Its Tensor FLOP/s, as a share of the chip's peak for the precision at the sampled clock.",
            title="Of the peak",
        ),
        Column(
            "lost_ns",
            FLOAT,
            "Its time, less what its FLOP on the Tensor Cores would take at the chip's peak for the precision; unknown "
            "where they are.",
            title="Lost to the peak",
        ),
        Column(
            "hfu_pct",
            FLOAT,
            "Hardware FLOP utilization: FLOP that it executed on the Tensor Cores, of what peak_tflops allows in its "
            "time.",
            title="HFU",
        ),
        Column(
            "peak_tflops",
            FLOAT,
            "Dense peak of its precision at the boost clock, in 10^12 FLOP/s, of tensor kernels; or what --peak-tflops "
            "gives.",
            title="Dense peak",
        ),
        Column("peak_source", TEXT, "Where that peak is known from; empty where it is not known."),
        Column("sm_active_pct", FLOAT, "SM Active while it ran, from the fit; unknown where wide (± 20 points)."),
        Column(
            "sm_issue_pct",
            FLOAT,
            "Share of the issue slots that instructions took while it ran, from the fit; unknown where wide.",
            title="Issue slots",
        ),
        Column(
            "dram_pct",
            FLOAT,
            "Memory bandwidth used while it ran, read and write, of the peak, from the fit; unknown where wide.",
            title="Memory",
        ),
        Column(
            "fma_pct",
            FLOAT,
            "Instructions of the FMA pipe while it ran, of the most that the CUDA cores can start; unknown where wide.",
            title="FMA pipe",
        ),
        Column(
            "l1_pct",
            FLOAT,
            "Passes through the L1 data pipes, which shared memory has too, while it ran, of one in a cycle; unknown "
            "where wide.",
            title="L1",
        ),
        Column(
            "l2_pct",
            FLOAT,
            "Requests to the L2 cache while it ran, of one in a cycle for each slice of it; unknown where wide.",
            title="L2",
        ),
        Column("sm_cycles", FLOAT, "Cycles that passed while it ran, over all launches and SMs."),
        *_work_of_kernels(),
        Column(
            "dram_bandwidth",
            FLOAT,
            "Bytes of device memory, read and written, per second of its time.",
            title="DRAM",
            unit="B/s",
        ),
        Column(
            "fma_tflops",
            FLOAT,
            "FLOP on the CUDA cores per second of its time, in 10^12, if all instructions of the FMA pipe multiply and "
            "add float32: so in products of float32 matrices, at most so in others.",
            title="CUDA core FLOP/s",
        ),
        Column(
            "bound",
            TEXT,
            "memory, L1 cache (and shared memory), L2 cache, tensor (the tensor pipe), fp32 (float32 on the CUDA "
            "cores) or issue (the issue slots), if that is at 60 % or more and the highest; else small grid, where "
            "40 % of the SMs had nothing to do, or latency; communication between GPUs; empty where unknown.",
            title="Bound by",
        ),
        Column(
            "fit",
            TEXT,
            "resolved; pooled with other rare kernels; unresolved by the samples; not sampled; or estimated "
            "from kernel names, where the recording has no samples at all.",
            title="Fit",
        ),
        Column("communication", BOOL, "Whether its name is one of NCCL's."),
        Column(
            "tensor_kernel",
            BOOL,
            "Whether it executes matrix instructions: by its name, unless the counter shows 0; where the name tells "
            "nothing, if the interval lies above 20 %, which index arithmetic does not reach; without samples, by its "
            "name alone.",
        ),
        Column(
            "name_verdict",
            TEXT,
            "Which of the counter and the name say Tensor Cores: agrees, both; name only; counter only, the tensor "
            "pipe is active, but no matrix instruction is known; or neither.",
            title="Counter and name",
        ),
        Column(
            "precision",
            TEXT,
            "Precision of what it reads, on Tensor Cores or CUDA cores, as the name has it, such as tf32, or fp16/bf16 "
            "for either of both; empty where the name does not tell, or the tensor pipe shows that it cannot be.",
            title="Precision",
        ),
        Column(
            "family",
            TEXT,
            "Tensor instructions, as the name has it: wgmma, mma.sync or tcgen05; none, where the source is known to "
            "have no matrix instruction; empty where the name does not tell.",
        ),
        Column(
            "shape",
            TEXT,
            "Rows, columns and depth of an instruction of the family, where it has several, such as 16x8x16, as the "
            "name or the source of the kernel has it; empty where neither tells.",
        ),
        Column("tile", TEXT, "Tile of the output, as the name has it."),
        Column(
            "accumulator",
            TEXT,
            "Precision in which a kernel for the Tensor Cores adds up, as the name has it: fp16 or fp32; empty where "
            "it does not tell. GeForce cards are twice as fast with fp16.",
        ),
    ),
)
