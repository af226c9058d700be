"""NVTX ranges as bars in lanes, one lane for each depth, and the colours of Tensor Active."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.drawing import Lanes
from tcprof.arrays import Floats
from tcprof.views.figures.plain import Settings, bar, label

UNKNOWN_COLOR = "#A7AEB8"
BAR_TEXT = "#0D1218"  # reads on every colour below
TENSOR_SCALE = ((0.0, "#CBD8E6"), (0.4, "#F2C27B"), (0.75, "#E8862E"), (1.0, "#CF5A0C"))
BAR_OUTLINE = "rgba(90,100,115,0.6)"
LANE_HEIGHT = 0.84
_WINDOWS = {"host": "on the CPU", "gpu": "on the GPU"}


def lane_traces(lanes: Lanes, window: str, name: str) -> list[Settings]:
    """One bar for each instance, coloured by its Tensor Active."""
    rows: pd.DataFrame = getattr(lanes, window)
    where = _WINDOWS[window]
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
    time = f"{where} from {units.format_ns(row['start_ns'])}, for {units.format_ns(row['length_ns'])}"
    mean = f"Tensor Active mean {units.format_pct(row['tensor_active_mean_pct'])}"
    kernels = units.format_things(row["kernel_count"], "kernel")
    if row["count"] > 1:
        head = f"{units.format_count(row['count'])} short ranges</b>, the first {label(row['path'])}"
        return f"<b>{head}<br>{time}<br>{mean}, {kernels}"
    coverage = f"coverage {units.format_pct(row['coverage_pct'])}"
    return f"<b>{label(row['path'], 80)}</b><br>{time}<br>{mean}, {coverage}, {kernels}"
