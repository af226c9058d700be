"""A server that is recorded several times in one life: a report, a page and a saved analysis of each capture."""

import ctypes.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from builders import TraceBuilder

import tcprof
from tcprof.errors import UsageError

REAL = os.environ.get("NSYS") or shutil.which("nsys")
CAPTURES = ("--capture-range", "cudaProfilerApi", "--capture-range-end", "repeat:3")


@pytest.fixture
def machine(machine, monkeypatch):
    """The folder, with a server in it that makes three captures."""
    monkeypatch.setenv("FAKE_NSYS", "captures 3")
    (machine / "serve.py").write_text("print('served')\n")
    return machine


def test_each_capture_is_a_recording_of_its_own(run, machine, capfd):
    assert run("profile", *CAPTURES, "serve.py") == 0
    shown = capfd.readouterr()
    names = [f"serve.{number}.{suffix}" for number in (1, 2, 3) for suffix in ("nsys-rep", "html", "tcprof")]
    assert shown.out.splitlines()[-9:] == names
    assert shown.out.count("Step time ") == 3
    assert "capture 2 of 3: serve.2.nsys-rep" in shown.err
    identities = [tcprof.read(f"serve.{number}.tcprof").recording.identity for number in (1, 2, 3)]
    assert identities[0] == identities[1] == identities[2]
    assert identities[0].run


def test_a_single_capture_has_no_number(run, machine, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_NSYS", "captures 1")
    assert run("profile", *CAPTURES, "serve.py") == 0
    shown = capfd.readouterr()
    assert shown.out.splitlines()[-3:] == ["serve.nsys-rep", "serve.html", "serve.tcprof"]
    assert any(line.split()[:1] == ["backward"] for line in shown.out.splitlines())  # ranges, as of any recording


@pytest.mark.parametrize("there", ["serve.2.nsys-rep", "serve.7.tcprof", "serve.1.html", "serve.3.sqlite"])
def test_captures_of_before_are_replaced_only_if_forced(run, machine, there, capfd):
    (machine / there).write_text("mine")
    assert run("profile", *CAPTURES, "serve.py") == 3
    shown = capfd.readouterr()
    assert f"{there} already exists" in shown.err
    assert "served" not in shown.out
    assert (machine / there).read_text() == "mine"


def test_a_capture_without_work_says_what_to_do(run, machine, monkeypatch, tmp_path, capfd):
    empty = TraceBuilder().gpu().range("waiting", 0, 1_000).write(tmp_path)
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(empty))
    assert run("profile", "--gpus", "none", *CAPTURES, "serve.py") == 0
    said = " ".join(capfd.readouterr().err.split())
    assert said.count("holds no GPU work: the program ran none during the capture range") == 3


def test_a_server_that_never_begins_one(run, machine, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_NSYS", "no_range")
    (machine / "serve.py").write_text("raise SystemExit(5)\n")
    assert run("profile", *CAPTURES, "serve.py") == 4
    said = capfd.readouterr().err
    assert "the capture range never began; the program ended with exit status 5." in said
    assert "as a server does on request (docs/servers.md)" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--capture-range", "cudaProfilerApi", "--capture-range-end", "repeat:0"), "cannot follow"),
        (("--capture-range-end", "repeat:2"), "--capture-range-end needs a capture range"),
    ],
)
def test_options_that_make_no_sense(run, machine, options, said, capfd):
    assert run("profile", *options, "serve.py") == 2
    shown = capfd.readouterr()
    assert said in shown.err
    assert "served" not in shown.out


def test_python_records_one(machine):
    with pytest.raises(UsageError, match="makes one recording"):
        tcprof.profile(["serve.py"], "a", capture_range="cudaProfilerApi", capture_range_end="repeat")


SERVER = """
import ctypes, pathlib, sys, time
nvtx = ctypes.CDLL(sys.argv[1])
def capture(seconds):
    nvtx.nvtxRangePushA(b"capture")
    nvtx.nvtxRangePushA(b"batch")
    time.sleep(seconds)
    nvtx.nvtxRangePop()
    nvtx.nvtxRangePop()
try:
    for number in range(2):
        capture(0.2)
        time.sleep(0.3)
    nvtx.nvtxRangePushA(b"capture")  # and is ended within it
    time.sleep(0.3)
    pathlib.Path("up").touch()
    time.sleep(60)
except KeyboardInterrupt:
    print("served")
"""


def find_nvtx() -> str | None:
    """NVTX's own library, which comes with nsys where fetch.sh has fetched it."""
    beside = sorted(Path(REAL).parents[2].glob("usr/lib/*/libnvToolsExt.so.1")) if REAL else []
    return str(beside[0]) if beside else ctypes.util.find_library("nvToolsExt")


@pytest.mark.nsys
@pytest.mark.skipif(REAL is None, reason="no nsys: set NSYS=/path/to/nsys, or put it on PATH")
@pytest.mark.skipif(find_nvtx() is None, reason="no libnvToolsExt, with which the server opens ranges")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_real_nsys_keeps_all_captures_whatever_ends_the_server(tmp_path, number):
    (tmp_path / "serve.py").write_text(SERVER)
    captures = ("--capture-range", "nvtx:capture", "--capture-range-end", "repeat:5")
    options = ("--nsys", REAL, "--gpus", "none", "--trace=nvtx", "--annotate", "off", *captures)
    command = [sys.executable, "-m", "tcprof", "profile", *options, "serve.py", find_nvtx()]
    said = tmp_path / "said"
    with (
        said.open("w") as file,
        subprocess.Popen(command, cwd=tmp_path, stdout=file, stderr=file, start_new_session=True) as server,
    ):
        until = time.monotonic() + 60
        while not (tmp_path / "up").exists() and time.monotonic() < until:
            time.sleep(0.05)
        server.send_signal(number)
        status = server.wait(timeout=120)
    assert status == (0 if number == signal.SIGINT else 128 + number), said.read_text()
    assert ("served" in said.read_text()) == (number == signal.SIGINT)
    for capture in (1, 2, 3):
        ranges = tcprof.read(tmp_path / f"serve.{capture}.tcprof").nvtx_ranges
        assert ("batch" in set(ranges["name"])) == (capture < 3)
