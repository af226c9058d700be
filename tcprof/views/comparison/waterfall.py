"""What the changes of mean time and Tensor Active consist of: tables, and a figure from bar to bar."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.comparison.waterfall import INTENSITY, MIX, TENSOR_ACTIVE, TIME, TOTAL
from tcprof.findings.compared.verdict import name_mean, side_names
from tcprof.views.comparison.sides import BETTER_COLOR, RECEDED, WORSE_COLOR, side_color
from tcprof.views.figures import AXIS, PlotlyFigure, base_layout, label, unit_ticks
from tcprof.views.tables import BECAME, Cell, Heading, Row, Table


def list_parts(comparison: Comparison, gpu: int, most: int = 0) -> dict[str, Table]:
    """List the parts of each quantity, the sum last; of time, ``most`` parts and the rest as one, or all for 0."""
    rows = comparison.waterfall[comparison.waterfall["gpu"] == gpu]
    time, active = (rows[rows["quantity"] == quantity].to_dict("records") for quantity in (TIME, TENSOR_ACTIVE))
    tables = {}
    if time:
        headings = tuple(Heading(title.capitalize(), columns=(f"{title}_ns",)) for title in ("base", "new", "change"))
        rows = [
            Row(part_label(row), (Cell.time(row["base"]), Cell.time(row["new"]), Cell.signed_time(row["change"])))
            for row in _pool([row for row in time if row["base"] or row["new"]], most)
        ]
        tables[TIME] = (f"Where the {name_mean(comparison, gpu)} goes", headings, rows)
    if active:
        headings = (Heading("Change", columns=("change_points",)),)
        rows = [Row(part_label(row), (Cell.change(row["change"], True),)) for row in active]
        tables[TENSOR_ACTIVE] = ("Why the mean Tensor Active changed", headings, rows)
    return {
        quantity: Table(f"parts-{quantity}-{gpu}", "", first, headings, (*rows[1:], *rows[:1]), gpu=gpu, total=True)
        for quantity, (first, headings, rows) in tables.items()
    }


def _pool(rows: list[dict[Any, Any]], most: int) -> list[dict[Any, Any]]:
    """Keep the total and so many parts, in their order; the last one is all that changed least."""
    if not most or len(rows) <= most + 1:
        return rows
    ranked = sorted(range(1, len(rows)), key=lambda place: -abs(rows[place]["change"]))
    kept, few = sorted(ranked[: most - 1]), ranked[most - 1 :]
    pooled = {name: sum(rows[place][name] for place in few) for name in ("base", "new", "change")}
    shared = {"part": f"{len(few)} smaller changes", "base_class": "", "new_class": ""}
    return [rows[0], *(rows[place] for place in kept), {**shared, **pooled}]


def part_label(row: Mapping[Any, Any] | pd.Series) -> str:
    """Name a part of a waterfall: "replaced kernels: FP32 matmuls → FP16 tensor kernels"."""
    if row["part"] == TOTAL:
        return "sum"
    classes = dict.fromkeys(row[name] for name in ("base_class", "new_class") if row[name])
    name = _NAMES.get(row["part"], str(row["part"]))
    return f"{name}: {BECAME.join(classes)}" if classes else name


_NAMES = {MIX: "kernel mix", INTENSITY: "activity per kernel"}
_SMALLEST = 0.004  # parts below this share of the larger total are one
_WRAP = 44  # characters of a label in a line, which fit a narrow screen
_LINE, _BAR, _GAP, _BOTTOM = 17, 13, 9, 28  # pixels
_CONNECTOR = "rgba(128,128,128,0.7)"


@dataclass(frozen=True)
class _Step:
    """One bar: where it begins, how far it goes, what is said of it, and the groups of kernels that it may hold."""

    name: str
    begin: float
    change: float
    text: str
    color: str
    groups: tuple[str, ...] = ()


def figure_waterfall(comparison: Comparison, gpu: int, quantity: str, table: str = "") -> PlotlyFigure:
    """Draw the baseline's mean, what each part adds, and the new mean; a click on a bar chooses rows of ``table``."""
    parts = comparison.waterfall
    parts = parts[(parts["gpu"] == gpu) & (parts["quantity"] == quantity)]
    figure = PlotlyFigure()
    if parts.empty:
        return figure.update_layout(base_layout(100))
    steps = _steps(comparison, parts, quantity == TIME)
    labels = [textwrap.wrap(step.name, _WRAP, break_on_hyphens=False) or [""] for step in steps]
    place, pixels = [], 0
    for lines in labels:
        place.append(pixels + len(lines) * _LINE)
        pixels += len(lines) * _LINE + _BAR + _GAP
    scale = 1e-9 if quantity == TIME else 1.0
    figure.add_bar(
        orientation="h",
        base=[step.begin * scale for step in steps],
        x=[step.change * scale for step in steps],
        y=[top + _BAR / 2 for top in place],
        width=_BAR,
        marker={"color": [step.color for step in steps]},
        unselected=RECEDED,
        hovertext=[f"<b>{label(step.name, 90)}</b><br>{step.text}" for step in steps],
        showlegend=False,
        **({"customdata": [list(step.groups) for step in steps], "meta": {"chooses": table}} if table else {}),
    )
    notes = _annotate(steps, labels, place, bool(table))
    line = {"color": _CONNECTOR, "width": 1, "dash": "dot"}
    connectors = []
    for step, top, following in zip(steps, place, place[1:], strict=False):
        end = (step.begin + step.change) * scale
        connectors.append({"type": "line", "x0": end, "x1": end, "y0": top + _BAR, "y1": following, "line": line})
    axes = {"shapes": connectors, "annotations": notes, **_axes(steps, scale, pixels)}
    return figure.update_layout({**base_layout(pixels + _BOTTOM + 4, 4, _BOTTOM), **axes})


def _annotate(steps: list[_Step], labels: list[list[str]], place: list[int], clicks: bool) -> list[dict[str, object]]:
    """Write the name of each bar on the left and its size on the right, for plotly at once, which is quicker."""
    notes: list[dict[str, object]] = []
    for number, (step, lines, top) in enumerate(zip(steps, labels, place, strict=True)):
        named = {"name": str(number), "captureevents": clicks and bool(step.groups)}
        shared = {**named, "xref": "paper", "y": top, "yanchor": "bottom", "showarrow": False, "borderpad": 0}
        text = "<br>".join(label(line, _WRAP) for line in lines)
        notes.append({"text": text, "x": 0, "xanchor": "left", "align": "left", **shared})
        notes.append({"text": f"<b>{step.text}</b>", "x": 1, "xanchor": "right", **shared})
    return notes


def _steps(comparison: Comparison, parts: pd.DataFrame, is_time: bool) -> list[_Step]:
    """List the bars from above: the baseline, the parts in order, those that hardly show as one, and the new side."""
    total, rows = parts.iloc[0], parts.iloc[1:]
    rows = rows[rows["change"] != 0]
    whole, part = (
        (units.format_ns, units.format_signed_ns)
        if is_time
        else (units.format_pct, partial(units.format_change, in_points=True))
    )
    base, new = side_names(comparison)
    steps = [_Step(base, 0.0, float(total["base"]), whole(total["base"]), side_color(comparison.base, 0))]
    small = rows["change"].abs() < _SMALLEST * max(total["base"], total["new"])
    bars: list[tuple[str, float, tuple[str, ...]]] = [(name, size, (name,)) for name, size in _named(rows[~small])]
    if few := _named(rows[small]):
        names = tuple(name for name, _ in few)
        name = f"{len(few)} smaller parts" if len(few) > 1 else names[0]
        bars.append((name, sum(change for _, change in few), names))
    at = float(total["base"])
    if min(at, at + np.cumsum([0.0, *(change for _, change, _ in bars)]).min()) < 0:
        bars.sort(key=lambda part: -part[1])  # else the bars would go below 0 on their way
    for name, change, groups in bars:
        color = BETTER_COLOR if (change < 0) == is_time else WORSE_COLOR
        steps.append(_Step(name, at, change, part(change), color, groups if is_time else ()))
        at += change
    return [*steps, _Step(new, 0.0, float(total["new"]), whole(total["new"]), side_color(comparison.new, 1))]


def _named(rows: pd.DataFrame) -> list[tuple[str, float]]:
    return [(part_label(row), float(row["change"])) for row in rows.to_dict("records")]


def _axes(steps: list[_Step], scale: float, pixels: int) -> dict[str, object]:
    """From 0 to the farthest end; the vertical axis counts pixels, so that each label has enough space."""
    ends = [edge * scale for step in steps for edge in (step.begin, step.begin + step.change)]
    low, high = min(*ends, 0.0), max(ends) or 1.0
    is_time = scale != 1.0
    return {
        "margin": {"l": 8, "r": 8, "t": 4, "b": _BOTTOM},
        "xaxis": {
            **AXIS,
            **(unit_ticks(low, high, "s", 6) if is_time else {"ticksuffix": " %"}),
            "range": [low * 1.02, high * 1.02],
            "fixedrange": True,
            "nticks": 6,
        },
        "yaxis": {"range": [pixels, 0], "visible": False, "fixedrange": True},
    }
