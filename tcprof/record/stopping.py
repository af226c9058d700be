"""The end of a recording by signals: asked for once the report is kept, asked for twice everything is killed."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

from tcprof.errors import StoppedError
from tcprof.nsys.run import not_startable
from tcprof.record.process_tree import ProcessTree, is_sudo

_REDRAW_S = 0.5
_ERASE = "\r\x1b[K"
_GRACE_S = 2.0  # from the second Ctrl-C on; nsys needs a moment to give up
_PATIENCE_S = 5.0  # from the first signal on; nsys 2025 waits for the program before it writes, nsys 2023 does not
_DEATH_S = 2.0  # a killed process is gone at once, unless it waits for a device or is not ours to kill
_SAME_S = 0.1  # timeout(1) signals its program and then the program's group: that is one request, not two
_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class StatusLine:
    """A status line that is redrawn at the bottom of a terminal; on anything else it does nothing.

    It is shown only where the last output has ended its line. Several threads may use it.

    Args:
        is_free: Whether the cursor is at the beginning of a line; false while something may be asking for a password.
    """

    def __init__(self, stream: TextIO, *, is_free: bool = True) -> None:
        self._stream = stream
        self._is_shown = is_terminal(stream) and os.environ.get("TERM") not in (None, "", "dumb")
        self._lock = threading.Lock()
        self._is_free = is_free
        self._drawn = ""
        self._due = 0.0

    def draw(self, text: str) -> None:
        """Show a text, twice a second at most; it replaces the one before."""
        now = time.monotonic()
        if not self._is_shown or now < self._due or not self._lock.acquire(blocking=False):
            return  # where a thread holds the lock it writes output, which goes first
        try:
            text = text[: _width(self._stream) - 1]  # a line that wraps could not be erased
            if self._is_free and text != self._drawn and _is_in_foreground(self._stream):
                self._write(_ERASE + text)
                self._drawn = text
                self._due = now + _REDRAW_S
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def hidden(self, sink: TextIO, output: bytes) -> Iterator[None]:
        """Erase the line while ``output`` is written to a terminal in the context."""
        if not self._is_shown or not is_terminal(sink):
            yield
            return
        with self._lock:
            self._erase()
            yield
            self._is_free = output.endswith(b"\n")

    def say(self, message: str) -> None:
        """Write a message on a line of its own, on a terminal or not."""
        with self._lock:
            was_drawn = self._erase()
            apart = "" if was_drawn or not is_terminal(self._stream) else "\n"  # behind ^C, or half a line
            self._write(f"{apart}{message}\n")
            self._is_free = True

    def close(self) -> None:
        """Erase the line for good."""
        with self._lock:
            self._erase()
            self._is_shown = False

    def _erase(self) -> bool:
        was_drawn = bool(self._drawn)
        if was_drawn:
            self._write(_ERASE)
            self._drawn = ""
        return was_drawn

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone: the recording continues
            self._stream.write(text)
            self._stream.flush()


def is_terminal(stream: TextIO) -> bool:
    """Tell whether what is written to a stream is seen on a terminal."""
    try:
        return os.isatty(stream.fileno())
    except (OSError, ValueError, AttributeError):  # a notebook's stream has no file
        return False


def _is_in_foreground(stream: TextIO) -> bool:
    """Tell whether the terminal is ours to draw on; a background job would write over the user's input."""
    try:
        return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except OSError:  # not the terminal of our session: nobody's jobs run there
        return True


def _width(stream: TextIO) -> int:
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return columns or shutil.get_terminal_size().columns


@contextlib.contextmanager
def caught_signals() -> Iterator[deque[int]]:
    """Collect the signals that ask tcprof to end, for the caller to take out; only the main thread can."""
    received: deque[int] = deque()
    if not can_catch_signals():
        yield received
        return

    def keep(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else set()  # nohup
    handlers = {number: signal.signal(number, keep) for number in _CAUGHT if number not in ignored}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def can_catch_signals() -> bool:
    """Tell whether signals come to this thread."""
    return threading.current_thread() is threading.main_thread()


def start_stoppable(argv: Sequence[str]) -> tuple[subprocess.Popen[bytes], "Stopping", StatusLine]:
    """Start nsys, away from the signals that go to tcprof's process group.

    nsys gives the report up at the second signal, however soon it comes, and a terminal's Ctrl-C, timeout(1) and
    Jupyter signal the whole group: tcprof alone must pass them on. sudo stays in the group, since it asks for the
    password on the terminal, and since a terminal's Ctrl-C reaches it without one.

    Raises:
        NsysError: It cannot be started.
    """
    has_own_group = can_catch_signals() and not is_sudo(argv)
    pipe, group = subprocess.PIPE, 0 if has_own_group else None
    try:
        process = subprocess.Popen(list(argv), stdout=pipe, stderr=pipe, process_group=group)
    except OSError as error:
        raise not_startable(argv[0], error) from error
    line = StatusLine(sys.stderr, is_free=has_own_group)  # else sudo may be asking there
    return process, Stopping(ProcessTree(process.pid, argv), line, has_own_group=has_own_group), line


class Stopping:
    """The end of a recording, as the signals ask for it.

    Args:
        has_own_group: Whether the recording is out of a terminal's reach.
    """

    def __init__(self, tree: ProcessTree, line: StatusLine, *, has_own_group: bool) -> None:
        self._tree = tree
        self._line = line
        self._has_own_group = has_own_group
        self._asked_at: float | None = None
        self._kill_at: float | None = None
        self._end_at: float | None = None  # when the program is killed, which was to end with its recording
        self._has_named_program = False
        self.status = 0  # what a shell would call the end by the signal that asked first

    @property
    def is_asked(self) -> bool:
        """Tell whether the recording was asked to end."""
        return self._asked_at is not None

    @property
    def is_given_up(self) -> bool:
        """Tell whether the recording was given up: what is left of it is killed in a moment."""
        return self._kill_at is not None

    def has_begun(self) -> bool:
        """Tell whether nsys has started the program."""
        self._tree.gather()
        return bool(self._tree.living_programs())

    def has_left(self) -> bool:
        """Tell whether the recording or the program was asked to end, and some of it still lives."""
        return (self.is_asked or self._end_at is not None) and bool(self._tree.living())

    def attend(self, number: int, *, nsys_lives: bool) -> None:
        """Do what a signal asks for.

        The first one stops the recording. A second Ctrl-C gives it up; SIGQUIT does so at once. Any other signal after
        the first changes nothing, since nsys would give up.
        """
        now = time.monotonic()
        if self._kill_at is not None or (self._asked_at is None and not nsys_lives):
            return  # it ends in any case
        if number == signal.SIGQUIT:
            self._give_up(now, nsys_lives=nsys_lives)
        elif self._asked_at is None:
            self._asked_at, self.status = now, 128 + number
            self._ask(number)
        elif number == signal.SIGINT and now - self._asked_at > _SAME_S:
            self._give_up(now + _GRACE_S * nsys_lives, nsys_lives=nsys_lives)
            if nsys_lives:
                self._pass_on(number)

    def _ask(self, number: int) -> None:
        self._tree.gather()
        sent = self._pass_on(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)
        if not sent:
            self._line.say(
                "nsys runs as root, so tcprof cannot stop it. In another terminal, run: sudo kill -INT "
                f"{self._tree.head}"
            )
        elif number == signal.SIGINT:
            self._line.say("Stopping; nsys is writing the report. A second Ctrl-C discards it.")
        else:
            self._line.say(f"Stopping because of {signal.Signals(number).name}; nsys is writing the report.")

    def _pass_on(self, number: int) -> bool:
        if number == signal.SIGINT and not self._has_own_group and _reached_by_terminal():
            return True
        return self._tree.ask_to_stop(number)

    def _give_up(self, kill_at: float, *, nsys_lives: bool) -> None:
        self._tree.gather()
        self._kill_at = kill_at
        self._line.say(
            "Giving up; processes that do not end soon will be killed."
            if nsys_lives
            else "Killing what nsys left behind."
        )

    def end_program(self) -> None:
        """End the program, whose report is written, and all that it started: nsys, which waits for it, ends as well.

        What has not ended by itself after some seconds is killed.
        """
        self._tree.gather()
        self._tree.end_programs(signal.SIGTERM)
        self._end_at = time.monotonic() + _PATIENCE_S

    def advance(self, *, is_waiting: bool) -> bool:
        """Kill what has outlived its time, and name the program that nsys waits for.

        Args:
            is_waiting: Whether nsys has not begun to write the report.

        Returns:
            Whether nothing is left to be done, or nothing can be done.
        """
        now = time.monotonic()
        if self._kill_at is not None:
            if now >= self._kill_at:
                self._tree.kill()
            return not self._tree.living() or now > self._kill_at + _DEATH_S
        if self._end_at is not None and now > self._end_at:
            self._end_at = None
            self._tree.gather()
            self._tree.end_programs(signal.SIGKILL)
        if is_waiting and self._asked_at is not None and now > self._asked_at + _PATIENCE_S:
            programs = self._tree.living_programs()
            if programs and not self._has_named_program:
                self._has_named_program = True
                command = self._tree.kill_command(programs)
                self._line.say(
                    f"The program has not ended, and nsys waits for it. To kill it, and keep the report: {command}"
                )
        return True

    def conclude(self, *, has_report: bool) -> None:
        """Say what is left after the end; StoppedError where it was given up, and there is no report."""
        left = self._tree.living()
        rest = f"Some processes that it started have not ended. To kill them: {self._tree.kill_command(left)}"
        if self.is_given_up and not has_report:
            raise StoppedError("The recording was discarded; there is no report.", hint=rest if left else "")
        if self.is_asked and left:
            self._line.say(f"nsys has ended. {rest}")


def _reached_by_terminal() -> bool:
    """Tell whether a terminal's Ctrl-C reaches our process group without our help."""
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
