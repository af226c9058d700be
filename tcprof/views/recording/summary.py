"""What a page says in words and single figures: verdict, tiles, what to trust, and where the figures come from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tcprof import __version__, units
from tcprof.analysis import Analysis
from tcprof.analysis.sampling import rounding_slack
from tcprof.comparison.typical import find_typical
from tcprof.findings import Check, GpuFindings, judge, why_no_kernels
from tcprof.findings.iterations import IterationFigures
from tcprof.findings.verdict import describe_span
from tcprof.findings.words import WINDOW_NAMES
from tcprof.report.wording import SOURCE_MEANINGS, WINDOW_MEANINGS, Format, format_interval, lower_first
from tcprof.untrusted import one_line

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
    return [_summarize_gpu(analysis, found) for found in judge(analysis).gpus]


def gpu_title(analysis: Analysis, gpu: int) -> str:
    """A GPU's number and name."""
    names = analysis.gpus.loc[analysis.gpus["gpu"] == gpu, "name"]
    name = one_line(str(names.iloc[0])) if len(names) else ""
    return f"GPU {gpu}" if name in ("", f"GPU {gpu}") else f"GPU {gpu}, {name}"


def _summarize_gpu(analysis: Analysis, found: GpuFindings) -> GpuSummary:
    rows = analysis.ranges[(analysis.ranges["gpu"] == found.gpu) & (analysis.ranges["depth"] == 0)]
    row, figures = rows.iloc[0], found.figures
    tiles = _capture_tiles(analysis, row) if figures is None else _iteration_tiles(analysis, row, figures)
    return GpuSummary(found.gpu, gpu_title(analysis, found.gpu), found.sentences, tiles, found.checks)


def _iteration_tiles(analysis: Analysis, row: pd.Series, figures: IterationFigures) -> tuple[Tile, ...]:
    """Means over the iterations' windows together, as in the verdict and the tables; of their time the median."""
    gpu = int(row["gpu"])
    over = f"mean over {_plural(figures.count, 'iteration')}"
    measured = not math.isnan(figures.tensor_active_pct)
    rounded = "; rounded samples" if analysis.tensor_source == "rounded" else ""
    active = f"of the {WINDOW_NAMES[analysis.window]}, {over}{rounded}" if measured else _unsampled(analysis)
    kernels = "of the kernel time" + (", by kernel names" if analysis.tensor_source == "none" else "") + f", {over}"
    if math.isnan(figures.tensor_kernel_share_pct):
        kernels = f"not known: {lower_first(why_no_kernels(analysis) or 'CUDA graphs were recorded as a whole')}"
    interval = _interval(figures.low_pct, figures.high_pct, units.format_pct)
    return (
        *_time_tile(analysis, gpu),
        Tile("Tensor Active", units.format_pct(figures.tensor_active_pct), interval, active),
        Tile("Tensor kernels", units.format_pct(figures.tensor_kernel_share_pct), "", kernels),
        Tile("GPU idle", units.format_pct(figures.idle_pct), "", f"of the gpu windows, {over}"),
        _peak_tile(analysis, row),
        *_flop_tile(analysis, figures.rows, f"over the {WINDOW_NAMES[analysis.window]}"),
    )


def _time_tile(analysis: Analysis, gpu: int) -> tuple[Tile, ...]:
    typical = find_typical(analysis, gpu)
    if typical is None:
        return ()
    time, caption = typical.window_ns, f"first to last activity, median of {_plural(typical.count, 'iteration')}"
    interval = _interval(time.low, time.high, units.format_ns)
    return (Tile("Time per iteration", units.format_ns(time.value), interval, caption),)


def _interval(low: float, high: float, text: Format) -> str:
    """An interval; one whose ends read the same is that one figure."""
    return format_interval(low, high, text) or (text(low) if low <= high else "")


def _capture_tiles(analysis: Analysis, row: pd.Series) -> tuple[Tile, ...]:
    """Figures of the whole capture."""
    gpu = int(row["gpu"])
    known = not math.isnan(row["tensor_active_mean_pct"])
    over = f"over the {describe_span(row)}"
    rounded = "; rounded samples" if analysis.tensor_source == "rounded" else ""
    traced = len(analysis.activities) > 0
    share = row["tensor_kernel_share_pct"]
    by_name = ", estimated from kernel names" if analysis.tensor_source == "none" else ", by their Tensor Active"
    tensor = [Tile("Tensor kernels", units.format_pct(share), "", f"of the kernel time{by_name}")]
    busy_ns = row["busy_ns"] if row["activity_count"] or not traced else 0.0  # without a trace it is not known
    busy_pct = 100 * busy_ns / row["window_ns"] if row["window_ns"] > 0 else math.nan
    return (
        Tile(
            "Tensor Active",
            units.format_pct(row["tensor_active_mean_pct"]),
            _rounding_interval(analysis, gpu) if known else "",
            f"mean {over}{rounded}" if known else _unsampled(analysis),
        ),
        _peak_tile(analysis, row),
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


def _samples_of_capture(analysis: Analysis, gpu: int) -> pd.DataFrame:
    """The samples of Tensor Active within a GPU's whole capture, cut at its borders."""
    samples = analysis.samples[(analysis.samples["gpu"] == gpu) & analysis.samples["tensor_active_pct"].notna()]
    activities = analysis.activities[analysis.activities["gpu"] == gpu]
    if not len(activities):
        return samples
    within = (int(activities["start_ns"].min()), int(activities["end_ns"].max()))
    cut = samples.assign(start_ns=samples["start_ns"].clip(*within), end_ns=samples["end_ns"].clip(*within))
    return cut[cut["end_ns"] > cut["start_ns"]]


def _rounding_interval(analysis: Analysis, gpu: int) -> str:
    """Where the capture's mean may lie, since each sample was rounded; empty for exact samples."""
    samples = _samples_of_capture(analysis, gpu)
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


def _peak_tile(analysis: Analysis, row: pd.Series) -> Tile:
    """The highest sample of the whole capture."""
    samples = _samples_of_capture(analysis, int(row["gpu"]))
    caption = _unsampled(analysis)
    if len(samples):
        period = units.format_ns((samples["end_ns"] - samples["start_ns"]).median())
        caption = f"highest of {units.format_count(len(samples))} samples of {period}, whole capture"
    return Tile("Highest sample", units.format_pct(row["tensor_active_peak_pct"]), "", caption)


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
