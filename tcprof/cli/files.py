"""The commands that write files of a recording: a page, its data and figures, a copy that is safe to share."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tcprof.cli import app
from tcprof.cli.options import FORCE, NO_CACHE, PAGE, PEAK, RECORDING, WARM_UP, WINDOW, Asked, CliOption, Options, takes
from tcprof.cli.output import (
    add_suffix,
    check_suffix,
    open_page,
    origin_of,
    print_faults,
    print_lines,
    print_notes,
    progress,
    write_page,
)
from tcprof.cli.streams import echo_path
from tcprof.errors import InputError, UsageError
from tcprof.files import PAGE_SUFFIX, SAVED_SUFFIX
from tcprof.nsys.report import EXPORT_SUFFIX

if TYPE_CHECKING:
    from tcprof.analysis import Analysis

TRACE_SUFFIXES = (".json", ".json.gz")
FrameFormat = Literal["csv", "spreadsheet", "parquet"]
FigureName = Literal["roofline", "tensor-time", "memory-tensor"]  # see ``tcprof.views.recording.kernels.FIGURES``


def output_to(help_text: str) -> Options:
    """Declare the option for the file that a command writes."""
    return CliOption("output", Path | None, None, "-o", "--output").means(help_text)


def _check_output(asked: Asked, output: Path, suffix: str, *, for_recording: bool = False) -> Path:
    """Refuse an output that must not be written; returns it with its suffix."""
    from tcprof.outputs import check_target

    target = add_suffix(output, (suffix,))
    check_target(target, (asked.recording,), force=asked.force, for_recording=for_recording)
    check_suffix(target, (suffix,))
    return target


@app.command(epilog="Example:\n\ntcprof report run.nsys-rep -o run.html")
@takes(
    RECORDING,
    output_to("The page; by default RECORDING.html in this folder."),
    *(WINDOW, WARM_UP, PEAK, PAGE, NO_CACHE, FORCE),
)
def report(asked: Asked) -> None:
    """Write one HTML page about a recording, or a job in a folder.

    The page is self-contained and opens offline.
    """
    from tcprof.sources.registry import is_folder

    recording: Path = asked.recording
    target = _check_output(asked, asked.output or Path(f"{recording.stem}{PAGE_SUFFIX}"), PAGE_SUFFIX)
    options = asked.page_options(origin_of(recording))
    if is_folder(recording):
        from tcprof.cli.ranks import report_job

        report_job(recording, target, options)
        echo_path(target)
        return
    read = asked.read()
    from tcprof.views.recording.show import view_recording

    write_page(view_recording(read.analysis, read.findings, read.advice), target, options)
    print_faults(read.faults)
    print_lines(read.findings.headline[:2])  # the page has the rest
    echo_path(target)
    if asked.open_it:
        open_page(target)


@app.command(epilog="Examples:\n\ntcprof save run.nsys-rep\n\ntcprof report run.tcprof")
@takes(
    RECORDING,
    output_to("The file; by default RECORDING.tcprof in this folder."),
    *(WINDOW, WARM_UP, PEAK, NO_CACHE, FORCE),
)
def save(asked: Asked) -> None:
    """Write the analysis of a recording into one small file.

    Every command takes it in place of the recording. It holds the figures and what a page draws, and nothing else: no
    environment, no command line, no output of the program. It keeps the names of the recording's file, the program,
    NVTX ranges and kernels.
    """
    output = asked.output or Path(f"{asked.recording.stem}{SAVED_SUFFIX}")
    target = _check_output(asked, output, SAVED_SUFFIX, for_recording=True)
    report = asked.read()
    with progress(f"Writing {target.name}"):
        report.save(target)
    echo_path(target)


@app.command(epilog="Example:\n\ntcprof export run.nsys-rep --chrome-trace run.json.gz")
@takes(
    RECORDING,
    output_to("Folder for the frames, created if absent; with --figure, the file to draw: .svg, .png or .html."),
    *(WINDOW, WARM_UP),
    CliOption("file_format", FrameFormat, "csv", "--format").means("File format of the frames."),
    CliOption("chrome_trace", Path | None, metavar="FILE").means(
        "Write a trace for Perfetto and chrome://tracing; the name must end in .json or .json.gz."
    ),
    CliOption("figure", FigureName | None).means("Draw this figure of the page instead of writing frames."),
    *(NO_CACHE, FORCE),
)
def export(asked: Asked) -> None:
    """Write a recording's frames, a Chrome trace, or a figure.

    Ranges, kernels and samples are among the frames; docs/metrics.md explains each column.
    """
    output, chrome_trace, figure = asked.output, asked.chrome_trace, asked.figure
    _check_usage(output, chrome_trace, figure)
    from tcprof.outputs import check_target
    from tcprof.render.chrome_trace import write_chrome_trace
    from tcprof.render.files import check_folder, write_frames
    from tcprof.views.recording import describe_base

    if output is not None and figure is None:
        check_folder(output, asked.file_format, (asked.recording,), force=asked.force)
    for file in (output if figure else None, chrome_trace):
        if file is not None:
            check_target(file, (asked.recording,), force=asked.force)
    report = asked.read()
    notes = (*describe_base(report.analysis), *report.warnings)  # now: a saved one may be damaged
    written = []
    if output is not None:
        with progress(f"Drawing {output.name}" if figure else f"Writing {output}"):
            if figure is not None:
                written.append(_draw(report.analysis, figure, output))
            else:
                written += write_frames(report.analysis, report.findings, output, asked.file_format)
    if chrome_trace is not None:
        with progress(f"Writing {chrome_trace.name}"):
            write_chrome_trace(report.analysis, report.findings, chrome_trace)
        written.append(chrome_trace)
    print_faults(report.faults)
    print_notes(notes)
    for path in written:
        echo_path(path)


def _draw(analysis: "Analysis", name: FigureName, target: Path) -> Path:
    from tcprof.render.files import write_figure
    from tcprof.views.recording.kernels import FIGURES, why_undrawn

    caption, make = FIGURES[name]
    drawn = make(analysis)
    if not drawn.data:
        raise InputError(f"{analysis.recording.file} has no figure {name}.", why_undrawn(analysis, name))
    write_figure(drawn, analysis.recording.file, caption, target)
    return target


def _check_usage(output: Path | None, chrome_trace: Path | None, figure: FigureName | None) -> None:
    """Make sure that there is something to write, before a large recording is read."""
    if figure is not None:
        from tcprof.render.files import SUFFIXES, check_drawing

        if output is None or output.suffix not in SUFFIXES:
            given = "but there is no -o" if output is None else f"not -o {output}"
            raise UsageError(
                f"--figure {figure} needs a file to draw to, {given}.", f"Give one: -o {figure}.svg, .png or .html."
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
@takes(RECORDING, output_to("The copy, an SQLite export; by default NAME-redacted.sqlite beside the recording."), FORCE)
def redact(asked: Asked) -> None:
    """Write a copy of a recording that is safe to share.

    A report holds the environment variables and command lines of the processes on the machine, host and user names, and
    the program's output. The copy has GPU work, metrics, CUDA calls and NVTX ranges only. tcprof lists what it removed,
    and checks that none of it is left in the copy. NVTX names come from the program itself and are kept.
    """
    from tcprof.nsys.export import find_export
    from tcprof.nsys.locate import find_nsys
    from tcprof.sources.nsys import NSYS
    from tcprof.sources.registry import find_type
    from tcprof.sources.saved import SAVED

    recording: Path = asked.recording
    copy = _check_output(asked, asked.output or name_copy(recording), EXPORT_SUFFIX, for_recording=True)
    if (source_type := find_type(recording)) is SAVED:
        raise InputError(
            f"{recording} is a saved analysis: it needs no redaction.",
            "It has no environment, command line or output. It keeps the names of the recording's file, the program, "
            "NVTX ranges and kernels: look at these before you share it.",
        )
    if source_type is not NSYS:
        raise InputError(
            f"tcprof cannot redact {recording}. It does not redact {source_type.title}, only {NSYS.title}.",
            "tcprof does not know what private data such a file holds: look at it before you share it.",
        )
    with progress(f"Reading {recording.name}"):
        source = find_export(recording, find_nsys)
    write_copy(source, copy)
    echo_path(copy)


def name_copy(recording: Path) -> Path:
    """Name the copy of a recording that is given no name."""
    return recording.with_name(f"{recording.stem}-redacted.sqlite")


def write_copy(export: Path, copy: Path) -> None:
    """Write a redacted copy of an export, and print what it leaves out."""
    from tcprof.outputs import replace_file
    from tcprof.redaction.redact import redact as write_redacted
    from tcprof.views.commands import describe_redaction

    with progress(f"Writing {copy.name}"), replace_file(copy, for_recording=True) as target:
        redaction = write_redacted(export, target)
    print_lines(describe_redaction(redaction))
