"""``tcprof doctor``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import NsysOption, Output, app, has_color, progress, width

NOT_READY = 3


@app.command(epilog="Examples: tcprof doctor;  tcprof doctor --format json")
def doctor(
    nsys: NsysOption = None,
    output_format: Annotated[Output, typer.Option("--format", help="How to print the checks.")] = Output.TEXT,
) -> None:
    """Tell whether GPU metrics can be recorded on this machine, and if not, why and what to do.

    Looks for nsys, its importer, GPUs, permission to read counters, other profilers, disk and Python; then samples the
    GPUs for a moment. Nothing is changed. The exit status is 0 if a recording is possible, else 3.
    """
    from tcprof.record.doctor.checkup import check_up
    from tcprof.report.text.checks import is_ready, render_checks, render_checks_json

    with progress("Looking at this machine"):
        checks = check_up(Path.cwd(), nsys)
    if output_format is Output.JSON:
        typer.echo(render_checks_json(checks))
    else:
        typer.echo(render_checks(checks, width(), has_color(sys.stdout)))
    if not is_ready(checks):
        raise typer.Exit(NOT_READY)
