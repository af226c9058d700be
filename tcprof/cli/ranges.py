"""``tcprof ranges``."""

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
    output: FormatOption = Format.TEXT,
) -> None:
    """Tensor Active of every NVTX range and of the whole capture.

    A row stands for all instances of a range with the same path. The interval is the 95 % interval of the mean over
    the instances; "active time" is Tensor Active integrated over the window, and adds up.
    """
    import tcprof
    from tcprof.report import data, text

    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, metrics=("tensor_active_pct",), kernels=False)
    rows = select_rows(analysis.ranges, gpu, pattern, depth)
    print_table(
        rows,
        output,
        as_json=lambda: data.render_ranges_json(analysis, rows),
        as_listings=lambda: text.list_ranges(analysis, rows),
        notes=text.describe_recording(analysis),
        warnings=analysis.warnings,
    )
