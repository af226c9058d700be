"""Kernels as circles whose area is their time: what the drawings of kernels share."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import short_name
from tcprof.arrays import Floats
from tcprof.views.figures.lanes import label
from tcprof.views.figures.plain import Settings, scatter
from tcprof.views.selection import kernel_names, link

MOST_KERNELS = 1000  # circles; of more kernels those that took longest are drawn
_LARGEST, _SMALLEST = 46, 5  # diameter in pixels
_SYMBOLS = ("circle", "diamond", "square", "hexagon", "pentagon", "star", "triangle-up", "cross")  # of the GPUs
_SPOKEN = ("circles", "diamonds", "squares", "hexagons", "pentagons", "stars", "triangles", "crosses")


def keep_longest(kernels: pd.DataFrame) -> pd.DataFrame:
    """The kernels that are drawn, longest first, so that small circles lie above large ones."""
    return kernels.nlargest(MOST_KERNELS, "total_ns")


class KernelCircles:
    """Draws kernels of a recording, which differ in shape between GPUs; a click on one selects it on a page.

    Args:
        longest_ns: The time that has the largest circle.
    """

    def __init__(self, analysis: Analysis, longest_ns: float) -> None:
        gpus = sorted(analysis.kernels["gpu"].unique().tolist())
        self._symbols = {gpu: _SYMBOLS[place % len(_SYMBOLS)] for place, gpu in enumerate(gpus)}
        self._names = kernel_names(analysis.kernels)
        self._longest_ns = longest_ns

    def draw(self, rows: pd.DataFrame, x: Floats, y: Floats, hovertext: list[str]) -> Settings:
        """A trace of kernels.

        Args:
            rows: The kernels, rows of ``analysis.kernels`` by index.
            hovertext: What the pointer shows over each.
        """
        places = list(zip(rows.index.tolist(), rows["gpu"].tolist(), strict=True))
        return scatter(
            x=x,
            y=y,
            mode="markers",
            customdata=[link("kernel", self._names[row], gpu) for row, gpu in places],
            meta={"selects": True, "items": rows.index.tolist()},
            marker={
                **size_circles(rows["total_ns"].to_numpy(np.float64), self._longest_ns),
                "symbol": [self._symbols[gpu] for _, gpu in places],
                "opacity": 0.72,
                "line": {"width": 1, "color": "rgba(128,128,128,0.9)"},
            },
            hovertext=hovertext,
            hovertemplate="%{hovertext}<extra></extra>",
        )

    def describe(self, row: Mapping[Any, Any]) -> str:
        """The first lines of what the pointer shows over a kernel: name, time, and its share of the kernel time."""
        where = f" on GPU {row['gpu']}" if len(self._symbols) > 1 else ""
        bound = f", bound by: {row['bound']}" if row["bound"] else ""
        return (
            f"<b>{label(short_name(str(row['name'])), 64)}</b>{where}<br>"
            f"{units.format_ns(row['total_ns'])} in {units.format_things(row['launch_count'], 'launch', 'launches')}, "
            f"{units.format_pct(row['share_pct'])} of the kernel time{bound}"
        )


def describe_symbols(analysis: Analysis) -> str:
    """Which shape the kernels of each GPU have, in a sentence; empty for one GPU."""
    numbers = sorted(analysis.kernels["gpu"].unique().tolist())
    by_shape = [(_SPOKEN[place], numbers[place :: len(_SPOKEN)]) for place in range(min(len(numbers), len(_SPOKEN)))]
    told = [
        f"{shape} are of {'GPU' if len(own) == 1 else 'GPUs'} {', '.join(map(str, own))}" for shape, own in by_shape
    ]
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}." if len(numbers) > 1 else ""


def size_circles(times_ns: Floats, longest_ns: float) -> dict[str, Any]:
    """A marker's settings by which the area of each circle is its time."""
    sizes = {"size": times_ns, "sizemin": _SMALLEST / 2}
    return {**sizes, "sizemode": "area", "sizeref": 2 * max(longest_ns, 1.0) / _LARGEST**2}


def as_table(rows: pd.DataFrame, columns: list[str]) -> dict[str, object]:
    """What is drawn, with exact figures, for the page's button."""
    drawn = rows[columns]
    return {"csv": {"columns": columns, "rows": drawn.astype(object).where(drawn.notna(), None).to_numpy().tolist()}}
