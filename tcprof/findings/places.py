"""Where in an iteration, or in a recording, the Tensor Cores were busy and where not: a sentence."""

import math

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.findings.iterations import IterationFigures, pool_tensor_active
from tcprof.frames import OPS_DOMAIN
from tcprof.untrusted import one_line

_LEAST_SHARE = 0.01  # of the time, to be named
_MOST = 4


def say_where(analysis: Analysis, gpu: int, figures: IterationFigures | None) -> str:
    """Tensor Active of the ranges that an iteration, or the capture, consists of; empty where these tell nothing.

    Args:
        figures: The iterations; None for the whole capture.
    """
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["domain"] != OPS_DOMAIN)]
    whole = rows[rows["depth"] == 0] if figures is None else figures.rows
    inner = rows[rows["depth"] == 1] if figures is None else rows[rows["parent_id"].isin(whole["path_id"])]
    length = float(whole["gpu_window_ns"].sum())
    inner = inner[inner["gpu_window_ns"] > 0]
    time = inner.groupby("name", observed=True)["gpu_window_ns"].sum()
    named = time[time >= _LEAST_SHARE * length].nlargest(_MOST).index
    parts = [(name, inner[inner["name"] == name]) for name in pd.unique(inner["name"]) if name in named]
    told = [
        f"“{one_line(name, 40)}” {units.format_pct(active)} in {units.format_pct(100 * time[name] / length)}"
        for name, of_name in parts
        if not math.isnan(active := pool_tensor_active(of_name)[0])
    ]
    if len(told) < 2:
        return ""
    return f"Tensor Active by range: {told[0]} of the time, {', '.join(told[1:])}."
