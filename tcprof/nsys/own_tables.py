"""What tcprof adds to an export and nsys does not know, kept beside the report for the next export: NAME.run.json."""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Table

from tcprof.errors import OutputError
from tcprof.files import temporary_folder
from tcprof.nsys import schema

SUFFIX = ".run.json"
_TABLES = (schema.RUN, schema.UNPROFILED, schema.DRIVER_LOG, schema.CAPTURED)
_FORMAT = {"format": "tcprof run", "version": 1}
_BEGUN = f"SELECT utcEpochNs FROM {schema.SESSION_START.name} WHERE utcEpochNs IS NOT NULL"  # noqa: S608
_LARGEST_BYTES = 64 << 20


def keep_own_tables(export: Path, report: Path) -> None:
    """Write what tcprof added to a report's export beside the report.

    Raises:
        OutputError: It cannot be written.
    """
    path = report.with_suffix(SUFFIX)
    content: dict[str, Any] = {**_FORMAT}
    try:
        with closing(sqlite3.connect(export)) as connection:
            content["begun_ns"] = _read_begun(connection)
            for table in _TABLES:
                with suppress(sqlite3.OperationalError):  # an export without that table
                    rows = connection.execute(f"SELECT {_list_columns(table)} FROM {table.name}")  # noqa: S608
                    content[table.name] = rows.fetchall()
        with temporary_folder(report.parent) as folder:
            (folder / path.name).write_text(json.dumps(content), encoding="utf-8")
            (folder / path.name).replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.", hint="Free some space.") from error


def restore_own_tables(export: Path, report: Path) -> None:
    """Add to a new export what is kept beside its report, unless that is of another recording.

    The file may come from anywhere: one that is not what tcprof writes adds nothing, and rows are checked as those of
    the export are, when they are read.
    """
    path = report.with_suffix(SUFFIX)
    with suppress(OSError, ValueError, AttributeError, TypeError, OverflowError, RecursionError, sqlite3.Error):
        if path.stat().st_size > _LARGEST_BYTES:
            return
        content = json.loads(path.read_text(encoding="utf-8"))
        with closing(sqlite3.connect(export)) as connection, connection:
            begun = _read_begun(connection)
            if not begun or content != {**content, **_FORMAT, "begun_ns": begun}:
                return
            connection.execute("BEGIN")  # all or nothing
            for table in _TABLES:
                if table.name in content:
                    places = ", ".join("?" * len(table.c))
                    connection.execute(f"CREATE TABLE {table.name} ({_list_columns(table)})")
                    connection.executemany(f"INSERT INTO {table.name} VALUES ({places})", content[table.name])  # noqa: S608


def _read_begun(connection: sqlite3.Connection) -> list[int]:
    """Read when a recording began, in ns since 1970; an export of some versions does not say."""
    try:
        return [begun for (begun,) in connection.execute(_BEGUN)]
    except sqlite3.OperationalError:
        return []


def _list_columns(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.c)
