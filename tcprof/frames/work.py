"""Frames of kernels and of their launches, from the fit of ``tcprof.analysis``."""

from tcprof.frames.schema import GPU, Bool, Float, Int, Number, Schema, Text

WARM_UP_PATH = "(warm-up)"
SLOW_PATH = "(slow steps)"

_WORK = {  # what samples count of the work of a kernel, from the fit
    "sm_active_cycles": "Cycles in which an SM held at least one of its warps",
    "instruction_count": "Instructions that its warps executed",
    "fma_instruction_count": "Instructions of its warps in the FMA pipe",
    "dram_read_bytes": "Bytes read from device memory while it ran",
    "dram_write_bytes": "Bytes written to device memory while it ran (what stays in the L2 cache is written later)",
    "l2_bytes": "Bytes requested from the L2 cache while it ran",
    "l2_request_count": "Requests to the L2 cache while it ran",
    "l1_wavefront_count": "Wavefronts through the L1 data pipes, shared memory included",
}

KERNEL_INSTANCES = Schema(
    "kernel_instances",
    "Each launch of a kernel, or of a graph recorded as a whole, with the results of the fit.",
    (
        GPU,
        Int("activity", "Row of the launch in *activities*."),
        Int("kernel", "Row of its kernel in *kernels*."),
        Number("path_id", "Row in *paths* of the path that it belongs to; -1 for none."),
        Number("range", "Row of the innermost range of that path in *nvtx_ranges*; -1 for none."),
        Number("step", "Row in *steps* of the step that it belongs to; -1 for none."),
        Number(
            "module",
            "Row in *modules* of the innermost module that it belongs to, in its phase; -1 if no range names a "
            "module or a phase, and for kernels launched only in warm-up.",
        ),
        Int("kernel_class", "Class of launches that do the same work, numbered per GPU."),
        Bool("pooled", "Whether that class is a pool of several rare kernels."),
        Int("duration_ns", "Its duration."),
        Float("tensor_active_ns", "Its tensor-active time: its duration times Tensor Active."),
        Float("tensor_cycles", "Its tensor cycles over all SM sub-partitions, where recorded."),
        Float("sm_cycles", "Elapsed cycles while it ran, summed over the SMs, where a clock was recorded."),
        *(Float(name, f"{meaning}; from the fit, where recorded.") for name, meaning in _WORK.items()),
        Float("dram_ideal_ns", "The time that its device memory traffic would take at the memory's peak bandwidth."),
        Float("tensor_flop", "FLOP on the Tensor Cores, where instruction family and precision are known."),
        Float(
            "tensor_ideal_ns",
            "The time these FLOP would take at the chip's peak for the precision, at the sampled clock.",
        ),
        Float(
            "useful_flop",
            "FLOP that the op requires, given its operand sizes, counted at the op's first tensor kernel; 0 for its "
            "other kernels, and in the phase recompute of *modules*; unknown for a tensor kernel of an op whose "
            "formula or sizes are unknown.",
        ),
    ),
    key=("activity",),
)

KERNELS = Schema(
    "kernels",
    "One row for each GPU, kernel and launch geometry, and path if asked for.",
    (
        GPU,
        Text("name", "The kernel's demangled name; graph for CUDA graphs recorded as a whole."),
        Text("launch_geometry", "Grid and block."),
        Int("launch_count", "How often it was launched.", title="Launches"),
        Text(
            "path",
            "The path in which it spent most of its time; empty outside all ranges. In tables with one row per path, "
            f"launches in warm-up have a separate row, {WARM_UP_PATH}, and so have those in {SLOW_PATH[1:-1]}: "
            f"{SLOW_PATH}.",
            title="Mostly in",
        ),
        Int("total_ns", "Sum of its durations.", title="Kernel time"),
        Float("median_ns", "Median duration.", title="Median"),
        Float("share_pct", "Its share of the GPU's kernel time.", title="Share of the time"),
        Float("tensor_active_pct", "Tensor Active over its own cycles, from the fit.", title="Tensor Active"),
        Float("tensor_active_low_pct", "Lower end of the 95 % interval."),
        Float("tensor_active_high_pct", "Upper end of the 95 % interval."),
        Float("tensor_cycles", "Tensor cycles of all its launches, where recorded."),
        Float(
            "tensor_cycles_per_launch", "Mean tensor cycles per launch.", title="Tensor cycles per launch", unit="count"
        ),
        Float("tensor_flop", "FLOP on the Tensor Cores, where instruction family and precision are known."),
        Float("tensor_tflops", "TFLOP on the Tensor Cores per second of its time.", title="Tensor FLOP/s"),
        Float(
            "tensor_peak_pct",
            "Its Tensor FLOP/s, as a share of the chip's peak for its precision, at the sampled clock.",
            title="Share of peak",
        ),
        Float(
            "lost_ns",
            "Its time minus the time that its FLOP on the Tensor Cores would take at the chip's peak for the "
            "precision; unknown if these FLOP are unknown.",
            title="Time above ideal",
        ),
        Float(
            "hfu_pct",
            "Hardware FLOP utilization: FLOP that it executed on the Tensor Cores, as a share of what peak_tflops "
            "allows in its time.",
            title="HFU",
        ),
        Float(
            "peak_tflops",
            "For tensor kernels, the dense peak of their precision at the boost clock, in TFLOP/s; or the value of "
            "--peak-tflops.",
            title="Dense peak",
        ),
        Text("peak_source", "Source of that peak; empty if unknown."),
        Float("sm_active_pct", "SM Active while it ran, from the fit; unknown if uncertain by more than ± 20 points."),
        Float(
            "sm_issue_pct",
            "Share of the issue slots that instructions took while it ran, from the fit; unknown if uncertain.",
            title="Issue slots",
        ),
        Float(
            "dram_pct",
            "Memory bandwidth used while it ran, read and write, as a share of the peak, from the fit; unknown if "
            "uncertain.",
            title="Memory",
        ),
        Float(
            "fma_pct",
            "Instructions in the FMA pipe while it ran, as a share of the CUDA cores' maximum; unknown if uncertain.",
            title="FMA pipe",
        ),
        Float(
            "l1_pct",
            "Wavefronts through the L1 data pipes, shared memory included, while it ran, as a share of the maximum, "
            "one per cycle; unknown if uncertain.",
            title="L1",
        ),
        Float(
            "l2_pct",
            "Requests to the L2 cache while it ran, as a share of the maximum, one per cycle per slice; unknown if "
            "uncertain.",
            title="L2",
        ),
        Float("sm_cycles", "Elapsed cycles while it ran, over all launches and SMs."),
        *(
            column
            for name, meaning in _WORK.items()
            for column in (
                Float(name, f"{meaning}, over all launches; from the fit, where recorded."),
                Float(f"{name}_error", f"Half the 95 % interval of {name}.", unit=name.rpartition("_")[2]),
            )
        ),
        Float(
            "dram_bandwidth",
            "Bytes of device memory read and written per second of its time.",
            title="DRAM",
            unit="B/s",
        ),
        Float(
            "fma_tflops",
            "TFLOP on the CUDA cores per second of its time, with every FMA-pipe instruction counted as a float32 "
            "multiply-add: exact for float32 matrix multiplications, an upper bound for other kernels.",
            title="CUDA core FLOP/s",
        ),
        Text(
            "bound",
            "memory, L1 cache (and shared memory), L2 cache, tensor (the tensor pipe), fp32 (float32 on the CUDA "
            "cores) or issue (the issue slots), whichever is the most used, if that is 60 % or more; otherwise small "
            "grid, if at least 40 % of the SMs were idle, or latency; communication for kernels that communicate "
            "between GPUs; empty if unknown.",
            title="Bound by",
        ),
        Text(
            "fit",
            "resolved; pooled with other rare kernels; unresolved by the samples; not sampled; or estimated from "
            "kernel names, if the recording has no samples at all.",
            title="Fit",
        ),
        Bool("communication", "Whether it is an NCCL kernel, by name."),
        Bool(
            "tensor_kernel",
            "Whether it executes matrix instructions. Its name decides, unless the counter shows 0; if the name does "
            "not say, yes if the whole interval of Tensor Active lies above 20 %, more than index arithmetic alone "
            "can cause. Without samples, the name alone decides.",
        ),
        Text(
            "name_verdict",
            "Whether the counter and the name say that it uses the Tensor Cores: agrees (both do); name only; "
            "counter only (the tensor pipe is active, but no matrix instruction is known); no; or, without samples, "
            "unknown if the name does not say.",
            title="Tensor Cores?",
        ),
        Text(
            "precision",
            "Precision of its inputs, on Tensor Cores or CUDA cores, according to its name, such as tf32, or "
            "fp16/bf16 for either; empty if the name does not say, or if the activity of the tensor pipe rules it out.",
            title="Precision",
        ),
        Text(
            "family",
            "Tensor instructions, according to its name: wgmma, mma.sync or tcgen05; none if its source is known to "
            "have no matrix instruction; empty if the name does not say.",
        ),
        Text(
            "shape",
            "Instruction shape (rows, columns, depth), such as 16x8x16, if the family has several, according to the "
            "kernel's name or source; empty if neither says.",
        ),
        Text("tile", "Tile of the output, according to its name."),
        Text(
            "accumulator",
            "Precision in which a Tensor Core kernel accumulates, according to its name: fp16 or fp32; empty if the "
            "name does not say. GeForce cards are twice as fast with fp16.",
        ),
    ),
    key=("gpu", "name", "launch_geometry", "path"),
)
