"""An export as an SQLite database, opened read-only: the border behind which no number is doubted.

ADBC hands over Arrow columns without a Python object for each value. What the schema does not allow is left out
and counted.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from os import cpu_count
from pathlib import Path
from typing import Any, TypeVar

import adbc_driver_sqlite
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from adbc_driver_manager import AdbcConnection, AdbcStatement
from adbc_driver_manager import Error as AdbcError
from adbc_driver_sqlite import StatementOptions
from sqlalchemy import ClauseElement, ColumnElement, Select, Table, func, literal_column, select
from sqlalchemy.dialects import sqlite

from tcprof.arrays import Ints
from tcprof.errors import EXPORT_AGAIN, InputError
from tcprof.nsys import NEWEST_NSYS, schema
from tcprof.nsys.opening import OpenedExport, decode
from tcprof.nsys.schema import STRINGS, Limits, find_drift
from tcprof.sources import InvalidValues
from tcprof.sources.nsys_sqlite.query import LONGEST_TEXT, UNKNOWN, Query

READ_AT_ONCE = 65_536
ROWS_OF_PART = 2_000_000  # of a table that is read by several threads
MOST_READERS = 4
MOST_PARTS = 1000  # more are numbers with holes between them
IDS_AT_ONCE = 10_000  # SQLite takes some ten thousand values in one statement
UNNAMED = "(unnamed)"
_PROCESS, _MACHINE = 24, 48  # the bits of a global id at which a process's number begins, and what names its machine
OWN_NUMBER = (1 << 22) - 1  # no process has a higher number
BEYOND = 10  # times the recording's duration, and
BEYOND_NS = 60 * 10**9  # more than that: no time of a recording is so far out

Columns = dict[str, Any]  # arrays of int64; of texts, Arrow's arrays of bytes
_Taken = TypeVar("_Taken")
_OTHER_VERSION = f"Update tcprof, or export the report again with Nsight Systems {NEWEST_NSYS} or older."
_DIALECT = sqlite.dialect()


class _WrongError(Exception):
    """A batch holds what the schema does not allow."""


class Database:
    """Reads tables of an export that may lack any of them, and any of their columns. It is never written.

    Attributes:
        durations: The recording's length in ns, once for each row that has it.

    Raises:
        InputError: SQLite cannot read the file, or a table is no plain one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = OpenedExport(path, schema.metadata.tables)
        if unknown := find_drift(self._file.columns, self._file.unread):
            raise InputError(f"{path}: {unknown}.", _OTHER_VERSION)
        if self._file.is_small:
            self._file.check(*self._file.columns)  # at once: each connection takes longer than such a check
        self._wrong: dict[tuple[str, str], InvalidValues] = {}
        self._times = schema.TIME
        self.durations: Ints = self.read(Query(schema.CAPTURE, required=("duration",)))["duration"]
        if len(self.durations):  # all times are bounded by it
            most = min(BEYOND * int(self.durations.max()) + BEYOND_NS, schema.TIME.high)
            self._times = Limits(-most, most)

    def has(self, table: Table) -> bool:
        """Tell whether the export has the table; nsys leaves out tables without rows."""
        return table.name in self._file.columns

    def has_column(self, table: Table, name: str) -> bool:
        """Tell whether this version's table has the column."""
        return name in self._file.columns.get(table.name, ())

    def read(self, query: Query) -> Columns:
        """Read the columns of a query without invalid rows; empty ones where the export lacks the table."""
        parts = self.collect(query, lambda columns: columns)
        if not parts:
            numbers = {name: np.empty(0, dtype=np.int64) for name in query.defaults}
            return numbers | {name: pa.array([], pa.binary()) for name in query.texts}
        joined: Columns = {name: np.concatenate([part[name] for part in parts]) for name in query.defaults}
        return joined | {name: pa.concat_arrays([part[name] for part in parts]) for name in query.texts}

    def collect(self, query: Query, take: Callable[[Columns], _Taken]) -> list[_Taken]:
        """Apply a function to a table's rows, some ten thousand at a time, and list its results.

        Args:
            take: Must not keep anything of the columns beside what it returns.

        Raises:
            InputError: The table is damaged, or lacks a column that is required.
        """
        if not self.has(query.table):
            return []
        columns = self._file.columns[query.table.name]
        if absent := [name for name in query.required if name not in columns]:
            raise InputError(f"{self.path}: {query.table.name} has no column {absent[0]}.", EXPORT_AGAIN)
        self._file.admit(query.table.name)
        limits = self._limits(query)
        plain = query.plain(columns, self._file.is_small)
        try:
            parts = self._parts(query.table, plain)
            return self._collect(parts, query, lambda batch: _checked(batch, query, limits), take)
        except (_WrongError, AdbcError, pa.ArrowException):
            self.look_through(query)
        try:
            return self._collect([query.strict(columns, limits)], query, lambda batch: _columns(batch, query), take)
        except (AdbcError, pa.ArrowException) as error:
            raise self._file.damaged(error) from error

    def _collect(
        self,
        parts: list[Select[Any]],
        query: Query,
        read: Callable[[pa.RecordBatch], Columns],
        take: Callable[[Columns], _Taken],
    ) -> list[_Taken]:
        """Apply ``take`` to the batches of several parts of a table at a time; its results are in order.

        Never in the main thread: Ctrl-C there could leave open what ADBC has opened within something that is closed.
        """

        def collect_part(part: Select[Any]) -> list[_Taken]:
            return [take(self._measured(query, read(batch))) for batch in self._batches(query.table, part)]

        with ThreadPoolExecutor(min(cpu_count() or 1, MOST_READERS)) as pool:
            return [taken for part in pool.map(collect_part, parts) for taken in part]

    def _parts(self, table: Table, statement: Select[Any]) -> list[Select[Any]]:
        """Split a statement by row numbers into one for every two million rows of a large table."""
        named_so = any(name.lower() == "rowid" for name in self._file.columns[table.name])
        if named_so or self._file.is_small:  # too small to have so many rows
            return [statement]
        row: ColumnElement[int] = literal_column("rowid")
        ends = (select(end(row)).select_from(table).scalar_subquery() for end in (func.min, func.max))
        try:
            with self._file.connect() as connection:
                first, last = connection.execute(_sql(select(*ends))).fetchone()
        except InputError:  # a table without row numbers, or a damaged one, which reading will tell
            return [statement]
        if first is None or not ROWS_OF_PART <= last - first < MOST_PARTS * ROWS_OF_PART:
            return [statement]
        starts = range(first, last + 1, ROWS_OF_PART)
        return [statement.where(row.between(start, min(start + ROWS_OF_PART - 1, last))) for start in starts]

    def processes(self, ids: Ints) -> Ints:
        """Take the process from each global id: its number, marked above where it is of another virtual machine."""
        number: Ints = (ids >> _PROCESS) & 0xFFFFFF
        other = (ids >> _MACHINE) ^ self._machine
        is_other = (other != 0) & (ids >= 0)
        return np.where(is_other, number & OWN_NUMBER | (other % 3 + 1) << 22, number) if is_other.any() else number

    @cached_property
    def _machine(self) -> int:
        """Find what the global ids of most processes begin with: the least, so that no order of rows matters."""
        for table, name in ((schema.KERNELS, "globalPid"), (schema.API_CALLS, "globalTid"), (schema.NVTX, "globalTid")):
            if self.has_column(table, name):
                column = table.c[name]
                least = select(func.min(column)).where(func.typeof(column) == "integer", column >= 0)
                with self._file.connect() as connection:
                    ((low,),) = connection.execute(_sql(least)).fetchall()
                if low is not None:
                    return int(low) >> _MACHINE
        return 0

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """Look up ids in the export's string table; those it lacks are left out."""
        strings: dict[int, str] = {}
        wanted = sorted({int(key) for key in ids} - {UNKNOWN})
        for first in range(0, len(wanted), IDS_AT_ONCE):
            some = wanted[first : first + IDS_AT_ONCE]
            rows = self.read(Query(STRINGS, required=("id",), texts=("value",), where=STRINGS.c.id.in_(some)))
            strings |= dict(zip(rows["id"].tolist(), texts(rows["value"]), strict=True))
        return strings

    def tell(self, table: Table, column: str, what: str, count: int, *, kept: bool = False) -> None:
        """Note invalid values, see ``InvalidValues``; what is read again is not counted again."""
        place = f"{table.name}.{column}"
        if count > getattr(self._wrong.get((place, what)), "count", 0):
            self._wrong[place, what] = InvalidValues(place, what, count, kept)

    def wrong(self) -> tuple[InvalidValues, ...]:
        """List all invalid values noted so far, in order of places."""
        return tuple(self._wrong[key] for key in sorted(self._wrong))

    def close_backwards(self, table: Table, start: Ints, end: Ints) -> Ints:
        """Return the ends, each at least its start; those that were not are noted as invalid."""
        self.tell(table, "end", "before the start", int((end < start).sum()), kept=True)
        return np.maximum(end, start)

    def _limits(self, query: Query) -> dict[str, Limits]:
        declared = {name: query.table.c[name].info["limits"] for name in query.defaults}
        return {name: self._times if limits is schema.TIME else limits for name, limits in declared.items()}

    def _batches(self, table: Table, statement: Select[Any]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a statement from ADBC itself: its cursors load pyarrow's data sets, and take SIGINT."""
        count = 0
        with (
            adbc_driver_sqlite.connect(self._file.uri) as database,
            AdbcConnection(database) as connection,
            AdbcStatement(connection) as reading,
        ):
            reading.set_options(**{StatementOptions.BATCH_ROWS.value: READ_AT_ONCE})
            reading.set_sql_query("PRAGMA cell_size_check = ON")
            reading.execute_update()
            reading.set_sql_query(_sql(statement))
            with pa.RecordBatchReader.from_stream(reading.execute_query()[0]) as batches:
                for batch in batches:
                    count += batch.num_rows
                    self._file.check_count(count, table.name)
                    if batch.num_rows:
                        yield batch

    def look_through(self, query: Query) -> None:
        """Count and note what is invalid in a table, after a read that failed or gave too few rows."""
        self._file.check(query.table.name)
        columns, limits = self._file.columns[query.table.name], self._limits(query)
        conditions = query.wrong(columns, limits)
        if conditions:
            with self._file.connect() as connection:
                counts = connection.execute(_sql(query.count_wrong(columns, limits))).fetchone()
            for (column, what), count in zip(conditions, counts, strict=True):
                self.tell(query.table, column, what, count or 0)

    def _measured(self, query: Query, columns: Columns) -> Columns:
        """Return the columns unchanged; texts cut at the longest length are noted as invalid."""
        for name in query.texts:
            long = int(pc.sum(pc.equal(pc.binary_length(columns[name]), LONGEST_TEXT)).as_py() or 0)
            self.tell(query.table, name, f"of {LONGEST_TEXT:,} bytes or more", long, kept=True)
        return columns


def texts(column: pa.Array) -> list[str]:
    """Decode a column of texts, each up to its first NUL, where every reader of exports ends it."""
    return [decode(value.partition(b"\0")[0]) for value in column.to_pylist()]


def distinct_pairs(process: Ints, number: Ints) -> tuple[Ints, list[tuple[int, int]]]:
    """Number the distinct pairs of a process and a 32-bit number of its own; return rows' numbers, and the pairs."""
    codes, keys = pd.factorize((process << 32) + (number & 0xFFFFFFFF))
    lower = ((keys + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)  # as it was, with its sign
    return codes, list(zip((keys >> 32).tolist(), lower.tolist(), strict=True))


def _sql(statement: ClauseElement) -> str:
    return str(statement.compile(dialect=_DIALECT, compile_kwargs={"literal_binds": True}))


def _columns(batch: pa.RecordBatch, query: Query) -> Columns:
    columns = dict(zip((*query.defaults, *query.texts), batch.columns, strict=True))
    return {name: column.to_numpy() if name in query.defaults else _bytes(column) for name, column in columns.items()}


def _bytes(column: pa.Array) -> pa.Array:
    """Cast a column of texts to bytes; ADBC takes empty texts for NULL, and a column of them for numbers."""
    return column.fill_null(b"") if pa.types.is_binary(column.type) else pa.array([b""] * len(column), pa.binary())


def _checked(batch: pa.RecordBatch, query: Query, limits: dict[str, Limits]) -> Columns:
    for name, column in zip(query.defaults, batch.columns, strict=False):
        if column.type != pa.int64() or column.null_count:
            raise _WrongError(name)
    columns = _columns(batch, query)
    for name, default in query.defaults.items():
        low, high = limits[name]
        values = columns[name]
        if values.min() < low or values.max() > high:
            beyond = (values < low) | (values > high)
            if default is None or (values[beyond] != default).any():
                raise _WrongError(name)
    return columns
