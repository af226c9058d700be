"""A document: what is said, with no medium in it. Views make documents; ``tcprof.render`` shows them.

A document is a sequence of parts: notes, tables, figures, tiles and facts, alone or in sections. Beside them are the
frames and values that JSON and CSV have, whole, where a table may leave out rows and columns.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tcprof.views.drawing import Icicle
from tcprof.views.glance import Lead, Leads, Summary

if TYPE_CHECKING:
    import pandas as pd

BECAME = " → "  # between what something was and what it became, in the name of a row


@dataclass(frozen=True)
class Heading:
    """A column of a table.

    Attributes:
        title: Its title.
        meaning: What its values mean.
        unit: What its numbers are measured in, as ``tcprof.units`` knows it.
        words: Whether its values are words.
        brief: Whether it is shown where space is scarce: in the terminal and in Markdown.
        brief_value: Whether then the value itself is, and not only what follows it.
        before: What precedes a value, such as base and new before their ratio.
        value: What the value itself is then called, such as ratio.
        after: What follows it, such as its interval.
        columns: What its numbers are called in a file, with their units; the title if empty.
        short: Its title where space is scarce, if another; what precedes a line break is that of a group of columns.
        spare: Where a terminal lacks space, the columns with the highest number leave first; 0 for one that stays.
        note: What is to be said below a table where space is scarce, if the column is in it; a page says it elsewhere.
        shown: Whether a page shows it before its reader has chosen columns; a table of eight fits a laptop's screen.
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
        text: What is read.
        sort: The number to sort by, or the word; empty where unknown.
        before: Texts before it, one for each of the heading's.
        after: Texts behind it, likewise.
        bar: Length of a bar below it, in percent; negative for none.
        of_time: Whether the bar is a share of time; else Tensor Active, which has a colour of its own.
        values: Its numbers in a file, one for each column of the heading; what it is sorted by if empty.
        strip: A change with its interval, to be drawn.
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
    """A row of a table.

    Attributes:
        name: Its own name, as one line of untrusted text.
        cells: Its values, one for each heading.
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
        headings: Its other columns.
        rows: Its rows.
        hidden: Rows that are left out.
        more: What is left out, and how to see it, as a sentence behind their number; empty where nothing is.
        gpu: Number of the GPU that it is about.
        caption: What it holds, for those who see it alone.
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


@dataclass(frozen=True)
class Notes:
    """Lines of text that belong together. They may hold names of a recording, and are not escaped.

    Attributes:
        lines: Sentences.
        role: What they are for, where they are more than a note.
        items: A list below them.
    """

    lines: tuple[str, ...]
    role: str = "note"
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Code:
    """Lines to copy, as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A figure of plotly, which is made when a medium draws it.

    Attributes:
        name: What it is called among the parts of its document.
        caption: What it shows, for those who cannot see it.
        make: Makes it.
        notes: What is to be said about it.
        absent: What is said where there is nothing to draw.
        chooses: Whether a click on it shows some rows of a table alone; a page then says so below it.
    """

    name: str
    caption: str
    make: Callable[[], Any]
    notes: tuple[str, ...] = ()
    absent: str = ""
    chooses: bool = False


@dataclass(frozen=True)
class Facts:
    """Names with their values: of one thing, or of several side by side.

    Attributes:
        rows: For each fact its name, whether the things differ in it, and the texts of each thing.
        things: What the things are called; empty for a single one.
    """

    rows: tuple[tuple[str, bool, tuple[tuple[str, ...], ...]], ...]
    things: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """One thing that was checked: pass, warn or fail, what it is, what was found, and what to do."""

    status: str
    name: str
    evidence: str
    remedy: str = ""


@dataclass(frozen=True)
class Checklist:
    """Things that were checked."""

    items: tuple[Item, ...]


@dataclass(frozen=True)
class Commands:
    """Things with the commands that one copies: of each its name, sentences on it, and the command."""

    items: tuple[tuple[str, tuple[str, ...], str], ...]


Part: TypeAlias = (
    "Notes | Code | Summary | Lead | Leads | Icicle | Table | Figure | Facts | Checklist | Commands | Section"
)


@dataclass(frozen=True)
class Section:
    """Parts under a title.

    Attributes:
        name: What it is called among the parts of its document, and in links.
        title: Its title.
        parts: What it holds.
        linked: What links to it are called; the title if empty.
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    linked: str = ""


@dataclass(frozen=True)
class Document:
    """What a command says.

    Attributes:
        kind: What it is about: ranges, kernels, timeline, comparison, doctor, workloads.
        parts: What it says, in the order of reading.
        faults: Why its figures cannot be trusted; shown before any of them.
        warnings: What else its reader must know.
        base: What is left out of the figures; shown with the other notes, or where there is no place, as a warning.
        data: What JSON has, in order: frames and plain values.
        rows: What CSV has; None where it has no rows.
        if_empty: What is said where there are no rows.
        gate: The judgements of a gate, see ``tcprof.comparison.gate.judge``.
        title: What it is called where several documents are shown.
    """

    kind: str
    parts: tuple[Part, ...] = ()
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    rows: "pd.DataFrame | None" = None
    if_empty: str = "Nothing in the recording is what the options ask for."
    gate: Any = None
    title: str = ""
