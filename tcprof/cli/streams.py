"""The only place where the command line meets its streams: what it prints, and what happens when nobody reads it.

On a terminal, characters that it acts upon are replaced in whatever came from a recording, a file name or another
program. A character that the stream's encoding lacks becomes a question mark.
"""

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

from tcprof.errors import OutputError
from tcprof.render.formats import Writer
from tcprof.untrusted import printable_lines

READER_GONE = 141  # as a program that SIGPIPE ends
# What these signals do in Python; a program under ``nohup`` ignores SIGHUP, and still does. Windows lacks some.
_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
_USUAL |= {signal.SIGHUP: signal.SIG_DFL} if hasattr(signal, "SIGHUP") else {}
_ALARMS = (signal.SIGALRM,) if hasattr(signal, "SIGALRM") else ()
_SIGNALLED = 128  # an exit status above it is that plus the signal's number
_SAME_S = 1.0  # timeout(1) signals its program and then the program's group, which must not disturb the end
_AGAIN_S = 2  # Python drops an exception that is raised while it frees an object: it is raised again


def open_streams() -> None:
    """Make sure that there are three streams, which take any text."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # it was closed, and the next file opened would take its place
    os.close(descriptor)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - lasts to the end
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def stdout_writer(*, styled: bool = False) -> Iterator[Writer]:
    """Give the output to write to; on a terminal, control characters are filtered out unless the text is ``styled``."""
    stream = sys.stdout
    try:
        yield stream if styled or not stream.isatty() else _Printable(stream)
        stream.flush()
    except BrokenPipeError:
        _discard(stream)
        sys.exit(READER_GONE)
    except OSError as error:
        _discard(stream)
        raise OutputError(f"The output cannot be written: {error.strerror}.", "Write to a file with -o.") from error


class _Printable:
    """A stream that gets printable lines only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        self._stream.write(printable_lines(text))


def echo(text: str) -> None:
    """Write text to the output, see ``stdout_writer``."""
    with stdout_writer() as stream:
        stream.write(text)


def echo_path(path: Path) -> None:
    """Write the path of a file that was written on a line of its own; for other programs with the bytes of its name."""
    with stdout_writer() as stream:
        if sys.stdout.isatty():
            stream.write(f"{path}\n")
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(os.fsencode(path) + b"\n")


def echo_error(text: str, *, styled: bool = False) -> None:
    """Write lines, printable ones if ``styled``, to the error stream; where it is closed or full nobody can be told."""
    try:
        sys.stderr.write(f"{text if styled else printable_lines(text)}\n")
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def close_streams() -> None:
    """Write what is left; else Python would complain when it ends, with a status of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard(stream)


def _discard(stream: TextIO) -> None:
    """Let all that is still to be written to a stream go nowhere."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it has no file
        pass


@contextmanager
def raise_on_signal() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise SystemExit, and SIGINT KeyboardInterrupt, until the block has ended."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can
        yield
        return
    first = 0
    raised_at = float("-inf")
    raised: BaseException | None = None

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal first, raised_at, raised
        if time.monotonic() - raised_at < _SAME_S:
            return
        _set_alarm(_AGAIN_S)
        if number in _ALARMS and _is_handled(raised):
            return  # it was not dropped: the command is cleaning up, which may take long
        first, raised_at = first or number, time.monotonic()
        raised = KeyboardInterrupt() if first == signal.SIGINT else SystemExit(_SIGNALLED + first)
        raise raised

    changed = {number: usual for number, usual in _USUAL.items() if signal.getsignal(number) == usual}
    alarms = {number: signal.getsignal(number) for number in _ALARMS}
    for number in (*changed, *alarms):
        signal.signal(number, end)
    try:
        yield
    finally:
        _set_alarm(0)
        for number, usual in (*changed.items(), *alarms.items()):
            signal.signal(number, usual)


def _set_alarm(after_s: int) -> None:
    """Have an alarm ring after some time, or not at all for 0."""
    if _ALARMS:
        signal.alarm(after_s)


def _is_handled(error: BaseException | None) -> bool:
    """Tell whether the block that runs now handles an exception, or one that was raised while it was handled."""
    handled = sys.exc_info()[1]
    while handled is not None and handled is not error:
        handled = handled.__context__
    return handled is not None
