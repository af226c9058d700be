"""The modules whose time changed."""

from collections.abc import Mapping
from typing import Any

from tcprof import units
from tcprof.analysis.modules.tree import ALL
from tcprof.comparison import Comparison
from tcprof.comparison.statistics.verdicts import INCONCLUSIVE
from tcprof.findings.compared.verdict import iteration_name
from tcprof.findings.notes import are_resolved
from tcprof.frames import MODULE_CHANGES
from tcprof.untrusted import one_line
from tcprof.views.paths import LONGEST_NAME, keep_largest
from tcprof.views.recording.modules import ALL_KERNELS
from tcprof.views.tables import (
    Cell,
    Heading,
    Row,
    Table,
    change_cell,
    change_interval_cell,
    heading,
    number_cell,
    p_cell,
    signed_time_cell,
    sort_key,
    word_cell,
)

MOST_MODULES = 20
_SIDES, _UNKNOWN = ("base", "new"), Cell(units.UNKNOWN)
_LEFT_OUT = "more modules are not in this table: those whose time changed least. JSON has all of them."
SHORT_TITLES = {
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


def list_module_changes(comparison: Comparison, gpu: int, most: int | None = MOST_MODULES) -> Table:
    """The modules whose time per iteration changed most, each with what it lies in."""
    rows = comparison.modules[(comparison.modules["gpu"] == gpu) & (comparison.modules["phase"] == ALL)]
    above = dict(zip(rows["module_id"], rows["module"], strict=True))
    resolved = {f"{side}_resolved": are_resolved(rows, f"{side}_") for side in _SIDES}
    rows = rows.assign(path_id=rows["module_id"], above=rows["parent_id"].map(above), **resolved)
    kept = rows if most is None else keep_largest(rows, rows["difference_ns"].abs(), most)
    return Table(
        name=f"modules-{gpu}",
        title=f"modules, per {iteration_name(comparison)}",
        first="Module",
        headings=_HEADINGS,
        rows=tuple(_row(row) for row in kept.to_dict("records")),
        hidden=len(rows) - len(kept),
        more=_LEFT_OUT,
        gpu=gpu,
        search="part of a module's path",
    )


def _heading(name: str, spare: int = 0) -> Heading:
    return heading(MODULE_CHANGES[name], short=SHORT_TITLES.get(name, ""), spare=spare)


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
        cells=_cells(row),
        depth=int(row["depth"]),
        nested=row["depth"] > 1,
        full=one_line(path, LONGEST_NAME),
    )


def _cells(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    """In the order of the headings; Tensor Active is unknown as far as the samples do not resolve it."""
    known = [bool(row[f"{side}_resolved"]) for side in _SIDES]
    active = [
        number_cell(row[name], MODULE_CHANGES[name]) if is_known else _UNKNOWN
        for name, is_known in zip((f"{side}_tensor_active_pct" for side in _SIDES), known, strict=True)
    ]
    change, ends = (_UNKNOWN, _UNKNOWN)
    if all(known):
        change = change_cell(row["tensor_active_difference_pct"], True, mark=_mark(row["tensor_active_verdict"]))
        low, high = (row[end] for end in _ENDS["tensor_active_difference_pct"])
        ends = change_interval_cell(low, high, True)
    lowest, highest = (signed_time_cell(row[end]) for end in _ENDS["difference_ns"])
    interval = f"{lowest.text} to {highest.text}" if lowest.sort and highest.sort else units.UNKNOWN
    return (
        signed_time_cell(row["difference_ns"], mark=_mark(row["verdict"])),
        *(number_cell(row[f"{side}_ns"], MODULE_CHANGES[f"{side}_ns"]) for side in _SIDES),
        Cell(units.format_ratio(row["ratio"]), sort_key(row["ratio"])),
        change_interval_cell(row["ratio_low"], row["ratio_high"], False),
        *active,
        change,
        ends,
        Cell(interval, values=(lowest.sort, highest.sort)),
        p_cell(row["p_value"]),
        word_cell(row["verdict"]),
    )


def _mark(verdict: str) -> str:
    return verdict if verdict == INCONCLUSIVE else ""
