"""The HTML page of a comparison: of two sides in detail, of more in an overview and a part for each."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from markupsafe import Markup

from tcprof.comparison import Comparison
from tcprof.comparison.comparison import put_first
from tcprof.comparison.gate.judge import Gate
from tcprof.findings.compared import ComparedFindings, judge_comparison
from tcprof.render.html import USUAL, PageOptions
from tcprof.render.html.pages import read_asset, render_macros, render_page, write_page
from tcprof.render.html.timeline.packing import ArrayStore
from tcprof.views.comparison.page import TRUST, ComparedSide, view_comparison_page
from tcprof.views.document import Document, Notes, Part, Section


def write_comparison(
    findings: Sequence[ComparedFindings],
    path: Path,
    options: PageOptions = USUAL,
    gate: Gate | None = None,
    reports: Sequence[Sequence[str]] = (),
    others: Sequence[Sequence[Comparison]] = (),
) -> None:
    """Write the page of comparisons with one baseline.

    Args:
        gate: Of the first.
        reports: Links to the reports on each side's recordings, see ``tcprof.cli.output.find_reports``.
        others: The same sides with each other one as the baseline, see ``tcprof.comparison.comparison``.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    view = partial(view_comparison_page, gate=gate, title=options.title or "", choosable=bool(others))
    documents = [view(findings, reports=reports)]
    for place, swapped in enumerate(others, 1):
        judged = [judge_comparison(each) for each in swapped]
        documents.append(view(judged, reports=put_first(reports, place) if reports else (), place=place))
    write_page(path, render_comparison(documents, options), options)


def render_comparison(documents: Sequence[Document], options: PageOptions = USUAL) -> str:
    """The page of a comparison, as text, from what it says with each side as the baseline; the first is shown."""
    shown, *others = (_render_content(document) for document in documents)
    values = {
        "title": documents[0].title,
        "shown": shown,
        "others": [(number, Markup(ArrayStore().pack(each))) for number, each in enumerate(others, 2)],
        "comparison_style": read_asset("comparison.css"),
    }
    return render_page("comparison.html", values, options)


def _render_content(document: Document) -> dict[str, str]:
    sides = [part for part in document.parts if isinstance(part, ComparedSide)]
    values = {
        "document": document,
        "sides": sides,
        "links": [link for part in document.parts for link in _links(part, len(sides))],
    }
    return {"title": document.title, **render_macros("comparison_parts.html", values, ("kind", "head", "body"))}


def _links(part: Part, sides: int) -> list[tuple[str, str]]:
    """Names and titles of what the navigation leads to: each section, or where there are several, each side or GPU."""
    if not isinstance(part, Section) or not part.parts or part.name.startswith(TRUST):
        return []
    if not isinstance(part, ComparedSide):
        has_lines = any(not isinstance(each, Notes) or each.lines for each in part.parts)
        return [(part.name, part.linked or part.title)] if has_lines else []
    gpus = [each for each in part.parts if isinstance(each, Section)]
    if sides > 2:
        return [(part.name, part.title)]
    if len(gpus) > 1:
        return [(each.name, each.title) for each in gpus]
    return [link for of_gpu in gpus for each in of_gpu.parts for link in _links(each, sides)]
