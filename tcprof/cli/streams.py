"""The only place where the command line meets its streams: what is shown, and what happens when nobody reads it.

On a terminal, characters that it acts upon are replaced in whatever came from a recording, a file name or another
program. A character that the stream's encoding lacks becomes a question mark.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tcprof.errors import OutputError
from tcprof.render.formats import Writer
from tcprof.untrusted import printable_lines

READER_GONE = 141  # as a program that SIGPIPE ends


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
def shown(*, styled: bool = False) -> Iterator[Writer]:
    """The output, to write to in the block: as it is unless it is a terminal.

    Args:
        styled: Whether the text is made for a terminal: its names are printable, and it has colours.

    Raises:
        OutputError: The output takes no more.
        SystemExit: Its reader, such as head, has gone.
    """
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
    """Write text to the output, see ``shown``."""
    with shown() as stream:
        stream.write(text)


def echo_path(path: Path) -> None:
    """Write the path of a file that was written on a line of its own; for other programs with the bytes of its name."""
    with shown() as stream:
        if sys.stdout.isatty():
            stream.write(f"{path}\n")
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(os.fsencode(path) + b"\n")


def echo_error(text: str, *, styled: bool = False) -> None:
    """Write lines to the error stream; where it is closed or full there is nobody to tell.

    Args:
        text: The lines, without the last one's end.
        styled: Whether their names are printable already, and they may have colours.
    """
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
