"""A document: what is said, with no medium in it. Views make documents; ``tcprof.render`` shows them.

A document is a sequence of parts: notes, tables, figures, tiles and facts, alone or in sections. Beside them are the
frames and values that JSON and CSV have, whole, where a table may leave out rows and columns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from tcprof.views.tables import Row, Table

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.analysis import Analysis
    from tcprof.analysis.gaps import Gaps
    from tcprof.frames import Column
    from tcprof.record.diagnosis import MachineCheck


_MOST_PLAIN = 50  # rows of a table for readers without scripts
# Roles of notes: what Markdown begins with; a page's title, where its document has none, and a line below it; what the
# figures leave out; and cautions.
VERDICT, TITLE, SUBTITLE, BASE, WARNINGS = "verdict", "title", "subtitle", "base", "warnings"


class Medium(StrEnum):
    """Where a document is shown: as text of any format, or as a page with figures."""

    SCREEN = "screen"
    PAGE = "page"


@dataclass(frozen=True)
class Notes:
    """Sentences that belong together, with a list below. They may hold names of a recording, and are not escaped."""

    lines: tuple[str, ...]
    role: str = "note"  # what they are for, where they are more than a note; an aside is how to read what follows
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Code:
    """Lines to copy, as they are."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A figure of plotly, which is made when a medium draws it."""

    name: str
    caption: str
    make: Callable[[], Any]
    notes: tuple[str, ...] = ()
    absent: str = ""  # what is said where there is nothing to draw
    chooses: bool = False  # whether a click on it shows some rows of a table alone; a page then says so below it


@dataclass(frozen=True)
class Icicle:
    """Time in parts of parts, as rows of bars that ``web/src/icicle.ts`` draws: of a recording, or of two sides."""

    name: str
    title: str
    caption: str
    gpu: int
    trees: tuple[str, ...]  # what each way to divide the time is called
    data: Mapping[str, Any]  # the trees themselves, and the colours, for the script
    sides: tuple[str, ...] = ()  # names of two sides, on one scale of time; empty for a recording
    colors: tuple[str, ...] = ()  # theirs
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeatMap:
    """Figures of each rank in each step, as cells that ``web/src/heatmap.ts`` draws; rows are as ``ranks``."""

    ranks: tuple[int, ...]
    order: tuple[int, ...]  # their places, what costs most first
    first_steps: tuple[int, ...]  # number of the first step of each column
    metrics: "tuple[tuple[Column, bool, pd.DataFrame], ...]"  # of each its column, whether much is bad, the values
    links: tuple[str, ...] = ()  # to the ranks' own pages, with a fragment; empty for none; empty if all are


@dataclass(frozen=True)
class Timeline:
    """Samples, ranges and work over time, which a page's own script draws: see ``tcprof.render.html.timeline``."""

    analysis: "Analysis"
    gaps: "Gaps"


@dataclass(frozen=True)
class FactList:
    """Names with their values: of one thing, or of several side by side."""

    rows: tuple[tuple[str, bool, tuple[tuple[str, ...], ...]], ...]  # name, whether things differ, texts of each
    things: tuple[str, ...] = ()  # what the things are called; empty for a single one
    colors: tuple[str, ...] = ()  # of the things, where each has one


@dataclass(frozen=True)
class SideName:
    """A side of a comparison, as it stands below a page's title."""

    role: str
    name: str
    color: str
    facts: tuple[str, ...]
    links: tuple[tuple[str, str], ...]  # to reports beside the page, each with what it is called


@dataclass(frozen=True)
class SideNames:
    """The sides of a comparison, the baseline first."""

    items: tuple[SideName, ...]


@dataclass(frozen=True)
class Checklist:
    """Things that were checked."""

    items: "tuple[MachineCheck, ...]"


@dataclass(frozen=True)
class Commands:
    """Things with the commands that one copies: of each its name, sentences on it, and the command."""

    items: tuple[tuple[str, tuple[str, ...], str], ...]


@dataclass(frozen=True)
class MetricTile:
    """One figure: what, how much, its 95 % interval, and over which window."""

    title: str
    value: str
    interval: str
    caption: str


@dataclass(frozen=True)
class Share:
    """A part of the time: what it is, in percent and as text, and its colour."""

    title: str
    pct: float
    text: str
    color: str


@dataclass(frozen=True)
class Summary:
    """A GPU at a glance: its title, the verdict, figures, and checks, see ``tcprof.findings.Check``."""

    gpu: int
    title: str
    verdict: tuple[str, ...]  # sentences, the most important first
    figures: tuple[MetricTile, ...] = ()  # three that are read at a glance, and further ones
    shares: tuple[Share, ...] = ()  # what the time went to; empty where that is not known
    checks: tuple[Any, ...] = ()
    line: str = ""  # step time, Tensor Active, GPU idle, and how many steps
    headline: tuple[str, ...] = ()  # the verdict in two short sentences
    where: str = ""  # how busy the Tensor Cores were in which ranges
    measured: str = ""  # what these and the figures are over
    checked: str = ""  # how many checks pass, and which do not, in one line


@dataclass(frozen=True)
class TopFinding:
    """What to do first: one finding with what it saves."""

    name: str  # by which a page selects it: its rule, numbered where several are of one
    rule: str  # what ``--fail-if`` calls it
    action: str  # what to do
    gain: str = ""  # what it saves; empty where that is not known
    saving: str = ""  # the time of it, as it stands in the gain; empty where nothing is saved
    saved_pct: tuple[float, float, float] = (0.0, 0.0, 0.0)  # least, likely and most, of what the gain is of
    sentence: str = ""  # what was found
    about: tuple[str, ...] = ()  # what it is about, as fragments of a page's address, see ``tcprof.views.paths``
    place: str = ""  # which GPU it is about, where there are several
    link: str = ""  # what selects all that it is about; empty for nothing
    confidence: str = ""  # high, medium or low
    condition: str = ""  # what would raise it, as a sentence; empty for nothing


@dataclass(frozen=True)
class TopFindings:
    """The findings that are worth most, the best first; what their gains are of, and what more there is."""

    items: tuple[TopFinding, ...]
    base: str = ""
    more: str = ""


@dataclass(frozen=True)
class KernelUse:
    """The launches of one kernel in one place, by what a reader may ask for."""

    phase: str  # such as forward; empty where neither a module nor a range tells it
    precision: str
    time_class: str
    is_tensor: bool  # whether the kernel executes matrix instructions
    ns: float  # sum of their durations, as the table's times are


@dataclass(frozen=True)
class Line:
    """A row, what a click on it selects, and the line that it lies in."""

    row: Row
    kind: str  # module, modules, range, kernel or gap; row for what selects nothing, empty for what only holds others
    parent: int = -1  # place of that line; -1 for none
    site: KernelUse | None = None  # where it is a kernel in a place, below what the table is grouped by


@dataclass(frozen=True)
class Grouping:
    """The table of one GPU, grouped by modules, ranges, kernels or gaps; ``table`` has its headings and no rows."""

    by: str
    table: Table
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    is_ordered: bool = False  # whether the order of its lines is that of a reader's first look

    @staticmethod
    def of_table(table: Table, by: str = "", notes: tuple[str, ...] = ()) -> "Grouping":
        """Make a table whose rows select nothing."""
        lines: list[Line] = []
        around: list[int] = []  # the line that one of each depth would lie in
        for number, row in enumerate(table.rows):
            del around[max(row.depth - 1, 0) if row.nested else 0 :]
            lines.append(Line(row, "row", next((outer for outer in reversed(around) if outer >= 0), -1)))
            around += [-1] * (row.depth - 1 - len(around)) + [number]
        return Grouping(by, replace(table, rows=()), tuple(lines), notes, is_ordered=True)

    @property
    def plain(self) -> Table:
        """Return the table for readers without scripts: its first rows and columns, without the kernels below them."""
        rows = [line.row for line in self.lines if not line.site and (line.kind or line.parent < 0)]
        hidden = self.table.hidden + max(len(rows) - _MOST_PLAIN, 0)
        kept = [place for place, heading in enumerate(self.table.headings) if heading.on_page]
        headings = tuple(self.table.headings[place] for place in kept)
        cut = tuple(
            replace(row, cells=tuple(replace(row.cells[place], sort="", values=()) for place in kept if row.cells))
            for row in rows[:_MOST_PLAIN]
        )
        return replace(self.table, headings=headings, rows=cut, hidden=hidden, search="")


@dataclass(frozen=True)
class Explorer:
    """One table that its reader groups, filters and opens: see ``web/src/explorer``."""

    groupings: tuple[Grouping, ...]
    name: str = "explorer"


Part: TypeAlias = (
    "Notes | Code | Summary | TopFinding | TopFindings | Icicle | HeatMap | Timeline | Table | Explorer | Figure |"
    "FactList | SideNames | Checklist | Commands | Section | Only"
)


class Chapter(StrEnum):
    """The parts of a page beside what is explored in it: what stands in the verdict, and what is below everything."""

    PICTURE = "picture"  # beside what to do first
    VERDICT = "verdict"  # below it, folded
    PANE = "pane"  # stays in view
    SOURCES = "sources"  # where the figures come from


@dataclass(frozen=True)
class Section:
    """Parts under a title; ``name`` and ``linked``, or else the title, are what links to it have."""

    name: str
    title: str
    parts: tuple[Part, ...]
    linked: str = ""
    chapter: str = ""  # which part of a page it is in, see ``Chapter``; empty for the one that is explored
    folded: bool = False  # whether a page shows its title alone at first
    beside: bool = False  # whether the sections in it stand beside each other, where there is space
    choice: bool = False  # whether a page shows one of its figures at a time


@dataclass(frozen=True)
class Only:
    """Parts for one medium alone, which are made when it shows them."""

    on: Medium
    make: Callable[[], Sequence[Part]]


@dataclass(frozen=True)
class Document:
    """What a command says, on the screen and on a page; what stands in no ``Only`` is for both."""

    kind: str  # what it is about: ranges, kernels, timeline, comparison, doctor, workloads
    parts: tuple[Part, ...] = ()
    faults: tuple[str, ...] = ()  # why its figures cannot be trusted, or compared; shown before any of them
    cautions: tuple[str, ...] = ()  # those of the faults that a page has in a section of their own
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # those of the warnings that text only counts, unless --notes asks for them
    base: tuple[str, ...] = ()  # what the figures leave out: among the notes, or where there is no place a warning
    data: Mapping[str, Any] = field(default_factory=dict)
    rows: "pd.DataFrame | None" = None  # what CSV has; None where it has no rows
    if_empty: str = "Nothing in the recording matches the options."  # what is said where there are no rows
    gate: Any = None  # what a gate says, see ``tcprof.views.comparison.gate``
    title: str = ""  # what it is called where several documents are shown
    headlines: tuple[str, ...] = ()  # one for each of several verdicts

    @property
    def lead(self) -> tuple[str, ...]:
        """Return what stands for all of it: the headlines, or two lines of the only verdict."""
        return self.headlines or next(
            (part.lines[:2] for part in self.shown_on(Medium.SCREEN) if isinstance(part, Notes)), ()
        )

    def shown_on(self, medium: Medium) -> tuple[Part, ...]:
        """List its parts for a medium."""
        parts: list[Part] = []
        for part in self.parts:
            if not isinstance(part, Only):
                parts.append(part)
            elif part.on == medium:
                parts += part.make()
        return tuple(parts)
