"""Samples and GPU activity over time, as strips of a timeline."""

import numpy as np
import plotly.graph_objects as go

from tcprof.analysis import Analysis
from tcprof.analysis.intervals import StepFunction, union
from tcprof.report.envelope import Envelope, Floats, band_points, compute_envelope, step_points
from tcprof.report.panels import Panel

BINS = 4000  # of all GPUs and recordings of a figure together
TENSOR_COLOR = "#D55E00"
# Column of the samples: name, colour, dash, whether it is shown before it is clicked. Colours after Okabe and Ito.
METRICS: dict[str, tuple[str, str, str, bool | str]] = {
    "gr_active_pct": ("GR Active", "#8A8F98", "solid", True),
    "sm_active_pct": ("SM Active", "#2E8BC0", "solid", True),
    "dram_read_pct": ("DRAM read", "#009E73", "solid", "legendonly"),
    "dram_write_pct": ("DRAM write", "#C46A9F", "solid", "legendonly"),
}
BUSY = ("GPU busy (kernels, copies, sets)", "#B08900", "solid")
_TENSOR_PIXELS, _OTHERS_PIXELS = 170, 110


def sample_panels(analysis: Analysis, gpu: int, peak: float, share: int) -> list[Panel]:
    """Tensor Active on its own scale, and the other metrics from 0 to 100 %."""
    panels = []
    tensor = tensor_envelope(analysis, gpu, share)
    if len(tensor):
        top = 104.0 if peak > 50 else max(peak * 1.15, 1.0)
        axis = {"range": [0, top], "ticksuffix": " %", "nticks": 6}
        traces = [_band(tensor, TENSOR_COLOR), _line(tensor, "Tensor Active", TENSOR_COLOR, "solid", True)]
        panels.append(Panel("Tensor Active", _TENSOR_PIXELS, [t for t in traces if t is not None], axis))
    others = []
    for column, style in METRICS.items():
        envelope = _envelope(analysis, gpu, column, share)
        if len(envelope):
            others.append(_line(envelope, *style))
    busy = _busy(analysis, gpu, share)
    if len(busy):
        others.append(_line(busy, *BUSY, True if not others else "legendonly"))
    if others:
        title = "SM Active and other metrics" if len(others) > 1 else "GPU busy: kernels, copies, sets"
        axis = {"range": [0, 104], "ticksuffix": " %", "nticks": 4}
        panels.append(Panel(title, _OTHERS_PIXELS, others, axis))
    return panels


def tensor_peak(analysis: Analysis) -> float:
    """The largest sample of Tensor Active on any GPU; 0 where there is none."""
    peak = analysis.samples["tensor_active_pct"].max()
    return float(peak) if peak == peak else 0.0


def _envelope(analysis: Analysis, gpu: int, column: str, share: int) -> Envelope:
    """A metric of one GPU, in as many bins as each GPU may have."""
    mine = analysis.samples[analysis.samples["gpu"] == gpu]
    return compute_envelope(
        mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy(), mine[column].to_numpy(), _bins(analysis, share)
    )


def _bins(analysis: Analysis, share: int) -> int:
    return max(BINS // share // max(len(shown_gpus(analysis)), 1), 200)


def _busy(analysis: Analysis, gpu: int, share: int) -> Envelope:
    """Share of each bin that lies under at least one activity."""
    mine = analysis.activities[analysis.activities["gpu"] == gpu]
    start, end = mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy()
    _, low, high = union(np.zeros(len(mine), dtype=np.int64), start, end)
    if not len(low):
        nothing = np.empty(0)
        return Envelope(low, high, nothing, nothing, nothing, 0.0)
    edges = np.linspace(low[0], high[-1], _bins(analysis, share) + 1).round().astype(np.int64)
    edges = np.unique(edges)
    left, right = edges[:-1], edges[1:]
    full = StepFunction(low, high, np.full(len(low), 100.0))
    busy: Floats = full.integral(left, right) / (right - left).astype(np.float64)
    return Envelope(left, right, busy, busy, busy, float(edges[-1] - edges[0]) / len(left))


def _line(envelope: Envelope, name: str, color: str, dash: str, visible: bool | str) -> go.Scatter:
    """A metric as steps; the pointer shows a bin's smallest and largest value as well."""
    table = np.column_stack((envelope.mean, envelope.low, envelope.high))
    x, y = step_points(envelope, table)
    binned = bool(envelope.bin_ns) and bool((envelope.high > envelope.low).any())
    more = "<br>mean of the bin; smallest %{customdata[0]:.3~f} %, largest %{customdata[1]:.3~f} %" if binned else ""
    return go.Scatter(
        x=x,
        y=y[:, 0].astype(np.float32),
        customdata=y[:, 1:].astype(np.float32) if binned else None,
        name=name,
        legendgroup=name,
        mode="lines",
        line={"color": color, "width": 1.6 if name == "Tensor Active" else 1.1, "dash": dash, "shape": "hv"},
        fill="tozeroy" if name == "Tensor Active" and not binned else None,
        connectgaps=False,
        visible=visible,
        hovertemplate=f"<b>{name}</b> %{{y:.3~f}} %<br>at %{{x}}{more}<extra></extra>",
    )


def _band(envelope: Envelope, color: str) -> go.Scatter | None:
    """The area from the smallest to the largest value of each bin; nothing where the samples themselves are drawn."""
    if not envelope.bin_ns:
        return None
    x, y = band_points(envelope)
    return go.Scatter(
        x=x,
        y=y.astype(np.float32),
        name="Tensor Active, smallest to largest",
        legendgroup="Tensor Active",
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor="rgba(213,94,0,0.28)",
        hoverinfo="skip",
        showlegend=False,
    )


def shown_gpus(analysis: Analysis) -> list[int]:
    """The GPUs that have samples, activities or ranges, in order."""
    frames = (analysis.samples, analysis.activities, analysis.instances)
    return sorted({int(gpu) for frame in frames for gpu in frame["gpu"].unique()})


def tensor_envelope(analysis: Analysis, gpu: int, share: int = 1) -> Envelope:
    """Tensor Active of one GPU as it is drawn; ``share`` is the number of recordings in the figure."""
    return _envelope(analysis, gpu, "tensor_active_pct", share)
