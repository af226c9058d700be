"""``tcprof ranges``."""

from typing import Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import (
    DepthOption,
    FilterOption,
    FormatOption,
    GpuOption,
    OutputOption,
    RecordingArgument,
    WarmUpOption,
    Window,
    WindowOption,
    choose_format,
    select_rows,
)
from tcprof.cli.output import print_document, progress


@app.command(epilog="Example: tcprof ranges run.nsys-rep --filter forward --format csv")
def ranges(
    recording: RecordingArgument,
    window: WindowOption = Window.GPU,
    warm_up: WarmUpOption = None,
    gpu: GpuOption = None,
    pattern: FilterOption = None,
    depth: DepthOption = None,
    kernels: Annotated[
        bool | None,
        typer.Option(
            "--kernels/--no-kernels",
            help="Fit the kernels, for the share of tensor kernels; by default if the export is below 100 MB.",
            show_default=False,
        ),
    ] = None,
    output_format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Show Tensor Active of every NVTX range and of the whole capture.

    A row is all instances of a range with the same path. The interval is the 95 % interval of the mean over the
    instances; tensor-active time is Tensor Active integrated over the window, and adds up; "Tensor kernels" is the
    tensor kernels' share of the kernel time.
    """
    import tcprof
    from tcprof.findings import judge
    from tcprof.views.recording.ranges import view_ranges

    chosen = choose_format(output_format, output, (recording,))
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, ("tensor_active_pct",), kernels, warm_up)
    rows = select_rows(analysis.ranges, gpu, pattern, depth)
    print_document(view_ranges(analysis, judge(analysis, gpu), rows), chosen, output)
