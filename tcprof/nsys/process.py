"""Starting nsys: once to listen to it quietly, once to let the user see and hear everything."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, TextIO

from tcprof.errors import NsysError

_KEPT_BYTES = 64 * 1024  # of the beginning and of the end of each stream: enough for every message of nsys


@dataclass(frozen=True)
class Completed:
    """A program that has ended.

    Attributes:
        status: Exit status; negative if a signal ended it.
        stdout: What it wrote on standard output, the middle left out where it wrote much.
        stderr: The same of standard error.
    """

    status: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Both streams, one after the other."""
        return "\n".join(part for part in (self.stdout.strip(), self.stderr.strip()) if part)

    def last_lines(self, count: int = 5) -> str:
        """The last lines worth reading, those of standard error first; progress bars left out."""
        for text in (self.stderr, self.stdout):
            lines = [line.rpartition("\r")[2].rstrip() for line in text.splitlines()]
            lines = [line for line in lines if line.strip() and not re.search(r"usage:|--help'", line)]
            if lines:
                return "\n".join(lines[-count:])
        return ""


def run_quietly(argv: Sequence[str], timeout_s: float | None = None) -> Completed:
    """Runs a program and returns what it said.

    Args:
        argv: The program and its arguments.
        timeout_s: Seconds after which it is ended.

    Raises:
        NsysError: If it cannot be started, or does not end in time.
    """
    try:
        done = subprocess.run(list(argv), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise _not_startable(argv[0], error) from error
    except subprocess.TimeoutExpired as error:
        raise NsysError(f"{argv[0]} gave no answer within {timeout_s:.0f} seconds.") from error
    return Completed(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def run_shown(argv: Sequence[str]) -> Completed:
    """Runs a program whose output the user sees at once, and passes signals on to it.

    Both streams go through tcprof so that nsys's messages can be recognised afterwards. The recorded program
    loses nothing by it: nsys reads its output through a pipe in any case, so it never sees a terminal.

    Args:
        argv: The program and its arguments.

    Raises:
        NsysError: If it cannot be started.
    """
    try:
        process = subprocess.Popen(list(argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise _not_startable(argv[0], error) from error
    with process, _signals_passed_on(process):
        assert process.stdout is not None
        assert process.stderr is not None
        pumps = (_Pump(process.stdout, sys.stdout), _Pump(process.stderr, sys.stderr))
        for pump in pumps:
            pump.start()
        status = process.wait()
        for pump in pumps:
            pump.join(timeout=5.0)  # a child that the program left behind may hold the pipe open
    return Completed(status, *(pump.text() for pump in pumps))


def _not_startable(program: str, error: OSError) -> NsysError:
    return NsysError(
        f"{program} could not be started: {error.strerror or error}.",
        hint="Check that the path is right and that the file may be executed.",
    )


class _Pump(threading.Thread):
    """Copies a pipe to a stream of ours as it comes, and keeps the beginning and the end."""

    def __init__(self, source: IO[bytes], sink: TextIO) -> None:
        super().__init__(daemon=True)
        self._source = os.dup(source.fileno())  # its own, to read on when the program's end is not the pipe's
        self._sink = sink
        self._head = b""
        self._tail = b""

    def run(self) -> None:
        try:
            while chunk := os.read(self._source, _KEPT_BYTES):
                self._keep(chunk)
                self._show(chunk)
        finally:
            os.close(self._source)

    def _keep(self, chunk: bytes) -> None:
        room = _KEPT_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail = (self._tail + chunk[room:])[-_KEPT_BYTES:]

    def _show(self, chunk: bytes) -> None:
        buffer = getattr(self._sink, "buffer", None)  # a notebook's stream has none
        with contextlib.suppress(OSError, ValueError):  # nobody reads any more: the recording goes on
            if buffer is None:
                self._sink.write(chunk.decode(errors="replace"))
            else:
                buffer.write(chunk)
            self._sink.flush()

    def text(self) -> str:
        return (self._head + self._tail).decode(errors="replace")


@contextlib.contextmanager
def _signals_passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Lets nsys finish its report when the user or a job scheduler ends the recording.

    The first Ctrl-C makes nsys stop the program and write the report; a second one makes it give the report
    up. A terminal sends Ctrl-C to nsys as well, so it is passed on only where it came from elsewhere: two of
    them within the time of writing would lose the recording.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            sys.stderr.write("\nStopping; nsys writes the report. A second Ctrl-C gives it up.\n")
            if _in_foreground():
                return
        process.send_signal(number)

    handlers = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether a terminal's Ctrl-C reaches our process group, and so nsys, without our help."""
    try:
        terminal = os.open(Path("/dev/tty"), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
