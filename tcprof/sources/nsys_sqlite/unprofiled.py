"""The steps of a run without nsys, in a table that tcprof itself adds to the export of the recording."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable, DropTable

from tcprof.errors import OutputError
from tcprof.frames import UNPROFILED
from tcprof.nsys import schema
from tcprof.sources.nsys_sqlite.database import Database
from tcprof.sources.nsys_sqlite.query import Query

_COLUMNS = {"process": "process", "training": "training", "start": "start_ns", "end": "end_ns"}


def read_unprofiled(database: Database) -> pd.DataFrame:
    """The steps, see ``tcprof.frames.UNPROFILED``; none where the program was not run without nsys."""
    rows = database.read(Query(schema.UNPROFILED, required=tuple(_COLUMNS)))
    columns = {ours: rows[theirs] for theirs, ours in _COLUMNS.items()}
    return UNPROFILED.conform(pd.DataFrame(columns | {"training": columns["training"] != 0}))


def write_unprofiled(export: Path, steps: pd.DataFrame) -> None:
    """Adds the steps to an export, which tcprof has made.

    Args:
        steps: See ``tcprof.frames.UNPROFILED``.

    Raises:
        OutputError: If it cannot be written.
    """
    create, drop = (
        str(each.compile(dialect=sqlite.dialect()))
        for each in (CreateTable(schema.UNPROFILED), DropTable(schema.UNPROFILED, if_exists=True))
    )
    rows = steps[list(_COLUMNS.values())].astype("int64").to_numpy().tolist()
    try:
        with closing(sqlite3.connect(export)) as connection, connection:
            connection.execute(drop)
            connection.execute(create)
            connection.executemany(str(schema.UNPROFILED.insert().compile(dialect=sqlite.dialect())), rows)
    except sqlite3.Error as error:
        raise OutputError(f"{export} cannot be written: {error}.", hint="Its figures are as they were.") from error
