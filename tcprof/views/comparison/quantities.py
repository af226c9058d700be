"""The quantities of the steps that are compared, and the changes of all ranges."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.comparison.statistics.rows import of_means
from tcprof.comparison.statistics.verdicts import HIGHER, INCONCLUSIVE, LOWER
from tcprof.findings.compared.verdict import Row as ComparedRow
from tcprof.findings.compared.verdict import find_row, is_shown, mean_differs, step_name
from tcprof.frames import COMPARISON, HEADLINE, LISTED_QUANTITIES, Quantity
from tcprof.untrusted import one_line
from tcprof.views.paths import LEFT_OUT, LONGEST_NAME, keep_longest, path_rows
from tcprof.views.tables import Cell, Heading, Row, Strip, Table, sort_key

_STRIP_RATIO, _STRIP_POINTS = 4.0, 25.0  # at the ends of a strip
SCALE = "Ratios from 0.25x to 4x, percentages from -25 to +25 points; values beyond are drawn at the edge"
CHANGE_HEADINGS = (
    Heading.of(COMPARISON["base"], title="Base"),
    Heading.of(COMPARISON["new"], title="New"),
    Heading("Change", "A ratio or, for percentages, a difference in points.", columns=("change",)),
    Heading("95 % interval", SCALE, columns=("low", "high"), spare=1),
    Heading("p", COMPARISON["p_value"].meaning, spare=2),
    Heading.of(COMPARISON["verdict"], title="Verdict"),
)


def list_quantities(comparison: Comparison, gpu: int, title: str = "") -> Table:
    """List the steps' quantities: both values, the change with its interval, p and the verdict."""
    rows = tuple(quantity_row(*row) for row in _list_known(comparison, gpu))
    first = f"Per {step_name(comparison)}"
    return Table(f"quantities-{gpu}", title, first, CHANGE_HEADINGS, rows, gpu=gpu)


def list_quantities_of_sides(comparisons: Sequence[Comparison], gpu: int) -> Table:
    """List the steps' quantities of one baseline, and of each side compared with it the value and its change."""
    rows = {(quantity, depth): row for quantity, _, depth, row in _list_known(comparisons[0], gpu)}
    headings = [Heading.of(COMPARISON["base"], title="Base")]
    headings += [
        Heading(one_line(one.new.name), _BESIDE, before=("value",), columns=("change",)) for one in comparisons
    ]
    listed = []
    for (quantity, depth), first in rows.items():
        if depth > 1 and not quantity.part_of:
            continue  # means beside medians: the table of each side has them
        cells = [side_cell(quantity, first, "base")]
        for comparison in comparisons:
            row = find_row(comparison, gpu, quantity.name)
            before, tone = (side_cell(quantity, row, "new").text,), tone_of(quantity, row)
            in_points, mark = quantity.in_points, change_mark(row)
            cells.append(Cell.change(row[quantity.change], in_points, before=before, mark=mark, tone=tone))
        listed.append(Row(quantity.column.title, tuple(cells), depth, nested=depth > 1, full=quantity.name))
    name = f"Per {step_name(comparisons[0])}"
    return Table(f"sides-quantities-{gpu}", "", name, tuple(headings), tuple(listed), gpu=gpu)


_BESIDE = "Its change against the baseline, a ratio or points, and its value. ~ marks changes that are inconclusive."


def _list_known(comparison: Comparison, gpu: int) -> Iterator[tuple[Quantity, str, int, ComparedRow]]:
    """List the quantities that one side has at least: with title, depth and row.

    They are of medians; below one the row of means follows where that says something else.
    """
    for quantity in LISTED_QUANTITIES:
        row = find_row(comparison, gpu, quantity.name)
        if not (pd.isna(row["base"]) and pd.isna(row["new"])):
            depth = 2 if quantity.part_of else 1
            yield quantity, quantity.column.title, depth, row
            if mean_differs(row):
                yield quantity, "mean", depth + 1, of_means(row)


def quantity_row(quantity: Quantity, title: str, depth: int, row: ComparedRow) -> Row:
    """Make the row of a quantity of both sides, see ``CHANGE_HEADINGS``."""
    change = quantity.change
    cells = (
        side_cell(quantity, row, "base"),
        side_cell(quantity, row, "new"),
        Cell.change(row[change], quantity.in_points),
        Cell.change_interval(
            row[f"{change}_low"], row[f"{change}_high"], quantity.in_points, strip=_strip(quantity, row)
        ),
        Cell.p_value(row["p_value"]),
        replace(Cell.word(row["verdict"]), tone=tone_of(quantity, row)),
    )
    return Row(title, cells, depth, nested=depth > 1, full=quantity.name)


def side_cell(quantity: Quantity, row: ComparedRow, side: str) -> Cell:
    """Write the value of a side, base or new; marked where it is a lower bound."""
    column, text = quantity.column, quantity.column.format(row[side])
    is_named = column.title.endswith(units.unit_of_heading(column.unit) or "-")  # as Tensor FLOP/s
    text = units.at_least(text) if row[f"{side}_lower_bound"] else text
    return Cell(text, sort_key(row[side]), unit=column.unit if is_named else "")


def tone_of(quantity: Quantity, row: ComparedRow) -> str:
    """Tell whether a change that is shown is better or worse; empty where it is neither, or not shown."""
    if not quantity.better or not is_shown(row):
        return ""
    return "better" if row["verdict"] == quantity.better else "worse"


def _strip(quantity: Quantity, row: ComparedRow) -> Strip | None:
    values = [float(row[f"{quantity.change}{end}"]) for end in ("_low", "", "_high")]
    if any(math.isnan(value) for value in values) or not (quantity.in_points or values[0] > 0):
        return None
    shares = [
        value / _STRIP_POINTS if quantity.in_points else math.log(value) / math.log(_STRIP_RATIO) for value in values
    ]
    low, middle, high = (round(50 + 50 * min(max(share, -1.0), 1.0), 2) for share in shares)
    return Strip(low, round(high - low, 2), middle)


MEAN_ALONE = "m"  # marks a change that the mean alone shows
NOTE = (
    "The change, a ratio or a difference in points, over baseline → new; medians per instance. ~ marks changes that "
    "are inconclusive, m those that only the mean shows."
)
_SHOWN_RANGES = (  # on a page, before its reader has chosen; by what conditions call them
    *("time", "gpu_idle", "kernel_count", "tensor_active", "tensor_kernel_share"),
)
_PLACE = ["domain", "path", "depth"]


def list_range_changes(comparison: Comparison, rows: pd.DataFrame, gpu: int, most: int | None = None) -> Table:
    """List the change of each quantity that is known of ranges; where space is scarce only time and Tensor Active."""
    rows = rows[rows["gpu"] == gpu]
    places = rows.drop_duplicates(_PLACE)
    time = rows[rows["quantity"] == "host_ns"].set_index(_PLACE)[["base", "new"]].max(axis=1)
    length = pd.Series(time.reindex(pd.MultiIndex.from_frame(places[_PLACE])).to_numpy(), index=places.index)
    kept = places if most is None else keep_longest(places, length, most)
    figures = rows.set_index([*_PLACE, "quantity"]).to_dict("index")
    brief = ("host_ns" if comparison.base.first.window == "host" else "gpu_window_ns", HEADLINE.name)
    names = set(rows["quantity"][rows[["base", "new"]].notna().any(axis=1)])
    listed = [quantity for quantity in LISTED_QUANTITIES if quantity.name in (*names, *brief) and not quantity.of_steps]
    cells = [
        tuple(_range_cell(quantity, figures[*place, quantity.name]) for quantity in listed)
        for place in kept[_PLACE].itertuples(index=False, name=None)
    ]
    return Table(
        name=f"ranges-{gpu}",
        title="",
        first="Range",
        headings=tuple(_range_heading(quantity, quantity.name in brief) for quantity in listed),
        rows=tuple(
            replace(row, full=one_line(path, LONGEST_NAME))
            for row, path in zip(path_rows(kept, cells, _tags(kept)), kept["path"], strict=True)
        ),
        hidden=len(places) - len(kept),
        more=LEFT_OUT.format(command="compare --all"),
        gpu=gpu,
        search="part of a path",
    )


def _range_heading(quantity: Quantity, brief: bool) -> Heading:
    return Heading.of(
        quantity.column,
        brief=brief,
        on_page=quantity.gate_name in _SHOWN_RANGES,
        spare=int(quantity is HEADLINE),
        before=("base", "new"),
        value="change" if quantity.in_points else "ratio",
        columns=tuple(f"{quantity.name}_{figure}" for figure in _figures(quantity)),
    )


def _figures(quantity: Quantity) -> tuple[str, ...]:
    return ("base", "new", quantity.change, f"{quantity.change}_low", f"{quantity.change}_high", "verdict")


def _range_cell(quantity: Quantity, row: Mapping[Any, Any]) -> Cell:
    *numbers, verdict = _figures(quantity)
    return Cell.change(
        row[quantity.change],
        quantity.in_points,
        before=tuple(side_cell(quantity, row, side).text for side in ("base", "new")),
        mark=change_mark(row),
        tone=tone_of(quantity, row),
        values=(*(sort_key(row[name]) for name in numbers), row[verdict]),
    )


def change_mark(row: ComparedRow) -> str:
    """Choose the mark behind a change: none where it is shown, or not judged."""
    if row["verdict"] != INCONCLUSIVE:
        return ""
    return MEAN_ALONE if row["mean_verdict"] in (HIGHER, LOWER) else INCONCLUSIVE


def _tags(places: pd.DataFrame) -> list[str]:
    counts = zip(places["base_instance_count"], places["new_instance_count"], strict=True)
    return [
        "only in the baseline" if math.isnan(new) else "only in the new" if math.isnan(base) else ""
        for base, new in counts
    ]
