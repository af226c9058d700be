"""A copy of an export that is safe to share.

A report holds the environment variables and command lines of every process on the machine, and the program's output.
The copy has only what ``allowed`` lists; of the texts those that describe GPU work: kernel names, CUDA API names, NVTX
names, metric names. NVTX names are the program's own words and stay as they are. What is left out is counted, and the
copy is searched for it.
"""

import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from tcprof.errors import EXPORT_AGAIN, InputError, OutputError
from tcprof.files import read_unchanged
from tcprof.nsys import schema
from tcprof.nsys.opening import OpenedExport, prepare
from tcprof.redaction.allowed import (
    KNOWN_TABLES,
    SETTINGS_TABLES,
    as_copied,
    copied_columns,
    is_kept,
    is_number,
    keeps_text,
    left_out,
    reflect_tables,
    wanted,
)
from tcprof.redaction.copy_check import CheckedNames, blanking, check_copy, find_text_among_numbers
from tcprof.redaction.own_words import set_functions
from tcprof.redaction.private_texts import (
    OUTPUTS,
    PRIVATE_TABLES,
    THREAD_NAMES,
    Kind,
    PrivateTexts,
    as_text,
    gather_private,
    is_path,
    kind_of,
    numbers_in,
    settings_in,
    strings_in,
    texts_of,
    variables,
)

SOURCE = "source"
COPY = "main"


@dataclass(frozen=True)
class Redaction:
    """The result of a redaction: what it left out, and what the names that the copy keeps may reveal."""

    # For each kind of which something was left out: how much. Environment variables are counted by entries, output by
    # lines, messages, settings and rows by rows, and all else by texts.
    removed: dict[Kind, int]
    # Names of the tables with rows that were left out whole. They come from the export and are not escaped.
    tables: tuple[str, ...]
    # Names of the columns of other tables that were left out, as nsys is not known to write them; likewise.
    columns: tuple[str, ...]
    searched: int  # how many texts of the export the copy was searched for
    names: CheckedNames  # what of them is in the names that the copy keeps


def redact(source: Path, target: Path) -> Redaction:
    """Write a copy of an export, which must not exist, without anything private of the machine, and search it for such.

    InputError: the export cannot be read, or holds text among numbers; OutputError: the copy cannot be written, or it
    would hold something private and was removed.
    """

    def copy(_: str) -> Redaction:
        target.unlink(missing_ok=True)  # of a source that changed meanwhile
        return _redact(source, target)

    try:
        return read_unchanged(source, copy)
    except InputError:
        target.unlink(missing_ok=True)
        raise


def _redact(source: Path, target: Path) -> Redaction:
    opened = OpenedExport(source, KNOWN_TABLES)
    engine = _open(opened.uri, target)
    try:
        with engine.begin() as connection:
            tables = reflect_tables(connection, SOURCE, only=PRIVATE_TABLES)
            opened.admit(*(name for name in tables if is_kept(name, tables)))
            private = gather_private(connection, tables)
            removed = _copy(connection, tables, private)
            dropped = (name for name in sa.inspect(connection).get_table_names(SOURCE) if not is_kept(name, tables))
            whole = tuple(name for name in dropped if _has_rows(connection, name))
            kept = [table for name, table in tables.items() if is_kept(name, tables)]
            columns = tuple(str(column) for table in kept for column in table.c if column not in copied_columns(table))
        with engine.connect() as connection:
            names = _check(connection, source, target, private)
    except DatabaseError as error:
        reason = str(error.orig).splitlines()[0]
        if "readonly" in reason or "unable to open" in reason or "disk" in reason:
            raise OutputError(f"{target} cannot be written: {reason}") from error
        raise InputError(f"{source} cannot be read: {reason}") from error
    return Redaction({kind: removed[kind] for kind in Kind if removed[kind]}, whole, columns, len(private.kinds), names)


def _open(uri: str, target: Path) -> sa.Engine:
    """Make an engine that writes the target and has the source, given as a read-only URI, attached."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(target.absolute().as_uri(), uri=True)
        prepare(connection)
        set_functions(connection)
        connection.execute("attach database ? as source", (uri,))
        return connection

    return sa.create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _has_rows(connection: sa.Connection, name: str) -> bool:
    rows = sa.select(sa.literal(1)).select_from(sa.TableClause(name, schema=SOURCE)).limit(1)
    return connection.execute(rows).first() is not None


def _check(connection: sa.Connection, source: Path, target: Path, private: PrivateTexts) -> CheckedNames:
    try:
        if place := find_text_among_numbers(connection, COPY):
            raise InputError(f"{source} cannot be redacted: {place} holds text among its numbers.", EXPORT_AGAIN)
        return check_copy(connection, COPY, private)
    except (InputError, OutputError):
        target.unlink()
        raise


def _copy(connection: sa.Connection, tables: dict[str, sa.Table], private: PrivateTexts) -> Counter[Kind]:
    """Create and fill the tables that are kept, and count what is left out of them."""
    removed: Counter[Kind] = Counter()
    _set_blanking(connection, tables, private)
    _set_search(connection, tables, private)
    for table in (table for name, table in tables.items() if is_kept(name, tables)):
        # SQLite treats a column without a type like one of BLOB.
        columns = copied_columns(table)
        types = {c.name: sa.BLOB() if isinstance(c.type, sa.types.NullType) else c.type for c in columns}
        copy = sa.Table(table.name, sa.MetaData(), *(sa.Column(name, declared) for name, declared in types.items()))
        copy.create(connection)
        copied = sa.select(*(as_copied(column).label(column.name) for column in columns))
        connection.execute(copy.insert().from_select(list(types), copied.where(wanted(table, tables))))
        removed += _count_rows(connection, table, tables) + _count_texts(connection, table, tables)
    return removed


def _set_blanking(connection: sa.Connection, tables: dict[str, sa.Table], private: PrivateTexts) -> None:
    """Give the connection a function that blanks what is private in the messages of nsys."""
    messages = tables.get(schema.DIAGNOSTICS.name)
    texts: list[str] = []
    if messages is not None and "text" in messages.c:
        texts = texts_of(connection, sa.select(messages.c.text).distinct())
    connection.connection.create_function("blank", 1, blanking(private, texts), deterministic=True)


def _set_search(connection: sa.Connection, tables: dict[str, sa.Table], private: PrivateTexts) -> None:
    """Give the connection a function that empties what tcprof wrote of a run where something private is in it."""
    texts: list[str] = []
    if is_kept(schema.RUN.name, tables):
        run = tables[schema.RUN.name]
        texts = texts_of(connection, sa.select(run.c.value).where(wanted(run, tables)))
    suspects = {match.text for match in private.search(texts)}
    connection.connection.create_function(
        "unless_private", 1, lambda value: value and ("" if as_text(value) in suspects else as_text(value))
    )


def _count_rows(connection: sa.Connection, table: sa.Table, tables: dict[str, sa.Table]) -> Counter[Kind]:
    if table.name == schema.STRINGS.name:
        return _count_strings(connection, tables)
    if table.name in (settings.name for settings in SETTINGS_TABLES):
        counts: Counter[Kind] = Counter()
        for name, value in settings_in(connection, table, left_out(table, tables)):
            kind = kind_of(name, value)
            counts[kind] += len(variables(name, value)) if kind is Kind.ENVIRONMENT else 1
        return counts
    rows = connection.scalar(sa.select(sa.func.count()).select_from(table).where(left_out(table, tables)))
    return Counter({Kind.ROWS: rows or 0})


def _count_strings(connection: sa.Connection, tables: dict[str, sa.Table]) -> Counter[Kind]:
    """Count entries of the string table by kind; an environment by its variables, output by its lines."""
    threads, contents = (numbers_in(connection, tables, *column) for column in (THREAD_NAMES, OUTPUTS))
    counts: Counter[Kind] = Counter()
    for number, text in ((number, text) for number, text, is_left_out in strings_in(connection, tables) if is_left_out):
        if number in contents:
            counts[Kind.OUTPUT] += len(text.splitlines())
        elif "\0" in text:
            counts[Kind.ENVIRONMENT] += len(variables("", text))
        elif number in threads:
            counts[Kind.THREADS] += 1
        else:
            counts[Kind.PATHS if is_path(text) else Kind.TEXTS] += 1
    return counts


def _count_texts(connection: sa.Connection, table: sa.Table, tables: dict[str, sa.Table]) -> Counter[Kind]:
    """Count the texts of a kept table that are left out, or blanked in part, although their rows are kept."""
    counts: Counter[Kind] = Counter()
    for column in (column for column in copied_columns(table) if not is_number(column)):
        is_counted = as_copied(column).is_distinct_from(column)
        count = connection.scalar(sa.select(sa.func.count()).where(is_counted, wanted(table, tables)))
        counts[_kind_of_column(column)] += count or 0
    return counts


def _kind_of_column(column: sa.ColumnElement[Any]) -> Kind:
    if column.table.name == schema.DIAGNOSTICS.name and keeps_text(column):
        return Kind.MESSAGES
    if column.table.name == "PROCESSES":
        return Kind.PROCESSES
    return Kind.HARDWARE if column.name in ("uuid", "busLocation", "pciBusId") else Kind.TEXTS
