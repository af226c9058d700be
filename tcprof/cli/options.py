"""The options that commands share, each declared once; what was asked with them; and the choice of rows."""

import inspect
import re
from collections.abc import Callable
from functools import cached_property, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from tcprof.cli.output import BRIEF, TEXT, add_suffix, choose_color, print_document, read_recording
from tcprof.errors import InputError, UsageError
from tcprof.files import PAGE_SUFFIX
from tcprof.render.formats import formats_for, load_format
from tcprof.render.html import PageOptions, PlotlyScript, Theme
from tcprof.untrusted import one_line

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.api.reading import Report
    from tcprof.views.document import Document

Options: TypeAlias = dict[str, tuple[Any, Any]]  # annotations and defaults by the names of parameters
Window: TypeAlias = Literal["gpu", "host", "busy"]  # that figures from samples are taken over

_COLUMN_NOUNS = {"path": "range", "name": "kernel", "module": "module"}  # what a column of names is of
_LISTED, _LONGEST = 8, 60  # names, and characters of each
LIST_FORMATS = formats_for()
TABLE_FORMATS = formats_for("rows")
_FORMAT_HELP = "Output format; by default from the suffix of -o, otherwise text."
_READING = ("window", "warm_up", "peak_tflops", "no_cache")


class CliOption:
    """An option of a command, by default called as its parameter."""

    def __init__(self, name: str, kind: Any, default: Any = None, *flags: str, **settings: Any) -> None:
        self.name, self.kind, self.default, self.settings = name, kind, default, settings
        self.flags = flags or (f"--{name.replace('_', '-')}",)
        if kind is bool:
            settings["metavar"] = " "  # a flag takes no value, of which typer would show the type

    def means(self, help_text: str) -> Options:
        """Give the option its help, and declare it."""
        option = typer.Option(*self.flags, help=help_text, **self.settings)
        return {self.name: (Annotated[self.kind, option], self.default)}


COLOR = CliOption("color", Literal["auto", "always", "never"], "auto", callback=choose_color).means(
    "Terminal colours; auto uses them where supported, unless NO_COLOR is set."
)


def paths_argument(name: str, metavar: str, help_text: str) -> Options:
    """Declare an argument of several paths."""
    kind = Annotated[list[Path], typer.Argument(metavar=metavar, help=help_text)]
    return {name: (kind, inspect.Parameter.empty)}


def format_option(formats: tuple[str, ...], help_text: str = _FORMAT_HELP) -> Options:
    """Declare a ``--format`` that offers and takes these formats only."""

    def check(text: str) -> str:
        if text not in formats:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(formats)}.")
        return text

    settings = {"metavar": "|".join(formats), "parser": check, "autocompletion": lambda: [*formats]}
    written = CliOption("output_format", str | None, None, "--format", show_default=False, **settings)
    return written.means(help_text) | COLOR


def limit_to(default: int, help_text: str = "Number of rows to show, most GPU time first; 0 for all.") -> Options:
    """Declare the option for the number of rows."""
    return CliOption("limit", int, default, min=0).means(help_text)


def find_stored(ctx: typer.Context, path: Path) -> Path:
    """Write the runs of a store that a name such as main@latest means into files, which last as long as the command."""
    from tcprof.history.names import is_run_reference, write_runs

    if ctx.resilient_parsing or not is_run_reference(path):
        return path
    from tcprof.files import temporary_folder
    from tcprof.history.store import open_store

    return write_runs(open_store(create=False), str(path), ctx.with_resource(temporary_folder()))


RecordingArgument = Annotated[
    Path,
    typer.Argument(
        callback=find_stored,
        metavar="RECORDING",
        help="A report (.nsys-rep), its SQLite export, a saved analysis (.tcprof), or a trace of PyTorch or JAX.",
    ),
]
RECORDING: Options = {"recording": (RecordingArgument, inspect.Parameter.empty)}
NSYS = CliOption("nsys", Path | None, envvar="TCPROF_NSYS", show_envvar=True).means("Path of the nsys to use.")
WIDE = CliOption("wide", bool, False).means("Show all columns and whole names in tables, however long the lines get.")
FORCE = CliOption("force", bool, False).means("Overwrite files that tcprof did not write; never overwrites recordings.")
WINDOW = CliOption("window", Window, "gpu").means(
    "Window for figures from samples: gpu (from a range's first GPU activity to its last), host (the range on the "
    "CPU) or busy (only while its GPU work runs)."
)
WARM_UP = CliOption("warm_up", str | None, metavar="N|all").means(
    "Exclude the first N steps from the figures per range, or (all) count every step; by default, tcprof excludes the "
    "warm-up that it detects."
)
PEAK = CliOption("peak_tflops", float | None, metavar="TFLOPS").means(
    "Peak in TFLOP/s for HFU and MFU; by default, the dense peak of each kernel's precision at the boost clock."
)
NAMES = CliOption("gpu", int | None).means("Only this GPU.") | CliOption(
    "pattern", str | None, None, "--filter", metavar="REGEX"
).means("Only names that match.")
ROWS = NAMES | CliOption("depth", int | None, min=0).means(
    "Only ranges or modules up to this nesting depth; 1 is the outermost."
)
EVERY = CliOption("every", bool, False, "--all").means(
    "Show every range, including ops, library ranges, and similar ranges one by one."
)
NOTES = CliOption("notes", bool, False).means("Also show the evidence, and what the figures cover.")
NO_CACHE = CliOption("no_cache", bool, False).means(
    "Do not read or write cached analyses; TCPROF_CACHE=0 turns the cache off for all commands."
)
OUTPUT = CliOption("output", Path | None, None, "-o", "--output").means(
    "Write to this file instead of the terminal; a name without a suffix gets the format's suffix."
)
LIST = format_option(LIST_FORMATS) | OUTPUT | FORCE
TABLE = format_option(TABLE_FORMATS) | OUTPUT | FORCE
PRINT = NOTES | TABLE | NO_CACHE
PAGE = (
    CliOption("title", str | None).means("Title of the page.")
    | CliOption("theme", Theme, Theme.AUTO).means("Colours of the page; auto follows the reader's system.")
    | CliOption("plotlyjs", PlotlyScript, PlotlyScript.EMBED).means(
        "Where the page loads plotly.js from: itself, a file beside it, or the network."
    )
    | CliOption("open_it", bool, False, "--open").means("Open the page in the browser.")
)


class Asked(SimpleNamespace):
    """What a command was asked: the values of its options, by the names of their parameters."""

    def read(self, **more: Any) -> "Report":
        """Read the recording, once it is known that what comes of it can be written."""
        if "output_format" in vars(self):
            self.check_output()
        options = {name: value for name, value in vars(self).items() if name in _READING}
        return read_recording(self.recording, **options, **more)

    @cached_property
    def format(self) -> str:
        """Choose the format, once it is known that the output may be written."""
        return self.choose_outputs()[0]

    def check_output(self) -> None:
        """Make sure that the output may be written."""
        assert self.format

    def choose_outputs(
        self, *inputs: Path, formats: tuple[str, ...] = TABLE_FORMATS, has_page: bool = False
    ) -> tuple[str, Path | None, Path | None]:
        """Choose the format, by default ``BRIEF`` beside a page, the file that has it, and the page, of NAME.html."""
        inputs = inputs or ((self.recording,) if "recording" in vars(self) else ())
        name, output = self.output_format, self.output
        if output is None:
            return name or TEXT, None, None
        from tcprof.outputs import check_target

        if has_page and output.suffix == PAGE_SUFFIX:
            check_target(output, inputs, force=self.force)
            return name or BRIEF, None, output
        if name is None and not output.suffix:
            name = TEXT
        check_target(
            output if name is None else add_suffix(output, load_format(name).SUFFIXES), inputs, force=self.force
        )
        ends = {suffix: form for form in formats for suffix in load_format(form).SUFFIXES}
        if name is None and output.suffix not in ends:
            raise UsageError(
                f"-o {output} has the suffix of a format that this command does not write",
                f"End it in {', '.join([*ends, *[PAGE_SUFFIX] * has_page])}, or add --format {'|'.join(formats)}.",
            )
        return name or ends[output.suffix], output, None

    def show(self, document: "Document") -> None:
        """Print a document, or write it to the output."""
        asked = {"wide": False, "notes": True} | vars(self)
        print_document(document, self.format, self.output, wide=asked["wide"], notes=asked["notes"])

    def page_options(self, origin: str = "") -> PageOptions:
        """Return how the page is to look."""
        return PageOptions(self.title, self.theme, self.plotlyjs, origin)

    def select(self, rows: "pd.DataFrame", column: str = "path") -> "pd.DataFrame":
        """Choose the rows that the options ask for, see ``select_rows``."""
        return select_rows(rows, self.gpu, self.pattern, vars(self).get("depth"), column)

    @property
    def most(self) -> int | None:
        """Return how many rows are shown; None for all."""
        return None if vars(self).get("every") else self.limit or None

    @property
    def folds(self) -> bool:
        """Tell whether rows that are alike are shown as one."""
        return self.most is not None and self.pattern is None


def takes(*groups: Options) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options, as attributes of its parameter ``asked``."""
    shared = {name: declared for group in groups for name, declared in group.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        keyword = inspect.Parameter.KEYWORD_ONLY

        @wraps(command)
        def run(**values: Any) -> None:
            asked = Asked(**{name: values.pop(name) for name in shared})
            command(asked=asked, **values)

        parameters = dict(inspect.signature(command).parameters)
        del parameters["asked"]
        paragraphs = (inspect.getdoc(command) or "").split("\n\n")
        run.__doc__ = "\n\n".join(" ".join(text.split()) for text in paragraphs)  # typer keeps the breaks of lines
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # which typer reads
            [
                *(parameter.replace(kind=keyword) for parameter in parameters.values()),
                *(
                    inspect.Parameter(name, keyword, default=usual, annotation=of)
                    for name, (of, usual) in shared.items()
                ),
            ]
        )
        return run

    return decorate


def select_rows(
    rows: "pd.DataFrame", gpu: int | None, pattern: str | None, depth: int | None, column: str = "path"
) -> "pd.DataFrame":
    """Choose the rows of a table by GPU, name and depth."""
    selected = rows
    if gpu is not None:
        selected = selected[selected["gpu"] == gpu]
        if selected.empty:
            gpus = ", ".join(str(number) for number in sorted(rows["gpu"].unique()))
            raise UsageError(f"The recording has no GPU {gpu}.", f"It has: {gpus}.")
    if pattern is not None:
        try:
            expression = re.compile(pattern)
        except re.error as error:
            raise UsageError(f"{pattern!r} is not a regular expression: {error}.") from error
        matches = selected[column].map(lambda name: expression.search(name) is not None)
        matches = matches.astype(bool)  # of no rows the type is not known
        if not matches.any():
            raise InputError(f"No {_COLUMN_NOUNS[column]} matches {pattern!r}.", _list_names(selected[column]))
        selected = selected[matches]
    return selected if depth is None else selected[selected["depth"] <= depth]


def _list_names(names: "pd.Series[str]") -> str:
    """Write a sentence with the first names that a recording has."""
    unique = [name for name in names.unique().tolist() if name]
    more = [f"{len(unique) - _LISTED} more"] if len(unique) > _LISTED else []
    listed = [one_line(name, _LONGEST) for name in unique[:_LISTED]]
    return f"The recording has: {', '.join([*listed, *more]) or 'none'}."
