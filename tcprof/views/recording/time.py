"""The page's tables of kernels and of where the time went, and the ledger."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tcprof.report.pages.summary import gpu_title
from tcprof.report.pages.tables import (
    MOST_ROWS,
    Cell,
    Heading,
    Row,
    Table,
    interval_cell,
    path_row,
    share_cell,
    sort_key,
)

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import short_name
from tcprof.findings.words import TIME_NAMES
from tcprof.frames import KERNELS, LEDGER, TIMELINE
from tcprof.frames.schema import TEXT, Schema
from tcprof.report.text.timeline import shown_classes
from tcprof.report.wording import Format
from tcprof.untrusted import one_line

# Numbers with how they are written, and words; what a glance needs stands first.
_COLUMNS: tuple[tuple[str, str, Format | None], ...] = (
    ("total_ns", "Kernel time", units.format_ns),
    ("tensor_active_pct", "Tensor Active", units.format_pct),
    ("launch_count", "Launches", units.format_count),
    ("median_ns", "Median", units.format_ns),
    ("name_verdict", "Counter and name", None),
    ("fit", "Fit", None),
    ("tensor_tflops", "Tensor FLOP/s", units.format_flops),
    ("tensor_peak_pct", "Of the peak", units.format_pct),
    ("tensor_cycles_per_launch", "Tensor cycles per launch", units.format_count),
    ("dram_pct", "Memory", units.format_pct),
    ("sm_issue_pct", "Issue slots", units.format_pct),
    ("bound", "Bound by", None),
    ("precision", "Precision", None),
    ("path", "Mostly in", None),
)
_TENSOR_COLUMNS = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_SEVERAL = {
    "total_ns": ("total_ns", "share_pct"),
    "tensor_active_pct": _TENSOR_COLUMNS,
    "seconds": ("seconds", "share_pct"),
}


def _headings(schema: Schema, columns: Iterable[tuple[str, str]]) -> tuple[Heading, ...]:
    known = {column.name: column for column in schema.columns}
    return tuple(
        Heading(title, known[name].meaning, _SEVERAL.get(name, (name,)), known[name].dtype == TEXT)
        for name, title in columns
    )


def list_kernel_tables(analysis: Analysis) -> list[Table]:
    """The kernels, one table for each GPU; of very many those that took longest."""
    headings = _headings(KERNELS, [(name, title) for name, title, _ in _COLUMNS])
    tables = []
    for gpu, rows in analysis.kernels.groupby("gpu", sort=True):
        kept = rows.head(MOST_ROWS // analysis.kernels["gpu"].nunique())
        listed = tuple(_kernel_row(row, item) for item, row in zip(kept.index, kept.to_dict("records"), strict=True))
        tables.append(Table(int(str(gpu)), gpu_title(analysis, int(str(gpu))), headings, listed, len(rows) - len(kept)))
    return tables


def _kernel_row(row: Mapping[Any, Any], item: int) -> Row:
    cells = {name: _word(row[name]) if text is None else _number(row[name], text) for name, _, text in _COLUMNS}
    share = row["share_pct"]
    cells["total_ns"] = share_cell(row["total_ns"], 100 * row["total_ns"] / share if share > 0 else float("nan"))
    cells["tensor_active_pct"] = interval_cell(*(row[name] for name in _TENSOR_COLUMNS))
    full = one_line(f"{row['name']} {row['launch_geometry']}", 600)
    geometry = one_line(row["launch_geometry"])
    return Row(1, "", "", short_name(row["name"], 90), tuple(cells.values()), geometry, full, item)


def _number(value: float, text: Format) -> Cell:
    return Cell(text(value), sort_key(value))


def _word(text: str) -> Cell:
    shown = one_line(text, 60)
    return Cell(shown or units.UNKNOWN, shown)


def list_time_tables(analysis: Analysis) -> list[Table]:
    """Where the time went, one table for each GPU: the share of each class, and its time."""
    if not (analysis.timeline["window_ns"] > 0).any():
        return []
    classes = shown_classes(analysis.timeline)
    named = [(f"{name}_ns", TIME_NAMES[name][0].upper() + TIME_NAMES[name][1:]) for name in classes]
    headings = _headings(TIMELINE, [("window_ns", "GPU window"), *named])
    headings = tuple(replace(each, columns=_time_columns(each.columns[0])) for each in headings)
    tables = []
    for gpu, rows in analysis.timeline.groupby("gpu", sort=True):
        kept = rows.head(MOST_ROWS // analysis.timeline["gpu"].nunique())
        listed = tuple(_time_row(row, [name for name, _ in named]) for row in kept.to_dict("records"))
        tables.append(Table(int(str(gpu)), gpu_title(analysis, int(str(gpu))), headings, listed, len(rows) - len(kept)))
    return tables


def _time_row(row: Mapping[Any, Any], columns: list[str]) -> Row:
    window = row["window_ns"]
    cells = [Cell(units.format_ns(window or None), sort_key(window))]
    for column in columns:
        share = 100 * row[column] / window if window else float("nan")
        values = (sort_key(row[column]), sort_key(share))
        cells.append(Cell(units.format_pct(share), values[1], units.format_ns(row[column]), values=values))
    return path_row(row, tuple(cells))


def _time_columns(name: str) -> tuple[str, ...]:
    """What a column of times is called in CSV, and its share of the window beside it."""
    return (name,) if name == "window_ns" else (name, f"{name.removesuffix('_ns')}_pct")


def list_ledger_tables(analysis: Analysis) -> list[Table]:
    """What the figures rest on, one table for each GPU: accounts, and below each what became of its parts."""
    headings = _headings(LEDGER, [("seconds", "Time"), ("remedy", "To record it better")])
    tables = []
    for gpu, of_gpu in analysis.ledger.groupby("gpu", sort=True):
        rows = []
        for account, parts in of_gpu.groupby("account", sort=False):
            total_ns = 1e9 * float(parts["seconds"].sum())
            rows.append(Row(1, "", "", str(account), (_time_cell(total_ns, total_ns), Cell("", ""))))
            rows += [_ledger_row(str(account), entry, total_ns) for entry in parts.to_dict("records")]
        tables.append(Table(int(str(gpu)), gpu_title(analysis, int(str(gpu))), headings, tuple(rows), 0))
    return tables


def _ledger_row(account: str, entry: Mapping[Any, Any], total_ns: float) -> Row:
    remedy = one_line(entry["remedy"], 200) if entry["seconds"] > 0 else ""
    cells = (_time_cell(1e9 * entry["seconds"], total_ns), Cell(remedy, remedy))
    return Row(2, "", f"{account}:", one_line(entry["entry"], 90), cells)


def _time_cell(time_ns: float, whole_ns: float) -> Cell:
    """A time in nanoseconds whose CSV has seconds, as the frame of the ledger has."""
    cell = share_cell(time_ns, whole_ns)
    return replace(cell, values=(sort_key(1e-9 * time_ns), *cell.values[1:]))
