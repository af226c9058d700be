"""``tcprof kernels``."""

from enum import StrEnum
from typing import Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import (
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


class Rows(StrEnum):
    """What a row of the table stands for."""

    KERNEL = "kernel"
    PATH = "path"


@app.command(epilog="Example: tcprof kernels run.nsys-rep --filter nvjet --by path")
def kernels(
    recording: RecordingArgument,
    by: Annotated[
        Rows, typer.Option("--by", help="One row for each kernel and launch geometry, or also for each path.")
    ] = Rows.KERNEL,
    gpu: GpuOption = None,
    pattern: FilterOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Number of kernels to show, longest first; 0 for all.")
    ] = 20,
    warm_up: WarmUpOption = None,
    peak_tflops: PeakOption = None,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """Show Tensor Active of every kernel, fitted from the samples, and whether its name agrees.

    Samples are longer than most kernels, so each kernel's figures are solved for; they cover its own time only. JSON
    and CSV have all rows and columns.
    """
    import tcprof
    from tcprof.views.recording.kernels import view_kernels

    chosen = choose_format(output_format, output, (recording,), force=force)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, warm_up=warm_up, peak_tflops=peak_tflops)
    table = analysis.kernels_by_path if by is Rows.PATH else analysis.kernels
    rows = select_rows(table, gpu, pattern, None, column="name")
    print_document(
        view_kernels(analysis, analysis.findings, rows, by is Rows.PATH, limit or None), chosen, output, wide=wide
    )
