"""The rows of a document as CSV with a header; unknown is an empty field."""

from tcprof.render.formats import Style
from tcprof.views.document import Document

HAS = ()
SUFFIXES = (".csv",)
NEEDS = "rows"


def render(document: Document, style: Style) -> str:
    """All rows and columns, whatever a table leaves out."""
    assert document.rows is not None, "a document without rows is refused before"
    return str(document.rows.to_csv(index=False, lineterminator="\n")).removesuffix("\n")
