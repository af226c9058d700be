"""How commands print: documents in the format asked for, paths last, and what a stream has no place for beside it."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from tcprof.cli.streams import echo_error, echo_path, shown
from tcprof.untrusted import printable

if TYPE_CHECKING:
    from tcprof.render.formats import Style
    from tcprof.views.document import Document

NARROWEST = 40
ELSEWHERE = 120  # columns where the output is no terminal, and COLUMNS does not say


def print_document(document: "Document", format_name: str, output: Path | None = None, *, wide: bool = False) -> None:
    """Print a document, or write it to a file; what the format has no place for goes to the error stream.

    Args:
        format_name: One of ``tcprof.render.formats.FORMATS`` that can show it.
        output: The file to write; None for the terminal.
        wide: Whether tables are as wide as they need to be.

    Raises:
        OutputError: The file cannot be written.
    """
    from tcprof.outputs import replace_file
    from tcprof.render.formats import load_format

    form = load_format(format_name)
    style = style_of(sys.stdout if output is None else None, wide=wide)
    if "faults" not in form.HAS:
        print_faults(document.faults)
    if output is None:
        with shown(styled=style.color) as stream:
            form.write(document, style, stream)
    else:
        with replace_file(output) as path, path.open("w", encoding="utf-8", errors="replace") as file:
            form.write(document, style, file)
            file.write(getattr(form, "SIGNATURE", ""))
    _print_rest(document, form.HAS)
    if output is not None:
        echo_path(output)


def _print_rest(document: "Document", has: Iterable[str]) -> None:
    """What a format has no place for, on the error stream: the base of the figures, the gate, and warnings."""
    if "base" not in has:
        print_notes(document.base)
    if document.rows is not None and document.rows.empty and "warnings" not in has:
        print_notes((document.if_empty,))
    if "warnings" not in has:
        print_notes(document.warnings)
    if document.gate is not None and "gate" not in has:
        from tcprof.render.formats.text import render_gate

        echo_error(render_gate(document.gate, style_of(sys.stderr)), styled=True)
    elif document.gate is not None and document.gate.doubt and "doubt" not in has:
        print_lines((document.gate.doubt,))


def print_faults(faults: Iterable[str]) -> None:
    """Print to the error stream why the figures that follow cannot be trusted; each fault is a paragraph."""
    word = "warning:"
    if has_color(sys.stderr):
        word = typer.style(word, fg=typer.colors.RED, bold=True)
    for fault in faults:
        echo_error(f"{word}{wrapped(f'warning: {fault}').removeprefix('warning:')}\n", styled=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print to the error stream what else a reader must know."""
    for note in notes:
        echo_error(wrapped(f"note: {note}"))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text to the error stream."""
    for line in lines:
        echo_error(wrapped(line))


def wrapped(text: str) -> str:
    """A paragraph for the error stream, broken into lines."""
    from tcprof.render.formats.text import fill

    return fill(text, width(sys.stderr), margin="  ")


def width(stream: TextIO | None) -> int:
    """The columns of a line: as many as COLUMNS says, else as the terminal has.

    Args:
        stream: What is written to; None for a file.
    """
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isdecimal() else 0
    if not columns and stream is not None and stream.isatty():
        with suppress(OSError):
            columns = os.get_terminal_size(stream.fileno()).columns
    return max(columns or ELSEWHERE, NARROWEST)


def has_color(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and its user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style_of(stream: TextIO | None, *, wide: bool = False) -> "Style":
    """How text is set on a stream, or in a file."""
    from tcprof.render.formats import Style

    return Style(width(stream), stream is not None and has_color(stream), wide)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show what is being done, on a terminal only, while it lasts."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(printable(what))):
        yield


def open_page(path: Path) -> None:
    """Show a page in the user's browser."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        print_notes((f"no browser was found to open {path} in.",))
