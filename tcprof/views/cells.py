"""Headings and cells of tables, from the columns of frames and their values."""

import math
import re
from typing import Any, SupportsFloat

from tcprof.frames import Column
from tcprof.views.document import Cell, Heading

_MARKED = re.compile(r"(?<!\\)[*`](\w+)[*`]")


def heading(column: Column, **changes: Any) -> Heading:
    """The heading of a frame's column.

    Args:
        changes: Attributes of the heading that differ from the column's.
    """
    known = {
        "title": column.title,
        "meaning": _plain(column.meaning),
        "unit": column.unit,
        "words": column.is_text,
        "columns": (column.name,),
    }
    return Heading(**{**known, **changes})


def _plain(meaning: str) -> str:
    """A meaning without the marks of the documentation, which is made of the same sentences."""
    return _MARKED.sub(r"\1", meaning).replace("\\*", "*")


def sort_key(value: SupportsFloat) -> str:
    """A number as a file and a page's script read it; empty where unknown."""
    number = float(value)
    return f"{number:.9g}" if math.isfinite(number) else ""


def number_cell(value: float, column: Column) -> Cell:
    """A number of a frame's column."""
    return Cell(column.format(value), sort_key(value))


def word_cell(text: str) -> Cell:
    """A word, already fit to be shown."""
    return Cell(text or "–", text)


def bar_length(percent: float) -> float:
    """The length of a bar for a percentage."""
    return round(min(max(float(percent), 0), 100), 2) if math.isfinite(percent) else -1.0
