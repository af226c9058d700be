import os
import signal
import sys
import threading
import time

import pytest

from tcprof.errors import NsysError
from tcprof.nsys.run import Completed, run_quietly
from tcprof.record import run_shown as process
from tcprof.record.run_shown import run_shown


def test_output_comes_whole_and_at_once(tmp_path, capfdbinary):
    seen = tmp_path / "seen"
    code = f"""
import pathlib, sys, time
sys.stdout.buffer.write(b"\\xff one")
sys.stdout.flush()
until = time.monotonic() + 10
while time.monotonic() < until and not pathlib.Path({str(seen)!r}).exists():
    time.sleep(0.02)
"""
    outputs = []

    def watch() -> None:
        while not (out := capfdbinary.readouterr().out):
            time.sleep(0.02)
        outputs.append(out)
        seen.touch()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    began = time.monotonic()
    assert run_shown([sys.executable, "-c", code]) == Completed(0, "\ufffd one", "")
    assert time.monotonic() - began < 9  # it was shown while the program waited for that
    assert outputs == [b"\xff one"]


def test_much_output_passes_and_its_ends_are_kept(capfdbinary):
    code = "print('first'); print('x' * 10_000_000); print('last')"
    done = run_shown([sys.executable, "-c", code])
    assert capfdbinary.readouterr().out == b"first\n" + b"x" * 10_000_000 + b"\nlast\n"
    assert (done.stdout[:6], done.stdout[-5:], len(done.stdout)) == ("first\n", "last\n", 128 * 1024)


def test_a_child_that_keeps_the_pipe_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(process, "_DRAIN_S", 0.3)
    began = time.monotonic()
    done = run_shown(["sh", "-c", "sleep 20 & echo $!"])
    assert time.monotonic() - began < 10
    os.kill(int(done.stdout), signal.SIGKILL)  # it lives: nobody asked for its end


def test_programs_that_cannot_start_or_do_not_answer(tmp_path):
    with pytest.raises(NsysError, match="could not be started: No such file"):
        run_shown([str(tmp_path / "none")])
    with pytest.raises(NsysError, match="could not be started: No such file"):
        run_quietly([str(tmp_path / "none")])
    with pytest.raises(NsysError, match="gave no answer within 1 seconds"):
        run_quietly(["sleep", "20"], timeout_s=1.0)
    assert run_quietly(["sh", "-c", "echo out; exit 2"]) == Completed(2, "out\n", "")
