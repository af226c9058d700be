"""The figure of the page's timeline without its points: strips, axes, colours, and what each trace is for.

Each trace's ``meta`` (``role``, place of the GPU, curve) tells the page's script what to paint on a canvas below the
axes: plotly takes a tenth of a second for a thousand bars, and lays out everything anew where a curve changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.render.html.timeline.lanes import STREAM_ROWS, GpuLanes
from tcprof.views.figures import (
    AXIS,
    LEGEND,
    PlotlyFigure,
    Settings,
    axis_names,
    base_layout,
    scatter,
    traces,
    unit_ticks,
)

_RATE_PIXELS, _CLOCK_PIXELS, _ROW_PIXELS = 80, 44, 21

_TITLE_PIXELS = 26
_TOP, _BOTTOM = 44, 52


@dataclass(frozen=True)
class TimelineStrip:
    """One strip of a timeline, with its own vertical axis."""

    title: str
    pixels: int
    traces: Sequence[Settings]  # what is drawn in it; their ``yaxis`` is set when the strips are stacked
    axis: dict[str, object]
    notes: Mapping[int, str] = field(default_factory=dict)  # titles inside of it, by their place on the vertical axis


def draw_skeleton(
    analysis: Analysis, curves: Mapping[traces.Curve, float], lanes: GpuLanes, place: int = 0, head: str = ""
) -> PlotlyFigure:
    """Strips of a GPU one below the other, with traces that have no points.

    Args:
        curves: The largest value of each curve that is known.
        place: The GPU's place among those of the page.
        head: What the first title begins with.
    """
    panels = [*_curve_panels(curves, place, traces.tensor_peak(analysis)), *_lane_panel(lanes, place)]
    if panels:
        panels[0] = replace(panels[0], title=f"{head}{panels[0].title}")
    figure = _stack_panels(panels, analysis)
    return figure.update_layout(hoverdistance=14, margin={"l": 84})


def _curve_panels(curves: Mapping[traces.Curve, float], place: int, peak: float) -> list[TimelineStrip]:
    rate = curves.get(traces.FLOP_RATE, 0.0)
    rates = {"range": [0, 1.1 * (rate or 1.0)], **unit_ticks(0, rate or 1.0, "FLOP/s", 4)}
    clock = curves.get(traces.CLOCK, 1.0)
    clocks = {"range": [0, 1.15 * clock], **unit_ticks(0, clock, "Hz", 3)}
    kinds: tuple[tuple[str, tuple[traces.Curve, ...], int, dict[str, Any], str], ...] = (
        (traces.TENSOR.name, (traces.TENSOR,), traces.TENSOR_PIXELS, traces.tensor_axis(peak), "%"),
        ("Tensor FLOP/s, from the fit of the kernels", (traces.FLOP_RATE,), _RATE_PIXELS, rates, "FLOP/s"),
        ("SM Active and other metrics", traces.METRICS, traces.OTHERS_PIXELS, traces.PERCENT_AXIS, "%"),
        ("Clock of the SMs", (traces.CLOCK,), _CLOCK_PIXELS, clocks, "Hz"),
        *(
            (m.name, (m,), traces.MEASURED_PIXELS, traces.measured_axis(m, curves.get(m, 0.0)), units.symbol_of(m.unit))
            for m in traces.MEASURED
        ),
    )
    panels = []
    for title, metrics, pixels, axis, unit in kinds:
        lines: list[Settings] = []
        for metric in metrics:
            if metric in curves and (metric is not traces.FLOP_RATE or rate > 0):
                meta = {"gpu": place, "curve": metric.name}
                lines += [traces.empty_band().set(meta={**meta, "role": "band"})] if metric is traces.TENSOR else []
                line = traces.empty_line(metric, metric.visible)
                lines.append(line.set(meta={**meta, "role": "curve", "unit": unit}))
        if lines:
            panels.append(TimelineStrip(title, pixels, lines, axis))
    return panels


def _lane_panel(lanes: GpuLanes, place: int) -> list[TimelineStrip]:
    """Draw the axes of a GPU's lanes, and a trace of points for the pointer; the bars are painted below the axes."""
    if not lanes.rows:
        return []
    hover = scatter(
        mode="none",
        hovertemplate="%{text}<extra></extra>",
        name="pointed at",
        showlegend=False,
        meta={"gpu": place, "role": "lanes"},
    )
    axis = {
        "range": [lanes.rows - 0.45, 0.5],  # the strip's own title takes the place of row 0
        "showgrid": False,
        "tickvals": [row + (STREAM_ROWS - 1) / 2 for row in lanes.labels],
        "ticktext": list(lanes.labels.values()),
        "ticks": "",
    }
    first = next(iter(lanes.titles.values()))
    notes = {row: title for row, title in lanes.titles.items() if row > 0}
    return [TimelineStrip(first, _ROW_PIXELS * (lanes.rows - 1), [hover], axis, notes)]


def _stack_panels(panels: Sequence[TimelineStrip], analysis: Analysis) -> PlotlyFigure:
    """Strips one below the other on one axis of time, so that zooming one zooms all."""
    inner = sum(panel.pixels + _TITLE_PIXELS for panel in panels) or 1
    figure = PlotlyFigure()
    figure.update_layout(**base_layout(inner + _TOP + _BOTTOM, _TOP, _BOTTOM))
    legend: set[str] = set()
    position = float(inner)
    for number, panel in enumerate(panels):
        position -= _TITLE_PIXELS
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
