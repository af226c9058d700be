"""What a page says in words and single figures: verdict, tiles, what to trust, and where the figures come from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tcprof import __version__, units
from tcprof.analysis import Analysis
from tcprof.analysis.intervals import union
from tcprof.analysis.sampling import rounding_slack
from tcprof.report.figures.lanes import one_line
from tcprof.report.pages.iterations import IterationFigures, Typical, measure_iterations
from tcprof.report.pages.trust import Check, list_checks
from tcprof.report.pages.verdict import describe_capture_in_words, describe_iterations_in_words
from tcprof.report.wording import SOURCE_MEANINGS, WINDOW_MEANINGS, Format, format_interval

SOURCE_NOTES = {
    "cycles": "Tensor Active comes from exact tensor cycles.",
    "rounded": "Rounded samples: Tensor Active comes from whole percentages, and anything above 0 reads at least 1, so "
    "that small means are too high; the interval of a mean says where the truth may lie.",
    "none": "The recording has no samples of Tensor Active.",
}
NOT_TRACED = "no work on a GPU was recorded"


@dataclass(frozen=True)
class Tile:
    """One summary figure: what, how much, its 95 % interval where it has one, and over which window."""

    title: str
    value: str
    interval: str
    caption: str


@dataclass(frozen=True)
class GpuSummary:
    """One GPU of a recording in words and figures.

    Attributes:
        gpu: Number of the GPU.
        title: Number and name.
        verdict: Sentences, the most important first.
        tiles: The summary figures.
        checks: What was checked before the figures can be trusted.
    """

    gpu: int
    title: str
    verdict: tuple[str, ...]
    tiles: tuple[Tile, ...]
    checks: tuple[Check, ...]


def summarize(analysis: Analysis) -> list[GpuSummary]:
    """Each GPU that the range summary has."""
    captures = analysis.ranges[analysis.ranges["path"] == ""].drop_duplicates("gpu")
    return [_summarize_gpu(analysis, row) for _, row in captures.iterrows()]


def gpu_title(analysis: Analysis, gpu: int) -> str:
    """A GPU's number and name."""
    names = analysis.gpus.loc[analysis.gpus["gpu"] == gpu, "name"]
    name = one_line(str(names.iloc[0])) if len(names) else ""
    return f"GPU {gpu}" if name in ("", f"GPU {gpu}") else f"GPU {gpu}, {name}"


def _summarize_gpu(analysis: Analysis, row: pd.Series) -> GpuSummary:
    gpu = int(row["gpu"])
    figures = measure_iterations(analysis, gpu)
    if figures is None:
        busy_ns, span_ns = _busy_time(analysis, gpu)
        verdict = describe_capture_in_words(analysis, row, units.format_ns(span_ns))
        tiles = _capture_tiles(analysis, row, busy_ns, span_ns)
    else:
        verdict = describe_iterations_in_words(analysis, gpu, figures)
        tiles = _iteration_tiles(analysis, row, figures)
    return GpuSummary(gpu, gpu_title(analysis, gpu), verdict, tiles, list_checks(analysis, row, figures))


def _busy_time(analysis: Analysis, gpu: int) -> tuple[float, float]:
    """Time under activities within the capture, and its length: the samples' span, or without them the activities'."""
    samples = analysis.samples[analysis.samples["gpu"] == gpu]
    activities = analysis.activities[analysis.activities["gpu"] == gpu]
    whole = samples if len(samples) else activities
    if not len(whole):
        return math.nan, math.nan
    low, high = int(whole["start_ns"].min()), int(whole["end_ns"].max())
    if not len(analysis.activities):
        return math.nan, high - low  # nothing was traced, so nothing is known about the GPU's work
    start, end = (activities[name].to_numpy().clip(low, high) for name in ("start_ns", "end_ns"))
    _, starts, ends = union(np.zeros(len(activities), dtype=np.int64), start, end)
    return float((ends - starts).sum()), high - low


def _iteration_tiles(analysis: Analysis, row: pd.Series, figures: IterationFigures) -> tuple[Tile, ...]:
    """Medians of the iterations, and over all of them what has no median."""
    gpu = int(row["gpu"])
    median = f"median of {_plural(figures.count, 'iteration')}"
    warm_up = f"; {units.format_count(figures.warm_up_count)} of warm-up left out" if figures.warm_up_count else ""
    measured = not math.isnan(figures.tensor_active_pct.value)
    windows = {"gpu": "its gpu window", "host": "its time on the CPU", "busy": "the time under its work"}
    rounded = "; rounded samples" if analysis.tensor_source == "rounded" else ""
    active = f"mean over {windows[analysis.window]}, {median}{rounded}" if measured else _unsampled(analysis)
    kernels = "of an iteration's kernel time" + (", by kernel names" if analysis.tensor_source == "none" else "")
    kernels = f"{kernels}, {median}"
    if math.isnan(figures.tensor_kernel_share_pct.value):
        kernels = "not known: no kernels, or CUDA graphs recorded as a whole"
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & analysis.ranges["path"].isin(figures.paths)]
    return (
        _tile("Time per iteration", figures.window_ns, units.format_ns, f"first to last activity, {median}{warm_up}"),
        _tile("Tensor Active", figures.tensor_active_pct, units.format_pct, active),
        _tile("Tensor kernels", figures.tensor_kernel_share_pct, units.format_pct, kernels),
        _tile("GPU idle", figures.idle_pct, units.format_pct, f"of an iteration's gpu window, {median}"),
        Tile("Highest sample", units.format_pct(row["tensor_active_peak_pct"]), "", _peak_caption(analysis, gpu)),
        *_flop_tile(analysis, rows, f"over all {units.format_count(rows['instance_count'].sum())} iterations"),
    )


def _tile(title: str, found: Typical, text: Format, caption: str) -> Tile:
    interval = format_interval(found.low, found.high, text) or (text(found.low) if found.low <= found.high else "")
    return Tile(title, text(found.value), interval, caption)


def _capture_tiles(analysis: Analysis, row: pd.Series, busy_ns: float, span_ns: float) -> tuple[Tile, ...]:
    """Figures of the whole capture."""
    gpu = int(row["gpu"])
    known = not math.isnan(row["tensor_active_mean_pct"])
    sampled = bool((analysis.samples["gpu"] == gpu).any())
    span = units.format_ns(span_ns)
    over = f"over the {span} sampled" if sampled else f"over the {span} from its first activity to its last"
    rounded = "; rounded samples" if analysis.tensor_source == "rounded" else ""
    traced = len(analysis.activities) > 0
    share = row["tensor_kernel_share_pct"]
    by_name = ", estimated from kernel names" if analysis.tensor_source == "none" else ", by their Tensor Active"
    tensor = [Tile("Tensor kernels", units.format_pct(share), "", f"of the kernel time{by_name}")]
    busy_pct = 100 * busy_ns / span_ns if span_ns > 0 else math.nan
    return (
        Tile(
            "Tensor Active",
            units.format_pct(row["tensor_active_mean_pct"]),
            _rounding_interval(analysis, gpu) if known else "",
            f"mean {over}{rounded}" if known else _unsampled(analysis),
        ),
        Tile("Highest sample", units.format_pct(row["tensor_active_peak_pct"]), "", _peak_caption(analysis, gpu)),
        *([] if math.isnan(share) else tensor),
        *_flop_tile(analysis, row.to_frame().T, over),
        Tile("GPU busy", units.format_pct(busy_pct), "", f"with kernels or copies, {over}" if traced else NOT_TRACED),
        Tile(
            "Kernel time",
            units.format_ns(row["kernel_ns"] if traced else math.nan),
            "",
            f"{_plural(row['kernel_count'], 'kernel')}, durations added up" if traced else NOT_TRACED,
        ),
    )


def _rounding_interval(analysis: Analysis, gpu: int) -> str:
    """Where the capture's mean may lie, since each sample was rounded; empty for exact samples."""
    samples = analysis.samples[(analysis.samples["gpu"] == gpu) & analysis.samples["tensor_active_pct"].notna()]
    if analysis.tensor_source != "rounded" or not len(samples):
        return ""
    value, length = samples["tensor_active_pct"].to_numpy(), samples["end_ns"] - samples["start_ns"]
    below, above = rounding_slack(value)
    low, high = (float(np.average(bound, weights=length)) for bound in (value - below, value + above))
    return format_interval(low, high, units.format_pct)


def _flop_tile(analysis: Analysis, rows: pd.DataFrame, over: str) -> tuple[Tile, ...]:
    """The rate of operations on the Tensor Cores over the windows of some rows of the range summary, if it is known."""
    flop, window = (rows[name].astype(float) for name in ("tensor_flop", "window_ns"))
    rate = flop.sum(skipna=False) / window.sum() * 1e-3 if window.sum() > 0 else math.nan  # FLOP/ns are 10^9 FLOP/s
    if math.isnan(rate) or analysis.tensor_source == "none":
        return ()
    peak = (rows["tensor_peak_pct"].astype(float) * window).sum(skipna=False) / window.sum()
    of_peak = "" if not peak > 0 else f"{units.format_pct(peak)} of the chip's peak at the sampled clock, "
    return (Tile("Tensor FLOP/s", units.format_flops(rate), "", f"{of_peak}{over}"),)


def _plural(count: float, noun: str) -> str:
    return f"{units.format_count(count)} {noun if count == 1 else noun + 's'}"


def _unsampled(analysis: Analysis) -> str:
    return "not recorded" if analysis.tensor_source == "none" else "too little was sampled"


def _peak_caption(analysis: Analysis, gpu: int) -> str:
    samples = analysis.samples[analysis.samples["gpu"] == gpu]
    known = samples[samples["tensor_active_pct"].notna()]
    if not len(known):
        return _unsampled(analysis)
    period = (known["end_ns"] - known["start_ns"]).median()
    return f"highest of {units.format_count(len(known))} samples of {units.format_ns(period)}, whole capture"


def describe_provenance(analysis: Analysis) -> list[tuple[str, str]]:
    """Where the figures come from: names and values."""
    recording = analysis.recording
    chips = [_describe_gpu(gpu) for gpu in analysis.gpus.to_dict("records")]
    known = analysis.samples["tensor_active_pct"].notna().sum()
    return [
        ("File", one_line(recording.file, 120)),
        *((f"GPU {gpu}", text) for gpu, text in zip(analysis.gpus["gpu"], chips, strict=True)),
        ("NVIDIA driver", recording.driver_version or units.UNKNOWN),
        ("Nsight Systems", recording.nsys_version or units.UNKNOWN),
        ("Export schema", recording.schema_version or units.UNKNOWN),
        ("Recorded at", recording.started_utc or units.UNKNOWN),
        ("Length of the recording", units.format_ns(recording.duration_ns)),
        ("Sampling frequency asked for", units.format_hz(recording.frequency_hz)),
        ("Samples", f"{units.format_count(len(analysis.samples))}, {units.format_count(known)} with Tensor Active"),
        ("Activities on the GPU", units.format_count(len(analysis.activities))),
        ("Tensor Active from", SOURCE_MEANINGS[analysis.tensor_source]),
        ("Windows", WINDOW_MEANINGS[analysis.window]),
        ("tcprof", __version__),
    ]


def _describe_gpu(gpu: Mapping[Any, Any]) -> str:
    """What is known of a GPU, in one line."""
    facts = (
        f"{one_line(gpu['name'])}" + (f" ({one_line(gpu['chip'])})" if gpu["chip"] else ""),
        f"{units.format_count(gpu['sm_count'])} SMs" if gpu["sm_count"] > 0 else "",
        f"SM clock up to {units.format_hz(gpu['clock_hz'])}" if gpu["clock_hz"] > 0 else "",
        units.format_bytes(gpu["memory_bytes"]) if gpu["memory_bytes"] > 0 else "",
    )
    return ", ".join(fact for fact in facts if fact)
