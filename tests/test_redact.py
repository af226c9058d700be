"""A redacted copy gives the same figures and holds nothing private; what was left out is counted and searched for."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from builders import FIXTURES, TraceBuilder

from tcprof.analysis import analyze
from tcprof.errors import InputError, OutputError
from tcprof.nsys import schema
from tcprof.redaction import allowed, own_words
from tcprof.redaction import redact as redact_module
from tcprof.redaction.copy_check import without_private
from tcprof.redaction.private_texts import Kind
from tcprof.redaction.redact import Redaction, redact
from tcprof.sources.nsys_sqlite import NsysExport

SECRETS = (
    "hunter2",
    "/home/alice",
    "alice",
    "build-host-7",
    "--password",
    "10.1.2.3",
    "AKIA",
    "stdout of the program",
    "GPU-5d1e",
    "secret-worker",
    "kept/quiet",
)
NSYS = os.environ.get("NSYS") or shutil.which("nsys")


def recording() -> TraceBuilder:
    """A small export with ranges, kernels and samples, and without anything private."""
    builder = TraceBuilder().gpu().recorded(duration=100_000).exported().range("step", 0, 20_000)
    builder.range("forward", 1_000, 9_000).kernel("gemm", 2_000, 9_000, launched=1_500)
    return builder.copy("host to device", 500, 900, launched=400).samples([0, 50, 100], start=0, period=10_000)


def recording_with_secrets() -> TraceBuilder:
    """An export with something private in every table that real ones have it in."""
    builder = (
        recording()
        .captured("PROCESS_0:COMMAND", "python train.py --password hunter2")
        .captured("PROCESS_0:ARGUMENT_0", "--data=/srv/kept/quiet/set.bin")
        .captured("PROCESS_0:ENVIRONMENT_VARIABLE", 'AWS_KEY="AKIA-4711-QQ"')
        .captured("PROCESS_0:USER_NAME", "alice")
        .captured("PROCESS_0:WORKING_DIR", "/home/alice/run")
        .captured("GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY", "20000")
        .captured("GPU_METRICS_OPTIONS:CONFIG", "/home/alice/metrics.config")
        .captured("DEVICE_DISPLAY_NAME", "build-host-7")
        .captured("SHOW_BACKTRACE", "false")
        .system("NvDriverVersion", "580.159.04")
        .system("DeviceEnvironment", "TOKEN=hunter2;HOSTNAME=build-host-7;LS_COLORS=di=01;34")
        .system("HostName", "build-host-7")
        .diagnostic("information", "Loaded /home/alice/lib.so on 10.1.2.3 with TOKEN=hunter2 for alice@build-host-7")
        .diagnostic("warning", "Not all events of secret-worker were collected.")
        .diagnostic("warning", "Not all events were collected.")
    )
    strings = {
        9_000: "python train.py --password hunter2",
        9_001: "stdout of the program\nand a second line of it\n",
        9_002: "/home/alice/data",
        9_003: "secret-worker",
        9_004: "TOKEN=hunter2\0USER=alice\0PWD=/home/alice",
    }
    for number, text in strings.items():
        builder.row(schema.STRINGS, id=number, value=text)
    builder.range("sum", 1, 2, payload=f'{{"host":"build-host-7", "{schema.MESSAGE_SIZE}": 512, "id":93847}}')
    builder.row("PROCESSES", globalPid=1, pid=1000, name="/home/alice/bin/python")
    builder.row("ThreadNames", nameId=9_003, priority=0, globalTid=1)
    builder.row("ProcessStreams", globalPid=1, filenameId=9_002, contentId=9_001)
    builder.row(schema.CUDA_DEVICES, gpuId=0, cudaId=0, pid=1000, uuid="GPU-5d1e-77")
    builder.row(schema.EXPORT_METADATA, name="EXPORT_PARAM_INPUT_FILE", value="/home/alice/run.nsys-rep")
    return builder.row("SOMETHING_NEW", text="hunter2")


def redacted(builder: TraceBuilder, folder: Path) -> tuple[Redaction, Path]:
    target = folder / "copy.sqlite"
    return redact(builder.write(folder, "source.sqlite"), target), target


def texts_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = lambda value: value.decode("utf-8", "replace")
        names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        rows = [value for name in names for row in connection.execute(f'select * from "{name}"') for value in row]  # noqa: S608
    return {value for value in rows if isinstance(value, str)}


def test_nothing_private_is_left(tmp_path):
    source, target = recording_with_secrets().write(tmp_path), tmp_path / "copy.sqlite"
    before = source.read_bytes()
    assert [secret for secret in SECRETS if secret.encode() not in before] == []
    redact(source, target)
    assert source.read_bytes() == before
    copy = target.read_bytes()
    assert [secret for secret in SECRETS if secret.encode() in copy] == []
    assert f'{{"{schema.MESSAGE_SIZE}":512}}' in texts_in(target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.sqlite", "trace.sqlite"]


def test_what_was_left_out_is_counted_by_kind(tmp_path):
    redaction, _ = redacted(recording_with_secrets(), tmp_path)
    assert redaction.removed == {
        Kind.ENVIRONMENT: 1 + 3 + 3,  # a setting, DeviceEnvironment, a string
        Kind.COMMANDS: 2,
        Kind.NAMES: 3,
        Kind.PATHS: 4,  # three settings, a string
        Kind.PROCESSES: 1,
        Kind.THREADS: 1,
        Kind.OUTPUT: 2,
        Kind.HARDWARE: 1,
        Kind.MESSAGES: 2,
        Kind.SETTINGS: 1,
        Kind.TEXTS: 3,  # strings that nothing names: [Unknown], and a command line; a payload
    }
    assert redaction.tables == ("ProcessStreams", "SOMETHING_NEW", "ThreadNames")
    assert (redaction.names.nvtx.count, redaction.names.kernels.count) == (0, 0)


def test_of_a_copy_nothing_is_left_out(tmp_path):
    _, copy = redacted(recording_with_secrets(), tmp_path)
    again = redact(copy, tmp_path / "again.sqlite")
    assert (again.removed, again.tables, again.searched) == ({}, (), 0)
    assert texts_in(tmp_path / "again.sqlite") == texts_in(copy)


def test_messages_stay_readable(tmp_path):
    builder = recording_with_secrets().diagnostic(
        "warning", "No CPU IP/backtrace samples. Try\necho 1 >/proc/sys/x/y in C:\\Users\\bob\\a.exe or ./out/of/way."
    )
    _, target = redacted(builder, tmp_path)
    assert NsysExport(target).diagnostics(without_private)["text"].tolist() == [
        "Loaded <redacted> on <redacted> with <redacted> for <redacted>@<redacted>",
        "Not all events of <redacted> were collected.",
        "Not all events were collected.",
        "No CPU IP/backtrace samples. Try\necho 1 ><redacted> in <redacted> or <redacted>",
    ]


OF_EACH_KIND = [FIXTURES / f"{name}.sqlite" for name in ("jax_mlp",)]  # the others have more of the same


def test_the_figures_are_the_same(tmp_path):
    source = recording_with_secrets().write(tmp_path)
    target = tmp_path / "copy.sqlite"
    redact(source, target)
    one, other = analyze(NsysExport(source)), analyze(NsysExport(target))
    assert one.ranges.equals(other.ranges)
    assert one.activities.equals(other.activities)
    assert one.samples.equals(other.samples)
    assert one.recording.frequency_hz == other.recording.frequency_hz
    assert one.recording.driver_version == other.recording.driver_version


# Of the machines that the fixtures were recorded on
PRIVATE_WORDS = ("/root", "/home/", "/tmp/", "LD_LIBRARY_PATH", "PYTHONPATH", "HOSTNAME", "nsys-rep")


def test_fixtures_hold_nothing_private():
    fixtures = list(FIXTURES.glob("*.sqlite"))
    assert fixtures
    for fixture in fixtures:
        content = fixture.read_bytes()
        assert len(content) < 3_000_000
        for word in PRIVATE_WORDS:
            assert word.encode() not in content, (fixture.name, word)


@pytest.mark.parametrize("source", OF_EACH_KIND, ids=lambda path: path.stem)
def test_in_a_fixture_nothing_is_left_to_redact(source, tmp_path):
    redaction = redact(source, tmp_path / source.name)
    others = [
        name for name in redaction.tables if not name.startswith("ENUM_")
    ]  # fixtures have all of nsys's constants
    assert (others, redaction.searched) == ([], 0)


def keep_any(patch: pytest.MonkeyPatch, table: str, column: str) -> None:
    patch.setitem(allowed._KEPT_TEXT, table, {column})
    patch.setattr(own_words, "is_own", lambda text: True)


def keep_streams(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(allowed._KEPT_TEXT, "ProcessStreams", set())
    patch.setattr(allowed, "KERNEL_STRINGS", (*allowed.KERNEL_STRINGS, ("ProcessStreams", "filenameId")))


WEAKENED: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "process names": (
        lambda patch: keep_any(patch, "PROCESSES", "name"),
        "its PROCESSES.name would hold a text of the process names",
    ),
    "hosts and files": (
        lambda patch: patch.setitem(allowed._SETTINGS, "META_DATA_EXPORT", {"EXPORT_.*": ".*"}),
        "its META_DATA_EXPORT.value would hold a text of the paths",
    ),
    "environment": (
        lambda patch: patch.setitem(allowed._SETTINGS, "TARGET_INFO_SYSTEM_ENV", {"DeviceEnvironment": ".*"}),
        "its TARGET_INFO_SYSTEM_ENV.value would hold a text of the commands and arguments",
    ),
    "messages": (
        lambda patch: patch.setattr(redact_module, "blanking", lambda private, texts: lambda text: text),
        "its DIAGNOSTIC_EVENT.text would hold",
    ),
    "file names": (keep_streams, "its StringIds.value would hold a text of the paths"),
    "serial numbers": (
        lambda patch: keep_any(patch, schema.CUDA_DEVICES.name, "uuid"),
        "its TARGET_INFO_CUDA_DEVICE.uuid would hold a text of the serial numbers",
    ),
}


@pytest.mark.parametrize("kind", WEAKENED)
def test_a_copy_that_holds_something_private_is_refused(kind, tmp_path, monkeypatch):
    weaken, message = WEAKENED[kind]
    weaken(monkeypatch)
    with pytest.raises(OutputError, match=message) as raised:
        redacted(recording_with_secrets(), tmp_path)
    assert [secret for secret in SECRETS if secret in f"{raised.value} {raised.value.hint}"] == []
    assert [path.name for path in tmp_path.iterdir()] == ["source.sqlite"]


def test_text_among_numbers_is_refused(tmp_path):
    with pytest.raises(InputError, match="CUPTI_ACTIVITY_KIND_KERNEL holds text among its numbers") as caught:
        redacted(recording().kernel("gemm", 10_000, 11_000, gridX="hunter2"), tmp_path)
    assert "defect" not in str(caught.value.hint)
    assert [path.name for path in tmp_path.iterdir()] == ["source.sqlite"]


OFTEN = ("INTEGER", "REAL", "NUMERIC(10)", "TEXT", "BLOB", "")  # one of each of SQLite's affinities, and none


@pytest.mark.parametrize("declared", [*OFTEN])
def test_numbers_are_kept_whatever_a_column_is_declared_as(declared, tmp_path):
    source = recording().write(tmp_path, "source.sqlite")
    values = (3, 3.25, -(2**62), 0, 0.0, 1e300, float("inf"), "3.25", "12", None, "")
    with closing(sqlite3.connect(source)) as connection:
        connection.execute(f"create table CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, flags {declared})")
        rows = list(enumerate(values))
        connection.executemany("insert into CUPTI_ACTIVITY_KIND_SYNCHRONIZATION values (?, ?)", rows)
        connection.commit()
    redact(source, tmp_path / "copy.sqlite")
    before, after = (column_of(tmp_path / name) for name in ("source.sqlite", "copy.sqlite"))
    assert after == ["" if isinstance(value, str) else value for value in before]
    assert [type(value) for value in after] == [type(value) for value in before]
    if declared not in ("TEXT", "VARCHAR(20)"):  # there SQLite itself makes texts of numbers
        assert after[:7] == list(values[:7])


def column_of(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("select flags from CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")]


def test_names_that_hold_something_private_are_told(tmp_path):
    builder = recording_with_secrets()
    for number, name in enumerate(
        ("load hunter2", "from 10.1.2.3", "mail bob@example.org", "at /Users/bob/x", "/encoder/layer1")
    ):
        builder.range(name, number, number + 1, registered=number % 2 == 0)
    builder.kernel("jit_AKIA-4711-QQ<float>", 20_000, 21_000)
    redaction, target = redacted(builder, tmp_path)
    assert redaction.names.nvtx.count == 4
    assert {(found.part, found.reason) for found in redaction.names.nvtx.examples} <= {
        ("hunter2", "a text of the environment variables"),
        ("hunter2", "a text of the commands and arguments"),
        ("10.1.2.3", "an IPv4 address"),
        ("bob@example.org", "an e-mail address"),
        ("/Users/bob/x", "a path in a home folder"),
    }
    assert len(redaction.names.nvtx.examples) == 3
    assert [found.text for found in redaction.names.kernels.examples] == ["jit_AKIA-4711-QQ<float>"]
    assert {"from 10.1.2.3", "jit_AKIA-4711-QQ<float>"} <= texts_in(target)


@pytest.mark.parametrize(
    ("value", "name", "is_told"),
    [
        ("hunter2", "uses hunter2 here", True),
        ("hunter2", "hunter2x", False),
        ("hunter2hunter2", "xhunter2hunter2x", True),
        ("https://bob:sesame77@proxy.corp.net:3128/", "via proxy.corp.net", True),
        ("https://bob:sesame77@proxy.corp.net:3128/", "sesame77", True),
        ("https://proxy.corp.net", "via proxy.corp.net", True),
    ],
)
def test_what_is_searched_for(value, name, is_told, tmp_path):
    builder = recording().range(name, 30_000, 31_000)
    builder.row(schema.STRINGS, id=9_000, value="cudaLaunchKernel_v7000")
    builder.row(schema.API_CALLS, start=1, end=2, globalTid=0, correlationId=1, nameId=9_000)
    builder.captured("PROCESS_0:ENVIRONMENT_VARIABLE", f'VARIABLE="{value}"')
    redaction, _ = redacted(builder, tmp_path)
    assert redaction.names.nvtx.count == is_told


def test_only_names_of_cuda_calls_are_kept_as_such(tmp_path):
    builder = recording()
    for number, name in ((9_000, "cudaLaunchKernel_v7000"), (9_001, "a text of no call")):
        builder.row(schema.STRINGS, id=number, value=name)
        builder.row(schema.API_CALLS, start=1, end=2, globalTid=0, correlationId=1, nameId=number)
    _, target = redacted(builder, tmp_path)
    assert "cudaLaunchKernel_v7000" in texts_in(target)
    assert "a text of no call" not in texts_in(target)


@pytest.mark.parametrize(
    ("table", "columns", "absent"),
    [
        ("NVTX_EVENTS", {"start": 1, "text": "secret text"}, "NVTX_EVENTS.eventType"),
        ("META_DATA_CAPTURE", {"value": "secret text"}, "META_DATA_CAPTURE.name"),
        ("StringIds", {"value": "secret text"}, "StringIds.id"),
        ("GENERIC_EVENT_TYPES", {"typeId": 1, "hyperComment": "secret text"}, "GENERIC_EVENT_TYPES.data"),
        ("GENERIC_EVENTS", {"typeId": 1, "data": "secret text"}, "GENERIC_EVENT_TYPES"),
    ],
)
def test_a_table_without_what_its_rows_are_chosen_by_is_left_out(table, columns, absent, tmp_path):
    redaction, target = redacted(TraceBuilder().row(table, **columns).without(absent), tmp_path)
    assert redaction.tables == (table,)
    assert b"secret text" not in target.read_bytes()


def test_of_constants_only_what_may_be_nsyss_own_words_is_kept(tmp_path):
    builder = recording()
    known = ((0, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"), (1, "UNKNOWN", "Event (DEPRECATED)"), (2, "MAX", None))
    for number, name, label in (*known, (3, "/home/alice", "hunter2"), (4, "TOKEN", "AKIA=kept/quiet")):
        builder.row("ENUM_CUDA_MEMCPY_OPER", id=number, name=name, label=label, other="secret-worker")
    builder.row("ENUM_OF_THE_PROGRAM", id=0, name="hunter2")
    redaction, target = redacted(builder, tmp_path)
    assert redaction.tables == ("ENUM_OF_THE_PROGRAM",)
    assert redaction.removed[Kind.ROWS] == 2
    with closing(sqlite3.connect(target)) as connection:
        rows = connection.execute("select id, name, label from ENUM_CUDA_MEMCPY_OPER").fetchall()
    assert tuple(rows) == known
    assert not [secret for secret in SECRETS if secret.encode() in target.read_bytes()]


def test_what_cannot_be_read_or_written_is_said(tmp_path):
    text = tmp_path / "text.sqlite"
    text.write_text(
        "no database, but long enough to have a header of a hundred bytes, which is what SQLite looks at " * 9
    )
    with pytest.raises(InputError, match=r"text\.sqlite cannot be read"):
        redact(text, tmp_path / "copy.sqlite")
    with pytest.raises(OutputError, match="cannot be written"):
        redact(recording().write(tmp_path), tmp_path / "absent" / "copy.sqlite")


# The command


def test_the_copy_stands_beside_the_recording(run, tmp_path):
    source = recording_with_secrets().write(tmp_path, "my.run.sqlite")
    status, out, err = run("redact", source)
    copy = tmp_path / "my.run-redacted.sqlite"
    assert (status, out) == (0, f"{copy}\n")
    assert re.search(r"environment variables +7\n", err)
    assert b"hunter2" not in copy.read_bytes()
    assert run("redact", source)[0] == 3
    assert run("redact", source, "--force")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {source.name, copy.name}


def test_a_recording_is_never_replaced(run, tmp_path):
    export = recording_with_secrets().write(tmp_path, "run.sqlite")
    report, link = tmp_path / "run.nsys-rep", tmp_path / "link.sqlite"
    report.write_bytes(b"a report")
    link.symlink_to(export)
    os.utime(report, ns=(0, 0))  # older than its export, which is used therefore
    for name, copy in ((export, export), (report, export), (report, report), (link, export), (export, link)):
        before = export.read_bytes(), report.read_bytes()
        status, _, err = run("redact", name, "-o", copy, "--force")
        assert status == 3
        assert "Choose another with -o" in err
        assert (export.read_bytes(), report.read_bytes()) == before
        assert link.is_symlink()


def test_a_refused_copy_leaves_the_old_one(run, tmp_path, monkeypatch):
    source, copy = recording_with_secrets().write(tmp_path), tmp_path / "copy.sqlite"
    copy.write_bytes(b"the old one")
    keep_any(monkeypatch, "PROCESSES", "name")
    status, out, err = run("redact", source, "-o", copy, "--force")
    assert (status, out) == (3, "")
    assert err.startswith("tcprof: No copy was written: its PROCESSES.name would hold")
    assert copy.read_bytes() == b"the old one"
    assert {path.name for path in tmp_path.iterdir()} == {source.name, copy.name}


def test_a_real_export_holds_nothing_of_its_machine(corpus_file, tmp_path):
    redaction, target = redact(corpus_file, tmp_path / "copy.sqlite"), tmp_path / "copy.sqlite"
    assert (redaction.removed != {}) == (redaction.searched > 0)
    copy = target.read_bytes()
    with closing(sqlite3.connect(corpus_file)) as connection:
        tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
        private = set()
        for table in tables & {"META_DATA_EXPORT", "EXPORT_META_DATA", "META_DATA_CAPTURE"}:
            keys = "name like '%HOST%' or name like '%\\_PATH%' escape '\\' or name like '%DISPLAY_NAME'"
            private |= {value for (value,) in connection.execute(f"select value from {table} where {keys}")}  # noqa: S608
    assert [text for text in private if len(text) >= 6 and text.encode() in copy] == []


@pytest.mark.nsys
@pytest.mark.skipif(NSYS is None, reason="no nsys: set NSYS=/path/to/nsys, or put it on PATH")
def test_a_real_recording(tmp_path):
    code = "print('hello from the program')"
    record = [str(NSYS), "profile", "--trace=nvtx,osrt", "--sample=none", "--cpuctxsw=none", "-o", str(tmp_path / "x")]
    environment = os.environ | {"SECRET_TOKEN": "hunter2hunter2"}
    program = [sys.executable, "-c", code, "--password=topsecret99"]
    subprocess.run([*record, *program], env=environment, capture_output=True, check=True)
    export = [str(NSYS), "export", "--type=sqlite", "-o", str(tmp_path / "x.sqlite"), str(tmp_path / "x.nsys-rep")]
    subprocess.run(export, capture_output=True, check=True)
    secrets = [b"hunter2hunter2", b"topsecret99", b"hello from the program", str(tmp_path).encode()]
    assert [secret for secret in secrets if secret not in (tmp_path / "x.sqlite").read_bytes()] == []
    redaction = redact(tmp_path / "x.sqlite", tmp_path / "copy.sqlite")
    assert [secret for secret in secrets if secret in (tmp_path / "copy.sqlite").read_bytes()] == []
    assert redaction.removed[Kind.COMMANDS] == 1 + 3
    assert redaction.removed[Kind.ENVIRONMENT] >= len(environment)
    assert redaction.removed[Kind.OUTPUT] == 1


def test_messages_of_nsys_are_shown_without_what_is_private(run, tmp_path, shared_reads):
    """As in a copy: wherever a message is shown, it is of the same text."""
    from tcprof.api.reading import read

    source = recording_with_secrets().write(tmp_path, "source.sqlite")
    with closing(sqlite3.connect(source)) as connection:
        text = "The collector on build-host-7 failed for alice: /home/alice/x.qdstrm, TOKEN=hunter2 (10.1.2.3)"
        connection.execute("insert into DIAGNOSTIC_EVENT (severity, text) values (3, ?)", (text,))
        connection.commit()
    original = read(source)
    redact(source, tmp_path / "copy.sqlite")
    assert original.warnings == read(tmp_path / "copy.sqlite").warnings
    assert any("The collector on <redacted> failed" in warning for warning in original.warnings)
    outputs = {
        "page.html": ["report"],
        "x.json": ["ranges"],
        "x.md": ["show", "--notes"],
        "x.txt": ["timeline"],
        "trace.json": ["export"],
        "frames": ["export"],
    }
    for name, command in outputs.items():
        option = "--chrome-trace" if name == "trace.json" else "-o"
        done = run(*command, source, option, tmp_path / name)
        assert done.status == 0, done.err
        written = (tmp_path / name / "recording.json" if name == "frames" else tmp_path / name).read_text()
        for secret in ("hunter2", "/home/alice", "build-host-7", "10.1.2.3"):
            assert secret not in written + done.out + done.err.replace(str(tmp_path), ""), (name, secret)
        assert "The collector on" in written + done.err


def test_a_saved_analysis_needs_no_redaction(run, tmp_path):
    saved = tmp_path / "run.tcprof"
    run("save", FIXTURES / "mlp_fp32.sqlite", "-o", saved)
    done = run("redact", saved)
    assert (done.status, "needs no redaction" in done.err) == (3, True)
