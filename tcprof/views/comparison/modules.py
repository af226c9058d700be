"""The modules whose time changed."""

from collections.abc import Mapping
from typing import Any

from tcprof import units
from tcprof.analysis.modules.tree import ALL
from tcprof.comparison import Comparison
from tcprof.comparison.statistics.verdicts import INCONCLUSIVE
from tcprof.findings.compared.rows import iteration_name
from tcprof.findings.modules import are_resolved
from tcprof.frames import MODULE_CHANGES
from tcprof.untrusted import one_line
from tcprof.views.comparison.quantities import format_p
from tcprof.views.paths import LONGEST_NAME, keep_largest
from tcprof.views.recording.modules import ALL_KERNELS
from tcprof.views.tables import Cell, Heading, Row, Table, heading, number_cell, sort_key, word_cell

MOST_MODULES = 20
_LEFT_OUT = "more modules are not in this table: those whose time changed least. JSON has all of them."
_SHORT = {
    "base_ns": "Time\nbase",
    "new_ns": "Time\nnew",
    "ratio": "Time\nratio",
    "base_tensor_active_pct": "Tensor Active\nbase",
    "new_tensor_active_pct": "Tensor Active\nnew",
    "tensor_active_difference_pct": "Tensor Active\nchange",
}
_ENDS = {
    "ratio": ("ratio_low", "ratio_high"),
    "difference_ns": ("difference_low_ns", "difference_high_ns"),
    "tensor_active_difference_pct": ("tensor_active_difference_low_pct", "tensor_active_difference_high_pct"),
}
MEANING = (
    "Means per iteration over the kernels of each module, with all modules in it; * is all layers of a list together. "
    "~ marks changes that are inconclusive. The interval of a change of Tensor Active has that of the fit in it; where "
    "the samples do not resolve it, Tensor Active is unknown."
)


def list_module_changes(
    comparison: Comparison, gpu: int, most: int | None = MOST_MODULES, number: int = 1, caption: str = ""
) -> Table:
    """The modules whose time per iteration changed most, each with what it lies in.

    Args:
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
        headings=_HEADINGS,
        rows=tuple(_row(row) for row in kept.to_dict("records")),
        hidden=len(rows) - len(kept),
        more=_LEFT_OUT,
        gpu=gpu,
        caption=caption,
        search="part of a module's path",
    )


def _heading(name: str, spare: int = 0) -> Heading:
    return heading(MODULE_CHANGES[name], short=_SHORT.get(name, ""), spare=spare)


def _interval_heading(name: str, **changes: Any) -> Heading:
    column = MODULE_CHANGES[name]
    return Heading(f"{column.title}: 95 % interval", column.meaning, columns=_ENDS[name], **changes)


_HEADINGS = (
    _heading("difference_ns"),
    _heading("base_ns"),
    _heading("new_ns"),
    _heading("ratio"),
    _interval_heading("ratio", spare=2, short="Time\n95 % interval"),
    _heading("base_tensor_active_pct", spare=4),
    _heading("new_tensor_active_pct", spare=3),
    _heading("tensor_active_difference_pct", spare=1),
    _interval_heading("tensor_active_difference_pct", brief=False),
    _interval_heading("difference_ns", brief=False),
    heading(MODULE_CHANGES["p_value"], title="p", brief=False),
    heading(MODULE_CHANGES["verdict"], brief=False),
)


def _row(row: Mapping[Any, Any]) -> Row:
    path = str(row["module"])
    return Row(
        name=one_line(path.removeprefix(f"{row['above']}."), LONGEST_NAME) or ALL_KERNELS,
        cells=(*_time_cells(row), *_tensor_cells(row), *_judged_cells(row)),
        depth=int(row["depth"]),
        nested=row["depth"] > 1,
        full=one_line(path, LONGEST_NAME),
    )


def _time_cells(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    difference, ratio = row["difference_ns"], row["ratio"]
    return (
        Cell(units.format_signed_ns(difference), sort_key(difference), mark=_mark(row["verdict"])),
        number_cell(row["base_ns"], MODULE_CHANGES["base_ns"]),
        number_cell(row["new_ns"], MODULE_CHANGES["new_ns"]),
        Cell(units.format_ratio(ratio), sort_key(ratio)),
        _interval_cell(row, "ratio", units.format_change_interval(row["ratio_low"], row["ratio_high"], False)),
    )


def _tensor_cells(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    """Tensor Active of both sides, and its change, as far as the samples resolve them."""
    sides = ("base", "new")
    known = [bool(row[f"{side}_resolved"]) for side in sides]
    names = [f"{side}_tensor_active_pct" for side in sides]
    change, unknown = row["tensor_active_difference_pct"], Cell(units.UNKNOWN)
    low, high = (row[name] for name in _ENDS["tensor_active_difference_pct"])
    interval = units.format_change_interval(low, high, True)
    return (
        *(
            number_cell(row[name], MODULE_CHANGES[name]) if is_known else unknown
            for name, is_known in zip(names, known, strict=True)
        ),
        Cell(units.format_change(change, True), sort_key(change), mark=_mark(row["tensor_active_verdict"]))
        if all(known)
        else unknown,
        _interval_cell(row, "tensor_active_difference_pct", interval) if all(known) else unknown,
    )


def _judged_cells(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    ends = [units.format_signed_ns(row[name]) for name in _ENDS["difference_ns"]]
    interval = units.UNKNOWN if units.UNKNOWN in ends else " to ".join(ends)
    return (
        _interval_cell(row, "difference_ns", interval),
        Cell(format_p(row["p_value"]), sort_key(row["p_value"])),
        word_cell(row["verdict"]),
    )


def _interval_cell(row: Mapping[Any, Any], name: str, text: str) -> Cell:
    return Cell(text, values=tuple(sort_key(row[end]) for end in _ENDS[name]))


def _mark(verdict: str) -> str:
    return verdict if verdict == INCONCLUSIVE else ""
