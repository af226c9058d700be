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
        Int("activity").means("Row of the launch in *activities*."),
        Int("kernel").means("Row of its kernel in *kernels*."),
        Number("path_id").means("Row in *paths* of the path that it belongs to; -1 for none."),
        Number("range").means("Row of the innermost range of that path in *nvtx_ranges*; -1 for none."),
        Number("step").means("Row in *steps* of the step that it belongs to; -1 for none."),
        Number("module").means(
            "Row in *modules* of the innermost module that it belongs to, in its phase; -1 if no range names a "
            "module or a phase, and for kernels launched only in warm-up."
        ),
        Int("kernel_class").means("Class of launches that do the same work, numbered per GPU."),
        Bool("pooled").means("Whether that class is a pool of several rare kernels."),
        Int("duration_ns").means("Its duration."),
        Float("tensor_active_ns").means("Its tensor-active time: its duration times Tensor Active."),
        Float("tensor_cycles").means("Its tensor cycles over all SM sub-partitions, where recorded."),
        Float("sm_cycles").means("Elapsed cycles while it ran, summed over the SMs, where a clock was recorded."),
        *(Float(name).means(f"{meaning}; from the fit, where recorded.") for name, meaning in _WORK.items()),
        Float("dram_ideal_ns").means(
            "The time that its device memory traffic would take at the memory's peak bandwidth."
        ),
        Float("tensor_flop").means("FLOP on the Tensor Cores, where instruction family and precision are known."),
        Float("tensor_ideal_ns").means(
            "The time these FLOP would take at the chip's peak for the precision, at the sampled clock."
        ),
        Float("useful_flop").means(
            "FLOP that the op requires, given its operand sizes, counted at the op's first tensor kernel; 0 for its "
            "other kernels, and in the phase recompute of *modules*; unknown for a tensor kernel of an op whose "
            "formula or sizes are unknown."
        ),
    ),
    key=("activity",),
)

KERNELS = Schema(
    "kernels",
    "One row for each GPU, kernel and launch geometry, and path if asked for.",
    (
        GPU,
        Text("name").means("The kernel's demangled name; graph for CUDA graphs recorded as a whole."),
        Text("launch_geometry").means("Grid and block."),
        Int("launch_count", title="Launches").means("How often it was launched."),
        Text("path", title="Mostly in").means(
            "The path in which it spent most of its time; empty outside all ranges. In tables with one row per path, "
            f"launches in warm-up have a separate row, {WARM_UP_PATH}, and so have those in {SLOW_PATH[1:-1]}: "
            f"{SLOW_PATH}."
        ),
        Int("total_ns", title="Kernel time").means("Sum of its durations."),
        Float("median_ns", title="Median").means("Median duration."),
        Float("share_pct", title="Share of the time").means("Its share of the GPU's kernel time."),
        Float("tensor_active_pct", title="Tensor Active").means("Tensor Active over its own cycles, from the fit."),
        Float("tensor_active_low_pct").means("Lower end of the 95 % interval."),
        Float("tensor_active_high_pct").means("Upper end of the 95 % interval."),
        Float("tensor_cycles").means("Tensor cycles of all its launches, where recorded."),
        Float("tensor_cycles_per_launch", title="Tensor cycles per launch", unit="count").means(
            "Mean tensor cycles per launch."
        ),
        Float("tensor_flop").means("FLOP on the Tensor Cores, where instruction family and precision are known."),
        Float("tensor_tflops", title="Tensor FLOP/s").means("TFLOP on the Tensor Cores per second of its time."),
        Float("tensor_peak_pct", title="Share of peak").means(
            "Its Tensor FLOP/s, as a share of the chip's peak for its precision, at the sampled clock."
        ),
        Float("lost_ns", title="Time above ideal").means(
            "Its time minus the time that its FLOP on the Tensor Cores would take at the chip's peak for the "
            "precision; unknown if these FLOP are unknown."
        ),
        Float("hfu_pct", title="HFU").means(
            "Hardware FLOP utilization: FLOP that it executed on the Tensor Cores, as a share of what peak_tflops "
            "allows in its time."
        ),
        Float("peak_tflops", title="Dense peak").means(
            "For tensor kernels, the dense peak of their precision at the boost clock, in TFLOP/s; or the value of "
            "--peak-tflops."
        ),
        Text("peak_source").means("Source of that peak; empty if unknown."),
        Float("sm_active_pct").means(
            "SM Active while it ran, from the fit; unknown if uncertain by more than ± 20 points."
        ),
        Float("sm_issue_pct", title="Issue slots").means(
            "Share of the issue slots that instructions took while it ran, from the fit; unknown if uncertain."
        ),
        Float("dram_pct", title="Memory").means(
            "Memory bandwidth used while it ran, read and write, as a share of the peak, from the fit; unknown if "
            "uncertain."
        ),
        Float("fma_pct", title="FMA pipe").means(
            "Instructions in the FMA pipe while it ran, as a share of the CUDA cores' maximum; unknown if uncertain."
        ),
        Float("l1_pct", title="L1").means(
            "Wavefronts through the L1 data pipes, shared memory included, while it ran, as a share of the maximum, "
            "one per cycle; unknown if uncertain."
        ),
        Float("l2_pct", title="L2").means(
            "Requests to the L2 cache while it ran, as a share of the maximum, one per cycle per slice; unknown if "
            "uncertain."
        ),
        Float("sm_cycles").means("Elapsed cycles while it ran, over all launches and SMs."),
        *(
            column
            for name, meaning in _WORK.items()
            for column in (
                Float(name).means(f"{meaning}, over all launches; from the fit, where recorded."),
                Float(f"{name}_error", unit=name.rpartition("_")[2]).means(f"Half the 95 % interval of {name}."),
            )
        ),
        Float("dram_bandwidth", title="DRAM", unit="B/s").means(
            "Bytes of device memory read and written per second of its time."
        ),
        Float("fma_tflops", title="CUDA core FLOP/s").means(
            "TFLOP on the CUDA cores per second of its time, with every FMA-pipe instruction counted as a float32 "
            "multiply-add: exact for float32 matrix multiplications, an upper bound for other kernels."
        ),
        Text("bound", title="Bound by").means(
            "memory, L1 cache (and shared memory), L2 cache, tensor (the tensor pipe), fp32 (float32 on the CUDA "
            "cores) or issue (the issue slots), whichever is the most used, if that is 60 % or more; otherwise small "
            "grid, if at least 40 % of the SMs were idle, or latency; communication for kernels that communicate "
            "between GPUs; empty if unknown."
        ),
        Text("fit", title="Fit").means(
            "resolved; pooled with other rare kernels; unresolved by the samples; not sampled; or estimated from "
            "kernel names, if the recording has no samples at all."
        ),
        Bool("communication").means("Whether it is an NCCL kernel, by name."),
        Bool("tensor_kernel").means(
            "Whether it executes matrix instructions. Its name decides, unless the counter shows 0; if the name does "
            "not say, yes if the whole interval of Tensor Active lies above 20 %, more than index arithmetic alone "
            "can cause. Without samples, the name alone decides."
        ),
        Text("name_verdict", title="Tensor Cores?").means(
            "Whether the counter and the name say that it uses the Tensor Cores: agrees (both do); name only; "
            "counter only (the tensor pipe is active, but no matrix instruction is known); no; or, without samples, "
            "unknown if the name does not say."
        ),
        Text("precision", title="Precision").means(
            "Precision of its inputs, on Tensor Cores or CUDA cores, according to its name, such as tf32, or "
            "fp16/bf16 for either; empty if the name does not say, or if the activity of the tensor pipe rules it out."
        ),
        Text("family").means(
            "Tensor instructions, according to its name: wgmma, mma.sync or tcgen05; none if its source is known to "
            "have no matrix instruction; empty if the name does not say."
        ),
        Text("shape").means(
            "Instruction shape (rows, columns, depth), such as 16x8x16, if the family has several, according to the "
            "kernel's name or source; empty if neither says."
        ),
        Text("tile").means("Tile of the output, according to its name."),
        Text("accumulator").means(
            "Precision in which a Tensor Core kernel accumulates, according to its name: fp16 or fp32; empty if the "
            "name does not say. GeForce cards are twice as fast with fp16."
        ),
    ),
    key=("gpu", "name", "launch_geometry", "path"),
)
