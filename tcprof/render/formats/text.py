"""Documents for the terminal; characters of untrusted names that a terminal acts upon are replaced."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tcprof.render.formats import Style, Writer
from tcprof.render.formats._tables import set_table, shorten, width_of
from tcprof.units import join_units
from tcprof.untrusted import printable
from tcprof.version import MADE_BY
from tcprof.views.document import Checklist, Code, Commands, Document, FactList, Medium, Notes, Part, Section, Summary
from tcprof.views.tables import Table

if TYPE_CHECKING:
    from tcprof.views.comparison.gate import GateView

HAS = ("faults", "base", "gate", "doubt")
SUFFIXES = (".txt",)
SIGNATURE = f"\n{MADE_BY}\n"
_COLORS = {"pass": "32", "warn": "33", "inconclusive": "33", "fail": "1;31"}
_MARGIN = " " * 14
_NO_BREAK = "\1"  # where textwrap makes no line end; printable text does not have it


def write(document: Document, style: Style, file: Writer) -> None:
    """Write a document, and the end of its last line."""
    file.write(f"{render(document, style)}\n")


def render(document: Document, style: Style) -> str:
    """Render a document for a terminal: faults first, cautions after the verdict, a gate's outcome last."""
    parts = [text for part in document.shown_on(Medium.SCREEN) for text in render_part(part, style)]
    faults = [fault for fault in document.faults if fault not in document.cautions]
    parts[1:1] = _render_warnings(document.cautions, style)
    parts[:0] = _render_warnings(faults, style)
    if document.gate is not None:
        parts.append(render_gate(document.gate, style))
    return "\n\n".join(parts)


def _render_warnings(sentences: Sequence[str], style: Style) -> list[str]:
    lines = [wrap(f"warning: {sentence}", style) for sentence in sentences]
    if style.color:
        lines = [line.replace("warning:", "\x1b[31m\x1b[1mwarning:\x1b[0m", 1) for line in lines]
    return ["\n".join(lines)] if lines else []


def render_part(part: Part, style: Style) -> list[str]:
    """Render a part as paragraphs; those that only a page can show are none."""
    if isinstance(part, Notes):
        lines = (*part.lines, *(f"- {item}" for item in part.items))
        return ["\n".join(wrap(line, style) for line in lines)] if lines else []
    if isinstance(part, Code):
        return ["\n".join(f"    {printable(line)}" for line in part.lines)]
    if isinstance(part, Summary):
        return ["\n".join(wrap(line, style) for line in part.verdict)]
    if isinstance(part, Table):
        return [render_table(part, style)] if part.rows else []
    if isinstance(part, Section):
        inner = [text for inside in part.parts for text in render_part(inside, style)]
        return [f"{wrap(part.title, style)}\n{inner[0]}", *inner[1:]] if inner and part.title else inner
    if isinstance(part, FactList):
        return [_render_facts(part, style)]
    if isinstance(part, Checklist):
        return [_render_checklist(part, style)]
    return _render_commands(part, style) if isinstance(part, Commands) else []


def wrap(text: str, style: Style) -> str:
    """Break a paragraph into lines between words; what is set in columns stays whole."""
    return printable(text) if text.startswith("  ") else fill(text, style.width, margin="  ")


def fill(text: str, width: int, begin: str = "", margin: str = "") -> str:
    """Break text into lines of whole words, after ``begin`` or ``margin``; a value and its unit stay in one line."""
    # For textwrap a character is a column: what takes two is followed by one that printable text does not have.
    wide = "".join(f"{letter}\0" if width_of(letter) == 2 else letter for letter in printable(text))
    wide = join_units(wide, _NO_BREAK)
    lines = textwrap.fill(
        wide, width, initial_indent=begin, subsequent_indent=margin, break_on_hyphens=False, break_long_words=False
    )
    return lines.replace("\0", "").replace(_NO_BREAK, " ")


def render_table(table: Table, style: Style) -> str:
    """Render a table for a terminal: aligned columns, a row a line, and what is left out below them."""
    head, rows, notes, left = set_table(table, style)
    rule = "─" * max(map(width_of, (*head, *rows)))
    if style.color:
        head = [f"\x1b[1m{line}\x1b[0m" for line in head]
    if table.hidden and table.more:
        notes.append(f"{table.hidden} {table.more}")
    if left and not table.is_cut:
        notes.append(f"Columns hidden to fit: {', '.join(left)}. --wide shows all columns.")
    title = [shorten(printable(table.title), style.width), ""] if table.title else []
    return "\n".join([*title, *head, rule, *rows, *(wrap(note, style) for note in notes)])


def _render_facts(facts: FactList, style: Style) -> str:
    label = max((len(name) for name, _, _ in facts.rows), default=0)
    return "\n".join(
        wrap(f"{name:<{label}}  {'; '.join(text for texts in things for text in texts)}", style)
        for name, _, things in facts.rows
    )


def _render_checklist(part: Checklist, style: Style) -> str:
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
    margin = "  "
    return [
        "\n".join(
            [printable(name), *(_indent(text, style, margin) for text in texts), f"{margin}$ {printable(command)}"]
        )
        for name, texts, command in part.items
    ]


def render_gate(gate: "GateView", style: Style) -> str:
    """Render a gate as lines: each verdict and condition, and below them the evidence; the outcome last."""
    lines = []
    for condition in gate.conditions:
        verdict = f"\x1b[{_COLORS[condition.verdict]}m{condition.verdict}\x1b[0m" if style.color else condition.verdict
        name = _indent(condition.name, style).removeprefix(_MARGIN)
        lines += [f"{verdict}{_MARGIN[len(condition.verdict) :]}{name}", _indent(condition.evidence, style)]
    outcome = fill(" ".join((gate.outcome, *gate.advice)), style.width)
    return "\n".join([*lines, "", outcome])


def _indent(text: str, style: Style, margin: str = _MARGIN) -> str:
    return fill(text, style.width, margin, margin)
