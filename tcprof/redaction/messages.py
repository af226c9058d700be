"""The messages of nsys without what they reveal of the machine: as shown, and as a copy that is shared has them."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from tcprof.nsys.opening import OpenedExport
from tcprof.redaction.allowed import KNOWN_TABLES, reflect_tables
from tcprof.redaction.own_words import is_own, set_functions
from tcprof.redaction.private_texts import TELLING_TABLES, PrivateTexts, as_text, gather_private

REDACTED = "<redacted>"
_REMEMBERED = 100
_PART = 12  # characters: of a longer secret a message may have a part
_REPEATED = re.compile(f"(?:{REDACTED})+")
# Paths, hosts, addresses and settings in a message of nsys; "IP/backtrace" is none.
_PRIVATE = re.compile(
    r"(?<!\w)(?:/[\w.@%+=~-]+)+/?|[\w.~$-]{1,64}(?:/[\w.@%+=~-]+){2,}/?|\b[A-Za-z]:\\[^\s\"']*"
    r"|\\\\[\w.$-]+\\[^\s\"']*|(?P<dotted>(?<![\w.-])[A-Za-z][\w-]{0,62}(?:\.[A-Za-z][\w-]{0,62}){2,})"
    r"|(?<![\w:])(?:(?:[0-9A-Fa-f]{1,4}:){1,7}:(?:[0-9A-Fa-f]{1,4}:?)*|(?:[0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{1,4})(?!\w)"
    r"|(?<![\w.-])[\w.-]{1,64}@[\w.-]+|\b\w+=\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b"
)


def without_private(export: Path, messages: list[str]) -> list[str]:
    """The messages of an export, with what is private in them replaced.

    Raises:
        InputError: The export cannot be read.
    """
    if not messages:
        return []
    opened = OpenedExport(export, KNOWN_TABLES)
    try:
        with opened.connect() as connection:
            set_functions(connection)
            engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
            with engine.connect() as reading:
                private = gather_private(reading, reflect_tables(reading, only=TELLING_TABLES))
    except DatabaseError as error:
        raise opened.damaged(error.orig or error) from error
    blank = blanking(private, messages)
    return [blank(text) or "" for text in messages]


def blanking(private: PrivateTexts, messages: Iterable[str]) -> Callable[[Any], str | None]:
    """A function that replaces what is private in these messages: known texts, paths, addresses and settings."""
    some = list(messages)
    rule, parts = private.rule(some), _shared_parts(private, some)

    @lru_cache(_REMEMBERED)  # the same is often told many times
    def blank(text: Any) -> str | None:
        if text is None:
            return None
        shown = as_text(text).partition("\0")[0]  # what readers see of it
        known = _without_parts(rule.sub(REDACTED, shown), parts)
        return _REPEATED.sub(REDACTED, _PRIVATE.sub(_replace, known))

    return blank


def _replace(found: re.Match[str]) -> str:
    """What stands for a private stretch: itself where it is a counter, "SM.Triage.sm__cycles.sum", and no host."""
    dotted = found.group("dotted")
    return dotted if dotted and "__" in dotted and is_own(dotted) else REDACTED


def _shared_parts(private: PrivateTexts, messages: list[str]) -> set[str]:
    """The parts of messages that some private text has as well."""
    of_messages = {part for text in set(messages) for part in _parts(text)}
    return {part for text in private.kinds for part in _parts(text) if part in of_messages} if of_messages else set()


def _parts(text: str) -> Iterator[str]:
    return (text[start : start + _PART] for start in range(len(text) - _PART + 1))


def _without_parts(text: str, parts: set[str]) -> str:
    """A message without the stretches that are parts of a private text; words of nsys itself stay."""
    starts = [start for start, part in enumerate(_parts(text)) if part in parts] if parts else []
    stretches: list[list[int]] = []
    for start in starts:
        if stretches and start <= stretches[-1][1]:
            stretches[-1][1] = start + _PART
        else:
            stretches.append([start, start + _PART])
    for start, end in reversed(stretches):
        if not is_own(text[start:end]):
            text = f"{text[:start]}{REDACTED}{text[end:]}"
    return text
