"""Recordings and exports with a real nsys, named by NSYS=/path/to/nsys or on PATH; no GPU needed."""

import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tcprof.errors import InputError, NsysError
from tcprof.nsys import process
from tcprof.nsys.capabilities import Capabilities, read_capabilities
from tcprof.nsys.command import RecordOptions, build_profile_command, resolve_program
from tcprof.nsys.export import find_export, read_report_version
from tcprof.nsys.locate import Nsys, find_nsys
from tcprof.nsys.record import Recording, record

REAL = os.environ.get("NSYS") or shutil.which("nsys")
pytestmark = [
    pytest.mark.nsys,
    pytest.mark.skipif(REAL is None, reason="no nsys: set NSYS=/path/to/nsys, or put it on PATH"),
]
SCRIPT = """
import sys, time
import nvtx
with nvtx.annotate("step", domain="tcprof-test"):
    time.sleep(float(sys.argv[1]))
print("the program has ended")
sys.exit(5)
"""


@pytest.fixture(scope="module")
def nsys() -> Nsys:
    return find_nsys(Path(REAL))


@pytest.fixture
def run(nsys: Nsys, tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def run(seconds: float = 0.01, **options: object) -> Recording:
        chosen = RecordOptions(output=tmp_path / "a 50% run.nsys-rep", trace="nvtx", gpus="none", **options)
        program = resolve_program([str(script), str(seconds)])
        command = build_profile_command(nsys, Capabilities("", False, ()), chosen, program)
        return record(nsys, command, chosen.output)

    return run


def test_record_and_export(nsys: Nsys, run, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    recording = run()
    assert recording == Recording(tmp_path / "a 50% run.nsys-rep", 5)
    assert "the program has ended" in capfd.readouterr().out
    assert read_report_version(recording.report) == nsys.version
    export = find_export(recording.report, lambda: nsys)
    with closing(sqlite3.connect(export)) as connection:
        domains = connection.execute("SELECT text FROM NVTX_EVENTS WHERE eventType = 75").fetchall()
    assert ("tcprof-test",) in domains
    assert find_export(recording.report, lambda: pytest.fail("exported twice")) == export


def test_ctrl_c_keeps_the_report(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(process, "_in_foreground", lambda: False)
    timer = threading.Timer(3.0, os.kill, (os.getpid(), 2))
    timer.start()
    recording = run(seconds=60)
    timer.join()
    assert recording.report == tmp_path / "a 50% run.nsys-rep"
    assert recording.program_status != 5


def test_capture_range_that_never_begins(run):
    with pytest.raises(NsysError, match="the capture range never began"):
        run(capture_range="nvtx:no such range")


def test_options_that_nsys_does_not_know(run):
    with pytest.raises(NsysError, match="does not understand an option"):
        run(extra_args=("--no-such-option=1",))


def test_the_users_own_options_win(run, tmp_path: Path):
    recording = run(extra_args=("--trace=none", "-s", "none", f"--output={tmp_path}/mine"))
    assert recording.report == tmp_path / "mine.nsys-rep"


def test_program_that_is_not_there(nsys: Nsys, tmp_path: Path):
    options = RecordOptions(output=tmp_path / "x", trace="nvtx")
    command = build_profile_command(nsys, Capabilities("", False, ()), options, [str(tmp_path / "none")])
    with pytest.raises(NsysError, match="the program to be recorded was not found"):
        record(nsys, command, options.output)


def test_damaged_report(nsys: Nsys, run):
    report = run().report
    report.write_bytes(report.read_bytes()[:100_000])
    with pytest.raises(InputError, match="is damaged, or no report of nsys"):
        find_export(report, lambda: nsys)


def test_capabilities(nsys: Nsys):
    capabilities = read_capabilities(nsys)
    assert capabilities.gpu_metrics_option.startswith("--gpu-metrics-device")
