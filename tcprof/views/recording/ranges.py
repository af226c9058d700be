"""The ranges of a recording: Tensor Active of each path."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.folding import find_alike, fold_alike
from tcprof.annotate.steps import DOMAIN
from tcprof.findings import Findings, why_no_kernels
from tcprof.findings.notes import as_sentence, describe_peaks, has_kernels, has_useful
from tcprof.frames import HEADLINE, HEADLINE_INTERVAL, RANGES, Column
from tcprof.views import ROWS_SHOWN
from tcprof.views.document import Document, Part
from tcprof.views.paths import LEFT_OUT, keep_largest, path_rows
from tcprof.views.recording import (
    describe_base,
    describe_source,
    head,
    list_notes,
    make_document,
    make_table,
    split_by_gpu,
)
from tcprof.views.tables import Cell, Heading, Table

# The window that figures are taken over, which comes first.
_WINDOW_COLUMNS = {"gpu": "gpu_window_ns", "host": "host_ns", "busy": "busy_ns"}
_TENSOR_ACTIVE = (HEADLINE.name, *HEADLINE_INTERVAL)
_TENSOR_KERNELS = "tensor_kernel_share_pct"
# The most important first: where a terminal is narrow, the last of these leaves first.
_BRIEF = (_TENSOR_KERNELS, "instance_count", "tensor_active_peak_pct", "tensor_active_s", "tensor_tflops", "hfu_pct")
_USEFUL = ("useful_flop", "mfu_pct")  # where the sizes of the ops' operands were recorded
# On a page, before its reader has chosen.
_ON_PAGE = {"kernel_ns", "kernel_count"}
_HIDDEN = {"tensor_active_s", "tensor_active_peak_pct", "hfu_pct", "useful_flop"}
_FURTHER = (
    *("gpu_window_ns", "host_ns", "kernel_ns", "kernel_count", "tensor_active_p95_pct"),
    *("tensor_peak_pct", "uncovered_cycles_pct", "coverage_pct"),
)


_FEWEST_SHOWN = 5  # of each GPU
_RESOLVED_S = 1e-6  # of tensor-active time: less is noise of samples that a border cuts
OWN_DOMAINS = ("", DOMAIN)  # of the program and of tcprof; others are of libraries


def view_ranges(
    analysis: Analysis,
    findings: Findings,
    rows: pd.DataFrame,
    limit: int | None = ROWS_SHOWN,
    fold: bool = False,
    with_notes: bool = True,
) -> Document:
    """Show ``limit`` ranges with most time on the GPU and what these lie in; folded, alike ones are one row."""
    remarks = []
    missing = why_no_kernels(analysis)
    if missing and has_kernels(analysis):  # that there are none is among the cautions
        remarks.append(as_sentence(missing))
    elif analysis.tensor_source == "none" and len(analysis.kernels):
        remarks.append("The share of tensor kernels (~) is estimated from kernel names.")
    base, warnings = describe_base(analysis), (*findings.warnings, *remarks)
    parts: tuple[Part, ...] = (
        head(analysis, findings),
        *list_ranges(analysis, rows, limit, fold),
        list_notes(findings.remarks, (describe_source(analysis), *base), with_notes),
    )
    notes = {"warnings": warnings, "base": (*base, *describe_peaks(analysis))}
    return make_document(analysis, findings, "ranges", parts, {"rows": rows}, rows=rows, **notes)


def list_ranges(analysis: Analysis, rows: pd.DataFrame, limit: int | None = None, fold: bool = False) -> list[Table]:
    """List the range summary, one table for each GPU; what the arguments are is said at ``view_ranges``."""
    every = rows
    if fold and len(rows):
        rows = pd.concat([fold_ranges(gpu_rows, gpu_rows) for _, gpu_rows in split_by_gpu(rows)])
    if limit is not None and len(rows) > limit:
        most = max(limit // rows["gpu"].nunique(), _FEWEST_SHOWN)
        rows = pd.concat(
            [keep_largest(gpu_rows, gpu_rows["gpu_window_ns"], most) for _, gpu_rows in split_by_gpu(rows)]
        )
    pairs = _columns(analysis, _USEFUL if has_useful(analysis) else ())
    columns, headings = [column for column, _ in pairs], tuple(made for _, made in pairs)
    wholes = analysis.ranges[analysis.ranges["depth"] == 0].groupby("gpu")[columns[0].name].max()
    tables = []
    is_estimated = analysis.tensor_source == "none"
    for gpu, kept in split_by_gpu(rows):
        hidden = int((every["gpu"] == gpu).sum()) - int(kept["alike_count"].sum() if fold else len(kept))
        cells = [_cells(row, columns, float(wholes[gpu]), is_estimated) for row in kept.to_dict("records")]
        listed = [replace(row, item=item) for row, item in zip(path_rows(kept, cells), kept["path_id"], strict=True)]
        more = LEFT_OUT.format(command="ranges --all")
        further = {"hidden": hidden, "more": more, "search": "part of a path"}
        tables.append(make_table(analysis, gpu, "Ranges on", "Range (totals)", headings, listed, **further))
    return tables


def fold_ranges(rows: pd.DataFrame, ranges: pd.DataFrame) -> pd.DataFrame:
    """Fold a GPU's rows without PyTorch's ops and libraries' ranges, where there are others; alike ones are one row."""
    program_rows = rows[rows["domain"].isin(OWN_DOMAINS)]
    kept = program_rows if (program_rows["depth"] > 0).any() else rows
    return fold_alike(kept, find_alike(ranges[ranges["path_id"].isin(kept["path_id"])]))


def _columns(analysis: Analysis, useful: tuple[str, ...]) -> list[tuple[Column, Heading]]:
    over = RANGES[_WINDOW_COLUMNS[analysis.window]]
    notes = {"hfu_pct": " ".join(describe_peaks(analysis))}
    columns = [
        (over, Heading.of(over, columns=(over.name, "share_pct"))),
        (HEADLINE.column, Heading.of(HEADLINE.column, columns=_TENSOR_ACTIVE, after=("95 % interval",))),
    ]
    for name in (*_BRIEF, *_FURTHER, *useful):
        if name != over.name:
            column = RANGES[name]
            spare = _BRIEF.index(name) + 1 if name in _BRIEF else 0
            is_shown = name in _ON_PAGE or name not in _HIDDEN.union(_FURTHER)
            made = Heading.of(column, brief=spare > 0, spare=spare, note=notes.get(name, ""), on_page=is_shown)
            columns.append((column, made))
    return columns


def _cells(row: Mapping[Any, Any], columns: list[Column], whole_ns: float, is_estimated: bool) -> tuple[Cell, ...]:
    over = columns[0]
    window = row[over.name] if row[over.name] > 0 else float("nan")
    cells = {column.name: Cell.of_column(row, column) for column in columns}
    cells[over.name] = Cell.share(window, whole_ns)
    cells[HEADLINE.name] = Cell.interval(*(row[name] for name in _TENSOR_ACTIVE))
    if 0 < row["tensor_active_s"] < _RESOLVED_S:
        cells["tensor_active_s"] = replace(cells["tensor_active_s"], text="<1 µs")
    share = cells[_TENSOR_KERNELS]
    if is_estimated and share.sort:
        cells[_TENSOR_KERNELS] = replace(share, text=f"~{share.text}")
    return tuple(cells.values())
