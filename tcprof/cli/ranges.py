"""``tcprof ranges``."""

from typing import Annotated

import typer

from tcprof.cli.app import (
    DepthOption,
    FilterOption,
    Format,
    FormatOption,
    GpuOption,
    RecordingArgument,
    Window,
    WindowOption,
    app,
    print_table,
    progress,
    select_rows,
)


@app.command(epilog="Example: tcprof ranges run.nsys-rep --filter forward --format csv")
def ranges(
    recording: RecordingArgument,
    window: WindowOption = Window.GPU,
    gpu: GpuOption = None,
    pattern: FilterOption = None,
    depth: DepthOption = None,
    kernels: Annotated[
        bool | None,
        typer.Option(
            "--kernels/--no-kernels",
            help="Fit the kernels, for the share of tensor kernels; by default unless the export is over 100 MB.",
            show_default=False,
        ),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Tensor Active of every NVTX range and of the whole capture.

    A row stands for all instances of a range with the same path. The interval is the 95 % interval of the mean over
    the instances; "active time" is Tensor Active integrated over the window, and adds up; "kernels tensor" is the
    share of the kernel time that tensor kernels have.
    """
    import tcprof
    from tcprof.report.data import data
    from tcprof.report.text import tables as text

    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, ("tensor_active_pct",), kernels)
    notes = []
    if kernels is None and analysis.launched.empty and len(analysis.activities):
        notes.append("Kernels were not fitted, as the recording is large: --kernels does it, for their share.")
    elif analysis.tensor_source == "none" and len(analysis.launched):
        notes.append("The share of tensor kernels (~) is estimated from kernel names.")
    rows = select_rows(analysis.ranges, gpu, pattern, depth)
    print_table(
        rows,
        output,
        as_json=lambda: data.render_ranges_json(analysis, rows),
        as_listings=lambda: text.list_ranges(analysis, rows),
        notes=text.describe_recording(analysis),
        faults=analysis.faults,
        warnings=(*analysis.warnings, *notes),
    )
