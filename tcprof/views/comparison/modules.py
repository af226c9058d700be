"""The modules whose time changed."""

from collections.abc import Mapping
from typing import Any

from tcprof import units
from tcprof.analysis.modules.tree import ALL
from tcprof.comparison import Comparison
from tcprof.findings.compared.rows import iteration_name
from tcprof.findings.modules import are_resolved
from tcprof.frames import MODULE_CHANGES
from tcprof.untrusted import one_line
from tcprof.views.cells import heading, number_cell, sort_key
from tcprof.views.document import Cell, Heading, Row, Table
from tcprof.views.paths import LONGEST_NAME, keep_largest
from tcprof.views.recording.modules import ALL_KERNELS

MOST_MODULES = 20
_LEFT_OUT = "more modules are not in this table: those whose time changed least. JSON has all of them."
_SHORT = {
    "base_ns": "Time\nbase",
    "new_ns": "Time\nnew",
    "ratio": "Time\nratio",
    "base_tensor_active_pct": "Tensor Active\nbase",
    "new_tensor_active_pct": "Tensor Active\nnew",
}
MEANING = (
    "Sums over the kernels of each module, with all modules in it, of one typical recording of a side; * is all layers "
    "of a list together. These times have no interval: whether a change is more than chance is said of the ranges. "
    "Tensor Active is unknown where the samples do not resolve it."
)


def list_module_changes(
    comparison: Comparison, gpu: int, most: int | None = MOST_MODULES, number: int = 1, caption: str = ""
) -> Table:
    """The modules whose time per iteration changed most, each with what it lies in.

    Args:
        comparison: The comparison.
        gpu: The GPU.
        most: Modules to show; None for all.
        number: Number of the side among those compared with the baseline.
        caption: What it holds, for those who see it alone.
    """
    rows = comparison.modules[(comparison.modules["gpu"] == gpu) & (comparison.modules["phase"] == ALL)]
    above = dict(zip(rows["module_id"], rows["module"], strict=True))
    resolved = {f"{side}_resolved": are_resolved(rows, f"{side}_") for side in ("base", "new")}
    rows = rows.assign(path_id=rows["module_id"], above=rows["parent_id"].map(above), **resolved)
    kept = rows if most is None else keep_largest(rows, rows["difference_ns"].abs(), most)
    return Table(
        name=f"modules-{number}-{gpu}",
        title=f"modules, per {iteration_name(comparison)}",
        first="Module",
        headings=tuple(_heading(name) for name in ("difference_ns", *_SHORT)),
        rows=tuple(_row(row) for row in kept.to_dict("records")),
        hidden=len(rows) - len(kept),
        more=_LEFT_OUT,
        gpu=gpu,
        caption=caption,
        search="part of a module's path",
    )


def _heading(name: str) -> Heading:
    return heading(MODULE_CHANGES[name], short=_SHORT.get(name, ""), spare=int(name == "ratio"))


def _row(row: Mapping[Any, Any]) -> Row:
    path = str(row["module"])
    cells = {name: number_cell(row[name], MODULE_CHANGES[name]) for name in _SHORT}
    for side in ("base", "new"):
        active = f"{side}_tensor_active_pct"
        cells[active] = cells[active] if row[f"{side}_resolved"] else Cell(units.UNKNOWN)
    ratio = Cell(units.format_ratio(row["ratio"]), sort_key(row["ratio"]))
    difference = Cell(units.format_signed_ns(row["difference_ns"]), sort_key(row["difference_ns"]))
    return Row(
        name=one_line(path.removeprefix(f"{row['above']}."), LONGEST_NAME) or ALL_KERNELS,
        cells=(difference, *({**cells, "ratio": ratio}.values())),
        depth=int(row["depth"]),
        nested=row["depth"] > 1,
        full=one_line(path, LONGEST_NAME),
    )
