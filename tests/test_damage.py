"""Recordings that are damaged, altered or hostile: refused in clear words, or what is wrong is left out and told."""

import gzip
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from builders import TraceBuilder, open_source

import tcprof
from tcprof.errors import InputError
from tcprof.nsys import opening
from tcprof.redaction.copy_check import without_private
from tcprof.redaction.redact import redact
from tcprof.sources import InvalidValues
from tcprof.sources.nsys_sqlite import NsysExport
from tcprof.sources.nsys_sqlite.query import LONGEST_TEXT

TIME = 1 << 53


def sound() -> TraceBuilder:
    """A recording of 100 µs: ten samples, five ranges with a kernel each."""
    builder = TraceBuilder().gpu().recorded(duration=100_000).samples([50] * 10)
    builder.samples([99] * 10, metric="GR Active [Throughput %]")
    for number in range(5):
        start = 10_000 * number
        builder.range(f"step {number}", start, start + 9_000, registered=True)
        builder.kernel(f"kernel {number}", start + 2_000, start + 8_000, launched=start + 1_000)
    return builder


def alter(path: Path, *statements: str, **values: Any) -> Path:
    """Change a file behind its schema's back: a column's declared type no longer holds it to anything."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement, values)
        connection.commit()
    return path


def last_row(place: str, value: str) -> str:
    """The statement that writes an SQL expression into a column of a table's last row."""
    table, column = place.split(".")
    return f"UPDATE {table} SET {column} = {value} WHERE rowid = (SELECT max(rowid) FROM {table})"  # noqa: S608


def read_everything(path: Path) -> NsysExport:
    trace = NsysExport(path)
    for read in (trace.recording, trace.gpus, trace.samples, trace.ranges, trace.api_calls, trace.activities):
        read()
    trace.diagnostics(without_private), trace.lost_launches(), trace.activities()
    return trace


WRONG_VALUES = {
    "'words'": "text",
    "x'00ff'": "bytes",
    "1.5": "fractions",
    "9e999": "fractions",
    "-9e999": "fractions",
    "NULL": "without a value",
}
# Each type of value in a column that has to have one and in one that does not, and text in every column of a table.
KERNEL = ("start", "end", "deviceId", "correlationId", "demangledName", "gridX")
WRONG = [
    *((place, value) for place in ("GPU_METRICS.value", "NVTX_EVENTS.end") for value in WRONG_VALUES),
    *((f"CUPTI_ACTIVITY_KIND_KERNEL.{name}", "'words'") for name in KERNEL),
]


@pytest.mark.parametrize(("place", "value"), WRONG)
def test_a_value_of_another_type_is_told_and_left_out(tmp_path, place, value):
    path = sound().write(tmp_path)
    alter(path, last_row(place, value))
    wrong = read_everything(path).wrong()
    if value == "NULL" and place == "NVTX_EVENTS.end":
        assert wrong == ()
    else:
        assert InvalidValues(place, WRONG_VALUES[value], 1) in wrong


TIMES = (
    ("GPU_METRICS.timestamp", (1 << 63) - 1),
    ("NVTX_EVENTS.start", -(1 << 63)),
    ("CUPTI_ACTIVITY_KIND_KERNEL.start", 3_000_000_000_000),  # an hour in a recording of 100 µs
    ("ANALYSIS_DETAILS.duration", 1 << 61),
)
OUT_OF_RANGE = (
    ("GPU_METRICS.metricId", -5),
    ("NVTX_EVENTS.end", 1 << 62),
    ("CUPTI_ACTIVITY_KIND_KERNEL.end", TIME),
    ("CUPTI_ACTIVITY_KIND_KERNEL.deviceId", 4_000_000_000),
    ("CUPTI_ACTIVITY_KIND_KERNEL.correlationId", 1 << 40),
    ("CUPTI_ACTIVITY_KIND_KERNEL.blockX", -7),
    ("CUPTI_ACTIVITY_KIND_RUNTIME.start", 1 << 60),
    ("TARGET_INFO_GPU.id", -1),
    ("TARGET_INFO_GPU.clockRate", 10**15),
    ("TARGET_INFO_GPU.smCount", 1 << 40),
    ("TARGET_INFO_GPU.totalMemory", -1),
    ("ANALYSIS_DETAILS.duration", -1),
)


@pytest.mark.parametrize(("place", "value"), [*TIMES, *OUT_OF_RANGE])
def test_a_number_that_cannot_be_is_told(tmp_path, place, value):
    path = alter(sound().write(tmp_path), last_row(place, str(value)))
    assert InvalidValues(place, "out of range", 1) in read_everything(path).wrong()


def test_what_is_wrong_is_the_first_fault_of_the_analysis(tmp_path):
    path = sound().write(tmp_path)
    alter(
        path,
        "UPDATE GPU_METRICS SET value = 'x' WHERE rowid < 4",
        "UPDATE NVTX_EVENTS SET start = NULL WHERE rowid = 1",
    )
    (fault,) = tcprof.read(path).faults
    assert fault == (
        "The recording contradicts itself: 3 of GPU_METRICS.value (text); 1 of NVTX_EVENTS.start (without a value). "
        "These were dropped; figures use the rest. Export the report again: nsys export --type=sqlite "
        "--force-overwrite=true REPORT.nsys-rep, or copy the file again from where it was made."
    )


def test_other_rows_are_read_as_if_the_wrong_ones_were_not_there(tmp_path):
    path = sound().write(tmp_path)
    before = NsysExport(path)
    ranges, activities, samples = before.ranges(), before.activities(), before.samples().frame
    alter(
        path,
        "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid) VALUES ('x', 1, 59, 1), (1, 'x', 59, 1)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES (9e999, 1), (1, x'00')",
        "INSERT INTO GPU_METRICS (timestamp, typeId, metricId, value) VALUES ('a', 'b', 'c', 'd')",
    )
    after = NsysExport(path)
    assert after.ranges().equals(ranges)
    assert after.activities().equals(activities)
    assert after.samples().frame.equals(samples)
    assert sum(each.count for each in after.wrong()) == 8


def test_an_end_before_its_start_is_empty_and_told(tmp_path):
    path = sound().range("odd", 50, 10).kernel("odd", 80, 20).write(tmp_path)
    trace = read_everything(path)
    assert trace.ranges()["end_ns"].min() == 50
    assert trace.wrong() == (
        InvalidValues("CUPTI_ACTIVITY_KIND_KERNEL.end", "before the start", 1, kept=True),
        InvalidValues("NVTX_EVENTS.end", "before the start", 1, kept=True),
    )
    assert "These were corrected where possible" in tcprof.read(path).faults[0]


@pytest.mark.parametrize(
    ("metric", "values", "left", "what"),
    [
        ("Tensor Active [Throughput %]", [50, 101, 100, 0], 3, "over 100 %"),
        ("Tensor Active [Throughput %]", [50, -1, 100, 0], 3, "over 100 %"),
        ("GPC Clock Frequency [MHz]", [10**9, 3 * 10**10, 10**9, 10**9], 3, "over 10 GHz"),
        ("Tensor Active [Sum]", [5, -(1 << 63), 7, 9], 3, "below 0"),
    ],
)
def test_what_no_counter_reads_is_left_out_and_told(tmp_path, metric, values, left, what):
    builder = TraceBuilder().gpu().samples(values, metric=metric).samples([10**9] * 4, metric="SM Cycles [Sum]")
    trace = builder.trace(tmp_path)
    frame = trace.samples().frame
    column = {"Te": "tensor_active_pct", "GP": "gpc_clock_hz"}[metric[:2]]
    if metric.endswith("[Sum]"):
        column = "tensor_cycles"
    if column in frame:
        assert frame[column].notna().sum() == left
    (wrong,) = trace.wrong()
    assert (wrong.place, wrong.count) == ("GPU_METRICS.value", 1)
    assert what in wrong.what


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        '{"Tensor Active": ' + "9" * 5_000 + "}",
        '{"Tensor Active": "Infinity"}',
        '{"Tensor Active": {"a": 1}}',
        '{"Tensor Active": "1.5"}',
        "",
    ],
)
def test_json_that_holds_no_whole_number(tmp_path, text):
    trace = TraceBuilder().json_samples({"Tensor Active": [50, 60]}, period=100).json_row(200, text).trace(tmp_path)
    assert trace.samples().frame["tensor_active_pct"].tolist() == [50, 60]
    assert trace.wrong() == (InvalidValues("GENERIC_EVENTS.data", "without whole numbers", 1),)


def test_a_name_of_megabytes_is_cut_and_told(tmp_path):
    trace = TraceBuilder().range("x" * 3_000_000, 0, 9).kernel("y" * 3_000_000, 1, 2).trace(tmp_path)
    assert trace.ranges()["name"].map(len).tolist() == [LONGEST_TEXT]
    assert trace.activities()["name"].map(len).tolist() == [LONGEST_TEXT]
    assert [each.place for each in trace.wrong()] == ["NVTX_EVENTS.text", "StringIds.value"]


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_a_database_in_utf_16_is_refused(tmp_path, encoding):
    path = tmp_path / "trace.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        connection.commit()
    with pytest.raises(InputError, match=f"holds text as {encoding}"):
        tcprof.read(path)
    with pytest.raises(InputError, match=f"holds text as {encoding}"):
        redact(path, tmp_path / "copy.sqlite")


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE VIEW GPU_METRICS AS {ENDLESS} x AS timestamp, 0 AS typeId, 0 AS metricId, x AS value FROM n",
        f"CREATE VIEW StringIds AS {ENDLESS} x AS id, 'a' AS value FROM n",
        "CREATE TABLE StringIds (id INTEGER, value TEXT AS (zeroblob(2000000000)))",
        "CREATE TABLE StringIds (id INTEGER, value TEXT AS (hex(zeroblob(id))) STORED)",
        "CREATE VIRTUAL TABLE StringIds USING fts4(id, value)",
    ],
)
def test_what_is_computed_is_refused(tmp_path, statement):
    path = sound().write(tmp_path)
    alter(path, f"DROP TABLE {'GPU_METRICS' if 'GPU_METRICS' in statement else 'StringIds'}", statement)
    for read in (tcprof.read, lambda path: redact(path, tmp_path / "copy.sqlite")):
        with pytest.raises(InputError, match="computed") as caught:
            read(path)
        assert "nsys export" in caught.value.hint
        assert not (tmp_path / "copy.sqlite").exists()


def test_sqlite_gets_a_limited_time(tmp_path, monkeypatch):
    trace = NsysExport(sound().write(tmp_path))
    monkeypatch.setattr(opening, "SECONDS", 0.01)
    monkeypatch.setattr(opening, "BYTES_A_SECOND", 1 << 40)
    with pytest.raises(InputError, match="takes too long"), trace._database._file.connect() as connection:
        connection.execute(f"{ENDLESS} count(*) FROM n").fetchall()


def test_more_rows_than_there_is_space_for(tmp_path):
    """Pages that lead to one another twice: SQLite follows them, its check does not."""
    builder = TraceBuilder()
    for number in range(3_000):
        builder.range("step", number, number + 1)
    path = builder.write(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        ((root, size),) = connection.execute(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_master WHERE name = 'NVTX_EVENTS'"
        )
    content = bytearray(path.read_bytes())
    begin = (root - 1) * size
    assert content[begin] == 5  # an interior page
    cells = int.from_bytes(content[begin + 3 : begin + 5], "big")
    first = int.from_bytes(content[begin + 12 : begin + 14], "big")
    for cell in range(cells):
        place = begin + int.from_bytes(content[begin + 12 + 2 * cell : begin + 14 + 2 * cell], "big")
        content[place : place + 4] = content[begin + first : begin + first + 4]
    path.write_bytes(content)
    with pytest.raises(InputError, match="NVTX_EVENTS is damaged"):
        read_everything(path)


@pytest.fixture
def logged(tmp_path):
    """An export that somebody's program set to write-ahead logging."""
    path = sound().write(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    return path


def test_nothing_is_left_beside_a_file_with_a_write_ahead_log(logged):
    before = logged.read_bytes()
    assert len(tcprof.read(logged).nvtx_ranges) == 5
    redact(logged, logged.parent.parent / "copy.sqlite")
    (logged.parent.parent / "copy.sqlite").unlink()
    assert [file.name for file in logged.parent.iterdir()] == [logged.name]
    assert logged.read_bytes() == before


def test_a_link_is_followed(tmp_path):
    link = tmp_path / "link.sqlite"
    link.symlink_to(sound().write(tmp_path))
    assert tcprof.read(link).recording.file == "link.sqlite"
    nowhere = tmp_path / "nowhere.sqlite"
    nowhere.symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="is a link to a file that does not exist"):
        tcprof.read(nowhere)
    loop = tmp_path / "loop.sqlite"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="cannot be read"):
        tcprof.read(loop)


@pytest.mark.timeout(30)
def test_a_pipe_is_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe.sqlite"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(InputError, match="is a pipe or a device"):
            open_source(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (gzip.compress(b"SQLite format 3\0" * 50, mtime=0), "gzip"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 200, "zstd"),
        (b"\xfd7zXZ\0" + b"x" * 200, "xz"),
        (b"BZh9" + b"x" * 200, "bzip2"),
        (b"PK\3\4" + b"x" * 200, "zip"),
    ],
)
@pytest.mark.parametrize("name", ["run.sqlite", "run.sqlite.gz"])
def test_what_is_compressed_says_how_to_unpack_it(tmp_path, content, kind, name):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"is compressed \({kind}\)") as caught:
        open_source(path)
    assert name in caught.value.hint


@pytest.mark.parametrize("checked", [opening.CHECKED_BYTES, 0])
def test_rows_that_no_metric_can_be_found_for_are_told_in_large_files_too(tmp_path, monkeypatch, checked):
    """There they are not read: that a sample lacks a metric shows it."""
    monkeypatch.setattr(opening, "CHECKED_BYTES", checked)
    path = alter(sound().write(tmp_path), "UPDATE GPU_METRICS SET metricId = 'x' WHERE rowid = 3")
    assert read_everything(path).wrong() == (InvalidValues("GPU_METRICS.metricId", "text", 1),)
