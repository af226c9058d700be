"""Tables in lines of text: which columns there is space for, how wide they are, and how names are shortened."""

import textwrap
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby

from rich.cells import cell_len

from tcprof import units
from tcprof.render.formats import Style
from tcprof.untrusted import printable
from tcprof.views.tables import BECAME, Cell, Heading, Table

DEEPEST_INDENT = 15  # levels; what lies deeper is not moved further
_NAME_ROOM = 28  # columns that a name gets, behind its indentation, before columns of figures leave for it
_LEAST_ROOM = 12  # what names keep however narrow the terminal is: then lines are longer than it
_MOST_ROOM = 64  # what names take of a terminal, or half of it: figures far from their names are hard to read
_MOST_LINES, _FEW_LINES = 3, 2  # of a head; of a table that is cut to be short
_INDENT = _GAP = "  "


@dataclass(frozen=True)
class BriefColumn:
    """A column as it is shown where space is scarce."""

    title: str
    texts: list[str]  # its texts, one for each row
    words: bool = False
    group: str = ""  # title of the columns that it belongs to; empty where it stands alone
    heading: int = 0  # the heading that it belongs to: its place in the table
    before: bool = False  # whether it precedes the heading's own values

    @property
    def full_title(self) -> str:
        """Return its title in one line, with that of its group."""
        return f"{self.group} {self.title}".lstrip()

    @cached_property
    def width(self) -> int:
        """Return the columns that its texts need."""
        return max([0, *map(width_of, self.texts)])


def brief_columns(table: Table) -> list[BriefColumn]:
    """List the columns that are shown where space is scarce. Units go into the titles."""
    columns: list[BriefColumn] = []
    for place, heading in enumerate(table.headings):
        if heading.brief:
            cells = [row.cells[place] if place < len(row.cells) else Cell("") for row in table.rows]
            columns += _columns_of(heading, cells, place)
    return columns


def _columns_of(heading: Heading, cells: Sequence[Cell], place: int) -> list[BriefColumn]:
    """List a heading's column, with those before and after it."""
    unit = " %" if units.unit_of_heading(heading.unit) == "%" else ""
    group, _, title = (heading.short or heading.title).rpartition("\n")
    if heading.before:
        group, title = title, heading.value
    group, title = (f"{group}{unit}", title) if group else ("", f"{title}{unit}")

    def beside(side: str, names: Sequence[str]) -> list[BriefColumn]:
        texts_beside = [getattr(cell, side) for cell in cells]
        measured = ["pct" if "%" in name else heading.unit for name in names]
        return [
            BriefColumn(
                name,
                [
                    printable(units.bare(texts[number], measured[number])) if number < len(texts) else ""
                    for texts in texts_beside
                ],
                group=group if side == "before" else "",
                heading=place,
                before=side == "before",
            )
            for number, name in enumerate(names)
        ]

    values = [printable(units.bare(cell.text, cell.unit or heading.unit)) for cell in cells]
    if marked := max((len(cell.mark) for cell in cells), default=0):  # the digits stay aligned all the same
        values = [f"{value} {cell.mark:<{marked}}" for value, cell in zip(values, cells, strict=True)]
    columns = [BriefColumn(title, values, heading.words, group, place)] if heading.brief_value else []
    return [*beside("before", heading.before), *columns, *beside("after", heading.after)]


def list_notes(table: Table, columns: Sequence[BriefColumn]) -> list[str]:
    """List the notes on the columns that are shown, each once."""
    notes = dict.fromkeys(table.headings[column.heading].note for column in columns)
    return [note for note in notes if note]


@dataclass(frozen=True)
class Label:
    """The name of a row."""

    name: str  # the name; of a row that does not lie in the one above it, with all that it lies in
    indent: int = 0  # columns that it is moved to the right
    grid: str = ""  # of a kernel, which distinguishes those of one name

    def __str__(self) -> str:
        return " " * self.indent + self.name

    def wanted(self, most: int) -> int:
        """Return the columns that it should have, at most so many."""
        return min(min(self.indent, most // 2) + min(width_of(self.name), _NAME_ROOM), most)


def label_rows(table: Table) -> list[Label]:
    """Label all rows: indented in a tree, or by the whole path where the row around one is not shown."""
    labels, root = [], 1  # the depth of the row that a tree begins with
    for row in table.rows:
        grid = printable(row.tag).partition(" ")[0]
        if not row.depth:
            labels.append(Label(f"({printable(row.name)})"))
        elif row.nested:
            levels = min(max(row.depth - root, 0), DEEPEST_INDENT)
            labels.append(Label(printable(row.name), len(_INDENT) * levels, grid))
        else:
            root = row.depth
            name = f"{row.name} [{row.domain}]" if row.domain else row.name
            labels.append(Label(printable(f"{row.ancestors}{name}"), grid=grid))
    return labels


def _fit(labels: Sequence[Label], rooms: Sequence[int]) -> list[str]:
    indents = [min(label.indent, room // 2) for label, room in zip(labels, rooms, strict=True)]
    rooms = [room - indent for room, indent in zip(rooms, indents, strict=True)]
    names = [shorten(label.name, room) for label, room in zip(labels, rooms, strict=True)]
    count = Counter(names)
    for number, (label, room) in enumerate(zip(labels, rooms, strict=True)):
        if label.grid and count[names[number]] > 1:
            names[number] = f"{shorten(label.name, room - len(label.grid) - 1)} {label.grid}"
    return [" " * indent + name for indent, name in zip(indents, names, strict=True)]


@dataclass(frozen=True)
class _Figures:
    """The columns beside the names: how wide each is, and the lines above them."""

    columns: list[BriefColumn]
    widths: list[int]
    head: list[str]

    @property
    def width(self) -> int:
        """Return the width of all of them, each with the gap before it."""
        return sum(len(_GAP) + width for width in self.widths)

    def line(self, number: int) -> str:
        """Join the texts of a row."""
        texts = (_right(column.texts[number], width) for column, width in zip(self.columns, self.widths, strict=True))
        return "".join(f"{_GAP}{text}" for text in texts)


def set_table(table: Table, style: Style) -> tuple[list[str], list[str], list[str], list[str]]:
    """Set a table in lines, with its head and notes; headings with a ``spare`` leave first, then names are cut."""
    labels = label_rows(table)
    beside = [label for label, row in zip(labels, table.rows, strict=True) if row.cells]
    longest = max((width_of(str(label)) for label in beside), default=0)
    every = brief_columns(table)
    most_lines = _FEW_LINES if table.is_cut else _MOST_LINES
    figures = _set_figures(every, most_lines)
    room = max(longest, width_of(table.first))
    if not style.wide:
        wanted = max((label.wanted(style.width // 2) for label in beside), default=0)
        wanted = max(wanted, min(room, _LEAST_ROOM))  # what the title of the names gets
        while style.width - figures.width < wanted and (kept := _spare(table, figures.columns)) != figures.columns:
            figures = _set_figures(kept, most_lines)
        most = min(style.width - figures.width, max(_MOST_ROOM, style.width // 2))
        room = min(room, max(most, _LEAST_ROOM))
    first = [shorten(line, room) for line in _wrap_title(printable(table.first), room)]
    room = max(min(room, longest), *map(width_of, first))
    head = [line.rstrip() for line in _stack([[_left(line, room) for line in first], figures.head])]
    # Nothing stands beside the title of a group of rows.
    rooms = [room if row.cells else max(style.width, room) for row in table.rows]
    names = list(map(str, labels)) if style.wide else _fit(labels, rooms)
    rows = [f"{_left(name, room)}{figures.line(number)}".rstrip() for number, name in enumerate(names)]
    return head, rows, list_notes(table, figures.columns), _name_left(table, every, figures.columns)


def _spare(table: Table, columns: list[BriefColumn]) -> list[BriefColumn]:
    """Drop the columns of the heading that can be spared best, or only what precedes its values."""
    spare = {column.heading: table.headings[column.heading].spare for column in columns}
    leaving = max(spare, key=lambda place: (spare[place], place), default=None)
    if leaving is None or not spare[leaving]:
        return columns
    before = [column for column in columns if column.heading == leaving and column.before]
    return [column for column in columns if (column not in before if before else column.heading != leaving)]


def _name_left(table: Table, every: list[BriefColumn], kept: list[BriefColumn]) -> list[str]:
    names, kept_headings = [], {column.heading for column in kept}
    left = (column for column in every if column not in kept)
    for place, columns in groupby(left, key=lambda column: column.heading):
        part = f" {' and '.join(column.title for column in columns)}" if place in kept_headings else ""
        names.append(f"{table.headings[place].title}{part}")
    return names


def _set_figures(columns: list[BriefColumn], most: int) -> _Figures:
    """Set columns in as little space as their texts and titles take; the title of a group stands over all of it."""
    widths: list[int] = []
    blocks: list[list[str]] = []
    for group, several in groupby(columns, key=lambda column: column.group or id(column)):
        members = list(several)
        titles = [_wrap_title(column.title, column.width, most - bool(column.group)) for column in members]
        taken = [max(column.width, *map(width_of, lines)) for column, lines in zip(members, titles, strict=True)]
        above: list[str] = []
        if isinstance(group, str):
            whole = sum(taken) + len(_GAP) * (len(taken) - 1)
            lines = _wrap_title(group, whole, most - max(map(len, titles)))
            taken[0] += max(0, *(width_of(line) - whole for line in lines))
            above = [line.center(max(whole, *map(width_of, lines))) for line in lines]
        stacked = _stack([[_right(line, n) for line in lines] for lines, n in zip(titles, taken, strict=True)], _GAP)
        widths += taken
        blocks.append([_GAP + line for line in (*above, *stacked)])
    return _Figures(columns, widths, _stack(blocks))


def _wrap_title(title: str, width: int, most: int = _MOST_LINES) -> list[str]:
    """Wrap a title in lines that are no wider than they must be, whole words each."""
    width = max(1, width, *map(len, title.replace("-", "- ").split(" ")))
    while len(lines := textwrap.wrap(title, width, break_long_words=False)) > most:
        width += 1
    return lines or [""]


def _stack(blocks: Sequence[Sequence[str]], gap: str = "") -> list[str]:
    """Blocks of lines side by side, their last lines in one line."""
    height = max(map(len, blocks), default=0)
    filled = [[" " * width_of(block[0])] * (height - len(block)) + list(block) for block in blocks if block]
    return [gap.join(parts) for parts in zip(*filled, strict=True)]


def _left(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def _right(text: str, width: int) -> str:
    return " " * (width - width_of(text)) + text


_ELLIPSIS = "…"


def width_of(text: str) -> int:
    """Count the columns that a terminal needs for a text: two for each character of Chinese, Japanese or Korean."""
    return len(text) if text.isascii() else cell_len(text)


def shorten(text: str, room: int) -> str:
    """Cut the middle out of a text that takes more than so many columns; of what became another, out of both."""
    if width_of(text) <= room:
        return text
    was, arrow, became = text.partition(BECAME)
    if arrow and room > 4 * len(arrow):
        left = room - len(arrow)
        first = left - min(width_of(became), max(left // 2, left - width_of(was)))
        return f"{shorten(was, first)}{arrow}{shorten(became, left - first)}"
    before = [0, *accumulate(map(width_of, text))]  # columns before each character
    begin = bisect_right(before, (room - 1) // 3) - 1  # the ends of kernels' names tell more
    end = bisect_left(before, before[-1] - (room - 1 - before[begin]))
    return f"{text[:begin]}{_ELLIPSIS}{text[end:]}"
