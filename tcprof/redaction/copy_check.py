"""Looks for anything private in a redacted copy: at what it holds, not at what was meant to be left out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Connection, Select, Table, Text, or_, select, type_coerce

from tcprof.errors import OutputError
from tcprof.nsys import schema
from tcprof.redaction.allowed import (
    KERNEL_STRINGS,
    NVTX_STRINGS,
    is_number,
    reflect_tables,
    users_of,
)
from tcprof.redaction.private_texts import Found, PrivateTexts, as_text

EXAMPLES = 3
_AT_ONCE = 20_000
_DEFECT = (
    "This is a defect of tcprof: please report this message, without the recording. Until it is fixed, share figures: "
    "tcprof ranges RECORDING --format csv"
)


@dataclass(frozen=True)
class Suspects:
    """Names in a copy that hold something private."""

    count: int  # how many different names
    examples: tuple[Found, ...]  # the first of them. They come from the recording and are not escaped


@dataclass(frozen=True)
class CheckedNames:
    """What was found in the names that a copy keeps."""

    nvtx: Suspects  # names of NVTX ranges, marks and domains
    kernels: Suspects  # names of kernels


def check_copy(connection: Connection, database: str, private: PrivateTexts) -> CheckedNames:
    """Search every text of a copy for what its source holds of the machine, for paths of users, and for addresses.

    Returns:
        What was found in the names of NVTX and of kernels: they are the program's own words and the copy keeps them.

    Raises:
        OutputError: Something private is elsewhere in the copy.
    """
    tables = reflect_tables(connection, database)
    for table in tables.values():
        for column in (column for column in table.c if not is_number(column)):
            if (table.name, column.name) not in ((schema.NVTX.name, "text"), (schema.STRINGS.name, "value")):
                found = _search(connection, [select(type_coerce(column, Text)).distinct()], private)
                _refuse(table.name, column.name, found)
    of_nvtx, of_kernels, others = _name_statements(tables)
    _refuse(schema.STRINGS.name, "value", _search(connection, others, private))
    return CheckedNames(
        _suspects(_search(connection, of_nvtx, private)), _suspects(_search(connection, of_kernels, private))
    )


def find_text_among_numbers(connection: Connection, database: str) -> str | None:
    """The table of a copy whose columns of numbers hold text, which SQLite allows and nsys does not write."""
    for table in reflect_tables(connection, database).values():
        # Text sorts above numbers. Empty text is private of nobody: earlier versions wrote it in place of numbers.
        numbers = [type_coerce(column, Text) > "" for column in table.c if is_number(column)]
        if numbers and connection.execute(select(1).select_from(table).where(or_(*numbers)).limit(1)).first():
            return table.name
    return None


def _name_statements(tables: dict[str, Table]) -> tuple[list[Select[str]], list[Select[str]], list[Select[str]]]:
    """The names of NVTX, the names of kernels, and all other strings."""
    nvtx: list[Select[str]] = []
    if schema.NVTX.name in tables and "text" in tables[schema.NVTX.name].c:
        nvtx.append(select(type_coerce(tables[schema.NVTX.name].c.text, Text)).distinct())
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


def _refuse(table: str, column: str, found: Iterable[Found]) -> None:
    for one in found:
        raise OutputError(f"No copy was written: its {table}.{column} would hold {one.reason}.", _DEFECT)


def _suspects(found: Iterable[Found]) -> Suspects:
    names = {one.text: one for one in found}
    return Suspects(len(names), tuple(names.values())[:EXAMPLES])


def _search(connection: Connection, statements: list[Select[str]], private: PrivateTexts) -> Iterator[Found]:
    """What is private in the texts that statements of one column give; some at a time, to keep memory small."""
    for statement in statements:
        result = connection.execution_options(yield_per=_AT_ONCE).scalars(statement)
        yield from chain.from_iterable(
            private.search([as_text(value) for value in some if value]) for some in result.partitions()
        )
