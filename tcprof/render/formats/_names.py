"""Names where space is scarce: how wide a terminal shows a text, and what stays of one that is too wide."""

from bisect import bisect_left, bisect_right
from itertools import accumulate

from rich.cells import cell_len

from tcprof.views.tables import BECAME

_ELLIPSIS = "…"


def width_of(text: str) -> int:
    """Count the columns that a terminal needs for a text: two for each character of Chinese, Japanese or Korean."""
    return len(text) if text.isascii() else cell_len(text)


def shorten(text: str, room: int) -> str:
    """Cut the middle out of a text that takes more than so many columns; of what became another, out of both."""
    if width_of(text) <= room:
        return text
    was, arrow, became = text.partition(BECAME)
    if arrow and room > 4 * len(arrow):
        left = room - len(arrow)
        first = left - min(width_of(became), max(left // 2, left - width_of(was)))
        return f"{shorten(was, first)}{arrow}{shorten(became, left - first)}"
    before = [0, *accumulate(map(width_of, text))]  # columns before each character
    begin = bisect_right(before, (room - 1) // 3) - 1  # the ends of kernels' names tell more
    end = bisect_left(before, before[-1] - (room - 1 - before[begin]))
    return f"{text[:begin]}{_ELLIPSIS}{text[end:]}"
