"""``tcprof profile``."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli.app import Format, app, check_page, print_listings, print_warnings, progress

ProgramArgument = Annotated[
    list[str], typer.Argument(metavar="SCRIPT [ARGS]...", help="A Python script, or any program.")
]
ReportOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The report; SCRIPT.nsys-rep in this folder by default.", show_default=False),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing report.")]
FrequencyOption = Annotated[int, typer.Option("--frequency", help="Samples a second.")]
CaptureRangeOption = Annotated[
    str,
    typer.Option(
        "--capture-range",
        help="What to record: none (all of it), cudaProfilerApi (between torch.cuda.profiler.start() and stop()) "
        "or nvtx:NAME (the first range of that name).",
    ),
]
NsysOption = Annotated[
    Path | None, typer.Option("--nsys", help="The nsys to use.", envvar="TCPROF_NSYS", show_default=False)
]
NsysArgsOption = Annotated[
    str, typer.Option("--nsys-args", help="More options for nsys profile, as one string.", show_default=False)
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print nsys's command line and do nothing.")]


@app.command(
    epilog="Examples: tcprof profile train.py --epochs 1;  tcprof profile -o run -- torchrun --nproc-per-node 2 ddp.py",
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False},
)
def profile(
    program: ProgramArgument,
    output: ReportOption = None,
    force: ForceOption = False,
    frequency: FrequencyOption = 20_000,
    capture_range: CaptureRangeOption = "none",
    nsys: NsysOption = None,
    nsys_args: NsysArgsOption = "",
    dry_run: DryRunOption = False,
) -> None:
    """Record a program under Nsight Systems with GPU metrics, print its ranges and write a page.

    The report, its SQLite export and the page stand side by side, named after the script.
    """
    from tcprof.nsys.command import RecordOptions, report_base
    from tcprof.nsys.plan import plan_recording
    from tcprof.nsys.record import check_output, record

    target = report_base(output or Path(Path(program[0]).stem)).with_suffix(".nsys-rep")
    if not dry_run:
        check_output(target, force)
        check_page(target.with_suffix(".html"), ())
    options = RecordOptions(
        output=target,
        frequency_hz=frequency,
        capture_range=capture_range,
        extra_args=tuple(shlex.split(nsys_args)),
    )
    with plan_recording(program, options, nsys) as plan:
        print_warnings(plan.notes)
        if dry_run:
            typer.echo(shlex.join(plan.argv))
            return
        recording = record(plan.nsys, plan.argv, target)
    _show(recording.report)
    if recording.program_status:
        typer.echo(f"note: the program ended with exit status {recording.program_status}.", err=True)
        raise typer.Exit(recording.program_status)


def _show(report: Path) -> None:
    """Print a recording's ranges and write its page."""
    import tcprof
    from tcprof.report import text
    from tcprof.report.page import write_report

    with progress(f"Exporting and reading {report.name}"):
        analysis = tcprof.read(report)
    print_listings(text.list_ranges(analysis, analysis.ranges), Format.TEXT, text.describe_recording(analysis))
    print_warnings(analysis.warnings)
    page = report.with_suffix(".html")
    with progress(f"Writing {page.name}"):
        write_report(analysis, page)
    typer.echo(f"\n{report}\n{page}")
