"""The commands that list what comes with tcprof: the boards whose peaks are known, and the workloads."""

from pathlib import Path

from tcprof.cli import app
from tcprof.cli.options import (
    LIST_FORMATS,
    ForceOption,
    ListFormatOption,
    OutputOption,
    TableFormatOption,
    WideOption,
    choose_format,
)
from tcprof.cli.output import print_document


@app.command(epilog="Examples:\n\ntcprof chips\n\ntcprof chips --format json")
def chips(
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """List the GPU boards that tcprof knows, with their peaks.

    SMs, clock, memory bandwidth, and the dense peak of each precision (HFU and MFU are shares of it). What no source
    states, or sources state differently, is unknown (–).
    """
    from tcprof.views.commands import view_boards

    chosen = choose_format(output_format, output, force=force)
    print_document(view_boards(), chosen, output, wide=wide)


@app.command(epilog="Examples:\n\ntcprof workloads\n\ntcprof workloads --format json")
def workloads(output_format: ListFormatOption = None, output: OutputOption = None, force: ForceOption = False) -> None:
    """List the training scripts that come with tcprof.

    For each, it says what the script shows, and which command records it.
    """
    from tcprof.views.commands import view_workloads
    from tcprof.workloads import find_workloads, read_workloads

    chosen = choose_format(output_format, output, formats=LIST_FORMATS, force=force)
    folder = find_workloads()
    print_document(view_workloads(folder, read_workloads(folder, Path.cwd())), chosen, output)
