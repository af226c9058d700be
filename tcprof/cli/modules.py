"""``tcprof modules``."""

from typing import Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import (
    DepthOption,
    FilterOption,
    ForceOption,
    GpuOption,
    OutputOption,
    PeakOption,
    RecordingArgument,
    TableFormatOption,
    WarmUpOption,
    WideOption,
    choose_format,
    select_rows,
)
from tcprof.cli.output import print_document, progress
from tcprof.views import ROWS_SHOWN, Order


@app.command(epilog="Example: tcprof modules run.nsys-rep --sort lost")
def modules(
    recording: RecordingArgument,
    sort: Annotated[
        Order,
        typer.Option(
            "--sort", help="Order of modules beside each other: of calls, by time, or by time lost to the peak."
        ),
    ] = Order.CALLS,
    fold: Annotated[bool, typer.Option("--fold/--no-fold", help="Show layers that are alike as one row.")] = True,
    gpu: GpuOption = None,
    pattern: FilterOption = None,
    depth: DepthOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Number of rows to show, those with the most time; 0 for all.")
    ] = ROWS_SHOWN,
    warm_up: WarmUpOption = None,
    peak_tflops: PeakOption = None,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """Show how the modules of a PyTorch program used the Tensor Cores, forward and backward.

    A row is a module with all modules in it. Times are sums over its kernels, per iteration; Tensor Active is over
    these kernels' own time, from the fit. What is lost is the kernel time, less what its FLOP would take at the chip's
    peak. JSON and CSV have all rows and columns.
    """
    import tcprof
    from tcprof.errors import InputError
    from tcprof.views.recording.modules import NONE, view_modules

    chosen = choose_format(output_format, output, (recording,), force=force)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, warm_up=warm_up, peak_tflops=peak_tflops)
    if analysis.modules.empty:
        raise InputError(f"{recording}: {NONE[0]}", NONE[1])
    rows = select_rows(analysis.modules, gpu, pattern, depth, column="module")
    document = view_modules(analysis, analysis.findings, rows, limit or None, sort, fold)
    print_document(document, chosen, output, wide=wide)
