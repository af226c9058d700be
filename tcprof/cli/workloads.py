"""``tcprof workloads``."""

from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import Output, app, width


@app.command(epilog="Examples: tcprof workloads;  tcprof workloads --format json")
def workloads(
    output_format: Annotated[Output, typer.Option("--format", help="How to print the list.")] = Output.TEXT,
) -> None:
    """List the training scripts that come with tcprof: what each shows, and the command that records it."""
    from tcprof.report.text.workloads import render_workloads, render_workloads_json
    from tcprof.workloads import find_workloads, read_workloads

    folder = find_workloads()
    found = read_workloads(folder, Path.cwd())
    if output_format is Output.JSON:
        typer.echo(render_workloads_json(folder, found))
    else:
        typer.echo(render_workloads(folder, found, width()))
