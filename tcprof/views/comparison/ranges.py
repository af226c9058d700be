"""The changes of all ranges."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tcprof.comparison import Comparison
from tcprof.comparison.statistics.verdicts import HIGHER, INCONCLUSIVE, LOWER
from tcprof.findings.compared.rows import Row as ComparedRow
from tcprof.frames import HEADLINE, LISTED_QUANTITIES, Quantity
from tcprof.views.comparison.quantities import change_cell, side_cell, tone_of
from tcprof.views.paths import LEFT_OUT, keep_longest, path_rows
from tcprof.views.tables import Cell, Heading, Table, heading, sort_key

MEAN_ALONE = "m"  # marks a change that the mean alone shows
NOTE = (
    "The change, a ratio or a difference in points, over baseline → new; medians per instance. ~ marks changes that "
    "are inconclusive, m those that only the mean shows. Headings sort; a third click brings the tree back."
)
_SHOWN = (  # on a page, before its reader has chosen; by what conditions call them
    *("time", "host_time", "gpu_idle", "kernel_count"),
    *("tensor_active", "tensor_kernel_share"),
)
_PLACE = ["domain", "path", "depth"]


def list_range_changes(
    comparison: Comparison, rows: pd.DataFrame, gpu: int, most: int | None = None, number: int = 1, caption: str = ""
) -> Table:
    """The change of each quantity that is known of a range of a GPU; where space is scarce only time and Tensor Active.

    Args:
        rows: Rows of ``comparison.rows`` to list.
        most: Ranges to show, those that took longest; None for all.
        number: Number of the side among those compared with the baseline.
        caption: What it holds, for those who see it alone.
    """
    rows = rows[rows["gpu"] == gpu]
    places = rows.drop_duplicates(_PLACE)
    time = rows[rows["quantity"] == "host_ns"].set_index(_PLACE)[["base", "new"]].max(axis=1)
    length = pd.Series(time.reindex(pd.MultiIndex.from_frame(places[_PLACE])).to_numpy(), index=places.index)
    kept = places if most is None else keep_longest(places, length, most)
    figures = rows.set_index([*_PLACE, "quantity"]).to_dict("index")
    brief = ("host_ns" if comparison.base.first.window == "host" else "gpu_window_ns", HEADLINE.name)
    known = set(rows["quantity"][rows[["base", "new"]].notna().any(axis=1)])
    listed = [quantity for quantity in LISTED_QUANTITIES if quantity.name in (*known, *brief)]
    cells = [
        tuple(_cell(quantity, figures[*place, quantity.name]) for quantity in listed)
        for place in kept[_PLACE].itertuples(index=False, name=None)
    ]
    return Table(
        name=f"ranges-{number}-{gpu}",
        title="",
        first="Range",
        headings=tuple(_heading(quantity, quantity.name in brief) for quantity in listed),
        rows=path_rows(kept, cells, _tags(kept)),
        hidden=len(places) - len(kept),
        more=LEFT_OUT.format(command="compare --limit 0"),
        gpu=gpu,
        caption=caption,
        search="part of a path",
    )


def _heading(quantity: Quantity, brief: bool) -> Heading:
    return heading(
        quantity.column,
        brief=brief,
        shown=quantity.gate_name in _SHOWN,
        spare=int(quantity is HEADLINE),
        before=("base", "new"),
        value="change" if quantity.in_points else "ratio",
        columns=tuple(f"{quantity.name}_{figure}" for figure in _figures(quantity)),
    )


def _figures(quantity: Quantity) -> tuple[str, ...]:
    """What a file has of a quantity."""
    return ("base", "new", quantity.change, f"{quantity.change}_low", f"{quantity.change}_high", "verdict")


def _cell(quantity: Quantity, row: Mapping[Any, Any]) -> Cell:
    *numbers, verdict = _figures(quantity)
    return change_cell(
        quantity,
        row,
        before=tuple(side_cell(quantity, row, side).text for side in ("base", "new")),
        mark=change_mark(row),
        tone=tone_of(quantity, row),
        values=(*(sort_key(row[name]) for name in numbers), row[verdict]),
    )


def change_mark(row: ComparedRow) -> str:
    """What follows a change: nothing where it is shown, or not judged."""
    if row["verdict"] != INCONCLUSIVE:
        return ""
    return MEAN_ALONE if row["mean_verdict"] in (HIGHER, LOWER) else INCONCLUSIVE


def _tags(places: pd.DataFrame) -> list[str]:
    """A remark on ranges that one side lacks."""
    counts = zip(places["base_instance_count"], places["new_instance_count"], strict=True)
    return [
        "only in the baseline" if math.isnan(new) else "only in the new" if math.isnan(base) else ""
        for base, new in counts
    ]
