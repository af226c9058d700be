"""One line on the terminal that says what the recording does, and gives way to the program's output.

rich's ``Status`` cannot stay below another program's output: its thread redraws at any time, which erases half a line
such as a prompt; it hides the cursor, scrolls the terminal each time it is stopped, draws in background jobs too and,
with FORCE_COLOR, into pipes.
"""

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Iterator
from typing import TextIO

_REDRAW_S = 0.5
_ERASE = "\r\x1b[K"


class StatusLine:
    """A line that is drawn over and over at the bottom of a terminal; nothing at all elsewhere.

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
        """Shows a text, twice a second at most; what was shown before is replaced."""
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
        """Erases the line while ``output`` is written to a terminal in the context."""
        if not self._is_shown or not is_terminal(sink):
            yield
            return
        with self._lock:
            self._erase()
            yield
            self._is_free = output.endswith(b"\n")

    def say(self, message: str) -> None:
        """Writes a message on a line of its own, on a terminal or not."""
        with self._lock:
            was_drawn = self._erase()
            apart = "" if was_drawn or not is_terminal(self._stream) else "\n"  # behind ^C, or half a line
            self._write(f"{apart}{message}\n")
            self._is_free = True

    def close(self) -> None:
        """Erases the line for good."""
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
    """Whether what is written to a stream is seen on a terminal."""
    try:
        return os.isatty(stream.fileno())
    except (OSError, ValueError, AttributeError):  # a notebook's stream has no file
        return False


def _is_in_foreground(stream: TextIO) -> bool:
    """Whether the terminal is ours to draw on; a job in the background would write over what the user types."""
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
