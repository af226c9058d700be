"""How commands print: documents in the format asked for, paths last, and what a stream has no place for beside it."""

import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

import typer

from tcprof.cli.streams import echo_error, echo_path, stdout_writer
from tcprof.errors import UsageError
from tcprof.render.html import USUAL, PageOptions
from tcprof.untrusted import printable

if TYPE_CHECKING:
    from tcprof.api.reading import Report
    from tcprof.render.formats import Style
    from tcprof.views.document import Document

TEXT = "text"
BRIEF = "brief"  # no format of its own: what is printed beside a page
NARROWEST = 40
ELSEWHERE = 120  # columns where the output is no terminal, and COLUMNS does not say
_COLOR = {"when": "auto"}  # of the command that runs


def print_document(
    document: "Document", format_name: str, output: Path | None = None, *, wide: bool = False, notes: bool = True
) -> None:
    """Print a document, or write it to a file; what the format has no place for goes to the error stream.

    With ``BRIEF``, beside a page, that is faults, verdict and gate. Without ``notes`` remarks are counted only.
    """
    from tcprof.render.formats import load_format

    if format_name == BRIEF:
        print_faults(fault for fault in document.faults if fault not in document.cautions)
        print_lines(document.lead)
        print_faults(document.cautions)
        _print_gate(document)
        return
    form = load_format(format_name)
    output = output and add_suffix(output, form.SUFFIXES)
    style = style_of(sys.stdout if output is None else None, wide=wide)
    if "faults" not in form.HAS:
        print_faults(document.faults)
    if output is None:
        with stdout_writer(styled=style.color) as stream:
            form.write(document, style, stream)
    else:
        from tcprof.outputs import replace_file

        with replace_file(output) as path, path.open("w", encoding="utf-8", errors="replace") as file:
            form.write(document, style, file)
            file.write(getattr(form, "SIGNATURE", ""))
    _print_rest(document, form.HAS, notes=notes or "base" not in form.HAS)
    if output is not None:
        echo_path(output)


def _print_rest(document: "Document", has: Iterable[str], *, notes: bool) -> None:
    """Print what a format has no place for to the error stream: the base of the figures, the gate, and warnings."""
    from tcprof.views.document import Medium

    if "base" not in has:
        print_notes(document.base)
    if document.rows is not None and document.rows.empty and "warnings" not in has:
        parts = document.shown_on(Medium.SCREEN) if "base" in has else ()
        if document.if_empty not in [line for part in parts for line in getattr(part, "lines", ())]:
            print_notes((document.if_empty,))
    if "warnings" not in has:
        print_notes(warning for warning in document.warnings if notes or warning not in document.remarks)
    if "gate" not in has:
        _print_gate(document)
    elif document.gate is not None and document.gate.doubt and "doubt" not in has:
        print_lines((document.gate.doubt,))


def _print_gate(document: "Document") -> None:
    if document.gate is not None:
        from tcprof.render.formats.text import render_gate

        echo_error(render_gate(document.gate, style_of(sys.stderr)), styled=True)


def print_path(path: Path, format_name: str) -> None:
    """Print which file was written; beside what other programs read, on standard error."""
    if format_name in (TEXT, BRIEF):
        echo_path(path)
    else:
        echo_error(str(path))


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
    """Break a paragraph into lines for the error stream."""
    from tcprof.render.formats.text import fill

    return fill(text, width(sys.stderr), margin="  ")


def width(stream: TextIO | None) -> int:
    """Count the columns of a line: as many as COLUMNS says, else as the terminal has; for a file a usual number."""
    variable = os.environ.get("COLUMNS", "")
    columns = int(variable) if variable.isdecimal() else 0
    if not columns and stream is not None and stream.isatty():
        with suppress(OSError):
            columns = os.get_terminal_size(stream.fileno()).columns
    return max(columns or ELSEWHERE, NARROWEST)


def choose_color(when: str) -> str:
    """Set when streams have colours: auto, always or never."""
    _COLOR["when"] = when
    return when


def has_color(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal that shows colours, and its user wants them."""
    if _COLOR["when"] != "auto":
        return _COLOR["when"] == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style_of(stream: TextIO | None, *, wide: bool = False) -> "Style":
    """Choose how text is set on a stream, or in a file."""
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


@contextmanager
def progress_of(what: str, count: int) -> Iterator[Callable[[int], object]]:
    """Show how many of several things are done, on a terminal only; what it gives is called with that number."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(what), total=count)
        yield lambda done: bar.update(task, completed=done)


def read_recording(recording: Path, *, no_cache: bool = False, **options: Any) -> "Report":
    """Call ``tcprof.read``, with a line on the terminal meanwhile."""
    import tcprof
    from tcprof.saved.cache import user_cache

    notes: list[str] = []
    with progress(f"Reading {recording.name}"):
        cache = None if no_cache else user_cache(notes.append)
        report = tcprof.read(recording, **options, cache=cache)
    print_notes(notes)
    return report


def write_page(document: "Document", page: Path, options: PageOptions = USUAL) -> None:
    """Write a page, with a line on the terminal meanwhile."""
    from tcprof.render.html import page as html

    with progress(f"Writing {page.name}"):
        html.write_page(document, page, options)


def open_page(path: Path) -> None:
    """Open a page in the user's browser."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        print_notes((f"no browser was found to open {path}.",))


def add_suffix(output: Path, suffixes: Sequence[str]) -> Path:
    """Add the first of these suffixes to a file's name that has none, unless it is that of a folder or a device."""
    if output.suffix or not suffixes or (output.exists() and not output.is_file()):
        return output
    return output.with_name(f"{output.name}{suffixes[0]}")


def check_suffix(output: Path, suffixes: Sequence[str]) -> None:
    """Refuse the name of a file that would hold something else than its suffix says."""
    if output.suffix not in suffixes and not (output.exists() and not output.is_file()):
        raise UsageError(
            f"-o {output} has the suffix of a format that this command does not write",
            f"End it in {', '.join(suffixes)}.",
        )


def origin_of(recording: Path) -> str:
    """Number a recording and its exports by where they lie, which does not reveal where."""
    return f"{zlib.crc32(os.fsencode(Path(os.path.realpath(recording)).parent / recording.stem)):08x}"


def find_reports(page: Path, path: Path, files: Iterable[str]) -> tuple[str, ...]:
    """Link a page to the report on each of some recordings that lies beside it or the recording; empty for none."""
    from tcprof.sources.registry import find_recordings

    links, folder = [], find_recordings(path)[0].parent
    for recording in map(folder.joinpath, files):
        candidates = (near / f"{recording.stem}.html" for near in (page.parent, recording.parent))
        origin = origin_of(recording)
        report = next((file for file in candidates if file.is_file() and _is_page_of(file, origin)), None)
        links.append(quote(Path(os.path.relpath(report, page.parent)).as_posix()) if report else "")
    return tuple(links)


def _is_page_of(path: Path, origin: str) -> bool:
    """Tell whether a page says that it is about the recording with this number, see ``PageOptions.origin``."""
    with path.open("rb") as file:
        return f'<meta name="tcprof-recording" content="{origin}">'.encode() in file.read(4096)
