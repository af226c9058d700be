"""What commands that show a recording have in common: their options, reading, choosing rows and printing."""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tcprof.cli import options
from tcprof.cli.output import print_document, read_recording

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.api.reading import JudgedAnalysis
    from tcprof.views.document import Document

Options: TypeAlias = Mapping[str, tuple[Any, Any]]  # annotations and defaults by the names of parameters
WINDOW: Options = {"window": (options.WindowOption, "gpu")}
WARM_UP: Options = {"warm_up": (options.WarmUpOption, None)}
PEAK: Options = {"peak_tflops": (options.PeakOption, None)}
NAMES: Options = {"gpu": (options.GpuOption, None), "pattern": (options.FilterOption, None)}
ROWS: Options = {**NAMES, "depth": (options.DepthOption, None)}
EVERY: Options = {"every": (options.EveryOption, False)}
PRINT: Options = {
    "notes": (options.NotesOption, False),
    "output_format": (options.TableFormatOption, None),
    "output": (options.OutputOption, None),
    "no_cache": (options.NoCacheOption, False),
    "force": (options.ForceOption, False),
}
WIDE: Options = {"wide": (options.WideOption, False)}
_READING = ("window", "warm_up", "peak_tflops", "no_cache")


def limit_to(usual: int, help_text: str = "Number of rows to show, most GPU time first; 0 for all.") -> Options:
    """Make the option that says how many rows are shown."""
    return {"limit": (Annotated[int, typer.Option("--limit", min=0, help=help_text)], usual)}


class Look:
    """A recording, and what a command was asked to show of it."""

    def __init__(self, recording: Path, given: Mapping[str, Any]) -> None:
        self.recording, self.given = recording, given
        self.notes: bool = given["notes"]

    @cached_property
    def format(self) -> str:
        """The format to print or write in."""
        return options.choose_format(
            self.given["output_format"], self.given["output"], (self.recording,), force=self.given["force"]
        )

    def read(self, **more: Any) -> "JudgedAnalysis":
        """Read the recording, after it is known that what comes of it can be written."""
        assert self.format
        asked = {name: self.given[name] for name in _READING if name in self.given}
        return read_recording(self.recording, **asked, **more)

    def select(self, rows: "pd.DataFrame", column: str = "path") -> "pd.DataFrame":
        """Choose the rows that the options ask for, see ``select_rows``."""
        gpu, pattern, depth = (self.given.get(name) for name in ("gpu", "pattern", "depth"))
        return options.select_rows(rows, gpu, pattern, depth, column)

    @property
    def most(self) -> int | None:
        """How many rows are shown; None for all."""
        return None if self.given.get("every") else self.given["limit"] or None

    @property
    def folds(self) -> bool:
        """Whether rows that are alike are shown as one."""
        return self.most is not None and self.given["pattern"] is None

    def output(self, document: "Document") -> None:
        """Print a document, or write it to the output."""
        print_document(
            document, self.format, self.given["output"], wide=self.given.get("wide", False), notes=self.notes
        )


def look(*shared: Options) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, whose first parameter is a ``Look``, the argument RECORDING and these options."""
    by_name = {name: option for group in shared for name, option in group.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(command).parameters.values()

        @wraps(command)
        def run(recording: Path, **given: Any) -> None:
            asked = {parameter.name: given.pop(parameter.name) for parameter in own}
            command(Look(recording, given), **asked)

        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [
            inspect.Parameter(
                "recording", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=options.RecordingArgument
            ),
            *(parameter.replace(kind=keyword) for parameter in own),
            *(inspect.Parameter(name, keyword, default=usual, annotation=of) for name, (of, usual) in by_name.items()),
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # which typer reads
        return run

    return decorate
