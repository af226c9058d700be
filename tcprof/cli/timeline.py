"""``tcprof timeline``."""

from typing import Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import (
    DepthOption,
    FilterOption,
    ForceOption,
    GpuOption,
    OutputOption,
    RecordingArgument,
    RowLimitOption,
    TableFormatOption,
    WarmUpOption,
    WideOption,
    choose_format,
    select_rows,
)
from tcprof.cli.output import print_document, progress
from tcprof.views import ROWS_SHOWN


@app.command(epilog="Example: tcprof timeline run.nsys-rep --filter backward --iteration step")
def timeline(
    recording: RecordingArgument,
    gpu: GpuOption = None,
    pattern: FilterOption = None,
    depth: DepthOption = None,
    iteration: Annotated[
        str | None,
        typer.Option(
            "--iteration",
            metavar="NAME",
            help="The range that iterates; by default the outermost with 5 or more instances and the most GPU time.",
            show_default=False,
        ),
    ] = None,
    warm_up: WarmUpOption = None,
    limit: RowLimitOption = ROWS_SHOWN,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """Show where every nanosecond of the GPU's time went, and what the figures are based on.

    Each moment between a range's first activity and its last is a tensor kernel, another kernel (memory-bound,
    FP32 on CUDA cores, issue-bound, a small grid or none of these), communication, a copy or memset, or idle. The
    ledger lists what could not be attributed.
    """
    import tcprof
    from tcprof.views.recording.time import view_timeline

    chosen = choose_format(output_format, output, (recording,), force=force)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, warm_up=warm_up, iteration=iteration)
    rows = select_rows(analysis.timeline, gpu, pattern, depth)
    document = view_timeline(analysis, analysis.findings, rows, gpu, limit or None)
    print_document(document, chosen, output, wide=wide)
