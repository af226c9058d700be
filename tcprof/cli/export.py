"""``tcprof export``."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import ForceOption, RecordingArgument, WarmUpOption, WindowOption
from tcprof.cli.output import check_folder, check_target, print_faults, print_notes, progress
from tcprof.cli.streams import echo_path
from tcprof.errors import InputError, UsageError

if TYPE_CHECKING:
    from tcprof.analysis import Analysis

TRACE_SUFFIXES = (".json", ".json.gz")


class FrameFormat(StrEnum):
    """What a frame is written as."""

    CSV = "csv"
    SPREADSHEET = "spreadsheet"
    PARQUET = "parquet"


class FigureName(StrEnum):
    """What can be drawn; see ``tcprof.views.recording.roofline.FIGURES``."""

    ROOFLINE = "roofline"
    TENSOR_TIME = "tensor-time"
    MEMORY_TENSOR = "memory-tensor"


@app.command(epilog="Example: tcprof export run.nsys-rep --chrome-trace run.json.gz")
def export(
    recording: RecordingArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder for the frames, created if absent; with --figure the file, by its name .svg, .png or .html.",
            show_default=False,
        ),
    ] = None,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    file_format: Annotated[FrameFormat, typer.Option("--format", help="File format of the frames.")] = (
        FrameFormat.CSV
    ),
    chrome_trace: Annotated[
        Path | None,
        typer.Option(
            "--chrome-trace",
            metavar="FILE",
            help="Write a trace for Perfetto and chrome://tracing; the name must end in .json or .json.gz.",
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        FigureName | None,
        typer.Option("--figure", help="Draw this figure of the page in place of the frames.", show_default=False),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write the frames behind all figures, a trace, or one of the page's figures.

    Ranges, kernels and samples are among the frames; docs/metrics.md explains each column.
    """
    _check_usage(output, chrome_trace, figure)
    import tcprof
    from tcprof.render.frames import list_files, write_frames
    from tcprof.views.recording.facts import describe_base

    if output is not None and figure is None:
        check_folder(output, list_files(file_format), (recording,), force=force)
    for file in (output if figure else None, chrome_trace):
        if file is not None:
            check_target(file, (recording,), force=force)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, warm_up=warm_up)
    written = []
    if output is not None and figure is not None:
        with progress(f"Drawing {output.name}"):
            _draw(analysis, figure, output)
        written.append(output)
    elif output is not None:
        with progress(f"Writing {output}"):
            written += write_frames(analysis, analysis.findings, output, file_format)
    if chrome_trace is not None:
        from tcprof.render.chrome_trace.chrome_trace import write_chrome_trace

        with progress(f"Writing {chrome_trace.name}"):
            write_chrome_trace(analysis, analysis.findings, chrome_trace)
        written.append(chrome_trace)
    print_faults(analysis.faults)
    print_notes((*describe_base(analysis), *analysis.warnings))
    for path in written:
        echo_path(path)


def _draw(analysis: "Analysis", name: FigureName, target: Path) -> None:
    """Write a figure.

    Raises:
        InputError: There is nothing to draw.
    """
    from tcprof.render.figures import write_figure
    from tcprof.views.figures.plain import label
    from tcprof.views.recording.roofline import FIGURES, why_undrawn

    caption, make = FIGURES[name]
    drawn = make(analysis)
    if not drawn.data:
        raise InputError(f"{analysis.recording.file} has no figure {name.value}.", why_undrawn(analysis, name))
    write_figure(drawn, f"{label(analysis.recording.file, 60)}. {caption}", target)


def _check_usage(output: Path | None, chrome_trace: Path | None, figure: FigureName | None) -> None:
    """Make sure that there is something to write, before a large recording is read.

    Raises:
        UsageError: Nothing is asked for, or a name does not end as that of such a file does.
        OutputError: What draws such a file is not installed.
    """
    if figure is not None:
        _check_drawing(output, figure)
    if output is None and chrome_trace is None:
        raise UsageError(
            "There is nothing to write.", "Give a folder for the frames with -o, or a file with --chrome-trace."
        )
    if chrome_trace is not None and (
        not chrome_trace.name.endswith(TRACE_SUFFIXES) or chrome_trace.name in TRACE_SUFFIXES
    ):
        raise UsageError(
            f"--chrome-trace {chrome_trace} ends neither in .json nor in .json.gz.",
            "Perfetto and chrome://tracing read these: give such a name.",
        )


def _check_drawing(output: Path | None, figure: FigureName) -> None:
    """The same for a figure."""
    from tcprof.render.figures import SUFFIXES, check_drawing

    if output is None or output.suffix not in SUFFIXES:
        given = "without -o" if output is None else f"-o {output}"
        raise UsageError(
            f"--figure {figure.value} {given} names no file to draw.",
            f"Give one: -o {figure.value}.svg, .png or .html.",
        )
    check_drawing(output)
