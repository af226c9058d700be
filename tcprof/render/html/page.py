"""The page of any document: one file that asks nothing of the network.

Names in a document are untrusted. The templates escape all text; in figures' JSON no character can end the element
around it; and a content security policy forbids every request.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tcprof.outputs import replace_file
from tcprof.render.html import USUAL, PageOptions, PlotlyScript
from tcprof.render.html.parts import DrawnPart, draw_parts
from tcprof.units import join_units
from tcprof.untrusted import one_line
from tcprof.version import __version__
from tcprof.views.document import TITLE, WARNINGS, Chapter, Document, Medium, Notes, TopFindings

# plotly's basic bundle, from npm's ``plotly.js-basic-dist-min``, has all that the pages draw, and is a quarter of the
# whole. The cartesian bundle, with boxes and heat maps, took a browser twice as long to start.
VERSION = "4.1.1"
FILE = f"plotly-basic-{VERSION}.min.js"
_ADDRESS = f"https://cdn.plot.ly/{FILE}"
# What a page's content security policy allows as scripts, besides those inside it.
_SCRIPT_SOURCES = {PlotlyScript.EMBED: "", PlotlyScript.DIRECTORY: " 'self' file:", PlotlyScript.CDN: f" {_ADDRESS}"}
_LONGEST_TITLE = 160
_STYLES = ("page.css", "tables.css", "comparison.css", "workspace.css")
_KINDS = {
    "recording": "Tensor Core report",
    "comparison": "Comparison",
    "ranks": "Job report",
    "jobs": "Comparison of two jobs",
    "trend": "Trend",
    "figure": "Figure",
}


def write_page(document: Document, path: Path, options: PageOptions = USUAL) -> None:
    """Write a page, and the script beside it, where it looks for it there; one that is there already is kept.

    Raises:
        OutputError: A file cannot be written. What was there before is left as it was.
    """
    text, beside = render_page(document, options), path.with_name(FILE)
    if options.plotlyjs is PlotlyScript.DIRECTORY and not beside.exists():
        with replace_file(beside) as written:
            written.write_text(read_bundle(), encoding="utf-8")
    with replace_file(path) as written:
        written.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def render_page(document: Document, options: PageOptions = USUAL) -> str:
    """Render a page as text. Sections of which no figure has anything to draw are left out."""
    parts = draw_parts(document.shown_on(Medium.PAGE))
    notes = _split_notes(parts)
    sections = [part for part in parts if part.kind == "Section"]
    drawn = list(_walk(parts))
    timeline = next((part.data for part in drawn if part.kind == "Timeline"), None)
    values = {
        "document": document,
        "kind": _KINDS[document.kind],
        "title": one_line(options.title or " ".join(notes.get(TITLE, [document.title])), _LONGEST_TITLE),
        "warnings": notes.get(WARNINGS, []),
        "notes": notes,
        "sides": next((part.value for part in parts if part.kind == "SideNames"), None),
        "summaries": [part.value for part in parts if part.kind == "Summary"],
        "leads": next((part.value for part in parts if part.kind == "TopFindings"), TopFindings(())),
        "chapters": {name: [part for part in sections if part.value.chapter == name] for name in ("", *Chapter)},
        "links": [(part.value.name, part.value.linked or part.value.title) for part in sections if _is_linked(part)],
        "timeline": timeline,
    }
    needs_plotly = any(part.kind == "Figure" and part.data for part in drawn)
    return _templates().get_template("base.html").render(**values, **_assets(options, needs_plotly))


def _walk(parts: Sequence[DrawnPart]) -> Iterator[DrawnPart]:
    for part in parts:
        yield part
        yield from _walk(part.parts)


def _split_notes(parts: Sequence[DrawnPart]) -> dict[str, list[str]]:
    """Group the lines of notes outside of sections by their role."""
    notes: dict[str, list[str]] = {}
    for part in parts:
        if isinstance(part.value, Notes):
            notes.setdefault(part.value.role, []).extend(part.value.lines)
    return notes


def _is_linked(part: DrawnPart) -> bool:
    """Tell whether the navigation leads to a section: to what is explored, but to cautions only under a name for it."""
    section = part.value
    are_cautions = all(isinstance(part, Notes) and part.role == WARNINGS for part in section.parts)
    return not section.chapter and bool(section.linked or (section.title and not are_cautions))


def _assets(options: PageOptions, needs_plotly: bool) -> dict[str, Any]:
    """Collect what does not depend on a page's document."""
    is_complete = options.plotlyjs is PlotlyScript.EMBED or not needs_plotly
    return {
        "version": __version__,
        "theme": options.theme,
        "origin": options.origin,
        "style": Markup("\n").join(map(read_asset, _STYLES)),
        "dark_style": read_asset("dark.css"),
        "theme_script": read_asset("theme.js"),
        "script": read_asset("page.js"),
        "plotly": script_element(options.plotlyjs) if needs_plotly else "",
        "script_sources": _SCRIPT_SOURCES[options.plotlyjs] if needs_plotly else "",
        "is_complete": is_complete,
    }


@cache
def _templates() -> Environment:
    """Load the templates, each compiled once: a folder of recordings has many pages."""
    environment = Environment(
        loader=PackageLoader("tcprof.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        optimized=False,  # which takes longer than it saves: a page is made once
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence_end"] = _end_sentence
    environment.filters["unbroken"] = partial(join_units, space="\N{NO-BREAK SPACE}")
    return environment


def _end_sentence(text: str) -> int:
    """Find where the first sentence of a text ends, or what leads it in."""
    match = re.search(r"[.:](?= )", text)
    return match.end() if match else len(text)


def read_asset(name: str) -> Markup:
    """Read a script or a style of the pages."""
    return Markup((files("tcprof.render.html") / "assets" / name).read_text(encoding="utf-8"))


def read_bundle() -> Markup:
    """Read the script of plotly."""
    return read_asset(f"plotly/{FILE}")


@cache
def pack_bundle() -> str:
    """Pack the script of plotly as the page's data are: it takes less than half of its letters."""
    return base64.b64encode(zlib.compress(read_bundle().encode(), 9)).decode()


def script_element(source: PlotlyScript) -> Markup:
    """Write the element from which a page runs the script when a figure comes into view.

    One from the network is checked by its hash.
    """
    if source is PlotlyScript.EMBED:
        return Markup('<script type="text/plain" id="plotly-script">{}</script>').format(pack_bundle())
    digest = base64.b64encode(hashlib.sha384(read_bundle().encode()).digest()).decode()
    address = FILE if source is PlotlyScript.DIRECTORY else _ADDRESS
    checked = Markup(' data-integrity="sha384-{}"').format(digest)
    element = Markup('<script type="text/plain" id="plotly-script" data-src="{}"{}></script>')
    return element.format(address, checked if source is PlotlyScript.CDN else "")
