"""Documents as notebooks show them: notes and brief tables as HTML, in which every text is escaped."""

from html import escape

from tcprof.render.formats._tables import brief_columns, label_rows, list_notes
from tcprof.views.document import Code, Document, Medium, Notes, Part, Section
from tcprof.views.tables import Table

_CELL = "text-align:right;font-variant-numeric:tabular-nums;white-space:pre"
_FIRST = "text-align:left;white-space:pre-wrap"


def render_html(document: Document) -> str:
    """Render a document as a fragment of HTML: its title, its faults, and its parts."""
    parts = [f"<p><b>{escape(document.title)}</b></p>"] if document.title else []
    parts += [f"<p><b>warning:</b> {escape(fault)}</p>" for fault in document.faults]
    parts += [_render_part(part) for part in document.shown_on(Medium.SCREEN)]
    return f'<div class="tcprof">{"".join(parts)}</div>'


def _render_part(part: Part) -> str:
    if isinstance(part, Notes):
        return "".join(f"<p>{escape(line)}</p>" for line in part.lines)
    if isinstance(part, Code):
        return f"<pre>{escape(chr(10).join(part.lines))}</pre>"
    if isinstance(part, Table):
        return _render_table(part) if part.rows else ""
    if isinstance(part, Section):
        return "".join(_render_part(inside) for inside in part.parts)
    return ""


def _render_table(table: Table) -> str:
    columns = brief_columns(table)
    titles = [table.first, *(column.full_title for column in columns)]
    names = map(str, label_rows(table))
    rows = [[name, *(column.texts[number] for column in columns)] for number, name in enumerate(names)]
    head = "".join(_element("th", place, text) for place, text in enumerate(titles))
    body = "".join(f"<tr>{''.join(_element('td', place, text) for place, text in enumerate(row))}</tr>" for row in rows)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    notes = "".join(f"<p>{escape(note)}</p>" for note in list_notes(table, columns))
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _element(tag: str, place: int, text: str) -> str:
    return f'<{tag} style="{_CELL if place else _FIRST}">{escape(text)}</{tag}>'
