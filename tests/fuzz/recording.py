"""Mutations of what a recording says: nesting of ranges, JSON samples, metrics, GPUs, settings."""

import json
from random import Random

from fuzz import odd
from fuzz.database import Connection, columns_of, recreate, run, tables_of
from tcprof.nsys import schema

SETTINGS = (
    ("META_DATA_CAPTURE", "GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY"),
    ("META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION"),
    ("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION"),
    ("TARGET_INFO_SYSTEM_ENV", "NvDriverVersion"),
)
JSON_TEXTS = (
    "",
    "{",
    "null",
    "[]",
    "3",
    '"text"',
    "{}",
    '{"Tensor Active": null}',
    '{"Tensor Active": "x"}',
    '{"Tensor Active": {}}',
    '{"Tensor Active": "1e999"}',
    '{"Tensor Active": NaN}',
    '{"Tensor Active": 1e400}',
    '{"Tensor Active": "99999999999999999999999"}',
    '{"Tensor Active": "\\ud800"}',
    '{"Tensor Active": "5", "Tensor Active": "7"}',
    '{"Tensor Active [Throughput %]": "-5"}',
    '{"Name": "x", "Fields": null}',
    '{"Name": "x", "Fields": [1, null, {}, {"Name": 5}]}',
    "[" * 100_000,
    '{"a":' * 2000 + "1" + "}" * 2000,
    '{"Tensor Active": ' + "9" * 6000 + "}",
)


def _insert(connection: Connection, table: str, rows: list[dict[str, object]]) -> None:
    """Rows of the columns that the table has; a table that lacks is made."""
    if table not in tables_of(connection):
        listed = ", ".join(f'"{name}"' for name in rows[0])
        run(connection, "CREATE TABLE {} (" + listed + ")", table)
    has = {name for name, _ in columns_of(connection, table)}
    names = [name for name in rows[0] if name in has]
    listed = ", ".join(f'"{name}"' for name in names)
    statement = f'INSERT OR IGNORE INTO "{table}" ({listed}) VALUES ({", ".join("?" * len(names))})'
    connection.executemany(statement, [tuple(row[name] for name in names) for row in rows])


def _thread(connection: Connection) -> int:
    """A thread that launched something, so that ranges on it have work."""
    try:
        found = connection.execute('SELECT max("globalTid") FROM CUPTI_ACTIVITY_KIND_RUNTIME').fetchone()[0]
    except Exception:  # the table is gone by another mutation
        found = None
    return found if isinstance(found, int) else 1 << 48 | 1000 << 24 | 1


def nest_ranges(random: Random, connection: Connection) -> str:
    kind = random.choice(("deep", "crossing", "open", "reversed", "same", "empty names", "many"))
    number = {"deep": random.choice((50, 300, 1500)), "many": 3000}.get(kind, 60)
    thread, name = _thread(connection), random.choice(("step", odd.any_text(random), ""))
    rows = []
    for i in range(number):
        start, end = {
            "deep": (i, 10**9 - i),
            "crossing": (i * 1000, i * 1000 + 30_500),
            "open": (i * 1000, None),
            "reversed": (i * 1000 + 500, i * 1000),
            "same": (1000, 10**8),
            "empty names": (i * 10_000, i * 10_000 + 9_000),
            "many": (i * 10_000, i * 10_000 + 9_000),
        }[kind]
        text: object = "" if kind == "empty names" else f"{name[:300]} {i}" if kind in ("deep", "many") else name
        kinds = random.choice((59, 60)) if kind == "crossing" else 59
        rows.append({"start": start, "end": end, "eventType": kinds, "globalTid": thread, "domainId": 0, "text": text})
    _insert(connection, "NVTX_EVENTS", rows)
    return f"{number} ranges more: {kind}, named {odd.in_words(name)}"


def leave_open(random: Random, connection: Connection) -> str:
    kind, share = random.choice((59, 60)), random.choice((1, 2, 5, 1000))
    change = f'"end" = NULL, eventType = {kind} WHERE eventType IN (59, 60) AND rowid % {share} = 0'
    run(connection, "UPDATE {} SET " + change, "NVTX_EVENTS")
    return f"one of {share} ranges never closed, as of type {kind}"


def json_samples(random: Random, connection: Connection) -> str:
    run(connection, "DROP TABLE IF EXISTS {}", "GPU_METRICS")
    fields = {"Name": "", "Fields": [{"Name": "Tensor Active [Throughput %]"}, {"Name": "GR Active [Throughput %]"}]}
    kind = 1 << 48
    odd_type = random.random() < 0.3
    types = [{"typeId": kind, "data": random.choice(JSON_TEXTS) if odd_type else json.dumps(fields)}]
    rows: list[dict[str, object]] = []
    for i in range(200):
        text = json.dumps({each["Name"]: str(i % 101) for each in fields["Fields"]})  # type: ignore[index]
        if random.random() < 0.1:
            text = random.choice((*JSON_TEXTS, text[: random.randint(0, len(text))]))
        rows.append({"rawTimestamp": i * 10_000, "timestamp": i * 10_000, "typeId": kind, "data": text})
    for table, made in ((schema.GENERIC_TYPES.name, types), (schema.GENERIC_EVENTS.name, rows)):
        run(connection, "DROP TABLE IF EXISTS {}", table)
        _insert(connection, table, made)
    return "JSON samples" + (f", of a type {odd.in_words(types[0]['data'])}" if odd_type else "")


def change_samples(random: Random, connection: Connection) -> str:
    if "GPU_METRICS" not in tables_of(connection):
        return "no samples"
    change = random.choice((
        "value = -value - 1", "value = value * 1000", "value = 9223372036854775807", "value = 127", "value = 'x'",
        "timestamp = 5", "timestamp = -timestamp", "timestamp = timestamp / 100000 * 100000", "value = 0",
        "timestamp = timestamp * 2", "metricId = 0", "metricId = NULL", "typeId = typeId + 1", "typeId = typeId | 255",
        "typeId = 512 | typeId", "typeId = -1", "typeId = NULL", "value = CASE rowid % 7 WHEN 0 THEN -1 ELSE value END",
    ))  # fmt: skip
    where = random.choice(("", " WHERE rowid % 3 = 0", " WHERE rowid % 50 = 0", " WHERE metricId = 1"))
    run(connection, "UPDATE {} SET " + change + where, "GPU_METRICS")
    return f"GPU_METRICS: {change}{where.lower()}"


def rename_metrics(random: Random, connection: Connection) -> str:
    table = "TARGET_INFO_GPU_METRICS"
    if table not in tables_of(connection):
        return "no metrics"
    recreate(connection, table, columns_of(connection, table))
    change = random.choice((
        "metricName = 'Tensor Active [Throughput %]'", "metricName = 'SM Cycles [Sum]'",
        "metricName = 'Tensor Active [Sum]'", "metricName = NULL", "metricName = x'ff'", "metricName = ''",
        f"metricName = metricName || '{odd.MARKUP}'", "metricName = replace(metricName, ' [', '[')", "metricId = 0",
        "metricId = -1", "metricId = 'x'", "metricId = 9223372036854775807", "typeId = typeId | 7", "typeId = 0",
        "metricName = 'GPC Clock Frequency [MHz]'", "metricName = replace(metricName, 'Sum', 'Throughput %')",
    ))  # fmt: skip
    where = random.choice(("", " WHERE rowid % 2 = 0", " WHERE rowid = 1", " WHERE metricName LIKE 'Tensor%'"))
    run(connection, "UPDATE {} SET " + change + where, table)
    return f"{table}: {change}{where}"


def change_gpus(random: Random, connection: Connection) -> str:
    table = random.choice([name for name in tables_of(connection) if name.startswith("TARGET_INFO_")] or ["StringIds"])
    columns = columns_of(connection, table)
    recreate(connection, table, columns)
    done = []
    for name in random.sample([name for name, _ in columns], min(len(columns), random.randint(1, 4))):
        value = random.choice((odd.any_number(random), odd.any_value(random), odd.any_text(random)))
        run(connection, "UPDATE {} SET {} = ?", table, name, values=(value,))
        done.append(f"{name} = {odd.in_words(value)}")
    if random.random() < 0.4:
        run(connection, "INSERT INTO {} SELECT * FROM {}", table, table)
        done.append("each row twice")
    return f"{table}: {', '.join(done)}"


def change_settings(random: Random, connection: Connection) -> str:
    table, name = random.choice(SETTINGS)
    value = random.choice((*odd.NUMERALS, *odd.TEXTS, 0, -1, 10**18, 1.5, b"20000", None, "0", "1"))
    _insert(connection, table, [{"name": name, "value": value}])
    run(connection, "UPDATE OR IGNORE {} SET value = ? WHERE name = ?", table, values=(value, name))
    return f"{name} = {odd.in_words(value)}"


def tell_diagnostics(random: Random, connection: Connection) -> str:
    number = random.choice((1, 5, 2000))
    text = random.choice((odd.any_text(random), f"GPU Metrics [0]: Sampling buffer overflow {odd.MARKUP}\x1b[31m"))
    row = {"timestamp": 0, "source": 1, "severity": random.choice((1, 2, 3, 4, 99, None)), "text": text}
    _insert(connection, "DIAGNOSTIC_EVENT", [row] * number)
    return f"{number} messages {odd.in_words(text)}"


def pile_up_kernels(random: Random, connection: Connection) -> str:
    table = random.choice([t.name for t in schema.ACTIVITY_TABLES if t.name in tables_of(connection)] or ["StringIds"])
    change = random.choice((
        '"end" = (SELECT max("end") FROM {0})', '"start" = (SELECT min("start") FROM {0})', "correlationId = 1",
        "correlationId = NULL", "deviceId = rowid % 300", "deviceId = -1", "globalPid = 0", "globalPid = rowid << 24",
        '"end" = "start"', '"end" = "start" - 1', "streamId = rowid", '"end" = 9223372036854775807', "bytes = -1",
        "copyKind = 99", "gridX = -1, blockX = 9223372036854775807", "gridX = 0", "demangledName = 999999999",
        "demangledName = -1, shortName = NULL", "graphNodeId = rowid % 3", '"end" = "start" + 3600000000000',
        "globalPid = NULL", "deviceId = NULL", "deviceId = 9223372036854775807", "correlationId = correlationId / 7",
    ))  # fmt: skip
    where = random.choice(("", " WHERE rowid % 5 = 0", " WHERE rowid = 1"))
    statement = "UPDATE OR IGNORE {} SET " + change.replace("{0}", table) + where
    run(connection, statement, table)
    return f"{table}: {change.replace('{0}', table)}{where.lower()}"


MUTATIONS = (
    *(nest_ranges,) * 2,
    leave_open,
    *(json_samples,) * 2,
    *(change_samples,) * 3,
    *(rename_metrics,) * 2,
    *(change_gpus,) * 2,
    *(change_settings, tell_diagnostics),
    *(pile_up_kernels,) * 3,
)
