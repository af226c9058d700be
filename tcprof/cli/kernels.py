"""``tcprof kernels``."""

from enum import StrEnum
from typing import Annotated

import typer

from tcprof.cli.app import (
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


class Rows(StrEnum):
    """What a row of the table stands for."""

    KERNEL = "kernel"
    PATH = "path"


@app.command(epilog="Example: tcprof kernels run.nsys-rep --filter nvjet --by path")
def kernels(
    recording: RecordingArgument,
    by: Annotated[
        Rows, typer.Option("--by", help="A row for each kernel and launch geometry, or for each path as well.")
    ] = Rows.KERNEL,
    gpu: GpuOption = None,
    pattern: Annotated[
        str | None,
        typer.Option("--filter", metavar="REGEX", help="Only kernels in whose name it is found.", show_default=False),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Show so many, those that took longest; 0 for all.")
    ] = 20,
    warm_up: WarmUpOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Tensor Active of every kernel, fitted from the samples, and whether its name says the same.

    Samples are longer than most kernels, so the figures are solved for: they hold for the kernel's own time. JSON and
    CSV have all rows and columns.
    """
    import tcprof
    from tcprof.findings import describe_warm_up
    from tcprof.report.data import data
    from tcprof.report.text import kernels as kernel_text
    from tcprof.report.text import tables as text

    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, warm_up=warm_up)
    table = analysis.kernels_by_path if by is Rows.PATH else analysis.kernels
    rows = select_rows(table, gpu, pattern, None, column="name")
    shown = rows.groupby("gpu", sort=False).head(limit) if limit else rows
    hidden = len(rows) - len(shown)
    is_table = output in (Format.TEXT, Format.MARKDOWN)
    notes = (f"{hidden} more kernels are not shown; --limit 0 shows them.",) if hidden and is_table else ()
    print_table(
        rows,
        output,
        as_json=lambda: data.render_kernels_json(analysis, rows),
        as_listings=lambda: kernel_text.list_kernels(analysis, shown, by is Rows.PATH),
        notes=[text.describe_recording(analysis)[0], kernel_text.describe_fit(analysis)],
        base=[described] if by is Rows.PATH and (described := describe_warm_up(analysis)) else [],
        faults=analysis.faults,
        warnings=(*notes, *analysis.warnings),
    )
