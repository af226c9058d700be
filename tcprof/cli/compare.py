"""``tcprof compare``."""

from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import (
    DepthOption,
    FilterOption,
    Format,
    FormatOption,
    GpuOption,
    Window,
    WindowOption,
    app,
    check_page,
    print_table,
    progress,
    select_rows,
)

BaseArgument = Annotated[Path, typer.Argument(metavar="BASE", help="The baseline: a report or its SQLite export.")]
NewArgument = Annotated[Path, typer.Argument(metavar="NEW", help="The recording to compare with it.")]
PageOption = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write an HTML page as well.", show_default=False)
]
TitleOption = Annotated[str | None, typer.Option("--title", help="The page's title.", show_default=False)]


@app.command(epilog="Example: tcprof compare fp32.nsys-rep amp.nsys-rep -o comparison.html")
def compare(
    base: BaseArgument,
    new: NewArgument,
    page: PageOption = None,
    window: WindowOption = Window.GPU,
    gpu: GpuOption = None,
    pattern: FilterOption = None,
    depth: DepthOption = None,
    output: FormatOption = Format.TEXT,
    title: TitleOption = None,
) -> None:
    """Compare two recordings range by range: time, Tensor Active, tensor-active time.

    Times are means per instance of a range, so that runs of different length compare. There is no test of
    significance yet: a small difference may be noise.
    """
    import tcprof
    from tcprof.comparison import compare as compare_analyses
    from tcprof.frames import SAMPLE_METRICS
    from tcprof.report import data, text

    if page is not None:
        check_page(page, (base, new))
    metrics = SAMPLE_METRICS if page is not None else ("tensor_active_pct",)
    analyses = []
    for recording in (base, new):
        with progress(f"Reading {recording.name}"):
            analyses.append(tcprof.read(recording, window, metrics, kernels=False))
    comparison = compare_analyses(*analyses)
    rows = select_rows(comparison.rows, gpu, pattern, depth)
    print_table(
        rows,
        output,
        as_json=lambda: data.render_comparison_json(comparison, rows),
        as_listings=lambda: text.list_comparison(comparison, rows),
        notes=text.describe_comparison(comparison),
        faults=text.all_faults(comparison),
        warnings=text.all_warnings(comparison),
    )
    if page is not None:
        from tcprof.report.page import write_comparison

        with progress(f"Writing {page.name}"):
            write_comparison(comparison, page, title)
        typer.echo(page, err=output is not Format.TEXT)
