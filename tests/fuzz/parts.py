"""Mutations of the frames of a saved analysis: by column, row and value, and of how they are encoded.

Each takes a random source and the file's parts by name, and says in words what it did.
"""

from random import Random
from typing import Any

import pyarrow as pa
from saved_files import Parts, bytes_of, table_of

from fuzz import odd

FEW = 50_000  # rows, of which a bomb is made
KINDS = (pa.string(), pa.float64(), pa.int64(), pa.int32(), pa.bool_(), pa.binary(), pa.timestamp("ns"), pa.null())


def _pick(random: Random, parts: Parts) -> tuple[str, Any]:
    names = [name for name in parts if name.endswith(".parquet")]
    for _ in range(4):
        name = random.choice(names)
        table = table_of(parts[name])
        if len(table):
            break
    return name, table


def _pick_rows(random: Random, count: int) -> tuple[list[int], str]:
    scope = random.choice(("one", "some", "all"))
    if scope == "one" and count:
        row = random.randrange(count)
        return [row], f"row {row}"
    every = random.randint(2, 9) if scope == "some" else 1
    return list(range(0, count, every)), f"every {every}th row" if every > 1 else "all rows"


def _with_column(table: Any, name: str, values: list[Any], kind: Any = None) -> Any:
    """The table with other values of a column: of its type if they fit, else of their own, else as texts."""
    place = table.column_names.index(name)
    for each in (kind or table[name].type, None, pa.string()):
        try:
            texts = [None if value is None else repr(value) for value in values]
            array = pa.array(texts if each == pa.string() and kind is None else values, each)
            return table.set_column(place, name, array)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return table


def _value(random: Random, kind: Any) -> Any:
    """A value for a column: mostly of its type."""
    if random.random() < 0.1:
        return random.choice((None, odd.any_value(random)))
    if pa.types.is_integer(kind):
        return random.choice((*odd.NUMBERS, *(random.randint(-1, most) for most in (1, 3, 10, 300, 10**6, 2**40))))
    if pa.types.is_floating(kind):
        most = random.choice((1, 101, 10**6, 2**40))
        return random.choice(
            (*map(float, odd.NUMBERS), *odd.REALS, float("nan"), -0.0, *[random.uniform(0, most)] * 20)
        )
    return random.random() < 0.5 if pa.types.is_boolean(kind) else random.choice((*odd.TEXTS, "", "x" * 70_000))


def set_values(random: Random, parts: Parts) -> str:
    name, table = _pick(random, parts)
    column = random.choice(table.column_names)
    chosen, words = _pick_rows(random, len(table))
    value, values = _value(random, table[column].type), table[column].to_pylist()
    for row in chosen:
        values[row] = value
    parts[name] = bytes_of(_with_column(table, column, values))
    return f"{name}.{column} = {odd.in_words(value)} in {words}"


def scatter_values(random: Random, parts: Parts) -> str:
    name, table = _pick(random, parts)
    for column in random.choices(table.column_names, k=random.randint(1, 8)):
        values = table[column].to_pylist()
        for row in random.choices(range(len(values)), k=random.randint(1, 5)) if values else ():
            values[row] = _value(random, table[column].type)
        table = _with_column(table, column, values)
    parts[name] = bytes_of(table)
    return f"odd values in {name}"


def borrow_values(random: Random, parts: Parts) -> str:
    """Values that a column has, in other rows: of a row's number, a kind or a name, these mean something else."""
    name, table = _pick(random, parts)
    column = random.choice(table.column_names)
    values = table[column].to_pylist()
    if random.random() < 0.5:
        values = random.sample(values, len(values))
    elif values:
        values = [random.choice(values)] * len(values)
    parts[name] = bytes_of(_with_column(table, column, values))
    return f"{name}.{column} has its values in other rows"


def unknown_values(random: Random, parts: Parts) -> str:
    name, table = _pick(random, parts)
    floats = [each.name for each in table.schema if pa.types.is_floating(each.type)]
    chosen = random.sample(floats, random.randint(1, len(floats))) if floats else []
    for column in chosen:
        rows, _ = _pick_rows(random, len(table))
        lost = set(rows)
        values = [None if row in lost else value for row, value in enumerate(table[column].to_pylist())]
        table = _with_column(table, column, values)
    parts[name] = bytes_of(table)
    return f"{name}: {len(chosen)} columns unknown"


def mix_columns(random: Random, parts: Parts) -> str:
    name, table = _pick(random, parts)
    into, out_of = random.choice(table.column_names), random.choice(table.column_names)
    parts[name] = bytes_of(_with_column(table, into, table[out_of].to_pylist()))
    return f"{name}.{into} = {name}.{out_of}"


def change_rows(random: Random, parts: Parts) -> str:
    name, table = _pick(random, parts)
    count = len(table)
    kind = random.choice(("none", "fewer", "cut", "twice", "shuffled", "reversed", "one more"))
    rows = list(range(count))
    rows = {
        "none": [],
        "fewer": [row for row in rows if random.random() < 0.7],
        "cut": rows[: random.randint(0, count)],
        "twice": rows + rows,
        "shuffled": random.sample(rows, count),
        "reversed": rows[::-1],
        "one more": rows + rows[-1:],
    }[kind]
    parts[name] = bytes_of(table.take(pa.array(rows, pa.int64())) if len(table) else table)
    return f"rows of {name}: {kind}"


def change_columns(random: Random, parts: Parts) -> str:
    name, table = _pick(random, parts)
    column, other = random.choice(table.column_names), random.choice(table.column_names)
    place = table.column_names.index(column)
    kind = random.choice(("gone", "twice", "renamed", "moved", "another beside", "of another type", "nested"))
    values = table[column].to_pylist()
    made = {
        "gone": lambda: table.drop_columns([column]),
        "twice": lambda: table.append_column(column, table[other]),
        "renamed": lambda: table.rename_columns(
            [f"{each}_" if each == column else each for each in table.column_names]
        ),
        "moved": lambda: table.drop_columns([column]).append_column(column, table[column]),
        "another beside": lambda: table.append_column("more", table[other]),
        "of another type": lambda: _with_column(table, column, values, random.choice(KINDS)),
        "nested": lambda: table.set_column(place, column, pa.array([[each] for each in values])),
    }[kind]()
    parts[name] = bytes_of(made)
    return f"{name}.{column} is {kind}"


def encode(random: Random, parts: Parts) -> str:
    name, table = _pick(random, parts)
    options: dict[str, Any] = {
        "compression": random.choice(("none", "zstd", "snappy", "gzip")),
        "use_dictionary": random.random() < 0.5,
        "row_group_size": random.choice((1 << 20, max(len(table) // 3, 1))),
        "data_page_version": random.choice(("1.0", "2.0")),
        "version": random.choice(("1.0", "2.6")),
        "store_schema": random.random() < 0.5,
    }
    parts[name] = bytes_of(table, **options)
    return f"{name} is encoded anew"


def bomb(random: Random, parts: Parts) -> str:
    name, table = _pick(random, parts)
    if not len(table):
        return f"{name} has no rows"
    if random.random() < 0.5:
        rows = pa.array([random.randrange(len(table))] * FEW, pa.int64())
        parts[name] = bytes_of(pa.concat_tables([table.take(rows)] * random.choice((2, 40))), compression="zstd")
        return f"{name} has millions of rows"
    texts = [each.name for each in table.schema if pa.types.is_string(each.type)]
    if texts:
        column = random.choice(texts)
        table = _with_column(table, column, [f"{'x' * 200_000}{row}" for row in range(len(table))][:500], pa.string())
        encoded = {"use_dictionary": False, "column_encoding": {column: "DELTA_BYTE_ARRAY"}}
        parts[name] = bytes_of(table, **(encoded if random.random() < 0.5 else {}))
    return f"{name} has long texts"


MUTATIONS = (
    *(set_values,) * 3,
    *(scatter_values,) * 2,
    *(borrow_values,) * 6,
    *(unknown_values,) * 6,
    mix_columns,
    *(change_rows,) * 5,
    *(change_columns,) * 2,
    *(encode,) * 2,
    bomb,
)
