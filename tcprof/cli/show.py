"""``tcprof show``."""

from typing import Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import (
    ForceOption,
    OutputOption,
    RecordingArgument,
    TableFormatOption,
    WarmUpOption,
    WideOption,
    WindowOption,
    choose_format,
)
from tcprof.cli.output import print_document, progress


@app.command(epilog="Example: tcprof show run.nsys-rep")
def show(
    recording: RecordingArgument,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Number of ranges, and of kernels, to show for each GPU.")
    ] = 8,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """Show a recording on one screen: the verdict, the checks, and the ranges and kernels that matter most."""
    import tcprof
    from tcprof.views.recording.report import view_recording

    chosen = choose_format(output_format, output, (recording,), force=force)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, warm_up=warm_up)
    print_document(view_recording(analysis, analysis.findings, limit, limit), chosen, output, wide=wide)
