import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from tcprof.errors import NsysError, OutputError, StoppedError
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import PROBLEMS, explain
from tcprof.record.command import RecordOptions, build_profile_command
from tcprof.record.recording import RecordedRun, record

SHOUT = [sys.executable, "-c", "import sys; print('to out'); print('to err', file=sys.stderr); sys.exit(3)"]


@pytest.fixture
def run(fake_nsys, h200, tmp_path):
    def run(program: list[str] = SHOUT, name: str = "run.nsys-rep", **options: object) -> RecordedRun:
        report = ReportFiles.named(tmp_path / name)
        command = build_profile_command(fake_nsys, h200, RecordOptions(**options), program, report)
        return record(fake_nsys, command, report)

    return run


def test_report_and_status_of_the_program(run, tmp_path, capfd):
    assert run() == RecordedRun((tmp_path / "run.nsys-rep",), 3)
    out, err = capfd.readouterr()
    assert out.startswith("to out\n")
    assert "Generated:" in out
    assert err == "to err\n"


@pytest.mark.parametrize("name", ["run", "run.v1", "50%", "a b.nsys-rep"])
def test_names(run, tmp_path, name):
    assert run(name=name).reports[0] == tmp_path / f"{name.removesuffix('.nsys-rep')}.nsys-rep"


def test_a_report_from_before_is_not_taken_for_the_new_one(run, tmp_path, monkeypatch):
    (tmp_path / "run.nsys-rep").write_text("of yesterday")
    monkeypatch.setenv("FAKE_NSYS", "privilege")
    with pytest.raises(NsysError):
        run()


def test_importer_that_cannot_load(run, tmp_path, install_importer, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "qdstrm")
    monkeypatch.setenv("FAKE_IMPORTER_LACKS", "libdw.so.1")
    install_importer(tmp_path / "host" / "QdstrmImporter")
    with pytest.raises(NsysError, match=r"wrote no report \(An unknown error occurred\.\)\. .*run\.qdstrm") as caught:
        run()
    assert "apt-get install libdw1" in str(caught.value)
    assert "QdstrmImporter -i 'run.qdstrm'" in caught.value.hint
    assert (tmp_path / "run.qdstrm").exists()


def test_a_raw_recording_is_imported_where_that_is_possible(run, tmp_path, install_importer, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "qdstrm")
    install_importer(tmp_path / "host" / "QdstrmImporter")
    assert run() == RecordedRun((tmp_path / "run.nsys-rep",), 3)


def test_capture_range_that_never_began(run, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "no_range")
    with pytest.raises(NsysError, match="the capture range never began") as caught:
        run(capture_range="cudaProfilerApi")
    assert "cudaProfilerStart" in caught.value.hint
    with pytest.raises(NsysError, match="exit status 3"):
        run()


REFUSALS = {  # what the fake nsys says: (part of the message, part of the hint)
    "privilege": ("may not read the GPU's performance counters", "NVreg_RestrictProfilingToAdminUsers=0"),
    "busy": ("another tool holds", "dcgmi profile --pause"),
    "mig": ("MIG instances", "--gpu-metrics-devices=help"),
    "vgpu": ("virtual GPU", "administrator"),
    "confidential": ("Confidential Compute", "turn it off"),
    "unsupported": ("cannot sample any of the GPUs here", "newer nsys"),
    "no_gpu": ("finds no GPU with that number", "Record all GPUs"),
    "spelling": ("does not know one of the options", "nsys profile --help"),
    "twice": ("does not know one of the options", "nsys profile --help"),
    "no_program": ("was not found", "Check its path"),
}


@pytest.mark.parametrize("mode", REFUSALS)
def test_refusals_are_explained(run, mode, monkeypatch):
    message, hint = REFUSALS[mode]
    monkeypatch.setenv("FAKE_NSYS", mode)
    with pytest.raises(NsysError, match=message) as caught:
        run()
    assert hint in caught.value.hint
    assert "usage:" not in str(caught.value)


def test_refusal_that_nobody_knows(run, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "strange")
    with pytest.raises(NsysError, match=r"exit status 1\. It said: the moon is in the wrong quarter"):
        run()


def test_messages_that_come_inside_reports():
    assert "lower frequency" in explain("... Sampling buffer overflow ...").remedy
    assert "local disk" in explain("Exportation error: database is locked").remedy
    assert explain("all is well") is None
    assert len({row.pattern for row in PROBLEMS}) == len(PROBLEMS)


def test_ctrl_c_keeps_the_report(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "patient")
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    assert run() == RecordedRun((tmp_path / "run.nsys-rep",), 130, was_stopped=True)
    timer.join()


def test_a_recording_that_was_given_up_leaves_nothing(run, tmp_path, monkeypatch):
    def give_up(argv: list[str], **_: object) -> None:
        (tmp_path / "run.nsys-rep").write_bytes(b"")  # as nsys leaves it
        raise StoppedError("given up")

    monkeypatch.setattr("tcprof.record.turns.run_shown", give_up)
    with pytest.raises(StoppedError):
        run()
    assert not (tmp_path / "run.nsys-rep").exists()


def test_what_cannot_be_written_is_found_before(tmp_path):
    def check_output(path: Path, force: bool) -> None:
        ReportFiles.named(path).check(force)

    check_output(tmp_path / "x.nsys-rep", force=False)
    (tmp_path / "x.nsys-rep").touch()
    (tmp_path / "folder.nsys-rep").mkdir()
    check_output(tmp_path / "x.nsys-rep", force=True)
    for name in ("x", "x.nsys-rep"):
        with pytest.raises(OutputError, match="already exists") as caught:
            check_output(tmp_path / name, force=False)
        assert "--force" in caught.value.hint
    with pytest.raises(OutputError, match="is a folder"):
        check_output(tmp_path / "folder", force=True)
    with pytest.raises(OutputError, match="does not exist") as caught:
        check_output(tmp_path / "none" / "x", force=True)
    assert "mkdir" in caught.value.hint
