"""The roofline: FLOP/s of kernels over their FLOP per byte of DRAM or of the L2 cache."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.roofline import CUDA_CORES, PLACED, Roof, find_roofs, place_kernels
from tcprof.chips import find_chip
from tcprof.views.figures import AXIS, LEGEND, PlotlyFigure, base_layout, label, log_ticks, scatter
from tcprof.views.figures.circles import KernelCircles, as_table, keep_longest

_COLORS = {  # none is orange, which is Tensor Active alone
    # These seven are apart with every colour vision (CIELAB, 23 at least), and seen on light and on dark (2.9 to 1).
    "bf16": "#9979F2",
    "fp16": "#BF3056",
    "tf32": "#0F7300",
    "fp8": "#A200F2",
    "int8": "#6FA600",
    "fp64": "#A6299D",
    CUDA_CORES: "#A67C9D",
    "fp16/bf16": "#4A7BD0",
    "fp4": "#2F8F9D",
}
_OTHER_COLOR = "#8A8F98"
_MARGIN = 3.0  # times, beyond the outermost kernels and roofs
_HEIGHT, _TOP, _BOTTOM = 520, 64, 56
_DECADES = 2  # an axis that is shorter names 2 and 5 of each power of ten, too
_COLUMNS = ["gpu", "name", "launch_geometry", "total_ns", "share_pct", "arithmetic", "flop", "tflops"]
_COLUMNS += ["dram_read_bytes", "dram_write_bytes", "intensity", "roof_tflops", "roof_pct", "memory_pct", "bound"]
_COLUMNS += ["l2_bytes", "l2_intensity"]
Box: TypeAlias = tuple[float, float, float, float]  # FLOP for each byte from and to, FLOP a second from and to


def figure_roofline(analysis: Analysis) -> PlotlyFigure:
    """Draw kernels as circles under the roofs of their precisions; those of the L2 cache are hidden at first."""
    placed = place_kernels(analysis.kernels, analysis.gpus)
    rows = keep_longest(placed[placed["place"] == PLACED])
    figure = PlotlyFigure()
    if rows.empty:
        return figure
    roofs, box = add_limits(figure, rows, analysis.gpus)
    circles = KernelCircles(analysis, float(rows["total_ns"].max()))
    for precision in sorted(set(rows["arithmetic"]), key=_order):
        kernels = rows[rows["arithmetic"] == precision]
        texts = [_describe(row, circles) for row in kernels.to_dict("records")]
        trace = circles.draw(kernels, kernels["intensity"].to_numpy(), 1e12 * kernels["tflops"].to_numpy(), texts)
        figure.data.append(
            trace.set(name=name_precision(precision), marker={"color": _COLORS.get(precision, _OTHER_COLOR)})
        )
    top = 1e12 * max((roof.tflops for roof in roofs), default=box[3] / 1e12)
    add_cache(figure, analysis, rows, circles, (box[0], box[2], top))
    return figure.update_layout(layout_of(box), meta=as_table(rows, _COLUMNS))


def add_limits(figure: PlotlyFigure, rows: pd.DataFrame, gpus: pd.DataFrame) -> tuple[list[Roof], Box]:
    """Draw the roofs and slopes of what the GPUs can do for placed kernels; return the roofs and the axes' reach."""
    measured = gpus[gpus["gpu"].isin(rows["gpu"]) & (gpus["dram_bandwidth"] > 0)]
    slopes = {int(gpu): float(rate) for gpu, rate in zip(measured["gpu"], measured["dram_bandwidth"], strict=True)}
    roofs = find_roofs(rows, gpus)
    ridges = [1e12 * roof.tflops / slopes[roof.gpu] for roof in roofs if roof.gpu in slopes]
    x = [*rows["intensity"], *rows["l2_intensity"].dropna(), *ridges]
    y = [*(1e12 * rows["tflops"]), *(1e12 * roof.tflops for roof in roofs)]
    box = min(x) / _MARGIN, max(x) * _MARGIN**2, min(y) / _MARGIN, max(y) * _MARGIN
    _add_slopes(figure, slopes, roofs, box)
    _add_roofs(figure, roofs, slopes, box)
    return roofs, box


def _order(precision: str) -> int:
    order = list(_COLORS)
    return order.index(precision) if precision in order else len(order)


def name_precision(precision: str) -> str:
    """Name a precision as it is read: abbreviations in capitals."""
    first, _, rest = precision.partition(" ")
    return f"{first.upper()} {rest}".rstrip()


def _add_slopes(figure: PlotlyFigure, slopes: Mapping[int, float], roofs: Sequence[Roof], box: Box) -> None:
    """Draw the bandwidth of the memory, up to the highest roof of the GPU; one line for GPUs that are alike."""
    left, right, low, high = box
    alike: dict[str, list[int]] = {}
    for gpu, rate in slopes.items():
        alike.setdefault(units.format_value(rate, "B/s"), []).append(gpu)
    for text, numbers in alike.items():
        rate = slopes[numbers[0]]
        top = 1e12 * max((roof.tflops for roof in roofs if roof.gpu in numbers), default=high / 1e12)
        start, end = max(left, low / rate), min(right, top / rate)
        if end <= start:
            continue
        name = f"{_which(numbers, slopes)}DRAM {text}"
        _add_line(figure, [start, end], [start * rate, end * rate], name, "", _OTHER_COLOR)
        middle = np.log10(start * end) / 2
        place = {"x": middle, "y": middle + np.log10(rate), "xanchor": "left", "yanchor": "top"}
        figure.add_annotation(text=name, showarrow=False, **place)


def _add_roofs(figure: PlotlyFigure, roofs: Sequence[Roof], slopes: Mapping[int, float], box: Box) -> None:
    """Draw the peaks, each from where the memory allows it; those that read the same are one line."""
    left, right, _, _ = box
    alike: dict[str, list[Roof]] = {}
    for roof in roofs:
        alike.setdefault(units.format_flops(roof.tflops), []).append(roof)
    every = {roof.gpu for roof in roofs}
    for text, same in alike.items():
        names = {roof.precision for roof in same}  # none that may be either of two which are there themselves
        precisions = sorted((p for p in names if "/" not in p or not names.issuperset(p.split("/"))), key=_order)
        peak = 1e12 * same[0].tflops
        starts = [peak / slopes[roof.gpu] if roof.gpu in slopes else left for roof in same]
        where = _which(sorted({roof.gpu for roof in same}), every)
        name = f"{where}{', '.join(map(name_precision, precisions))}: {text}"
        color = _COLORS.get(precisions[0], _OTHER_COLOR) if len(precisions) == 1 else _OTHER_COLOR
        source = "<br>".join(label(source, 100) for source in sorted({roof.source for roof in same}) if source)
        _add_line(figure, [min(starts), right], [peak, peak], name, source, color)
        place = {"x": np.log10(right), "y": np.log10(peak), "xanchor": "right", "yanchor": "bottom"}
        figure.add_annotation(text=name, showarrow=False, **place)


def _which(numbers: Sequence[int], every: Any) -> str:
    return "" if len(numbers) == len(every) else f"GPU {', '.join(map(str, numbers))}: "


def _add_line(figure: PlotlyFigure, x: list[float], y: list[float], name: str, source: str, color: str) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        name=name,
        line={"color": color, "width": 1.6},
        showlegend=False,
        hovertext=[f"<b>{name}</b>{'<br>' * bool(source)}{source}"] * len(x),
    )


def _describe(row: Mapping[Any, Any], circles: KernelCircles) -> str:
    read, write = (units.format_bytes(row[f"dram_{way}_bytes"]) for way in ("read", "write"))
    return (
        f"{circles.describe(row)}<br>"
        f"{name_precision(row['arithmetic'])}: {units.format_flops(row['tflops'])}, "
        f"{units.format_pct(row['roof_pct'])} of its roof<br>"
        f"{read} read, {write} written (± {units.format_bytes(row['moved_error'])} in all), "
        f"{units.format_pct(row['memory_pct'])} of the DRAM bandwidth<br>{row['intensity']:.3g} FLOP per byte"
    )


def layout_of(box: Box) -> dict[str, object]:
    """Make the axes of a roofline."""
    left, right, low, high = (float(value) for value in np.log10(box))
    shared = {**AXIS, "type": "log"}
    return {
        **base_layout(_HEIGHT, _TOP, _BOTTOM),
        "legend": {**LEGEND, "itemsizing": "constant"},
        "xaxis": {
            **shared,
            "dtick": 1 if right - left >= _DECADES else "D2",
            "tickformat": "~s",
            "range": [left, right],
            "title": {"text": "FLOP per byte of DRAM", "standoff": 6},
        },
        "yaxis": {**shared, **log_ticks(box[2], box[3], "FLOP/s"), "range": [low, high], "automargin": True},
    }


CACHE = "by L2 cache bytes"  # in the legend: a click shows it
_CACHE_COLOR = "#5E8C8A"


def cache_rates(analysis: Analysis, rows: pd.DataFrame) -> dict[int, tuple[float, str]]:
    """Look up the L2 cache's rate of each GPU with circles, in bytes a second, with its source, where known."""
    boards = {
        int(gpu["gpu"]): find_chip(gpu["chip"], gpu["name"]).board
        for gpu in analysis.gpus.to_dict("records")
        if gpu["gpu"] in set(rows["gpu"])
    }
    cached = {gpu: board for gpu, board in boards.items() if board.l2_bandwidth_bytes_per_s > 0}
    return {gpu: (board.l2_bandwidth_bytes_per_s, board.l2_source) for gpu, board in cached.items()}


def add_cache(
    figure: PlotlyFigure,
    analysis: Analysis,
    rows: pd.DataFrame,
    circles: KernelCircles,
    box: tuple[float, float, float],
) -> None:
    """Circles and slopes of the L2 cache, which a click on the legend shows; none where its rate is not known.

    Args:
        box: The lowest FLOP for each byte, and the lowest and highest FLOP a second, that slopes are drawn from and to.
    """
    rates = cache_rates(analysis, rows)
    placed = rows[rows["gpu"].isin(rates) & rows["l2_intensity"].notna()]
    if placed.empty:
        return
    texts = [_describe_cached(row, circles) for row in placed.to_dict("records")]
    height = 1e12 * placed["tflops"].to_numpy()
    trace = circles.draw(placed, placed["l2_intensity"].to_numpy(), height, texts)
    symbols = [f"{symbol}-open" for symbol in trace.get("marker", {}).get("symbol", ())]
    shared = {"legendgroup": CACHE, "visible": "legendonly"}
    figure.data.append(trace.set(name=CACHE, marker={"color": _CACHE_COLOR, "symbol": symbols}, **shared))
    for rate, source in sorted(set(rates.values())):
        left, low, high = box
        start, end = max(left, low / rate), high / rate
        if end > start:
            name = f"L2 {units.format_value(rate, 'B/s')}"
            line = scatter(x=[start, end], y=[start * rate, end * rate], mode="lines+text", name=name)
            line.set(text=["", name], textposition="top left", showlegend=False, line={"color": _CACHE_COLOR})
            hover = [f"<b>{name}</b><br>{label(source, 100)}"] * 2
            figure.data.append(line.set(hovertext=hover, hovertemplate="%{hovertext}<extra></extra>", **shared))


def _describe_cached(row: Mapping[Any, Any], circles: KernelCircles) -> str:
    size, error = (units.format_bytes(row[name]) for name in ("l2_bytes", "l2_bytes_error"))
    return (
        f"{circles.describe(row)}<br>{units.format_flops(row['tflops'])}<br>{size} (± {error}) through the L2 "
        f"cache<br>{row['l2_intensity']:.3g} FLOP per L2 byte"
    )
