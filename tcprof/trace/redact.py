"""A copy of an export that is safe to share.

A report holds the environment variables and command lines of every process on the machine, and the program's output.
The copy has only the tables listed here, and of their texts only those that describe GPU work: kernel names, CUDA API
names, NVTX names, metric names. NVTX names are the program's own words and stay as they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Numeric,
    Select,
    Table,
    create_engine,
    event,
    func,
    inspect,
    literal,
    or_,
    select,
    true,
    union,
)
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.elements import ColumnElement

from tcprof.errors import InputError, OutputError
from tcprof.trace import schema
from tcprof.trace.database import decode

SOURCE = "source"

# Tables without any text that a program or a user wrote. ENUM_ tables are nsys's own and are kept as well.
_PLAIN = (
    schema.METRICS,
    schema.METRIC_NAMES,
    schema.CUDA_DEVICES,
    schema.CAPTURE,
    *schema.ACTIVITY_TABLES,
    schema.API_CALLS,
)
_PLAIN_NAMES = {table.name for table in _PLAIN} | {
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "TARGET_INFO_CUDA_STREAM",
    "TARGET_INFO_CUDA_CONTEXT_INFO",
}
# Tables with texts: the columns that are kept; every other column that can hold text becomes NULL or empty.
_KEPT_TEXT = {
    schema.NVTX.name: {"text"},
    schema.GPUS.name: {"name", "chipName"},
    schema.CUDA_GPUS.name: {"name"},
    schema.EXPORT_METADATA.name: {"name", "value"},
    schema.OLD_EXPORT_METADATA.name: {"name", "value"},
    schema.CAPTURE_METADATA.name: {"name", "value"},
    schema.SYSTEM.name: {"name", "value", "devStateName"},
    schema.SESSION_START.name: {"utcTime"},
    schema.DIAGNOSTICS.name: {"text"},
    schema.STRINGS.name: {"value"},
    schema.GENERIC_TYPES.name: {"data"},
    schema.GENERIC_EVENTS.name: {"data"},
    "PROCESSES": set(),
}
_EXPORT_KEYS = ("EXPORT_PRODUCT_%", "EXPORT_SCHEMA_VERSION%", "EXPORT_TIME_UTC", "EXPORT_LAZY", "EXPORT_PARAM_LAZY")
_CAPTURE_KEYS = ("CAPTURE_EVENT_TYPE", "GPU_METRICS_OPTIONS:%", "RUN_DURATION_MS", "%CUDA_GRAPH_TRACE_OPTIONS:MODE")
_SYSTEM_KEYS = ("CpuCores", "CpuArchitecture", "NvDriverVersion", "CudaDriverVersion")
_NVTX_KINDS = (schema.NVTX_PUSH_POP, schema.NVTX_START_END, schema.NVTX_DOMAIN_CREATE, 34, 76)  # marks, domain ends
_STRING_USERS = (
    (schema.NVTX.name, "textId"),
    (schema.KERNELS.name, "demangledName"),
    (schema.KERNELS.name, "shortName"),
    (schema.KERNELS.name, "mangledName"),
    (schema.API_CALLS.name, "nameId"),
)
_PRIVATE = re.compile(r"(?:/[\w.@%+=~-]+)+/?|[\w.-]+@[\w.-]+|\b\w+=\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b")


@dataclass(frozen=True)
class Redaction:
    """What a redaction left out.

    Attributes:
        tables: Tables that were left out whole.
        rows: Rows left out of the tables that were kept.
        strings: Entries of the string table left out: arguments, paths, thread names, program output.
    """

    tables: int
    rows: int
    strings: int


def redact(source: Path, target: Path) -> Redaction:
    """Write a copy of an export without anything private of the machine.

    Args:
        source: The export; it is not changed.
        target: The copy. It must not exist: writing it in place of another file is the caller's part.

    Raises:
        InputError: The export cannot be read.
        OutputError: The copy cannot be written.
    """
    engine = _open(source, target)
    try:
        with engine.begin() as connection:
            inspector = inspect(connection)
            tables = {
                name: _plain_table(name, inspector.get_columns(name, schema=SOURCE))
                for name in inspector.get_table_names(schema=SOURCE)
            }
            return _copy(connection, tables)
    except DatabaseError as error:
        reason = str(error.orig).splitlines()[0]
        if "readonly" in reason or "unable to open" in reason or "disk" in reason:
            raise OutputError(f"{target} cannot be written: {reason}") from error
        raise InputError(f"{source} cannot be read: {reason}") from error


def _open(source: Path, target: Path) -> Engine:
    """An engine that writes the target and has the source attached, read-only."""
    engine = create_engine(f"sqlite:///{target}", poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def attach(connection: Any, _: Any) -> None:
        connection.text_factory = decode
        connection.create_function("redact_text", 1, _redact_text, deterministic=True)
        connection.execute("attach database ? as source", (f"{source.absolute().as_uri()}?mode=ro",))

    return engine


def _plain_table(name: str, columns: list[Any]) -> Table:
    """A table of the source with its columns' names and types, without keys and constraints."""
    return Table(name, MetaData(), *(Column(column["name"], column["type"]) for column in columns), schema=SOURCE)


def _redact_text(text: str | None) -> str | None:
    """A message of nsys without paths, addresses and settings."""
    return None if text is None else _PRIVATE.sub("<redacted>", text)


def _copy(connection: Connection, tables: dict[str, Table]) -> Redaction:
    """Create and fill the tables that are kept."""
    kept = [table for name, table in tables.items() if _is_kept(name, tables)]
    left_out = strings = 0
    for table in kept:
        copy = Table(table.name, MetaData(), *(Column(c.name, c.type) for c in table.c))
        copy.create(connection)
        columns = [_redacted(column) for column in table.c]
        statement = select(*columns).where(_wanted(table, tables))
        connection.execute(copy.insert().from_select([column.name for column in table.c], statement))
        before, after = (connection.scalar(select(func.count()).select_from(side)) or 0 for side in (table, copy))
        if table.name == schema.STRINGS.name:
            strings = before - after
        else:
            left_out += before - after
    return Redaction(tables=len(tables) - len(kept), rows=left_out, strings=strings)


def _is_kept(name: str, tables: dict[str, Table]) -> bool:
    if name in (schema.GENERIC_TYPES.name, schema.GENERIC_EVENTS.name):
        return schema.METRICS.name not in tables  # only there do they hold the GPU metrics
    return name in _PLAIN_NAMES or name in _KEPT_TEXT or name.startswith("ENUM_")


def _redacted(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column, or nothing in its place where it may hold private text."""
    table, name = column.table.name, column.name
    if isinstance(column.type, Numeric | Integer) or table.startswith("ENUM_") or table in _PLAIN_NAMES:
        return column
    if name in _KEPT_TEXT.get(table, ()):
        return func.redact_text(column).label(name) if table == schema.DIAGNOSTICS.name else column
    return literal("").label(name)


def _wanted(table: Table, tables: dict[str, Table]) -> ColumnElement[bool]:
    """Which rows of a table are kept."""
    name, c = table.name, table.c
    if name in (schema.EXPORT_METADATA.name, schema.OLD_EXPORT_METADATA.name):
        return or_(*(c.name.like(key) for key in _EXPORT_KEYS))
    if name == schema.CAPTURE_METADATA.name:
        return or_(*(c.name.like(key) for key in _CAPTURE_KEYS))
    if name == schema.SYSTEM.name:
        return c.name.in_(_SYSTEM_KEYS)
    if name == schema.NVTX.name:
        return c.eventType.in_(_NVTX_KINDS)
    if name == schema.STRINGS.name:
        used = list(_used_strings(tables))
        return c.id.in_(union(*used)) if used else literal(False)
    if name in (schema.GENERIC_TYPES.name, schema.GENERIC_EVENTS.name):
        return c.typeId.in_(_metric_types(tables[schema.GENERIC_TYPES.name]))
    return true()


def _used_strings(tables: dict[str, Table]) -> Iterator[Select[Any]]:
    """The ids of strings that name GPU work."""
    for name, column in _STRING_USERS:
        if name in tables and column in tables[name].c:
            users = select(tables[name].c[column])
            yield users.where(_wanted(tables[name], tables)) if name == schema.NVTX.name else users


def _metric_types(types: Table) -> Select[Any]:
    """The types of generic events that are GPU metrics."""
    return (
        select(types.c.typeId).where(types.c.data.like('%"GR Active"%'))
        if "data" in types.c
        else select(types.c.typeId)
    )
