"""The roofline's second level: kernels over their FLOP for each byte of the L2 cache, below what that cache gives."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.chips import find_chip
from tcprof.views.figures.circles import KernelCircles
from tcprof.views.figures.lanes import label
from tcprof.views.figures.plain import PlotlyFigure, scatter

NAME = "by bytes of the L2 cache"  # in the legend: a click shows it
_COLOR = "#5E8C8A"


def cache_rates(analysis: Analysis, rows: pd.DataFrame) -> dict[int, tuple[float, str]]:
    """What the L2 cache of each GPU with circles gives, in bytes a second, and the source; where that is known."""
    boards = {
        int(gpu["gpu"]): find_chip(gpu["chip"], gpu["name"]).board
        for gpu in analysis.gpus.to_dict("records")
        if gpu["gpu"] in set(rows["gpu"])
    }
    found = {gpu: (board.l2_bandwidth_bytes_per_s, board.l2_source) for gpu, board in boards.items()}
    return {gpu: (rate, source) for gpu, (rate, source) in found.items() if rate > 0}


def add_cache(
    figure: PlotlyFigure,
    analysis: Analysis,
    rows: pd.DataFrame,
    circles: KernelCircles,
    box: tuple[float, float, float],
) -> None:
    """Circles and slopes of the L2 cache, which a click on the legend shows; none where its rate is not known.

    Args:
        rows: Kernels that are placed, see ``place_kernels``.
        box: The lowest FLOP for each byte, and the lowest and highest FLOP a second, that slopes are drawn from and to.
    """
    rates = cache_rates(analysis, rows)
    placed = rows[rows["gpu"].isin(rates) & rows["l2_intensity"].notna()]
    if placed.empty:
        return
    said = [_describe(row, circles) for row in placed.to_dict("records")]
    height = 1e12 * placed["tflops"].to_numpy()
    trace = circles.draw(placed, placed["l2_intensity"].to_numpy(), height, said)
    symbols = [f"{symbol}-open" for symbol in trace.get("marker", {}).get("symbol", ())]
    shared = {"legendgroup": NAME, "visible": "legendonly"}
    figure.add_trace(trace.set(name=NAME, marker={"color": _COLOR, "symbol": symbols}, **shared))
    for rate, source in sorted(set(rates.values())):
        left, low, high = box
        start, end = max(left, low / rate), high / rate
        if end > start:
            name = f"L2 {units.format_value(rate, 'B/s')}"
            line = scatter(x=[start, end], y=[start * rate, end * rate], mode="lines+text", name=name)
            line.set(text=["", name], textposition="top left", showlegend=False, line={"color": _COLOR})
            hover = f"<b>{name}</b><br>{label(source, 100)}"
            figure.add_trace(line.set(hovertext=hover, hovertemplate="%{hovertext}<extra></extra>", **shared))


def _describe(row: Mapping[Any, Any], circles: KernelCircles) -> str:
    """What the pointer shows over a kernel."""
    size, error = (units.format_bytes(row[name]) for name in ("l2_bytes", "l2_bytes_error"))
    return (
        f"{circles.describe(row)}<br>{units.format_flops(row['tflops'])}<br>"
        f"{size} (± {error}) through the L2 cache<br>{row['l2_intensity']:.3g} FLOP for each byte of it"
    )
