"""How commands print: documents in the format asked for, paths last, and what a stream has no place for beside it."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from tcprof.errors import OutputError, UsageError

if TYPE_CHECKING:
    from tcprof.render.formats import Style
    from tcprof.views.document import Document

NARROWEST = 80
PAGE_SUFFIXES = (".html", ".htm")


def print_document(document: "Document", format_name: str, output: Path | None = None) -> None:
    """Print a document, or write it to a file; what the format has no place for goes to the error stream.

    Args:
        document: What to print.
        format_name: One of ``tcprof.render.formats.FORMATS``.
        output: The file to write; None for the terminal.

    Raises:
        UsageError: The document cannot be shown in this format.
        OutputError: The file cannot be written.
    """
    from tcprof.files import replace_file
    from tcprof.render.formats import load_format

    form = load_format(format_name)
    needs = getattr(form, "NEEDS", "")
    if needs and getattr(document, needs) is None:
        raise UsageError(f"--format {format_name} cannot show this", "Choose another: text shows everything.")
    style = style_of(sys.stdout) if output is None else plain_style()
    if "faults" not in form.HAS:
        print_faults(document.faults)
    text = form.render(document, style)
    if output is None:
        typer.echo(text)
    else:
        with replace_file(output) as path:
            path.write_text(f"{text}\n", encoding="utf-8", errors="replace")
    _print_rest(document, form.HAS)
    if output is not None:
        typer.echo(output)


def _print_rest(document: "Document", has: Iterable[str]) -> None:
    """What a format has no place for, on the error stream: the base of the figures, the gate, and warnings."""
    if "base" not in has:
        print_notes(document.base)
    if document.rows is not None and document.rows.empty and "warnings" not in has:
        print_notes(("Nothing in the recording is what the options ask for.",))
    if "warnings" not in has:
        print_notes(document.warnings)
    if document.gate is not None and "gate" not in has:
        from tcprof.render.formats.text import render_gate

        typer.echo(render_gate(document.gate, style_of(sys.stderr)), err=True)
    elif document.gate is not None and document.gate.doubt and "doubt" not in has:
        print_lines((document.gate.doubt,))


def print_faults(faults: Iterable[str]) -> None:
    """Print to the error stream why the figures that follow cannot be trusted; each fault is a paragraph."""
    word = "warning:"
    if has_color(sys.stderr):
        word = typer.style(word, fg=typer.colors.RED, bold=True)
    for fault in faults:
        typer.echo(f"{word}{wrapped(f'warning: {fault}').removeprefix('warning:')}\n", err=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print to the error stream what else a reader must know."""
    for note in notes:
        typer.echo(wrapped(f"note: {note}"), err=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text to the error stream."""
    for line in lines:
        typer.echo(wrapped(line), err=True)


def wrapped(text: str) -> str:
    """A paragraph in printable form, broken into lines; options such as --format stay whole."""
    from tcprof.untrusted import printable

    return textwrap.fill(
        printable(text), width(), subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def width() -> int:
    """The terminal's width, or 80 columns where the output is no terminal."""
    return max(shutil.get_terminal_size((NARROWEST, 24)).columns, NARROWEST) if sys.stdout.isatty() else NARROWEST


def has_color(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and its user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style_of(stream: TextIO) -> "Style":
    """How text is set on a stream."""
    from tcprof.render.formats import Style

    return Style(width(), has_color(stream))


def plain_style() -> "Style":
    """How text is set in a file."""
    from tcprof.render.formats import PLAIN

    return PLAIN


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show what is being done, on a terminal only, while it lasts."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(what)):
        yield


def open_page(path: Path) -> None:
    """Show a page in the user's browser."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        print_notes((f"no browser was found to open {path} in.",))


def check_page(path: Path, inputs: tuple[Path, ...]) -> None:
    """Make sure that writing a page destroys nothing else.

    Raises:
        OutputError: The path is an input, or an existing file that is not a page.
    """
    if path.is_dir():
        raise OutputError(f"{path} is a folder.", "Give a file name with -o.")
    if path.exists() and (path.suffix not in PAGE_SUFFIXES or path.resolve() in {p.resolve() for p in inputs}):
        raise OutputError(f"{path} exists and is not a page, so it is not overwritten.", "Give another name with -o.")
