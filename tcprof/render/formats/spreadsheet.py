"""CSV for spreadsheets, which run a cell that begins like a formula: an apostrophe goes before each such beginning."""

import re
from typing import TYPE_CHECKING

from tcprof.render.formats import Style, Writer
from tcprof.render.formats.csv import write_csv

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.views.document import Document

HAS = ()
SUFFIXES = ()
NEEDS = "rows"
# What may be before a formula: spreadsheets split lines at the separator of their locale, even where CSV quotes it.
_BEFORE = r"^|[\s;,|:\"'`\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff\u2018\u2019\u201c\u201d]"
_FORMULA = "=+@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u2212-"  # with full-width and small forms
_BEGINS = re.compile(rf"^(?=[\t\r\n])|(?:{_BEFORE})(?=[{_FORMULA}])")


def write(document: "Document", style: Style, file: Writer) -> None:
    """Write all rows and columns, whatever a table leaves out."""
    assert document.rows is not None  # commands whose documents have none do not offer this format
    write_csv(without_formulas(document.rows), file)


def without_formulas(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Defuse every part of a text that would begin a formula, wherever a spreadsheet splits it into cells."""
    from pandas.api.types import is_numeric_dtype

    texts = [name for name in frame if not is_numeric_dtype(frame[name])]

    def as_text(value: object) -> object:
        return _BEGINS.sub(r"\g<0>'", value) if isinstance(value, str) else value

    return frame.assign(**{name: frame[name].astype(object).map(as_text) for name in texts})
