"""The rows of the page's tables: each cell as text, and as the number that it is sorted by."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, SupportsFloat

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.comparison import Comparison
from tcprof.frames import RANGE_SUMMARY
from tcprof.report.lanes import one_line
from tcprof.report.summary import gpu_title

MOST_ROWS = 1000
_KEYS = ["domain", "path"]
WHOLE_CAPTURE = "whole capture"
Format = Callable[[SupportsFloat | None], str]


@dataclass(frozen=True)
class Heading:
    """A column: its title, and what its values mean."""

    title: str
    meaning: str


@dataclass(frozen=True)
class Cell:
    """One value.

    Attributes:
        text: What is read.
        sort: The number to sort by; empty where unknown.
        note: Smaller text behind it.
        bar: Length of the bar below it, in percent; negative for none.
    """

    text: str
    sort: str
    note: str = ""
    bar: float = -1.0


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


_COLUMNS: tuple[tuple[str, str, Format], ...] = (
    ("instance_count", "Instances", units.format_count),
    ("kernel_count", "Kernels", units.format_count),
    ("host_ns", "Host time", units.format_ns),
    ("gpu_window_ns", "GPU window", units.format_ns),
    ("kernel_ns", "Kernel time", units.format_ns),
    ("tensor_active_mean_pct", "Tensor Active, mean", units.format_pct),
    ("tensor_active_peak_pct", "Peak", units.format_pct),
    ("tensor_active_p95_pct", "p95", units.format_pct),
    ("tensor_active_s", "Tensor-active time", units.format_seconds),
    ("tensor_kernel_share_pct", "Tensor kernels", units.format_pct),
    ("tensor_tflops", "Tensor FLOP/s", units.format_flops),
    ("tensor_peak_pct", "Of the peak", units.format_pct),
    ("coverage_pct", "Coverage", units.format_pct),
)
_COMPARED: tuple[tuple[str, str, str, Format], ...] = (
    ("host_ns", "Host time", "Duration on the CPU, median per instance.", units.format_ns),
    ("gpu_window_ns", "GPU window", "From first activity to last, median per instance.", units.format_ns),
    ("kernel_ns", "Kernel time", "Durations of its kernels, median per instance.", units.format_ns),
    ("tensor_active_mean_pct", "Tensor Active, mean", _meaning("tensor_active_mean_pct"), units.format_pct),
    ("tensor_active_peak_pct", "Peak", _meaning("tensor_active_peak_pct"), units.format_pct),
    (
        "tensor_active_s",
        "Tensor-active time",
        "Tensor Active x time, median per instance. It adds up.",
        units.format_seconds,
    ),
)


def sort_key(value: SupportsFloat) -> str:
    """A number as the page's script reads it; empty where unknown."""
    number = float(value)
    return f"{number:.9g}" if math.isfinite(number) else ""


def list_range_tables(analysis: Analysis) -> list[Table]:
    """The range summary, one table for each GPU; of very many paths those that took longest."""
    headings = tuple(Heading(title, _meaning(column)) for column, title, _ in _COLUMNS)
    items = {key: row for row, key in enumerate(zip(analysis.paths["domain"], analysis.paths["path"], strict=True))}
    tables = []
    for gpu, rows in analysis.ranges.groupby("gpu", sort=True):
        kept = _longest(rows, rows["host_ns"], MOST_ROWS // analysis.ranges["gpu"].nunique())
        listed = tuple(_range_row(row, items) for row in kept.to_dict("records"))
        tables.append(Table(int(str(gpu)), gpu_title(analysis, int(str(gpu))), headings, listed, len(rows) - len(kept)))
    return tables


def _longest(rows: pd.DataFrame, length: "pd.Series[float]", most: int) -> pd.DataFrame:
    """At most so many rows, in their order: the capture's, and those that took longest; outer ranges win a tie."""
    if len(rows) <= most:
        return rows
    rank = length.fillna(0).astype(float).where(rows["path"] != "", math.inf)
    return rows.loc[rank.sort_values(ascending=False, kind="stable").index[:most]].sort_index()


def _range_row(row: Mapping[Any, Any], items: Mapping[tuple[str, str], int]) -> Row:
    cells = tuple(
        interval_cell(row[column], row["tensor_active_low_pct"], row["tensor_active_high_pct"])
        if column == "tensor_active_mean_pct"
        else Cell(text(row[column]), sort_key(row[column]))
        for column, _, text in _COLUMNS
    )
    return replace(path_row(row, cells), item=items.get((row["domain"], row["path"]), -1))


def interval_cell(percent: float, low: float, high: float) -> Cell:
    """A percentage with its interval below it, and a bar."""
    text, sort = units.format_pct(percent), sort_key(percent)
    ends = [units.format_pct(end) for end in (low, high)]
    interval = f"{ends[0].removesuffix(' %')} … {ends[1]}" if low <= high and ends[0] != ends[1] else ""
    return Cell(text, sort, interval, round(min(float(percent), 100), 2)) if sort else Cell(text, sort)


def path_row(row: Mapping[Any, Any], cells: tuple[Cell, ...], tag: str = "") -> Row:
    """The row of a path: what it lies in, and its own name."""
    path, name = row["path"], row["name"]
    ancestors = path[: len(path) - len(name)] if path.endswith(name) else ""
    shown = one_line(name, 300) if path else WHOLE_CAPTURE
    return Row(int(row["depth"]), one_line(row["domain"]), one_line(ancestors, 300), shown, cells, tag)


def list_comparison_tables(comparison: Comparison) -> list[Table]:
    """Base, new and change of each quantity, one table for each GPU."""
    names = _names(comparison)
    headings = tuple(Heading(title, meaning) for _, title, meaning, _ in _COMPARED)
    tables = []
    for gpu, rows in comparison.rows.groupby("gpu", sort=True):
        places = rows.drop_duplicates(_KEYS)
        host = rows[rows["quantity"] == "host_ns"].set_index(_KEYS)[["base", "new"]].max(axis=1)
        length = host.reindex(pd.MultiIndex.from_frame(places[_KEYS])).set_axis(places.index)
        kept = _longest(places, length, MOST_ROWS // comparison.rows["gpu"].nunique())
        wanted = pd.MultiIndex.from_frame(kept[_KEYS])
        by_quantity = {
            quantity: part.set_index(_KEYS).loc[wanted].to_dict("index") for quantity, part in rows.groupby("quantity")
        }
        listed = tuple(_comparison_row(row, by_quantity, names) for row in kept.to_dict("records"))
        base, new = comparison.base.first, comparison.new.first
        title = gpu_title(base if gpu in set(base.gpus["gpu"]) else new, int(str(gpu)))
        tables.append(Table(int(str(gpu)), title, headings, listed, len(places) - len(kept)))
    return tables


def _names(comparison: Comparison) -> dict[tuple[str, str], str]:
    """The innermost name of each domain and path."""
    return {
        (row.domain, row.path): row.name
        for side in (*comparison.base.recordings, *comparison.new.recordings)
        for row in side.ranges[["domain", "path", "name"]].itertuples(index=False)
    }


def _comparison_row(
    place: Mapping[Any, Any], by_quantity: Mapping[Any, Mapping[Any, Mapping[Any, Any]]], names: Mapping[Any, str]
) -> Row:
    key = (place["domain"], place["path"])
    cells = []
    counts = [place["base_instance_count"], place["new_instance_count"]]
    tag = "only in baseline" if math.isnan(counts[1]) else "only in new" if math.isnan(counts[0]) else ""
    for quantity, _, _, text in _COMPARED:
        values = by_quantity[quantity][key]
        if quantity.endswith("_pct"):
            change = units.format_points(values["difference"])
        else:
            change = units.format_ratio(values["ratio"])
        pair = f"{text(values['base'])} → {text(values['new'])}"
        cells.append(Cell(change, sort_key(values["difference"]), pair))
    return path_row({**place, "name": names[key]}, tuple(cells), tag)
