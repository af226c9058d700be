"""Figures: frames in, plotly figures out. They work in notebooks as in the page.

Backgrounds are transparent and colours are those that read on light and dark, so that a page needs to change only
the colour of the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.comparison import Comparison
from tcprof.report.comparison_summary import FEWEST_ITERATIONS
from tcprof.report.curves import TENSOR_COLOR, sample_panels, shown_gpus, tensor_peak
from tcprof.report.lanes import Lanes, choose_lanes, label, lane_traces
from tcprof.report.panels import GRID, Panel, base_layout, highest_range, stack_panels
from tcprof.report.time_colors import CLASS_COLORS
from tcprof.report.timeline_text import NAMES, shown_classes

BARS = 4000  # of all GPUs and recordings of a figure together
BASE_COLOR = "#7A8CA3"
_LANE_PIXELS = 21


@dataclass(frozen=True)
class _Scale:
    """What the recordings of one figure share: the scales of height and of colour, and the room for points and bars."""

    peak: float
    highest: float
    share: int


def _scale(analyses: Sequence[Analysis]) -> _Scale:
    return _Scale(max(map(tensor_peak, analyses)), highest_range(analyses), len(analyses))


def figure_timeline(analysis: Analysis) -> go.Figure:
    """Samples over lanes of ranges, on one axis of time; a group of strips for each GPU.

    Long captures are drawn as an envelope, and of very many ranges only the longest: the page says so.
    """
    return stack_panels(_panels(analysis, "", _scale([analysis])), [analysis])


def figure_comparison_timeline(comparison: Comparison) -> go.Figure:
    """Both recordings one above the other, each on its own clock, with the same scales."""
    sides = [comparison.base.first, comparison.new.first]
    scale = _scale(sides)
    panels = [*_panels(sides[0], "Baseline", scale), *_panels(sides[1], "New", scale)]
    return stack_panels(panels, sides)


def figure_comparison_bars(comparison: Comparison, quantity: str = "gpu_window_ns", most: int = 16) -> go.Figure:
    """A quantity of each path, the baseline beside the other recording: the paths with the largest values.

    Only paths that repeat in both are drawn: beside the one outermost range of a run, nothing else would show.

    Args:
        comparison: The comparison.
        quantity: One of its times or percentages; times are drawn in seconds.
        most: Paths to draw.
    """
    rows = comparison.rows[(comparison.rows["quantity"] == quantity) & (comparison.rows["path"] != "")]
    counts = rows[["base_instance_count", "new_instance_count"]]
    rows = rows[(counts >= FEWEST_ITERATIONS).all(axis=1) & rows[["base", "new"]].notna().any(axis=1)]
    largest = rows.assign(largest=rows[["base", "new"]].max(axis=1)).nlargest(most, "largest").sort_index()
    several = comparison.rows["gpu"].nunique() > 1
    names = [f"GPU {gpu}: " * several + path for gpu, path in zip(largest["gpu"], largest["path"], strict=True)]
    scale = 1e-9 if quantity.endswith("_ns") else 1.0
    figure = go.Figure()
    sides = (("base", "baseline", BASE_COLOR), ("new", "new", TENSOR_COLOR)) if len(largest) else ()
    for column, title, color in sides:
        figure.add_bar(
            orientation="h",
            x=largest[column].to_numpy(np.float64) * scale,
            y=np.arange(len(largest)),
            name=title,
            marker={"color": color},
            hovertext=[label(name, 80) for name in names],
            hovertemplate="<b>%{hovertext}</b><br>" + title + " %{x}<extra></extra>",
        )
    return figure.update_layout(_bars_layout([label(name, 34) for name in names], quantity))


def _bars_layout(names: list[str], quantity: str) -> dict[str, object]:
    """One row for each name, and an axis of the quantity's unit."""
    is_percent = quantity.endswith("_pct")
    return {
        **base_layout(30 * len(names) + 90),
        "barmode": "group",
        "bargap": 0.25,
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0},
        "xaxis": {
            "ticksuffix": " %" if is_percent else "s",
            "tickformat": "" if is_percent else ".3~s",
            "gridcolor": GRID,
            "rangemode": "tozero",
        },
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
        title = NAMES[name]
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
    layout = _bars_layout([label(name, 34) for name in names], "share_pct")
    return figure.update_layout({**layout, "barmode": "stack"}).update_layout(legend_traceorder="normal")


def timeline_lanes(analysis: Analysis, gpu: int, share: int = 1) -> Lanes:
    """The ranges of one GPU as they are drawn; ``share`` is the number of recordings in the figure."""
    return choose_lanes(analysis, gpu, BARS // 2 // share // max(len(shown_gpus(analysis)), 1))


def _panels(analysis: Analysis, side: str, scale: _Scale) -> list[Panel]:
    """The strips of one recording; the first one of each GPU says which it is, where that is in question."""
    panels = []
    gpus = shown_gpus(analysis)
    for gpu in gpus:
        lanes = _lane_panels(timeline_lanes(analysis, gpu, scale.share), gpu, scale.highest)
        mine = [*sample_panels(analysis, gpu, scale.peak, scale.share), *lanes]
        title = ": ".join(part for part in (side, f"GPU {gpu}" if len(gpus) > 1 else "") if part)
        head = f"<b>{title}</b> · " if title else ""
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
