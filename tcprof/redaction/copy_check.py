"""Looks for anything private in a redacted copy: at what it holds, not at what was meant to be left out."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, Table, Text, create_engine, or_, select, type_coerce
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from tcprof.errors import OutputError
from tcprof.nsys import schema
from tcprof.nsys.opening import OpenedExport
from tcprof.redaction.allowed import KERNEL_STRINGS, KNOWN_TABLES, NVTX_STRINGS, is_number, reflect_tables, users_of
from tcprof.redaction.own_words import is_own, set_functions
from tcprof.redaction.private_texts import PRIVATE_TABLES, PrivateMatch, PrivateTexts, as_text, gather_private

EXAMPLES = 3
# Names that a copy keeps: those of the program are searched by themselves, those of tcprof's own facts are a list.
_OF_NVTX = ((schema.NVTX.name, "text"), (schema.CAPTURED.name, "name"))
_NAMES = (*_OF_NVTX, (schema.STRINGS.name, "value"), (schema.RUN.name, "name"))
_AT_ONCE = 20_000
_DEFECT = (
    "This is a bug in tcprof: please report this message, without the recording. Until it is fixed, share figures: "
    "tcprof ranges RECORDING --format csv"
)
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


@dataclass(frozen=True)
class PrivateNames:
    """Names in a copy that hold something private."""

    count: int  # how many different names
    examples: tuple[PrivateMatch, ...]  # the first of them. They come from the recording and are not escaped


@dataclass(frozen=True)
class CheckedNames:
    """The private parts of names that a copy keeps."""

    nvtx: PrivateNames  # names of NVTX ranges, marks and domains
    kernels: PrivateNames  # names of kernels


def check_copy(connection: Connection, database: str, private: PrivateTexts) -> CheckedNames:
    """Search every text of a copy for what its source holds of the machine, for users' paths, and for addresses.

    Names of NVTX and of kernels, the program's own words, are returned where private; OutputError for any other.
    """
    tables = reflect_tables(connection, database)
    for table in tables.values():
        for column in (column for column in table.c if not is_number(column)):
            if (table.name, column.name) not in _NAMES:
                matches = _search(connection, [select(type_coerce(column, Text)).distinct()], private)
                _refuse(table.name, column.name, matches)
    of_nvtx, of_kernels, of_others = _name_statements(tables)
    _refuse(schema.STRINGS.name, "value", _search(connection, of_others, private))
    return CheckedNames(
        _list_names(_search(connection, of_nvtx, private)), _list_names(_search(connection, of_kernels, private))
    )


def find_text_among_numbers(connection: Connection, database: str) -> str | None:
    """Find a table of a copy whose columns of numbers hold text: SQLite allows it, nsys never writes it."""
    for table in reflect_tables(connection, database).values():
        # Text sorts above numbers. Empty text is private of nobody: earlier versions wrote it in place of numbers.
        numbers = [type_coerce(column, Text) > "" for column in table.c if is_number(column)]
        if numbers and connection.execute(select(1).select_from(table).where(or_(*numbers)).limit(1)).first():
            return table.name
    return None


def _name_statements(tables: dict[str, Table]) -> tuple[list[Select[str]], list[Select[str]], list[Select[str]]]:
    nvtx = [
        select(type_coerce(tables[name].c[column], Text)).distinct()
        for name, column in _OF_NVTX
        if name in tables and column in tables[name].c
    ]
    if schema.STRINGS.name not in tables:
        return nvtx, [], []
    strings = tables[schema.STRINGS.name].c
    value = select(type_coerce(strings.value, Text))
    by_nvtx = strings.id.in_(users_of(NVTX_STRINGS, tables))
    by_kernels = strings.id.in_(users_of(KERNEL_STRINGS, tables))
    return (
        [*nvtx, value.where(by_nvtx)],
        [value.where(by_kernels)],
        [value.where(by_nvtx.isnot(True), by_kernels.isnot(True))],
    )


def _refuse(table: str, column: str, matches: Iterable[PrivateMatch]) -> None:
    for match in matches:
        raise OutputError(f"No copy was written: its {table}.{column} would hold {match.reason}.", _DEFECT)


def _list_names(matches: Iterable[PrivateMatch]) -> PrivateNames:
    names = {match.text: match for match in matches}
    return PrivateNames(len(names), tuple(names.values())[:EXAMPLES])


def _search(connection: Connection, statements: list[Select[str]], private: PrivateTexts) -> Iterator[PrivateMatch]:
    """Search the texts that statements of one column give, some at a time, to keep memory small."""
    for statement in statements:
        result = connection.execution_options(yield_per=_AT_ONCE).scalars(statement)
        yield from chain.from_iterable(
            private.search([as_text(value) for value in some if value]) for some in result.partitions()
        )


def without_private(export: Path, messages: list[str]) -> list[str]:
    """Replace what is private in the messages of an export."""
    if not messages:
        return []
    opened = OpenedExport(export, KNOWN_TABLES)
    try:
        with opened.connect() as connection:
            set_functions(connection)
            engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
            with engine.connect() as reading:
                private = gather_private(reading, reflect_tables(reading, only=PRIVATE_TABLES))
    except DatabaseError as error:
        raise opened.damaged(error.orig or error) from error
    blank = blanking(private, messages)
    return [blank(text) or "" for text in messages]


def blanking(private: PrivateTexts, messages: Iterable[str]) -> Callable[[Any], str | None]:
    """Make a function that replaces what is private in these messages: known texts, paths, addresses, settings."""
    some = list(messages)
    rule, parts = private.rule(some), _shared_parts(private, some)

    @lru_cache(_REMEMBERED)  # messages often repeat
    def blank(text: Any) -> str | None:
        if text is None:
            return None
        visible = as_text(text).partition("\0")[0]  # what readers see of it
        blanked = _without_parts(rule.sub(REDACTED, visible), parts)
        return _REPEATED.sub(REDACTED, _PRIVATE.sub(_replace, blanked))

    return blank


def _replace(match: re.Match[str]) -> str:
    dotted = match.group("dotted")
    return dotted if dotted and "__" in dotted and is_own(dotted) else REDACTED


def _shared_parts(private: PrivateTexts, messages: list[str]) -> set[str]:
    of_messages = {part for text in set(messages) for part in _parts(text)}
    return {part for text in private.kinds for part in _parts(text) if part in of_messages} if of_messages else set()


def _parts(text: str) -> Iterator[str]:
    return (text[start : start + _PART] for start in range(len(text) - _PART + 1))


def _without_parts(text: str, parts: set[str]) -> str:
    """Replace the stretches of a message that are parts of a private text; words of nsys itself stay."""
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
