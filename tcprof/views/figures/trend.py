"""The trend of one figure: each run with its interval, the levels, and where they change."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.frames import HISTORY_RUNS, Column
from tcprof.history.figures import METRICS
from tcprof.history.trends import SeriesTrend, find_circumstances
from tcprof.views.figures import AXIS, PlotlyFigure, base_layout, label, unit_ticks
from tcprof.views.figures.circles import as_table
from tcprof.views.trends import find_levels, list_rows, name_run, tell

_HEIGHT, _TOP, _BOTTOM, _RIGHT = 260, 12, 44, 44  # on the right half of the last date
_POINT, _LEVEL, _ACCEPTED, _BAND = "#2E8BC0", "#1D745B", "#9467BD", "rgba(29,116,91,0.16)"
_CHANGE, _CIRCUMSTANCE = "#D81B60", "#B08900"
_MOST_DATES, _MANY = 6, 200
_SCALES = {"ns": 1e-9, "tflops": 1e12}  # from a column's unit to that of its axis
_SYMBOLS = {"ns": "s", "tflops": "FLOP/s"}
_HOVERED = ("branch", "label", "driver_version", "cuda_version", "torch_version", "clock_hz")
_SHORT_COMMIT, _LONGEST = 14, 160
_STAGGERED = 0.08  # of the height: labels of changes that follow each other stand at two heights


def figure_trend(each: SeriesTrend, accepted: Mapping[str, str]) -> PlotlyFigure:
    """The points of a series over its runs.

    Args:
        accepted: Why the level of a commit is accepted.
    """
    column = METRICS[str(each.series["metric"])]
    figure, scale = PlotlyFigure(), _SCALES.get(column.unit, 1.0)
    _add_points(figure, each, column, scale)
    _add_levels(figure, each, scale)
    _add_changes(figure, each, column, scale, accepted)
    _add_circumstances(figure, each, scale)
    return figure.update_layout(_layout(each, column, scale), margin={"r": _RIGHT})


def _add_points(figure: PlotlyFigure, each: SeriesTrend, column: Column, scale: float) -> None:
    points = each.points
    values, low, high = (scale * points[name].to_numpy(float) for name in ("value", "low", "high"))
    figure.add_scatter(
        name="runs",
        mode="markers",
        x=points["place"].to_numpy(),
        y=values,
        error_y={"type": "data", "array": np.nan_to_num(high - values), "arrayminus": np.nan_to_num(values - low),
                 "color": _POINT, "thickness": 1, "width": 2},
        marker={"color": _POINT, "size": 7 if len(points) <= _MANY else 4},
        hovertext=[_describe(row, column) for row in points.to_dict("records")],
    )  # fmt: skip


def _describe(row: Mapping[Any, Any], column: Column) -> str:
    """What hovering says of a run."""
    commit = label(str(row["commit"]), 40)
    interval = units.format_interval(float(row["low"]), float(row["high"]), column.format)
    known = [f"{HISTORY_RUNS[name].title}: {label(HISTORY_RUNS[name].format(row[name]))}"
             for name in _HOVERED if pd.notna(row[name]) and row[name] != ""]  # fmt: skip
    lines = [
        f"<b>{column.format(row['value'])}</b>{f', 95 %: {interval}' if interval else ''}",
        f"run {row['run_id']}, {str(row['ordered_utc'])[:10]}",
        *([f"Commit: {commit}"] if commit else []),
        *known,
        *["analysis kept in the store"] * bool(row["kept"]),
    ]
    return "<br>".join(lines)


def _add_levels(figure: PlotlyFigure, each: SeriesTrend, scale: float) -> None:
    """The level of each stretch, those that were accepted in a colour of their own, and the last one's interval."""
    place, count, changes = each.points["place"].to_numpy(), len(each.points), each.trend.changes
    borders = [0, *(change.index for change in changes), count]
    levels = find_levels(each)
    for is_accepted, name, color in ((False, "level", _LEVEL), (True, "accepted level", _ACCEPTED)):
        x: list[float | None] = []
        y: list[float | None] = []
        for number, (first, last) in enumerate(pairwise(borders)):
            if np.isnan(levels[first]):
                continue
            if (number > 0 and changes[number - 1] in each.shown and changes[number - 1].accepted) == is_accepted:
                x += [place[first] - 0.5, place[last - 1] + 0.5, None]
                y += [scale * levels[first], scale * levels[first], None]
        if x:
            figure.add_scatter(
                name=name,
                mode="lines",
                x=x,
                y=y,
                line={"color": color, "width": 2},
                connectgaps=False,
                hoverinfo="skip",
            )
    if np.isfinite(each.trend.low):
        first, last = place[borders[-2]] - 0.5, place[-1] + 0.5
        low, high = scale * each.trend.low, scale * each.trend.high
        figure.add_scatter(
            name="95 % interval of the level", mode="lines", x=[first, last, last, first], y=[low, low, high, high],
            line={"width": 0}, fill="toself", fillcolor=_BAND, hoverinfo="skip",
        )  # fmt: skip


def _add_changes(
    figure: PlotlyFigure, each: SeriesTrend, column: Column, scale: float, accepted: Mapping[str, str]
) -> None:
    """Each change with its commit, on a line between the runs before and after it."""
    for is_accepted, name, color in ((False, "change", _CHANGE), (True, "accepted change", _ACCEPTED)):
        found = [change for change in each.shown if change.accepted == is_accepted]
        texts = []
        for change in found:
            run = each.points.iloc[change.index]
            commit, x = name_run(run), float(run["place"]) - 0.5
            figure.add_shape(
                type="line", x0=x, x1=x, yref="paper", y0=0, y1=1,
                line={"color": color, "width": 1, "dash": "dash" if is_accepted else "solid"},
            )  # fmt: skip
            is_late = change.index > len(each.points) / 2
            figure.add_annotation(
                text=label(commit.partition(" ")[0], _SHORT_COMMIT), showarrow=False, x=x, yref="paper",
                y=1 - _STAGGERED * (each.shown.index(change) % 2),
                yanchor="top", xanchor="right" if is_late else "left", xshift=-3 if is_late else 3,
            )  # fmt: skip
            why = accepted.get(str(run["commit"]), "")
            said = [f"<b>{label(commit)}</b>", label(tell(each, change), _LONGEST)]
            texts.append("<br>".join([*said, *([f"Accepted: {label(why, _LONGEST)}"] if why else [])]))
        if found:
            figure.add_scatter(
                name=name, mode="markers", hovertext=texts,
                x=[float(each.points["place"].iloc[change.index]) - 0.5 for change in found],
                y=[scale * change.after for change in found],
                marker={"color": color, "size": 11, "symbol": "diamond"},
            )  # fmt: skip


def _add_circumstances(figure: PlotlyFigure, each: SeriesTrend, scale: float) -> None:
    """Where driver, CUDA, torch, tcprof or the clock changed together with the figure."""
    x, y, texts = [], [], []
    for change in each.shown:
        if found := find_circumstances(*each.around(change)):
            x.append(float(each.points["place"].iloc[change.index]) - 0.5)
            y.append(scale * change.before)
            lines = [f"{HISTORY_RUNS[name].title}: {label(old)} → {label(new)}" for name, old, new in found]
            texts.append("<br>".join(["<b>Changed there, too</b>", *lines]))
    if x:
        figure.add_scatter(
            name="driver, library or clock changed there, too", mode="markers", x=x, y=y, hovertext=texts,
            marker={"color": _CIRCUMSTANCE, "size": 11, "symbol": "square"},
        )  # fmt: skip


def _layout(each: SeriesTrend, column: Column, scale: float) -> dict[str, object]:
    points = each.points
    ends = scale * points[["value", "low", "high"]].to_numpy(float)
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    pad = 0.1 * (high - low) or 0.05 * abs(high) or 1.0
    symbol = _SYMBOLS.get(column.unit, units.symbol_of(column.unit))
    ticks = unit_ticks(low - pad, high + pad, symbol)
    if column.unit == "pct":
        ticks = {"ticksuffix": " %", "nticks": 6}
    dated = points.iloc[np.unique(np.linspace(0, len(points) - 1, _MOST_DATES).astype(int))]
    dates = {"tickvals": dated["place"].tolist(), "ticktext": [str(time)[:10] for time in dated["ordered_utc"]]}
    first, last = float(points["place"].iloc[0]), float(points["place"].iloc[-1])
    return {
        **base_layout(_HEIGHT, _TOP, _BOTTOM),
        "showlegend": False,  # the page has one for all
        "xaxis": {**AXIS, "range": [first - 1, last + 1], **dates},
        "yaxis": {**AXIS, "range": [low - pad, high + 2 * pad], **ticks, "automargin": True},
        "meta": as_table(rows := list_rows([each]), list(rows)),
    }
