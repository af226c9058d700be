"""Figures of the steps that are compared: laid over each other, and each side by itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.arrays import Bools, Floats
from tcprof.comparison import Comparison
from tcprof.findings.compared.verdict import find_row, step_name, time_row
from tcprof.frames import HEADLINE, quantity_of
from tcprof.views.comparison.sides import LONGEST_NAME, ShownSide, shown_sides
from tcprof.views.figures import (
    AXIS,
    LEGEND,
    PlotlyFigure,
    Settings,
    axis_names,
    base_layout,
    label,
    number_axis,
    scatter,
    unit_ticks,
)

MOST_POINTS = 1000  # of a recording; of more steps blocks are drawn


@dataclass(frozen=True)
class Series:
    """One quantity of the steps of one recording, thinned where there are very many."""

    name: str  # the side's name, with the recording's where it has several, as plotly may show it
    x: Floats  # numbers of the steps, or of each block's first one
    y: Floats  # seconds or percent; of a block the median
    warm_up: Bools
    block: int  # steps in a block; 1 where each is drawn


def _series(side: ShownSide, recording: Analysis, gpu: int, column: str, scale: float) -> Series:
    rows = recording.steps[recording.steps["gpu"] == gpu]
    block = max(1, -(-len(rows) // MOST_POINTS))
    column = "window_active_pct" if column == HEADLINE.name else column  # as time is that of the GPU windows
    frame = pd.DataFrame({"x": rows["number"], "y": rows[column].astype(float) * scale, "warm_up": rows["warm_up"]})
    if block > 1:
        frame = frame.groupby(np.arange(len(frame)) // block).agg({"x": "first", "y": "median", "warm_up": "any"})
    name = label(side.name, LONGEST_NAME)
    if len(side.side.recordings) > 1:
        name += f", {label(recording.recording.file, LONGEST_NAME)}"
    points = frame[frame["y"].notna()]
    x, y = (points[axis].to_numpy(np.float64) for axis in ("x", "y"))
    return Series(name, x, y, points["warm_up"].to_numpy(np.bool_), block)


@dataclass(frozen=True)
class StepPanel:
    """One quantity of all sides on one GPU, with the range of its axis."""

    gpu: int
    column: str
    name: str  # what the quantity is called
    title: str  # the same with whose value it is, as plotly may show it
    scale: float  # what makes seconds or percent of it
    is_percent: bool
    sides: list[tuple[ShownSide, list[Series]]]
    last: float  # the largest number of a step
    low: float
    high: float  # its upper end; warm-up may lie above


def list_panels(comparisons: Sequence[Comparison], gpu: int) -> list[StepPanel]:
    """List the strips: time and Tensor Active, where known, of the steps that sides share with the baseline."""
    stepped = [comparison for comparison in comparisons if comparison.step_path]
    if not stepped:
        return []
    sides = [side for side in shown_sides(comparisons) if side.comparison.step_path or side.number == 0]
    sides[0] = replace(sides[0], comparison=stepped[0])
    per = f"per {label(step_name(stepped[0]), LONGEST_NAME)}"
    quantities = [(str(time_row(stepped[0], gpu)["quantity"]), 1e-9)]  # with what makes seconds or percent of it
    if any(find_row(comparison, gpu, HEADLINE.name)[["base", "new"]].notna().any() for comparison in stepped):
        quantities.append((HEADLINE.name, 1.0))
    panels = []
    for column, scale in quantities:
        drawn = [(s, [_series(s, recording, gpu, column, scale) for recording in s.side.recordings]) for s in sides]
        numbers = [float(series.x.max()) for _, several in drawn for series in several if len(series.x)]
        if numbers:
            name, is_percent, ends = quantity_of(column).column.title, scale == 1.0, _axis_range(drawn, scale == 1.0)
            panels.append(StepPanel(gpu, column, name, f"{name} {per}", scale, is_percent, drawn, max(numbers), *ends))
    return panels


def _axis_range(sides: list[tuple[ShownSide, list[Series]]], is_percent: bool) -> tuple[float, float]:
    """Choose an axis from 0, or from near the lowest where none is near 0, without a warm-up that is far above."""
    values = np.concatenate([series.y for _, several in sides for series in several])
    steady = np.concatenate([series.y[~series.warm_up] for _, several in sides for series in several])
    most = steady.max() if len(steady) else values.max()
    high = most if values.max() > _BEYOND * most else values.max()
    low = 0.0 if is_percent or values.min() < high / 2 else values.min()
    margin = 0.08 * max(high - low, 0.1 * high) or 1.0
    return max(low - margin, 0.0), high + margin


_MOST_DOTS = 250  # more are left out, but for those beyond the whiskers
_HALF = 0.35  # of a box's width
_GOLDEN = 0.618034  # its multiples spread evenly
_REACH = 1.5  # of the box's height, for the whiskers


def box_traces(values: Floats, place: float, color: str, name: str) -> list[Settings]:
    """Draw quartiles, whiskers to the last values within 1.5 times the box, and points beside each other."""
    first, median, third = np.percentile(values, [25, 50, 75])
    reach = _REACH * (third - first)
    inside = values[(values >= first - reach) & (values <= third + reach)]
    low, high = inside.min(), inside.max()
    box, cap, gap = (place - _HALF, place + _HALF), (place - _HALF / 2, place + _HALF / 2), np.nan
    x = [*box, *box[::-1], box[0], gap, *box, gap, place, place, gap, *cap, gap, place, place, gap, *cap]
    y = [first, first, third, third, first, gap, median, median]
    y += [gap, third, high, gap, high, high, gap, first, low, gap, low, low]
    band = {"role": "band"}
    outline = scatter(x=x, y=y, mode="lines", line={"width": 1.5, "color": color}, meta=band)
    dots = values if len(values) <= _MOST_DOTS else values[(values < low) | (values > high)]
    beside = place + _HALF * ((np.arange(len(dots)) * _GOLDEN) % 1 - 0.5)
    points = scatter(x=beside, y=dots, mode="markers", marker={"size": 3, "opacity": 0.5, "color": color}, meta=band)
    return [trace.set(name=name, hoverinfo="y") for trace in (outline, points) if len(trace["y"])]


_MOST_ARROWS = 20  # of a recording
_STRIP, _TITLE, _TOP, _BOTTOM = 190, 26, 40, 46  # pixels
_PLAIN = {"fixedrange": True, "showticklabels": False, "showgrid": False, "zeroline": False}


def figure_steps(comparisons: Sequence[Comparison], gpu: int) -> PlotlyFigure:
    """Draw the steps of all sides on one axis, a line for each recording, with medians, and distributions beside."""
    panels = list_panels(comparisons, gpu)
    inner = len(panels) * (_STRIP + _TITLE) or 1
    figure = PlotlyFigure().update_layout(**base_layout(inner + _TOP + _BOTTOM, _TOP, _BOTTOM))
    for number, panel in enumerate(panels):
        lowest, name = axis_names(number)
        axes = ("x", lowest)
        top = 1 - (number * (_STRIP + _TITLE) + _TITLE) / inner
        figure.update_layout({name: {**_value_axis(panel, top, _STRIP / inner), "anchor": "x"}})
        figure.add_title(panel.title, top)
        for place, (side, several) in enumerate(panel.sides):
            _add_median(figure, panel, side, axes)
            for series in several:
                _add_series(figure, panel, side, series, axes)
            _add_distribution(figure, panel, side, several, place, axes[1])
    if panels:
        for side, _ in panels[0].sides:  # no step stands for a side, since the first one may be warm-up
            marker = {"size": 8, "symbol": side.symbol, "color": side.color}
            entry = {"name": label(side.name, LONGEST_NAME), "legendgroup": str(side.number)}
            figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, **entry)
        figure.update_layout(
            xaxis={**number_axis(lowest, max(panel.last for panel in panels)), "domain": [0, 0.84]},
            xaxis2={**_PLAIN, "anchor": lowest, "domain": [0.87, 1], "range": [-0.6, len(panels[0].sides) - 0.4]},
            legend={**LEGEND, "yref": "paper"},
        )
    return figure


def _value_axis(panel: StepPanel, top: float, height: float) -> dict[str, object]:
    return {
        "domain": [max(top - height, 0.0), min(top, 1.0)],
        "range": [panel.low, panel.high],
        **AXIS,
        "fixedrange": True,
        **({"ticksuffix": " %"} if panel.is_percent else unit_ticks(panel.low, panel.high, "s", 6)),
        "hoverformat": ".3~f" if panel.is_percent else ".4~s",
        "nticks": 6,
    }


def _add_median(figure: PlotlyFigure, panel: StepPanel, side: ShownSide, axes: tuple[str, str]) -> None:
    row = find_row(side.comparison, panel.gpu, panel.column)
    median, low, high = (float(row[f"{side.role}{end}"]) * panel.scale for end in ("", "_low", "_high"))
    ends = [-0.5, panel.last + 0.5]
    shared = {**_placed(side, axes), "mode": "lines", "hoverinfo": "skip"}
    if not np.isnan([low, high]).any():
        band = {"x": [*ends, *ends[::-1]], "y": [low, low, high, high], "fill": "toself", "line": {"width": 0}}
        faint = "rgba({}, {}, {}, 0.18)".format(*bytes.fromhex(side.color.removeprefix("#")))
        figure.add_scatter(**band, fillcolor=faint, name=_named(side, panel, "interval"), **shared)
    if not np.isnan(median):
        line = {"color": side.color, "width": 2, "dash": "dash"}
        figure.add_scatter(x=ends, y=[median, median], line=line, name=_named(side, panel, "median"), **shared)


def _placed(side: ShownSide, axes: tuple[str, str]) -> dict[str, object]:
    return {"xaxis": axes[0], "yaxis": axes[1], "legendgroup": str(side.number), "showlegend": False}


def _named(side: ShownSide, panel: StepPanel, what: str) -> str:
    """Name a trace, as the figure's CSV has it."""
    return f"{label(side.name, LONGEST_NAME)}, {panel.title}, {what}"


def _add_series(figure: PlotlyFigure, panel: StepPanel, side: ShownSide, series: Series, axes: tuple[str, str]) -> None:
    """Add the steps of one recording; an arrow at the upper edge stands for each that lies above the axis."""
    form = units.format_pct if panel.is_percent else units.format_seconds
    texts = [
        f"<b>{series.name}</b><br>step {x:,.0f}"
        + (f" to {x + series.block - 1:,.0f}, median" if series.block > 1 else "")
        + (", warm-up" if warm_up else "")
        + f"<br>{panel.name} {form(y)}"
        for x, y, warm_up in zip(series.x, series.y, series.warm_up, strict=True)
    ]
    figure.add_scatter(
        x=series.x,
        y=series.y,
        mode="lines+markers",
        line={"color": side.color, "width": 1},
        marker={
            "size": 6,
            "symbol": np.where(series.warm_up, f"{side.symbol}-open", side.symbol),
            "line": {"width": np.where(series.warm_up, 1.5, 0)},
            "color": side.color,
        },
        opacity=0.9 if len(side.side.recordings) == 1 else 0.5,
        name=f"{series.name}, {panel.title}",
        hovertext=texts,
        **_placed(side, axes),
    )
    for number in np.flatnonzero(series.y > panel.high)[:_MOST_ARROWS]:
        arrow = {"text": "▲", "font": {"color": side.color}, "showarrow": False, "hovertext": texts[number]}
        place = {"x": series.x[number], "y": panel.high, "xref": axes[0], "yref": axes[1], "yanchor": "top"}
        figure.add_annotation(**arrow, **place)


def _add_distribution(
    figure: PlotlyFigure, panel: StepPanel, side: ShownSide, several: list[Series], place: int, axis: str
) -> None:
    steady = np.concatenate([series.y[~series.warm_up] for series in several])
    values = steady[~np.isnan(steady)]
    if len(values):
        for trace in box_traces(values, place, side.color, _named(side, panel, "distribution")):
            figure.data.append(trace.set(_placed(side, ("x2", axis))))


_BEYOND = 1.5  # warm-up that takes this many times as long as all else is drawn at the edge
