"""A recording's iterations one by one: what each took on the GPU, and its Tensor Active, with the warm-up marked."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.mean_iteration import Typical, find_typical
from tcprof.frames import HEADLINE
from tcprof.views.figures.circles import as_table
from tcprof.views.figures.curves import TENSOR_COLOR
from tcprof.views.figures.plain import (
    AXIS,
    PlotlyFigure,
    Settings,
    axis_names,
    base_layout,
    label,
    number_axis,
    scatter,
    unit_ticks,
)
from tcprof.views.selection import link

MOST_POINTS = 1000  # of a GPU, about one for each pixel; of more iterations the longest of each group is drawn
TIME_COLOR = "#1F7FC4"
_WARM_UP_COLOR = "rgba(128,128,128,0.14)"
_HIGHEST = 2.0  # warm-up above this many times the longest of the others is drawn at the edge
_STRIP, _GAP, _TOP, _BOTTOM = 150, 34, 30, 48  # pixels
_COLUMNS = [
    *("gpu", "number", "path", "warm_up", "host_ns", "gpu_window_ns", "kernel_ns"),
    *(HEADLINE.name, "tensor_active_s", "tensor_cycles", "coverage_pct"),
]
_SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-left", "star", "hexagon", "pentagon")


def figure_iteration_strip(analysis: Analysis) -> PlotlyFigure:
    """The GPU window of each iteration, and below it its mean Tensor Active, where that is known.

    Dashed lines are the medians without warm-up, with their 95 % intervals as bands; warm-up has open symbols on grey.
    """
    started = analysis.iterations.merge(analysis.instances[["gpu", "range", "gpu_start_ns"]], on=["gpu", "range"])
    iterations = started[started["gpu_window_ns"] > 0]
    strips = [("gpu_window_ns", "GPU window of each iteration", "window_ns", TIME_COLOR)]
    if iterations[HEADLINE.name].notna().any():
        strips.append((HEADLINE.name, "Tensor Active, mean", "tensor_active_pct", TENSOR_COLOR))
    inner = len(strips) * (_STRIP + _GAP) - _GAP
    figure = PlotlyFigure().update_layout(**base_layout(inner + _TOP + _BOTTOM, _TOP, _BOTTOM), showlegend=False)
    if iterations.empty:
        return figure
    for place, (column, title, quantity, color) in enumerate(strips):
        axis, axis_name = axis_names("y", place)
        high = 1 - place * (_STRIP + _GAP) / inner
        scale = 1e-9 if column.endswith("_ns") else 1.0
        top = _highest(iterations, column) * scale
        domain = [max(high - _STRIP / inner, 0), high]
        ticks = {"ticksuffix": " %", "nticks": 5} if column.endswith("_pct") else unit_ticks(0, top, "s")
        shared = {**AXIS, "anchor": "x", "fixedrange": True, "domain": domain, "range": [0, 1.08 * top]}
        figure.update_layout({axis_name: {**shared, **ticks}})
        figure.add_title(title, high)
        for number, (gpu, rows) in enumerate(iterations.groupby("gpu", sort=True)):
            figures = find_typical(analysis, int(str(gpu)))
            if figures is not None:
                _add_median(figure, getattr(figures, quantity), scale, axis, color)
            figure.add_trace(
                _points(_thinned(rows), column, scale, top, number).set(yaxis=axis, marker={"color": color})
            )
    _mark_warm_up(figure, iterations)
    drawn = pd.concat([_thinned(rows) for _, rows in iterations.groupby("gpu", sort=True)])
    across = number_axis(axis, int(iterations["number"].max()))
    return figure.update_layout(meta=as_table(drawn, _COLUMNS), xaxis=across)


def _highest(iterations: pd.DataFrame, column: str) -> float:
    steady = iterations.loc[~iterations["warm_up"], column].max()
    largest = iterations[column].max()
    return float(min(largest, _HIGHEST * steady) if steady > 0 else largest) or 1.0


def _thinned(rows: pd.DataFrame) -> pd.DataFrame:
    """Few enough iterations: the longest of neighbours."""
    step = -(-len(rows) // MOST_POINTS)
    if step <= 1:
        return rows
    return rows.loc[rows.groupby(np.arange(len(rows)) // step)["gpu_window_ns"].idxmax()]


def _points(rows: pd.DataFrame, column: str, scale: float, top: float, number: int) -> Settings:
    value = rows[column].to_numpy(np.float64) * scale
    beyond, warm_up = value > 1.08 * top, rows["warm_up"].to_numpy(bool)
    symbol = _SYMBOLS[number % len(_SYMBOLS)]
    shapes = np.where(beyond, "triangle-up", symbol).astype(object)
    return scatter(
        x=rows["number"].to_numpy(),
        y=np.where(beyond, 1.04 * top, value),
        mode="markers",
        name=f"GPU {rows['gpu'].iloc[0]}",
        marker={"size": 7 if len(rows) < 300 else 4, "symbol": np.where(warm_up, shapes + "-open", shapes)},
        customdata=[link("iteration", str(each), gpu) for each, gpu in zip(rows["number"], rows["gpu"], strict=True)],
        meta={"selects": True},
        hovertext=[_describe(row) for row in rows.to_dict("records")],
    )


def _describe(row: Mapping[Any, Any]) -> str:
    warm_up = ", warm-up" if row["warm_up"] else ""
    return (
        f"<b>{label(str(row['path']), 60)}</b>, iteration {row['number']} on GPU {row['gpu']}{warm_up}<br>"
        f"GPU window {units.format_ns(row['gpu_window_ns'])}, on the CPU {units.format_ns(row['host_ns'])}<br>"
        f"Tensor Active {HEADLINE.format(row)}"
    )


def _add_median(figure: PlotlyFigure, found: Typical, scale: float, axis: str, color: str) -> None:
    across = {"xref": "paper", "yref": axis, "x0": 0, "x1": 1}
    if found.value == found.value:
        line = {"color": color, "width": 1, "dash": "dash"}
        figure.add_shape(type="line", y0=found.value * scale, y1=found.value * scale, line=line, **across)
    if found.low <= found.high:
        band = {"fillcolor": color, "opacity": 0.18, "line": {"width": 0}, "layer": "below"}
        figure.add_shape(type="rect", y0=found.low * scale, y1=found.high * scale, **band, **across)


def _mark_warm_up(figure: PlotlyFigure, iterations: pd.DataFrame) -> None:
    warm_up = iterations.loc[iterations["warm_up"], "number"]
    if warm_up.empty:
        return
    last = float(warm_up.max()) + 0.5
    place = {"xref": "x", "yref": "paper", "x0": -0.5, "x1": last, "y0": 0, "y1": 1}
    figure.add_shape(type="rect", fillcolor=_WARM_UP_COLOR, line={"width": 0}, layer="below", **place)
    word = {"x": 1, "xref": "paper", "y": 1, "yref": "paper", "xanchor": "right", "yanchor": "bottom"}
    figure.add_annotation(text="grey: warm-up", showarrow=False, font={"size": 11}, **word)
