import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from builders import TraceBuilder

from tcprof.errors import InputError, NsysError, OutputError, TcprofError
from tcprof.frames import UNPROFILED
from tcprof.identity import Identity
from tcprof.nsys import parts, schema
from tcprof.nsys.export import check_export, find_export, read_tables
from tcprof.nsys.locate import Nsys
from tcprof.nsys.own_tables import keep_own_tables
from tcprof.nsys.report import read_report_version
from tcprof.nsys.run import Completed
from tcprof.sources.nsys_sqlite.export import NsysExport, write_identity, write_unprofiled

BEGUN = 1_700_000_000 * 10**9
STEPS = pd.DataFrame({"process": 1, "training": True, "start_ns": [0, 10], "end_ns": [8, 18], "step_count": 1})
STEPS[["start_ns", "end_ns"]] += BEGUN
REPORT = b"NVIDIA Tegra Profiler Report 2026@2@1@7-260000000000v0\n the rest"


@pytest.fixture
def report(tmp_path):
    folder = tmp_path / "recordings"
    folder.mkdir()
    path = folder / "run.nsys-rep"
    path.write_bytes(REPORT.replace(b"2026@2@1@7", b"2025@3@2@474"))
    return path


def no_nsys() -> Nsys:
    raise NsysError("nsys was not found.", hint="Install it.")


def age(path: Path, seconds: int) -> None:
    time = path.stat().st_mtime - seconds
    os.utime(path, (time, time))


def test_exports_beside_the_report_once(report, fake_nsys, export_file):
    export = find_export(report, lambda: fake_nsys)
    assert export == report.with_name("run.sqlite")
    assert export.read_bytes() == export_file.read_bytes()
    assert sorted(path.name for path in report.parent.iterdir()) == ["run.nsys-rep", "run.sqlite"]
    assert find_export(report, no_nsys) == export


@pytest.mark.parametrize("spoil", ["older", "zeros", "short"])
def test_a_bad_export_is_made_again(report, fake_nsys, export_file, spoil):
    export = find_export(report, lambda: fake_nsys)
    whole = export.read_bytes()
    if spoil == "older":
        age(export, 3600)
    else:
        export.write_bytes(bytes(4096) if spoil == "zeros" else whole[:-4096])
    with pytest.raises(InputError, match="nsys was not found"):
        find_export(report, no_nsys)
    assert find_export(report, lambda: fake_nsys).read_bytes() == whole


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """What the fake nsys exports: a recording that says when it began."""
    path = TraceBuilder().gpu().recorded(10**9, started=BEGUN).write(tmp_path, "recorded.sqlite")
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(path))
    return path


def steps_of(export: Path) -> list[int]:
    return NsysExport(export).unprofiled()["start_ns"].tolist()


def test_what_tcprof_adds_to_an_export_is_in_the_next_one(report, fake_nsys, recorded):
    export = find_export(report, lambda: fake_nsys)
    write_unprofiled(export, UNPROFILED.conform(STEPS))
    write_identity(export, Identity(program="train"))
    keep_own_tables(export, report)
    export.unlink()
    assert find_export(report, lambda: fake_nsys) == export
    assert steps_of(export) == [0, 10]
    assert NsysExport(export).recording().identity.program == "train"
    with closing(sqlite3.connect(export)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    names = sorted(path.name for path in report.parent.iterdir())
    assert names == ["run.nsys-rep", "run.run.json", "run.sqlite"]


@pytest.mark.parametrize("later_ns", [1, None])
def test_what_may_be_of_another_recording_is_not(report, fake_nsys, recorded, later_ns):
    export = find_export(report, lambda: fake_nsys)
    write_unprofiled(export, UNPROFILED.conform(STEPS))
    keep_own_tables(export, report)
    export.unlink()
    with closing(sqlite3.connect(recorded)) as connection, connection:
        connection.execute("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + ?", (later_ns,))
    assert steps_of(find_export(report, lambda: fake_nsys)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"TCPROF_ALONE": [["x"]]},
        {"TCPROF_ALONE": 5},
        {"TCPROF_RUN": [["program", "train"]], "TCPROF_ALONE": [[1, 1, 0, {}, 1]]},
        {"TCPROF_ALONE": [[1, 1, 0, 1 << 70, 1]]},
        {"TCPROF_RUN": [["program", "\ud800"]]},
        {"version": 2},
    ],
)
def test_a_damaged_file_adds_nothing(report, fake_nsys, recorded, change):
    known = {"format": "tcprof run", "version": 1, "begun_ns": [BEGUN], "TCPROF_ALONE": [[1, 1, 0, 5, 1]], **change}
    (report.parent / "run.run.json").write_text(json.dumps(known), encoding="utf-8")
    assert steps_of(export := find_export(report, lambda: fake_nsys)) == []
    assert not NsysExport(export).recording().identity.program


@pytest.mark.parametrize(
    ("work", "knows", "kept"),
    [
        ("kernel", ("--tables", "--times"), [4, 5, 6]),
        ("kernel", ("--tables", "--times", "--include-json", "--include-blobs"), [4, 5, 6]),
        ("kernel, step", ("--tables", "--times"), [6, 7, 8]),
        ("range", ("--tables", "--times"), [4, 5, 6, 7, 8, 9]),
        ("", ("--tables", "--times"), list(range(10))),
        ("kernel", (), list(range(10))),
        ("kernel", ("--tables",), list(range(10))),
    ],
)
def test_samples_of_a_long_start_are_left_out(report, monkeypatch, fake_nsys, work, knows, kept):
    builder = TraceBuilder().gpu().samples(range(10), period=10**8)
    if "kernel" in work:
        builder.kernel("gemm", 5 * 10**8, 5 * 10**8 + 100)
    if "step" in work:
        builder.range("step", 7 * 10**8, 7 * 10**8 + 1, domain="tcprof", start_end=True)
    if work == "range":  # that is open as the recording ends
        builder.row(schema.NVTX, start=5 * 10**8, end=None, eventType=schema.NVTX_PUSH_POP, globalTid=1, text="step")
    whole = builder.row(schema.GENERIC_EVENTS, timestamp=5 * 10**8, data="{}").write(report.parent, "all.sqlite")

    def export(argv: list[str]) -> Completed:
        """Export as nsys does, or refuse options that it does not know."""
        options = dict(option.partition("=")[::2] for option in argv[2:-1])
        if options.keys() - {"--type", "--output", *knows}:
            return Completed(1, "", "unrecognised option")
        shutil.copy(whole, options["--output"])
        with closing(sqlite3.connect(options["--output"])) as connection, connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall():
                if not any(re.fullmatch(each, name) for each in options.get("--tables", ".*").split(",")):
                    connection.execute(f"DROP TABLE {name}")
            if "--times" in options:
                begin, end = map(int, options["--times"].split("/"))
                connection.execute("DELETE FROM GPU_METRICS WHERE timestamp NOT BETWEEN ? AND ?", (begin, end))
                connection.execute("ALTER TABLE GPU_METRICS ADD rawTimestamp")
        return Completed(0, "", "")

    monkeypatch.setattr(parts, "run_quietly", export)
    made = find_export(report, lambda: fake_nsys, from_steps="step" in work)
    assert read_tables(whole) - read_tables(made) == ({"GENERIC_EVENTS"} if "--include-json" in knows else set())
    with closing(sqlite3.connect(made)) as connection:
        query = "SELECT DISTINCT timestamp / 100000000 FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId)"
        times = connection.execute(f"{query} ORDER BY 1").fetchall()
        columns = [name for name, *_ in connection.execute("SELECT * FROM GPU_METRICS").description]
    assert [time for (time,) in times] == kept
    assert columns == schema.METRICS.columns.keys()  # without those that nothing reads


def test_unprofiled_steps_without_a_number_are_one_each(tmp_path):
    path = TraceBuilder().gpu().row(schema.UNPROFILED, process=1, training=1, start=0, end=5).write(tmp_path)
    assert NsysExport(path).unprofiled()["step_count"].tolist() == [1]


def test_an_export_is_its_own_export(export_file):
    assert find_export(export_file, no_nsys) == export_file


def test_no_nsys(report):
    with pytest.raises(InputError, match="must be exported") as caught:
        find_export(report, no_nsys)
    assert caught.value.exit_status == 3
    assert "nsys export --type=sqlite run.nsys-rep" in caught.value.hint
    assert "Install it." in caught.value.hint


def test_no_report_but_an_export(report, fake_nsys, export_file):
    export = find_export(report, lambda: fake_nsys)
    report.unlink()
    with pytest.raises(InputError, match="does not exist") as caught:
        find_export(report, no_nsys)
    assert str(export) in caught.value.hint


def test_report_of_a_newer_nsys(report, fake_nsys, monkeypatch):
    report.write_bytes(REPORT)
    monkeypatch.setenv("FAKE_NSYS", "newer")
    with pytest.raises(
        InputError, match=r"newer Nsight Systems \(2026\.2\.1\) than the nsys here \(2025\.3\.2,"
    ) as caught:
        find_export(report, lambda: fake_nsys)
    assert "2026.2.1 or newer" in caught.value.hint


REFUSALS: dict[str, tuple[type[TcprofError], str]] = {
    "protobuf": (InputError, "is damaged, or not an nsys report: .*protobuf"),
    "damaged": (InputError, "is damaged, or not an nsys report: .*magic number mismatch"),
    "locked": (OutputError, "cannot be written beside it: .*database is locked"),
    "strange": (NsysError, "could not export .*the moon"),
    "hollow": (NsysError, "the export is unusable: .*begins with zeros"),
}


@pytest.mark.parametrize("mode", REFUSALS)
def test_refusals_leave_nothing(report, fake_nsys, mode, monkeypatch):
    kind, message = REFUSALS[mode]
    monkeypatch.setenv("FAKE_NSYS", mode)
    with pytest.raises(kind, match=message):
        find_export(report, lambda: fake_nsys)
    assert [path.name for path in report.parent.iterdir()] == ["run.nsys-rep"]


@pytest.mark.parametrize("foreign", ["database", "text"])
def test_what_another_program_wrote_is_not_replaced_by_an_export(report, fake_nsys, write_sqlite, foreign):
    there = report.with_suffix(".sqlite")
    if foreign == "database":
        write_sqlite(there, "results")
    else:
        there.write_text("mine")
    before = there.read_bytes()
    with pytest.raises(OutputError, match="is not an nsys export") as caught:
        find_export(report, lambda: fake_nsys)
    assert "Rename it" in caught.value.hint
    assert there.read_bytes() == before


def test_read_report_version(report, export_file):
    assert read_report_version(report) == (2025, 3, 2, 474)
    assert read_report_version(export_file) == ()


def spoiled(content: bytes):
    def write(path: Path, whole: bytes) -> Path:
        path.write_bytes(content)
        return path

    return write


BAD_EXPORTS = {
    "does not exist": lambda path, whole: path,
    "is a folder": lambda path, whole: (path.mkdir(), path)[1],
    "is empty": spoiled(b""),
    "interrupted: it begins with zeros": spoiled(bytes(8192)),
    "an nsys report, not its SQLite export": spoiled(REPORT),
    "is not an SQLite file": spoiled(b"hello, world\n" * 100),
    "is cut off": lambda path, whole: spoiled(whole[:-100])(path, whole),
    "cut off": lambda path, whole: spoiled(whole[:50])(path, whole),
    "is damaged": lambda path, whole: spoiled(whole[:100] + b"\xff" * (len(whole) - 100))(path, whole),
}


@pytest.mark.parametrize("message", BAD_EXPORTS)
def test_what_is_no_export(message, tmp_path, export_file):
    path = BAD_EXPORTS[message](tmp_path / "bad.sqlite", export_file.read_bytes())
    with pytest.raises(InputError, match=message) as caught:
        check_export(path)
    assert caught.value.hint
    assert str(path) in str(caught.value)


def test_checking_changes_nothing(export_file):
    with closing(sqlite3.connect(export_file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    before = export_file.read_bytes(), export_file.stat().st_mtime_ns
    check_export(export_file)
    assert (export_file.read_bytes(), export_file.stat().st_mtime_ns) == before
    assert [path.name for path in export_file.parent.glob("whole*")] == ["whole.sqlite"]
