"""Strips of a timeline, one below the other on one axis of time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tcprof.analysis import Analysis
from tcprof.views.figures.lanes import TENSOR_SCALE
from tcprof.views.figures.plain import PlotlyFigure, Settings, scatter

GRID = "rgba(128,128,128,0.22)"
TITLE_PIXELS = 26
_TOP, _BOTTOM, _COLORS = 44, 52, 48


@dataclass(frozen=True)
class Panel:
    """One strip of a timeline, with its own vertical axis.

    Attributes:
        title: The heading above it.
        pixels: Its height.
        traces: What is drawn in it; their ``yaxis`` is set when the strips are stacked.
        axis: Settings of the vertical axis.
        notes: More titles inside of it, each by its place on the vertical axis.
    """

    title: str
    pixels: int
    traces: Sequence[Settings]
    axis: dict[str, object]
    notes: Mapping[int, str] = field(default_factory=dict)


def stack_panels(panels: Sequence[Panel], analysis: Analysis, colors: bool = True) -> PlotlyFigure:
    """Strips one below the other on one axis of time, so that zooming one zooms all.

    Args:
        colors: Whether to add the scale of the ranges' colours.
    """
    inner = sum(panel.pixels + TITLE_PIXELS for panel in panels) or 1
    has_colors = colors and highest_range(analysis) > 0
    bottom = _BOTTOM + (_COLORS if has_colors else 0)
    figure = PlotlyFigure()
    figure.update_layout(**base_layout(inner + _TOP + bottom, _TOP, bottom))
    legend: set[str] = set()
    position = float(inner)
    for number, panel in enumerate(panels, start=1):
        position -= TITLE_PIXELS
        high, position = position / inner, position - panel.pixels
        axis = "y" if number == 1 else f"y{number}"
        name = axis.replace("y", "yaxis")
        settings = {
            "domain": [max(position / inner, 0), high],
            "fixedrange": True,
            "gridcolor": GRID,
            "zeroline": False,
        }
        figure.update_layout({name: {**settings, **panel.axis, "anchor": "x"}})
        figure.add_annotation(
            text=panel.title, xref="paper", yref="paper", x=0, y=high, yanchor="bottom", xanchor="left", showarrow=False
        )
        for place, note in panel.notes.items():
            figure.add_annotation(text=note, xref="paper", yref=axis, x=0, y=place, xanchor="left", showarrow=False)
        for trace in panel.traces:
            first = trace.get("showlegend", True) and trace["name"] not in legend
            legend |= {trace["name"]} if first else set()
            figure.add_trace(trace.set(yaxis=axis, showlegend=first))
    last = "y" if len(panels) < 2 else f"y{len(panels)}"
    figure.update_layout(xaxis=_time_axis(analysis, last), barmode="overlay")
    if has_colors:
        colored = {"color": [0], "coloraxis": "coloraxis"}
        figure.add_trace(scatter(x=[None], y=[None], marker=colored, hoverinfo="skip", showlegend=False))
        figure.update_layout(coloraxis=_color_axis(inner))
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "yref": "paper"})
    return figure


def base_layout(height: int, top: int = 30, bottom: int = 40) -> dict[str, object]:
    """Layout that all figures share."""
    return {
        "height": height,
        "margin": {"l": 52, "r": 12, "t": top, "b": bottom},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12},
        "uniformtext": {"mode": "hide", "minsize": 10},
        "dragmode": "zoom",
        "hovermode": "closest",
        "template": {"data": {"scatter": [{"type": "scatter"}]}},  # "none" of plotly for Python
    }


def number_axis(anchor: str, last: float, most_ticks: int = 12) -> dict[str, object]:
    """An axis of the numbers of iterations, from 0 on.

    Args:
        most_ticks: About how many numbers are shown.
    """
    return {
        "anchor": anchor,
        "range": [-0.5, last + 0.5],
        "gridcolor": GRID,
        "zeroline": False,
        "tickformat": ",d",
        **({"dtick": 1} if last < most_ticks else {"nticks": most_ticks}),  # else numbers would come twice
        "title": {"text": "iteration", "standoff": 6},
    }


def _time_axis(analysis: Analysis, anchor: str) -> dict[str, object]:
    """Seconds on the recording's clock, from the first thing drawn to the last."""
    spans = _spans(analysis)
    low, high = (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else (0.0, 1.0)
    return {
        "range": [low, high],
        "anchor": anchor,
        "tickformat": ".9~f",
        "hoverformat": ".9~f",
        "ticksuffix": " s",
        "gridcolor": GRID,
        "zeroline": False,
        "nticks": 9,
        "title": {"text": "time since the recording began", "standoff": 6},
    }


def _spans(analysis: Analysis) -> list[tuple[float, float]]:
    """First and last time of the samples, the activities and the ranges, in seconds."""
    frames = [
        (analysis.samples, "start_ns", "end_ns"),
        (analysis.activities, "start_ns", "end_ns"),
        (analysis.instances, "host_start_ns", "host_end_ns"),
    ]
    return [(float(f[start].min()) * 1e-9, float(f[end].max()) * 1e-9) for f, start, end in frames if len(f)]


def highest_range(analysis: Analysis) -> float:
    """The largest Tensor Active mean of an instance; 0 where none is known."""
    highest = analysis.instances["tensor_active_mean_pct"].max()
    return float(highest) if highest == highest else 0.0


def _color_axis(inner: int) -> dict[str, object]:
    """What the colour of a range says; without a known one there is nothing to say."""
    return {
        "colorscale": [list(stop) for stop in TENSOR_SCALE],
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
