"""The parts of a document as a page's templates take them: each with its kind, and what a script draws it from."""

import html
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from markupsafe import Markup

from tcprof.render.html.timeline import pack_timeline
from tcprof.render.html.timeline.packing import ArrayStore
from tcprof.units import join_units
from tcprof.views.document import Explorer, Figure, Grouping, HeatMap, Icicle, Line, Part, Section, Timeline
from tcprof.views.figures import Settings
from tcprof.views.tables import Cell, Heading, Table

_MARKUP = re.compile(r"<[^>]*>")
# Characters that could end a script element, or a line of JavaScript, as JSON writes them within a string.
_JSON_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_SCALES = {"ns": 1.0, "pct": 1e-3, "hz": 1e5}  # of the units of columns: what one in the stored numbers is


@dataclass(frozen=True)
class DrawnPart:
    """A part, with what a page's script draws it from, which is safe inside a script element."""

    kind: str
    value: Any
    data: Any = ""  # of a timeline a ``PackedTimeline``; empty where there is nothing to draw
    parts: "tuple[DrawnPart, ...]" = ()  # those of a section


def draw_parts(parts: Sequence[Part]) -> tuple[DrawnPart, ...]:
    """Draw the parts, without empty sections and those of which no figure has anything to draw."""
    return tuple(part for part in map(_draw_part, parts) if part.kind != "Section" or _is_drawn(part.parts))


def _draw_part(part: Part) -> DrawnPart:
    if isinstance(part, Table) and part.search:
        part = Explorer((Grouping.of_table(part),), f"table-{part.name}")
    inner = draw_parts(part.parts) if isinstance(part, Section) else ()
    return DrawnPart(type(part).__name__, part, _draw(part), inner)


def _is_drawn(parts: Sequence[DrawnPart]) -> bool:
    """Tell whether a section has more than figures with nothing to draw in them."""
    drawable = [part for part in parts if part.kind != "Notes"]
    return (bool(parts) and not drawable) or any(
        part.kind != "Figure" or part.data or part.value.absent for part in drawable
    )


def _draw(part: Part) -> Any:
    if isinstance(part, Icicle):
        return Markup(json.dumps(part.data, separators=(",", ":")).translate(_JSON_ESCAPES))
    if isinstance(part, Figure):
        figure = part.make()
        table = {"columns": ["series", "x", "y"], "rows": list(_list_points(figure.data))}
        figure.layout.setdefault("meta", {"csv": table})
        return Markup(figure.to_json().translate(_JSON_ESCAPES)) if figure.data else Markup("")
    if isinstance(part, Explorer):
        return pack_explorer(part)
    if isinstance(part, HeatMap):
        return Markup(_pack_cells(part))
    return pack_timeline(part.analysis, part.gaps) if isinstance(part, Timeline) else ""


def _list_points(traces: Iterable[Settings]) -> Iterator[list[Any]]:
    """List the points of a figure, each with the plain text of what it is of; gaps are left out."""
    for trace in traces:
        x, y = (np.asarray(trace.get(axis, ())).tolist() for axis in ("x", "y"))
        labels = trace.get("hovertext", ()) if trace.get("orientation") == "h" else ()
        for point, label in zip_longest(zip_longest(x, y), labels):
            if point and not any(value is None or value != value for value in point):
                names = (trace.get("name"), label if isinstance(label, str) else "")
                yield [
                    ": ".join(html.unescape(_MARKUP.sub("", name.split("<br>")[0])) for name in names if name),
                    *point,
                ]


def _pack_cells(cells: HeatMap) -> str:
    store = ArrayStore()
    metrics: list[dict[str, Any]] = []
    for column, is_bad, values in cells.metrics:
        figures = values.to_numpy(float).ravel()
        low, high = np.nanquantile(figures, (0.01, 0.99)).clip(0)  # below the median of the others is no loss
        metrics.append(
            {"title": column.title, "unit": column.unit, "bad": is_bad, "low": float(low), "high": float(high)}
            | {"values": store.add_rounded(figures, _SCALES[column.unit], "f8")}
        )
    header = {"ranks": cells.ranks, "order": cells.order, "steps": cells.first_steps, "links": cells.links}
    return store.pack({**header, "metrics": metrics})


_BAR, _MARGIN = 5.5, 2.4  # in letters
_NAME, _BESIDE_NAME = 42, 6  # letters of the column of names at least, if they are as long, and what else it takes
_NOTE = 0.95  # of a letter: those of a note are smaller
_WIDEST, _WIDEST_WORDS = 28, 18  # columns, in letters


def pack_explorer(explorer: Explorer) -> Markup:
    """Pack a table in letters that a script element may hold: see ``web/src/explorer/model.ts``."""
    return Markup(ArrayStore().pack({"groupings": [_describe(grouping) for grouping in explorer.groupings]}))


def _describe(grouping: Grouping) -> dict[str, Any]:
    table, lines, every = grouping.table, grouping.lines, grouping.is_ordered
    columns = zip(*(line.row.cells for line in lines), strict=True)
    longest = max((len(_name(line)) + len(_tag(line)) for line in lines), default=0)
    is_tree = any(line.parent >= 0 for line in lines)
    return {
        "by": grouping.by,
        "gpu": table.gpu,
        "name": table.name,
        "caption": table.caption,
        "first": table.first,
        "longest": longest,
        "least": _NAME if is_tree else min(_NAME, longest + _BESIDE_NAME),
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
    needed = max(0.85 * longest + _BAR * has_bars, 1.2 * title) + _MARGIN
    return min(math.ceil(needed), _WIDEST_WORDS if heading.words else _WIDEST)


def _unbroken(text: str) -> str:
    return join_units(text, space="\N{NO-BREAK SPACE}")
