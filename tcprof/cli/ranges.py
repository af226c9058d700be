"""``tcprof ranges``."""

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
    print_listings,
    print_warnings,
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
    output: FormatOption = Format.TEXT,
) -> None:
    """Tensor Active of every NVTX range and of the whole capture.

    A row stands for all instances of a range with the same path. The interval is the 95 % interval of the mean over
    the instances; "active time" is Tensor Active integrated over the window, and adds up.
    """
    import tcprof
    from tcprof.report import data, text

    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, metrics=("tensor_active_pct",))
    rows = select_rows(analysis.ranges, gpu, pattern, depth)
    if output is Format.JSON:
        typer.echo(data.render_ranges_json(analysis, rows))
    elif output is Format.CSV:
        typer.echo(data.render_csv(rows))
    else:
        print_listings(text.list_ranges(analysis, rows), output, text.describe_recording(analysis))
    if output is not Format.JSON:
        print_warnings(analysis.warnings)
