"""``tcprof export``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import RecordingArgument, Window, WindowOption, app, print_faults, print_warnings, progress


class FrameFormat(StrEnum):
    """What a frame is written as."""

    CSV = "csv"
    PARQUET = "parquet"


@app.command(epilog="Example: tcprof export run.nsys-rep -o run-frames --format parquet")
def export(
    recording: RecordingArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write into; made if absent.")],
    window: WindowOption = Window.GPU,
    file_format: Annotated[FrameFormat, typer.Option("--format", help="What to write.")] = FrameFormat.CSV,
) -> None:
    """Write the frames, ranges, kernels and samples among them. docs/metrics.md tells each column."""
    import tcprof
    from tcprof.report.data import write_frames

    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window)
    with progress(f"Writing {output}"):
        written = write_frames(analysis, output, file_format)
    print_faults(analysis.faults, err=True)
    print_warnings(analysis.warnings)
    for path in written:
        typer.echo(path)
