"""What a copy that is safe to share may hold: an allow-list of tables, texts and rows."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    Numeric,
    Select,
    Table,
    and_,
    func,
    inspect,
    literal,
    or_,
    select,
    true,
    union,
)
from sqlalchemy.sql.elements import ColumnElement

from tcprof.sources.nsys_sqlite import schema

# The columns that hold text to be kept; of any other column only numbers are. ENUM_ tables, nsys's own
# constants, are kept whole.
_KEPT_TEXT: dict[str, set[str]] = {
    **{table.name: set() for table in (schema.METRICS, schema.CAPTURE, *schema.ACTIVITY_TABLES, schema.API_CALLS)},
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": set(),
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": set(),
    "TARGET_INFO_CUDA_STREAM": set(),
    "TARGET_INFO_CUDA_CONTEXT_INFO": set(),
    "PROCESSES": set(),
    schema.CUDA_DEVICES.name: set(),
    schema.METRIC_NAMES.name: {"metricName"},
    schema.NVTX.name: {"text"},
    schema.GPUS.name: {"name", "chipName"},
    schema.CUDA_GPUS.name: {"name"},
    schema.EXPORT_METADATA.name: {"name", "value"},
    schema.OLD_EXPORT_METADATA.name: {"name", "value"},
    schema.CAPTURE_METADATA.name: {"name", "value"},
    schema.SYSTEM.name: {"name", "value"},
    schema.SESSION_START.name: {"utcTime"},
    schema.DIAGNOSTICS.name: {"text"},
    schema.STRINGS.name: {"value"},
    schema.GENERIC_TYPES.name: {"data"},
    schema.GENERIC_EVENTS.name: {"data"},
}
_EXPORT_KEYS = ("EXPORT_PRODUCT_%", "EXPORT_SCHEMA_VERSION%", "EXPORT_TIME_UTC", "EXPORT_LAZY", "EXPORT_PARAM_LAZY")
_CAPTURE_KEYS = ("CAPTURE_EVENT_TYPE", "GPU_METRICS_OPTIONS:%", "RUN_DURATION_MS", "%CUDA_GRAPH_TRACE_OPTIONS:MODE")
_MORE_THAN_A_WORD = "*[^A-Za-z0-9]*"  # no value of these options has more than letters and digits
_SYSTEM_KEYS = ("CpuCores", "CpuArchitecture", "NvDriverVersion", "CudaDriverVersion")
_NVTX_KINDS = (schema.NVTX_PUSH_POP, schema.NVTX_START_END, schema.NVTX_DOMAIN_CREATE, 34, 76)  # marks, domain ends
# Settings whose values nsys and the driver choose.
_OWN_VALUES = ("CAPTURE_EVENT_TYPE", "EXPORT_PRODUCT_NAME", *_SYSTEM_KEYS)
# Tables of names with values.
SETTINGS_TABLES = (schema.CAPTURE_METADATA, schema.EXPORT_METADATA, schema.OLD_EXPORT_METADATA, schema.SYSTEM)
# The columns that decide which rows of a table are kept. A table without them is not one of nsys's, and is left out.
_NEEDED = {
    **{table.name: {"name", "value"} for table in SETTINGS_TABLES},
    schema.NVTX.name: {"eventType"},
    schema.STRINGS.name: {"id", "value"},
    schema.GENERIC_TYPES.name: {"typeId", "data"},
    schema.GENERIC_EVENTS.name: {"typeId"},
}
# The columns whose strings are names that the program gave.
NVTX_STRINGS = ((schema.NVTX.name, "textId"),)
KERNEL_STRINGS = tuple((schema.KERNELS.name, column) for column in ("demangledName", "shortName", "mangledName"))
_API_STRINGS = ((schema.API_CALLS.name, "nameId"),)
_API_NAMES = "cu*"  # cudaLaunchKernel_v7000, cuEventRecord: whatever else is numbered as a call is none


def reflect_tables(connection: Connection, database: str | None = None) -> dict[str, Table]:
    """A database's tables with their columns' names and types, without keys and constraints.

    Args:
        connection: A connection to it.
        database: The name that it is attached under.
    """
    inspector = inspect(connection)
    return {
        name: Table(
            name,
            MetaData(),
            *(Column(column["name"], column["type"]) for column in inspector.get_columns(name, schema=database)),
            schema=database,
        )
        for name in inspector.get_table_names(schema=database)
    }


def is_kept(name: str, tables: dict[str, Table]) -> bool:
    """Whether a table of an export is in its copy."""
    if name not in tables or not _NEEDED.get(name, set()) <= set(tables[name].c.keys()):
        return False
    if name == schema.GENERIC_EVENTS.name:
        return is_kept(schema.GENERIC_TYPES.name, tables)
    if name == schema.GENERIC_TYPES.name:
        return schema.METRICS.name not in tables  # only there do generic events hold the GPU metrics
    return name in _KEPT_TEXT or name.startswith("ENUM_")


def is_number(column: ColumnElement[Any]) -> bool:
    """Whether a column is declared to hold numbers."""
    # Float has been no Numeric since SQLAlchemy 2.1.
    return isinstance(column.type, Numeric | Float | Integer)


def holds_text(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a value is text or bytes, and no number or NULL: in SQLite a column of any type may hold any of these."""
    return func.typeof(column).in_(("text", "blob"))


def keeps_text(column: ColumnElement[Any]) -> bool:
    """Whether the texts of a column are kept."""
    return column.table.name.startswith("ENUM_") or column.name in _KEPT_TEXT.get(column.table.name, ())


def wanted(table: Table, tables: dict[str, Table]) -> ColumnElement[bool]:
    """Which rows of a table are kept."""
    name, c = table.name, table.c
    if name in (schema.EXPORT_METADATA.name, schema.OLD_EXPORT_METADATA.name):
        return or_(*(c.name.like(key) for key in _EXPORT_KEYS))
    if name == schema.CAPTURE_METADATA.name:
        is_word = c.value.op("NOT GLOB")(_MORE_THAN_A_WORD)
        return and_(or_(*(c.name.like(key) for key in _CAPTURE_KEYS)), is_word)
    if name == schema.SYSTEM.name:
        return c.name.in_(_SYSTEM_KEYS)
    if name == schema.NVTX.name:
        return c.eventType.in_(_NVTX_KINDS)
    if name == schema.STRINGS.name:
        named = c.id.in_(users_of(NVTX_STRINGS + KERNEL_STRINGS, tables))
        return or_(named, _is_call(table, tables))
    if name in (schema.GENERIC_TYPES.name, schema.GENERIC_EVENTS.name):
        return c.typeId.in_(_metric_types(tables[schema.GENERIC_TYPES.name]))
    return true()


def left_out(table: Table, tables: dict[str, Table]) -> ColumnElement[bool]:
    """Which rows of a table are not kept; where the choice depends on NULL, a row is not kept."""
    return func.coalesce(wanted(table, tables), literal(False)).is_(False)


def users_of(columns: tuple[tuple[str, str], ...], tables: dict[str, Table]) -> Any:
    """The numbers of strings that occur in some columns, each a table and its column, of the rows that are kept."""
    found = list(_string_numbers(columns, tables))
    return union(*found) if found else select(literal(None))


def own_words(tables: dict[str, Table]) -> Iterator[Select[Any]]:
    """Texts that nsys and the driver themselves write: GPUs, metrics, CUDA calls, options, constants."""
    for name, table in tables.items():
        if not is_kept(name, tables):
            continue
        if name.startswith("ENUM_"):
            yield from (select(column) for column in table.c if not is_number(column))
        elif name in (schema.GPUS.name, schema.CUDA_GPUS.name, schema.METRIC_NAMES.name):
            yield from (select(column) for column in table.c if keeps_text(column))
        elif name in (settings.name for settings in SETTINGS_TABLES):
            yield select(table.c.name).where(wanted(table, tables))
            yield select(table.c.value).where(table.c.name.in_(_OWN_VALUES))
        elif name == schema.STRINGS.name:
            yield select(table.c.value).where(_is_call(table, tables))


def _is_call(strings: Table, tables: dict[str, Table]) -> ColumnElement[bool]:
    """Which strings are names of CUDA calls."""
    return and_(strings.c.id.in_(users_of(_API_STRINGS, tables)), strings.c.value.op("GLOB")(_API_NAMES))


def _string_numbers(columns: tuple[tuple[str, str], ...], tables: dict[str, Table]) -> Iterator[Select[Any]]:
    for name, column in columns:
        if is_kept(name, tables) and column in tables[name].c:
            numbers = select(tables[name].c[column])
            yield numbers.where(wanted(tables[name], tables)) if name == schema.NVTX.name else numbers


def _metric_types(types: Table) -> Select[Any]:
    """The types of generic events that are GPU metrics."""
    return select(types.c.typeId).where(types.c.data.like('%"GR Active"%'))
