"""``tcprof export``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import ForceOption, RecordingArgument, WarmUpOption, Window, WindowOption
from tcprof.cli.output import print_faults, print_notes, progress
from tcprof.cli.streams import show_path
from tcprof.cli.targets import check_folder, check_target
from tcprof.errors import UsageError

TRACE_SUFFIXES = (".json", ".json.gz")


class FrameFormat(StrEnum):
    """What a frame is written as."""

    CSV = "csv"
    SPREADSHEET = "spreadsheet"
    PARQUET = "parquet"


@app.command(epilog="Example: tcprof export run.nsys-rep --chrome-trace run.json.gz")
def export(
    recording: RecordingArgument,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for the frames; created if absent.", show_default=False),
    ] = None,
    window: WindowOption = Window.GPU,
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
    force: ForceOption = False,
) -> None:
    """Write the frames behind all figures, or a trace.

    Ranges, kernels and samples are among the frames; docs/metrics.md explains each column.
    """
    _check_usage(output, chrome_trace)
    import tcprof
    from tcprof.render.frames import list_files, write_frames
    from tcprof.views.recording.facts import describe_base

    if output is not None:
        check_folder(output, list_files(file_format), (recording,), force=force)
    if chrome_trace is not None:
        check_target(chrome_trace, (recording,), force=force)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, warm_up=warm_up)
    written = []
    if output is not None:
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
        show_path(path)


def _check_usage(output: Path | None, chrome_trace: Path | None) -> None:
    """Make sure that there is something to write, before a large recording is read.

    Raises:
        UsageError: Nothing is asked for, or the trace's name does not end like a trace's.
    """
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
