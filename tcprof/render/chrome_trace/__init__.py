"""A recording as a trace for Perfetto and chrome://tracing: ranges, work on the GPUs, and the counters beside them.

A GPU is a process of the trace, and so is each process that opened ranges. docs/export.md explains how to read it.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from tcprof.analysis import Analysis
from tcprof.arrays import Floats, Ints
from tcprof.findings import Findings
from tcprof.frames import COUNTED, SAMPLE_METRICS, SAMPLES
from tcprof.outputs import replace_file
from tcprof.render.chrome_trace.events import OUTSIDE, Drawing, Lane, Slices, Texts, open_drawing, quoted
from tcprof.render.formats.json import plain
from tcprof.version import __version__
from tcprof.views.recording import recording_data

FAULTS = 2 * OUTSIDE  # the process that they are drawn in; GPUs are processes from OUTSIDE on
_UNITS = {"pct": ("%", 1.0), "hz": ("MHz", 1e-6)}  # unit of a column -> that of its track, and the scale factor
# Column of the samples, name of the track, its unit, and the scale factor.
COUNTERS = tuple(
    (column.name, column.title, *_UNITS.get(column.unit, (column.unit or "value", 1.0)))
    for column in SAMPLES.columns
    if column.name in SAMPLE_METRICS and column.unit not in COUNTED
)
_OF_KERNEL = (
    *("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct", "launch_count", "median_ns"),
    *("bound", "fit", "name_verdict", "precision", "family", "tile"),
)
_OF_INSTANCE = ("tensor_active_mean_pct", "tensor_cycles", "coverage_pct", "kernel_count", "kernel_ns")


def write_chrome_trace(analysis: Analysis, findings: Findings, target: Path) -> None:
    """Write a recording in the Trace Event Format; compressed, if the file's name ends in .gz.

    Times are those of the recording. The format's readers take no negative times: samples from before zero are left
    out, and where a range or work on a GPU began before, all times are counted from the first of them.
    """
    ranges = analysis.nvtx_ranges
    zero = min([0, *(int(frame["start_ns"].min()) for frame in (ranges, analysis.activities) if len(frame))])
    about = {
        "tcprof": __version__,
        "recording": plain(recording_data(analysis)),
        "zero_ns": zero,
        "faults": findings.faults,
        "warnings": findings.warnings,
    }
    with replace_file(target) as path, open_drawing(path, about, zero) as drawing:
        if findings.faults:
            drawing.process("tcprof: read this before the figures", FAULTS)
            drawing.slices(FAULTS, _faults(analysis, findings.faults))
        for gpu, name in _recorded_gpus(analysis):
            drawing.process(f"GPU {gpu}: {name}", OUTSIDE + gpu)
            _draw_samples(drawing, OUTSIDE + gpu, analysis.samples, gpu, zero)
            drawing.slices(OUTSIDE + gpu, _projected(analysis, ranges, gpu))
            drawing.slices(OUTSIDE + gpu, _activities(analysis, gpu))
        for process in np.unique(ranges["process"]).tolist():
            drawing.process(f"process {process}", process)
            drawing.slices(process, _ranges(analysis, ranges, process))


def _recorded_gpus(analysis: Analysis) -> list[tuple[int, str]]:
    """Number and name of the GPUs that were sampled or used."""
    recorded = {*analysis.samples["gpu"].unique(), *analysis.activities["gpu"].unique()}
    gpus = zip(analysis.gpus["gpu"].tolist(), analysis.gpus["name"].tolist(), strict=True)
    return [(gpu, name) for gpu, name in gpus if gpu in recorded]


def _faults(analysis: Analysis, faults: tuple[str, ...]) -> Slices:
    rows, zeros = np.arange(len(faults)), np.zeros(len(faults), dtype=np.int64)
    frames = (analysis.samples, analysis.activities, analysis.instances.rename(columns={"host_end_ns": "end_ns"}))
    last = max([1, *(int(frame["end_ns"].max()) for frame in frames if len(frame))])
    return Slices(
        lanes=[Lane("faults")],
        lane=zeros,
        start=zeros,
        end=zeros + last,
        row="fault",
        number=rows,
        name=(rows, quoted(faults)),
        category=(zeros, quoted(["fault"])),
    )


def _draw_samples(drawing: Drawing, pid: int, samples: pd.DataFrame, gpu: int, zero: int) -> None:
    first, last = np.searchsorted(samples["gpu"], [gpu, gpu + 1])
    first += int(np.searchsorted(samples["end_ns"].to_numpy()[first:last], zero, side="right"))
    start, end = (samples[name].to_numpy()[first:last] for name in ("start_ns", "end_ns"))
    start = np.maximum(start, zero)
    gaps = [("samples", *_gaps(start, end))]
    for column, name, unit, scale in COUNTERS:
        value = samples[column].to_numpy()[first:last]
        unknown = np.isnan(value)
        if unknown.all():
            continue
        drawing.counter(pid, name, unit, start, end, value * scale)
        if unknown.any():
            bounds = start[:1], end[-1:]  # as samples without a length
            known = [np.concatenate((bounds[0], times[~unknown], bounds[1])) for times in (start, end)]
            gaps.append((name, *_gaps(*known)))
    drawing.slices(pid, _unsampled(gaps))


def _gaps(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    apart = start[1:] > end[:-1]
    return end[:-1][apart], start[1:][apart]


def _unsampled(gaps: list[tuple[str, Ints, Ints]]) -> Slices:
    """Stretches in which counters are drawn at 0 since they are not known."""
    names = [f"no {what}" for what, _, _ in gaps]
    lane = np.repeat(np.arange(len(gaps)), [len(start) for _, start, _ in gaps])
    return Slices(
        lanes=[Lane(name) for name in names],
        lane=lane,
        start=np.concatenate([start for _, start, _ in gaps]),
        end=np.concatenate([end for _, _, end in gaps]),
        row="gap",
        number=np.arange(len(lane)),
        name=(lane, quoted(names)),
        category=(np.zeros_like(lane), quoted(["gap"])),
    )


def _activities(analysis: Analysis, gpu: int) -> Slices:
    rows = np.flatnonzero(analysis.activities["gpu"] == gpu)
    work = analysis.activities.iloc[rows]
    by = work.groupby(["process", "stream"])
    streams = by.size().index
    several = len({process for process, _ in streams}) > 1
    lanes = [Lane(f"stream {s} of process {p}" if several else f"stream {s}") for p, s in streams]
    own, kernel = _fitted(analysis, rows)
    tensor = np.append(analysis.kernels["tensor_kernel"].to_numpy(), False)[kernel]
    kinds = work["kind"].cat.categories.tolist()
    names = [*kinds, *(f"{kind},tensor" for kind in kinds)]
    return Slices(
        lanes=lanes,
        lane=by.ngroup().to_numpy(np.int64),
        start=work["start_ns"].to_numpy(),
        end=work["end_ns"].to_numpy(),
        row="activity",
        number=rows,
        name=_texts(work["name"]),
        category=(work["kind"].cat.codes.to_numpy(np.int64) + len(kinds) * tensor, quoted(names)),
        shared={**_geometry(work["launch_geometry"]), "kernel": (kernel, _kernels(analysis.kernels))},
        own={"process": work["process"].to_numpy(), "stream": work["stream"].to_numpy(), **own},
    )


def _fitted(analysis: Analysis, rows: Ints) -> tuple[dict[str, Floats], Ints]:
    """What the fit gives to some of the activities: figures of the launch, and the row of its kernel, -1 for none."""
    launched = analysis.kernel_instances
    place = pd.Index(launched["activity"]).get_indexer(rows)
    known = place >= 0
    figures = {name: np.full(len(rows), np.nan) for name in ("tensor_active_pct", "tensor_cycles")}
    kernel = np.full(len(rows), -1, dtype=np.int64)
    of_launch = launched.iloc[place[known]]
    with np.errstate(divide="ignore", invalid="ignore"):  # a launch without a duration has none
        share = of_launch["tensor_active_ns"].to_numpy() / of_launch["duration_ns"].to_numpy()
    figures["tensor_active_pct"][known] = 100 * share
    figures["tensor_cycles"][known] = of_launch["tensor_cycles"]
    kernel[known] = of_launch["kernel"]
    return figures, kernel


def _kernels(kernels: pd.DataFrame) -> pa.Array:
    """What is known of each kernel over all its launches, as an object."""
    rows = plain(kernels[list(_OF_KERNEL)].round(6))
    return quoted({name: value for name, value in row.items() if value is not None and value != ""} for row in rows)


def _geometry(column: pd.Series) -> dict[str, Texts]:
    """Grid and block; a copy has none."""
    texts = [text.partition(" ") for text in column.cat.categories]
    known = np.array([bool(grid) for grid, _, _ in texts] or [False])
    codes = column.cat.codes.to_numpy(np.int64)
    codes = np.where(known[codes], codes, -1)
    return {
        "grid": (codes, quoted([grid for grid, _, _ in texts])),
        "block": (codes, quoted([block for _, _, block in texts])),
    }


def _texts(column: pd.Series) -> Texts:
    return column.cat.codes.to_numpy(np.int64), quoted(column.cat.categories)


def _ranges(analysis: Analysis, ranges: pd.DataFrame, process: int) -> Slices:
    """The ranges of a process as on the CPU, a lane for each thread and domain."""
    rows = np.flatnonzero(ranges["process"] == process)
    by = ranges.iloc[rows].groupby(["thread", "domain"], observed=True)
    instances = analysis.instances[analysis.instances["range"].isin(rows)]
    path = np.full(len(ranges), -1, dtype=np.int64)
    path[instances["range"]] = instances["path_id"]
    used = instances[(instances["activity_count"] > 0) | instances["tensor_active_mean_pct"].notna()]
    several = used["gpu"].nunique() > 1
    own = {}
    for gpu, of_gpu in used.groupby("gpu"):
        place = pd.Index(of_gpu["range"]).get_indexer(rows)
        for name in _OF_INSTANCE:
            values = np.append(of_gpu[name].to_numpy(np.float64), np.nan)
            own[f"GPU {gpu} {name}" if several else name] = values[place]
    return Slices(
        lanes=[Lane(_thread_name(thread, domain), None if domain else thread) for thread, domain in by.size().index],
        lane=by.ngroup().to_numpy(np.int64),
        start=ranges["start_ns"].to_numpy()[rows],
        end=ranges["end_ns"].to_numpy()[rows],
        row="range",
        number=rows,
        name=_texts(ranges["name"].iloc[rows]),
        category=(np.zeros_like(rows), quoted(["range"])),
        shared={"path": (path[rows], quoted(analysis.paths["path"].tolist()))},
        own=own,
    )


def _projected(analysis: Analysis, ranges: pd.DataFrame, gpu: int) -> Slices:
    """The ranges on a GPU, each from its first activity to its last."""
    instances = analysis.instances
    instances = instances[(instances["gpu"] == gpu) & instances["gpu_start_ns"].notna()]
    origin = ranges.iloc[instances["range"].to_numpy()]
    by = origin.groupby(["process", "thread", "domain"], observed=True)
    owners = by.size().index
    several = len({process for process, _, _ in owners}) > 1
    names = [
        f"ranges of {_thread_name(thread, domain)}" + (f" of process {process}" if several else "")
        for process, thread, domain in owners
    ]
    return Slices(
        lanes=[Lane(name) for name in names],
        lane=by.ngroup().to_numpy(np.int64),
        start=instances["gpu_start_ns"].to_numpy(np.int64),
        end=instances["gpu_end_ns"].to_numpy(np.int64),
        row="range",
        number=instances["range"].to_numpy(),
        name=_texts(origin["name"]),
        category=(np.zeros(len(instances), dtype=np.int64), quoted(["range,gpu"])),
        shared={"path": (instances["path_id"].to_numpy(), quoted(analysis.paths["path"].tolist()))},
        own={name: instances[name].to_numpy() for name in _OF_INSTANCE},
    )


def _thread_name(thread: int, domain: str) -> str:
    return f"thread {thread} [{domain}]" if domain else f"thread {thread}"
