"""Figures of the iterations that are compared: laid over each other, and each side by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.comparison import Comparison, Side
from tcprof.report.comparison_words import find_row, iteration_name, side_names, time_row
from tcprof.report.lanes import label
from tcprof.report.panels import GRID, base_layout

# Distinct for the colour-blind, and read on white and on black; the baseline's is the first. Symbols differ too.
SIDE_COLORS = ("#7A8CA3", "#1F7FC4", "#C7609A", "#A9790B", "#009E73", "#D55E00")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star")
MOST_POINTS = 1000  # of a recording; of more iterations blocks are drawn
_BEYOND = 1.5  # warm-up this many times longer than all other iterations is drawn at the edge
_NAME = 32
MOST_BOX_POINTS = 250  # of a side
_STRIP, _TITLE, _TOP, _BOTTOM = 190, 26, 40, 46  # pixels
_SMALL, _SMALL_TOP = 84, 26
_PLAIN = {"fixedrange": True, "showticklabels": False, "showgrid": False, "zeroline": False}
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ShownSide:
    """A side as it is drawn.

    Attributes:
        name: Its name, as one line that is not escaped.
        role: base or new: its columns in the comparison's rows.
        color: Its colour, and so its symbol.
        side: Its recordings.
        comparison: The comparison that has its figures.
    """

    name: str
    role: str
    color: str
    side: Side
    comparison: Comparison


def shown_sides(comparisons: Sequence[Comparison]) -> list[ShownSide]:
    """The baseline, then the other side of each comparison."""
    first = comparisons[0]
    sides = [("base", first.base, first), *(("new", each.new, each) for each in comparisons)]
    return [
        ShownSide(side_names(each)[role == "new"], role, SIDE_COLORS[number % len(SIDE_COLORS)], side, each)
        for number, (role, side, each) in enumerate(sides)
    ]


def _quantities(comparison: Comparison, gpu: int) -> list[tuple[str, str, float]]:
    """What is drawn of the iterations: column, title, and what makes seconds or percent of it."""
    time = str(time_row(comparison, gpu)["quantity"])
    name = "host time" if time == "host_ns" else "GPU window"
    found = [(time, f"{name} per {label(iteration_name(comparison), _NAME)}", 1e-9)]
    active = find_row(comparison, gpu, "tensor_active_mean_pct")
    if active[["base", "new"]].notna().any():
        found.append(("tensor_active_mean_pct", "Tensor Active, mean", 1.0))
    return found


@dataclass(frozen=True)
class _Series:
    """One quantity of the iterations of one recording, thinned where there are very many."""

    name: str
    x: _Floats
    y: _Floats
    warm_up: npt.NDArray[np.bool_]
    block: int


def _series(shown: ShownSide, recording: Analysis, gpu: int, column: str, scale: float) -> _Series:
    rows = recording.iterations[recording.iterations["gpu"] == gpu]
    block = max(1, -(-len(rows) // MOST_POINTS))
    frame = pd.DataFrame({"x": rows["number"], "y": rows[column].astype(float) * scale, "warm_up": rows["warm_up"]})
    if block > 1:
        frame = frame.groupby(np.arange(len(frame)) // block).agg({"x": "first", "y": "median", "warm_up": "any"})
    name = label(shown.name, _NAME)
    if len(shown.side.recordings) > 1:
        name += f", {label(recording.recording.file, _NAME)}"
    known = frame[frame["y"].notna()]
    x, y = (known[axis].to_numpy(np.float64) for axis in ("x", "y"))
    return _Series(name, x, y, known["warm_up"].to_numpy(np.bool_), block)


@dataclass(frozen=True)
class _Panel:
    """One quantity of all sides on one GPU, with the range of its axis."""

    gpu: int
    column: str
    title: str
    scale: float
    sides: list[tuple[ShownSide, list[_Series]]]
    low: float
    high: float

    @property
    def is_percent(self) -> bool:
        return self.scale == 1.0

    @property
    def last(self) -> float:
        return max((float(series.x.max()) for _, each in self.sides for series in each if len(series.x)), default=0.0)


def _panels(sides: Sequence[ShownSide], gpu: int) -> list[_Panel]:
    panels = []
    for column, title, scale in _quantities(sides[-1].comparison, gpu):
        drawn = [(s, [_series(s, each, gpu, column, scale) for each in s.side.recordings]) for s in sides]
        if any(len(series.x) for _, several in drawn for series in several):
            panels.append(_Panel(gpu, column, title, scale, drawn, *_axis_range(drawn, scale == 1.0)))
    return panels


def _axis_range(sides: list[tuple[ShownSide, list[_Series]]], is_percent: bool) -> tuple[float, float]:
    """The axis from 0, or from near the lowest where nothing is near 0; and not up to a warm-up that is far above."""
    values = np.concatenate([series.y for _, several in sides for series in several])
    steady = np.concatenate([series.y[~series.warm_up] for _, several in sides for series in several])
    most = steady.max() if len(steady) else values.max()
    high = most if values.max() > _BEYOND * most else values.max()
    low = 0.0 if is_percent or values.min() < high / 2 else values.min()
    room = 0.08 * max(high - low, 0.1 * high) or 1.0
    return max(low - room, 0.0), high + room


def figure_iterations(comparisons: Sequence[Comparison], gpu: int) -> go.Figure:
    """The iterations of all sides laid over each other, on one axis of numbers, with their distributions beside.

    Each line is a recording; bands are the 95 % intervals of the sides' medians, and open symbols are warm-up.

    Args:
        comparisons: Comparisons with one baseline.
        gpu: The GPU.
    """
    panels = _panels(shown_sides(comparisons), gpu)
    inner = len(panels) * (_STRIP + _TITLE) or 1
    figure = go.Figure().update_layout(**base_layout(inner + _TOP + _BOTTOM, _TOP, _BOTTOM))
    for number, panel in enumerate(panels):
        axes = ("x", _axis("y", number))
        top = 1 - (number * (_STRIP + _TITLE) + _TITLE) / inner
        figure.update_layout({_name(axes[1]): {**_value_axis(panel, top, _STRIP / inner), "anchor": "x"}})
        figure.add_annotation(text=panel.title, **_above(0.0, top))
        for place, (shown, several) in enumerate(panel.sides):
            _add_median(figure, panel, shown, axes)
            for series in several:
                _add_series(figure, panel, shown, series, axes)
            figure.add_trace(_box(shown, several, place).update(xaxis="x2", yaxis=axes[1]))
    if panels:
        for shown, _ in panels[0].sides:
            figure.add_trace(_legend(shown))
        lowest = _axis("y", len(panels) - 1)
        figure.update_layout(
            xaxis=_number_axis(lowest, [0, 0.84], max(panel.last for panel in panels)),
            xaxis2={**_PLAIN, "anchor": lowest, "domain": [0.87, 1], "range": [-0.6, len(panels[0].sides) - 0.4]},
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "yref": "paper"},
        )
    return figure


def figure_small_multiples(comparisons: Sequence[Comparison], gpu: int) -> go.Figure:
    """A strip for each side, all with the same axes: time on the left, Tensor Active on the right.

    The dashed line and the band are the baseline's median and its interval.

    Args:
        comparisons: Comparisons with one baseline.
        gpu: The GPU.
    """
    panels = _panels(shown_sides(comparisons), gpu)
    rows = len(panels[0].sides) if panels else 0
    inner = rows * (_SMALL + _TITLE) or 1
    figure = go.Figure().update_layout(**base_layout(inner + _SMALL_TOP + _BOTTOM, _SMALL_TOP, _BOTTOM))
    figure.update_layout(showlegend=False)
    for column, panel in enumerate(panels):
        domain = [column * 0.54, column * 0.54 + 0.46] if len(panels) > 1 else [0, 1]
        figure.add_annotation(text=f"<b>{panel.title}</b>", **_above(domain[0], 1.0))
        for row, (shown, several) in enumerate(panel.sides):
            axes = (_axis("x", column), _axis("y", column * rows + row))
            top = 1 - (row * (_SMALL + _TITLE) + _TITLE) / inner
            vertical = {**_value_axis(panel, top, _SMALL / inner), "anchor": axes[0], "nticks": 4}
            figure.update_layout({_name(axes[1]): vertical})
            figure.add_annotation(text=label(shown.name, _NAME), **_above(domain[0], top))
            _add_median(figure, panel, panel.sides[0][0], axes)
            for series in several:
                _add_series(figure, panel, shown, series, axes)
        across = {**_number_axis(axes[1], domain, max(each.last for each in panels)), "nticks": 6}
        figure.update_layout({_name(axes[0]): {**across, **({"matches": "x"} if column else {})}})
    return figure


def _axis(letter: str, number: int) -> str:
    """The name by which traces call an axis: y, y2, y3."""
    return f"{letter}{number + 1}" if number else letter


def _name(axis: str) -> str:
    """The name by which the layout calls it: yaxis, yaxis2."""
    return f"{axis[0]}axis{axis[1:]}"


def _above(left: float, top: float) -> dict[str, object]:
    """Where the title of a strip stands."""
    place = {"xref": "paper", "yref": "paper", "x": left, "y": top, "xanchor": "left", "yanchor": "bottom"}
    return {**place, "showarrow": False}


def _value_axis(panel: _Panel, top: float, height: float) -> dict[str, object]:
    return {
        "domain": [max(top - height, 0.0), min(top, 1.0)],
        "range": [panel.low, panel.high],
        "fixedrange": True,
        "gridcolor": GRID,
        "zeroline": False,
        "ticksuffix": " %" if panel.is_percent else "s",
        "tickformat": "" if panel.is_percent else ".3~s",
        "hoverformat": ".3~f" if panel.is_percent else ".4~s",
        "nticks": 6,
    }


def _number_axis(anchor: str, domain: list[float], last: float) -> dict[str, object]:
    return {
        "anchor": anchor,
        "domain": domain,
        "range": [-0.5, last + 0.5],
        "gridcolor": GRID,
        "zeroline": False,
        "tickformat": ",d",
        "nticks": 12,
        "title": {"text": "iteration", "standoff": 6},
    }


def _add_median(figure: go.Figure, panel: _Panel, shown: ShownSide, axes: tuple[str, str]) -> None:
    """The side's median as a dashed line, and the interval of that as a band."""
    row = find_row(shown.comparison, panel.gpu, panel.column)
    median, low, high = (float(row[f"{shown.role}{end}"]) * panel.scale for end in ("", "_low", "_high"))
    ends = [-0.5, panel.last + 0.5]
    shared = {"xaxis": axes[0], "yaxis": axes[1], "legendgroup": shown.name, "showlegend": False, "hoverinfo": "skip"}
    if not np.isnan([low, high]).any():
        band = {"x": [*ends, *ends[::-1]], "y": [low, low, high, high], "fill": "toself", "line": {"width": 0}}
        figure.add_scatter(**band, mode="lines", fillcolor=_faint(shown.color), name="interval", **shared)
    if not np.isnan(median):
        line = {"color": shown.color, "width": 2, "dash": "dash"}
        figure.add_scatter(x=ends, y=[median, median], mode="lines", line=line, name="median", **shared)


def _add_series(figure: go.Figure, panel: _Panel, shown: ShownSide, series: _Series, axes: tuple[str, str]) -> None:
    """The iterations of one recording; those above the axis stand at its upper edge, as arrows."""
    beyond = series.y > panel.high
    symbol = _symbol(shown)
    figure.add_scatter(
        x=series.x,
        y=np.minimum(series.y, panel.high - 0.03 * (panel.high - panel.low)),
        mode="lines+markers",
        line={"color": shown.color, "width": 1},
        marker={
            "size": np.where(beyond, 10, 6),
            "symbol": np.where(beyond, "arrow-up-open", np.where(series.warm_up, f"{symbol}-open", symbol)),
            "color": shown.color,
            "opacity": 1,
        },
        opacity=0.9 if len(shown.side.recordings) == 1 else 0.5,
        name=label(shown.name, _NAME),
        legendgroup=shown.name,
        showlegend=False,
        hovertext=_hover(panel, series),
        hovertemplate="%{hovertext}<extra></extra>",
        xaxis=axes[0],
        yaxis=axes[1],
    )


def _symbol(shown: ShownSide) -> str:
    return SYMBOLS[SIDE_COLORS.index(shown.color)]


def _legend(shown: ShownSide) -> go.Scatter:
    """What stands for a side in the legend: no iteration, since the first one may be warm-up."""
    marker = {"size": 8, "symbol": _symbol(shown), "color": shown.color}
    name = label(shown.name, _NAME)
    return go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name, legendgroup=shown.name)


def _hover(panel: _Panel, series: _Series) -> list[str]:
    form = units.format_pct if panel.is_percent else units.format_seconds
    return [
        f"<b>{series.name}</b><br>iteration {x:,.0f}"
        + (f" to {x + series.block - 1:,.0f}, median" if series.block > 1 else "")
        + (", warm-up" if warm_up else "")
        + f"<br>{panel.title.partition(' per ')[0]} {form(y)}"
        for x, y, warm_up in zip(series.x, series.y, series.warm_up, strict=True)
    ]


def _box(shown: ShownSide, several: list[_Series], place: int) -> go.Box:
    """The distribution of a side's iterations without warm-up, of all its recordings together."""
    steady = np.concatenate([series.y[~series.warm_up] for series in several])
    return go.Box(
        x=np.full(len(steady), place),
        y=steady,
        boxpoints="all" if len(steady) <= MOST_BOX_POINTS else "outliers",
        jitter=0.5,
        pointpos=0,
        width=0.7,
        marker={"size": 3, "opacity": 0.5, "color": shown.color},
        line={"width": 1.5, "color": shown.color},
        fillcolor="rgba(0,0,0,0)",
        name=label(shown.name, _NAME),
        legendgroup=shown.name,
        showlegend=False,
        hoverinfo="y",
    )


def _faint(color: str) -> str:
    return "rgba({}, {}, {}, 0.18)".format(*hex_to_rgb(color))
