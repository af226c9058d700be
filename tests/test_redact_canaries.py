"""Whatever text is planted in an export, its redacted copy does not hold it, unless it is a name that is kept."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from builders import FIXTURES, TraceBuilder
from slow import first
from sqlalchemy import Column, MetaData, Table, TableClause
from test_redact import recording, recording_with_secrets, redacted

from tcprof.nsys import schema
from tcprof.redaction.allowed import KNOWN_TABLES, copied_columns
from tcprof.redaction.redact import redact

CANARY = "Zq7xCanary"  # of no word that NVIDIA's tools write
NAMES = {
    (schema.NVTX.name, "text"),
    (schema.CAPTURED.name, "name"),
    (schema.STRINGS.name, "value"),
}  # what the program names is kept
FORMS: dict[str, Callable[[str], str]] = {
    "alone": lambda _: CANARY,
    "after a NUL": lambda text: f"{text}\0{CANARY}",
    "after a space": lambda text: f"{text} {CANARY}",
    "before": lambda text: f"{CANARY}:{text}",
    "as a part": lambda text: f"{text}_{CANARY}",
}


def holds(path: Path, text: str = CANARY) -> bool:
    """Whether a text is anywhere in a file, in capitals or not, as UTF-8 or UTF-16."""
    content = path.read_bytes().lower()
    return any(text.lower().encode(code) in content for code in ("utf-8", "utf-16-le", "utf-16-be"))


def with_every_table(builder: TraceBuilder) -> TraceBuilder:
    """An export that has a row in tables that are kept and that the builder does not write by itself."""
    builder.row("ENUM_CUDA_MEMCPY_OPER", id=1, name="CUDA_MEMCPY_KIND_HTOD", label="Host-to-Device")
    builder.row(schema.SESSION_START, utcEpochNs=1, utcTime="2026-11-20T15:54:31")
    builder.row(schema.CUDA_DEVICES, gpuId=0, cudaId=0, pid=1000)
    builder.row("PROCESSES", globalPid=1, pid=1000)
    return builder


def text_cells(path: Path) -> list[tuple[str, str]]:
    """The columns of the known tables that hold text."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        cells = [
            (table, column)
            for table in sorted(KNOWN_TABLES & set(tables))
            for _, column, *_ in connection.execute(f'pragma table_info("{table}")').fetchall()
        ]
        return [
            (table, column)
            for table, column in cells
            if connection.execute(
                f'select 1 from "{table}" where typeof("{column}") = ? limit 1',  # noqa: S608
                ("text",),
            ).fetchone()
        ]


@pytest.mark.parametrize("form", first(1, FORMS))
def test_text_planted_in_any_cell_is_not_in_the_copy(form, tmp_path):
    source = with_every_table(recording_with_secrets()).write(tmp_path, "source.sqlite")
    cells = text_cells(source)
    assert {table for table, _ in cells} >= {schema.GPUS.name, schema.METRIC_NAMES.name, schema.SESSION_START.name}
    for number, (table, column) in enumerate(cells):
        if (table, column) in NAMES and form != "after a NUL":
            continue
        planted, copy = tmp_path / f"{number}.sqlite", tmp_path / f"{number}-copy.sqlite"
        planted.write_bytes(source.read_bytes())
        with closing(sqlite3.connect(planted)) as connection, connection:
            texts = connection.execute(f'select distinct "{column}" from "{table}"').fetchall()  # noqa: S608
            for (text,) in texts:
                connection.execute(
                    f'update "{table}" set "{column}" = ? where "{column}" = ?',  # noqa: S608
                    (FORMS[form](text), text),
                )
        assert holds(planted)
        redact(planted, copy)
        if (table, column) != (schema.DIAGNOSTICS.name, "text") or form == "after a NUL":  # nsys may say any word
            assert not holds(copy), (table, column)


@pytest.mark.parametrize("text", [f"cu{CANARY}", f"cudaLaunch{CANARY}_v7000", f"cudaLaunchKernel\0{CANARY}"])
def test_a_call_is_kept_by_its_words(text, tmp_path):
    builder = recording().row(schema.STRINGS, id=7_777, value=text)
    builder.row(schema.API_CALLS, start=1, end=2, globalTid=1, correlationId=99, nameId=7_777, returnValue=0)
    _, copy = redacted(builder, tmp_path)
    assert not holds(copy)


def test_columns_are_kept_by_name(tmp_path):
    builder = recording()
    builder.row("PROCESSES", globalPid=1, **{CANARY: 5})
    result, copy = redacted(builder, tmp_path)
    assert not holds(copy)
    assert result.columns == (f"PROCESSES.{CANARY}",)


def test_columns_that_are_read_are_copied(tmp_path):
    tables = [table for table in vars(schema).values() if isinstance(table, TableClause) and table.name in KNOWN_TABLES]
    for table in tables:
        reflected = Table(table.name, MetaData(), *(Column(column.name) for column in table.c))
        assert [column.name for column in copied_columns(reflected)] == [column.name for column in table.c]
    assert schema.UNPROFILED in tables


KNOWN = "sk-9f8e7d6c5b4a3210"


@pytest.mark.parametrize(
    "message",
    [f"Cannot open {KNOWN[3:16]}, skipped.", f"Value {KNOWN[:12]}... is too long", f"{KNOWN[-12:]} is unknown"],
)
def test_a_message_without_twelve_characters_of_a_known_secret(message, tmp_path):
    builder = recording().system("DeviceEnvironment", f"API_TOKEN={KNOWN}").diagnostic("warning", message)
    _, copy = redacted(builder, tmp_path)
    assert not any(holds(copy, KNOWN[start : start + 12]) for start in range(len(KNOWN) - 11))
    assert holds(copy, message.split()[-1])  # the rest stays readable


@pytest.mark.parametrize(
    ("message", "private"),
    [
        ("Connected to node17.internal.example.com, port 5.", "node17.internal"),
        (r"Cannot open \\\\fileserver\\share\\x, skipped.", "fileserver"),
        ("Listening on fe80:0:0:1::42af for events.", "42af"),
        ("Listening on 2001:db8::8a2e:370 for events.", "8a2e"),
    ],
)
def test_a_message_without_hosts_and_their_addresses(message, private, tmp_path):
    _, copy = redacted(recording().diagnostic("warning", message), tmp_path)
    assert not holds(copy, private)
    assert holds(copy, message.split()[-1])


@pytest.mark.parametrize("where", ["header", "freed pages"])
def test_nothing_of_the_file_around_its_rows_is_copied(where, tmp_path):
    planted, copy = tmp_path / "planted.sqlite", tmp_path / "copy.sqlite"
    planted.write_bytes((FIXTURES / "jax_mlp.sqlite").read_bytes())
    with closing(sqlite3.connect(planted)) as connection, connection:
        if where == "header":
            connection.execute("pragma application_id = 1516337528")  # "Zaxx"
            connection.execute("pragma user_version = 1516337528")
        else:
            connection.execute("create table freed (text)")
            connection.executemany("insert into freed values (?)", [(CANARY * 50,)] * 100)
            connection.execute("drop table freed")
    redact(planted, copy)
    with closing(sqlite3.connect(copy)) as connection:
        assert [connection.execute(f"pragma {what}").fetchone()[0] for what in ("application_id", "user_version")] == [
            0,
            0,
        ]
    assert not holds(copy)


@pytest.mark.parametrize(("name", "value"), [("PROCESS_0", "Graph"), (f"PROCESS_1:{CANARY}", "Graph")])
def test_a_setting_is_kept_by_its_whole_name(name, value, tmp_path):
    builder = recording().captured(f"{name}:{CANARY}:CUDA_GRAPH_TRACE_OPTIONS:MODE", value)
    builder.row(schema.EXPORT_METADATA, name=f"EXPORT_SCHEMA_VERSION_{CANARY}", value="1")
    _, copy = redacted(builder, tmp_path)
    assert not holds(copy)
