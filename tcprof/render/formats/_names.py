"""Names where space is scarce: how wide a terminal shows a text, and what stays of one that is too wide."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from os.path import commonprefix
from typing import NamedTuple

from rich.cells import cell_len

from tcprof.views.tables import BECAME

_ELLIPSIS = "…"
_SEPARATORS = " ./"  # say nothing beside it
_TEMPLATE = re.compile(r"<[^\W_]+")  # a template's first argument, or the first word of its name
_MOST_TRIES = 3  # to tell names apart
_LEAST_PAIR = 12  # columns for each of two names; with fewer they are cut as one
_HEAD_SHARE = 0.4  # of the space: what distinguishes the names of one family is rather at the end
_END_WEIGHT = 1.5  # of a column at the end, against one at the beginning
_WORTH_IT = 0.75  # of the space, which whole words must take


def width_of(text: str) -> int:
    """The columns that a terminal needs for a text: two for each character of Chinese, Japanese or Korean."""
    return len(text) if text.isascii() else cell_len(text)


class Name(NamedTuple):
    """A name, and the space that there is for it."""

    text: str  # the name, or a path
    room: int  # columns that there are
    last: int = 0  # characters at its end that say most, such as a path's last name


def shorten(text: str, room: int) -> str:
    """A name in one line of at most so many columns, see ``shorten_all``."""
    return shorten_all([Name(text, room)])[0]


def shorten_all(names: Sequence[Name]) -> list[str]:
    """Names in one line each: of one that is longer than its space the middle is left out.

    It is cut between words where that costs little space. Of what something was and what it became, each is cut on its
    own. Where different names would become the same, what they differ in stays as well.
    """
    parts = [_split(name) for name in names]
    short = {part: _without_middle(*part) for each in parts for part in each}
    for _ in range(_MOST_TRIES):
        alike: dict[str, list[Name]] = {}
        for part, text in short.items():
            alike.setdefault(text, []).append(part)
        for several in alike.values():
            texts = {part.text for part in several}
            if len(texts) > 1:
                differs = len(commonprefix([*texts]))  # noqa: RUF071 - of letters
                short.update({part: _told_apart(part, differs) for part in several})
    return [BECAME.join(short[part] for part in each) for each in parts]


def _split(name: Name) -> list[Name]:
    """A name, or the two that it consists of; what the shorter one leaves goes to the longer one."""
    texts = name.text.split(BECAME)
    if width_of(name.text) <= name.room or len(texts) == 1 or name.room < _LEAST_PAIR * len(texts):
        return [name]
    left, rooms = name.room - len(BECAME) * (len(texts) - 1), {}
    for number, text in enumerate(sorted(texts, key=width_of)):
        rooms[text] = min(left // (len(texts) - number), width_of(text))
        left -= rooms[text]
    return [Name(text, rooms[text]) for text in texts]


def _told_apart(name: Name, differs: int) -> str:
    """A name with the word in which it differs from others that have the same ends."""
    text, room, last = name
    borders = [0, *_borders(text), len(text)]
    begin = borders[max(bisect_right(borders, min(differs, len(text) - 1)) - 1, 0)]
    word = text[begin : borders[bisect_right(borders, begin)]]
    return _with_word(text, room, begin, word) or _without_middle(text, room, last)


def _with_word(text: str, room: int, begin: int, word: str) -> str:
    """A name's first word, another one, and as much as fits of what follows; empty where that is too little."""
    first = text[: next(iter(_borders(text)), len(text))]
    left = room - width_of(f"{first}{_ELLIPSIS}{word}")
    if begin < len(first) or left < room // 4:
        return ""
    rest = text[begin + len(word) :]
    if width_of(rest) > left:
        before = [0, *accumulate(map(width_of, rest))]
        fits = bisect_left(before, before[-1] - left + width_of(_ELLIPSIS))
        rest = _ELLIPSIS + rest[next((each for each in _borders(rest) if each >= fits), fits) :]
    return f"{first}{_ELLIPSIS}{word}{rest}"


def _without_middle(text: str, room: int, last: int) -> str:
    """A name without what lies between two borders of words, or where these leave too little of it, any two places."""
    if width_of(text) <= room:
        return text
    room -= width_of(_ELLIPSIS)
    before = [0, *accumulate(map(width_of, text))]  # columns before each character
    needed = max(room // 2, min(last, room - room // 6))  # for the end
    begin, end = _best_words(text, before, room, needed)
    if not end:
        begin = bisect_right(before, min(int(_HEAD_SHARE * room), room - needed)) - 1
        end = bisect_left(before, before[-1] - room + before[begin])
    cut = f"{text[:begin].rstrip()}{_ELLIPSIS}{text[end:].lstrip(_SEPARATORS)}"
    argument = _TEMPLATE.search(text, begin, end)  # what a kernel computes: copy<direct_copy_kernel>
    if argument is None or last:
        return cut
    return _with_word(text, room + width_of(_ELLIPSIS), argument.start(), argument[0]) or cut


def _best_words(text: str, before: list[int], room: int, needed: int) -> tuple[int, int]:
    """The two borders of words between which the least is left out; what is at the end counts more. Or no such two."""
    borders = _borders(text)
    best, most = (0, 0), 0.0
    for begin in borders:
        if before[begin] > room - needed:
            break
        next_to_fit = bisect_left(borders, before[-1] - room + before[begin], key=before.__getitem__)
        if text[begin - 1].isalnum() and next_to_fit < len(borders):
            end = borders[next_to_fit]
            told = before[-1] - before[end]
            if before[begin] + told >= _WORTH_IT * room and before[begin] + _END_WEIGHT * told > most:
                best, most = (begin, end), before[begin] + _END_WEIGHT * told
    return best


def _borders(text: str) -> list[int]:
    """Where words begin or end."""
    pairs = enumerate(pairwise(text), start=1)
    return [
        place
        for place, (left, right) in pairs
        if not (left.isalnum() and right.isalnum()) or (left.islower() and right.isupper())
    ]
