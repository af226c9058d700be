"""Mutations of what a database consists of: tables, columns, declared types, views in place of tables, indices."""

from random import Random

from fuzz import odd
from fuzz.database import Connection, columns_of, pick_column, pick_table, quoted, recreate, run, tables_of


def retype(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    columns = dict(columns_of(connection, table))
    for name in [pick_column(random, connection, table) for _ in range(random.randint(1, 3))]:
        columns[name] = random.choice(odd.TYPES)
    recreate(connection, table, list(columns.items()))
    return f"{table} with types {list(columns.values())}"


def retype_all(random: Random, connection: Connection) -> str:
    kind = random.choice(odd.TYPES)
    for table in tables_of(connection):
        recreate(connection, table, [(name, kind) for name, _ in columns_of(connection, table)])
    return f"all columns of type {kind!r}"


def drop_table(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    run(connection, "DROP TABLE {}", table)
    return f"without {table}"


def keep_few_tables(random: Random, connection: Connection) -> str:
    every = tables_of(connection)
    gone = [table for table in every if random.random() < 0.5 and table != "StringIds"]
    for table in gone:
        run(connection, "DROP TABLE {}", table)
    return f"without {', '.join(gone)}"


def rename_table(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    name = random.choice(
        (f"{table} {odd.MARKUP}", table.lower() + "_", f"{table}\n\x1b[31m", "NVTX_EVENTS", "a\"b'c;--")
    )
    if name.lower() in {each.lower() for each in tables_of(connection)}:
        run(connection, "DROP TABLE {}", name)
        if table.lower() == name.lower():
            return f"without {table}"
    run(connection, "ALTER TABLE {} RENAME TO {}", table, name)
    return f"{table} is {name!r}"


def drop_column(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    columns = columns_of(connection, table)
    gone = {pick_column(random, connection, table) for _ in range(random.randint(1, 2))}
    kept = [each for each in columns if each[0] not in gone] or columns[:1]
    recreate(connection, table, kept)
    return f"{table} without {', '.join(sorted(gone))}"


def rename_column(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    column = pick_column(random, connection, table)
    name = random.choice((column.upper(), column.lower(), f"{column} {odd.MARKUP}", "rowid", "a\x1b[31m\n"))
    run(connection, "ALTER TABLE {} RENAME COLUMN {} TO {}", table, column, name)
    return f"{table}.{column} is {name!r}"


def add_columns(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    kind = random.choice(("one", "many", "computed", "huge"))
    if kind == "many":
        recreate(connection, table, columns_of(connection, table) + [(f"more {i}", "TEXT") for i in range(500)])
    else:
        declared = {
            "one": f"TEXT DEFAULT '{odd.MARKUP}'",
            "computed": "INTEGER GENERATED ALWAYS AS (abs(-9223372036854775807 - 1)) VIRTUAL",
            "huge": "GENERATED ALWAYS AS (zeroblob(100000000)) VIRTUAL",
        }[kind]
        run(connection, "ALTER TABLE {} ADD COLUMN more " + declared, table)
    return f"{table} with more columns: {kind}"


def replace_by_view(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    names = [name for name, _ in columns_of(connection, table)]
    run(connection, "ALTER TABLE {} RENAME TO fuzz_under", table)
    kind = random.choice(("the same", "endless", "broken", "huge", "computed"))
    listed = ", ".join(quoted(name) for name in names)
    constants = ", ".join(f"x AS {quoted(name)}" for name in names)
    source = {
        "the same": "SELECT * FROM fuzz_under",
        "endless": f"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {constants} FROM n",
        "broken": f"SELECT {listed} FROM no_such_table",
        "huge": f"SELECT {constants} FROM (SELECT zeroblob(300000000) AS x)",
        "computed": f"SELECT {constants} FROM (SELECT abs(-9223372036854775808) AS x)",
    }[kind]
    run(connection, "CREATE VIEW {} AS " + source.replace("{", "{{").replace("}", "}}"), table)
    return f"{table} is a view: {kind}"


def replace_by_kind(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    columns = columns_of(connection, table)
    kind = random.choice(("STRICT", "WITHOUT ROWID", "fts5", "FOREIGN KEY"))
    listed = ", ".join(quoted(name) for name, _ in columns)
    rows = run(connection, "SELECT * FROM {} LIMIT 2000", table).fetchall()
    run(connection, "DROP TABLE {}", table)
    made = {
        "STRICT": ", ".join(f"{quoted(name)} ANY" for name, _ in columns) + ") STRICT",
        "WITHOUT ROWID": listed + ", PRIMARY KEY (" + quoted(columns[0][0]) + ")) WITHOUT ROWID",
        "FOREIGN KEY": listed + ", FOREIGN KEY (" + quoted(columns[0][0]) + ") REFERENCES nowhere(x))",
        "fts5": listed + ")",
    }[kind]
    how = "CREATE VIRTUAL TABLE {} USING fts5(" if kind == "fts5" else "CREATE TABLE {} ("
    run(connection, how + made.replace("{", "{{").replace("}", "}}"), table)
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT OR IGNORE INTO {quoted(table)} VALUES ({marks})", rows)
    return f"{table} is {kind}"


def add_tables(random: Random, connection: Connection) -> str:
    number = random.choice((50, 500, 500, 5000))
    for i in range(number):
        connection.execute(f"CREATE TABLE ENUM_FUZZ_{i} (id INTEGER, name TEXT)")
    return f"{number} tables more"


def add_indices(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    column = pick_column(random, connection, table)
    kind = random.choice(("index", "expression", "trigger", "statistics"))
    if kind == "index":
        run(connection, "CREATE INDEX fuzz_index ON {} ({})", table, column)
    elif kind == "expression":
        run(connection, "CREATE INDEX fuzz_index ON {} (lower({}) COLLATE NOCASE) WHERE {} > 0", table, column, column)
    elif kind == "trigger":
        run(connection, "CREATE TRIGGER fuzz AFTER INSERT ON {} BEGIN SELECT RAISE(ABORT, 'no'); END", table)
    else:
        run(connection, "CREATE INDEX fuzz_index ON {} ({})", table, column)
        connection.execute("ANALYZE")
        connection.execute("UPDATE sqlite_stat1 SET stat = '99999999999999 0 -1 x'")
    return f"{table}: {kind}"


def change_schema(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    change = random.choice(
        ("sql = 'CREATE TABLE nonsense ('", "sql = NULL", "rootpage = 1", "rootpage = 999999", "rootpage = 0",
         "type = 'index'", "name = x'ff'", "sql = replace(sql, 'INTEGER', 'TEXT')")
    )  # fmt: skip
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(f"UPDATE sqlite_master SET {change} WHERE name = ?", (table,))
    return f"sqlite_master of {table}: {change}"


MUTATIONS = (
    *(retype,) * 2,
    retype_all,
    *(drop_table,) * 2,
    *(keep_few_tables, rename_table),
    *(drop_column,) * 2,
    *(rename_column, add_columns),
    *(replace_by_view,) * 2,
    *(replace_by_kind, add_tables, add_indices, change_schema),
)
