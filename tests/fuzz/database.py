"""What mutations do to a database: its tables and columns, and statements put together from their names."""

import sqlite3
from random import Random

from tcprof.nsys import schema

READ = frozenset(schema.metadata.tables)
Connection = sqlite3.Connection


def run(connection: Connection, statement: str, *names: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
    """Run a statement in which each ``{}`` is a name, quoted, and each ``?`` a value."""
    return connection.execute(statement.format(*(quoted(name) for name in names)), values)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def tables_of(connection: Connection) -> list[str]:
    """The tables, without views and SQLite's own, in order of their names."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    return sorted(name for (name,) in rows if isinstance(name, str))


def columns_of(connection: Connection, table: str) -> list[tuple[str, str]]:
    return [(name, kind) for _, name, kind, *_ in run(connection, "PRAGMA table_info({})", table)]


def pick_table(random: Random, connection: Connection) -> str:
    every = tables_of(connection)
    known = [name for name in every if name in READ]
    return random.choice(known if known and random.random() < 0.9 else every)


def pick_column(random: Random, connection: Connection, table: str, kind: str = "") -> str:
    """A column, mostly one that tcprof reads; ``kind`` is what its type begins with, if there is such a column."""
    every = [(name, declared) for name, declared in columns_of(connection, table)]
    read = schema.metadata.tables[table].columns.keys() if table in READ else ()
    known = [each for each in every if each[0] in read]
    chosen = known if known and random.random() < 0.9 else every
    fitting = [name for name, declared in chosen if declared.upper().startswith(kind)]
    return random.choice(fitting or [name for name, _ in chosen])


def pick_rows(random: Random, connection: Connection, table: str) -> tuple[str, tuple[object, ...], str]:
    """A condition for one row, some rows or all, its values, and the same in words."""
    ids = [row for (row,) in run(connection, "SELECT rowid FROM {}", table)]
    scope = random.choice(("one", "some", "all"))
    if scope == "all" or not ids:
        return "", (), "all rows"
    if scope == "one":
        row = random.choice(ids)
        return " WHERE rowid = ?", (row,), f"row {row}"
    every, first = random.randint(2, 9), random.randint(0, 1)
    return " WHERE rowid % ? = ?", (every, first), f"every {every}th row"


def recreate(connection: Connection, table: str, columns: list[tuple[str, str]], options: str = "") -> None:
    """The table with these columns and types, without keys and constraints; rows keep what its columns had."""
    old = [name for name, _ in columns_of(connection, table)]
    listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)
    kept = ", ".join(quoted(name) for name, _ in columns if name in old)
    connection.execute("DROP TABLE IF EXISTS fuzz_old")
    run(connection, "ALTER TABLE {} RENAME TO fuzz_old", table)
    run(connection, "CREATE TABLE {} (" + listed.replace("{", "{{").replace("}", "}}") + ")" + options, table)
    run(connection, f"INSERT INTO {{}} ({kept}) SELECT {kept} FROM fuzz_old", table)
    connection.execute("DROP TABLE fuzz_old")
