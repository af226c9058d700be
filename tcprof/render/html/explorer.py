"""The table of a page as its script takes it: columns of texts and of what they are sorted by, packed."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from tcprof.render.html.timeline.packing import ArrayStore
from tcprof.units import join_units
from tcprof.views.document import Explorer, Grouping, Line
from tcprof.views.tables import Cell, Heading

_BAR, _MARGIN = 5.5, 2.4  # in letters
_NOTE = 0.95  # of a letter: those of a note are smaller
_WIDEST, _WIDEST_WORDS = 28, 18  # columns, in letters


def pack_explorer(explorer: Explorer) -> Markup:
    """Pack a table in letters that a script element may hold: see ``web/src/explorer/data.ts``."""
    return Markup(ArrayStore().pack({"groupings": [_describe(grouping) for grouping in explorer.groupings]}))


def _describe(grouping: Grouping) -> dict[str, Any]:
    table, lines, every = grouping.table, grouping.lines, grouping.is_ordered
    columns = zip(*(line.row.cells for line in lines), strict=True)
    return {
        "by": grouping.by,
        "gpu": table.gpu,
        "name": table.name,
        "caption": table.caption,
        "first": table.first,
        "more": f"{table.hidden} {table.more}" if table.hidden else "",
        "notes": [_unbroken(note) for note in grouping.notes],
        "isOrdered": every,
        "columns": [_column(heading, cells, every) for heading, cells in zip(table.headings, columns, strict=True)],
        "rows": {
            "name": [_name(line) for line in lines],
            "full": [line.row.full or f"{line.row.ancestors}{line.row.name}" for line in lines],
            "tag": [_tag(line) for line in lines],
            "kind": [line.kind for line in lines],
            "item": [line.row.item for line in lines],
            "parent": [line.parent for line in lines],
            **({"group": [line.row.group for line in lines]} if any(line.row.group for line in lines) else {}),
            "alike": {place: line.row.alike for place, line in enumerate(lines) if line.row.alike},
        },
        "sites": _sites(lines),
    }


def _name(line: Line) -> str:
    """Name a line, with what it lies in where that is no line of the table."""
    name = line.row.short or line.row.name
    return name if line.row.nested or line.site or line.parent >= 0 else f"{line.row.ancestors}{name}"


def _tag(line: Line) -> str:
    return f"domain {line.row.domain}" if line.row.domain and line.row.depth == 1 else line.row.tag


def _sites(lines: Sequence[Line]) -> dict[str, list[Any]]:
    """Collect what a reader may ask for of the lines that are launches of a kernel in a place."""
    sites = [(place, line.site) for place, line in enumerate(lines) if line.site]
    return {
        "line": [place for place, _ in sites],
        "phase": [site.phase for _, site in sites],
        "precision": [site.precision for _, site in sites],
        "timeClass": [site.time_class for _, site in sites],
        "isTensor": [int(site.is_tensor) for _, site in sites],
        "ns": [site.ns for _, site in sites],
    }


def _column(heading: Heading, cells: Sequence[Cell], with_time: bool) -> dict[str, Any]:
    texts = [_unbroken(f"{cell.text} {cell.mark}".rstrip()) for cell in cells]
    notes = [_unbroken(_note(cell)) for cell in cells]
    bars = [cell.bar if with_time or not cell.of_time else -1 for cell in cells]
    has_bars = max(bars, default=-1) >= 0
    described = {
        "title": heading.title,
        "meaning": heading.meaning,
        "columns": heading.columns or (heading.title,),
        "words": heading.words,
        "shown": heading.on_page,
        "width": _width(heading, zip(texts, notes, strict=True), has_bars),
        "text": texts,
        "sort": [cell.sort for cell in cells],
    }
    if any(notes):
        described["note"] = notes
    if has_bars:
        described["bar"] = bars
    if any(cell.tone for cell in cells):
        described["tone"] = [cell.tone for cell in cells]
    if any(cell.values for cell in cells):
        described["values"] = [cell.values or (cell.sort,) for cell in cells]
    return described


def _note(cell: Cell) -> str:
    """Join what stands beside a value: what precedes it, or else what follows it."""
    return " → ".join(cell.before) or ", ".join(text for text in cell.after if text != "–" and text)


def _width(heading: Heading, texts: Iterable[tuple[str, str]], has_bars: bool) -> int:
    """Measure a column in letters: its longest text and its bar, or its title in two lines."""
    words = heading.title.split(" ")
    halves = ((" ".join(words[:place]), " ".join(words[place:])) for place in range(len(words)))
    title = min(max(map(len, half)) for half in halves)
    longest = max((len(text) + (_NOTE * len(note) + 1) * bool(note) for text, note in texts), default=0)
    needed = max(0.85 * longest + _BAR * has_bars, 1.1 * title) + _MARGIN
    return min(math.ceil(needed), _WIDEST_WORDS if heading.words else _WIDEST)


def _unbroken(text: str) -> str:
    return join_units(text, space="\N{NO-BREAK SPACE}")
