"""The options that commands share, and the choice of rows that they make."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from tcprof.cli.output import BRIEF, TEXT, add_suffix
from tcprof.errors import InputError, UsageError
from tcprof.files import PAGE_SUFFIX
from tcprof.render.formats import formats_for, load_format
from tcprof.render.html import PlotlyScript, Theme
from tcprof.untrusted import one_line

if TYPE_CHECKING:
    import pandas as pd


Window: TypeAlias = Literal["gpu", "host", "busy"]  # that figures from samples are taken over


def format_option(formats: tuple[str, ...], help_text: str) -> Any:
    """A ``--format`` that offers and takes these formats only."""

    def check(given: str) -> str:
        if given not in formats:
            raise typer.BadParameter(f"{given!r} is not one of {', '.join(formats)}.")
        return given

    return typer.Option(
        "--format",
        metavar="|".join(formats),
        parser=check,
        autocompletion=lambda: [*formats],
        help=help_text,
        show_default=False,
    )


_MATCHED = {"path": "range", "name": "kernel", "module": "module"}  # what a column of names is of
_LISTED, _LONGEST = 8, 60  # names, and characters of each
LIST_FORMATS = formats_for()
TABLE_FORMATS = formats_for("rows")
_FORMAT_HELP = "Output format; by default what the name of -o ends in, otherwise text."


def find_stored(ctx: typer.Context, given: Path) -> Path:
    """What is given, or where it names runs of a store, such as main@latest, a file or a folder of their analyses.

    They are gone when the command has ended.
    """
    from tcprof.history.names import names_runs, write_runs

    if ctx.resilient_parsing or not names_runs(given):
        return given
    from tcprof.files import temporary_folder
    from tcprof.history.store import open_store

    return write_runs(open_store(create=False), str(given), ctx.with_resource(temporary_folder()))


RecordingArgument = Annotated[
    Path,
    typer.Argument(
        callback=find_stored,
        metavar="RECORDING",
        help="A report (.nsys-rep), its SQLite export, a saved analysis (.tcprof), or a trace of PyTorch or JAX.",
    ),
]
WindowOption = Annotated[
    Window,
    typer.Option(
        "--window",
        help="Window for figures from samples: gpu, from a range's first GPU activity to its last; host, the range "
        "on the CPU; busy, only while its GPU work runs.",
    ),
]
WarmUpOption = Annotated[
    str | None,
    typer.Option(
        "--warm-up",
        metavar="N|all",
        help="Exclude the first N steps from the figures per range, or count all of them; by default, tcprof "
        "excludes the warm-up that it detects.",
    ),
]
PeakOption = Annotated[
    float | None,
    typer.Option(
        "--peak-tflops",
        metavar="TFLOPS",
        help="Peak in 10^12 FLOP/s for HFU and MFU; by default, the dense peak of each kernel's precision at the "
        "boost clock.",
    ),
]
ListFormatOption = Annotated[str | None, format_option(LIST_FORMATS, _FORMAT_HELP)]
TableFormatOption = Annotated[str | None, format_option(TABLE_FORMATS, _FORMAT_HELP)]
ScreenLimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit", min=1, help="Number of rows in each table; by default up to 5, so that all fits on 30 lines."
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Write to this file instead of the terminal; a name without a suffix gets that of the format.",
    ),
]
EveryOption = Annotated[
    bool, typer.Option("--all", help="Show every range: also ops, ranges of libraries, and similar ranges one by one.")
]
NotesOption = Annotated[bool, typer.Option("--notes", help="Also show the evidence, and what the figures cover.")]
WideOption = Annotated[
    bool, typer.Option("--wide", help="Show all columns and whole names in tables, however long the lines get.")
]
NsysOption = Annotated[
    Path | None, typer.Option("--nsys", help="The nsys to use.", envvar="TCPROF_NSYS", show_envvar=True)
]
GpuOption = Annotated[int | None, typer.Option("--gpu", help="Only this GPU.")]
FilterOption = Annotated[str | None, typer.Option("--filter", metavar="REGEX", help="Only names that match.")]
NcuOption = Annotated[
    str | None,
    typer.Option(
        "--ncu",
        metavar="REGEX",
        help="Print only the Nsight Compute command that profiles the longest matching kernel.",
    ),
]
DepthOption = Annotated[
    int | None, typer.Option("--depth", min=0, help="Only ranges up to this nesting depth; 1 is the outermost.")
]
AllOption = Annotated[
    bool, typer.Option("--all", help="Show everything: all quantities, ranges, modules and kernels, and the notes.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Also fail, with status 1, if a condition is inconclusive.")
]
MismatchOption = Annotated[
    bool,
    typer.Option("--allow-mismatch", help="Compare even if the result is meaningless: one side has no work on a GPU."),
]
TitleOption = Annotated[str | None, typer.Option("--title", help="Title of the page.")]
ThemeOption = Annotated[Theme, typer.Option("--theme", help="Colours of the page; auto follows the reader's system.")]
PlotlyOption = Annotated[
    PlotlyScript,
    typer.Option("--plotlyjs", help="Where the page loads plotly.js from: itself, a file beside it, or the network."),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force", help=("Overwrite files that tcprof did not write; a recording is only replaced by a new recording.")
    ),
]


NoCacheOption = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Neither use nor write the cached analysis; TCPROF_CACHE=0 turns the cache off for all commands.",
    ),
]


def choose_format(
    given: str | None,
    output: Path | None,
    inputs: tuple[Path, ...] = (),
    formats: tuple[str, ...] = TABLE_FORMATS,
    *,
    force: bool = False,
    others: tuple[str, ...] = (),
) -> str:
    """The format that was asked for, or the one that the output's name ends in; text where it ends in none.

    Args:
        others: Further suffixes that the command writes.

    Raises:
        UsageError: The name ends in a suffix of none of these, and no format was given.
        OutputError: The output cannot be written, or must not be.
    """
    from tcprof.outputs import check_target

    if output is None:
        return given or TEXT
    if given is None and not output.suffix:
        given = TEXT
    if given is not None:
        check_target(add_suffix(output, load_format(given).SUFFIXES), inputs, force=force)
        return given
    check_target(output, inputs, force=force)
    ends = {suffix: name for name in formats for suffix in load_format(name).SUFFIXES}
    if output.suffix not in ends:
        raise UsageError(
            f"-o {output} has the suffix of no format that this command writes",
            f"End it in {', '.join([*ends, *others])}, or add --format {'|'.join(formats)}.",
        )
    return ends[output.suffix]


def choose_outputs(
    given: str | None,
    output: Path | None,
    inputs: tuple[Path, ...] = (),
    formats: tuple[str, ...] = TABLE_FORMATS,
    *,
    force: bool = False,
) -> tuple[str, Path | None, Path | None]:
    """Choose the format, the file that has it, if any, and the page, of a command that writes one as NAME.html.

    Beside a page it is ``BRIEF``, unless one is given.

    Raises:
        As ``choose_format`` does.
    """
    from tcprof.outputs import check_target

    if output is None or output.suffix != PAGE_SUFFIX:
        return choose_format(given, output, inputs, formats, force=force, others=(PAGE_SUFFIX,)), output, None
    check_target(output, inputs, force=force)
    return given or BRIEF, None, output


def select_rows(
    rows: "pd.DataFrame", gpu: int | None, pattern: str | None, depth: int | None, column: str = "path"
) -> "pd.DataFrame":
    """The rows of a table that the options ask for.

    Raises:
        UsageError: The recording has no such GPU, or the pattern is not a regular expression.
        InputError: No name matches the pattern.
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
            raise UsageError(f"{pattern!r} is not a regular expression: {error}.") from error
        found = selected[column].map(lambda name: matches.search(name) is not None)
        found = found.astype(bool)  # of no rows the type is not known
        if not found.any():
            raise InputError(f"No {_MATCHED[column]} matches {pattern!r}.", _list_names(selected[column]))
        selected = selected[found]
    return selected if depth is None else selected[selected["depth"] <= depth]


def _list_names(names: "pd.Series[str]") -> str:
    """A sentence with the first names that a recording has."""
    known = [name for name in names.unique().tolist() if name]
    more = [f"{len(known) - _LISTED} more"] if len(known) > _LISTED else []
    listed = [one_line(name, _LONGEST) for name in known[:_LISTED]]
    return f"The recording has: {', '.join([*listed, *more]) or 'none'}."
