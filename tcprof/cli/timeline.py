"""``tcprof timeline``."""

from typing import Annotated

import typer

from tcprof.cli.app import (
    DepthOption,
    FilterOption,
    Format,
    FormatOption,
    GpuOption,
    RecordingArgument,
    app,
    print_table,
    progress,
    select_rows,
)


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
            help="The range that iterates; by default the outermost with 5 instances and most time on the GPU.",
            show_default=False,
        ),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Where every nanosecond of the GPU's time went, and what the figures rest on.

    Each moment between a range's first activity and its last is a tensor kernel, another kernel (memory-bound,
    issue-bound or neither), communication, a copy or set, or idle. The ledger lists what could not be attributed.
    """
    import tcprof
    from tcprof.analysis.iterations import find_iterations
    from tcprof.report.data import data
    from tcprof.report.text import kernels as kernel_text
    from tcprof.report.text import tables as text
    from tcprof.report.text import timeline as timeline_text

    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording)
        iterations = analysis.iterations
        if iteration is not None:
            iterations = find_iterations(analysis.instances, analysis.paths, analysis.activities, iteration)
    rows = select_rows(analysis.timeline, gpu, pattern, depth)
    print_table(
        rows,
        output,
        as_json=lambda: data.render_timeline_json(analysis, rows, iterations),
        as_listings=lambda: [*timeline_text.list_timeline(analysis, rows), *timeline_text.list_ledger(analysis, gpu)],
        notes=[
            text.describe_recording(analysis)[0],
            kernel_text.describe_fit(analysis),
            timeline_text.MEANING,
            *timeline_text.describe_iterations(iterations),
            *timeline_text.describe_clocks(analysis.clocks),
        ],
        faults=analysis.faults,
        warnings=(*timeline_text.list_remedies(analysis.ledger), *analysis.warnings),
    )
