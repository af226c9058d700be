"""The time classes: which are shown, their colours, and the bars of each path."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.time.timeline import TIME_CLASSES
from tcprof.findings.finding import class_title
from tcprof.views.figures.curves import TENSOR_COLOR
from tcprof.views.figures.lanes import BAR_TEXT
from tcprof.views.figures.plain import GRID, LEGEND, PlotlyFigure, base_layout, label

# Shown where there are any.
SELDOM = (
    "unresolved_kernel",
    "graph",
    "communication",
    "small_grid",
    "issue_bound",
    "fp32_bound",
    "memory_bound",
)
CLASS_COLORS = {
    "tensor_kernel": TENSOR_COLOR,
    "memory_bound": "#0072B2",
    "fp32_bound": "#CC79A7",
    "issue_bound": "#56B4E9",
    "small_grid": "#A9C4D6",
    "other_kernel": "#7A8CA3",
    "unresolved_kernel": "#B9A7C9",
    "graph": "#7F5FA8",
    "communication": "#009E73",
    "copy": "#E6C229",
    "idle": "rgba(128,128,128,0.22)",
}


def shown_classes(rows: pd.DataFrame) -> list[str]:
    """The time classes that occur, and those that everyone looks for."""
    return [name for name in TIME_CLASSES if name not in SELDOM or (rows[f"{name}_ns"] > 0).any()]


def text_on(color: str) -> str:
    """The colour of a name in a bar of #RRGGBB or rgba(…): dark, or white where that is read better."""
    if not color.startswith("#"):
        return BAR_TEXT
    channels = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue  # relative luminance, as the contrast ratio of WCAG takes it
    return BAR_TEXT if light > 0.19 else "#FFFFFF"


def figure_time_classes(analysis: Analysis, most: int = 14) -> PlotlyFigure:
    """Where the time went: the share of each time class in the paths with the longest GPU windows."""
    parts = [rows.nlargest(most, "window_ns").sort_index() for _, rows in analysis.timeline.groupby("gpu")]
    rows = pd.concat(parts, ignore_index=True) if parts else analysis.timeline
    rows = rows[rows["window_ns"] > 0]
    several = analysis.timeline["gpu"].nunique() > 1
    places = zip(rows["gpu"], rows["path"], strict=True)
    names = [f"GPU {gpu}: " * several + (path or "whole capture") for gpu, path in places]
    figure = PlotlyFigure()
    for name in shown_classes(rows) if len(rows) else ():
        time = rows[f"{name}_ns"]
        title = class_title(name)
        figure.add_bar(
            orientation="h",
            x=(100 * time / rows["window_ns"]).to_numpy(np.float64),
            y=np.arange(len(rows)),
            name=title,
            marker={"color": CLASS_COLORS[name]},
            hovertext=[
                f"<b>{label(path, 80)}</b><br>{title} {units.format_ns(ns)}"
                for path, ns in zip(names, time, strict=True)
            ],
            hovertemplate="%{hovertext}, %{x:.1f} %<extra></extra>",
        )
    return figure.update_layout(_bars_layout([label(name, 34) for name in names]))


def _bars_layout(names: list[str]) -> dict[str, object]:
    return {
        **base_layout(30 * len(names) + 90),
        "barmode": "stack",
        "bargap": 0.25,
        "legend": {**LEGEND, "traceorder": "normal"},
        "xaxis": {"ticksuffix": " %", "gridcolor": GRID, "rangemode": "tozero"},
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
        },
    }
