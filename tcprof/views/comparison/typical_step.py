"""A typical step of both sides on one axis of time: Tensor Active, and between the lanes what belongs together."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.time.account import TIME_CLASSES
from tcprof.comparison import Comparison
from tcprof.comparison.details import TypicalStep, find_steps, join_work, merge_work
from tcprof.comparison.matching.slots import NONE
from tcprof.comparison.waterfall import part_of_kernel
from tcprof.findings.compared.verdict import iteration_name, side_names
from tcprof.findings.finding import class_title
from tcprof.views.comparison.sides import LONGEST_NAME, RECEDED, side_color
from tcprof.views.comparison.waterfall import part_label
from tcprof.views.figures import AXIS, GRID, LEGEND, PlotlyFigure, base_layout, label, unit_ticks
from tcprof.views.figures.traces import BAR_OUTLINE, CLASS_COLORS, LOSS_SCALES, painted, scale_colors, tensor_axis

MOST_JOINED = 60
_NO_KERNEL = "no kernel"  # is no part, and so recedes where one is chosen
_CURVE, _TITLE, _LANE, _GAP, _BETWEEN, _TOP, _BOTTOM = 130, 24, 22, 3, 56, 44, 46  # pixels
_BAND, _JOINED = "rgba(128,128,128,0.16)", "rgba(128,128,128,0.30)"


def figure_typical_step(comparison: Comparison, gpu: int, table: str = "") -> PlotlyFigure:
    """An iteration of each side whose GPU window is the median, both from 0.

    Above, Tensor Active of both; below, the baseline's ranges and work, then the other side's work and ranges. Between
    them bands join ranges of one path, and launches of matched kernels.

    Args:
        table: The table on a page whose rows a click on a kernel chooses; empty for none.
    """
    steps, figure = find_steps(comparison, gpu), PlotlyFigure()
    if steps is None:
        return figure.update_layout(**base_layout(100))
    lanes = [int(step.ranges["depth"].max()) if len(step.ranges) else 0 for step in steps]
    rows = (lanes[0] + lanes[1] + 2) * (_LANE + _GAP) + _BETWEEN + 2 * _TITLE
    curve = _CURVE + _TITLE if any(len(step.curve[0]) for step in steps) else 0
    _add_curves(figure, comparison, steps)
    base_row = _TITLE + lanes[0] * (_LANE + _GAP)
    new_row = base_row + _LANE + _BETWEEN
    _add_joints(figure, steps, base_row + _LANE, new_row)
    _add_work(figure, comparison, steps, (base_row, new_row), table)
    _add_ranges(figure, steps[0], _TITLE)
    _add_ranges(figure, steps[1], new_row + _LANE + _GAP)
    unit = label(iteration_name(comparison), LONGEST_NAME)
    bottom = new_row + (lanes[1] + 1) * (_LANE + _GAP) + _TITLE
    for step, name, y in zip(steps, side_names(comparison), (_TITLE, bottom), strict=True):
        text = f"<b>{label(name, LONGEST_NAME)}</b>: {unit} {step.number}, {units.format_ns(step.length_ns)}"
        figure.add_title(text, y, yref="y2", borderpad=0)
    if curve:
        figure.add_title("Tensor Active", 1 - _TITLE / (curve + rows), borderpad=0, yshift=4)
    return figure.update_layout(**_layout(steps, curve, rows))


def _add_curves(figure: PlotlyFigure, comparison: Comparison, steps: tuple[TypicalStep, TypicalStep]) -> None:
    for number, (step, side) in enumerate(zip(steps, side_names(comparison), strict=True)):
        color = side_color((comparison.base, comparison.new)[number], number)
        (x, y), name = step.curve, label(side, LONGEST_NAME)
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": color, "width": 1.8, "shape": "hv"},
            name=name,
            hovertemplate=f"<b>{name}</b><br>Tensor Active %{{y:.3~f}} %<br>at %{{x}}<extra></extra>",
        )


def _add_joints(figure: PlotlyFigure, steps: tuple[TypicalStep, TypicalStep], top: float, bottom: float) -> None:
    outer = [step.ranges[step.ranges["depth"] == 1] for step in steps]
    outer = [ranges.assign(nth=ranges.groupby("path").cumcount()) for ranges in outer]
    pairs = outer[0].merge(outer[1], on=["path", "nth"], suffixes=("_base", "_new"))
    for joined, color, name in ((pairs, _BAND, "ranges"), (join_work(steps, MOST_JOINED), _JOINED, "matched kernels")):
        corners = [joined[f"{side}_ns_{of}"] for side, of in (("start", "base"), ("end", "base"))]
        corners += [joined[f"{side}_ns_{of}"] for side, of in (("end", "new"), ("start", "new"), ("start", "base"))]
        x = np.column_stack([*corners, np.full(len(joined), np.nan)]).astype(np.float64) * 1e-9
        y = np.tile([top, top, bottom, bottom, top, np.nan], len(joined))
        shared = {"mode": "lines", "fill": "toself", "hoverinfo": "skip", "showlegend": False, "meta": {"role": "band"}}
        figure.add_scatter(
            x=x.ravel(), y=y, yaxis="y2", fillcolor=color, line={"width": 0.6, "color": color}, name=name, **shared
        )


def _add_work(
    figure: PlotlyFigure,
    comparison: Comparison,
    steps: tuple[TypicalStep, TypicalStep],
    rows: tuple[int, int],
    table: str,
) -> None:
    bars = []
    for step, name, row in zip(steps, side_names(comparison), rows, strict=True):
        bars.append(merge_work(step.work).assign(y=row + _LANE / 2, side=name))
        idle = {"base": [0], "x": [step.length_ns * 1e-9], "y": [row + _LANE / 2], "width": _LANE}
        color = {"color": CLASS_COLORS["idle"]}
        figure.add_bar(**idle, orientation="h", yaxis="y2", marker=color, hoverinfo="skip", showlegend=False)
    drawn = pd.concat(bars, ignore_index=True)
    changes = comparison.matching.changes.to_dict("records")
    parts = {NONE: _NO_KERNEL, **{number: part_label(part_of_kernel(row)) for number, row in enumerate(changes)}}
    for number, found in drawn.groupby("time_class"):
        name = TIME_CLASSES[int(number)]
        chosen = [[*dict.fromkeys(parts[row] for row in of_bar)] for of_bar in found["rows"]]
        figure.add_bar(
            **_bars(found),
            name=class_title(name),
            marker={"color": CLASS_COLORS[name], "line": {"width": 0}},
            hovertext=[_describe_work(row, class_title(name)) for row in found.to_dict("records")],
            unselected=RECEDED,
            **({"customdata": chosen, "meta": {"chooses": table}} if table else {}),
        )


def _describe_work(row: dict[str, object], title: str) -> str:
    start, end = int(str(row["start_ns"])), int(str(row["end_ns"]))
    name = label(short_name(str(row["name"])), 80)
    head = name if row["count"] == 1 else f"{row['count']} short ones drawn as one, the first {name}"
    side = label(str(row["side"]), LONGEST_NAME)
    return f"<b>{head}</b><br>{side}, {title}<br>from {units.format_ns(start)}, for {units.format_ns(end - start)}"


def _add_ranges(figure: PlotlyFigure, step: TypicalStep, top: int) -> None:
    ranges = step.ranges
    if ranges.empty:
        return
    active = ranges["tensor_active_mean_pct"].to_numpy(np.float64)
    themes = {theme: [painted(color) for color in scale_colors(active, theme)] for theme in LOSS_SCALES}
    colors, names = ([each[part] for each in themes["light"]] for part in ("color", "text"))
    texts = [
        f"<b>{label(path, 80)}</b><br>from {units.format_ns(start)}, for {units.format_ns(end - start)}<br>"
        f"Tensor Active mean {units.format_pct(mean)}"
        for path, start, end, mean in zip(ranges["path"], ranges["start_ns"], ranges["end_ns"], active, strict=True)
    ]
    figure.add_bar(
        **_bars(ranges.assign(y=top + _LANE / 2 + (ranges["depth"] - 1) * (_LANE + _GAP))),
        text=[label(name, 40) for name in ranges["name"]],
        textposition="inside",
        insidetextanchor="middle",
        insidetextfont={"color": names},
        constraintext="inside",
        textangle=0,
        marker={"color": colors, "line": {"width": 0.5, "color": BAR_OUTLINE}},
        hovertext=texts,
        name="ranges",
        showlegend=False,
        meta={"themes": themes},  # a page's script takes the colours of the theme that it is shown in
    )


def _bars(rows: pd.DataFrame) -> dict[str, object]:
    start, end = (rows[f"{side}_ns"].to_numpy(np.float64) * 1e-9 for side in ("start", "end"))
    place = {"base": start.tolist(), "x": end - start, "y": rows["y"].to_numpy(np.float64), "width": _LANE}
    return {**place, "orientation": "h", "yaxis": "y2"}


def _layout(steps: Iterable[TypicalStep], curve: int, rows: int) -> dict[str, object]:
    inner = curve + rows
    highest = max(
        (float(step.curve[1].max(initial=0.0, where=~np.isnan(step.curve[1]))) for step in steps), default=0.0
    )
    last = max(step.length_ns for step in steps) * 1e-9
    return {
        **base_layout(inner + _TOP + _BOTTOM, _TOP, _BOTTOM),
        "meta": {"seconds": True},  # the page's script makes ticks of what is zoomed in on
        "barmode": "overlay",
        "legend": {**LEGEND, "yref": "paper"},
        "xaxis": {
            **AXIS,
            **unit_ticks(0, 1.01 * last, "s", 8),
            "range": [0, 1.01 * last],
            "hoverformat": ".9~f",
            "ticksuffix": " s",
            "anchor": "y2",
            "title": {"text": "time since the first activity on the GPU", "standoff": 6},
        },
        "yaxis": {
            **tensor_axis(highest),
            "domain": [rows / inner, 1 - _TITLE / inner] if curve else [1, 1],
            "gridcolor": GRID,
            "fixedrange": True,
            "visible": bool(curve),
        },
        "yaxis2": {"range": [rows, 0], "domain": [0, rows / inner], "visible": False, "fixedrange": True},
    }
