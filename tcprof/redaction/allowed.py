"""List what a copy that is safe to share may hold: tables, texts and rows."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import NullType, TypeEngine

from tcprof.identity import FACTS, VERSION
from tcprof.nsys import schema
from tcprof.redaction.own_words import is_own

# nsys's own words for the numbers in tables that are kept, which tcprof does not read but other tools do.
_CONSTANTS = (
    "ENUM_CUDA_DEV_MEM_EVENT_OPER",
    "ENUM_CUDA_FUNC_CACHE_CONFIG",
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE",
    "ENUM_CUDA_KRENEL_LAUNCH_TYPE",  # as some versions spell it
    "ENUM_CUDA_MEMCPY_OPER",
    "ENUM_CUDA_MEMPOOL_OPER",
    "ENUM_CUDA_MEMPOOL_TYPE",
    "ENUM_CUDA_MEM_KIND",
    "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG",
    "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE",
    "ENUM_CUDA_UNIF_MEM_MIGRATION",
    "ENUM_CUPTI_STREAM_TYPE",
    "ENUM_CUPTI_SYNC_TYPE",
    "ENUM_DIAGNOSTIC_SEVERITY_LEVEL",
    "ENUM_DIAGNOSTIC_SOURCE_TYPE",
    "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE",
    "ENUM_NSYS_EVENT_CLASS",
    "ENUM_NSYS_EVENT_TYPE",
)
# Tables of names with values.
SETTINGS_TABLES = (
    *(schema.CAPTURE_METADATA, schema.EXPORT_METADATA, schema.OLD_EXPORT_METADATA),
    *(schema.SYSTEM, schema.RUN),
)
# Tables of which only numbers are kept.
_ONLY_NUMBERS = (
    *(table.name for table in (*schema.ACTIVITY_TABLES, schema.API_CALLS, schema.METRICS, schema.CAPTURE)),
    *(table.name for table in (schema.CUDA_DEVICES, schema.NODE_EVENTS, schema.UNPROFILED, schema.DRIVER_LOG)),
    *("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "TARGET_INFO_CUDA_STREAM"),
    *("TARGET_INFO_CUDA_CONTEXT_INFO", "PROCESSES"),
)
# The columns that hold text to be kept; of any other column only numbers are.
_KEPT_TEXT: dict[str, set[str]] = {
    **{name: {"name", "label"} for name in _CONSTANTS},
    **{name: set() for name in _ONLY_NUMBERS},
    **{table.name: {"name", "value"} for table in SETTINGS_TABLES},
    schema.CAPTURED.name: {"name"},
    schema.METRIC_NAMES.name: {"metricName"},
    schema.NVTX.name: {"text", "jsonText"},
    schema.GPUS.name: {"name", "chipName"},
    schema.CUDA_GPUS.name: {"name"},
    schema.SESSION_START.name: {"utcTime"},
    schema.DIAGNOSTICS.name: {"text"},
    schema.STRINGS.name: {"value"},
    schema.GENERIC_TYPES.name: {"data"},
    schema.GENERIC_EVENTS.name: {"data"},
}
KNOWN_TABLES = _KEPT_TEXT.keys()  # those that may be in a copy
# Settings that are kept, each by a pattern of its whole name and one of its whole value: any other word may be a name
# or a password.
_NUMBER = r"[0-9]{1,9}"
_CHECKSUM = "[0-9]{1,10}( [0-9]{1,10})?"
_DATE = r"([0-9]{4}-[0-9]{2}-[0-9]{2})?[T ]?([0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z?)?|[0-9]{4}\.[0-9]{1,2}"
_BOOLEAN = "true|false"
_GPU = r"GPU_METRICS_OPTIONS:GPU_\d{1,2}"
_CAPTURE_SETTINGS = {
    "CAPTURE_EVENT_TYPE": "OSRuntime|NvtxEvents|CuBLAS|CuDNN|Graphics|Cuda",
    "GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY|RUN_DURATION_MS": _NUMBER,
    f"{_GPU}:ID|{_GPU}:METRIC_SET_INDEX": _NUMBER,
    r"(PROCESS_\d{1,6}:)?CUDA_GRAPH_TRACE_OPTIONS:MODE": "Graph|Node",
}
_EXPORT_SETTINGS = {
    "EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems",
    "EXPORT_PRODUCT_DATE|EXPORT_TIME_UTC": _DATE,
    "EXPORT_PRODUCT_VERSION|EXPORT_SCHEMA_VERSION(_MAJOR|_MINOR|_MICRO)?": VERSION,
    "EXPORT_SCHEMA_VERSION_CKSUM": _CHECKSUM,
    "EXPORT_LAZY|EXPORT_PARAM_LAZY": _BOOLEAN,
}
_SYSTEM_SETTINGS = {"CpuCores|NvDriverVersion|CudaDriverVersion": VERSION, "CpuArchitecture": "x86_64|aarch64"}
_SETTINGS = {
    schema.CAPTURE_METADATA.name: _CAPTURE_SETTINGS,
    schema.EXPORT_METADATA.name: _EXPORT_SETTINGS,
    schema.OLD_EXPORT_METADATA.name: _EXPORT_SETTINGS,
    schema.SYSTEM.name: _SYSTEM_SETTINGS,
    schema.RUN.name: FACTS,
}
_DOMAIN_END = 76
_NVTX_KINDS = (schema.NVTX_MARK, schema.NVTX_PUSH_POP, schema.NVTX_START_END, schema.NVTX_DOMAIN_CREATE, _DOMAIN_END)
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


def reflect_tables(
    connection: sa.Connection, database: str | None = None, *, only: Collection[str] | None = None
) -> dict[str, sa.Table]:
    """Read a database's tables with their columns' names and types, without keys and constraints."""
    inspector = sa.inspect(connection)
    return {
        name: sa.Table(
            name,
            sa.MetaData(),
            *(
                sa.Column(column["name"], _plain(column["type"]))
                for column in inspector.get_columns(name, schema=database)
            ),
            schema=database,
        )
        for name in inspector.get_table_names(schema=database)
        if only is None or name in only
    }


def _plain(declared: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return a column's type as one whose values are read as SQLite has them, whatever they are."""
    return declared if isinstance(declared, sa.Integer | sa.Float | sa.String) else NullType()


def is_kept(name: str, tables: dict[str, sa.Table]) -> bool:
    """Tell whether a table of an export is in its copy."""
    if name not in tables or not _NEEDED.get(name, set()) <= set(tables[name].c.keys()):
        return False
    if name == schema.GENERIC_EVENTS.name:
        return is_kept(schema.GENERIC_TYPES.name, tables)
    if name == schema.GENERIC_TYPES.name:
        return schema.METRICS.name not in tables  # only there do generic events hold the GPU metrics
    return name in KNOWN_TABLES


def is_number(column: sa.ColumnElement[Any]) -> bool:
    """Tell whether a column is declared to hold numbers."""
    # Float has been no Numeric since SQLAlchemy 2.1.
    return isinstance(column.type, sa.Numeric | sa.Float | sa.Integer)


def holds_text(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Test whether a value is text or bytes: in SQLite a column of any type may hold these."""
    return sa.func.typeof(column).in_(("text", "blob"))


def keeps_text(column: sa.ColumnElement[Any]) -> bool:
    """Tell whether the texts of a column are kept."""
    return column.name in _KEPT_TEXT.get(column.table.name, ())


def copied_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """List the columns of a table that a copy has: those that tcprof reads, or whose names are nsys's words."""
    read = schema.metadata.tables[table.name].c if table.name in schema.metadata.tables else ()
    return [column for column in table.c if column.name in read or is_own(column.name)]


def as_copied(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Select a column, by ``set_functions``, ``blank`` and ``unless_private``, with nothing in place of private texts.

    Text among numbers stays, and is refused when the copy is searched.
    """
    table, text = column.table.name, as_bytes(column)
    if is_number(column):
        return column
    if not keeps_text(column):
        return sa.case((holds_text(column), sa.literal("")), else_=column)
    if table == schema.DIAGNOSTICS.name:
        return sa.func.blank(text)
    if table == schema.RUN.name:  # rows are chosen by the forms of their texts, of which the names are tcprof's own
        if column.name != schema.RUN.c.value.name:
            return column
        return sa.func.copied_fact(as_bytes(column.table.c.name), sa.func.unless_private(text))
    if column.name == schema.NVTX.c.jsonText.name:
        return sa.func.copied_payload(text)
    if table in (
        schema.NVTX.name,
        schema.CAPTURED.name,
        schema.STRINGS.name,
    ):  # the program's own words, up to what a reader sees of them
        nul = sa.func.instr(text, sa.literal(b"\0", sa.BLOB))
        return sa.case((nul > 0, sa.cast(sa.func.substr(text, 1, nul - 1), sa.Text)), else_=column)
    if table in _SETTINGS or table in _CONSTANTS:  # rows are chosen by their texts
        return column
    is_kept = _fits(column, _DATE) if table == schema.SESSION_START.name else _grammar_of(table)(text)
    is_left_out = sa.func.coalesce(is_kept, False).is_(False)
    return sa.case((sa.and_(holds_text(column), is_left_out), sa.literal("")), else_=column)


def _grammar_of(table: str) -> Callable[[sa.ColumnElement[bytes]], sa.ColumnElement[Any]]:
    if table in (schema.GENERIC_TYPES.name, schema.GENERIC_EVENTS.name):
        return sa.func.is_own_json
    return sa.func.is_gpu_name if table in (schema.GPUS.name, schema.CUDA_GPUS.name) else sa.func.is_own


def wanted(table: sa.Table, tables: dict[str, sa.Table]) -> sa.ColumnElement[bool]:
    """Test which rows of a table are kept."""
    name, c = table.name, table.c
    if name in _SETTINGS:
        return sa.or_(*(sa.and_(_fits(c.name, key), _fits(c.value, form)) for key, form in _SETTINGS[name].items()))
    if name in _CONSTANTS:
        texts = (as_bytes(text) for text in c if keeps_text(text))
        return sa.and_(sa.true(), *(sa.func.coalesce(sa.func.is_own(text), True) for text in texts))
    if name == schema.NVTX.name:
        return c.eventType.in_(_NVTX_KINDS)
    if name == schema.STRINGS.name:
        named = c.id.in_(users_of(NVTX_STRINGS + KERNEL_STRINGS, tables))
        return sa.or_(named, _is_word_of_nsys(table, tables))
    if name in (schema.GENERIC_TYPES.name, schema.GENERIC_EVENTS.name):
        types = tables[schema.GENERIC_TYPES.name].c
        return c.typeId.in_(sa.select(types.typeId).where(types.data.like('%"GR Active"%')))
    return sa.true()


def _fits(text: sa.ColumnElement[Any], pattern: str) -> sa.ColumnElement[bool]:
    return sa.cast(sa.func.fits(as_bytes(text), pattern), sa.Boolean)


def as_bytes(text: sa.ColumnElement[Any]) -> sa.ColumnElement[bytes]:
    """Cast a text to the bytes that are in the file, which may be no UTF-8 and go on behind a NUL."""
    return sa.cast(text, sa.BLOB)


def left_out(table: sa.Table, tables: dict[str, sa.Table]) -> sa.ColumnElement[bool]:
    """Test which rows of a table are not kept; where the choice depends on NULL, a row is not kept."""
    return sa.func.coalesce(wanted(table, tables), sa.literal(False)).is_(False)


def users_of(columns: tuple[tuple[str, str], ...], tables: dict[str, sa.Table]) -> Any:
    """Select the numbers of strings in some columns, each a table and its column, of the rows that are kept."""
    statements = []
    for name in dict.fromkeys(name for name, _ in columns if is_kept(name, tables)):
        table = tables[name]
        used = [table.c[column] for of_table, column in columns if of_table == name and column in table.c]
        if used:  # all columns at once, since tables have millions of rows of few strings
            rows = sa.select(*used).distinct()
            distinct = (rows.where(wanted(table, tables)) if name == schema.NVTX.name else rows).cte()
            statements += [sa.select(column) for column in distinct.c]
    return sa.union(*statements) if statements else sa.select(sa.literal(None))


def own_words(tables: dict[str, sa.Table]) -> Iterator[sa.Select[Any]]:
    """Select texts that nsys and the driver themselves write: GPUs, metrics, CUDA calls, options, constants."""
    for name, table in tables.items():
        if not is_kept(name, tables):
            continue
        if name in _CONSTANTS:
            yield from (sa.select(column).where(wanted(table, tables)) for column in table.c if keeps_text(column))
        elif name in (schema.GPUS.name, schema.CUDA_GPUS.name, schema.METRIC_NAMES.name):
            yield from (sa.select(column) for column in table.c if keeps_text(column))
        elif name in (settings.name for settings in SETTINGS_TABLES if settings is not schema.RUN):
            yield from (sa.select(column).where(wanted(table, tables)) for column in (table.c.name, table.c.value))
        elif name == schema.STRINGS.name:
            yield sa.select(table.c.value).where(_is_word_of_nsys(table, tables))


def _is_word_of_nsys(strings: sa.Table, tables: dict[str, sa.Table]) -> sa.ColumnElement[bool]:
    is_named_so = sa.and_(strings.c.value.op("GLOB")(_API_NAMES), sa.func.is_own(as_bytes(strings.c.value)))
    return sa.and_(strings.c.id.in_(users_of(_API_STRINGS, tables)), is_named_so)
