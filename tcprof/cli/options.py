"""The options that commands share, and the choice of rows that they make."""

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tcprof.errors import OutputError, UsageError
from tcprof.render.formats import FORMATS
from tcprof.render.html.options import PlotlyScript, Theme

if TYPE_CHECKING:
    import pandas as pd


class Window(StrEnum):
    """Windows that figures from samples are taken over."""

    GPU = "gpu"
    HOST = "host"
    BUSY = "busy"


class Format(StrEnum):
    """How a document is shown: one member for each module of ``tcprof.render.formats``."""

    _ignore_ = ["name_of_format"]  # noqa: RUF012 - Enum takes it out
    for name_of_format in FORMATS:
        locals()[name_of_format.upper()] = name_of_format


TEXT = "text"

RecordingArgument = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="A report (.nsys-rep) or its SQLite export.", show_default=False)
]
WindowOption = Annotated[
    Window,
    typer.Option(
        "--window",
        help="Window that samples are taken from: gpu, from a range's first GPU activity to its last; host, the range "
        "as on the CPU; busy, the time under its activities.",
    ),
]
WarmUpOption = Annotated[
    str | None,
    typer.Option(
        "--warm-up",
        metavar="N|all",
        help="Leave the first N iterations out of the figures per range, or count all; by default, detected warm-up is "
        "left out.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Output format; by default what the name of -o ends in, otherwise text.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Write to this file instead of the terminal.", show_default=False),
]
NsysOption = Annotated[
    Path | None,
    typer.Option("--nsys", help="The nsys to use.", envvar="TCPROF_NSYS", show_default=False, show_envvar=True),
]
GpuOption = Annotated[int | None, typer.Option("--gpu", help="Only this GPU.", show_default=False)]
FilterOption = Annotated[
    str | None,
    typer.Option("--filter", metavar="REGEX", help="Only names that match.", show_default=False),
]
DepthOption = Annotated[
    int | None,
    typer.Option(
        "--depth", min=0, help="Only ranges up to this nesting depth; 1 is the outermost.", show_default=False
    ),
]
TitleOption = Annotated[str | None, typer.Option("--title", help="Title of the page.", show_default=False)]
ThemeOption = Annotated[Theme, typer.Option("--theme", help="Colours of the page; auto follows the reader's system.")]
PlotlyOption = Annotated[
    PlotlyScript,
    typer.Option("--plotlyjs", help="Where the page loads plotly.js from: itself, a file beside it, or the network."),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]


def choose_format(given: Format | None, output: Path | None, inputs: tuple[Path, ...] = ()) -> str:
    """The format that was asked for, or the one that the output's name ends in.

    Args:
        given: The option, if there is one.
        output: The file to write, if there is one.
        inputs: Files that it must not be.

    Raises:
        UsageError: The name does not end in a format's suffix, and no format was given.
        OutputError: The output is a folder, or one of the inputs.
    """
    if output is None:
        return given.value if given else TEXT
    if output.is_dir() or output.resolve() in {path.resolve() for path in inputs}:
        what = "is a folder" if output.is_dir() else "is what is read"
        raise OutputError(f"{output} {what}.", "Give another name with -o.")
    if given is not None:
        return given.value
    from tcprof.render.formats import load_format

    ends = {suffix: name for name in FORMATS for suffix in load_format(name).SUFFIXES}
    if output.suffix not in ends:
        raise UsageError(f"-o {output} does not say which format", f"Add --format, or end it in {', '.join(ends)}.")
    return ends[output.suffix]


def select_rows(
    rows: "pd.DataFrame", gpu: int | None, pattern: str | None, depth: int | None, column: str = "path"
) -> "pd.DataFrame":
    """The rows of a table that the options ask for.

    Raises:
        UsageError: The recording has no such GPU, or the pattern is not a regular expression.
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
            raise UsageError(f"--filter {pattern!r} is not a regular expression: {error}.") from error
        selected = selected[[matches.search(path) is not None for path in selected[column]]]
    return selected if depth is None else selected[selected["depth"] <= depth]
