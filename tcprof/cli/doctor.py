"""``tcprof doctor``."""

from pathlib import Path

import typer

from tcprof.cli.app import app
from tcprof.cli.options import LIST_FORMATS, ForceOption, ListFormatOption, NsysOption, OutputOption, choose_format
from tcprof.cli.output import print_document, progress

NOT_READY = 3


@app.command(epilog="Examples: tcprof doctor;  tcprof doctor --format json")
def doctor(
    nsys: NsysOption = None,
    output_format: ListFormatOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
) -> None:
    """Check whether GPU metrics can be recorded on this machine, and if not, why and what to do.

    Checks nsys, its importer, GPUs, permission to read counters, other profilers, disk and Python; then samples the
    GPUs for a moment. Nothing is changed. The exit status is 0 if a recording is possible, otherwise 3.
    """
    from tcprof.record.doctor import check_up
    from tcprof.views.commands import is_ready, view_checks

    chosen = choose_format(output_format, output, formats=LIST_FORMATS, force=force)
    with progress("Looking at this machine"):
        checks = check_up(Path.cwd(), nsys)
    print_document(view_checks(checks), chosen, output)
    if not is_ready(checks):
        raise typer.Exit(NOT_READY)
