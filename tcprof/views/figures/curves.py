"""Samples and GPU activity over time, as strips of a timeline."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.intervals import StepFunction, union
from tcprof.analysis.time.envelope import Envelope, band_points, compute_envelope, step_points
from tcprof.arrays import Floats, rows_of_gpu
from tcprof.frames import COUNTED, SAMPLE_METRICS, SAMPLES
from tcprof.views.figures.panels import Panel
from tcprof.views.figures.plain import Settings, scatter
from tcprof.views.figures.ticks import unit_ticks

BINS = 4000  # of all GPUs and recordings of a figure together
TENSOR_COLOR = "#D55E00"
TENSOR_BAND = "rgba(213,94,0,0.28)"
TENSOR_PIXELS, OTHERS_PIXELS, MEASURED_PIXELS = 170, 110, 80


@dataclass(frozen=True)
class Metric:
    """A curve of the samples.

    Attributes:
        name: What it is called.
        columns: Columns of the samples that are added up.
        color: Its colour, after Okabe and Ito.
        visible: Whether it is shown before it is clicked in the legend.
        width: Width of its line in pixels.
    """

    name: str
    columns: tuple[str, ...]
    color: str
    visible: bool | str = True
    width: float = 1.1

    @property
    def unit(self) -> str:
        """What its values are measured in."""
        return SAMPLES[self.columns[0]].unit if self.columns else "pct"

    def values(self, samples: pd.DataFrame) -> Floats:
        """Its value in each sample; unknown where one of its columns is."""
        return np.asarray(samples[list(self.columns)].sum(axis=1, skipna=False), dtype=np.float64)


def _metric(name: str, color: str, visible: bool | str = True, width: float = 1.1) -> Metric:
    """The curve of a column of the samples."""
    return Metric(SAMPLES[name].title, (name,), color, visible, width)


_DRAM = ("dram_read_pct", "dram_write_pct")
TENSOR = _metric("tensor_active_pct", TENSOR_COLOR, width=1.6)
CLOCK = _metric("gpc_clock_hz", "#C46A9F")
_COLORS = {"gr_active_pct": "#8A8F98", "sm_active_pct": "#2E8BC0", "sm_issue_pct": "#B08900"}
_FURTHER_COLORS = ("#9467BD", "#8C564B", "#17BECF", "#BCBD22")
_SHOWN = ("gr_active_pct", "sm_active_pct")  # before anything is clicked in the legend
_DRAWN_ALREADY = (*TENSOR.columns, *CLOCK.columns, *_DRAM)
_OTHERS = tuple(
    _metric(
        column.name,
        _COLORS.get(column.name, _FURTHER_COLORS[place % len(_FURTHER_COLORS)]),
        True if column.name in _SHOWN or column.unit != "pct" else "legendonly",
    )
    for place, column in enumerate(SAMPLES.columns)
    if column.name in SAMPLE_METRICS and column.unit not in COUNTED and column.name not in _DRAWN_ALREADY
)
METRICS = (
    *(metric for metric in _OTHERS if metric.unit == "pct"),
    Metric("DRAM read + write", _DRAM, "#009E73", "legendonly"),
)
MEASURED = tuple(metric for metric in _OTHERS if metric.unit != "pct")  # each in a strip of its own, in its unit
BUSY = Metric("GPU busy (kernels, copies, sets)", (), "#9C7FC4")


def sample_panels(analysis: Analysis, gpu: int, peak: float) -> list[Panel]:
    """Tensor Active on its own scale, the other percentages from 0 to 100 %, and each other metric in its unit."""
    panels = []
    tensor = _envelope(analysis, gpu, TENSOR)
    if len(tensor):
        traces = [_band(tensor), _line(tensor, TENSOR, True)]
        panels.append(Panel(TENSOR.name, TENSOR_PIXELS, [t for t in traces if t is not None], tensor_axis(peak)))
    others = []
    for metric in METRICS:
        envelope = _envelope(analysis, gpu, metric)
        if len(envelope):
            others.append(_line(envelope, metric, metric.visible))
    busy = _busy(analysis, gpu)
    if len(busy):
        others.append(_line(busy, BUSY, True if not others else "legendonly"))
    if others:
        title = "SM Active and other metrics" if len(others) > 1 else "GPU busy: kernels, copies, sets"
        panels.append(Panel(title, OTHERS_PIXELS, others, PERCENT_AXIS))
    for metric in MEASURED:
        envelope = _envelope(analysis, gpu, metric)
        if len(envelope):
            line = _line(envelope, metric, metric.visible)
            panels.append(Panel(metric.name, MEASURED_PIXELS, [line], measured_axis(metric, envelope.high.max())))
    return panels


def measured_axis(metric: Metric, peak: float) -> dict[str, object]:
    """The axis of a metric that is no percentage, from 0 to its largest value."""
    top = 1.1 * (peak or 1.0)
    return {"range": [0, top], **unit_ticks(0, top, units.symbol_of(metric.unit), 4)}


def tensor_axis(peak: float) -> dict[str, object]:
    """The axis of Tensor Active: to 100 % where a sample comes near, else to the largest sample."""
    return {"range": [0, 104.0 if peak > 50 else max(peak * 1.15, 1.0)], "ticksuffix": " %", "nticks": 6}


PERCENT_AXIS: dict[str, object] = {"range": [0, 104], "ticksuffix": " %", "nticks": 4}


def tensor_peak(analysis: Analysis) -> float:
    """The largest sample of Tensor Active on any GPU; 0 where there is none."""
    peak = analysis.samples["tensor_active_pct"].max()
    return float(peak) if peak == peak else 0.0


def _envelope(analysis: Analysis, gpu: int, metric: Metric) -> Envelope:
    """A metric of one GPU, in as many bins as each GPU may have."""
    mine = rows_of_gpu(analysis.samples, gpu)
    return compute_envelope(
        mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy(), metric.values(mine), _bins(analysis)
    )


def _bins(analysis: Analysis) -> int:
    return max(BINS // max(len(shown_gpus(analysis)), 1), 200)


def _busy(analysis: Analysis, gpu: int) -> Envelope:
    """Share of each bin that lies under at least one activity."""
    mine = rows_of_gpu(analysis.activities, gpu)
    start, end = mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy()
    _, low, high = union(np.zeros(len(mine), dtype=np.int64), start, end)
    if not len(low):
        nothing = np.empty(0)
        return Envelope(low, high, nothing, nothing, nothing, 0.0)
    edges = np.linspace(low[0], high[-1], _bins(analysis) + 1).round().astype(np.int64)
    edges = np.unique(edges)
    left, right = edges[:-1], edges[1:]
    full = StepFunction(low, high, np.full(len(low), 100.0))
    busy: Floats = full.integral(left, right) / (right - left).astype(np.float64)
    return Envelope(left, right, busy, busy, busy, float(edges[-1] - edges[0]) / len(left))


def _line(envelope: Envelope, metric: Metric, visible: bool | str) -> Settings:
    """A metric as steps; the pointer shows a bin's smallest and largest value as well."""
    table = np.column_stack((envelope.mean, envelope.low, envelope.high))
    x, y = step_points(envelope, table)
    binned = bool(envelope.bin_ns) and bool((envelope.high > envelope.low).any())
    line = empty_line(metric, visible)
    told = np.array([[units.format_value(value, metric.unit) for value in row] for row in y.tolist()], dtype=object)
    return line.set(
        x=x,
        y=y[:, 0].astype(np.float32),
        customdata=told.reshape(y.shape)[:, : 3 if binned else 1],
        fill="tozeroy" if metric is TENSOR and not binned else None,
        hovertemplate=_hover_template(metric, binned),
    )


def empty_line(metric: Metric, visible: bool | str) -> Settings:
    """The line of a metric, as steps, without points."""
    return scatter(
        name=metric.name,
        legendgroup=metric.name,
        mode="lines",
        line={"color": metric.color, "width": metric.width, "shape": "hv"},
        connectgaps=False,
        visible=visible,
    )


def _hover_template(metric: Metric, binned: bool) -> str:
    """What the pointer shows over a sample, or over a bin of several: texts, as plotly writes "700W"."""
    head = f"<b>{metric.name}</b> %{{customdata[0]}}<br>at %{{x}}"
    rest = "<br>mean of the bin; smallest %{customdata[1]}, largest %{customdata[2]}" if binned else ""
    return f"{head}{rest}<extra></extra>"


def empty_band() -> Settings:
    """The area below or around Tensor Active, without points."""
    return scatter(
        name=f"{TENSOR.name}, smallest to largest",
        legendgroup=TENSOR.name,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=TENSOR_BAND,
        hoverinfo="skip",
        showlegend=False,
    )


def _band(envelope: Envelope) -> Settings | None:
    """The area from the smallest to the largest value of each bin; nothing where the samples themselves are drawn."""
    if not envelope.bin_ns:
        return None
    x, y = band_points(envelope)
    return empty_band().set(x=x, y=y.astype(np.float32))


def shown_gpus(analysis: Analysis) -> list[int]:
    """The GPUs that have samples, activities or ranges, in order."""
    frames = (analysis.samples, analysis.activities, analysis.instances)
    return sorted({int(gpu) for frame in frames for gpu in frame["gpu"].unique()})
