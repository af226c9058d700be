"""``tcprof advise``."""

from tcprof.cli.app import app
from tcprof.cli.options import (
    ForceOption,
    OutputOption,
    RecordingArgument,
    TableFormatOption,
    WarmUpOption,
    choose_format,
)
from tcprof.cli.output import print_document, progress


@app.command(epilog="Example: tcprof advise run.nsys-rep")
def advise(
    recording: RecordingArgument,
    warm_up: WarmUpOption = None,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
) -> None:
    """Say what to do first, and what it is likely to win of a step.

    Each finding has its price, low, likely and high: the exposed time that it saves, as far as the CPU leaves it; the
    evidence; and code to paste. What is likely to win under 1 % of a step is named last.
    """
    import tcprof
    from tcprof.views.recording.advice import view_advice

    chosen = choose_format(output_format, output, (recording,), force=force)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, warm_up=warm_up)
    print_document(view_advice(analysis, analysis.findings), chosen, output)
