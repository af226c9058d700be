"""``tcprof redact``."""

from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import RecordingArgument, app, progress
from tcprof.errors import OutputError


@app.command(epilog="Example: tcprof redact run.nsys-rep -o run-redacted.sqlite")
def redact(
    recording: RecordingArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The copy, an SQLite export.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a copy of a recording that is safe to share.

    A report holds the environment variables and command lines of the processes on the machine, host and user names,
    and the program's output. The copy has GPU work, metrics, CUDA calls and NVTX ranges only. NVTX names are the
    program's own words and are kept.
    """
    from tcprof.nsys.export import find_export
    from tcprof.nsys.locate import find_nsys
    from tcprof.report.files import replace_file
    from tcprof.trace.redact import redact as write_redacted

    if output.exists() and (not force or output.resolve() == recording.resolve()):
        raise OutputError(f"{output} exists already.", "Choose another name, or replace it with --force.")
    with progress(f"Reading {recording.name}"):
        source = find_export(recording, find_nsys)
    with progress(f"Writing {output.name}"), replace_file(output) as target:
        left_out = write_redacted(source, target)
    typer.echo(
        f"Left out: {left_out.tables} tables, {left_out.rows:,} rows of others, {left_out.strings:,} strings. "
        "NVTX range names are kept.",
        err=True,
    )
    typer.echo(output)
