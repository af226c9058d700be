"""Ranks of one host record at once: each nsys that asks or begins holds GPUs of the others for a moment."""

import fcntl
import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tcprof.nsys.capabilities import GpuSupport
from tcprof.nsys.run import Completed
from tcprof.record import turns
from tcprof.record.command import RecordOptions
from tcprof.record.diagnosis import _leave_out_held
from tcprof.record.plan import plan_recording
from tcprof.record.recording import Session


def test_a_gpu_that_another_rank_asks_about_is_asked_about_again(machine, general_set, tmp_path, monkeypatch):
    mark = tmp_path / "held"
    mark.touch()
    monkeypatch.setenv("FAKE_NSYS_HELD", str(mark))
    with plan_recording(("true",), RecordOptions()) as plan:
        assert [gpu.number for gpu in plan.gpus] == [0]
    assert not mark.exists()


def test_ranks_of_a_host_plan_one_after_the_other(machine, general_set, tmp_path, monkeypatch):
    monkeypatch.setattr(turns.tempfile, "gettempdir", lambda: str(tmp_path))
    lock = os.open(tmp_path / f"tcprof-{platform.node()}-{os.getuid()}.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    planned = threading.Event()

    def plan() -> None:
        with plan_recording(("true",), RecordOptions()):
            planned.set()

    thread = threading.Thread(target=plan)
    thread.start()
    assert not planned.wait(0.5)
    os.close(lock)
    thread.join(60)
    assert planned.is_set()


HELD = GpuSupport(None, "GH100", "NVIDIA H100", supported=False, reason="Already under profiling")


@pytest.mark.parametrize(("gpus", "is_held"), [("all", True), ("0", False), ("1", True), ("0,1", True)])
def test_the_gpu_of_another_rank_may_be_held(gpus, is_held, h200):
    assert (HELD in _leave_out_held((*h200.gpus, HELD), gpus)) == is_held


def test_the_number_of_a_gpu_does_not_depend_on_who_records(machine, general_set, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "second of two")  # nsys lists it as 0, and takes 1 for it
    with plan_recording(("true",), RecordOptions(gpus="1")) as plan:
        assert [gpu.number for gpu in plan.gpus] == [1]


@pytest.fixture
def lock(tmp_path, monkeypatch):
    """The file that a rank locks while it has its turn."""
    monkeypatch.setattr(turns.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path / f"tcprof-{platform.node()}-{os.getuid()}.lock"


def can_lock(path: Path) -> bool:
    lock = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def test_a_turn_lasts_until_the_program_has_begun(machine, general_set, lock, monkeypatch):
    free = []
    run_shown = turns.run_shown

    def watch(argv, *, when_begun, watch):
        free.append(can_lock(lock))
        return run_shown(argv, when_begun=lambda: (when_begun(), free.append(can_lock(lock))), watch=watch)

    monkeypatch.setattr(turns, "run_shown", watch)
    session = Session(["sh", "-c", "until [ -e go ]; do sleep 0.05; done"])
    with plan_recording(session.program, RecordOptions()) as plan:
        monkeypatch.setattr(psutil, "PROCFS_PATH", "/proc")  # of this machine, on which the program runs
        thread = threading.Thread(target=lambda: session.record(plan, session.reports[0]))
        thread.start()
        until = time.monotonic() + 20
        while len(free) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        (machine / "go").touch()
        thread.join(60)
    assert free == [False, True]


def test_a_gpu_that_was_held_when_nsys_began_is_tried_again(machine, general_set, lock, tmp_path, monkeypatch):
    mark = tmp_path / "held"
    mark.touch()
    monkeypatch.setenv("FAKE_NSYS_HELD_AT_START", str(mark))
    session = Session(["train.py"])
    with plan_recording(session.program, RecordOptions()) as plan:
        assert session.record(plan, session.reports[0]).reports[0].is_file()
    assert not mark.exists()


REFUSED = Completed(1, "", "Illegal --gpu-metrics-devices argument: 0.\nAlready under profiling\n")
RECORDED = Completed(0, "Generated:", "")
SAMPLING = ("nsys", "profile", "--gpu-metrics-devices=0", "train.py")


@pytest.fixture
def attempts(monkeypatch):
    """What nsys says, one attempt after the other; those that were made are taken out."""
    left = [REFUSED, RECORDED]
    monkeypatch.setattr(turns, "run_shown", lambda _argv, **_: left.pop(0))
    monkeypatch.setattr(turns.time, "sleep", lambda _s: None)
    return left


def test_waiting_for_the_turn_leaves_time_to_try_again(attempts, monkeypatch):
    now = [0.0]

    @contextmanager
    def wait_long() -> Iterator[None]:
        now[0] += 100
        yield

    monkeypatch.setattr(turns, "one_at_a_time", wait_long)
    monkeypatch.setattr(turns.time, "monotonic", lambda: now[0])
    assert turns.run_in_turn(SAMPLING) is RECORDED


def test_a_recording_that_was_stopped_is_not_tried_again(attempts, lock):
    attempts[0] = stopped = replace(REFUSED, was_stopped=True)
    assert turns.run_in_turn(SAMPLING) is stopped
    assert attempts == [RECORDED]
