"""Kernels as circles whose area is their time, over Tensor Active."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.kernels.verdicts import UNDECIDED
from tcprof.arrays import Floats
from tcprof.views.figures import AXIS, LEGEND, PlotlyFigure, Settings, base_layout, label, scatter
from tcprof.views.figures.traces import CLASS_COLORS, UNKNOWN_COLOR
from tcprof.views.paths import kernel_names, link

MOST_KERNELS = 1000  # circles; of more kernels those that took longest are drawn
_LARGEST, _SMALLEST = 46, 5  # diameter in pixels
_SYMBOLS = ("circle", "diamond", "square", "hexagon", "pentagon", "star", "triangle-up", "cross")  # of the GPUs
_SPOKEN = ("circles", "diamonds", "squares", "hexagons", "pentagons", "stars", "triangles", "crosses")


def keep_longest(kernels: pd.DataFrame) -> pd.DataFrame:
    """Keep the kernels that are drawn, longest first, so that small circles lie above large ones."""
    return kernels.nlargest(MOST_KERNELS, "total_ns")


class KernelCircles:
    """Draws kernels of a recording, which differ in shape between GPUs; a click on one selects it on a page."""

    def __init__(self, analysis: Analysis, longest_ns: float) -> None:
        gpus = sorted(analysis.kernels["gpu"].unique().tolist())
        self._symbols = {gpu: _SYMBOLS[place % len(_SYMBOLS)] for place, gpu in enumerate(gpus)}
        self._names = kernel_names(analysis.kernels)
        self._longest_ns = longest_ns

    def draw(self, rows: pd.DataFrame, x: Floats, y: Floats, hovertext: list[str]) -> Settings:
        """Draw a trace of kernels."""
        places = list(zip(rows.index.tolist(), rows["gpu"].tolist(), strict=True))
        return scatter(
            x=x,
            y=y,
            mode="markers",
            customdata=[link("kernel", self._names[row], gpu) for row, gpu in places],
            meta={"selects": True, "items": rows.index.tolist()},
            marker={
                "size": rows["total_ns"].to_numpy(np.float64),  # the area of each is its time
                "sizemin": _SMALLEST / 2,
                "sizemode": "area",
                "sizeref": 2 * max(self._longest_ns, 1.0) / _LARGEST**2,
                "symbol": [self._symbols[gpu] for _, gpu in places],
                "opacity": 0.72,
                "line": {"width": 1, "color": "rgba(128,128,128,0.9)"},
            },
            hovertext=hovertext,
        )

    def describe(self, row: Mapping[Any, Any]) -> str:
        """Describe a kernel under the pointer: its name, its time, and its share of the kernel time."""
        where = f" on GPU {row['gpu']}" if len(self._symbols) > 1 else ""
        bound = f", bound by: {row['bound']}" if row["bound"] else ""
        return (
            f"<b>{label(short_name(str(row['name'])), 64)}</b>{where}<br>"
            f"{units.format_ns(row['total_ns'])} in {units.format_things(row['launch_count'], 'launch', 'launches')}, "
            f"{units.format_pct(row['share_pct'])} of the kernel time{bound}"
        )


def describe_symbols(analysis: Analysis) -> str:
    """Say which shape the kernels of each GPU have, in a sentence; empty for one GPU."""
    numbers = sorted(analysis.kernels["gpu"].unique().tolist())
    by_shape = [(shape, numbers[place :: len(_SPOKEN)]) for place, shape in enumerate(_SPOKEN)]
    text = "; ".join(
        f"{shape} are of GPU{'s'[: len(gpus) > 1]} {', '.join(map(str, gpus))}" for shape, gpus in by_shape if gpus
    )
    return f"{text[0].upper()}{text[1:]}." if len(numbers) > 1 else ""


def as_table(rows: pd.DataFrame, columns: list[str]) -> dict[str, object]:
    """Collect what is drawn, with exact figures, for the page's button."""
    drawn = rows[columns]
    return {"csv": {"columns": columns, "rows": drawn.astype(object).where(drawn.notna(), None).to_numpy().tolist()}}


_COLORS = {  # what bounds a kernel has the colour of the time that it makes up
    "tensor": CLASS_COLORS["tensor_kernel"],
    "memory": CLASS_COLORS["memory_bound"],
    "L2 cache": "#00A08A",
    "L1 cache": "#B58900",
    "fp32": CLASS_COLORS["fp32_bound"],
    "issue": CLASS_COLORS["issue_bound"],
    "small grid": CLASS_COLORS["small_grid"],
    "latency": CLASS_COLORS["other_kernel"],
    "communication": CLASS_COLORS["communication"],
    "": UNKNOWN_COLOR,
}
_UNKNOWN = "bound unknown"
_LEAST_PCT = 0.001  # kernels below are drawn at the bottom
_HEIGHT, _TOP, _BOTTOM = 440, 64, 56
_PERCENT = {**AXIS, "ticksuffix": " %", "range": [-3, 103]}
_COLUMNS = ["gpu", "name", "launch_geometry", "total_ns", "share_pct", "tensor_active_pct"]
_COLUMNS += ["tensor_active_low_pct", "tensor_active_high_pct", "precision", "bound"]


def figure_tensor_time(analysis: Analysis) -> PlotlyFigure:
    """Draw kernels as circles: their share of the kernel time over Tensor Active, where known, coloured by bound."""
    rows = keep_longest(_keep_resolved(analysis.kernels))
    share = rows["share_pct"].clip(lower=_LEAST_PCT)
    axis = {"type": "log", "dtick": 1, "range": np.log10([share.min() / 2, 150]).tolist()}
    return _draw(analysis, rows, share, _layout(axis, "share of the kernel time"), _COLUMNS)


def figure_memory_tensor(analysis: Analysis) -> PlotlyFigure:
    """Draw kernels as circles: their share of memory bandwidth over Tensor Active, where known, coloured by bound."""
    resolved = _keep_resolved(analysis.kernels)
    rows = keep_longest(resolved[resolved["dram_pct"].notna()])
    layout = _layout({}, "share of memory bandwidth")
    return _draw(analysis, rows, rows["dram_pct"], layout, [*_COLUMNS, "dram_pct"])


def _keep_resolved(kernels: pd.DataFrame) -> pd.DataFrame:
    return kernels[kernels["tensor_active_pct"].notna() & ~kernels["fit"].isin(UNDECIDED) & (kernels["total_ns"] > 0)]


def _draw(
    analysis: Analysis, rows: pd.DataFrame, height: "pd.Series[float]", layout: Mapping[str, object], columns: list[str]
) -> PlotlyFigure:
    figure = PlotlyFigure()
    if rows.empty:
        return figure
    circles = KernelCircles(analysis, float(rows["total_ns"].max()))
    for bound, color in _COLORS.items():
        bounded = rows[rows["bound"] == bound]
        if len(bounded):
            texts = [_describe(row, circles) for row in bounded.to_dict("records")]
            active = bounded["tensor_active_pct"].to_numpy()
            trace = circles.draw(bounded, active, height[bounded.index].to_numpy(), texts)
            figure.data.append(trace.set(name=bound or _UNKNOWN, marker={"color": color}))
    return figure.update_layout(layout, meta=as_table(rows, columns))


def _describe(row: Mapping[Any, Any], circles: KernelCircles) -> str:
    ends = units.format_pct_interval(row["tensor_active_low_pct"], row["tensor_active_high_pct"])
    precision = f", {row['precision'].upper()}" if row["precision"] else ""
    active = f"Tensor Active {units.format_pct(row['tensor_active_pct'])}{f' ({ends})' if ends else ''} while it ran"
    memory = "" if np.isnan(row["dram_pct"]) else f", memory {units.format_pct(row['dram_pct'])}"
    return f"{circles.describe(row)}<br>{active}{memory}{precision}"


def _layout(axis: Mapping[str, object], title: str) -> dict[str, object]:
    return {
        **base_layout(_HEIGHT, _TOP, _BOTTOM),
        "legend": {**LEGEND, "itemsizing": "constant"},
        "xaxis": {**_PERCENT, "title": {"text": "Tensor Active while it ran", "standoff": 6}},
        "yaxis": {**_PERCENT, **axis, "title": {"text": title, "standoff": 4}, "automargin": True},
    }
