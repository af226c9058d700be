"""The page's tables of kernels and of where the time went, and the ledger."""

from collections.abc import Mapping
from typing import Any

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.frames import KERNELS, TIMELINE
from tcprof.report.kernel_text import short_name
from tcprof.report.lanes import one_line
from tcprof.report.summary import gpu_title
from tcprof.report.tables import MOST_ROWS, Cell, Format, Heading, Row, Table, interval_cell, path_row, sort_key
from tcprof.report.timeline_text import NAMES, shown_classes

_NUMBERS: tuple[tuple[str, str, Format], ...] = (
    ("launch_count", "Launches", units.format_count),
    ("median_ns", "Median", units.format_ns),
    ("share_pct", "Of kernel time", units.format_pct),
    ("tensor_active_pct", "Tensor Active", units.format_pct),
    ("tensor_cycles_per_launch", "Tensor cycles per launch", units.format_count),
    ("tensor_tflops", "Tensor FLOP/s", units.format_flops),
    ("tensor_peak_pct", "Of the peak", units.format_pct),
    ("dram_pct", "Memory", units.format_pct),
    ("sm_issue_pct", "Issue slots", units.format_pct),
)
_TEXTS = (("bound", "Bound by"), ("fit", "Fit"), ("name_verdict", "Counter and name"), ("path", "Mostly in"))


def _meanings(schema: Any, columns: list[tuple[str, str]]) -> tuple[Heading, ...]:
    meaning = {column.name: column.meaning for column in schema.columns}
    return tuple(Heading(title, meaning[name]) for name, title in columns)


def list_kernel_tables(analysis: Analysis) -> list[Table]:
    """The kernels, one table for each GPU; of very many those that took longest."""
    headings = _meanings(KERNELS, [*((name, title) for name, title, _ in _NUMBERS), *_TEXTS])
    tables = []
    for gpu, rows in analysis.kernels.groupby("gpu", sort=True):
        kept = rows.head(MOST_ROWS // analysis.kernels["gpu"].nunique())
        listed = tuple(_kernel_row(row, item) for item, row in zip(kept.index, kept.to_dict("records"), strict=True))
        tables.append(Table(int(str(gpu)), gpu_title(analysis, int(str(gpu))), headings, listed, len(rows) - len(kept)))
    return tables


def _kernel_row(row: Mapping[Any, Any], item: int) -> Row:
    cells = [
        interval_cell(row[column], row["tensor_active_low_pct"], row["tensor_active_high_pct"])
        if column == "tensor_active_pct"
        else Cell(text(row[column]), sort_key(row[column]))
        for column, _, text in _NUMBERS
    ]
    cells += [Cell(one_line(row[column], 60) or units.UNKNOWN, "") for column, _ in _TEXTS]
    full = one_line(f"{row['name']} {row['launch_geometry']}", 600)
    return Row(1, "", "", short_name(row["name"], 90), tuple(cells), one_line(row["launch_geometry"]), full, item)


def list_time_tables(analysis: Analysis) -> list[Table]:
    """Where the time went, one table for each GPU: the share of each class, and its time."""
    if not (analysis.timeline["window_ns"] > 0).any():
        return []
    classes = shown_classes(analysis.timeline)
    named = [(f"{name}_ns", NAMES[name][0].upper() + NAMES[name][1:]) for name in classes]
    headings = _meanings(TIMELINE, [("window_ns", "GPU window"), *named])
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
        cells.append(Cell(units.format_pct(share), sort_key(share), units.format_ns(row[column])))
    return path_row(row, tuple(cells))


def list_ledger_entries(analysis: Analysis) -> list[tuple[str, str, str]]:
    """What the figures rest on: GPU with account, entry, and its time with its share."""
    several = analysis.ledger["gpu"].nunique() > 1
    return [
        (
            f"GPU {row.gpu}: {row.account}" if several else str(row.account),
            one_line(row.entry),
            f"{units.format_seconds(row.seconds)}, {units.format_pct(row.share_pct)}",
        )
        for row in analysis.ledger.itertuples(index=False)
    ]
