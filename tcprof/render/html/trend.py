"""The HTML page of a trend."""

from collections.abc import Sequence
from pathlib import Path

from tcprof.render.html import USUAL, PageOptions
from tcprof.render.html.pages import render_page, split_parts, write_page
from tcprof.views.document import Document


def write_trend(
    document: Document, path: Path, pages: Sequence[tuple[str, str]] = (), options: PageOptions = USUAL
) -> None:
    """Write the page of a trend, see ``tcprof.views.trend_page``.

    Args:
        pages: Links to the pages of runs, with what they are called.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    write_page(path, render_trend(document, pages, options), options)


def render_trend(document: Document, pages: Sequence[tuple[str, str]] = (), options: PageOptions = USUAL) -> str:
    """The page as text."""
    values = {"title": options.title or document.title, "pages": pages, **split_parts(document.parts)}
    return render_page("trend.html", values, options)
