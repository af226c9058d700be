"""The line on the terminal while a recording runs, on pseudo-terminals."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

ERASE = b"\r\x1b[K"
TEXT = "(?:recording \\d+ s · Ctrl-C stops it and keeps the report|nsys is writing the report)".encode()
DRAWN = re.compile(re.escape(ERASE) + TEXT)
RUN = "from tcprof.record.run_shown import run_shown; import sys; sys.exit(run_shown(sys.argv[1:]).status)"
SLOW = 0.8  # long enough for the line to be drawn between two outputs


@dataclass
class Terminal:
    """A pseudo-terminal that changes no byte, and the side on which a user would sit."""

    columns: int = 100
    received: bytes = b""
    ours: int = field(init=False)
    theirs: int = field(init=False)

    def __post_init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, self.columns, 0, 0))
        modes = termios.tcgetattr(self.theirs)
        modes[1] &= ~termios.OPOST
        termios.tcsetattr(self.theirs, termios.TCSANOW, modes)

    def read_until(self, is_done: Callable[[bytes], object], seconds: float = 20.0) -> bytes:
        until = time.monotonic() + seconds
        while not is_done(self.received) and time.monotonic() < until:
            if select.select([self.ours], [], [], 0.05)[0]:
                self.received += os.read(self.ours, 65536)
        return self.received


@pytest.fixture
def terminal():
    return Terminal()


def record(program: str, terminal: Terminal, term: str = "xterm", **streams: object) -> bytes:
    """What a terminal gets of a recording of a Python program, to its end."""
    streams = {"stdout": terminal.theirs, "stderr": terminal.theirs} | streams
    command = [sys.executable, "-c", RUN, sys.executable, "-c", program]
    with subprocess.Popen(command, env=os.environ | {"TERM": term}, **streams) as process:
        terminal.read_until(lambda _: process.poll() is not None)
        terminal.read_until(lambda _: False, seconds=0.2)
    return terminal.received


def without_line(received: bytes) -> bytes:
    """What else was received. On a busy machine nsys may be seen to end before what it recorded."""
    return DRAWN.sub(b"", received).replace(ERASE, b"").replace(b"nsys has ended; the program has not", b"")


PROGRAM = """
import sys, time
sys.stdout.buffer.write(b"one\\n"); sys.stdout.flush(); time.sleep(SECONDS)
sys.stderr.buffer.write(b"two \\xff\\x1b[1m\\n"); sys.stderr.flush(); time.sleep(SECONDS)
sys.stdout.buffer.write(b"three"); sys.stdout.flush()
"""
TALK = PROGRAM.replace("SECONDS", str(SLOW))
QUICK_TALK = PROGRAM.replace("SECONDS", "0.2")
OUTPUT = b"one\ntwo \xff\x1b[1m\nthree"


def test_the_line_gives_way_to_output_which_is_unchanged(terminal):
    received = record(TALK, terminal)
    assert without_line(received) == OUTPUT
    assert len(DRAWN.findall(received)) >= 2
    # erased before each output, and never drawn after one that did not end its line
    screen = [DRAWN.sub(b"", part) for part in re.split(b"(?=" + re.escape(ERASE) + b")", received)]
    assert {part.removeprefix(ERASE) for part in screen} == {b"", b"one\n", b"two \xff\x1b[1m\n", b"three"}
    assert all(b"report" not in line for line in shown(received))


def shown(received: bytes) -> list[bytes]:
    """The lines that are on the screen in the end."""
    return [line.rpartition(ERASE)[2] for line in received.split(b"\n")]


def test_it_tells_when_nsys_writes(terminal):
    # In two pieces, as a pipe may deliver it; then as nsys draws its progress, over which nothing is drawn.
    program = f"""
import time
print("Gener", end="", flush=True); time.sleep(0.2); print("ating '/tmp/x.qdstrm'", flush=True); time.sleep({SLOW})
print("[1/1] [0%]\\r[1/1] [50%]", end="", flush=True); time.sleep({SLOW})
print("\\r[1/1] [100%]\\nGenerated:\\n    x", flush=True)
"""
    received = record(program, terminal)
    before, _, after = received.partition(b"Generating '/tmp/x.qdstrm'\n"[5:])
    assert b"nsys writes" not in before
    assert b"recording" not in after
    assert b"nsys is writing the report" + ERASE + b"[1/1] [0%]\r[1/1] [50%]\r[1/1] [100%]\n" in after


def test_no_line_without_a_terminal(tmp_path):
    with (tmp_path / "log").open("w+b") as log:
        command = [sys.executable, "-c", RUN, sys.executable, "-c", QUICK_TALK]
        subprocess.run(command, env=os.environ | {"TERM": "xterm"}, stdout=log, stderr=log, check=True)
        log.seek(0)
        assert log.read() == OUTPUT


def test_of_progress_in_a_file_only_the_end_is_written(tmp_path):
    program = """
import sys, time
def write(text):
    sys.stdout.write(text); sys.stdout.flush(); time.sleep(0.1)
write("[1/2] [mine]\\r[1/2] [mine too]\\n")
write("Generating '/tmp/x.qdstrm'\\n\\r[1/2] [0%  ] x.nsys-rep")
write("\\r[1/2] [=50% ] x.nsys-rep")
write("\\r[1/2] [==100%] x.nsys-rep\\n\\r[2/2] [0%  ] x.sqlite\\r[2/2] [==100%] x.sqlite")
write("\\nGenerated:\\n    x\\nhalf")
"""
    command = [sys.executable, "-c", RUN, sys.executable, "-c", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode() == (
        "[1/2] [mine]\r[1/2] [mine too]\nGenerating '/tmp/x.qdstrm'\n"
        "[1/2] [==100%] x.nsys-rep\n[2/2] [==100%] x.sqlite\nGenerated:\n    x\nhalf"
    )


COUNTING = """
import os, signal, sys, time
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
print("up", flush=True)
while not heard:
    time.sleep(0.02)
time.sleep(2.0)  # long enough for the line to be drawn once more, on a busy machine too
print(len(heard), "heard", flush=True)
"""


def start_session(command: list[str]) -> tuple[int, int]:
    """Starts a command in a session of its own with a controlling terminal; its process number and our side of that."""
    pid, ours = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(command[0], command)
    return pid, ours


def read_to_end(ours: int, pid: int, when: bytes, typed: bytes) -> bytes:
    received = b""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                received += os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
        if typed and when in received:
            os.write(ours, typed)
            typed = b""
    os.close(ours)
    os.waitpid(pid, 0)
    return received.replace(b"\r\n", b"\n")


def test_a_terminals_ctrl_c_reaches_nsys_once():
    pid, ours = start_session([sys.executable, "-c", RUN, sys.executable, "-c", COUNTING])
    received = read_to_end(ours, pid, b"recording", b"\x03")
    assert b"Stopping; nsys is writing the report. A second Ctrl-C discards it.\n" in received
    assert b"stopping \xc2\xb7 Ctrl-C discards the report" in received
    assert [line for line in shown(received) if line.endswith(b"heard")] == [b"1 heard"]


def test_the_program_can_read_what_the_user_types():
    # nsys starts it in a session of its own, where reading from this terminal does not stop it
    program = "x = input('name? '); print('hello', x)"
    launcher = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}], start_new_session=True)"
    pid, ours = start_session([sys.executable, "-c", RUN, sys.executable, "-c", launcher])
    assert b"hello Ada\n" in read_to_end(ours, pid, b"name?", b"Ada\n")


def test_a_lost_terminal_stops_the_recording_and_keeps_the_report(tmp_path):
    told = tmp_path / "told"
    program = f"""
import pathlib, signal, sys, time
def stop(*_):
    pathlib.Path({str(told)!r}).write_text("SIGTERM")
    sys.exit()
signal.signal(signal.SIGTERM, stop)
print("up", flush=True)
time.sleep(20)
"""
    pid, ours = start_session([sys.executable, "-c", RUN, sys.executable, "-c", program])
    while b"up" not in os.read(ours, 65536):
        pass
    os.close(ours)
    status = os.waitpid(pid, 0)[1]
    assert told.read_text() == "SIGTERM"
    assert not os.WIFSIGNALED(status), signal.Signals(os.WTERMSIG(status)).name
