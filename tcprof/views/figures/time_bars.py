"""Where the time of each path went, as bars."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.findings.words import class_title
from tcprof.views.figures.lanes import label
from tcprof.views.figures.panels import GRID, base_layout
from tcprof.views.figures.plain import PlotlyFigure
from tcprof.views.figures.time_classes import CLASS_COLORS, shown_classes


def figure_time_classes(analysis: Analysis, most: int = 14) -> PlotlyFigure:
    """Where the time went: the share of each time class in the paths with the longest GPU windows.

    Args:
        most: Paths to draw, of each GPU.
    """
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
    """One row for each name, and an axis of percentages."""
    return {
        **base_layout(30 * len(names) + 90),
        "barmode": "stack",
        "bargap": 0.25,
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        "xaxis": {"ticksuffix": " %", "gridcolor": GRID, "rangemode": "tozero"},
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
        },
    }
