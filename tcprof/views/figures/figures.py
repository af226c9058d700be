"""Figures: frames in, plotly figures out. They work in notebooks as in the page.

Backgrounds are transparent and colours are those that read on light and dark, so that a page needs to change only
the colour of the text.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.findings.words import class_title
from tcprof.views.figures.curves import sample_panels, shown_gpus, tensor_peak
from tcprof.views.figures.lanes import Lanes, choose_lanes, label, lane_traces
from tcprof.views.figures.panels import GRID, Panel, base_layout, highest_range, stack_panels
from tcprof.views.figures.time_classes import CLASS_COLORS, shown_classes

BARS = 4000  # of all GPUs together
_LANE_PIXELS = 21


def figure_timeline(analysis: Analysis) -> go.Figure:
    """Samples over lanes of ranges, on one axis of time; a group of strips for each GPU.

    Long captures are drawn as an envelope, and of very many ranges only the longest: the page says so.
    """
    return stack_panels(_panels(analysis), analysis)


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


def figure_time_classes(analysis: Analysis, most: int = 14) -> go.Figure:
    """Where the time went: the share of each time class in the paths with the longest gpu windows.

    Args:
        analysis: The recording.
        most: Paths to draw, of each GPU.
    """
    parts = [rows.nlargest(most, "window_ns").sort_index() for _, rows in analysis.timeline.groupby("gpu")]
    rows = pd.concat(parts, ignore_index=True) if parts else analysis.timeline
    rows = rows[rows["window_ns"] > 0]
    several = analysis.timeline["gpu"].nunique() > 1
    places = zip(rows["gpu"], rows["path"], strict=True)
    names = [f"GPU {gpu}: " * several + (path or "whole capture") for gpu, path in places]
    figure = go.Figure()
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


def _panels(analysis: Analysis) -> list[Panel]:
    """The strips of a recording; the first one of each GPU says which it is, where there are several."""
    panels = []
    gpus = shown_gpus(analysis)
    for gpu in gpus:
        lanes = choose_lanes(analysis, gpu, BARS // 2 // len(gpus))
        mine = [
            *sample_panels(analysis, gpu, tensor_peak(analysis)),
            *_lane_panels(lanes, gpu, highest_range(analysis)),
        ]
        head = f"<b>GPU {gpu}</b> · " if len(gpus) > 1 else ""
        panels += [replace(panel, title=head + panel.title) for panel in mine[:1]] + mine[1:]
    return panels


def _lane_panels(lanes: Lanes, gpu: int, highest: float) -> list[Panel]:
    """The ranges as on the CPU, and from their first activity on the GPU to their last."""
    panels = []
    for kind, title in (("host", "NVTX ranges on the CPU"), ("gpu", "Their work on the GPU, first activity to last")):
        traces = lane_traces(lanes, kind, f"GPU {gpu}, {kind} ranges", highest)
        if traces:
            depths = int(max(traces[0].y))
            axis = {"range": [depths + 0.5, 0.5], "showgrid": False, "tickvals": list(range(1, depths + 1))}
            panels.append(Panel(title, _LANE_PIXELS * depths + 4, traces, axis))
    return panels
