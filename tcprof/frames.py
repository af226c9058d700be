"""The frames of tcprof: each kind of frame has one Schema, and every column of it a dtype, a unit and a meaning.

A frame that leaves a module has been conformed to its Schema by the one who made it, so that its readers need not
ask. ``docs/metrics.md`` is generated from this file.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

INT = "int64"
FLOAT = "float64"
TEXT = "object"
CATEGORY = "category"


@dataclass(frozen=True)
class Column:
    """One column of a frame.

    Attributes:
        name: Its name; a unit stands at its end (``_ns``, ``_s``, ``_pct``, ``_hz``, ``_bytes``, ``_count``).
        dtype: Its pandas dtype. Unknown values are NaN, so only columns that are always known are integers.
        meaning: What a value says, in one or two sentences.
    """

    name: str
    dtype: str
    meaning: str


@dataclass(frozen=True)
class Schema:
    """The contract of one kind of frame."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """The columns' names, in order."""
        return [column.name for column in self.columns]

    def conform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The same rows with exactly this Schema's columns, in order, with their dtypes and a fresh index.

        Args:
            frame: Has at least the Schema's columns that are not float; a float column that is absent is unknown.

        Raises:
            KeyError: A column that cannot be unknown is absent: a defect of the caller.
        """
        data = {}
        for column in self.columns:
            if column.name in frame.columns:
                values = frame[column.name].astype(column.dtype).array
                # A Series, since pandas 3 would infer a dtype of its own for an array of objects.
                data[column.name] = pd.Series(values, dtype=values.dtype, copy=False)
            elif column.dtype == FLOAT:
                data[column.name] = np.broadcast_to(np.nan, len(frame))  # takes no memory
            else:
                raise KeyError(f"{self.name}.{column.name} is missing")
        return pd.DataFrame(data, copy=False)  # copying would double the memory of large recordings

    def empty(self) -> pd.DataFrame:
        """A frame of this kind without rows."""
        return pd.DataFrame({c.name: pd.Series(dtype=c.dtype) for c in self.columns})

    def concat(self, frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
        """The rows of several frames of this kind, in the order given."""
        parts = [frame for frame in frames if not frame.empty]
        if not parts:
            return self.empty()
        return parts[0] if len(parts) == 1 else self.conform(pd.concat(parts, ignore_index=True))


_GPU = Column("gpu", INT, "Number of the GPU in the recording, as Nsight Systems counts them.")
_START = Column("start_ns", INT, "Start on the recording's clock; may be negative, before the capture began.")
_END = Column("end_ns", INT, "End on the recording's clock; the interval is half-open.")

GPUS = Schema(
    "gpus",
    "The GPUs of the recording.",
    (
        _GPU,
        Column("name", TEXT, "The GPU's name."),
        Column("chip", TEXT, "The chip's name, such as GH100; empty where the export has none."),
        Column("sm_count", FLOAT, "Streaming multiprocessors."),
        Column("clock_hz", FLOAT, "The highest SM clock."),
        Column("memory_bytes", FLOAT, "Device memory."),
    ),
)

SAMPLES = Schema(
    "samples",
    "GPU metric samples. A value holds for the sample's whole interval; gaps in sampling are gaps between the rows.",
    (
        _GPU,
        _START,
        _END,
        Column(
            "tensor_active_pct",
            FLOAT,
            "Cycles in which the tensor pipe was active, of the cycles that passed, over all SMs. From tensor cycles "
            "where they are recorded, else Nsight Systems' whole percentages, where 1 is anything from 0 to 1.5.",
        ),
        Column("tensor_cycles", FLOAT, "Active cycles of the tensor pipes in the sample, over all SM sub-partitions."),
        Column("gr_active_pct", FLOAT, "Time in which the graphics and compute engine was active."),
        Column("sm_active_pct", FLOAT, "Cycles in which an SM held at least one warp, mean over the SMs."),
        Column("sm_issue_pct", FLOAT, "Cycles in which an SM issued an instruction, mean over the SMs."),
        Column("dram_read_pct", FLOAT, "Memory read bandwidth, of the peak."),
        Column("dram_write_pct", FLOAT, "Memory write bandwidth, of the peak."),
        Column("gpc_clock_hz", FLOAT, "Clock of the graphics processing clusters, that is of the SMs."),
    ),
)
SAMPLE_METRICS = tuple(SAMPLES.names[3:])

RANGES = Schema(
    "ranges",
    "NVTX ranges as recorded: push/pop and start/end.",
    (
        Column("process", INT, "Process that opened the range."),
        Column("thread", INT, "Thread that opened the range, within its process."),
        Column("domain", CATEGORY, "NVTX domain; empty for the default one."),
        Column("name", CATEGORY, "The range's name; (unnamed) where it has none."),
        _START,
        Column("end_ns", INT, "End on the recording's clock; of a range that never closed, the end of the recording."),
    ),
)

LAUNCHES = Schema(
    "launches",
    "CUDA API calls that started work on a GPU.",
    (
        Column("process", INT, "Process that made the call."),
        Column("thread", INT, "Thread that made the call, within its process."),
        Column("correlation", INT, "Number that ties the call to its activities, unique within the process."),
        _START,
    ),
)

ACTIVITIES = Schema(
    "activities",
    "Work on a GPU: kernels, copies, sets, and CUDA graphs that were recorded as a whole.",
    (
        _GPU,
        Column("kind", CATEGORY, "kernel, memcpy, memset or graph."),
        Column("name", CATEGORY, "The kernel's demangled name; of a copy its direction; else the kind."),
        Column("stream", INT, "CUDA stream within the process's context."),
        Column("process", INT, "Process that started it; -1 where the export does not say."),
        Column("correlation", INT, "Number of the launch within the process; -1 where there is none."),
        _START,
        _END,
    ),
)

DIAGNOSTICS = Schema(
    "diagnostics",
    "What Nsight Systems said about its own recording.",
    (
        Column("severity", TEXT, "information, warning, error or verbose."),
        Column("text", TEXT, "The message."),
    ),
)

_TENSOR = (
    Column("tensor_active_mean_pct", FLOAT, "Mean Tensor Active over the sampled part of the window."),
    Column(
        "tensor_active_low_pct",
        FLOAT,
        "Lower end of the mean's 95 % interval: bootstrap over the instances (at least 5), widened by what rounding "
        "can have done where samples are rounded.",
    ),
    Column("tensor_active_high_pct", FLOAT, "Upper end of the mean's 95 % interval."),
    Column("tensor_active_peak_pct", FLOAT, "Largest sample at least half inside the window."),
    Column("tensor_active_p95_pct", FLOAT, "95th percentile of the samples, weighted by overlap with the window."),
    Column("tensor_active_s", FLOAT, "Tensor-active time: Tensor Active integrated over the window. It adds up."),
    Column("tensor_cycles", FLOAT, "Tensor cycles in the window, over all SM sub-partitions, where recorded."),
    Column("coverage_pct", FLOAT, "Share of the window that lies under samples. Below 50 % no mean is given."),
)

INSTANCES = Schema(
    "instances",
    "Each instance of each range on each GPU that its process used.",
    (
        _GPU,
        Column("range", INT, "Row of the range in the frame of ranges."),
        Column("path_id", INT, "Row of its path in the frame of paths."),
        Column("host_start_ns", INT, "Start of the range on the CPU."),
        Column("host_end_ns", INT, "End of the range on the CPU."),
        Column("activity_count", INT, "Activities launched in it."),
        Column("inherited_count", INT, "Of these, launched by another thread that had no range of its own."),
        Column("kernel_count", INT, "Kernels and graphs launched in it."),
        Column("kernel_ns", INT, "Sum of these kernels' durations."),
        Column("gpu_start_ns", FLOAT, "Start of its first activity on the GPU; unknown if it has none."),
        Column("gpu_end_ns", FLOAT, "End of its last activity on the GPU; unknown if it has none."),
        Column("tensor_active_mean_pct", FLOAT, "Mean Tensor Active over the sampled part of the window."),
        Column("tensor_active_s", FLOAT, "Tensor Active integrated over the window."),
        Column("tensor_cycles", FLOAT, "Tensor cycles in the window."),
        Column("coverage_pct", FLOAT, "Share of the window that lies under samples."),
    ),
)

PATHS = Schema(
    "paths",
    "Each path: the names of a range and of the ranges that it lies in, joined by ' / '.",
    (
        Column("domain", TEXT, "NVTX domain; empty for the default one."),
        Column("path", TEXT, "The names from the outermost range inwards, joined by ' / '."),
        Column("name", TEXT, "The innermost name."),
        Column("depth", INT, "1 for an outermost range."),
    ),
)

RANGE_SUMMARY = Schema(
    "range_summary",
    "One row for each GPU and path, over all its instances, and one with an empty path for the whole capture.",
    (
        _GPU,
        Column("domain", TEXT, "NVTX domain; empty for the default one."),
        Column("path", TEXT, "The path; empty for the whole capture."),
        Column("name", TEXT, "The innermost name of the path; empty for the whole capture."),
        Column("depth", INT, "1 for an outermost range, 0 for the whole capture."),
        Column("instance_count", INT, "Instances of the path, in the processes that used the GPU."),
        Column("activity_count", INT, "Activities on the GPU launched in them."),
        Column("inherited_count", INT, "Of these, launched by another thread that had no range of its own."),
        Column("kernel_count", INT, "Kernels and graphs launched in them."),
        Column("host_ns", INT, "Sum of the instances' durations on the CPU; of the capture, its length."),
        Column("gpu_window_ns", FLOAT, "Time from an instance's first activity to its last, over all instances."),
        Column("busy_ns", FLOAT, "Time under at least one of its activities."),
        Column("kernel_ns", INT, "Sum of the durations of its kernels and graphs."),
        Column("window_ns", FLOAT, "Length of the windows that the figures from samples are taken over."),
        *_TENSOR,
    ),
)

COMPARISON = Schema(
    "comparison",
    "One row for each GPU, path and quantity of two recordings. Times are means per instance.",
    (
        _GPU,
        Column("domain", TEXT, "NVTX domain; empty for the default one."),
        Column("path", TEXT, "The path; empty for the whole capture."),
        Column("depth", INT, "1 for an outermost range, 0 for the whole capture."),
        Column("quantity", TEXT, "What is compared; its unit stands at the end."),
        Column("base", FLOAT, "The baseline's value."),
        Column("new", FLOAT, "The other recording's value."),
        Column("difference", FLOAT, "new - base."),
        Column("ratio", FLOAT, "new / base; unknown where the baseline is 0."),
        Column("base_instance_count", FLOAT, "Instances in the baseline; unknown where it has none."),
        Column("new_instance_count", FLOAT, "Instances in the other recording; unknown where it has none."),
    ),
)

SCHEMAS = (GPUS, SAMPLES, RANGES, LAUNCHES, ACTIVITIES, DIAGNOSTICS, PATHS, INSTANCES, RANGE_SUMMARY, COMPARISON)
