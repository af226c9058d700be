"""Strips of samples and lanes of ranges on one axis of time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.drawing import Envelope, Lanes, band_points, choose_lanes, compute_envelope, step_points
from tcprof.analysis.intervals import open_times
from tcprof.arrays import rows_of_gpu
from tcprof.views.figures import AXIS, LEGEND, PlotlyFigure, Settings, axis_names, base_layout, scatter, traces

TITLE_PIXELS = 26
_TOP, _BOTTOM, _COLORS = 44, 52, 48


@dataclass(frozen=True)
class Panel:
    """One strip of a timeline, with its own vertical axis."""

    title: str
    pixels: int
    traces: Sequence[Settings]  # what is drawn in it; their ``yaxis`` is set when the strips are stacked
    axis: dict[str, object]
    notes: Mapping[int, str] = field(default_factory=dict)  # titles inside of it, by their place on the vertical axis


def stack_panels(panels: Sequence[Panel], analysis: Analysis, colors: bool = True) -> PlotlyFigure:
    """Strips one below the other on one axis of time, so that zooming one zooms all."""
    inner = sum(panel.pixels + TITLE_PIXELS for panel in panels) or 1
    has_colors = colors and highest_range(analysis) > 0
    bottom = _BOTTOM + (_COLORS if has_colors else 0)
    figure = PlotlyFigure()
    figure.update_layout(**base_layout(inner + _TOP + bottom, _TOP, bottom))
    legend: set[str] = set()
    position = float(inner)
    for number, panel in enumerate(panels):
        position -= TITLE_PIXELS
        high, position = position / inner, position - panel.pixels
        axis, name = axis_names("y", number)
        settings = {**AXIS, "domain": [max(position / inner, 0), high], "fixedrange": True}
        figure.update_layout({name: {**settings, **panel.axis, "anchor": "x"}})
        figure.add_title(panel.title, high)
        for place, note in panel.notes.items():
            figure.add_annotation(text=note, xref="paper", yref=axis, x=0, y=place, xanchor="left", showarrow=False)
        for trace in panel.traces:
            first = trace.get("showlegend", True) and trace["name"] not in legend
            legend |= {trace["name"]} if first else set()
            figure.data.append(trace.set(yaxis=axis, showlegend=first))
    last, _ = axis_names("y", max(len(panels) - 1, 0))
    legend_place = {**LEGEND, "yref": "paper"}
    figure.update_layout(xaxis=_time_axis(analysis, last), barmode="overlay", legend=legend_place)
    if has_colors:
        colored = {"color": [0], "coloraxis": "coloraxis"}
        figure.data.append(scatter(x=[None], y=[None], marker=colored, hoverinfo="skip", showlegend=False))
        figure.update_layout(coloraxis=_color_axis(inner))
    return figure


def _time_axis(analysis: Analysis, anchor: str) -> dict[str, object]:
    frames = [
        (analysis.samples, "start_ns", "end_ns"),
        (analysis.activities, "start_ns", "end_ns"),
        (analysis.instances, "host_start_ns", "host_end_ns"),
    ]
    spans = [(float(f[start].min()) * 1e-9, float(f[end].max()) * 1e-9) for f, start, end in frames if len(f)]
    low, high = (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else (0.0, 1.0)
    return {
        "range": [low, high],
        "anchor": anchor,
        "tickformat": ".9~f",
        "hoverformat": ".9~f",
        "ticksuffix": " s",
        **AXIS,
        "nticks": 9,
        "title": {"text": "time since the recording began", "standoff": 6},
    }


def highest_range(analysis: Analysis) -> float:
    """The largest Tensor Active mean of an instance; 0 where none is known."""
    highest = analysis.instances["tensor_active_mean_pct"].max()
    return float(highest) if highest == highest else 0.0


def _color_axis(inner: int) -> dict[str, object]:
    return {
        "colorscale": [list(stop) for stop in enumerate(traces.LOSS_SCALES["light"])],
        "cmin": 0,
        "cmax": 100,
        "colorbar": {
            "orientation": "h",
            "thickness": 8,
            "len": 0.6,
            "x": 0,
            "xanchor": "left",
            "y": -52 / inner,
            "yanchor": "top",
            "ticksuffix": " %",
            "nticks": 5,
            "outlinewidth": 0,
            "title": {"text": "Tensor Active mean of a range", "side": "top"},
        },
    }


BINS = 4000  # of all GPUs and recordings of a figure together
BARS = 4000  # of all GPUs together
_LANE_PIXELS = 21


def figure_timeline(analysis: Analysis) -> PlotlyFigure:
    """Samples over lanes of ranges, on one axis of time; a group of strips for each GPU.

    Long captures are drawn as an envelope, and of very many ranges only the longest: the page says so.
    """
    panels: list[Panel] = []
    gpus = traces.shown_gpus(analysis)
    for gpu in gpus:
        lanes = choose_lanes(analysis, gpu, BARS // 2 // len(gpus))
        mine = [*_sample_panels(analysis, gpu, max(BINS // len(gpus), 200)), *_lane_panels(lanes, gpu)]
        head = f"<b>GPU {gpu}</b> · " if len(gpus) > 1 else ""
        panels += [replace(panel, title=head + panel.title) for panel in mine[:1]] + mine[1:]
    return stack_panels(panels, analysis)


def _sample_panels(analysis: Analysis, gpu: int, bins: int) -> list[Panel]:
    """Tensor Active on its own scale, the other percentages from 0 to 100 %, and each other metric in its unit."""
    samples = rows_of_gpu(analysis.samples, gpu)
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    drawn = {
        each: compute_envelope(start, end, each.values(samples), bins)
        for each in (traces.TENSOR, *traces.METRICS, *traces.MEASURED)
    }
    drawn = {metric: envelope for metric, envelope in drawn.items() if len(envelope)}
    panels = []
    if traces.TENSOR in drawn:
        curves = [_line(drawn[traces.TENSOR], traces.TENSOR, True)]
        if drawn[traces.TENSOR].bin_ns:
            x, y = band_points(drawn[traces.TENSOR])
            curves.insert(0, traces.empty_band().set(x=x, y=y.astype(np.float32)))
        panels.append(
            Panel(traces.TENSOR.name, traces.TENSOR_PIXELS, curves, traces.tensor_axis(traces.tensor_peak(analysis)))
        )
    others = [_line(drawn[metric], metric, metric.visible) for metric in traces.METRICS if metric in drawn]
    busy = _busy(analysis, gpu, bins)
    if len(busy):
        others.append(_line(busy, traces.BUSY, True if not others else "legendonly"))
    if others:
        title = "SM Active and other metrics" if len(others) > 1 else "GPU busy: kernels, copies, sets"
        panels.append(Panel(title, traces.OTHERS_PIXELS, others, traces.PERCENT_AXIS))
    for metric in (each for each in traces.MEASURED if each in drawn):
        axis = traces.measured_axis(metric, drawn[metric].high.max())
        panels.append(Panel(metric.name, traces.MEASURED_PIXELS, [_line(drawn[metric], metric, metric.visible)], axis))
    return panels


def _busy(analysis: Analysis, gpu: int, bins: int) -> Envelope:
    mine = rows_of_gpu(analysis.activities, gpu)
    busy = open_times(mine["start_ns"].to_numpy(), mine["end_ns"].to_numpy())
    if not len(busy.start):
        return Envelope(busy.start, busy.end, busy.value, busy.value, busy.value, 0.0)
    edges = np.unique(np.linspace(busy.start[0], busy.end[-1], bins + 1).round().astype(np.int64))
    left, right = edges[:-1], edges[1:]
    share = 100 * busy.integral(left, right) / (right - left)
    return Envelope(left, right, share, share, share, float(edges[-1] - edges[0]) / len(left))


def _line(envelope: Envelope, metric: traces.Metric, visible: bool | str) -> Settings:
    """A metric as steps; the pointer shows a bin's smallest and largest value as well."""
    table = np.column_stack((envelope.mean, envelope.low, envelope.high))
    x, y = step_points(envelope, table)
    binned = bool(envelope.bin_ns) and bool((envelope.high > envelope.low).any())
    line = traces.empty_line(metric, visible)
    of_bin = "<br>mean of the bin; smallest %{customdata[1]}, largest %{customdata[2]}" if binned else ""
    told = np.array([[units.format_value(value, metric.unit) for value in row] for row in y.tolist()], dtype=object)
    return line.set(
        x=x,
        y=y[:, 0].astype(np.float32),
        customdata=told.reshape(y.shape)[:, : 3 if binned else 1],
        fill="tozeroy" if metric is traces.TENSOR and not binned else None,
        hovertemplate=f"<b>{metric.name}</b> %{{customdata[0]}}<br>at %{{x}}{of_bin}<extra></extra>",
    )


def _lane_panels(lanes: Lanes, gpu: int) -> list[Panel]:
    panels = []
    for window, title in (("host", "NVTX ranges on the CPU"), ("gpu", "Their work on the GPU, first activity to last")):
        bars = traces.lane_traces(lanes, window, f"GPU {gpu}, {window} ranges")
        if bars:
            depths = int(max(bars[0]["y"]))
            axis = {"range": [depths + 0.5, 0.5], "showgrid": False, "tickvals": list(range(1, depths + 1))}
            panels.append(Panel(title, _LANE_PIXELS * depths + 4, bars, axis))
    return panels
