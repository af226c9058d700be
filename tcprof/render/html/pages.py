"""The page of one recording, and what all pages share: one file that asks nothing of the network.

Names in a report are untrusted. The templates escape all text; in figures' JSON no character can end the element
around it; and a content security policy forbids every request.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tcprof.analysis import Analysis
from tcprof.findings import Findings
from tcprof.findings.judge import keep_busiest
from tcprof.outputs import replace_file
from tcprof.render.html import USUAL, PageOptions, PlotlyScript
from tcprof.render.html.explorer import pack_explorer
from tcprof.render.html.timeline import pack_timeline
from tcprof.units import join_units
from tcprof.version import __version__
from tcprof.views.document import Explorer, Figure, Icicle, Leads, Notes, Part, Section, Summary
from tcprof.views.recording.report import view_report

# plotly's basic bundle, from npm's ``plotly.js-basic-dist-min``, has all that the pages draw, and is a quarter of the
# whole. The cartesian bundle, with boxes and heat maps, took a browser twice as long to start.
VERSION = "4.1.1"
FILE = f"plotly-basic-{VERSION}.min.js"
_ADDRESS = f"https://cdn.plot.ly/{FILE}"
# What a page's content security policy allows as scripts, besides those inside it.
_SCRIPT_SOURCES = {PlotlyScript.EMBED: "", PlotlyScript.DIRECTORY: " 'self' file:", PlotlyScript.CDN: f" {_ADDRESS}"}
# Characters that could end a script element, or a line of JavaScript, as JSON writes them within a string.
_JSON_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def write_page(path: Path, text: str, options: PageOptions) -> None:
    """Write a page, and the script beside it, where it looks for it there; one that is there already is kept."""
    beside = path.with_name(FILE)
    if options.plotlyjs is PlotlyScript.DIRECTORY and not beside.exists():
        with replace_file(beside) as written:
            written.write_text(read_bundle(), encoding="utf-8")
    with replace_file(path) as written:
        written.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def render_page(template: str, values: Mapping[str, Any], options: PageOptions) -> str:
    """A page from its template and its script, which are named alike, with what all pages have."""
    return (
        _templates()
        .get_template(template)
        .render(
            **values,
            version=__version__,
            theme=options.theme,
            origin=options.origin,
            style=read_asset("page.css"),
            dark_style=read_asset("dark.css"),
            theme_script=read_asset("theme.js"),
            script=read_asset(template.replace(".html", ".js")),
            plotly=script_element(options.plotlyjs),
            script_sources=_SCRIPT_SOURCES[options.plotlyjs],
            is_complete=options.plotlyjs is PlotlyScript.EMBED,
        )
    )


@cache
def _templates() -> Environment:
    """The templates, each compiled once: a folder of recordings has many pages."""
    environment = Environment(
        loader=PackageLoader("tcprof.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        optimized=False,  # which takes longer than it saves: a page is made once
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = partial(join_units, space="\N{NO-BREAK SPACE}")
    environment.filters["kind"] = _kind
    environment.filters["drawn"] = _draw
    return environment


def split_parts(parts: Sequence[Part]) -> dict[str, Any]:
    """The parts of a document as templates take them: lines of notes by their role, and sections.

    Sections of which no figure has anything to draw are left out.
    """
    notes: dict[str, list[str]] = {}
    for part in parts:
        if isinstance(part, Notes):
            notes.setdefault(part.role, []).extend(part.lines)
    found = [part for part in parts if isinstance(part, Section)]
    sections = [{**vars(part), "parts": [_with_kind(each) for each in part.parts]} for part in found]
    return {"notes": notes, "sections": [section for section in sections if _is_drawn(section["parts"])]}


def _with_kind(part: Part) -> dict[str, Any]:
    drawn = _draw(part) if isinstance(part, Figure | Icicle) else ""
    if isinstance(part, Explorer):
        drawn = pack_explorer(part)
    inner = [_with_kind(each) for each in part.parts] if isinstance(part, Section) else []
    return {"kind": _kind(part), "value": part, "json": drawn, "parts": inner}


def _kind(part: Part) -> str:
    return type(part).__name__


def _is_drawn(parts: Any) -> bool:
    """Whether a section has more than figures with nothing to draw in them."""
    shown = [part for part in parts if part["kind"] != "Notes"]
    return not shown or any(part["kind"] != "Figure" or part["json"] for part in shown)


def read_asset(name: str) -> Markup:
    """A script or a style of the pages."""
    return Markup((files("tcprof.render.html") / "assets" / name).read_text(encoding="utf-8"))


def _draw(part: Figure | Icicle) -> Markup:
    """A figure as JSON that is safe inside a script element; empty where there is nothing to draw."""
    if isinstance(part, Icicle):
        return Markup(json.dumps(part.data, separators=(",", ":")).translate(_JSON_ESCAPES))
    figure = part.make()
    return Markup(figure.to_json().translate(_JSON_ESCAPES)) if figure.data else Markup("")


def read_bundle() -> Markup:
    """The script of plotly."""
    return read_asset(f"plotly/{FILE}")


def script_element(source: PlotlyScript) -> Markup:
    """The element that a page has for the script; one from the network is checked by its hash."""
    if source is PlotlyScript.EMBED:
        return Markup("<script>\n{}\n</script>").format(read_bundle())
    digest = base64.b64encode(hashlib.sha384(read_bundle().encode()).digest()).decode()
    address = FILE if source is PlotlyScript.DIRECTORY else _ADDRESS
    checked = Markup(' integrity="sha384-{}" crossorigin="anonymous"').format(digest)
    return Markup('<script src="{}"{}></script>').format(address, checked if source is PlotlyScript.CDN else "")


def write_report(analysis: Analysis, findings: Findings, path: Path, options: PageOptions = USUAL) -> None:
    """Write the page of one recording.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    write_page(path, render_report(analysis, findings, options), options)


def render_report(analysis: Analysis, findings: Findings, options: PageOptions = USUAL) -> str:
    """The page of one recording, as text."""
    analysis, findings = keep_busiest(analysis, findings)
    document = view_report(analysis, findings, options.title or "")
    summaries = [part for part in document.parts if isinstance(part, Summary)]
    values = {
        "title": document.title,
        "faults": [("", document.faults)],
        "warnings": document.warnings,
        "summaries": summaries,
        "leads": next((part for part in document.parts if isinstance(part, Leads)), Leads(())),
        **split_parts(document.parts),
        "timeline": pack_timeline(analysis),
        "explorer_style": read_asset("explorer.css"),
        "timeline_style": read_asset("timeline.css") + read_asset("selection.css"),
        "workspace_style": read_asset("workspace.css"),
    }
    return render_page("report.html", values, options)
