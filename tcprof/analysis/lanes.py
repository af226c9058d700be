"""Which ranges have bars of their own in a drawing, in lanes by depth, and which short ones share one."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.analysis import Analysis
from tcprof.arrays import Ints

MOST_DEPTHS = 10


@dataclass(frozen=True)
class Lanes:
    """Ranges that are drawn for one GPU, in frames of ``start_ns``, ``length_ns``, ``depth``, ``count`` and figures.

    Attributes:
        gpu: Bars from the instances' first activity on the GPU to their last.
        merged_ns: Instances shorter than this may share a bar with their neighbours; 0 where each has its own.
        hidden: Instances that are not drawn, since they are nested too deep, or since even shared bars are too many.
    """

    host: pd.DataFrame
    gpu: pd.DataFrame
    merged_ns: float
    hidden: int


def choose_lanes(analysis: Analysis, gpu: int, most: int) -> Lanes:
    """The bars for one GPU: one for each instance, or where these are too many, one for short neighbours together."""
    instances = analysis.instances[analysis.instances["gpu"] == gpu]
    named = instances.join(analysis.paths[["path", "name", "depth"]], on="path_id")
    bars, merged_ns, hidden = {}, 0.0, 0
    for window in ("host", "gpu"):
        start, end = f"{window}_start_ns", f"{window}_end_ns"
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
