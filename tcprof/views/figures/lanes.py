"""NVTX ranges as bars in lanes, one lane for each depth, and labels that plotly takes for nothing but text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.arrays import Floats, Ints
from tcprof.views.figures.plain import Settings, bar, label

MOST_DEPTHS = 10
UNKNOWN_COLOR = "#A7AEB8"
BAR_TEXT = "#0D1218"  # reads on every colour below
TENSOR_SCALE = ((0.0, "#CBD8E6"), (0.4, "#F2C27B"), (0.75, "#E8862E"), (1.0, "#CF5A0C"))
BAR_OUTLINE = "rgba(90,100,115,0.6)"
LANE_HEIGHT = 0.84
_WINDOWS = {
    "host": ("host_start_ns", "host_end_ns", "on the CPU"),
    "gpu": ("gpu_start_ns", "gpu_end_ns", "on the GPU"),
}


@dataclass(frozen=True)
class Lanes:
    """Ranges that are drawn for one GPU, in frames of ``start_ns``, ``length_ns``, ``depth``, ``count`` and figures.

    Attributes:
        host: Bars of the instances' time on the CPU.
        gpu: Bars from the instances' first activity on the GPU to their last.
        merged_ns: Instances shorter than this may share a bar with their neighbours; 0 where each has its own.
        hidden: Instances that are not drawn, since they are nested too deep, or since even shared bars are too many.
    """

    host: pd.DataFrame
    gpu: pd.DataFrame
    merged_ns: float
    hidden: int


def choose_lanes(analysis: Analysis, gpu: int, most: int) -> Lanes:
    """The bars for one GPU: one for each instance, or where these are too many, one for short neighbours together.

    Args:
        most: Bars to draw for the CPU, and as many for the GPU.
    """
    instances = analysis.instances[analysis.instances["gpu"] == gpu]
    named = instances.join(analysis.paths[["path", "name", "depth"]], on="path_id")
    bars, merged_ns, hidden = {}, 0.0, 0
    for window, (start, end, _) in _WINDOWS.items():
        timed = named[named[start].notna()]
        timed = timed.assign(start_ns=timed[start].astype(float), end_ns=timed[end].astype(float))
        shallow = timed[timed["depth"] <= MOST_DEPTHS]
        width = _merge_width(shallow, most)
        merged = _merge(shallow, width)
        bars[window] = merged.nlargest(most, "length_ns").sort_values("start_ns", ignore_index=True)
        merged_ns = max(merged_ns, width)
        hidden += len(timed) - int(bars[window]["count"].sum())
    return Lanes(bars["host"], bars["gpu"], merged_ns, hidden)


def _merge_width(rows: pd.DataFrame, most: int) -> float:
    """The shortest time such that few enough bars are left when all shorter neighbours within it share one."""
    if len(rows) <= most:
        return 0.0
    span = float(rows["end_ns"].max() - rows["start_ns"].min())
    widths = [span / most * 1.25**step for step in range(24)]
    return next((width for width in widths if len(np.unique(_shared_bar(rows, width))) <= most), widths[-1])


def _shared_bar(rows: pd.DataFrame, width: float) -> Ints:
    """A number for each row; rows with the same number share a bar."""
    alone = np.arange(len(rows))
    if not width:
        return alone
    place = ((rows["start_ns"] - rows["start_ns"].min()) // width).to_numpy(np.int64)
    short = (rows["end_ns"] - rows["start_ns"]).to_numpy() < width
    return np.where(short, place * (MOST_DEPTHS + 1) + rows["depth"].to_numpy(), -1 - alone)


def _merge(rows: pd.DataFrame, width: float) -> pd.DataFrame:
    """One row for each bar; the Tensor Active of several instances is their mean, weighted by length."""
    length = (rows["end_ns"] - rows["start_ns"]).clip(lower=1)
    mean = rows["tensor_active_mean_pct"]
    weighed = rows.assign(weight=length.where(mean.notna(), 0), product=(mean * length).fillna(0))
    bars = weighed.groupby(_shared_bar(rows, width), sort=False).agg(
        start_ns=("start_ns", "min"),
        end_ns=("end_ns", "max"),
        depth=("depth", "first"),
        count=("depth", "size"),
        path=("path", "first"),
        name=("name", "first"),
        kernel_count=("kernel_count", "sum"),
        coverage_pct=("coverage_pct", "first"),
        weight=("weight", "sum"),
        product=("product", "sum"),
    )
    known = bars["weight"].where(bars["weight"] > 0)
    return bars.assign(length_ns=bars["end_ns"] - bars["start_ns"], tensor_active_mean_pct=bars["product"] / known)


def lane_traces(lanes: Lanes, window: str, name: str) -> list[Settings]:
    """One bar for each instance, coloured by its Tensor Active.

    Args:
        window: ``host`` or ``gpu``.
    """
    rows: pd.DataFrame = getattr(lanes, window)
    where = _WINDOWS[window][2]
    names = np.where(rows["count"] > 1, "", rows["name"].astype(object))
    drawn = bar(
        orientation="h",
        base=(rows["start_ns"].to_numpy(np.float64) * 1e-9).tolist(),
        x=rows["length_ns"].to_numpy(np.float64) * 1e-9,
        y=rows["depth"].to_numpy(np.int32),
        width=LANE_HEIGHT,
        text=[label(text, 40) for text in names],
        textposition="inside",
        insidetextanchor="middle",
        insidetextfont={"color": BAR_TEXT},
        constraintext="inside",  # with the layout's uniformtext: a name that does not fit is not shown
        textangle=0,
        hovertext=[_describe(row, where) for row in rows.to_dict("records")],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "color": scale_colors(rows["tensor_active_mean_pct"].to_numpy(np.float64)),
            "line": {"width": 0.5 if len(rows) < 400 else 0.2, "color": BAR_OUTLINE},
        },
        name=name,
        showlegend=False,
    )
    return [drawn] if len(rows) else []


def scale_colors(percent: Floats) -> list[str]:
    """Colours of the scale, from 0 to 100 %; plotly's own leave it guessing whether text is to be dark or light."""
    stops = np.array([stop for stop, _ in TENSOR_SCALE])
    channels = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for _, color in TENSOR_SCALE])
    place = np.clip(np.nan_to_num(percent) / 100, 0, 1)
    mixed = np.column_stack([np.interp(place, stops, channel) for channel in channels.T]).round().astype(int)
    texts = ["#{:02x}{:02x}{:02x}".format(*rgb) for rgb in mixed.tolist()]
    return [UNKNOWN_COLOR if unknown else text for text, unknown in zip(texts, np.isnan(percent), strict=True)]


def _describe(row: Mapping[Any, Any], where: str) -> str:
    """What the pointer shows over a bar."""
    time = f"{where} from {units.format_ns(row['start_ns'])}, for {units.format_ns(row['length_ns'])}"
    mean = f"Tensor Active mean {units.format_pct(row['tensor_active_mean_pct'])}"
    kernels = units.format_things(row["kernel_count"], "kernel")
    if row["count"] > 1:
        head = f"{units.format_count(row['count'])} short ranges</b>, the first {label(row['path'])}"
        return f"<b>{head}<br>{time}<br>{mean}, {kernels}"
    coverage = f"coverage {units.format_pct(row['coverage_pct'])}"
    return f"<b>{label(row['path'], 80)}</b><br>{time}<br>{mean}, {coverage}, {kernels}"
