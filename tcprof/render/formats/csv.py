"""The rows of a document as CSV with a header; unknown is an empty field."""

from typing import TYPE_CHECKING

from tcprof.render.formats import Style, Writer

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.views.document import Document

HAS = ()
SUFFIXES = (".csv",)
NEEDS = "rows"


def write(document: "Document", style: Style, file: Writer) -> None:
    """Write all rows and columns, whatever a table leaves out."""
    assert document.rows is not None  # commands whose documents have none do not offer this format
    write_csv(document.rows, file)


def write_csv(frame: "pd.DataFrame", file: Writer) -> None:
    """Write a frame as CSV, some rows at a time; fields with a line break of any kind are quoted."""
    # Python quotes a field for the line breaks that its own lines end with: with both of them it quotes for either.
    frame.to_csv(_Lines(file), index=False, lineterminator="\r\n")


class _Lines:
    """A file that ends its lines with a line feed alone; each call writes one line."""

    def __init__(self, file: Writer) -> None:
        self._file = file

    def write(self, line: str) -> None:
        self._file.write(line.removesuffix("\r\n") + "\n")
