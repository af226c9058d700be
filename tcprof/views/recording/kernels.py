"""The kernels of a recording: Tensor Active of each, from the fit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.kernels.summary import POOLED, UNDECIDED
from tcprof.findings import Findings, describe_warm_up, why_no_kernels
from tcprof.findings.notes import as_sentence
from tcprof.frames import KERNELS
from tcprof.untrusted import one_line
from tcprof.views.document import Document, Notes, Part
from tcprof.views.paths import LONGEST_NAME, without_repeats
from tcprof.views.recording.facts import SOURCE_MEANINGS, describe_recording, make_document, make_table, split_by_gpu
from tcprof.views.tables import Cell, Row, Table, heading, number_cell, plus_minus_cell, share_cell, sort_key, word_cell

_TENSOR_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_SEVERAL = {"total_ns": ("total_ns", "share_pct"), "tensor_active_pct": _TENSOR_ACTIVE}
_AFTER = {"total_ns": ("Time %",), "tensor_active_pct": ("95 %",)}
# What matters at a glance comes first.
_BRIEF = (
    "total_ns",
    "tensor_active_pct",
    "precision",
    "bound",
    "launch_count",
    "median_ns",
    "tensor_tflops",
    "name_verdict",
)
# On a narrow terminal; the last one first.
_SPARE = ("precision", "bound", "name_verdict", "launch_count", "median_ns", "tensor_tflops")
_FURTHER = (
    "lost_ns",
    "fit",
    "tensor_peak_pct",
    "hfu_pct",
    "tensor_cycles_per_launch",
    "dram_pct",
    "dram_bandwidth",
    "fma_pct",
    "l1_pct",
    "l2_pct",
    "sm_issue_pct",
    "path",
)
# On a page, before its reader has chosen.
_SHOWN = ("total_ns", "tensor_active_pct", "precision", "bound", "launch_count", "tensor_tflops", "lost_ns", "path")
_LEFT_OUT = (
    "more kernels are not in this table: those with the least time. 'tcprof kernels --limit 0' lists all of them."
)
SHORT_NAME = 64


def describe_fit(analysis: Analysis) -> str:
    """What the figures of kernels are taken from, or why there are none."""
    missing = why_no_kernels(analysis)
    if missing:
        return as_sentence(missing)
    if analysis.tensor_source == "none":
        return "Estimated from kernel names: the recording has no samples of the tensor pipe."
    source = SOURCE_MEANINGS[analysis.tensor_source]
    has_clock = bool(analysis.kernels["sm_cycles"].notna().any())
    return f"Tensor Active of each kernel's own {'cycles' if has_clock else 'time'}, fitted from {source}."


def view_kernels(
    analysis: Analysis, findings: Findings, rows: pd.DataFrame, by_path: bool = False, limit: int | None = None
) -> Document:
    """The kernels of a recording.

    Args:
        rows: Rows of ``analysis.kernels`` or ``analysis.kernels_by_path``.
        limit: Rows of each GPU to show in the table, those that took longest; None for all.
    """
    left_out = describe_warm_up(analysis) if by_path else ""
    base = (left_out,) if left_out else ()
    notes = Notes((describe_recording(analysis), describe_fit(analysis), *base))
    parts: tuple[Part, ...] = (notes, *list_kernels(analysis, rows, by_path, limit))
    return make_document(analysis, findings, "kernels", parts, {"rows": rows}, base=base, rows=rows)


def list_kernels(
    analysis: Analysis, rows: pd.DataFrame, by_path: bool = False, limit: int | None = None
) -> list[Table]:
    """Kernels, one table for each GPU; what the arguments are is said at ``view_kernels``."""
    headings = tuple(
        heading(
            KERNELS[name],
            brief=name in _BRIEF,
            spare=_SPARE.index(name) + 1 if name in _SPARE else 0,
            brief_value=name != "total_ns",
            columns=_SEVERAL.get(name, (name,)),
            after=_AFTER.get(name, ()),
            shown=name in _SHOWN,
        )
        for name in (*_BRIEF, *_FURTHER)
    )
    tables = []
    for gpu, of_gpu in split_by_gpu(rows):
        kept = of_gpu.head(limit) if limit else of_gpu
        listed = [_row(row, item) for item, row in zip(kept.index, kept.to_dict("records"), strict=True)]
        listed = _under_paths(listed, kept["path"]) if by_path else listed
        further = {"hidden": len(of_gpu) - len(kept), "more": _LEFT_OUT, "items": "kernels", "search": "part of a name"}
        tables.append(make_table(analysis, gpu, "Kernels on", "Kernel", headings, listed, **further))
    return tables


def _row(row: Mapping[Any, Any], item: int) -> Row:
    share = row["share_pct"]
    cells = {
        name: word_cell(one_line(row[name])) if KERNELS[name].is_text else number_cell(row[name], KERNELS[name])
        for name in (*_BRIEF, *_FURTHER)
    }
    cells["total_ns"] = share_cell(row["total_ns"], 100 * row["total_ns"] / share if share > 0 else np.nan)
    cells["tensor_active_pct"] = plus_minus_cell(*(row[name] for name in _TENSOR_ACTIVE))
    cells["precision"] = word_cell(row["precision"].upper())
    cells["name_verdict"] = word_cell(mark_fit(row["fit"], row["name_verdict"]))
    return Row(
        short_name(row["name"], LONGEST_NAME),
        tuple(cells.values()),
        tag=one_line(row["launch_geometry"]),
        full=one_line(f"{row['name']} {row['launch_geometry']}", LONGEST_NAME),
        short=short_name(row["name"], SHORT_NAME),
        item=item,
    )


def _under_paths(rows: list[Row], paths: "pd.Series[Any]") -> list[Row]:
    """The kernels of each path below a row with its name; the path of the kernel that took longest comes first."""
    found: dict[str, list[Row]] = {}
    for path, row in zip(paths, rows, strict=True):
        found.setdefault(path, []).append(replace(row, depth=2, nested=True, tag=""))
    titles = (one_line(without_repeats(path), LONGEST_NAME) or "(no range)" for path in found)
    return [line for title, of in zip(titles, found.values(), strict=True) for line in (Row(title, ()), *of)]


def mark_fit(fit: str, verdict: str) -> str:
    """Whether the fit fails to resolve it, otherwise what counter and name say; and whether the figure is a pool's."""
    if fit in UNDECIDED:
        return fit
    return ", ".join([verdict, *[POOLED] * (fit == POOLED)])


def fitted_text(value: float, fit: str) -> str:
    """A percentage from the fit of a kernel: unknown where that did not resolve it; marked where it is a pool's."""
    if fit in UNDECIDED:
        return units.UNKNOWN
    return f"{units.format_pct(value)} {POOLED}" if fit == POOLED else units.format_pct(value)


def fitted_cell(value: float, fit: str) -> Cell:
    """The same as a cell of a table."""
    return Cell(fitted_text(value, fit), sort_key(value))
