"""``tcprof ranges``."""

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
    RowLimitOption,
    TableFormatOption,
    WarmUpOption,
    WideOption,
    WindowOption,
    choose_format,
    select_rows,
)
from tcprof.cli.output import print_document, progress
from tcprof.views import ROWS_SHOWN


@app.command(epilog="Example: tcprof ranges run.nsys-rep --filter forward --format csv")
def ranges(
    recording: RecordingArgument,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    peak_tflops: PeakOption = None,
    gpu: GpuOption = None,
    pattern: FilterOption = None,
    depth: DepthOption = None,
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels/--no-kernels",
            help="Fit the kernels, for the share of tensor kernels; without, large recordings are read faster.",
        ),
    ] = True,
    limit: RowLimitOption = ROWS_SHOWN,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """Show Tensor Active of every NVTX range and of the whole capture.

    A row is all instances of a range with the same path. The interval is the 95 % interval of the mean over the
    instances; tensor-active time is Tensor Active integrated over the window, and adds up; "Tensor kernels" is the
    tensor kernels' share of the kernel time. JSON and CSV have all rows and columns.
    """
    import tcprof
    from tcprof.findings import judge
    from tcprof.views.recording.ranges import view_ranges

    chosen = choose_format(output_format, output, (recording,), force=force)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, ("tensor_active_pct",), kernels, warm_up, peak_tflops=peak_tflops)
    rows = select_rows(analysis.ranges, gpu, pattern, depth)
    print_document(view_ranges(analysis, judge(analysis, gpu), rows, limit or None), chosen, output, wide=wide)
