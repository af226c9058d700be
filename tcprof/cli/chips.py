"""The command that lists the boards whose peaks are known."""

from tcprof.cli import app
from tcprof.cli.options import ForceOption, OutputOption, TableFormatOption, WideOption, choose_format
from tcprof.cli.output import print_document


@app.command(epilog="Examples: tcprof chips;  tcprof chips --format json")
def chips(
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """List the GPU boards that tcprof knows, with their peaks.

    SMs, clock, memory bandwidth, and the dense peak of each precision: HFU and MFU are of these. What no
    source states, or sources state differently, is unknown (–).
    """
    from tcprof.views.commands import view_boards

    chosen = choose_format(output_format, output, force=force)
    print_document(view_boards(), chosen, output, wide=wide)
