"""The modules of a network: what the kernels of each did, in the forward pass and in the backward pass."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.folding import fold_layers
from tcprof.analysis.modules.tree import ALL
from tcprof.analysis.ranges.nesting import tree_order
from tcprof.annotate.steps import BACKWARD, FORWARD
from tcprof.findings import Findings, describe_kernel_order, describe_warm_up, why_no_kernels
from tcprof.findings.notes import (
    UNRESOLVED,
    are_resolved,
    as_sentence,
    describe_module_coverage,
    describe_modules,
    describe_peaks,
    describe_unresolved,
    describe_useful,
    has_useful,
)
from tcprof.frames import MODULES
from tcprof.untrusted import one_line
from tcprof.views import ROWS_SHOWN, Order
from tcprof.views.document import Document, Notes, Part
from tcprof.views.paths import LEFT_OUT, keep_largest
from tcprof.views.recording import head, list_notes, make_document, make_table, split_by_gpu
from tcprof.views.recording.kernels import describe_fit, why_unfitted
from tcprof.views.tables import Cell, Heading, Row, Table

_SORTED_BY = {Order.CALLS: "", Order.TIME: "kernel_ns", Order.LOST: "lost_ns"}
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_PER_PHASE = (FORWARD, BACKWARD)
# By how early they leave a narrow terminal.
_RATES = {"tensor_tflops": 3, "tensor_peak_pct": 2}
_USEFUL = {"useful_flop": 5, "tensor_flop": 4, "useful_pct": 1}
_FURTHER = ("tensor_kernel_share_pct", "hfu_pct", "mfu_pct", "uncovered_cycles_pct", "kernel_count")
_SUMS = ("useful_flop", "tensor_flop", "lost_ns", "kernel_count")  # over all steps
_ONLY_USEFUL = {"useful_flop": 1}  # where it is not known what was executed
# On a page, before its reader has chosen.
_HIDDEN = {"useful_flop", "tensor_flop", "hfu_pct", "mfu_pct", "uncovered_cycles_pct", "lost_ns"}
_HIDDEN |= {"tensor_kernel_share_pct", *(f"{phase}_kernel_ns" for phase in _PER_PHASE)}
ALL_KERNELS = "all kernels"  # what the row without a module is called
_LEFT_OUT = LEFT_OUT.format(command="modules --limit 0")
NONE = "The recording names no module."


def view_modules(
    analysis: Analysis,
    findings: Findings,
    rows: pd.DataFrame,
    limit: int | None = ROWS_SHOWN,
    order: Order = Order.CALLS,
    fold: bool = True,
    with_notes: bool = True,
) -> Document:
    """Show ``limit`` modules with the most time and what these lie in; with notes also what the figures are over."""
    base = tuple(text for text in (describe_kernel_order(analysis), describe_warm_up(analysis)) if text)
    missing = why_no_kernels(analysis)
    useful = (*describe_useful(analysis), *describe_peaks(analysis)) if has_useful(analysis) else ()
    unfitted = why_unfitted(analysis)
    notes = (describe_modules(analysis), *describe_module_coverage(analysis), *useful, *base)
    notes = notes if unfitted else (describe_fit(analysis), *notes)
    warnings = (*findings.warnings, *((as_sentence(missing),) if missing else ()))
    parts: tuple[Part, ...] = (
        head(analysis, findings),
        Notes((unfitted,) if unfitted else ()),
        *list_modules(analysis, rows, limit, order, fold),
        list_notes(findings.remarks, notes, with_notes),
    )
    frames = {"steps": _steps(analysis), "rows": rows}
    return make_document(analysis, findings, "modules", parts, frames, warnings=warnings, base=base, rows=rows)


def list_modules(
    analysis: Analysis, rows: pd.DataFrame, limit: int | None = None, order: Order = Order.CALLS, fold: bool = True
) -> list[Table]:
    """List modules, one table for each GPU; what the arguments are is said at ``view_modules``."""
    tables = []
    whole = analysis.modules[(analysis.modules["depth"] == 0) & (analysis.modules["phase"] == ALL)]
    wholes = dict(zip(whole["gpu"], whole["kernel_ns"], strict=True))
    useful: Mapping[str, int] = {}
    if has_useful(analysis):
        useful = _USEFUL if analysis.modules["useful_pct"].notna().any() else _ONLY_USEFUL
    for gpu, gpu_rows in split_by_gpu(rows):
        listed = _promote_orphans(gpu_rows)
        modules, alike = fold_layers(listed) if fold else (listed.assign(alike_count=1), {})
        totals = modules[modules["phase"] == ALL].assign(path_id=lambda rows: rows["module_id"])
        tree = _sort(totals.set_index("module_id", drop=False), _SORTED_BY[order])
        kept = tree if limit is None else keep_largest(tree, tree["kernel_ns"], limit)
        steps = _steps(analysis)[gpu]
        lines = _rows(modules, kept, wholes[gpu], max(steps, 1), tuple(useful), alike)
        further = {"hidden": len(tree) - len(kept), "more": _LEFT_OUT, "search": "part of a module's path"}
        marks = describe_unresolved(modules[modules["module_id"].isin(kept["module_id"])])
        headings = _headings(steps, useful, marks)
        what = "Module (mean per step)" if steps else "Module (totals)"
        tables.append(make_table(analysis, gpu, "Modules on", what, headings, lines, **further))
    return tables


def _promote_orphans(rows: pd.DataFrame) -> pd.DataFrame:
    """Make those rows roots, with their whole path, whose parent is not among them."""
    cut = ~rows["parent_id"].isin(rows["module_id"]) & (rows["parent_id"] >= 0)
    name, parent = rows["name"].where(~cut, rows["module"]), rows["parent_id"].where(~cut, -1)
    depths = {-1: 0}
    for module, around in zip(rows["module_id"], parent, strict=True):  # each comes after what it lies in
        depths[module] = depths[around] + 1 if module >= 0 else 0
    return rows.assign(parent_id=parent, name=name, depth=rows["module_id"].map(depths))


def _steps(analysis: Analysis) -> dict[int, int]:
    """Count the steps that the figures of each GPU are over; 0 where nothing repeats."""
    counts: dict[int, int] = analysis.modules.drop_duplicates("gpu").set_index("gpu")["step_count"].to_dict()
    return counts


def _sort(tree: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sort the modules as a tree, those beside each other by a column, the largest first; all kernels first."""
    sizes = -tree[column].fillna(-1).to_numpy(float) if column else np.arange(len(tree), dtype=float)
    row = {module: place for place, module in enumerate(tree.index) if module >= 0}
    keys = [(module >= 0, size) for module, size in zip(tree.index, sizes, strict=True)]
    return tree.iloc[tree_order([row.get(parent, -1) for parent in tree["parent_id"]], keys)]


def _headings(steps: int, useful: Mapping[str, int], marks: str) -> tuple[Heading, ...]:
    base = "over the steps without warm-up, divided by their number" if steps else "over the recording"
    per_phase = [
        replace(
            Heading.of(MODULES[name], brief=name == _ACTIVE[0]),
            title=f"{phase.capitalize()}: {MODULES[name].title}" + " while its kernels ran" * (name == _ACTIVE[0]),
            short=f"Tensor Active\n{phase}" if name == _ACTIVE[0] else "",
            columns=(f"{phase}_{name}",),
            note=marks if name == _ACTIVE[0] else "",
        )
        for name in (_ACTIVE[0], "kernel_ns")
        for phase in _PER_PHASE
    ]
    headings = (
        Heading.of(
            MODULES["kernel_ns"],
            meaning=f"{MODULES['kernel_ns'].meaning.rstrip('.')}, {base}.",
            columns=("kernel_ns", "share_pct"),
            after=("Share %",),
        ),
        *per_phase[:2],
        *(Heading.of(MODULES[name], spare=spare) for name, spare in {**_RATES, **useful}.items()),
        Heading.of(MODULES["lost_ns"], short="Above ideal", spare=1),
        *per_phase[2:],
        Heading.of(MODULES[_ACTIVE[0]], brief=False, columns=_ACTIVE, after=("95 % interval",)),
        *(Heading.of(MODULES[name], brief=False) for name in _FURTHER if useful or name != "mfu_pct"),
    )
    return tuple(replace(heading, on_page=not _HIDDEN.intersection(heading.columns)) for heading in headings)


def _rows(
    modules: pd.DataFrame,
    kept: pd.DataFrame,
    whole_ns: float,
    steps: int,
    useful: tuple[str, ...],
    alike: Mapping[int, tuple[int, ...]],
) -> list[Row]:
    kept = kept.assign(resolved=are_resolved(kept))
    modules = modules.assign(resolved=are_resolved(modules))
    by_phase = {
        phase: modules[modules["phase"] == phase].set_index("module_id").to_dict("index") for phase in _PER_PHASE
    }
    rows = []
    for module in kept.to_dict("records"):
        phases = [by_phase[phase].get(module["module_id"], {}) for phase in _PER_PHASE]
        name = one_line(_name(module, kept), 160)
        members = alike.get(module["module_id"], (module["module_id"],))
        is_folded = module["alike_count"] > kept["alike_count"].get(module["parent_id"], 1)  # here, and not above
        spread = [units.format_ns(module[end] / steps) for end in ("shortest_ns", "longest_ns") if is_folded]
        rows.append(
            Row(
                name=f"{name} ({units.format_count(module['alike_count'])} alike)" if is_folded else name,
                cells=_cells(module, phases, whole_ns / steps, steps, useful),
                depth=int(module["depth"]),
                nested=module["parent_id"] >= 0,
                tag=f"each {' to '.join(dict.fromkeys(spread))}" if is_folded else "",
                full=one_line(module["module"], 600),
                item=int(members[0]),
                alike=members if len(members) > 1 else (),
            )
        )
    return rows


def _name(module: Mapping[Any, Any], kept: pd.DataFrame) -> str:
    """Name a row below the one that it lies in; a number alone would not say of what."""
    if module["depth"] == 0:
        return ALL_KERNELS
    name = str(module["name"])
    around = kept["name"].get(module["parent_id"], "") if module["parent_id"] >= 0 else ""
    return f"{around}.{name}" if name[:1].isdigit() and around else name


def _cells(
    module: Mapping[Any, Any], phases: list[Mapping[Any, Any]], whole_ns: float, steps: int, useful: tuple[str, ...]
) -> tuple[Cell, ...]:
    column = MODULES[_ACTIVE[0]]
    active = [
        mark_unresolved(Cell.number(phase.get(column.name, np.nan), column), phase.get("resolved", True))
        for phase in phases
    ]
    per_step = {**module, **{name: module[name] / steps for name in _SUMS}}
    rates = [  # useful FLOP alone do not rest on Tensor Active
        mark_unresolved(Cell.of_column(per_step, MODULES[name]), module["resolved"] or name == "useful_flop")
        for name in (*_RATES, *useful, "lost_ns")
    ]
    times = [Cell.number(phase.get("kernel_ns", np.nan) / steps, MODULES["kernel_ns"]) for phase in phases]
    return (
        Cell.share(module["kernel_ns"] / steps, whole_ns),
        *active,
        *rates,
        *times,
        Cell.interval(*(module[name] for name in _ACTIVE)),
        *(Cell.of_column(per_step, MODULES[name]) for name in _FURTHER if useful or name != "mfu_pct"),
    )


def mark_unresolved(cell: Cell, is_resolved: bool) -> Cell:
    """Mark a cell that rests on Tensor Active where that is known, but not resolved."""
    return replace(cell, mark=UNRESOLVED) if cell.sort and not is_resolved else cell
