"""Tables: headings and cells, and how they are made of the columns of frames and their values."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, SupportsFloat

from tcprof import units

if TYPE_CHECKING:  # --help loads the formats, and should not wait for pandas
    from tcprof.frames import Column

BECAME = " → "  # between what something was and what it became, in the name of a row
_MARKED = re.compile(r"(?<!\\)[*`](\w+)[*`]")


@dataclass(frozen=True)
class Heading:
    """A column of a table; text where space is scarce shows the ``brief`` ones, a page at first those ``on_page``."""

    title: str
    meaning: str = ""
    unit: str = ""  # what its numbers are measured in, as ``tcprof.units`` knows it
    words: bool = False
    brief: bool = True
    brief_value: bool = True  # whether a brief one shows the value itself, and not only what follows it
    before: tuple[str, ...] = ()  # what precedes a value, such as base and new before their ratio
    value: str = ""  # what the value itself is then called, such as ratio
    after: tuple[str, ...] = ()  # what follows it, such as its interval
    columns: tuple[str, ...] = ()  # what its numbers are called in a file, with their units; the title if empty
    short: str = ""  # its title where space is scarce; what precedes a line break is that of a group of columns
    spare: int = 0  # where a terminal lacks space, the highest number leaves first; 0 stays
    note: str = ""  # what is said below a table where space is scarce, if the column is in it
    on_page: bool = True  # at first: a table of eight fits a laptop's screen

    @staticmethod
    def of(column: "Column", **changes: Any) -> "Heading":
        """Make the heading of a frame's column."""
        fields = {
            "title": column.title,
            "meaning": _MARKED.sub(r"\1", column.meaning).replace("\\*", "*"),
            "unit": column.unit,
            "words": column.is_text,
            "columns": (column.name,),
        }
        return Heading(**{**fields, **changes})


@dataclass(frozen=True)
class Strip:
    """A change with its interval on a scale from 0 to 100, where 50 is no change; what lies beyond is at its end."""

    low: float
    width: float
    value: float


@dataclass(frozen=True)
class Cell:
    """One value."""

    text: str
    sort: str = ""  # the number to sort by, or the word; empty where unknown
    before: tuple[str, ...] = ()  # texts before it, one for each of the heading's
    after: tuple[str, ...] = ()  # texts behind it, likewise
    bar: float = -1.0  # length of a bar below it, in percent; negative for none
    of_time: bool = False  # whether the bar is a share of time; else Tensor Active, which has a colour of its own
    values: tuple[str, ...] = ()  # its numbers in a file, one for each of the heading's columns; ``sort`` if empty
    strip: Strip | None = None
    mark: str = ""  # a remark on the value, shown behind it, such as ~ where it is inconclusive
    tone: str = ""  # better or worse, of a change that is one of them; else empty
    unit: str = ""  # its unit, where its row's name ends with that: text leaves it out where space is scarce

    @staticmethod
    def number(value: float, column: "Column") -> "Cell":
        """Make a number of a frame's column."""
        return Cell(column.format(value), sort_key(value))

    @staticmethod
    def of_column(row: Mapping[Any, Any], column: "Column") -> "Cell":
        """Make a number of a row, as its column is written; marked where it is a lower bound."""
        text = column.format(row[column.name])
        return Cell(units.at_least(text) if column.is_lower_bound(row) else text, sort_key(row[column.name]))

    @staticmethod
    def word(text: str) -> "Cell":
        """Take a word that is fit to be shown."""
        return Cell(text or "–", text)

    @staticmethod
    def time(time_ns: float) -> "Cell":
        """Make a time, in nanoseconds."""
        return Cell(units.format_ns(time_ns), sort_key(time_ns))

    @staticmethod
    def signed_time(time_ns: float, **further: Any) -> "Cell":
        """Make a difference of times."""
        return Cell(units.format_signed_ns(time_ns), sort_key(time_ns), **further)

    @staticmethod
    def percent(value: float) -> "Cell":
        """Make a percentage."""
        return Cell(units.format_pct(value), sort_key(value))

    @staticmethod
    def p_value(value: float) -> "Cell":
        """Make a p value."""
        text = units.UNKNOWN if math.isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"
        return Cell(text, sort_key(value))

    @staticmethod
    def change(change: float, in_points: bool, **further: Any) -> "Cell":
        """Make a change: a ratio, or of percentages a difference in points."""
        return Cell(units.format_change(change, in_points), sort_key(change), **further)

    @staticmethod
    def change_interval(low: float, high: float, in_points: bool, **further: Any) -> "Cell":
        """Make the interval of such a change."""
        return Cell(
            units.format_change_interval(low, high, in_points), values=(sort_key(low), sort_key(high)), **further
        )

    @staticmethod
    def share(time_ns: float, whole_ns: float, unit: str = "ns") -> "Cell":
        """Make a time with its share of a whole, both in nanoseconds; a file has it in ``unit``, ns or s."""
        share = 100 * time_ns / whole_ns if whole_ns > 0 else math.nan
        text, values = units.format_ns(time_ns), (sort_key(time_ns * (1e-9 if unit == "s" else 1)), sort_key(share))
        if not all(values):
            return Cell(text, values[0], after=("",), values=values)
        beside = units.format_pct(share)
        return Cell(text, values[0], after=(beside,), bar=bar_length(share), of_time=True, values=values)

    @staticmethod
    def interval(percent: float, low: float, high: float) -> "Cell":
        """Make a percentage with its interval behind it, and a bar."""
        values = (sort_key(percent), sort_key(low), sort_key(high))
        text = units.format_pct(percent)
        if not values[0]:
            return Cell(text, "", after=(units.UNKNOWN,), values=values)
        interval = units.format_pct_interval(low, high) or units.UNKNOWN
        return Cell(text, values[0], after=(interval,), bar=bar_length(percent), values=values)

    @staticmethod
    def plus_minus(percent: float, low: float, high: float) -> "Cell":
        """Make a percentage with the larger half of its interval behind it, and a bar."""
        half = max(high - percent, percent - low)
        beside = f"±{units.format_pct(half)}" if half >= 0 else units.UNKNOWN
        return replace(Cell.interval(percent, low, high), after=(beside,))


@dataclass(frozen=True)
class Row:
    """A row of a table; its name is one line of untrusted text."""

    name: str
    cells: tuple[Cell, ...]
    depth: int = 1  # how deep it lies in the tree; 1 for the outermost, 0 for the whole capture
    ancestors: str = ""  # what it lies in, as text before the name
    domain: str = ""  # NVTX domain of a path; empty for the default one
    nested: bool = False  # whether the row that it lies in is shown, so that its indentation says where it is
    tag: str = ""
    full: str = ""  # what its name was cut from
    short: str = ""  # its name where a long one is in the way, as on a page; the name if empty
    item: int = -1  # row of the frame of paths or kernels, or number of the module, on a page; -1 for none
    alike: tuple[int, ...] = ()  # the numbers of all modules that it stands for, where they are several
    group: str = ""  # by which a page can choose rows, such as a part of a waterfall


@dataclass(frozen=True)
class Table:
    """A table."""

    name: str  # what it is called among the parts of its document, such as ``ranges-0``
    title: str
    first: str  # title of the column of names
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    hidden: int = 0  # rows that are left out
    more: str = ""  # what is left out, and how to see it, as a sentence behind their number; empty where nothing is
    gpu: int = 0
    caption: str = ""  # for those who see the table alone
    search: str = ""  # what can be searched in it; empty where that is of no use
    total: bool = False  # whether the last row is the sum of the others
    folded: bool = False  # whether a medium that can fold shows its title alone at first
    is_cut: bool = False  # whether other output has all of it, so that nothing is said of columns without space


def sort_key(value: SupportsFloat) -> str:
    """Write a number as a file and a page's script read it; empty where unknown."""
    number = float(value)
    return f"{number:.9g}" if math.isfinite(number) else ""


def bar_length(percent: float) -> float:
    """Limit a percentage to the length of a bar; negative where unknown."""
    return round(min(max(float(percent), 0), 100), 2) if math.isfinite(percent) else -1.0
