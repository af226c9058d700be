"""Where kernels moved in the roofline: each from its place in the baseline to that in the other side."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.comparison import Comparison
from tcprof.comparison.details import list_moved
from tcprof.findings.compared.verdict import side_names
from tcprof.views.comparison.series import LONGEST_NAME, SIDE_COLORS
from tcprof.views.figures.circles import as_table, size_circles
from tcprof.views.figures.plain import PlotlyFigure, label
from tcprof.views.figures.roofline import add_limits, layout_of, name_precision

_LINE = "rgba(128,128,128,0.75)"
_COLUMNS = ["side", "gpu", "name", "geometry", "time_ns", "arithmetic", "tflops", "intensity", "roof_pct", "memory_pct"]


def figure_moved(comparison: Comparison, gpu: int) -> PlotlyFigure:
    """Circles of both sides under the roofs, and a line from each kernel of the baseline to its counterpart.

    Empty where no kernel of either side has a place.
    """
    moved, figure = list_moved(comparison, gpu), PlotlyFigure()
    drawn = pd.concat([rows.assign(side=name) for rows, name in zip(moved, side_names(comparison), strict=True)])
    if drawn.empty:
        return figure
    _, box = add_limits(figure, drawn, comparison.new.typical.gpus)
    _add_lines(figure, *moved)
    longest = float(drawn["time_ns"].max())
    for side, symbol, color in zip(side_names(comparison), ("circle-open", "circle"), SIDE_COLORS, strict=False):
        rows = drawn[drawn["side"] == side]
        figure.add_scatter(
            x=rows["intensity"].to_numpy(),
            y=1e12 * rows["tflops"].to_numpy(),
            mode="markers",
            name=label(side, LONGEST_NAME),
            marker={
                **size_circles(rows["time_ns"].to_numpy(np.float64), longest),
                "color": color,
                "symbol": symbol,
                "opacity": 0.8,
                "line": {"width": 1.5},
            },
            hovertext=[_describe(row) for row in rows.to_dict("records")],
        )
    return figure.update_layout(layout_of(box), meta=as_table(drawn, _COLUMNS))


def _add_lines(figure: PlotlyFigure, base: pd.DataFrame, new: pd.DataFrame) -> None:
    pairs = base.merge(new, on="pair", suffixes=("_base", "_new"))
    gap = np.full(len(pairs), np.nan)
    x, y = (
        np.column_stack([*(pairs[f"{name}_{side}"] for side in ("base", "new")), gap])
        for name in ("intensity", "tflops")
    )
    figure.add_scatter(
        x=x.ravel(),
        y=1e12 * y.ravel(),
        mode="lines",
        line={"color": _LINE, "width": 1},
        hoverinfo="skip",
        name="matched kernels",
    )


def _describe(row: Mapping[Any, Any]) -> str:
    return (
        f"<b>{label(short_name(str(row['name'])), 64)}</b><br>{label(str(row['side']), LONGEST_NAME)}: "
        f"{units.format_ns(row['time_ns'])} of an iteration<br>{name_precision(row['arithmetic'])}: "
        f"{units.format_flops(row['tflops'])}, {units.format_pct(row['roof_pct'])} of its roof<br>"
        f"{units.format_pct(row['memory_pct'])} of the DRAM bandwidth, {row['intensity']:.3g} FLOP for each byte"
    )
