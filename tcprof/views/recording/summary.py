"""A recording at a glance: of each GPU the verdict, what its time went to, figures, and what was checked."""

import math

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.samples.sampling import rounding_slack
from tcprof.arrays import rows_of_gpu
from tcprof.findings import Findings, GpuFindings, count_checks, why_no_kernels
from tcprof.findings.finding import WINDOW_NAMES, class_title
from tcprof.findings.judge import describe_measured, describe_ranges, first_line, measure_idle
from tcprof.findings.notes import name_peak
from tcprof.findings.steps import StepFigures
from tcprof.findings.verdict import describe_span, measure_shares, name_step
from tcprof.frames import HEADLINE, LARGEST_UNCOVERED_PCT, RANGES, Column
from tcprof.views.document import MetricTile, Share, Summary
from tcprof.views.figures.traces import CLASS_COLORS
from tcprof.views.recording import gpu_title

NOT_TRACED = "no work on a GPU was recorded"


def summarize(analysis: Analysis, findings: Findings) -> list[Summary]:
    """Summarize each GPU of a recording at a glance."""
    return [_summarize_gpu(analysis, gpu_findings) for gpu_findings in findings.gpus]


def _summarize_gpu(analysis: Analysis, gpu_findings: GpuFindings) -> Summary:
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu_findings.gpu) & (analysis.ranges["depth"] == 0)]
    row, figures = rows.iloc[0], gpu_findings.figures
    idle = "GPU idle" if gpu_findings.idle_is_known else "Nothing traced"
    whole = _capture_figures(analysis, row, idle) if figures is None else _step_figures(analysis, row, figures, idle)
    return Summary(
        gpu=gpu_findings.gpu,
        title=gpu_title(analysis, gpu_findings.gpu),
        line=first_line(analysis, gpu_findings),
        headline=gpu_findings.headline,
        where=describe_ranges(analysis, gpu_findings.gpu, figures),
        measured=describe_measured(analysis, gpu_findings.gpu, figures),
        verdict=gpu_findings.sentences,
        figures=whole,
        shares=_list_shares(analysis, gpu_findings, idle),
        checks=gpu_findings.checks,
        checked=count_checks(gpu_findings.checks),
    )


def _list_shares(analysis: Analysis, gpu_findings: GpuFindings, idle: str) -> tuple[Share, ...]:
    """List the shares of a step's time, or of the whole capture's, as in the verdict."""
    if gpu_findings.figures is None:
        rows = analysis.timeline[(analysis.timeline["gpu"] == gpu_findings.gpu) & (analysis.timeline["depth"] == 0)]
        share = measure_shares(rows, float(rows["window_ns"].sum()))
    else:
        paced = gpu_findings.figures.at_own_pace()
        share = measure_shares(paced.time, paced.total_ns, paced.idle_pct)
    return tuple(
        Share(idle if name == "idle" else class_title(name), share[name], units.format_pct(share[name]), color)
        for name, color in CLASS_COLORS.items()
        if share.get(name, 0) > 0
    )


def _step_figures(analysis: Analysis, row: pd.Series, figures: StepFigures, idle: str) -> tuple[MetricTile, ...]:
    """List means over the steps together, as in the verdict; of their time the median. Three are read at a glance."""
    steps = units.format_things(figures.count, "step")
    over = f"mean over {steps}"
    measured = not math.isnan(figures.tensor_active_pct)
    rounded = "; rounded samples" if analysis.tensor_source == "rounded" else ""
    step, recorded, figures = name_step(figures), figures, figures.at_own_pace()
    active = f"of {step}, {over}{rounded}" if measured else _unsampled(analysis)
    kernels = "of the kernel time" + (", by kernel names" if analysis.tensor_source == "none" else "") + f", {over}"
    if math.isnan(figures.tensor_kernel_share_pct):
        kernels = f"unknown: {why_no_kernels(analysis) or 'CUDA graphs were recorded as a whole'}"
    interval = units.format_pct_interval(figures.low_pct, figures.high_pct)
    ends = units.format_interval(figures.step_low_ns, figures.step_high_ns, units.format_ns)
    title, caption = "Step time", f"from one step's start to the next one's, median of {steps}"
    if recorded.is_slowed:
        title, caption = "Step time, unprofiled", "from one step's start to the next one's, median"
        ends += f"; recorded: {units.format_ns(recorded.step_ns)}"
    return (
        MetricTile(title, units.format_ns(figures.step_ns), ends, caption),
        MetricTile("Tensor Active", units.format_pct(figures.tensor_active_pct), interval, active),
        MetricTile(idle, units.format_pct(figures.idle_pct), "", f"of {step}, {over}"),
        *_rates(analysis, figures.rows, f"over the {WINDOW_NAMES[analysis.window]}"),
        MetricTile("Tensor kernels", _share_text(figures.rows, figures.tensor_kernel_share_pct), "", kernels),
        _peak(analysis, row),
    )


def _capture_figures(analysis: Analysis, row: pd.Series, idle: str) -> tuple[MetricTile, ...]:
    gpu = int(row["gpu"])
    is_known = not math.isnan(row[HEADLINE.name])
    over = f"over the {describe_span(row)}"
    rounded = "; rounded samples" if analysis.tensor_source == "rounded" else ""
    traced = len(analysis.activities) > 0
    length = float(row["window_ns"]) if (traced or is_known) and row["window_ns"] > 0 else math.nan
    share = row["tensor_kernel_share_pct"]
    by_name = ", estimated from kernel names" if analysis.tensor_source == "none" else ", by their Tensor Active"
    tensor = [MetricTile("Tensor kernels", _share_text(row.to_frame().T, share), "", f"of the kernel time{by_name}")]
    interval = _rounding_interval(analysis, gpu, float(row[HEADLINE.name])) if is_known else ""
    active = f"mean {over}{rounded}" if is_known else _unsampled(analysis)
    kernel_time = f"{units.format_things(row['kernel_count'], 'kernel')}, durations added up" if traced else NOT_TRACED
    return (
        MetricTile("Whole capture", units.format_ns(length), "", f"the {describe_span(row)}"),
        MetricTile("Tensor Active", HEADLINE.format(row), interval, active),
        MetricTile(idle, units.format_pct(measure_idle(analysis, row)), "", over if traced else NOT_TRACED),
        *_rates(analysis, row.to_frame().T, over),
        *([] if math.isnan(share) else tensor),
        _peak(analysis, row),
        MetricTile("Kernel time", units.format_ns(row["kernel_ns"] if traced else math.nan), "", kernel_time),
    )


def _samples_of_capture(analysis: Analysis, gpu: int) -> pd.DataFrame:
    """Cut the samples of Tensor Active at the borders of a GPU's whole capture."""
    samples = analysis.samples[(analysis.samples["gpu"] == gpu) & analysis.samples["tensor_active_pct"].notna()]
    activities = rows_of_gpu(analysis.activities, gpu)
    if not len(activities):
        return samples
    within = (int(activities["start_ns"].min()), int(activities["end_ns"].max()))
    cut = samples.assign(start_ns=samples["start_ns"].clip(*within), end_ns=samples["end_ns"].clip(*within))
    return cut[cut["end_ns"] > cut["start_ns"]]


def _rounding_interval(analysis: Analysis, gpu: int, mean_pct: float) -> str:
    """Say where the capture's mean may lie, since each sample was rounded; empty for exact samples.

    It holds the mean as sampled, as the intervals of ranges do: that is read from where samples are shared among
    launches, and may lie beside what the samples as they are allow.
    """
    samples = _samples_of_capture(analysis, gpu)
    if analysis.tensor_source != "rounded" or not len(samples):
        return ""
    value, length = samples["tensor_active_pct"].to_numpy(), samples["end_ns"] - samples["start_ns"]
    below, above = rounding_slack(value)
    low, high = (float(np.average(bound, weights=length)) for bound in (value - below, value + above))
    return units.format_pct_interval(min(low, mean_pct), max(high, mean_pct))


def _rates(analysis: Analysis, rows: pd.DataFrame, over: str) -> list[MetricTile]:
    """Measure Tensor FLOP/s and MFU: means over the windows of some rows together, as far as they are known."""
    rates = rows[["tensor_tflops", "tensor_peak_pct", "hfu_pct", "mfu_pct"]].astype(float)
    window = rows["window_ns"].astype(float)
    if not window.sum() > 0:
        return []
    rate, peak, hfu, mfu = rates.mul(window, axis=0).sum(min_count=1) / window.sum()
    tiles = []
    if not math.isnan(rate) and analysis.tensor_source != "none":
        missing_pct = _measure_missing(rows, RANGES["tensor_flop"], rows["tensor_cycles"])
        is_bound = missing_pct > LARGEST_UNCOVERED_PCT
        mark = units.at_least if is_bound else str
        of_peak = f"{mark(units.format_pct(peak))} of the chip's peak at the sampled clock, " if peak > 0 else ""
        of_limit = "" if math.isnan(hfu) else f"HFU {mark(units.format_pct(hfu))} (of {name_peak(analysis)}), "
        rest = f"; {units.format_pct(missing_pct)} of the tensor cycles are in kernels with unknown FLOP" * is_bound
        tiles.append(
            MetricTile("Tensor FLOP/s", mark(units.format_flops(rate)), "", f"{of_peak}{of_limit}{over}{rest}")
        )
    if not rates["mfu_pct"].isna().any():
        tiles.append(MetricTile("MFU", units.format_pct(mfu), "", f"useful FLOP, of {name_peak(analysis)}, {over}"))
    return tiles


def _measure_missing(rows: pd.DataFrame, column: Column, weight: pd.Series) -> float:
    """Measure the percentage that the values of a column miss, of some rows together; 0 where nothing is missing."""
    weight = weight.astype(float).where(rows[column.missing].notna(), 0)
    return float((rows[column.missing] * weight).sum() / weight.sum()) if weight.sum() > 0 else 0.0


def _share_text(rows: pd.DataFrame, share: float) -> str:
    missing_pct = _measure_missing(rows, RANGES["tensor_kernel_share_pct"], rows["kernel_ns"])
    text = units.format_pct(share)
    return units.at_least(text) if missing_pct > LARGEST_UNCOVERED_PCT else text


def _unsampled(analysis: Analysis) -> str:
    return "not recorded" if analysis.tensor_source == "none" else "too little was sampled"


def _peak(analysis: Analysis, row: pd.Series) -> MetricTile:
    samples = _samples_of_capture(analysis, int(row["gpu"]))
    caption = _unsampled(analysis)
    if len(samples):
        period = units.format_ns((samples["end_ns"] - samples["start_ns"]).median())
        caption = f"highest of {units.format_count(len(samples))} samples of {period}, whole capture"
    return MetricTile("Highest sample", units.format_pct(row["tensor_active_peak_pct"]), "", caption)
