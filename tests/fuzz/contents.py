"""Mutations of what tables hold: values of other types, times out of range and order, rows twice or gone.

Each takes a random source and the open database, and says in words what it did.
"""

from random import Random

from fuzz import odd
from fuzz.database import Connection, columns_of, pick_column, pick_rows, pick_table, recreate, run, tables_of
from tcprof.nsys import schema

TIMED = tuple(
    table.name for table in (*schema.ACTIVITY_TABLES, schema.NVTX, schema.API_CALLS, schema.METRICS, schema.CAPTURE)
)


def set_values(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    column = pick_column(random, connection, table)
    where, values, rows = pick_rows(random, connection, table)
    value = odd.any_value(random)
    run(connection, "UPDATE OR IGNORE {} SET {} = ?" + where, table, column, values=(value, *values))
    return f"{table}.{column} = {odd.in_words(value)} in {rows}"


def set_number(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    column = pick_column(random, connection, table, "INT")
    where, values, rows = pick_rows(random, connection, table)
    value = odd.any_number(random)
    run(connection, "UPDATE OR IGNORE {} SET {} = ?" + where, table, column, values=(value, *values))
    return f"{table}.{column} = {value} in {rows}"


def scatter_values(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    ids = [row for (row,) in run(connection, "SELECT rowid FROM {}", table)]
    chosen = random.sample(ids, min(len(ids), random.randint(1, 30)))
    for row in chosen:
        column = pick_column(random, connection, table)
        statement = "UPDATE OR IGNORE {} SET {} = ? WHERE rowid = ?"
        run(connection, statement, table, column, values=(odd.any_value(random), row))
    return f"{len(chosen)} odd values in {table}"


def set_text(random: Random, connection: Connection) -> str:
    texts = [(table, name) for table in tables_of(connection) for name, kind in columns_of(connection, table)
             if kind.upper().startswith(("TEXT", "VARCHAR")) and table in schema.metadata.tables]  # fmt: skip
    if not texts:
        return "no column of texts"
    table, column = random.choice([*texts, *(each for each in texts if each[0] in ("StringIds", "NVTX_EVENTS"))])
    where, values, rows = pick_rows(random, connection, table)
    value: object = random.choice(odd.BROKEN)
    if random.random() < 0.7:
        value = random.choice((*odd.TEXTS, "x" * random.choice((256, 70_000, 3_000_000))))
        if len(str(value)) > 10_000:  # once is enough
            where, values, rows = " WHERE rowid = 1", (), "row 1"
    text = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
    run(connection, "UPDATE OR IGNORE {} SET {} = " + text + where, table, column, values=(value, *values))
    return f"{table}.{column} = {odd.in_words(value)} in {rows}"


def move_times(random: Random, connection: Connection) -> str:
    table = random.choice([name for name in tables_of(connection) if name in TIMED] or tables_of(connection))
    where, values, rows = pick_rows(random, connection, table)
    names = {name for name, _ in columns_of(connection, table)}
    columns = [name for name in ("start", "end", "timestamp", "duration") if name in names]
    if not columns:
        return f"{table} has no times"
    chosen = columns if random.random() < 0.5 else [random.choice(columns)]
    change = random.choice(("+ 9223372036854000000", "- 9223372036854000000", "+ 4611686018427387904", "* -1", "+ 1e12",
                            "* 1000000", "/ 1000", "- 50000000", "+ 3600000000000", "* 0", "+ .5"))  # fmt: skip
    for column in chosen:
        run(connection, "UPDATE OR IGNORE {} SET {} = {} " + change + where, table, column, column, values=values)
    return f"{table}: {' and '.join(chosen)} {change} in {rows}"


def swap_ends(random: Random, connection: Connection) -> str:
    tables = [
        name for name in tables_of(connection) if {"start", "end"} <= {c for c, _ in columns_of(connection, name)}
    ]
    if not tables:
        return "no table has starts and ends"
    table = random.choice(tables)
    where, values, rows = pick_rows(random, connection, table)
    run(connection, 'UPDATE {} SET "start" = "end", "end" = "start"' + where, table, values=values)
    return f"{table}: start and end swapped in {rows}"


def delete_rows(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    where, values, rows = pick_rows(random, connection, table)
    run(connection, "DELETE FROM {}" + where, table, values=values)
    return f"{table} without {rows}"


def repeat_rows(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    columns = columns_of(connection, table)
    recreate(connection, table, columns)
    where, values, rows = pick_rows(random, connection, table)
    times = random.randint(1, 3)
    for _ in range(times):
        run(connection, "INSERT INTO {} SELECT * FROM {}" + where + " LIMIT 5000", table, table, values=values)
    return f"{table}: {rows} again, {times} times"


def shuffle_rows(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    rows = run(connection, "SELECT * FROM {}", table).fetchall()
    recreate(connection, table, columns_of(connection, table))
    random.shuffle(rows)
    run(connection, "DELETE FROM {}", table)
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)
    return f"{table} in another order"


def mix_columns(random: Random, connection: Connection) -> str:
    table = pick_table(random, connection)
    into, out_of = (pick_column(random, connection, table) for _ in range(2))
    where, values, rows = pick_rows(random, connection, table)
    run(connection, "UPDATE OR IGNORE {} SET {} = {}" + where, table, into, out_of, values=values)
    return f"{table}.{into} = {table}.{out_of} in {rows}"


MUTATIONS = (
    *(set_values,) * 3,
    *(set_number,) * 3,
    *(scatter_values,) * 2,
    *(set_text,) * 3,
    *(move_times,) * 3,
    *(swap_ends, delete_rows, repeat_rows, shuffle_rows, mix_columns),
)
