"""The HTML page of a comparison: of two sides in detail, of more in an overview and a part for each."""

from collections.abc import Sequence
from pathlib import Path

from tcprof.comparison.gate.judge import Gate
from tcprof.findings.compared import ComparedFindings
from tcprof.render.html import USUAL, PageOptions
from tcprof.render.html.pages import read_asset, render_page, write_page
from tcprof.views.comparison.page import TRUST, ComparedSide, view_comparison_page
from tcprof.views.document import Document, Notes, Part, Section


def write_comparison(
    findings: Sequence[ComparedFindings],
    path: Path,
    options: PageOptions = USUAL,
    gate: Gate | None = None,
    reports: Sequence[Sequence[str]] = (),
) -> None:
    """Write the page of comparisons with one baseline.

    Args:
        gate: A gate, where there is one comparison.
        reports: Links to the reports on each side's recordings, see ``tcprof.cli.output.find_reports``.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    document = view_comparison_page(findings, gate, options.title or "", reports)
    write_page(path, render_comparison(document, options), options)


def render_comparison(document: Document, options: PageOptions = USUAL) -> str:
    """The page of a comparison, as text."""
    sides = [part for part in document.parts if isinstance(part, ComparedSide)]
    values = {
        "title": document.title,
        "document": document,
        "sides": sides,
        "links": [link for part in document.parts for link in _links(part, len(sides))],
        "comparison_style": read_asset("comparison.css"),
    }
    return render_page("comparison.html", values, options)


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
