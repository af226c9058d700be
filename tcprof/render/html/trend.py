"""The HTML page of a trend, or of one figure."""

from pathlib import Path

from tcprof.render.html import USUAL
from tcprof.render.html.pages import render_page, split_parts, write_page
from tcprof.views.document import Document


def write_trend(document: Document, path: Path) -> None:
    """Write the page of a trend or figure, see ``tcprof.views.trend_page``.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    values = {"title": document.title, "kind": document.kind.capitalize(), **split_parts(document.parts)}
    write_page(path, render_page("trend.html", values, USUAL), USUAL)
