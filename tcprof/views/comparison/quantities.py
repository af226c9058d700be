"""The quantities of the iterations that are compared."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.comparison.statistics.rows import of_means
from tcprof.findings.compared.rows import Row as ComparedRow
from tcprof.findings.compared.rows import find_row, is_shown, iteration_name, mean_differs
from tcprof.frames import COMPARISON, LISTED_QUANTITIES, Quantity
from tcprof.views.tables import Cell, Heading, Row, Strip, Table, sort_key, word_cell

_STRIP_RATIO, _STRIP_POINTS = 4.0, 25.0  # at the ends of a strip
SCALE = (
    "Ratios from a quarter to four times, percentages from 25 points less to 25 points more; what lies beyond stands "
    "at the end"
)
_HEADINGS = (
    Heading("base", COMPARISON["base"].meaning),
    Heading("new", COMPARISON["new"].meaning),
    Heading("change", "A ratio, or of percentages a difference in points."),
    Heading("95 % interval", SCALE, columns=("low", "high"), spare=1),
    Heading("p", COMPARISON["p_value"].meaning, spare=2),
    Heading("verdict", COMPARISON["verdict"].meaning, words=True),
)


def list_quantities(comparison: Comparison, gpu: int, title: str = "", number: int = 1, caption: str = "") -> Table:
    """The iterations' quantities: both values, the change with its interval, p and the verdict.

    Args:
        number: Number of the side among those compared with the baseline.
        caption: What it holds, for those who see it alone.
    """
    rows = tuple(_row(*each) for each in _known(comparison, gpu))
    first = f"per {iteration_name(comparison)}"
    return Table(f"quantities-{number}-{gpu}", title, first, _HEADINGS, rows, gpu=gpu, caption=caption)


def _known(comparison: Comparison, gpu: int) -> Iterator[tuple[Quantity, str, int, ComparedRow]]:
    """The quantities that one side has at least: with title, depth and row.

    They are of medians; below one the row of means follows where that says something else.
    """
    for quantity in LISTED_QUANTITIES:
        row = find_row(comparison, gpu, quantity.name)
        if not (pd.isna(row["base"]) and pd.isna(row["new"])):
            depth = 2 if quantity.part_of else 1
            yield quantity, quantity.column.title, depth, row
            if mean_differs(row):
                yield quantity, "mean", depth + 1, of_means(row)


def _row(quantity: Quantity, title: str, depth: int, row: ComparedRow) -> Row:
    change = quantity.change
    low, high = row[f"{change}_low"], row[f"{change}_high"]
    cells = (
        side_cell(quantity, row, "base"),
        side_cell(quantity, row, "new"),
        change_cell(quantity, row),
        Cell(
            units.format_change_interval(low, high, quantity.in_points),
            values=(sort_key(low), sort_key(high)),
            strip=_strip(quantity, row),
        ),
        Cell(format_p(row["p_value"]), sort_key(row["p_value"])),
        replace(word_cell(row["verdict"]), tone=tone_of(quantity, row)),
    )
    return Row(title, cells, depth, nested=depth > 1, full=quantity.name)


def side_cell(quantity: Quantity, row: ComparedRow, side: str) -> Cell:
    """The value of a side, base or new; marked where it is a lower bound."""
    column, text = quantity.column, quantity.column.format(row[side])
    is_named = column.title.endswith(units.unit_of_heading(column.unit) or "-")  # as Tensor FLOP/s
    text = units.at_least(text) if row[f"{side}_lower_bound"] else text
    return Cell(text, sort_key(row[side]), unit=column.unit if is_named else "")


def change_cell(quantity: Quantity, row: ComparedRow, **further: object) -> Cell:
    """The change of a quantity: a ratio, or of percentages a difference in points."""
    value = row[quantity.change]
    return Cell(units.format_change(value, quantity.in_points), sort_key(value), **further)  # type: ignore[arg-type]


def tone_of(quantity: Quantity, row: ComparedRow) -> str:
    """Whether a change that is shown is better or worse; empty where it is neither, or not shown."""
    if not quantity.better or not is_shown(row):
        return ""
    return "better" if row["verdict"] == quantity.better else "worse"


def format_p(value: float) -> str:
    """A p value."""
    return units.UNKNOWN if pd.isna(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def _strip(quantity: Quantity, row: ComparedRow) -> Strip | None:
    """The change with its interval as a drawing; nothing where there is no interval."""
    values = [float(row[f"{quantity.change}{end}"]) for end in ("_low", "", "_high")]
    if any(math.isnan(value) for value in values) or not (quantity.in_points or values[0] > 0):
        return None
    shares = [
        value / _STRIP_POINTS if quantity.in_points else math.log(value) / math.log(_STRIP_RATIO) for value in values
    ]
    low, middle, high = (round(50 + 50 * min(max(share, -1.0), 1.0), 2) for share in shares)
    return Strip(low, round(high - low, 2), middle)
