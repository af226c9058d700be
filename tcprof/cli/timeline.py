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
    WarmUpOption,
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
    warm_up: WarmUpOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Where every nanosecond of the GPU's time went, and what the figures rest on.

    Each moment between a range's first activity and its last is a tensor kernel, another kernel (memory-bound,
    issue-bound or neither), communication, a copy or set, or idle. The ledger lists what could not be attributed.
    """
    import tcprof
    from tcprof.findings import describe_warm_up
    from tcprof.findings.checks import describe_clocks
    from tcprof.findings.notes import name_iterations
    from tcprof.report.data import data
    from tcprof.report.text import kernels as kernel_text
    from tcprof.report.text import tables as text
    from tcprof.report.text import timeline as timeline_text

    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, warm_up=warm_up, iteration=iteration)
    rows = select_rows(analysis.timeline, gpu, pattern, depth)
    print_table(
        rows,
        output,
        as_json=lambda: data.render_timeline_json(analysis, rows),
        as_listings=lambda: [*timeline_text.list_timeline(analysis, rows), *timeline_text.list_ledger(analysis, gpu)],
        notes=[
            text.describe_recording(analysis)[0],
            kernel_text.describe_fit(analysis),
            timeline_text.MEANING,
            *timeline_text.describe_iterations(analysis.iterations, name_iterations(analysis)),
            *describe_clocks(analysis.clocks),
        ],
        base=[described] if (described := describe_warm_up(analysis)) else [],
        faults=analysis.faults,
        warnings=(*timeline_text.list_remedies(analysis.ledger), *analysis.warnings),
    )
