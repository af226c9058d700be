"""An export as an SQLite database, opened read-only: small tables by SQLAlchemy, big ones by ADBC.

ADBC hands over Arrow columns without a Python object for each value, several times faster than rows.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import adbc_driver_sqlite.dbapi as adbc
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from adbc_driver_manager import Error as AdbcError
from sqlalchemy import ColumnElement, LargeBinary, Select, Table, cast, create_engine, func, inspect, null, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from tcprof.errors import InputError
from tcprof.sources.nsys_sqlite.schema import STRINGS

READ_AT_ONCE = 65_536
IDS_AT_ONCE = 10_000  # SQLite takes some ten thousand values in one statement
UNNAMED = "(unnamed)"
UNKNOWN = -1  # in place of NULL where an id or a count is read as an integer

Ints = npt.NDArray[np.int64]


class Database:
    """Reads tables of an export that may lack any of them, and any of their columns.

    Args:
        path: The SQLite file. It is never written.

    Raises:
        InputError: SQLite cannot read the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._uri = f"file:{quote(str(path.absolute()))}?mode=ro"
        self._engine = create_engine("sqlite://", creator=lambda: _connect(self._uri), poolclass=NullPool)
        try:
            inspector = inspect(self._engine)
            self._columns = {
                name: {str(column["name"]) for column in inspector.get_columns(name)}
                for name in inspector.get_table_names()
            }
        except DatabaseError as error:
            raise self._damaged(error) from error

    def has(self, table: Table) -> bool:
        """Whether the export has the table; nsys leaves out tables without rows."""
        return table.name in self._columns

    def has_column(self, table: Table, name: str) -> bool:
        """Whether this version's table has the column."""
        return name in self._columns.get(table.name, ())

    def column(self, table: Table, name: str) -> ColumnElement[Any]:
        """The table's column, or NULL where this version's table lacks it."""
        return table.c[name] if self.has_column(table, name) else null().label(name)

    def integers(self, table: Table, *names: str, default: int = UNKNOWN) -> list[ColumnElement[Any]]:
        """Integer columns with a number in place of NULL, so that a big one is read without becoming float."""
        return [func.coalesce(self.column(table, name), default).label(name) for name in names]

    def rows(self, statement: Select[Any]) -> list[Any]:
        """The rows of a small table."""
        try:
            with self._engine.connect() as connection:
                return list(connection.execute(statement))
        except DatabaseError as error:
            raise self._damaged(error) from error

    def batches(self, statement: Select[Any]) -> Iterator[pa.RecordBatch]:
        """The rows of a big table, some ten thousand at a time. Columns hold integers, or are ``text_bytes``."""
        text = str(statement.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
        options = {"adbc.sqlite.query.batch_rows": READ_AT_ONCE}
        try:
            with adbc.connect(self._uri) as connection, connection.cursor(adbc_stmt_kwargs=options) as cursor:
                cursor.execute(text)
                yield from cursor.fetch_record_batch()
        except (AdbcError, pa.ArrowException) as error:
            raise self._damaged(error) from error

    def table(self, statement: Select[Any]) -> pa.Table | None:
        """The rows of a big table at once, see ``batches``; None where there are none."""
        batches = [batch for batch in self.batches(statement) if batch.num_rows]
        return pa.Table.from_batches(batches) if batches else None

    def arrays(self, statement: Select[Any]) -> list[Ints]:
        """The columns of a big table of integers; none may be NULL."""
        batches = [batch.columns for batch in self.batches(statement) if batch.num_rows]
        if not batches:
            return [np.empty(0, dtype=np.int64) for _ in statement.selected_columns]
        return [np.concatenate([column.to_numpy() for column in columns]) for columns in zip(*batches, strict=True)]

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """The entries of the export's string table with these ids, as far as they are there."""
        if not self.has(STRINGS):
            return {}
        found: dict[int, str] = {}
        wanted = sorted({int(key) for key in ids})
        for first in range(0, len(wanted), IDS_AT_ONCE):
            some = wanted[first : first + IDS_AT_ONCE]
            rows = self.rows(select(STRINGS.c.id, STRINGS.c.value).where(STRINGS.c.id.in_(some)))
            found |= {key: str(value) for key, value in rows}
        return found

    def _damaged(self, error: Exception) -> InputError:
        reason = str(getattr(error, "orig", error)).splitlines()[0]
        return InputError(
            f"{self.path} cannot be read: {reason}",
            "The file is damaged. Export it again: nsys export --type=sqlite --force-overwrite=true REPORT.nsys-rep",
        )


def _connect(uri: str) -> sqlite3.Connection:
    """A connection that reads text which is not valid UTF-8, as names in reports may be."""
    connection = sqlite3.connect(uri, uri=True)
    connection.text_factory = decode
    return connection


def text_bytes(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A text column as bytes, for ``Database.table``: Arrow takes only valid UTF-8 for text."""
    return cast(column, LargeBinary)


def decode(value: bytes) -> str:
    """Bytes as text; those that are no UTF-8 become U+FFFD."""
    return value.decode("utf-8", "replace")


def distinct_pairs(process: Ints, number: Ints) -> tuple[Ints, list[tuple[int, int]]]:
    """The distinct pairs of a process and a number of its own (32 bits), and for each row which pair it is."""
    codes, keys = pd.factorize((process << 32) + (number & 0xFFFFFFFF))
    lower = ((keys + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)  # as it was, with its sign
    return codes, list(zip((keys >> 32).tolist(), lower.tolist(), strict=True))
