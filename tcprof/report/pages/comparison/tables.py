"""The tables of a comparison's page: ranges and kernels with their changes, noise, and where the figures come from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.projection import SEPARATOR
from tcprof.comparison import Comparison
from tcprof.frames import KERNEL_CHANGES, RANGE_SUMMARY, Schema
from tcprof.report.comparison_words import Row as ComparedRow
from tcprof.report.pages.summary import describe_provenance, gpu_title
from tcprof.report.pages.tables import MOST_ROWS, Cell, Heading, Row, Table, path_row, sort_key
from tcprof.report.text.comparison import (
    QUANTITIES,
    change_mark,
    format_change,
    known_quantities,
    list_iterations,
    signed_ns,
)
from tcprof.report.text.tables import Listing
from tcprof.report.wording import Format, format_fitted
from tcprof.untrusted import one_line
from tcprof.views.figures.compared_series import ShownSide

MOST_KERNELS = 500
_PLACE = ["domain", "path"]
_MEANINGS = {"idle_ns": "The gpu window, less the time under its work."}
_STRIP_RATIO, _STRIP_POINTS = 4.0, 25.0  # at the ends of a strip
_NOISE_TITLES = {name: title.strip() for name, title, _, _ in QUANTITIES}


@dataclass(frozen=True)
class QuantityRow:
    """A row of the iterations' table.

    Attributes:
        quantity: Its name in ``tcprof.frames.COMPARISON``, which tells the unit.
        cells: Its texts: label, base, new, change, interval, p and verdict.
        values: The numbers behind them, as CSV has them; base, new, change, both ends, and p.
        strip: Its change with the interval as a drawing; None where there is no interval.
    """

    quantity: str
    cells: tuple[str, ...]
    values: tuple[str, ...]
    strip: "Strip | None"


@dataclass(frozen=True)
class Strip:
    """A change with its interval on a scale from 0 to 100, where 50 is no change; beyond the scale at its end."""

    low: float
    width: float
    value: float


def list_quantities(comparison: Comparison, gpu: int) -> list[QuantityRow]:
    """The rows of the iterations' table, as the terminal has them, with their numbers and each change as a strip."""
    texts = list_iterations(comparison, gpu).rows
    rows = []
    for cells, ((quantity, _, _, in_points), row) in zip(texts, known_quantities(comparison, gpu), strict=True):
        kind = "difference" if in_points else "ratio"
        names = ("base", "new", kind, f"{kind}_low", f"{kind}_high", "p_value")
        values = tuple(sort_key(row[name]) for name in names)
        rows.append(QuantityRow(quantity, cells, values, _strip(row, kind)))
    return rows


def _strip(row: ComparedRow, kind: str) -> Strip | None:
    in_points = kind == "difference"
    values = [float(row[f"{kind}{end}"]) for end in ("_low", "", "_high")]
    if any(math.isnan(value) for value in values) or not (in_points or values[0] > 0):
        return None
    shares = [value / _STRIP_POINTS if in_points else math.log(value) / math.log(_STRIP_RATIO) for value in values]
    low, middle, high = (round(50 + 50 * min(max(share, -1.0), 1.0), 2) for share in shares)
    return Strip(low, round(high - low, 2), middle)


def list_range_changes(comparison: Comparison, gpu: int) -> Table:
    """The change of each quantity of each range of a GPU, over both values; of very many ranges the longest."""
    rows = comparison.rows[comparison.rows["gpu"] == gpu]
    places = rows.drop_duplicates(_PLACE)
    time = rows[rows["quantity"] == "host_ns"].set_index(_PLACE)[["base", "new"]].max(axis=1)
    rank = time.fillna(0).where(time.index.get_level_values("path") != "", math.inf)
    kept = rank.sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    listed = places[pd.MultiIndex.from_frame(places[_PLACE]).isin(kept)]
    figures = {name: part.set_index(_PLACE).to_dict("index") for name, part in rows.groupby("quantity")}
    headings = tuple(
        Heading(title.strip(), _meaning(name), tuple(f"{name}_{figure}" for figure in _figures(in_points)))
        for name, title, _, in_points in QUANTITIES
    )
    cells = tuple(_range_row(place, figures) for place in listed.to_dict("records"))
    return Table(gpu, _title(comparison, gpu), headings, cells, len(places) - len(listed))


def _title(comparison: Comparison, gpu: int) -> str:
    base, new = comparison.base.first, comparison.new.first
    return gpu_title(base if gpu in set(base.gpus["gpu"]) else new, gpu)


def _meaning(name: str, schema: Schema = RANGE_SUMMARY) -> str:
    return next((column.meaning for column in schema.columns if column.name == name), _MEANINGS.get(name, ""))


def _figures(in_points: bool) -> tuple[str, ...]:
    """What CSV has of a quantity."""
    kind = "difference" if in_points else "ratio"
    return ("base", "new", kind, f"{kind}_low", f"{kind}_high", "verdict")


def _range_row(place: Mapping[Any, Any], figures: Mapping[Any, Mapping[Any, Mapping[Any, Any]]]) -> Row:
    cells = []
    for name, _, form, in_points in QUANTITIES:
        row = figures[name][place["domain"], place["path"]]
        change, _ = format_change(row, in_points)
        mark = f" {change_mark(row)}".rstrip()
        pair = f"{form(row['base'])} → {form(row['new'])}"
        *numbers, verdict = _figures(in_points)
        values = (*(sort_key(row[name]) for name in numbers), row[verdict])
        cells.append(Cell(change + mark, values[2], pair, values=values))
    absent = [math.isnan(place[f"{side}_instance_count"]) for side in ("base", "new")]
    tag = "only in the baseline" if absent[1] else "only in the new" if absent[0] else ""
    name = place["path"].rpartition(SEPARATOR)[2]
    return path_row({**place, "name": name}, tuple(cells), tag)


_CHANGED = (
    ("kind", "Kind", True),
    ("difference_ns", "Change", False),
    ("base_ns", "Time, base", False),
    ("new_ns", "Time, new", False),
    ("base_tensor_active_pct", "Tensor Active, base", False),
    ("new_tensor_active_pct", "Tensor Active, new", False),
    ("base_precision", "Precision", True),
    ("base_class", "Class", True),
    ("path", "In", True),
    ("base_count", "Runs, base", False),
    ("new_count", "Runs, new", False),
)
_NONE = Cell(units.UNKNOWN, "")


def list_kernel_changes(comparison: Comparison, gpu: int) -> Table:
    """The kernels that were matched, renamed, are new or gone, those whose time changed most first."""
    changes = comparison.matching.changes
    rows = changes[changes["gpu"] == gpu]
    kept = rows.head(MOST_KERNELS)
    headings = tuple(
        Heading(title, _meaning(name, KERNEL_CHANGES), () if words else (name,), words)
        for name, title, words in _CHANGED
    )
    listed = tuple(_kernel_row(row) for row in kept.to_dict("records"))
    return Table(gpu, _title(comparison, gpu), headings, listed, len(rows) - len(kept))


def _kernel_row(row: Mapping[Any, Any]) -> Row:
    sides = [side for side in ("base", "new") if row[f"{side}_name"]]
    names = dict.fromkeys(short_name(row[f"{side}_name"], 60) for side in sides)
    full = dict.fromkeys(one_line(f"{row[f'{side}_name']} {row[f'{side}_geometry']}", 600) for side in sides)

    def pair(name: str, form: Format) -> list[Cell]:
        values = [(side, row[f"{side}_{name}"]) for side in ("base", "new")]
        return [Cell(form(value), sort_key(value)) if side in sides else _NONE for side, value in values]

    cells = (
        Cell(row["kind"], row["kind"]),
        Cell(signed_ns(row["difference_ns"]), sort_key(row["difference_ns"])),
        *pair("ns", units.format_ns),
        *(_fitted(row, side) if side in sides else _NONE for side in ("base", "new")),
        _words(*(row[f"{side}_precision"] for side in sides)),
        _words(*(row[f"{side}_class"] for side in sides)),
        _words(row["path"]),
        *pair("count", units.format_count),
    )
    return Row(1, "", "", " → ".join(names), cells, full=" → ".join(full))


def _fitted(row: Mapping[Any, Any], side: str) -> Cell:
    """Tensor Active of a kernel on one side."""
    value, fit = row[f"{side}_tensor_active_pct"], row[f"{side}_fit"]
    return Cell(format_fitted(value, fit, units.format_pct), sort_key(value))


def _words(*texts: str) -> Cell:
    """What both sides are, once where they agree."""
    shown = " → ".join(dict.fromkeys(one_line(text, 40) or units.UNKNOWN for text in texts))
    return Cell(shown, "" if shown == units.UNKNOWN else shown)


def list_noise_floor(comparison: Comparison, gpu: int) -> Listing:
    """How much the recordings of each side differ."""
    rows = comparison.noise_floor[comparison.noise_floor["gpu"] == gpu]
    cells: list[tuple[str, ...]] = [
        (_NOISE_TITLES[name], one_line(side, 40), units.format_count(count), f"{ratio:.3f}x" if ratio == ratio else "–")
        for name, side, count, ratio in zip(
            rows["quantity"], rows["side"], rows["recording_count"], rows["ratio"], strict=True
        )
    ]
    return Listing("", ("median per iteration", "side", "recordings", "largest / smallest"), cells)


def list_provenance(sides: Sequence[ShownSide]) -> list[tuple[str, bool, list[tuple[str, ...]]]]:
    """Facts of all recordings: name, whether the sides differ in it, and for each side what its recordings have."""
    facts = [[dict(describe_provenance(each)) for each in shown.side.recordings] for shown in sides]
    names = dict.fromkeys(name for side in facts for each in side for name in each)
    told = []
    for name in names:
        texts = [tuple(dict.fromkeys(each.get(name, units.UNKNOWN) for each in side)) for side in facts]
        told.append((name, len(set(texts)) > 1, texts))
    return told
