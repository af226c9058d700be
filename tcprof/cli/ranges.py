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
    WarmUpOption,
    Window,
    WindowOption,
    app,
    describe_findings,
    print_table,
    progress,
    select_rows,
)


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
    from tcprof.findings.notes import NO_KERNELS, why_no_kernels
    from tcprof.report.data import data
    from tcprof.report.text import tables as text

    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, ("tensor_active_pct",), kernels, warm_up)
    notes = []
    missing = why_no_kernels(analysis)
    if missing and missing != NO_KERNELS:  # that is among the recording's warnings
        notes.append(f"{missing}.")
    elif analysis.tensor_source == "none" and len(analysis.launched):
        notes.append("The share of tensor kernels (~) is estimated from kernel names.")
    recorded, source = text.describe_recording(analysis)
    rows = select_rows(analysis.ranges, gpu, pattern, depth)
    print_table(
        rows,
        output,
        as_json=lambda: data.render_ranges_json(analysis, rows),
        as_listings=lambda: text.list_ranges(analysis, rows),
        notes=[recorded, "", *describe_findings(analysis, gpu), "", source],
        base=text.describe_base(analysis),
        faults=analysis.faults,
        warnings=(*analysis.warnings, *notes),
    )
