"""What the changes of the iterations' mean time and Tensor Active consist of."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.comparison.waterfall import TENSOR_ACTIVE, TIME, TOTAL
from tcprof.findings.compared.rows import iteration_name
from tcprof.views.cells import sort_key
from tcprof.views.document import BECAME, Cell, Heading, Row, Table


def list_parts(comparison: Comparison, gpu: int, number: int = 1) -> list[Table]:
    """A table of the parts of time, and one of those of Tensor Active; their sum comes last.

    Args:
        number: Number of the side among those compared with the baseline.
    """
    found = comparison.waterfall[comparison.waterfall["gpu"] == gpu]
    unit, tables = iteration_name(comparison), []
    time = found[found["quantity"] == TIME]
    if len(time):
        headings = tuple(Heading(title, columns=(f"{title}_ns",)) for title in ("base", "new", "change"))
        rows = [_time_row(row) for row in time.to_dict("records") if row["base"] or row["new"]]
        tables.append(_table(f"parts-{TIME}-{number}-{gpu}", f"where the mean {unit} goes", headings, rows, gpu))
    active = found[found["quantity"] == TENSOR_ACTIVE]
    if len(active):
        rows = [
            Row(part_label(row), (Cell(units.format_change(row["change"], True), sort_key(row["change"])),))
            for row in active.to_dict("records")
        ]
        first = "why the mean Tensor Active changed"
        headings = (Heading("change", columns=("change_points",)),)
        tables.append(_table(f"parts-{TENSOR_ACTIVE}-{number}-{gpu}", first, headings, rows, gpu))
    return tables


def _time_row(row: Mapping[Any, Any]) -> Row:
    values = [Cell(units.format_ns(row[side]), sort_key(row[side])) for side in ("base", "new")]
    return Row(part_label(row), (*values, Cell(units.format_signed_ns(row["change"]), sort_key(row["change"]))))


def _table(name: str, first: str, headings: tuple[Heading, ...], rows: list[Row], gpu: int) -> Table:
    """A table of parts, of which the first is their sum."""
    return Table(name, "", first, headings, (*rows[1:], *rows[:1]), gpu=gpu, total=True)


def part_label(row: Mapping[Any, Any] | pd.Series) -> str:
    """A part of a waterfall by name: "renamed kernels: FP32 products → FP16 tensor kernels"."""
    if row["part"] == TOTAL:
        return "sum"
    classes = dict.fromkeys(row[name] for name in ("base_class", "new_class") if row[name])
    return f"{row['part']}: {BECAME.join(classes)}" if classes else str(row["part"])
