"""What a page says in words and single figures: verdicts, tiles, and where the figures come from."""

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
from tcprof.report.lanes import one_line
from tcprof.report.wording import SOURCE_MEANINGS, WINDOW_MEANINGS

SOURCE_NOTES = {
    "cycles": "Tensor Active comes from exact tensor cycles.",
    "rounded": "Rounded samples: Tensor Active comes from whole percentages, and anything above 0 reads at least 1, so "
    "that small means are too high; the interval of a mean says where the truth may lie.",
    "none": "The recording has no samples of Tensor Active.",
}
NOT_TRACED = "no work on a GPU was recorded"


@dataclass(frozen=True)
class Tile:
    """One summary figure: what, how much, and over which window."""

    title: str
    value: str
    caption: str


@dataclass(frozen=True)
class GpuSummary:
    """One GPU of a recording in words and figures.

    Attributes:
        gpu: Number of the GPU.
        title: Number and name.
        verdict: Sentences, the most important first.
        tiles: The summary figures.
    """

    gpu: int
    title: str
    verdict: tuple[str, ...]
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class _Capture:
    """The whole capture on one GPU."""

    row: pd.Series
    span: str
    busy_pct: float
    sampled: bool


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
    busy_ns, span_ns = _busy_time(analysis, gpu)
    sampled = bool((analysis.samples["gpu"] == gpu).any())
    capture = _Capture(row, units.format_ns(span_ns), 100 * busy_ns / span_ns if span_ns > 0 else math.nan, sampled)
    return GpuSummary(gpu, gpu_title(analysis, gpu), _verdict(analysis, capture), _tiles(analysis, capture))


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


def _verdict(analysis: Analysis, capture: _Capture) -> tuple[str, ...]:
    """Sentences that the data carry, and no more."""
    row = capture.row
    mean = row["tensor_active_mean_pct"]
    sentences = []
    if math.isnan(mean):
        sentences.append("Whether the Tensor Cores worked is unknown: " + _why_unknown(analysis, row))
    else:
        sentences.append(
            f"The Tensor Cores were active in {units.format_pct(mean)} of their cycles "
            f"over the {capture.span} sampled{_rounding_note(analysis, int(row['gpu']))}."
        )
        sentences.append(_highest_range(analysis, int(row["gpu"])))
    if not math.isnan(capture.busy_pct):
        sentences.append(f"The GPU was busy for {units.format_pct(capture.busy_pct)} of {_which_time(row, capture)}.")
    return tuple(sentence for sentence in sentences if sentence)


def _why_unknown(analysis: Analysis, row: pd.Series) -> str:
    if analysis.tensor_source == "none":
        return "the recording has no samples of Tensor Active."
    return f"only {units.format_pct(row['coverage_pct'])} of the capture is covered by samples."


def _which_time(row: pd.Series, capture: _Capture) -> str:
    if not capture.sampled:
        return f"the {capture.span} from its first activity to its last"
    return "that time" if not math.isnan(row["tensor_active_mean_pct"]) else f"the {capture.span} sampled"


def _highest_range(analysis: Analysis, gpu: int) -> str:
    """The path with the highest mean, if there is any."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["path"] != "")]
    known = rows[rows["tensor_active_mean_pct"].notna()]
    if not len(known):
        return ""
    best = known.loc[known["tensor_active_mean_pct"].idxmax()]
    if not best["tensor_active_mean_pct"] > 0:
        return "No range had any Tensor Active."
    count = int(best["instance_count"])
    times = "its only instance" if count == 1 else f"its {units.format_count(count)} instances"
    low, high = best["tensor_active_low_pct"], best["tensor_active_high_pct"]
    interval = f" (95 % interval {units.format_pct(low)} to {units.format_pct(high)})" if low <= high else ""
    return (
        f"The highest mean of a range is {units.format_pct(best['tensor_active_mean_pct'])}{interval}, in "
        f"“{one_line(best['path'], 90)}” over {times}."
    )


def _rounding_note(analysis: Analysis, gpu: int) -> str:
    """Where the capture's mean may lie, since each sample was rounded; empty for exact samples."""
    samples = analysis.samples[(analysis.samples["gpu"] == gpu) & analysis.samples["tensor_active_pct"].notna()]
    if analysis.tensor_source != "rounded" or not len(samples):
        return ""
    value, length = samples["tensor_active_pct"].to_numpy(), samples["end_ns"] - samples["start_ns"]
    below, above = rounding_slack(value)
    low, high = (units.format_pct(np.average(bound, weights=length)) for bound in (value - below, value + above))
    return f"; samples are rounded, so between {low} and {high}" if low != high else ""


def _tiles(analysis: Analysis, capture: _Capture) -> tuple[Tile, ...]:
    row = capture.row
    gpu = int(row["gpu"])
    known = not math.isnan(row["tensor_active_mean_pct"])
    over = f"over the {capture.span} sampled" if capture.sampled else "from its first activity to its last"
    coverage = f"coverage {units.format_pct(row['coverage_pct'])}"
    rounded = "; rounded samples" if analysis.tensor_source == "rounded" else ""
    cycles = row["tensor_cycles"]
    counted = "" if math.isnan(cycles) else f"; {units.format_count(cycles)} tensor cycles"
    kernels = row["kernel_count"]
    traced = len(analysis.activities) > 0
    paths = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["path"] != "")]
    mean, active = units.format_pct(row["tensor_active_mean_pct"]), units.format_seconds(row["tensor_active_s"])
    return (
        Tile("Tensor Active, mean", mean, f"{over}, {coverage}{rounded}" if known else _unsampled(analysis)),
        Tile("Tensor Active, peak", units.format_pct(row["tensor_active_peak_pct"]), _peak_caption(analysis, gpu)),
        Tile("Tensor-active time", active, f"Tensor Active × time, {over}{counted}" if known else _unsampled(analysis)),
        Tile(
            "GPU busy",
            units.format_pct(capture.busy_pct),
            f"under a kernel, copy or set, {over}" if traced else NOT_TRACED,
        ),
        Tile(
            "Kernel time",
            units.format_ns(row["kernel_ns"] if traced else math.nan),
            f"{_plural(kernels, 'kernel')}, durations added up" if traced else NOT_TRACED,
        ),
        *_kernel_tiles(analysis, row),
        Tile(
            "NVTX ranges",
            units.format_count(paths["instance_count"].sum()),
            f"instances of {_plural(len(paths), 'path')} on this GPU",
        ),
    )


def _kernel_tiles(analysis: Analysis, row: pd.Series) -> tuple[Tile, ...]:
    """What the fit of the kernels says; nothing where there are no kernels to fit."""
    if math.isnan(row["tensor_kernel_share_pct"]):
        return ()
    by_name = analysis.tensor_source == "none"
    share = Tile(
        "Tensor kernels",
        units.format_pct(row["tensor_kernel_share_pct"]),
        "of the kernel time" + (", estimated from kernel names" if by_name else ", by their Tensor Active"),
    )
    if math.isnan(row["tensor_tflops"]):
        return (share,)
    kernel_s = row["kernel_ns"] * 1e-9 * row["tensor_kernel_share_pct"] / 100
    rate = row["tensor_flop"] / kernel_s * 1e-12 if kernel_s > 0 else math.nan
    caption = f"over all of that time; {units.format_flops(rate)} while tensor kernels ran"
    return share, Tile("Tensor FLOP/s", units.format_flops(row["tensor_tflops"]), caption)


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
    return f"highest of {units.format_count(len(known))} samples of {units.format_ns(period)}"


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
