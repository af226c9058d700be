"""The commands that write files of a recording: a page, its data and figures, a copy that is safe to share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tcprof.cli import app
from tcprof.cli.options import (
    ForceOption,
    NoCacheOption,
    OpenOption,
    PeakOption,
    PlotlyOption,
    RecordingArgument,
    ThemeOption,
    TitleOption,
    WarmUpOption,
    WindowOption,
)
from tcprof.cli.output import (
    add_suffix,
    check_suffix,
    open_page,
    origin_of,
    print_faults,
    print_lines,
    print_notes,
    progress,
    read_recording,
)
from tcprof.cli.streams import echo_path
from tcprof.errors import InputError, UsageError
from tcprof.files import PAGE_SUFFIX, SAVED_SUFFIX
from tcprof.nsys.report import EXPORT_SUFFIX
from tcprof.render.html import PageOptions, PlotlyScript, Theme

if TYPE_CHECKING:
    from tcprof.analysis import Analysis

TRACE_SUFFIXES = (".json", ".json.gz")
FrameFormat = Literal["csv", "spreadsheet", "parquet"]
FigureName = Literal["roofline", "tensor-time", "memory-tensor"]  # see ``tcprof.views.recording.kernels.FIGURES``


@app.command(epilog="Example:\n\ntcprof report run.nsys-rep -o run.html")
def report(
    recording: RecordingArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The page; by default RECORDING.html in this folder.")
    ] = None,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    peak_tflops: PeakOption = None,
    title: TitleOption = None,
    theme: ThemeOption = Theme.AUTO,
    plotlyjs: PlotlyOption = PlotlyScript.EMBED,
    open_it: OpenOption = False,
    no_cache: NoCacheOption = False,
    force: ForceOption = False,
) -> None:
    """Write one HTML page about a recording, or a job in a folder.

    The page is self-contained and opens offline.
    """
    from tcprof.outputs import check_target

    target, origin = add_suffix(output or Path(f"{recording.stem}{PAGE_SUFFIX}"), (PAGE_SUFFIX,)), origin_of(recording)
    check_target(target, (recording,), force=force)
    check_suffix(target, (PAGE_SUFFIX,))
    if recording.is_dir():
        from tcprof.cli.ranks import report_job

        report_job(recording, target, PageOptions(title, theme, plotlyjs, origin))
        echo_path(target)
        return
    analysis = read_recording(recording, window=window, warm_up=warm_up, peak_tflops=peak_tflops, no_cache=no_cache)
    with progress(f"Writing {target.name}"):
        from tcprof.render.html.page import write_page
        from tcprof.views.recording.show import view_recording

        document = view_recording(analysis, analysis.findings)
        write_page(document, target, PageOptions(title, theme, plotlyjs, origin))
    print_faults(analysis.faults)
    print_lines(analysis.findings.headline[:2])  # the page has the rest
    echo_path(target)
    if open_it:
        open_page(target)


@app.command(epilog="Examples:\n\ntcprof save run.nsys-rep\n\ntcprof report run.tcprof")
def save(
    recording: RecordingArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file; by default RECORDING.tcprof in this folder.")
    ] = None,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    peak_tflops: PeakOption = None,
    no_cache: NoCacheOption = False,
    force: ForceOption = False,
) -> None:
    """Write the analysis of a recording into one small file.

    Every command takes it in place of the recording. It holds the figures and what a page draws, and nothing else: no
    environment, no command line, no output of the program. It keeps the names of the recording's file, the program,
    NVTX ranges and kernels.
    """
    from tcprof.outputs import check_target

    target = add_suffix(output or Path(f"{recording.stem}{SAVED_SUFFIX}"), (SAVED_SUFFIX,))
    check_target(target, (recording,), force=force, for_recording=True)
    check_suffix(target, (SAVED_SUFFIX,))
    analysis = read_recording(recording, window=window, warm_up=warm_up, peak_tflops=peak_tflops, no_cache=no_cache)
    with progress(f"Writing {target.name}"):
        analysis.save(target)
    echo_path(target)


@app.command(epilog="Example:\n\ntcprof export run.nsys-rep --chrome-trace run.json.gz")
def export(
    recording: RecordingArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder for the frames, created if absent; with --figure, the file to draw: .svg, .png or .html.",
        ),
    ] = None,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    file_format: Annotated[FrameFormat, typer.Option("--format", help="File format of the frames.")] = "csv",
    chrome_trace: Annotated[
        Path | None,
        typer.Option(
            "--chrome-trace",
            metavar="FILE",
            help="Write a trace for Perfetto and chrome://tracing; the name must end in .json or .json.gz.",
        ),
    ] = None,
    figure: Annotated[
        FigureName | None, typer.Option("--figure", help="Draw this figure of the page in place of the frames.")
    ] = None,
    no_cache: NoCacheOption = False,
    force: ForceOption = False,
) -> None:
    """Write a recording's frames, a Chrome trace, or a figure.

    Ranges, kernels and samples are among the frames; docs/metrics.md explains each column.
    """
    _check_usage(output, chrome_trace, figure)
    from tcprof.outputs import check_target
    from tcprof.render.files import check_folder, write_frames
    from tcprof.views.recording import describe_base

    if output is not None and figure is None:
        check_folder(output, file_format, (recording,), force=force)
    for file in (output if figure else None, chrome_trace):
        if file is not None:
            check_target(file, (recording,), force=force)
    analysis = read_recording(recording, window=window, warm_up=warm_up, no_cache=no_cache)
    notes = (*describe_base(analysis), *analysis.warnings)  # before anything is written: a saved one may be damaged
    written = []
    if output is not None and figure is not None:
        with progress(f"Drawing {output.name}"):
            _draw(analysis, figure, output)
        written.append(output)
    elif output is not None:
        with progress(f"Writing {output}"):
            written += write_frames(analysis, analysis.findings, output, file_format)
    if chrome_trace is not None:
        from tcprof.render.chrome_trace import write_chrome_trace

        with progress(f"Writing {chrome_trace.name}"):
            write_chrome_trace(analysis, analysis.findings, chrome_trace)
        written.append(chrome_trace)
    print_faults(analysis.faults)
    print_notes(notes)
    for path in written:
        echo_path(path)


def _draw(analysis: "Analysis", name: FigureName, target: Path) -> None:
    from tcprof.render.files import write_figure
    from tcprof.views.recording.kernels import FIGURES, why_undrawn

    caption, make = FIGURES[name]
    drawn = make(analysis)
    if not drawn.data:
        raise InputError(f"{analysis.recording.file} has no figure {name}.", why_undrawn(analysis, name))
    write_figure(drawn, analysis.recording.file, caption, target)


def _check_usage(output: Path | None, chrome_trace: Path | None, figure: FigureName | None) -> None:
    """Make sure that there is something to write, before a large recording is read."""
    if figure is not None:
        from tcprof.render.files import SUFFIXES, check_drawing

        if output is None or output.suffix not in SUFFIXES:
            given = "without -o" if output is None else f"-o {output}"
            raise UsageError(
                f"--figure {figure} {given} names no file to draw.", f"Give one: -o {figure}.svg, .png or .html."
            )
        check_drawing(output)
    if output is None and chrome_trace is None:
        raise UsageError(
            "There is nothing to write.", "Give a folder for the frames with -o, or a file with --chrome-trace."
        )
    if chrome_trace is not None and (
        not chrome_trace.name.endswith(TRACE_SUFFIXES) or chrome_trace.name in TRACE_SUFFIXES
    ):
        raise UsageError(
            f"--chrome-trace {chrome_trace} ends neither in .json nor in .json.gz.",
            "Perfetto and chrome://tracing read .json and .json.gz.",
        )


@app.command(epilog="Example:\n\ntcprof redact run.nsys-rep")
def redact(
    recording: RecordingArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="The copy, an SQLite export; by default NAME-redacted.sqlite beside the recording."
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a copy of a recording that is safe to share.

    A report holds the environment variables and command lines of the processes on the machine, host and user names,
    and the program's output. The copy has GPU work, metrics, CUDA calls and NVTX ranges only. tcprof lists what
    it leaves out, and searches the copy for it. NVTX names come from the program itself and are kept.
    """
    from tcprof.nsys.export import find_export
    from tcprof.nsys.locate import find_nsys
    from tcprof.outputs import check_target
    from tcprof.sources.nsys import NSYS
    from tcprof.sources.registry import find_type

    copy = add_suffix(output or name_copy(recording), (EXPORT_SUFFIX,))
    check_target(copy, (recording,), force=force, for_recording=True)
    check_suffix(copy, (EXPORT_SUFFIX,))
    if (found := find_type(recording)) is not NSYS:
        raise InputError(
            f"{recording} is one of the {found.title}; only {NSYS.title} can be redacted.",
            "tcprof does not know what private data such a file holds: look at it before you share it.",
        )
    with progress(f"Reading {recording.name}"):
        source = find_export(recording, find_nsys)
    write_copy(source, copy)
    echo_path(copy)


def name_copy(recording: Path) -> Path:
    """What the copy of a recording is called, if nothing else is asked for."""
    return recording.with_name(f"{recording.stem}-redacted.sqlite")


def write_copy(export: Path, copy: Path) -> None:
    """Write a redacted copy of an export, and say what it leaves out."""
    from tcprof.outputs import replace_file
    from tcprof.redaction.redact import redact as write_redacted
    from tcprof.views.commands import describe_redaction

    with progress(f"Writing {copy.name}"), replace_file(copy, for_recording=True) as target:
        redaction = write_redacted(export, target)
    print_lines(describe_redaction(redaction))
