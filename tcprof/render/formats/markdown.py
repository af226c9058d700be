"""Documents as Markdown, for issues, pull requests and summaries of CI."""

import html
import re
from typing import TYPE_CHECKING

from tcprof.render.formats import Style, Writer
from tcprof.render.formats._tables import brief_columns, label_rows, list_notes
from tcprof.untrusted import printable
from tcprof.version import MADE_BY
from tcprof.views.document import VERDICT, Code, Document, Medium, Notes, Part, Section, Summary
from tcprof.views.tables import Table

if TYPE_CHECKING:
    from tcprof.views.comparison.gate import GateView

HAS = ("faults", "base", "gate")
SUFFIXES = (".md",)
# Where what a renderer makes a link by itself is broken: addresses, mails, people, teams, issues, and commits, which
# have 7 digits or more.
_LINKED = re.compile(r":(?=//)|(?i:www(?=\.)|\bGH(?=-\d))|@|[#!](?=\d)|[0-9a-f]{6}(?=[0-9a-f])")
SIGNATURE = f"\n<!-- {MADE_BY} -->\n"


def write(document: Document, style: Style, file: Writer) -> None:
    """Write a document, and the end of its last line."""
    file.write(f"{render(document, style)}\n")


def render(document: Document, style: Style) -> str:
    """Render a document as Markdown, with names escaped: verdict, outcome of a gate, what makes figures unreliable."""
    document_parts = document.shown_on(Medium.SCREEN)
    first = [part for part in document_parts if isinstance(part, Notes) and part.role == VERDICT and part.lines]
    parts = [f"**{escape(part.lines[0])}**" for part in first]
    if document.gate is not None:
        parts.append(f"**{escape(document.gate.outcome)}**")
    parts += [f"warning: {escape(fault)}" for fault in document.faults]
    if document.gate is not None:
        parts += _render_gate(document.gate)
    for part in document_parts:
        parts += [escape(line) for line in part.lines[1:]] if part in first else _render_part(part)
    return "\n\n".join(parts)


def _render_part(part: Part) -> list[str]:
    if isinstance(part, Notes):
        items = ["\n".join(f"- {escape(item)}" for item in part.items)] if part.items else []
        return [*(escape(line) for line in part.lines), *items]
    if isinstance(part, Code):
        return ["\n".join(f"    {printable(line)}" for line in part.lines)]
    if isinstance(part, Summary):
        return [escape(line) for line in part.verdict]
    if isinstance(part, Table):
        return [_fold(part) if part.folded else render_table(part)] if part.rows else []
    if isinstance(part, Section):
        inner = [text for inside in part.parts for text in _render_part(inside)]
        return [f"### {escape(part.title)}", *inner] if inner and part.title else inner
    return []


def render_table(table: Table) -> str:
    """Render a table; names are escaped."""
    columns = brief_columns(table)
    headings = [table.first, *(column.full_title for column in columns)]
    lines = [f"**{escape(table.title)}**\n"] if table.title else []
    lines.append(f"| {' | '.join(map(escape, headings))} |")
    lines.append("|" + "|".join(["---", *["---:"] * len(columns)]) + "|")
    for number, label in enumerate(label_rows(table)):
        texts = [escape(column.texts[number]) if column.words else column.texts[number] for column in columns]
        cells = [escape(str(label)), *texts]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [f"\n{escape(note)}" for note in list_notes(table, columns)]
    if table.hidden and table.more:
        lines.append(f"\n{escape(f'{table.hidden} {table.more}')}")
    return "\n".join(lines)


def _fold(table: Table) -> str:
    title = html.escape(_without_links(printable(table.title or table.first)))
    return f"<details><summary>{title}</summary>\n\n{render_table(table)}\n\n</details>"


def _render_gate(gate: "GateView") -> list[str]:
    lines = ["| fails if | verdict | found |", "|---|---:|---:|"]
    lines += [
        f"| {escape(condition.name)} | {condition.verdict} | {escape(condition.evidence)} |"
        for condition in gate.conditions
    ]
    return ["\n".join(lines), *map(escape, gate.advice)]


def escape(text: str) -> str:
    """Escape text for Markdown and the HTML in it, without links; the indentation of a tree is kept."""
    text = _without_links(printable(text))
    indent = len(text) - len(text.lstrip(" "))
    escaped = re.sub(r"([\\`*_{}\[\]<>()#+!|~$-])", r"\\\1", text.lstrip(" ")).replace("&", "&amp;")
    return "&nbsp;" * indent + escaped


def _without_links(text: str) -> str:
    return _LINKED.sub("\\g<0>\N{ZERO WIDTH SPACE}", text)
