"""``tcprof report``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import app
from tcprof.cli.options import (
    ForceOption,
    OpenOption,
    PeakOption,
    PlotlyOption,
    RecordingArgument,
    ThemeOption,
    TitleOption,
    WarmUpOption,
    WindowOption,
)
from tcprof.cli.output import check_target, open_page, origin_of, print_faults, print_lines, print_notes, progress
from tcprof.cli.streams import echo_path
from tcprof.render.html.options import PageOptions, PlotlyScript, Theme


@app.command(epilog="Example: tcprof report run.nsys-rep -o run.html")
def report(
    recording: RecordingArgument,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The page; by default RECORDING.html in this folder.", show_default=False),
    ] = None,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    peak_tflops: PeakOption = None,
    title: TitleOption = None,
    theme: ThemeOption = Theme.AUTO,
    plotlyjs: PlotlyOption = PlotlyScript.EMBED,
    open_it: OpenOption = False,
    force: ForceOption = False,
) -> None:
    """Write one HTML page about a recording; it is self-contained and opens offline."""
    import tcprof
    from tcprof.arrays import return_freed_memory

    target, origin = output or Path(f"{recording.stem}.html"), origin_of(recording)
    check_target(target, (recording,), force=force, origin="" if output else origin)
    with progress(f"Reading {recording.name}"):
        analysis = tcprof.read(recording, window, warm_up=warm_up, peak_tflops=peak_tflops)
        analysis = replace(analysis, tensor={})  # only a comparison asks for it again
        return_freed_memory()
    with progress(f"Writing {target.name}"):
        from tcprof.findings import summarize_checks
        from tcprof.render.html.report import write_report
        from tcprof.views.recording.facts import describe_base

        write_report(analysis, analysis.findings, target, PageOptions(title, theme, plotlyjs, origin))
    print_faults(analysis.faults)
    print_lines((*analysis.verdict, *summarize_checks(analysis.checks), *describe_base(analysis)))
    print_notes(analysis.warnings)
    echo_path(target)
    if open_it:
        open_page(target)
