"""The kernels of a recording: Tensor Active of each from the fit, and figures of where each lies."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels import verdicts
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.kernels.roofline import NO_BYTES, NO_FLOP, has_bytes, place_kernels
from tcprof.findings import Findings, describe_warm_up, why_no_kernels
from tcprof.findings.notes import as_sentence
from tcprof.findings.steps import are_graphs
from tcprof.frames import KERNELS
from tcprof.untrusted import one_line
from tcprof.views.document import Document, Figure, Notes, Part
from tcprof.views.figures import PlotlyFigure
from tcprof.views.figures.circles import MOST_KERNELS, describe_symbols, figure_memory_tensor, figure_tensor_time
from tcprof.views.figures.roofline import figure_roofline
from tcprof.views.paths import LEFT_OUT, LONGEST_NAME, without_repeats
from tcprof.views.recording import (
    SOURCE_MEANINGS,
    gpu_title_of_several,
    head,
    list_notes,
    make_document,
    make_table,
    split_by_gpu,
)
from tcprof.views.tables import Cell, Heading, Row, Table, sort_key

_TENSOR_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_FURTHER = (
    *("fit", "tensor_peak_pct", "hfu_pct", "tensor_cycles_per_launch", "dram_pct", "dram_bandwidth"),
    *("fma_pct", "l1_pct", "l2_pct", "sm_issue_pct"),
)
_COLUMNS: Mapping[str, Mapping[str, Any]] = {  # what matters at a glance comes first; settings of each one's heading
    "total_ns": {"brief_value": False, "columns": ("total_ns", "share_pct"), "after": ("Share %",)},
    "tensor_active_pct": {"columns": _TENSOR_ACTIVE, "after": ("95 %",)},
    "name_verdict": {"short": "Tensor\nCores?", "on_page": False},
    "bound": {"spare": 1, "short": "Bound"},
    "precision": {"spare": 2},
    "launch_count": {"spare": 4},
    "median_ns": {"spare": 5, "on_page": False},
    "tensor_tflops": {"spare": 6},
    "lost_ns": {"brief": False, "on_page": False},
    **{name: {"brief": False, "on_page": False} for name in _FURTHER},
    "path": {"brief": False},
}
_HEADINGS = tuple(Heading.of(KERNELS[name], **settings) for name, settings in _COLUMNS.items())
_LEFT_OUT = LEFT_OUT.format(command="kernels --limit 0")
SHORT_NAME = 64


_SHOWN_BY = {  # the column that shows a bound
    verdicts.MEMORY: "dram_pct",
    verdicts.L1: "l1_pct",
    verdicts.L2: "l2_pct",
    verdicts.TENSOR: "tensor_active_pct",
    verdicts.CUDA_CORES: "fma_pct",
    verdicts.ISSUE: "sm_issue_pct",
    verdicts.SMALL_GRID: "sm_active_pct",
    verdicts.LATENCY: "sm_issue_pct",
}


def describe_bound(kernel: Mapping[Any, Any]) -> str:
    """Say what bounds a kernel, with the share that shows it."""
    column = _SHOWN_BY.get(kernel["bound"], "")
    share = f" ({KERNELS[column].title} {units.format_pct(kernel[column])})" if column else ""
    return f"{kernel['bound']}{share if column and kernel[column] == kernel[column] else ''}"


def why_unfitted(analysis: Analysis) -> str:
    """Say why the figures of kernels are none, or estimates; empty where they are measured."""
    if missing := why_no_kernels(analysis):
        return as_sentence(missing)
    return "Estimated from kernel names: the recording has no samples." * (analysis.tensor_source == "none")


def describe_fit(analysis: Analysis) -> str:
    """Say what the figures of kernels are taken from, or why there are none."""
    if unfitted := why_unfitted(analysis):
        return unfitted
    source = SOURCE_MEANINGS[analysis.tensor_source]
    has_clock = bool(analysis.kernels["sm_cycles"].notna().any())
    return f"Tensor Active of each kernel's own {'cycles' if has_clock else 'time'}, fitted from {source}."


def view_kernels(
    analysis: Analysis,
    findings: Findings,
    rows: pd.DataFrame,
    by_path: bool = False,
    limit: int | None = None,
    with_notes: bool = True,
    without_tensor_cores: bool = False,
) -> Document:
    """Show ``limit`` rows of ``kernels`` or ``kernels_by_path`` of each GPU, or sum those that use no Tensor Core."""
    if without_tensor_cores:
        rows = rows[~(rows["tensor_kernel"] | verdicts.could_be_tensor(rows) | are_graphs(rows))]
    left_out = describe_warm_up(analysis) if by_path else ""
    base = (left_out,) if left_out else ()
    unfitted = why_unfitted(analysis)
    notes = list_notes(findings.remarks, (*(() if unfitted else (describe_fit(analysis),)), *base), with_notes)
    tables = list_kernels(analysis, rows, by_path, limit)
    lines = (*filter(None, [unfitted]), *(_sum_rows(analysis, rows) if without_tensor_cores else ()))
    parts: tuple[Part, ...] = (head(analysis, findings), Notes(lines), *tables, notes)
    return make_document(analysis, findings, "kernels", parts, {"rows": rows}, base=base, rows=rows)


def _sum_rows(analysis: Analysis, rows: pd.DataFrame) -> list[str]:
    """Say how long the kernels take that do not use the Tensor Cores, for each GPU."""
    lines = []
    for gpu, gpu_rows in rows.groupby("gpu"):
        title = gpu_title_of_several(int(str(gpu)), analysis)
        time, share = units.format_ns(gpu_rows["total_ns"].sum()), units.format_pct(gpu_rows["share_pct"].sum())
        count, total = len(gpu_rows), int((analysis.kernels["gpu"] == gpu).sum())
        lead = f"{title}: " if title else ""
        lines.append(
            f"{lead}{count:,} of {total:,} kernels do not use the Tensor Cores: {time}, {share} of kernel time."
        )
    return lines


def list_kernels(
    analysis: Analysis, rows: pd.DataFrame, by_path: bool = False, limit: int | None = None
) -> list[Table]:
    """List kernels, one table for each GPU, see ``view_kernels``."""
    tables = []
    for gpu, gpu_rows in split_by_gpu(rows):
        kept = gpu_rows.head(limit) if limit else gpu_rows
        listed = [_row(row, item) for item, row in zip(kept.index, kept.to_dict("records"), strict=True)]
        if by_path:  # the kernels of each path below a row with its name; that of the longest kernel comes first
            below: dict[str, list[Row]] = {}
            for path, row in zip(kept["path"], listed, strict=True):
                title = one_line(without_repeats(path), LONGEST_NAME) or "(no range)"
                below.setdefault(path, [Row(title, ())]).append(replace(row, depth=2, nested=True, tag=""))
            listed = [row for several in below.values() for row in several]
        further = {"hidden": len(gpu_rows) - len(kept), "more": _LEFT_OUT, "search": "part of a name"}
        tables.append(make_table(analysis, gpu, "Kernels on", "Kernel (totals)", _HEADINGS, listed, **further))
    return tables


def _row(row: Mapping[Any, Any], item: int) -> Row:
    share = row["share_pct"]
    cells = {
        name: Cell.word(one_line(row[name])) if KERNELS[name].is_text else Cell.number(row[name], KERNELS[name])
        for name in _COLUMNS
    }
    cells["total_ns"] = Cell.share(row["total_ns"], 100 * row["total_ns"] / share if share > 0 else np.nan)
    active, low, high = (row[name] for name in _TENSOR_ACTIVE)
    cells["tensor_active_pct"] = Cell.plus_minus(active, low, high)
    if verdicts.are_unknown(active, max(high - active, active - low)):
        cells["tensor_active_pct"] = replace(cells["tensor_active_pct"], after=(units.UNRESOLVED,))
    cells["precision"] = Cell.word(row["precision"].upper())
    fit, verdict = row["fit"], "yes" if row["name_verdict"] == verdicts.AGREES else row["name_verdict"]
    cells["name_verdict"] = Cell.word(
        fit if fit in verdicts.UNDECIDED else f"{verdict}, {verdicts.POOLED}" if fit == verdicts.POOLED else verdict
    )
    return Row(
        short_name(row["name"], LONGEST_NAME),
        tuple(cells.values()),
        tag=one_line(row["launch_geometry"]),
        full=one_line(f"{row['name']} {row['launch_geometry']}", LONGEST_NAME),
        short=short_name(row["name"], SHORT_NAME),
        item=item,
    )


def fitted_cell(value: float, fit: str) -> Cell:
    """Write a percentage of a kernel's fit: unknown where that did not resolve it, marked where it is a pool's."""
    text = units.UNKNOWN if fit in verdicts.UNDECIDED else units.format_pct(value)
    return Cell(f"{text} {verdicts.POOLED}" if fit == verdicts.POOLED else text, sort_key(value))


ROOFLINE, TENSOR_TIME, MEMORY_TENSOR = "roofline", "tensor-time", "memory-tensor"
# What can be drawn by name, each with what it shows.
FIGURES: Mapping[str, tuple[str, "Callable[[Analysis], PlotlyFigure]"]] = MappingProxyType(
    {
        ROOFLINE: ("Roofline: FLOP/s versus FLOP per byte of device memory, by kernel", figure_roofline),
        TENSOR_TIME: ("Share of the kernel time versus Tensor Active, by kernel", figure_tensor_time),
        MEMORY_TENSOR: ("Share of memory bandwidth versus Tensor Active, by kernel", figure_memory_tensor),
    }
)
NO_ROOFLINE = (
    "There is no roofline: the recording does not count bytes of device memory. 'tcprof profile' records them if the "
    "GPU counts them and the installed nsys accepts a metric-set file."
)
_CIRCLES = (
    "The area of a circle is the kernel's time. Click one to select it; a lasso or a box, from the figure's toolbar, "
    "filters the table of kernels."
)
_ROOFLINE = (
    "Horizontal lines are the dense peak of each precision, on Tensor Cores and on CUDA cores; the slope is the peak "
    "bandwidth of device memory (DRAM), so bytes that a cache provides do not count; if the L2 cache's bandwidth is "
    "known, a click on the legend shows its slope, and the kernels by their FLOP per L2 byte. Kernels far below both "
    "are limited by something else: a cache, latency, a small grid, other instructions. FLOP are those on the Tensor "
    "Cores or, for FP32 matrix multiplications on CUDA cores, those of the FMA pipe."
)
_TENSOR_TIME = (
    "Kernels at the top left take much of the time and hardly use the Tensor Cores. The colour shows what bounds them."
)
_MEMORY_TENSOR = (
    "Kernels at the top are limited by memory, and those at the right keep the Tensor Cores busy; kernels far from "
    "both are limited by something else."
)


def list_rooflines(analysis: Analysis) -> tuple[Figure, ...]:
    """List the roofline and time against Tensor Active, as far as they were recorded."""
    if analysis.kernels.empty:
        return ()
    shared = tuple(filter(None, (_CIRCLES, describe_symbols(analysis))))
    figures = []
    if has_bytes(analysis.kernels):
        figures.append(_figure(analysis, ROOFLINE, (_ROOFLINE, *shared, *describe_unplaced(analysis))))
    if analysis.tensor_source != "none":
        figures.append(_figure(analysis, TENSOR_TIME, (_TENSOR_TIME, *shared)))
    if analysis.kernels["dram_pct"].notna().any():
        figures.append(_figure(analysis, MEMORY_TENSOR, (_MEMORY_TENSOR, *shared)))
    return tuple(figures)


def _figure(analysis: Analysis, name: str, notes: tuple[str, ...]) -> Figure:
    caption, make = FIGURES[name]
    return Figure(name, caption, lambda: make(analysis), notes, why_undrawn(analysis, name))


def why_undrawn(analysis: Analysis, name: str) -> str:
    """Say why a figure has nothing to draw, if it has not."""
    if name == ROOFLINE:
        if not has_bytes(analysis.kernels):
            return NO_ROOFLINE
        return " ".join(("There is no roofline: no kernel has both FLOP and bytes.", *describe_unplaced(analysis)))
    if name == MEMORY_TENSOR:
        return "The samples do not resolve Tensor Active and memory bandwidth of any kernel."
    return "The samples do not resolve Tensor Active of any kernel."


def describe_unplaced(analysis: Analysis) -> tuple[str, ...]:
    """Say which kernels have no place in the roofline, and why; and those that are too many to be drawn."""
    placed = place_kernels(analysis.kernels, analysis.gpus)
    total = placed["total_ns"].sum()
    lines, rest = [], len(placed) - MOST_KERNELS
    reasons = {NO_FLOP: "no known FLOP", NO_BYTES: "bytes of device memory that the samples do not resolve"}
    for reason, why in reasons.items():
        rows = placed[placed["place"] == reason]
        rest -= len(rows)
        if len(rows):
            share = units.format_pct(100 * rows["total_ns"].sum() / total if total > 0 else None)
            have = f"{units.format_things(len(rows), 'kernel')} with {share} of the kernel time"
            lines.append(f"{have} {'has' if len(rows) == 1 else 'have'} {why} (not drawn).")
    if rest > 0:
        lines.append(f"Of the others, only the {MOST_KERNELS} longest are drawn.")
    return tuple(lines)
