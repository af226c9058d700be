"""CSV for spreadsheets, which run a text that begins like a formula: such a text gets an apostrophe before it."""

from typing import TYPE_CHECKING

from tcprof.render.formats import Style, Writer
from tcprof.render.formats.csv import write_csv

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.views.document import Document

HAS = ()
SUFFIXES = ()
NEEDS = "rows"
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are their full-width forms


def write(document: "Document", style: Style, file: Writer) -> None:
    """All rows and columns, whatever a table leaves out."""
    assert document.rows is not None, "commands whose documents have no rows do not offer CSV"
    write_csv(without_formulas(document.rows), file)


def without_formulas(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The same rows, in which no text begins a formula."""
    from pandas.api.types import is_numeric_dtype

    texts = [name for name in frame if not is_numeric_dtype(frame[name])]

    def as_text(value: object) -> object:
        return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

    return frame.assign(**{name: frame[name].astype(object).map(as_text) for name in texts})
