"""What the figures of a comparison draw: the sides with their colours, and the iterations of each recording."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.arrays import Bools, Floats
from tcprof.comparison import Comparison, Side
from tcprof.findings.compared.verdict import find_row, iteration_name, side_names, time_row
from tcprof.frames import HEADLINE, quantity_of
from tcprof.views.figures.plain import label

# Distinct for the colour-blind, and read on white and on black; the first is the baseline. Symbols differ too, and none
# is orange, which is Tensor Active.
SIDE_COLORS = ("#7A8CA3", "#1F7FC4", "#C7609A", "#A9790B", "#2AA3A3", "#8A6F5C")
# Apart with every colour vision (by 72 or more in CIELAB, by Machado's model), and 3:1 or more on white and on black.
BETTER_COLOR, WORSE_COLOR = "#3B9C3B", "#9B3FA8"
RECEDED = {"marker": {"opacity": 0.35}}  # of bars beside those that are chosen
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star", "hexagon")
MOST_POINTS = 1000  # of a recording; of more iterations blocks are drawn
LONGEST_NAME = 32
_BEYOND = 1.5  # warm-up that takes this many times as long as all else is drawn at the edge


@dataclass(frozen=True)
class ShownSide:
    """A side as it is drawn."""

    name: str
    role: str  # base or new: its columns in the comparison's rows
    number: int  # 0 for the baseline, then in the order given; it determines the colour and the symbol
    side: Side
    comparison: Comparison

    @property
    def color(self) -> str:
        """Its colour."""
        return SIDE_COLORS[self.number % len(SIDE_COLORS)]

    @property
    def symbol(self) -> str:
        """Plotly's name of its symbol."""
        return _SYMBOLS[self.number % len(_SYMBOLS)]


def shown_sides(comparisons: Sequence[Comparison]) -> list[ShownSide]:
    """The baseline, then the other side of each comparison."""
    first = comparisons[0]
    sides = [("base", first.base, first), *(("new", each.new, each) for each in comparisons)]
    return [
        ShownSide(side_names(each)[role == "new"], role, number, side, each)
        for number, (role, side, each) in enumerate(sides)
    ]


@dataclass(frozen=True)
class Series:
    """One quantity of the iterations of one recording, thinned where there are very many."""

    name: str  # the side's name, with the recording's where it has several, as plotly may show it
    x: Floats  # numbers of the iterations, or of each block's first one
    y: Floats  # seconds or percent; of a block the median
    warm_up: Bools
    block: int  # iterations in a block; 1 where each is drawn


def _series(shown: ShownSide, recording: Analysis, gpu: int, column: str, scale: float) -> Series:
    rows = recording.iterations[recording.iterations["gpu"] == gpu]
    block = max(1, -(-len(rows) // MOST_POINTS))
    frame = pd.DataFrame({"x": rows["number"], "y": rows[column].astype(float) * scale, "warm_up": rows["warm_up"]})
    if block > 1:
        frame = frame.groupby(np.arange(len(frame)) // block).agg({"x": "first", "y": "median", "warm_up": "any"})
    name = label(shown.name, LONGEST_NAME)
    if len(shown.side.recordings) > 1:
        name += f", {label(recording.recording.file, LONGEST_NAME)}"
    known = frame[frame["y"].notna()]
    x, y = (known[axis].to_numpy(np.float64) for axis in ("x", "y"))
    return Series(name, x, y, known["warm_up"].to_numpy(np.bool_), block)


@dataclass(frozen=True)
class Panel:
    """One quantity of all sides on one GPU, with the range of its axis."""

    gpu: int
    column: str
    per: str  # whose value it is, as plotly may show it
    scale: float  # what makes seconds or percent of it
    sides: list[tuple[ShownSide, list[Series]]]
    low: float
    high: float  # its upper end; warm-up may lie above

    @property
    def name(self) -> str:
        """What the quantity is called."""
        return quantity_of(self.column).column.title

    @property
    def title(self) -> str:
        """The heading above the plot."""
        return f"{self.name} {self.per}"

    @property
    def is_percent(self) -> bool:
        """Whether it is a percentage, else seconds."""
        return self.scale == 1.0

    @property
    def last(self) -> float:
        """The largest number of an iteration."""
        return max((float(series.x.max()) for _, each in self.sides for series in each if len(series.x)), default=0.0)


def list_panels(comparisons: Sequence[Comparison], gpu: int) -> list[Panel]:
    """Time and Tensor Active of the iterations of all sides that have them in common with the baseline.

    Without iterations there is nothing, and without Tensor Active only time.
    """
    found = [each for each in comparisons if each.iteration_path]
    if not found:
        return []
    sides = [shown for shown in shown_sides(comparisons) if shown.comparison.iteration_path or shown.number == 0]
    sides[0] = replace(sides[0], comparison=found[0])
    per = f"per {label(iteration_name(found[0]), LONGEST_NAME)}"
    quantities = [(str(time_row(found[0], gpu)["quantity"]), 1e-9)]  # with what makes seconds or percent of it
    if any(find_row(each, gpu, HEADLINE.name)[["base", "new"]].notna().any() for each in found):
        quantities.append((HEADLINE.name, 1.0))
    panels = []
    for column, scale in quantities:
        drawn = [(s, [_series(s, each, gpu, column, scale) for each in s.side.recordings]) for s in sides]
        if any(len(series.x) for _, several in drawn for series in several):
            panels.append(Panel(gpu, column, per, scale, drawn, *_axis_range(drawn, scale == 1.0)))
    return panels


def _axis_range(sides: list[tuple[ShownSide, list[Series]]], is_percent: bool) -> tuple[float, float]:
    """The axis from 0, or from near the lowest where nothing is near 0; and not up to a warm-up that is far above."""
    values = np.concatenate([series.y for _, several in sides for series in several])
    steady = np.concatenate([series.y[~series.warm_up] for _, several in sides for series in several])
    most = steady.max() if len(steady) else values.max()
    high = most if values.max() > _BEYOND * most else values.max()
    low = 0.0 if is_percent or values.min() < high / 2 else values.min()
    margin = 0.08 * max(high - low, 0.1 * high) or 1.0
    return max(low - margin, 0.0), high + margin
