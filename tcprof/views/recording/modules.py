"""The modules of a network: what the kernels of each did, in the forward pass and in the backward pass."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.modules.folding import fold_layers, list_alike
from tcprof.analysis.modules.tree import ALL
from tcprof.analysis.ranges.paths import tree_order
from tcprof.annotate.steps import BACKWARD, FORWARD
from tcprof.findings import Findings, describe_kernel_order, describe_warm_up, why_no_kernels
from tcprof.findings.modules import (
    UNRESOLVED,
    are_resolved,
    describe_homes,
    describe_modules,
    describe_useful,
    has_useful,
)
from tcprof.findings.notes import as_sentence, describe_peaks
from tcprof.frames import MODULES
from tcprof.untrusted import one_line
from tcprof.views import ROWS_SHOWN, Order
from tcprof.views.document import Document, Notes
from tcprof.views.paths import MOST_ROWS, keep_largest
from tcprof.views.recording.facts import describe_recording, document_data, gpu_title, gpu_title_of_several
from tcprof.views.recording.kernels import describe_fit
from tcprof.views.tables import Cell, Heading, Row, Table, column_cell, heading, interval_cell, number_cell, time_cell

_SORTED_BY = {Order.CALLS: "", Order.TIME: "kernel_ns", Order.LOST: "lost_ns"}
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_PER_PHASE = (FORWARD, BACKWARD)
_USEFUL = {"useful_flop": 5, "tensor_flop": 4, "useful_pct": 1}  # which of them leave a narrow terminal first
_ONLY_USEFUL = {"useful_flop": 1}  # where it is not known what was executed
# On a page, before its reader has chosen.
_HIDDEN = frozenset(
    ("useful_flop", "tensor_flop", *(f"{phase}_kernel_ns" for phase in _PER_PHASE), *_ACTIVE, "hfu_pct")
)
_HIDDEN |= {"mfu_pct", "uncovered_cycles_pct", "kernel_count"}
ALL_KERNELS = "all kernels"  # what the row without a module is called
_LEFT_OUT = (
    "more modules are not in this table: those with the least time. 'tcprof modules --limit 0' lists all of them."
)
NONE = (
    "The recording names no module.",
    "Record a PyTorch program with 'tcprof profile', which names them, or give NVTX ranges the modules' paths.",
)


def view_modules(
    analysis: Analysis,
    findings: Findings,
    rows: pd.DataFrame,
    limit: int | None = ROWS_SHOWN,
    order: Order = Order.CALLS,
    fold: bool = True,
) -> Document:
    """The modules of a recording.

    Args:
        rows: Rows of ``analysis.modules`` to list.
        limit: Rows to show in tables, those with most time and what these lie in; None for all.
        order: Of modules that lie beside each other.
        fold: Whether layers that are alike are one row.
    """
    base = tuple(text for text in (describe_kernel_order(analysis), describe_warm_up(analysis)) if text)
    missing = why_no_kernels(analysis)
    useful = (*describe_useful(analysis), *describe_peaks(analysis)) if has_useful(analysis) else ()
    notes = (describe_modules(analysis), *describe_homes(analysis), *useful, *base)
    return Document(
        kind="modules",
        parts=(
            Notes((describe_recording(analysis),)),
            Notes((describe_fit(analysis), *notes)),
            *list_modules(analysis, rows, limit, order, fold),
        ),
        faults=findings.faults,
        warnings=(*findings.warnings, *((as_sentence(missing),) if missing else ())),
        base=base,
        data=document_data(analysis, findings, {"steps": _steps(analysis), "rows": rows}),
        rows=rows,
    )


def list_modules(
    analysis: Analysis, rows: pd.DataFrame, limit: int | None = None, order: Order = Order.CALLS, fold: bool = True
) -> list[Table]:
    """Modules, one table for each GPU; what the arguments are is said at ``view_modules``."""
    tables = []
    whole = analysis.modules[(analysis.modules["depth"] == 0) & (analysis.modules["phase"] == ALL)]
    wholes = dict(zip(whole["gpu"], whole["kernel_ns"], strict=True))
    for number, of_gpu in rows.groupby("gpu", sort=True):
        gpu = int(str(number))
        listed = _hang_up(of_gpu)
        found = fold_layers(listed) if fold else listed.assign(alike_count=1)
        alike = list_alike(listed) if fold else {}
        totals = found[found["phase"] == ALL].assign(path_id=lambda rows: rows["module_id"])
        tree = _sort(totals.set_index("module_id", drop=False), _SORTED_BY[order])
        kept = tree if limit is None else keep_largest(tree, tree["kernel_ns"], limit)
        steps = _steps(analysis)[gpu]
        useful = _useful_columns(analysis)
        tables.append(
            Table(
                name=f"modules-{gpu}",
                title=gpu_title_of_several(analysis, gpu),
                first="Module",
                headings=_headings(steps, useful),
                rows=tuple(_rows(found, kept, wholes[gpu], max(steps, 1), tuple(useful), alike)),
                hidden=len(tree) - len(kept),
                more=_LEFT_OUT,
                gpu=gpu,
                caption=f"Modules on {gpu_title(analysis, gpu)}",
                items="modules",
                search="part of a module's path",
            )
        )
    return tables


def cut_modules(analysis: Analysis) -> list[Table]:
    """The modules for a page: of very many those with most time."""
    return list_modules(analysis, analysis.modules, MOST_ROWS // max(analysis.modules["gpu"].nunique(), 1))


def _hang_up(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, where those whose parent is not among them are roots, with their whole path."""
    cut = ~rows["parent_id"].isin(rows["module_id"]) & (rows["parent_id"] >= 0)
    name, parent = rows["name"].where(~cut, rows["module"]), rows["parent_id"].where(~cut, -1)
    depths = {-1: 0}
    for module, around in zip(rows["module_id"], parent, strict=True):  # each comes after what it lies in
        depths[module] = depths[around] + 1 if module >= 0 else 0
    return rows.assign(parent_id=parent, name=name, depth=rows["module_id"].map(depths))


def _steps(analysis: Analysis) -> dict[int, int]:
    """How many iterations the figures of each GPU are over; 0 where nothing iterates."""
    counts = analysis.modules.drop_duplicates("gpu")
    return {int(gpu): int(count) for gpu, count in zip(counts["gpu"], counts["iteration_count"], strict=True)}


def _sort(tree: pd.DataFrame, column: str) -> pd.DataFrame:
    """The modules in the order of the tree, those beside each other by a column, largest first; all kernels first."""
    sizes = -tree[column].fillna(-1).to_numpy(float) if column else np.arange(len(tree), dtype=float)
    row = {module: place for place, module in enumerate(tree.index) if module >= 0}
    keys = [(module >= 0, size) for module, size in zip(tree.index, sizes, strict=True)]
    return tree.iloc[tree_order([row.get(parent, -1) for parent in tree["parent_id"]], keys)]


def _useful_columns(analysis: Analysis) -> Mapping[str, int]:
    """Columns of useful FLOP that a recording has; where a terminal is narrow, those with the highest number leave."""
    if not has_useful(analysis):
        return {}
    return _USEFUL if analysis.modules["useful_pct"].notna().any() else _ONLY_USEFUL


def _headings(steps: int, useful: Mapping[str, int]) -> tuple[Heading, ...]:
    time = "Time per step" if steps else MODULES["kernel_ns"].title
    each = "over the iterations without warm-up, divided by their number" if steps else "over the recording"
    per_phase = [
        replace(
            heading(MODULES[name], brief=name == _ACTIVE[0]),
            title=f"{phase.capitalize()}: {MODULES[name].title}",
            short=f"Tensor Active\n{phase}" if name == _ACTIVE[0] else "",
            columns=(f"{phase}_{name}",),
        )
        for name in (_ACTIVE[0], "kernel_ns")
        for phase in _PER_PHASE
    ]
    found = (
        heading(
            MODULES["kernel_ns"],
            title=time,
            meaning=f"{MODULES['kernel_ns'].meaning.rstrip('.')}, {each}.",
            columns=("kernel_ns", "share_pct"),
            after=("Share %",),
        ),
        *per_phase[:2],
        heading(MODULES["tensor_tflops"], spare=3),
        heading(MODULES["tensor_peak_pct"], spare=2),
        *(heading(MODULES[name], spare=spare) for name, spare in useful.items()),
        heading(MODULES["lost_ns"], short="Lost", spare=1),
        *per_phase[2:],
        heading(MODULES[_ACTIVE[0]], brief=False, columns=_ACTIVE, after=("95 % interval",)),
        heading(MODULES["tensor_kernel_share_pct"], brief=False),
        heading(MODULES["hfu_pct"], brief=False),
        *((heading(MODULES["mfu_pct"], brief=False),) if useful else ()),
        heading(MODULES["uncovered_cycles_pct"], brief=False),
        heading(MODULES["kernel_count"], brief=False),
    )
    return tuple(replace(each, shown=not _HIDDEN.intersection(each.columns)) for each in found)


def _rows(
    found: pd.DataFrame,
    kept: pd.DataFrame,
    whole_ns: float,
    steps: int,
    useful: tuple[str, ...],
    alike: Mapping[int, tuple[int, ...]],
) -> list[Row]:
    """The rows of a table; ``alike`` has the modules that a row stands for, by its number, if some are folded."""
    kept = kept.assign(resolved=are_resolved(kept))
    found = found.assign(resolved=are_resolved(found))
    by_phase = {phase: found[found["phase"] == phase].set_index("module_id").to_dict("index") for phase in _PER_PHASE}
    rows = []
    for module in kept.to_dict("records"):
        phases = [by_phase[phase].get(module["module_id"], {}) for phase in _PER_PHASE]
        name = one_line(_name(module, kept), 160)
        members = alike.get(module["module_id"], (module["module_id"],))
        count = f"{units.format_count(module['alike_count'])} alike" if _is_folded(module, kept) else ""
        rows.append(
            Row(
                name=f"{name} ({count})" if count else name,
                cells=_cells(module, phases, whole_ns / steps, steps, useful),
                depth=int(module["depth"]),
                nested=module["parent_id"] >= 0,
                tag=_spread(module, steps) if count else "",
                full=one_line(module["module"], 600),
                item=int(members[0]),
                alike=members if len(members) > 1 else (),
            )
        )
    return rows


def _name(module: Mapping[Any, Any], kept: pd.DataFrame) -> str:
    """What a row is called below the one that it lies in; a number alone would not say of what."""
    if module["depth"] == 0:
        return ALL_KERNELS
    name = str(module["name"])
    around = kept["name"].get(module["parent_id"], "") if module["parent_id"] >= 0 else ""
    return f"{around}.{name}" if name[:1].isdigit() and around else name


def _is_folded(module: Mapping[Any, Any], kept: pd.DataFrame) -> bool:
    """Whether a row is where several modules are folded: it stands for more than the one that it lies in."""
    around = kept["alike_count"].get(module["parent_id"], 1)
    return bool(module["alike_count"] > around)


def _spread(module: Mapping[Any, Any], steps: int) -> str:
    low, high = (units.format_ns(module[name] / steps) for name in ("shortest_ns", "longest_ns"))
    return f"each {low}" if low == high else f"each {low} to {high}"


def _cells(
    module: Mapping[Any, Any], phases: list[Mapping[Any, Any]], whole_ns: float, steps: int, useful: tuple[str, ...]
) -> tuple[Cell, ...]:
    column = MODULES[_ACTIVE[0]]
    active = [
        mark_unresolved(number_cell(phase.get(column.name, np.nan), column), phase.get("resolved", True))
        for phase in phases
    ]
    rates = (
        column_cell(module, MODULES["tensor_tflops"]),
        column_cell(module, MODULES["tensor_peak_pct"]),
        *(column_cell(_per_step(module, name, steps), MODULES[name]) for name in useful),
        number_cell(module["lost_ns"] / steps, MODULES["lost_ns"]),
    )
    by_sizes = [name == "useful_flop" for name in ("", "", *useful, "")]  # which does not rest on Tensor Active
    times = [number_cell(phase.get("kernel_ns", np.nan) / steps, MODULES["kernel_ns"]) for phase in phases]
    return (
        time_cell(module["kernel_ns"] / steps, whole_ns),
        *active,
        *(mark_unresolved(cell, module["resolved"] or is_sure) for cell, is_sure in zip(rates, by_sizes, strict=True)),
        *times,
        interval_cell(*(module[name] for name in _ACTIVE)),
        column_cell(module, MODULES["tensor_kernel_share_pct"]),
        column_cell(module, MODULES["hfu_pct"]),
        *((column_cell(module, MODULES["mfu_pct"]),) if useful else ()),
        column_cell(module, MODULES["uncovered_cycles_pct"]),
        number_cell(module["kernel_count"] / steps, MODULES["kernel_count"]),
    )


def _per_step(module: Mapping[Any, Any], name: str, steps: int) -> Mapping[Any, Any]:
    """A module with a sum over all steps divided by these; a share is the same in each."""
    return module if MODULES[name].unit == "pct" else {**module, name: module[name] / steps}


def mark_unresolved(cell: Cell, is_resolved: bool) -> Cell:
    """A cell that rests on Tensor Active, marked where that is known, but not resolved."""
    return replace(cell, mark=UNRESOLVED) if cell.sort and not is_resolved else cell
