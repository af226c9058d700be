"""The parts of a document as a page's templates take them: each with its kind, and what a script draws it from."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from tcprof.render.html.explorer import pack_explorer
from tcprof.render.html.timeline import pack_timeline
from tcprof.render.html.timeline.packing import ArrayStore
from tcprof.views.document import Explorer, Figure, Grouping, HeatMap, Icicle, Part, Section, Timeline
from tcprof.views.tables import Table

# Characters that could end a script element, or a line of JavaScript, as JSON writes them within a string.
_JSON_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_UNKNOWN = 0  # all known values are stored one higher
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
        return Markup(figure.to_json().translate(_JSON_ESCAPES)) if figure.data else Markup("")
    if isinstance(part, Explorer):
        return pack_explorer(part)
    if isinstance(part, HeatMap):
        return Markup(_pack_cells(part))
    return pack_timeline(part.analysis) if isinstance(part, Timeline) else ""


def _pack_cells(cells: HeatMap) -> str:
    store = ArrayStore()
    metrics: list[dict[str, Any]] = []
    for column, is_bad, values in cells.metrics:
        scale = _SCALES[column.unit]
        figures = values.to_numpy(float).ravel()
        least = np.nanmin(figures)
        stored = np.where(np.isnan(figures), _UNKNOWN, np.round((figures - least) / scale) + 1).astype(np.int64)
        low, high = np.nanquantile(figures, (0.01, 0.99)).clip(0)  # below the median of the others is no loss
        metrics.append(
            {"title": column.title, "unit": column.unit, "scale": scale, "bad": is_bad, "values": store.add(stored)}
            | {"least": float(least), "low": float(low), "high": float(high)}
        )
    header = {"ranks": cells.ranks, "order": cells.order, "steps": cells.first_steps, "links": cells.links}
    return store.pack({**header, "metrics": metrics})
