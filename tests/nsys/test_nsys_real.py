"""Recordings and exports with a real nsys, named by NSYS=/path/to/nsys or on PATH; no GPU needed."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

import tcprof
from tcprof.errors import StoppedError
from tcprof.nsys.capabilities import Capabilities, read_capabilities
from tcprof.nsys.export import find_export
from tcprof.nsys.folders import FOLDER_SUFFIXES
from tcprof.nsys.locate import find_nsys
from tcprof.nsys.report import ReportFiles, read_report_version
from tcprof.record.command import RecordOptions, build_profile_command
from tcprof.record.recording import RecordedRun, record
from tcprof.record.run_shown import run_shown

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECIPES = Path(tcprof.__file__).parent / "integrations" / "nsys_recipes"
REAL = os.environ.get("NSYS") or shutil.which("nsys")
pytestmark = [
    pytest.mark.nsys,
    pytest.mark.skipif(REAL is None, reason="no nsys: set NSYS=/path/to/nsys, or put it on PATH"),
]
SCRIPT = """
import sys, time
import nvtx
with nvtx.annotate("step", domain="tcprof-test"):
    time.sleep(0.01)
print("the program has ended")
sys.exit(5)
"""
PATIENT = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).touch()
time.sleep(60)
print("the program has ended")
"""
DEAF = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) == 2:
    subprocess.Popen([sys.executable, __file__, sys.argv[1], "child"])
    if os.fork() == 0:
        subprocess.Popen([sys.executable, __file__, sys.argv[1], "orphan"])
        os._exit(0)
    os.wait()
    pathlib.Path(sys.argv[1]).touch()
time.sleep(60)
"""
COOKIE = "TCPROF_TEST_COOKIE"


@pytest.fixture(scope="module")
def nsys():
    return find_nsys(Path(REAL))


@pytest.fixture
def build(nsys, tmp_path):
    """The command that records a Python program; the program gets the path of a file to make once it runs."""

    def build(code: str, **options: object) -> list[str]:
        script = tmp_path / "script.py"
        script.write_text(code)
        chosen = RecordOptions(trace="nvtx", gpus="none", **options)
        program = [sys.executable, str(script), str(tmp_path / "up")]
        return build_profile_command(
            nsys, Capabilities("", False, ()), chosen, program, ReportFiles(tmp_path / "a 50% run")
        )

    return build


@pytest.fixture
def run(nsys, build, tmp_path):
    def run(code: str = SCRIPT, **options: object) -> RecordedRun:
        return record(nsys, build(code, **options), ReportFiles(tmp_path / "a 50% run"))

    return run


@pytest.fixture
def left_over(monkeypatch):
    """Lists the processes of a recording that still live, known by their environment; ends them after the test."""
    cookie = uuid.uuid4().hex
    monkeypatch.setenv(COOKIE, cookie)

    def list_left_over() -> dict[int, str]:
        found = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                try:
                    if f"{COOKIE}={cookie}".encode() in (folder / "environ").read_bytes():
                        found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
                except OSError:
                    continue
        return found

    yield list_left_over
    for pid in list_left_over():
        os.kill(pid, signal.SIGKILL)


def send(*signals: tuple[Callable[[], object], signal.Signals]) -> None:
    """Sends signals to the test's own process, each once something has come true."""

    def wait_and_send() -> None:
        for is_time, number in signals:
            until = time.monotonic() + 30
            while not is_time() and time.monotonic() < until:
                time.sleep(0.05)
            signal.raise_signal(number)

    threading.Thread(target=wait_and_send, daemon=True).start()


def after(seconds: float) -> Callable[[], object]:
    return lambda: time.sleep(seconds) or True


def test_record_and_export(nsys, run, tmp_path, capfd):
    recording = run()
    assert recording == RecordedRun((tmp_path / "a 50% run.nsys-rep",), 5)
    assert "the program has ended" in capfd.readouterr().out
    assert read_report_version(recording.reports[0]) in (
        nsys.version,
        (),
    )  # Nsight Compute's copy writes a build number
    export = find_export(recording.reports[0], lambda: nsys)
    with closing(sqlite3.connect(export)) as connection:
        domains = connection.execute("SELECT text FROM NVTX_EVENTS WHERE eventType = 75").fetchall()
    assert ("tcprof-test",) in domains
    assert find_export(recording.reports[0], lambda: pytest.fail("exported twice")) == export
    for kind, suffix in zip(("parquetdir", "arrowdir"), FOLDER_SUFFIXES, strict=True):
        folder = tmp_path / f"run{suffix}"
        subprocess.run(
            [nsys.path, "export", "-q", "true", f"--type={kind}", "-o", folder, recording.reports[0]], check=True
        )
        assert read_nvtx(find_export(folder, lambda: nsys)) == read_nvtx(export)


def read_nvtx(export: Path) -> list[tuple[object, ...]]:
    columns = "start, end, eventType, text, globalTid, domainId, textId"
    with closing(sqlite3.connect(export)) as connection:
        return connection.execute(f"SELECT {columns} FROM NVTX_EVENTS ORDER BY start").fetchall()  # noqa: S608


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_keeps_the_report(build, left_over, tmp_path, number, capfd):
    send(((tmp_path / "up").exists, number))
    done = run_shown(build(PATIENT))
    assert done.was_stopped
    assert done.status == (130 if number == signal.SIGINT else 143)
    assert (tmp_path / "a 50% run.nsys-rep").is_file()
    assert "the program has ended" not in capfd.readouterr().out
    assert left_over() == {}


def test_ctrl_c_twice_leaves_no_process_and_no_report(build, left_over, tmp_path):
    seen = []
    up = tmp_path / "up"
    send((lambda: up.exists() and (seen.append(left_over()) or True), signal.SIGINT), (after(0.3), signal.SIGINT))
    with pytest.raises(StoppedError, match="discarded; there is no report"):
        run_shown(build(DEAF))
    assert sum("script.py" in command and "profile" not in command for command in seen[0].values()) == 3
    assert sum("--start-agent" in command for command in seen[0].values()) == 1
    assert left_over() == {}
    assert not (tmp_path / "a 50% run.nsys-rep").exists()


@pytest.mark.parametrize(
    ("code", "status"),
    [
        pytest.param("import sys; sys.exit(3)", 3, id="exits"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, id="crashes"),
    ],
)
def test_a_program_that_fails_still_gives_a_report(run, tmp_path, code, status):
    assert run(code) == RecordedRun((tmp_path / "a 50% run.nsys-rep",), status)
    assert (tmp_path / "a 50% run.nsys-rep").is_file()


def test_nsys_ends_the_program_when_the_duration_is_over(build, left_over, tmp_path, capfd):
    done = run_shown(build(PATIENT, delay_s=0.5, duration_s=1.0))
    assert (done.status, done.was_stopped) == (143, False)
    assert (tmp_path / "a 50% run.nsys-rep").is_file()
    assert "the program has ended" not in capfd.readouterr().out
    until = time.monotonic() + 10  # nobody asked for it, so that nsys alone ends its agent, at times after itself
    while left_over() and time.monotonic() < until:
        time.sleep(0.05)
    assert left_over() == {}


def test_capabilities(nsys):
    capabilities = read_capabilities(nsys)
    assert capabilities.gpu_metrics_option.startswith("--gpu-metrics-device")


def test_the_recipe_writes_the_ranges_of_each_report(tmp_path):
    folders = [*Path(REAL).parents[1].rglob("nsys_recipe/third_party")]
    if not folders:
        pytest.skip("this nsys has no recipes that can be run")
    for name in ("one", "two"):
        (tmp_path / f"{name}.nsys-rep").write_bytes(b"stands in for the report of the export beside it")
        shutil.copyfile(FIXTURES / "mlp_fp16.sqlite", tmp_path / f"{name}.sqlite")
    paths = {"PYTHONPATH": str(folders[0].parents[1]), "NSYS_RECIPE_PATH": str(RECIPES)}
    recipe = [sys.executable, "-m", "nsys_recipe", "tensor_active", "--input", str(tmp_path), "--output", "out"]
    subprocess.run(recipe, cwd=tmp_path, env=os.environ | paths, check=True)
    ranges = pd.read_parquet(tmp_path / "out" / "ranges.parquet")
    assert sorted(set(ranges["file"])) == ["one.nsys-rep", "two.nsys-rep"]
    assert len(ranges) == 2 * len(tcprof.read(FIXTURES / "mlp_fp16.sqlite").ranges)
