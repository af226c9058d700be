"""Documents for the terminal.

Names come from a recording and are untrusted: characters that a terminal acts upon are replaced, and Rich is given
text, never markup.
"""

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tcprof import units
from tcprof.render.formats import Style
from tcprof.untrusted import printable
from tcprof.views.document import (
    Cell,
    Checklist,
    Commands,
    Document,
    Facts,
    Heading,
    Notes,
    Part,
    Row,
    Section,
    Summary,
    Table,
)
from tcprof.views.gate import GateView

HAS = ("faults", "base", "gate", "doubt")
SUFFIXES = (".txt",)
WHOLE_CAPTURE = "(whole capture)"
LONGEST_LABEL = 160  # characters; JSON and CSV have names in full
_COLORS = {"pass": "32", "warn": "33", "cannot tell": "33", "fail": "1;31"}
_MARGIN = " " * 13


def render(document: Document, style: Style) -> str:
    """A document for a terminal: faults first, then what it says, a gate's outcome last."""
    parts = [wrap(f"warning: {fault}", style) for fault in document.faults]
    if style.color:
        parts = [part.replace("warning:", "\x1b[31m\x1b[1mwarning:\x1b[0m", 1) for part in parts]
    for part in document.parts:
        parts += render_part(part, style)
    if document.gate is not None:
        parts.append(render_gate(document.gate, style))
    return "\n\n".join(parts)


def render_part(part: Part, style: Style) -> list[str]:
    """A part as paragraphs; those that only a page can show are none."""
    if isinstance(part, Notes):
        return ["\n".join(wrap(line, style) for line in part.lines)] if part.lines else []
    if isinstance(part, Summary):
        return ["\n".join(wrap(line, style) for line in part.verdict)]
    if isinstance(part, Table):
        return [render_table(part, style)] if part.rows else []
    if isinstance(part, Section):
        inner = [text for each in part.parts for text in render_part(each, style)]
        return [f"{part.title}\n{inner[0]}", *inner[1:]] if inner and part.title else inner
    if isinstance(part, Facts):
        return [_render_facts(part, style)]
    if isinstance(part, Checklist):
        return [_render_checklist(part, style)]
    return _render_commands(part, style) if isinstance(part, Commands) else []


def wrap(text: str, style: Style) -> str:
    """A paragraph broken into lines; options such as --format stay whole, and so does what is set in columns."""
    if text.startswith("  "):
        return printable(text)
    return textwrap.fill(
        printable(text), style.width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def label_of(row: Row, length: int = LONGEST_LABEL) -> str:
    """The name of a row: in a tree by indentation, or whole where the row that it lies in is not shown."""
    if not row.depth:
        return WHOLE_CAPTURE
    name = row.name if row.nested else f"{row.ancestors}{row.name}"
    if row.domain and not row.nested:
        name += f" [{row.domain}]"
    text = "  " * (row.depth - 1) * row.nested + printable(name)
    return text if len(text) <= length else f"{text[: length - 1]}…"


@dataclass(frozen=True)
class Shown:
    """A column as it is shown where space is scarce: its title, its texts, and whether these are words."""

    title: str
    texts: list[str]
    words: bool = False


def brief_columns(table: Table) -> list[Shown]:
    """The columns that are shown where space is scarce. Units go into the titles."""
    columns: list[Shown] = []
    for place, heading in enumerate(table.headings):
        if heading.brief:
            cells = [row.cells[place] if place < len(row.cells) else Cell("") for row in table.rows]
            columns += _columns_of(heading, cells)
    return columns


def _columns_of(heading: Heading, cells: Sequence[Cell]) -> list[Shown]:
    """A heading's own column, with those of what precedes and follows its values."""
    symbol = units.unit_of_heading(heading.unit)
    title = (heading.short or heading.title) + (" %" if symbol == "%" else "")

    def beside(side: str, names: Sequence[str]) -> list[Shown]:
        found = [getattr(cell, side) for cell in cells]
        measured = ["pct" if "%" in name else heading.unit for name in names]
        return [
            Shown(name, [units.bare(each[place], measured[place]) if place < len(each) else "" for each in found])
            for place, name in enumerate(names)
        ]

    values = [units.bare(cell.text, heading.unit) for cell in cells]
    if marked := max((len(cell.mark) for cell in cells), default=0):  # the digits stay aligned all the same
        values = [f"{value} {cell.mark:<{marked}}" for value, cell in zip(values, cells, strict=True)]
    before, after = beside("before", heading.before), beside("after", heading.after)
    own = [Shown(heading.value if before else title, values, heading.words)] if heading.brief_value else []
    columns = [*before, *own, *after]
    if before:
        columns[0] = replace(columns[0], title=f"{title}\n{columns[0].title}")
    return columns


def render_table(table: Table, style: Style) -> str:
    """A table for a terminal: aligned columns, long names folded so that the table keeps to the width."""
    columns = brief_columns(table)
    wrapped = [_wrap_heading(column) for column in columns]
    lines = max([1, *(heading.count("\n") + 1 for heading in wrapped)])
    shown = RichTable(
        box=box.SIMPLE_HEAD, title=table.title or None, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0)
    )
    shown.add_column(Text(table.first), overflow="fold", ratio=None)
    for heading in wrapped:
        padding = "\n" * (lines - heading.count("\n") - 1 if lines > 2 else 0)
        shown.add_column(Text(padding + heading), justify="right", no_wrap=True)
    for number, row in enumerate(table.rows):
        shown.add_row(Text(label_of(row)), *(Text(printable(column.texts[number])) for column in columns))
    buffer = io.StringIO()
    console = Console(
        file=buffer, width=style.width, force_terminal=style.color, no_color=not style.color, legacy_windows=False
    )
    console.print(shown)
    text = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip("\n")
    return f"{text}\n{wrap(f'{table.hidden} {table.more}', style)}" if table.hidden and table.more else text


def _wrap_heading(column: Shown) -> str:
    """A title in lines that are no wider than they must be."""
    lines, several = [], "\n" in column.title  # the title of a group may be somewhat wider than its first column
    for line in column.title.split("\n"):
        width = max(
            [1, *map(len, line.replace("-", "- ").split(" ")), *(len(text) + 3 * several for text in column.texts)]
        )
        lines += textwrap.wrap(line, width, break_long_words=False) or [""]
    return "\n".join(lines)


def _render_facts(facts: Facts, style: Style) -> str:
    label = max((len(name) for name, _, _ in facts.rows), default=0)
    return "\n".join(
        wrap(f"{name:<{label}}  {'; '.join(text for texts in things for text in texts)}", style)
        for name, _, things in facts.rows
    )


def _render_checklist(part: Checklist, style: Style) -> str:
    """Status, name and evidence of each item, and below it what to do."""
    margin = " " * (max(len(item.name) for item in part.items) + 8)
    lines = []
    for item in part.items:
        status = f"\x1b[{_COLORS[item.status]}m{item.status}\x1b[0m" if style.color else item.status
        evidence = _indent(item.evidence, style, margin).lstrip()
        lines.append(f"{status}  {printable(item.name):<{len(margin) - 6}}{evidence}")
        if item.remedy:
            lines.append(_indent(f"→ {item.remedy}", style, margin))
    return "\n".join(lines)


def _render_commands(part: Commands, style: Style) -> list[str]:
    """Commands stay whole, to be copied."""
    margin = "  "
    return [
        "\n".join(
            [printable(name), *(_indent(text, style, margin) for text in texts), f"{margin}$ {printable(command)}"]
        )
        for name, texts, command in part.items
    ]


def render_gate(gate: GateView, style: Style) -> str:
    """The verdicts of a gate as lines: verdict and condition, and below them what was found; the outcome last."""
    lines = []
    for each in gate.conditions:
        shown = f"\x1b[{_COLORS[each.verdict]}m{each.verdict}\x1b[0m" if style.color else each.verdict
        condition = _indent(each.name, style).removeprefix(_MARGIN)
        lines += [f"{shown}{_MARGIN[len(each.verdict) :]}{condition}", _indent(each.found, style)]
    outcome = textwrap.fill(" ".join((gate.outcome, *gate.advice)), style.width, break_on_hyphens=False)
    return "\n".join([*lines, "", outcome])


def _indent(text: str, style: Style, margin: str = _MARGIN) -> str:
    return textwrap.fill(
        printable(text),
        style.width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_on_hyphens=False,
        break_long_words=False,  # a path or a command is to be copied
    )
