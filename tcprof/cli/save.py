"""``tcprof save``."""

from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli import app
from tcprof.cli.options import ForceOption, PeakOption, RecordingArgument, WarmUpOption, WindowOption
from tcprof.cli.output import check_target, progress
from tcprof.cli.streams import echo_path


@app.command(epilog="Example: tcprof save run.nsys-rep, then tcprof report run.tcprof")
def save(
    recording: RecordingArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="The file; by default RECORDING.tcprof in this folder.", show_default=False
        ),
    ] = None,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    peak_tflops: PeakOption = None,
    force: ForceOption = False,
) -> None:
    """Write the analysis of a recording into one small file, which every command takes in place of the recording.

    It has the figures and what a page draws, and nothing else that a report holds of the machine: no environment, no
    command line, no output of the program. NVTX names come from the program itself and are kept.
    """
    import tcprof

    target = output or Path(f"{recording.stem}.tcprof")
    check_target(target, (recording,), force=force, for_recording=True)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, warm_up=warm_up, peak_tflops=peak_tflops)
    with progress(f"Writing {target.name}"):
        analysis.save(target)
    echo_path(target)
