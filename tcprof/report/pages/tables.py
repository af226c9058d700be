"""The rows of the page's tables: each cell as text, and as the number that it is sorted by."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, SupportsFloat

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.frames import RANGE_SUMMARY
from tcprof.report.pages.summary import gpu_title
from tcprof.report.wording import Format, format_interval
from tcprof.untrusted import one_line

MOST_ROWS = 1000
WHOLE_CAPTURE = "whole capture"


@dataclass(frozen=True)
class Heading:
    """A column.

    Attributes:
        title: Its title.
        meaning: What its values mean.
        columns: What its numbers are called in CSV, with their units; the title if empty.
        words: Whether its values are words.
    """

    title: str
    meaning: str
    columns: tuple[str, ...] = ()
    words: bool = False


@dataclass(frozen=True)
class Cell:
    """One value.

    Attributes:
        text: What is read.
        sort: The number to sort by, or the word; empty where unknown.
        note: Smaller text behind it.
        bar: Length of the bar below it, in percent; negative for none.
        values: Its numbers in CSV, one for each column of the heading; what it is sorted by if empty.
    """

    text: str
    sort: str
    note: str = ""
    bar: float = -1.0
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One path or kernel: what it lies in, its own name, its cells, and what its name was cut from.

    ``item`` is what the timeline's data calls it: the row of the frame of paths or of kernels; -1 for none.
    """

    depth: int
    domain: str
    ancestors: str
    name: str
    cells: tuple[Cell, ...]
    tag: str = ""
    full: str = ""
    item: int = -1


@dataclass(frozen=True)
class Table:
    """A table of paths or kernels on one GPU.

    Attributes:
        gpu: Number of the GPU.
        title: Number and name of the GPU.
        headings: Its columns after the first.
        rows: Its rows, in the order in which a tree is read.
        hidden: Rows that are left out, the shortest ones.
    """

    gpu: int
    title: str
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    hidden: int


def _meaning(column: str) -> str:
    return next(c.meaning for c in RANGE_SUMMARY.columns if c.name == column)


_TENSOR_COLUMNS = ("tensor_active_mean_pct", "tensor_active_low_pct", "tensor_active_high_pct")
# What a glance needs stands first: the table is wider than most screens.
_COLUMNS: tuple[tuple[str, str, Format], ...] = (
    ("gpu_window_ns", "GPU window", units.format_ns),
    ("tensor_active_mean_pct", "Tensor Active, mean", units.format_pct),
    ("tensor_kernel_share_pct", "Tensor kernels", units.format_pct),
    ("instance_count", "Instances", units.format_count),
    ("host_ns", "Host time", units.format_ns),
    ("kernel_ns", "Kernel time", units.format_ns),
    ("kernel_count", "Kernels", units.format_count),
    ("tensor_active_peak_pct", "Peak", units.format_pct),
    ("tensor_active_p95_pct", "p95", units.format_pct),
    ("tensor_active_s", "Tensor-active time", units.format_seconds),
    ("tensor_tflops", "Tensor FLOP/s", units.format_flops),
    ("tensor_peak_pct", "Of the peak", units.format_pct),
    ("coverage_pct", "Coverage", units.format_pct),
)
_SEVERAL = {"gpu_window_ns": ("gpu_window_ns", "share_pct"), "tensor_active_mean_pct": _TENSOR_COLUMNS}


def sort_key(value: SupportsFloat) -> str:
    """A number as the page's script reads it; empty where unknown."""
    number = float(value)
    return f"{number:.9g}" if math.isfinite(number) else ""


def list_range_tables(analysis: Analysis) -> list[Table]:
    """The range summary, one table for each GPU; of very many paths those that took longest."""
    headings = tuple(Heading(title, _meaning(name), _SEVERAL.get(name, (name,))) for name, title, _ in _COLUMNS)
    items = {key: row for row, key in enumerate(zip(analysis.paths["domain"], analysis.paths["path"], strict=True))}
    tables = []
    for gpu, rows in analysis.ranges.groupby("gpu", sort=True):
        whole_ns = float(rows.loc[rows["path"] == "", "gpu_window_ns"].max())
        kept = _longest(rows, rows["host_ns"], MOST_ROWS // analysis.ranges["gpu"].nunique())
        listed = tuple(_range_row(row, items, whole_ns) for row in kept.to_dict("records"))
        tables.append(Table(int(str(gpu)), gpu_title(analysis, int(str(gpu))), headings, listed, len(rows) - len(kept)))
    return tables


def _longest(rows: pd.DataFrame, length: "pd.Series[float]", most: int) -> pd.DataFrame:
    """At most so many rows, in their order: the capture's, and those that took longest; outer ranges win a tie."""
    if len(rows) <= most:
        return rows
    rank = length.fillna(0).astype(float).where(rows["path"] != "", math.inf)
    return rows.loc[rank.sort_values(ascending=False, kind="stable").index[:most]].sort_index()


def _range_row(row: Mapping[Any, Any], items: Mapping[tuple[str, str], int], whole_ns: float) -> Row:
    cells = {name: Cell(text(row[name]), sort_key(row[name])) for name, _, text in _COLUMNS}
    cells["gpu_window_ns"] = share_cell(row["gpu_window_ns"], whole_ns)
    cells["tensor_active_mean_pct"] = interval_cell(*(row[name] for name in _TENSOR_COLUMNS))
    return replace(path_row(row, tuple(cells.values())), item=items.get((row["domain"], row["path"]), -1))


def share_cell(time_ns: float, whole_ns: float) -> Cell:
    """A time with its share of a whole below it, and a bar."""
    share = 100 * float(time_ns) / whole_ns if whole_ns > 0 else math.nan
    values = (sort_key(time_ns), sort_key(share))
    if not values[1]:
        return Cell(units.format_ns(time_ns), values[0], values=values)
    return Cell(units.format_ns(time_ns), values[0], units.format_pct(share), _bar(share), values)


def interval_cell(percent: float, low: float, high: float) -> Cell:
    """A percentage with its interval below it, and a bar."""
    values = (sort_key(percent), sort_key(low), sort_key(high))
    text = units.format_pct(percent)
    if not values[0]:
        return Cell(text, "", values=values)
    return Cell(text, values[0], format_interval(low, high, units.format_pct), _bar(percent), values)


def _bar(percent: float) -> float:
    return round(min(max(float(percent), 0), 100), 2)


def path_row(row: Mapping[Any, Any], cells: tuple[Cell, ...], tag: str = "") -> Row:
    """The row of a path: what it lies in, and its own name."""
    path, name = row["path"], row["name"]
    ancestors = path[: len(path) - len(name)] if path.endswith(name) else ""
    shown = one_line(name, 300) if path else WHOLE_CAPTURE
    return Row(int(row["depth"]), one_line(row["domain"]), one_line(ancestors, 300), shown, cells, tag)
