"""The application that the commands are added to, and the options that they share."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

import tcprof
from tcprof.errors import OutputError, UsageError
from tcprof.render.html.options import PlotlyScript, Theme
from tcprof.untrusted import printable

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.analysis import Analysis
    from tcprof.report.text.tables import Listing

NARROWEST = 80
PAGE_SUFFIXES = (".html", ".htm")

app = typer.Typer(
    name="tcprof",
    help="Are the Tensor Cores working, where not, why, and did my change help?",
    epilog="Example: tcprof profile train.py, then tcprof compare base.nsys-rep opt.nsys-rep",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Window(StrEnum):
    """Windows that figures from samples are taken over."""

    GPU = "gpu"
    HOST = "host"
    BUSY = "busy"


class Format(StrEnum):
    """How a table is printed."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class Output(StrEnum):
    """How non-tabular output is printed."""

    TEXT = "text"
    JSON = "json"


RecordingArgument = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="A report (.nsys-rep) or its SQLite export.", show_default=False)
]
WindowOption = Annotated[
    Window,
    typer.Option(
        "--window",
        help="Where samples are taken: gpu, from a range's first activity to its last; host, the range as on the CPU; "
        "busy, the time under its activities.",
    ),
]
WarmUpOption = Annotated[
    str | None,
    typer.Option(
        "--warm-up",
        metavar="N|all",
        help="Leave the first N iterations out of the figures per range, or count all; by default those found to be "
        "warm-up are left out.",
        show_default=False,
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the table.")]
NsysOption = Annotated[
    Path | None,
    typer.Option("--nsys", help="The nsys to use.", envvar="TCPROF_NSYS", show_default=False, show_envvar=True),
]
GpuOption = Annotated[int | None, typer.Option("--gpu", help="Only this GPU.", show_default=False)]
FilterOption = Annotated[
    str | None,
    typer.Option("--filter", metavar="REGEX", help="Only paths in which this is found.", show_default=False),
]
DepthOption = Annotated[
    int | None,
    typer.Option("--depth", min=0, help="Only ranges nested so deep: 1 for the outermost.", show_default=False),
]


@app.callback(invoke_without_command=True)
def common(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Are the Tensor Cores working, where not, why, and did my change help?"""
    if version:
        typer.echo(f"tcprof {tcprof.__version__}")
        raise typer.Exit


TitleOption = Annotated[str | None, typer.Option("--title", help="The page's title.", show_default=False)]
ThemeOption = Annotated[Theme, typer.Option("--theme", help="The page's colours; auto: those of the reader's system.")]
PlotlyOption = Annotated[
    PlotlyScript,
    typer.Option(
        "--plotlyjs",
        help="Where the page has plotly's script from: in itself, a file beside it, or the network.",
    ),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


def open_page(path: Path) -> None:
    """Show a page in the user's browser."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        typer.echo(wrapped(f"note: no browser was found to open {path} in."), err=True)


def select_rows(
    rows: "pd.DataFrame", gpu: int | None, pattern: str | None, depth: int | None, column: str = "path"
) -> "pd.DataFrame":
    """The rows of a table that the options ask for.

    Raises:
        UsageError: The recording has no such GPU, or the pattern is no regular expression.
    """
    selected = rows
    if gpu is not None:
        selected = selected[selected["gpu"] == gpu]
        if selected.empty:
            known = ", ".join(str(number) for number in sorted(rows["gpu"].unique()))
            raise UsageError(f"The recording has no GPU {gpu}.", f"It has: {known}.")
    if pattern is not None:
        try:
            matches = re.compile(pattern)
        except re.error as error:
            raise UsageError(f"--filter {pattern!r} is no regular expression: {error}.") from error
        selected = selected[[matches.search(path) is not None for path in selected[column]]]
    return selected if depth is None else selected[selected["depth"] <= depth]


def print_listings(listings: "list[Listing]", output: Format, notes: list[str], faults: tuple[str, ...] = ()) -> None:
    """Print tables as text or Markdown, with the recording's faults first, then notes, above them.

    An empty note parts those above it from those below.
    """
    from tcprof.report.text.tables import escape_markdown, render_markdown, render_text

    print_faults(faults)
    color = has_color(sys.stdout)
    if output is Format.MARKDOWN:  # in which lines that follow each other are one paragraph
        parts = [wrapped(escape_markdown(note)) for note in notes if note]
    else:
        parts = ["\n".join(wrapped(note) for note in notes)]
    for listing in listings:
        parts.append(render_markdown(listing) if output is Format.MARKDOWN else render_text(listing, width(), color))
    typer.echo("\n\n".join(parts))


def print_table(
    rows: "pd.DataFrame",
    output: Format,
    as_json: Callable[[], str],
    as_listings: "Callable[[], list[Listing]]",
    notes: list[str],
    faults: tuple[str, ...],
    warnings: tuple[str, ...],
    base: Sequence[str] = (),
) -> None:
    """Print rows in the format asked for, faults first, so that a table in a file has them above it.

    CSV has no place for faults and for what is left out of the figures (``base``): they go to the error stream, as
    warnings do. JSON has both itself.
    """
    from tcprof.report.data.data import render_csv

    if output is Format.JSON:
        typer.echo(as_json())
        return
    if output is Format.CSV:
        print_faults(faults, err=True)
        typer.echo(render_csv(rows))
        print_warnings(tuple(base))
    else:
        print_listings(as_listings(), output, [*notes, *base], faults)
    print_warnings((*(["Nothing in the recording is what the options ask for."] if rows.empty else []), *warnings))


def describe_findings(analysis: "Analysis", gpu: int | None = None) -> list[str]:
    """The verdict, a paragraph for each GPU, and the checks: in one line if all are in order."""
    from tcprof.findings import judge, summarize_checks

    findings = judge(analysis, gpu)
    return [*findings.verdict, *summarize_checks(findings.checks)]


def width() -> int:
    """The terminal's width, or 80 columns where the output is no terminal."""
    import shutil

    return max(shutil.get_terminal_size((NARROWEST, 24)).columns, NARROWEST) if sys.stdout.isatty() else NARROWEST


def wrapped(text: str) -> str:
    """A paragraph broken into lines of the terminal's width; options such as --format stay whole."""
    import textwrap

    return textwrap.fill(text, width(), subsequent_indent="  ", break_on_hyphens=False)


def has_color(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and its user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_faults(faults: tuple[str, ...], err: bool = False) -> None:
    """Print why the figures that follow cannot be trusted; each fault is a paragraph.

    Args:
        faults: See ``tcprof.analysis.Analysis``.
        err: Whether to print to the error stream.
    """
    word = "warning:"
    if has_color(sys.stderr if err else sys.stdout):
        word = typer.style(word, fg=typer.colors.RED, bold=True)
    for fault in faults:
        typer.echo(f"{word}{wrapped(f'warning: {printable(fault)}').removeprefix('warning:')}\n", err=err)


def print_warnings(warnings: tuple[str, ...]) -> None:
    """Print to the error stream what else a reader must know."""
    for warning in warnings:
        typer.echo(wrapped(f"note: {printable(warning)}"), err=True)


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


def check_page(path: Path, inputs: tuple[Path, ...]) -> None:
    """Make sure that writing a page destroys nothing else.

    Raises:
        OutputError: The path is an input, or an existing file that is no page.
    """
    if path.is_dir():
        raise OutputError(f"{path} is a folder.", "Give a file name with -o.")
    if path.exists() and (path.suffix not in PAGE_SUFFIXES or path.resolve() in {p.resolve() for p in inputs}):
        raise OutputError(f"{path} exists and is no page: it is not overwritten.", "Give another name with -o.")
