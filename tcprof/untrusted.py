"""Texts from a recording are untrusted: here they are made fit to be shown."""

import unicodedata

LINE_LENGTH = 60


def one_line(text: str, length: int = LINE_LENGTH) -> str:
    """Shorten a text to one line, without what would break or reverse it, and without the middle of a long one."""
    most = 20 * length  # looking at more of a name of megabytes would only cost time
    ends = text if len(text) <= 2 * most else text[:most] + text[-most:]
    seen = ends if ends.isprintable() else "".join(map(_visible, ends))
    line = " ".join(seen.split())
    head = length // 2 - 1
    return line if len(line) <= length else f"{line[:head].rstrip()} … {line[head + 3 - length :].lstrip()}"


def _visible(character: str) -> str:
    """Replace control characters by a space, and those that change the direction of writing by U+FFFD."""
    category = unicodedata.category(character)
    return " " if category in ("Cc", "Zl", "Zp") else "�" if category in ("Cf", "Cs", "Co") else character


def printable(text: str) -> str:
    """Replace control characters, line breaks and direction marks, which could forge a terminal's output."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 can hold, by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable_lines(text: str) -> str:
    """Make each line of a text printable."""
    return "\n".join(map(printable, text.split("\n")))
