"""Tables: headings and cells, and how they are made of the columns of frames and their values."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, SupportsFloat

from tcprof import units
from tcprof.frames import Column

BECAME = " → "  # between what something was and what it became, in the name of a row
_MARKED = re.compile(r"(?<!\\)[*`](\w+)[*`]")


@dataclass(frozen=True)
class Heading:
    """A column of a table; text where space is scarce shows the ``brief`` ones, a page the ``shown`` ones at first.

    Attributes:
        unit: What its numbers are measured in, as ``tcprof.units`` knows it.
        words: Whether its values are words.
        brief_value: Whether a brief one shows the value itself, and not only what follows it.
        before: What precedes a value, such as base and new before their ratio.
        value: What the value itself is then called, such as ratio.
        after: What follows it, such as its interval.
        columns: What its numbers are called in a file, with their units; the title if empty.
        short: Its title where space is scarce, if another; what precedes a line break is that of a group of columns.
        spare: Where a terminal lacks space, the columns with the highest number leave first; 0 for one that stays.
        note: What is to be said below a table where space is scarce, if the column is in it; a page says it elsewhere.
        shown: A table of eight fits a laptop's screen.
    """

    title: str
    meaning: str = ""
    unit: str = ""
    words: bool = False
    brief: bool = True
    brief_value: bool = True
    before: tuple[str, ...] = ()
    value: str = ""
    after: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    short: str = ""
    spare: int = 0
    note: str = ""
    shown: bool = True


@dataclass(frozen=True)
class Strip:
    """A change with its interval on a scale from 0 to 100, where 50 is no change; what lies beyond is at its end."""

    low: float
    width: float
    value: float


@dataclass(frozen=True)
class Cell:
    """One value.

    Attributes:
        sort: The number to sort by, or the word; empty where unknown.
        before: Texts before it, one for each of the heading's.
        after: Texts behind it, likewise.
        bar: Length of a bar below it, in percent; negative for none.
        of_time: Whether the bar is a share of time; else Tensor Active, which has a colour of its own.
        values: Its numbers in a file, one for each column of the heading; what it is sorted by if empty.
        mark: A remark on the value, shown behind it, such as ~ where it is inconclusive.
        tone: better or worse, of a change that is one of them; else empty.
        unit: What it is measured in, where its row's name ends with that: text leaves it out where space is scarce.
    """

    text: str
    sort: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    bar: float = -1.0
    of_time: bool = False
    values: tuple[str, ...] = ()
    strip: Strip | None = None
    mark: str = ""
    tone: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table; its name is one line of untrusted text.

    Attributes:
        depth: How deep it lies in the tree; 1 for the outermost, 0 for the whole capture.
        ancestors: What it lies in, as text before the name.
        domain: NVTX domain of a path; empty for the default one.
        nested: Whether the row that it lies in is shown, so that its indentation says where it is.
        tag: A remark on it.
        full: What its name was cut from.
        short: Its name where a long one is in the way, as on a page; the name if empty.
        item: Row of the frame of paths or kernels, or number of the module, by which a page knows it; -1 for none.
        alike: The numbers of all modules that it stands for, where they are several.
        group: What it is one of, by which a page can choose rows, such as a part of a waterfall; empty for nothing.
    """

    name: str
    cells: tuple[Cell, ...]
    depth: int = 1
    ancestors: str = ""
    domain: str = ""
    nested: bool = False
    tag: str = ""
    full: str = ""
    short: str = ""
    item: int = -1
    alike: tuple[int, ...] = ()
    group: str = ""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: What it is called among the parts of its document, such as ``ranges-0``.
        title: The heading above it; may be empty.
        first: Title of the column of names.
        hidden: Rows that are left out.
        more: What is left out, and how to see it, as a sentence behind their number; empty where nothing is.
        caption: For those who see the table alone.
        items: What its rows are on a page: ranges, kernels or modules, which can be selected; empty for none of them.
        search: What can be searched in it; empty where that is of no use.
        total: Whether the last row is the sum of the others.
    """

    name: str
    title: str
    first: str
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    hidden: int = 0
    more: str = ""
    gpu: int = 0
    caption: str = ""
    items: str = ""
    search: str = ""
    total: bool = False


def heading(column: Column, **changes: Any) -> Heading:
    """The heading of a frame's column.

    Args:
        changes: Attributes of the heading that differ from the column's.
    """
    known = {
        "title": column.title,
        "meaning": _plain(column.meaning),
        "unit": column.unit,
        "words": column.is_text,
        "columns": (column.name,),
    }
    return Heading(**{**known, **changes})


def _plain(meaning: str) -> str:
    """A meaning without the marks of the documentation, which is made of the same sentences."""
    return _MARKED.sub(r"\1", meaning).replace("\\*", "*")


def sort_key(value: SupportsFloat) -> str:
    """A number as a file and a page's script read it; empty where unknown."""
    number = float(value)
    return f"{number:.9g}" if math.isfinite(number) else ""


def number_cell(value: float, column: Column) -> Cell:
    """A number of a frame's column."""
    return Cell(column.format(value), sort_key(value))


def word_cell(text: str) -> Cell:
    """A word, already fit to be shown."""
    return Cell(text or "–", text)


def bar_length(percent: float) -> float:
    """The length of a bar for a percentage."""
    return round(min(max(float(percent), 0), 100), 2) if math.isfinite(percent) else -1.0


def time_cell(time_ns: float, whole_ns: float, unit: str = "ns") -> Cell:
    """A time with its share of a whole, both in nanoseconds.

    Args:
        whole_ns: What it is a share of.
        unit: The unit of its number in a file: ns or s.
    """
    share = 100 * time_ns / whole_ns if whole_ns > 0 else math.nan
    values = (sort_key(time_ns * (1e-9 if unit == "s" else 1)), sort_key(share))
    if not values[0] or not values[1]:
        return Cell(units.format_ns(time_ns), values[0], after=("",), values=values)
    text, beside = units.format_ns(time_ns), units.format_pct(share)
    return Cell(text, values[0], after=(beside,), bar=bar_length(share), of_time=True, values=values)


def interval_cell(percent: float, low: float, high: float) -> Cell:
    """A percentage with its interval behind it, and a bar."""
    values = (sort_key(percent), sort_key(low), sort_key(high))
    text = units.format_pct(percent)
    if not values[0]:
        return Cell(text, "", after=(units.UNKNOWN,), values=values)
    interval = units.format_pct_interval(low, high) or units.UNKNOWN
    return Cell(text, values[0], after=(interval,), bar=bar_length(percent), values=values)


def plus_minus_cell(percent: float, low: float, high: float) -> Cell:
    """A percentage with the larger half of its interval behind it, and a bar."""
    half = max(high - percent, percent - low)
    beside = f"±{units.format_pct(half)}" if half >= 0 else units.UNKNOWN
    return replace(interval_cell(percent, low, high), after=(beside,))


def column_cell(row: Mapping[Any, Any], column: Column) -> Cell:
    """A number of a row, as its column is written; marked where it is a lower bound."""
    text = column.format(row[column.name])
    return Cell(units.at_least(text) if column.is_lower_bound(row) else text, sort_key(row[column.name]))
