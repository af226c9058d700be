"""The end of a recording by signals, with processes that are related as those of nsys are."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tcprof.errors import StoppedError
from tcprof.nsys.run import Completed
from tcprof.record import run_shown as process
from tcprof.record import stopping
from tcprof.record.process_tree import ProcessTree
from tcprof.record.run_shown import run_shown
from tcprof.record.stopping import StatusLine, Stopping, caught_signals

STAND_IN = Path(__file__).with_name("stand_in.py")
ROLES = ("nsys", "launcher", "program", "child", "orphan", "agent")


@pytest.fixture
def stand_in(tmp_path):
    """The command of the stand-in; what is left of it ends with the test."""
    yield [sys.executable, str(STAND_IN), "nsys", str(tmp_path)]
    for pid in living(tmp_path):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def short_grace(monkeypatch):
    monkeypatch.setattr(stopping, "_GRACE_S", 0.3)


def read_pid(folder: Path, role: str) -> int | None:
    path = folder / f"pid-{role}"
    text = path.read_text() if path.exists() else ""
    return int(text) if text else None


def living(folder: Path) -> list[int]:
    """Those of the stand-in's processes that still live; a zombie does not."""
    pids = [pid for role in ROLES if (pid := read_pid(folder, role))]
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def all_up(folder: Path) -> Callable[[], bool]:
    return lambda: all(read_pid(folder, role) for role in ROLES)


def send(*signals: tuple[Callable[[], bool], signal.Signals]) -> threading.Thread:
    """Sends signals to the test's own process, each once something has come true."""

    def run() -> None:
        for is_time, number in signals:
            until = time.monotonic() + 15
            while not is_time() and time.monotonic() < until:
                time.sleep(0.02)
            signal.raise_signal(number)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def after(seconds: float) -> Callable[[], bool]:
    return lambda: time.sleep(seconds) or True


def heard(folder: Path) -> list[str]:
    return sorted(name for name in ("SIGINT", "SIGTERM") for _ in counts(folder / name))


def counts(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_ctrl_c_twice_leaves_nobody(stand_in, tmp_path, capfd):
    handlers = [signal.getsignal(number) for number in stopping._CAUGHT]
    send((all_up(tmp_path), signal.SIGINT), (after(0.4), signal.SIGINT))
    began = time.monotonic()
    with pytest.raises(StoppedError, match=r"discarded; there is no report") as caught:
        run_shown(stand_in)
    assert 2.0 < time.monotonic() - began < 12.0
    assert (living(tmp_path), caught.value.hint) == ([], "")
    assert heard(tmp_path) == ["SIGINT", "SIGINT"]
    err = capfd.readouterr().err
    assert err.splitlines() == [
        "Stopping; nsys is writing the report. A second Ctrl-C discards it.",
        "Giving up; processes that do not end soon will be killed.",
    ]
    assert [signal.getsignal(number) for number in stopping._CAUGHT] == handlers


def test_quit_kills_at_once(stand_in, tmp_path):
    send((all_up(tmp_path), signal.SIGQUIT))
    with pytest.raises(StoppedError):
        run_shown(stand_in)
    assert (living(tmp_path), heard(tmp_path)) == ([], [])


def test_a_report_that_is_there_is_kept_when_the_program_is_killed(stand_in, tmp_path, capfd):
    send((all_up(tmp_path), signal.SIGINT), (after(0.6), signal.SIGINT))
    assert run_shown([*stand_in, "quick"]) == Completed(0, "Generated:\n", "", was_stopped=True)
    assert living(tmp_path) == []
    assert capfd.readouterr().err.splitlines()[-1] == "Killing what nsys left behind."


def test_what_outlives_one_ctrl_c_is_named_and_lives(stand_in, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(process, "_DRAIN_S", 0.5)
    send((all_up(tmp_path), signal.SIGINT))
    assert run_shown([*stand_in, "quick"]).status == 0
    left = living(tmp_path)
    assert len(left) == len(ROLES) - 1
    said = capfd.readouterr().err.splitlines()[-1]
    command, _, pids = said.rpartition(" -KILL ")
    assert command == "nsys has ended. Some processes that it started have not ended. To kill them: kill"
    assert sorted(map(int, pids.split())) == sorted(left)


@pytest.mark.usefixtures("short_grace")
def test_schedulers_signals_come_but_once(stand_in, tmp_path, capfd):
    # timeout(1) and Slurm signal more than once; nsys would give up
    send((all_up(tmp_path), signal.SIGTERM), (after(0.2), signal.SIGTERM), (after(0.3), signal.SIGINT))
    with pytest.raises(StoppedError):
        run_shown(stand_in)
    assert heard(tmp_path) == ["SIGINT", "SIGTERM"]
    assert "Stopping because of SIGTERM;" in capfd.readouterr().err


def test_two_signals_within_a_moment_are_one_request(capfd, monkeypatch):
    with subprocess.Popen(["sleep", "20"]) as child:
        line = StatusLine(sys.stderr)
        found = Stopping(ProcessTree(child.pid, ["sleep"]), line, has_own_group=True)
        monkeypatch.setattr(stopping, "_SAME_S", 300.0)  # however busy the machine is
        found.attend(signal.SIGINT, nsys_lives=True)
        found.attend(signal.SIGINT, nsys_lives=True)
        assert (found.is_asked, found.is_given_up) == (True, False)
        monkeypatch.setattr(stopping, "_SAME_S", 0.0)
        time.sleep(0.001)
        found.attend(signal.SIGINT, nsys_lives=True)
        assert found.is_given_up
        child.kill()


def test_nohup_is_respected():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with caught_signals() as received:
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert list(received) == [signal.SIGTERM]


def test_signals_to_the_group_of_tcprof_do_not_reach_the_program(stand_in, tmp_path):
    script = f"from tcprof.record.run_shown import run_shown; run_shown({stand_in!r})"
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True, stderr=subprocess.DEVNULL) as tcprof:
        while not all_up(tmp_path)():
            time.sleep(0.05)
        os.killpg(tcprof.pid, signal.SIGTERM)
        time.sleep(0.3)
        assert heard(tmp_path) == ["SIGTERM"]
        os.killpg(tcprof.pid, signal.SIGQUIT)
    assert living(tmp_path) == []


@pytest.fixture
def sleeper():
    with subprocess.Popen(["sleep", "20"]) as child:
        yield child
        child.kill()


def test_a_later_process_of_the_same_number_is_a_stranger(sleeper, tmp_path, monkeypatch):
    found = ProcessTree(sleeper.pid, ["sleep"])
    found.gather()
    assert found.living() == [sleeper.pid]
    # the kernel's files of a machine on which that number was given out again, a tick later
    begin, _, fields = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")
    words = fields.split()
    words[19] = str(int(words[19]) + 1)
    (tmp_path / "stat").write_text("btime 0\n")
    (tmp_path / str(sleeper.pid)).mkdir()
    (tmp_path / str(sleeper.pid) / "stat").write_text(f"{begin}) {' '.join(words)}")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert found.living() == []
    found.kill()
    assert found.ask_to_stop(signal.SIGKILL)  # who is gone counts as reached
    with pytest.raises(subprocess.TimeoutExpired):
        sleeper.wait(timeout=0.2)
