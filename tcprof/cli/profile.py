"""``tcprof profile``."""

import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tcprof.cli import app
from tcprof.cli.files import name_copy, write_copy
from tcprof.cli.help import Command
from tcprof.cli.options import TEXT, ForceOption, NsysOption, WideOption
from tcprof.cli.output import check_target, origin_of, print_document, print_lines, print_notes, progress
from tcprof.cli.streams import echo, echo_error, echo_path
from tcprof.errors import OutputError, StoppedError
from tcprof.files import SAVED_SUFFIX

if TYPE_CHECKING:
    from tcprof.api.reading import JudgedAnalysis
    from tcprof.api.recording import UnprofiledRuns
    from tcprof.record.plan import Plan
    from tcprof.record.recording import RecordedRun, Session

FOR_NSYS = "tcprof.options_for_nsys"


GraphTrace = Literal["graph", "node"]
Annotate = Literal["auto", "off", "modules", "ops", "shapes"]  # what of a program gets ranges that it does not open


class ProfileCommand(Command):
    """Takes nsys's own options out of the arguments, so that they need no place of their own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keeps the options for nsys in the context, and gives the rest to the command."""
        from tcprof.record.command import split_arguments

        options = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == "option"]
        takes_value = {
            name: not getattr(option, "is_flag", False)
            for option in options
            for name in (*option.opts, *option.secondary_opts)
        }
        ours, ctx.meta[FOR_NSYS], program = split_arguments(args, takes_value)
        return super().parse_args(ctx, [*ours, "--", *program])


ProgramArgument = Annotated[
    list[str],
    typer.Argument(metavar="PROGRAM", help="A Python script, -m MODULE, or any command, with its arguments."),
]
ReportOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The report; by default SCRIPT.nsys-rep in this folder.", show_default=False),
]
GpusOption = Annotated[str, typer.Option("--gpus", help="GPUs to sample: all, none, or numbers such as 0,2.")]
FrequencyOption = Annotated[int, typer.Option("--frequency", help="Samples per second.")]
MetricsOption = Annotated[
    str,
    typer.Option(
        "--metrics",
        metavar="tcprof|default|FILE",
        help="What to sample: tcprof, exact tensor cycles where available; default, nsys's own set; or a "
        "metric-set file.",
    ),
]
CaptureRangeOption = Annotated[
    str,
    typer.Option(
        "--capture-range",
        help="What to record: none (all of it), cudaProfilerApi (between torch.cuda.profiler.start() and stop()) "
        "or nvtx:NAME (the first range of that name). The program continues after it.",
    ),
]
DelayOption = Annotated[
    float | None,
    typer.Option("--delay", metavar="SECONDS", help="Start recording after this time.", show_default=False),
]
DurationOption = Annotated[
    float | None,
    typer.Option(
        "--duration", metavar="SECONDS", help="Record for this long, then end the program.", show_default=False
    ),
]
GraphOption = Annotated[
    GraphTrace | None,
    typer.Option(
        "--cuda-graph-trace",
        help="Record CUDA graphs as a whole (graph, nsys's default) or kernel by kernel (node, which is slower).",
        show_default=False,
    ),
]
AnnotateOption = Annotated[
    Annotate,
    typer.Option(
        "--annotate",
        help="Ranges for a program that imports PyTorch: for its steps, phases and modules (auto, modules), for each "
        "op too (ops), with the sizes of its operands (shapes), or only its own (off).",
    ),
]
UnprofiledOption = Annotated[
    bool | None,
    typer.Option(
        "--unprofiled/--no-unprofiled",
        help="Run the program once more, without nsys and in silence, to see what recording costs its steps. By "
        "default where steps were recorded and it takes under a minute.",
        show_default=False,
    ),
]
RepeatOption = Annotated[int, typer.Option("--repeat", min=1, help="Number of runs to record, for comparisons.")]
SudoOption = Annotated[bool, typer.Option("--sudo", help="Run nsys as root, and the program as you.")]
RedactOption = Annotated[bool, typer.Option("--redact", help="Also write a copy that is safe to share.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print nsys's command line and do nothing.")]


@app.command(
    cls=ProfileCommand,
    epilog="Examples: tcprof profile train.py --epochs 1;  tcprof profile -o run torchrun --nproc-per-node 2 ddp.py;  "
    "tcprof profile --capture-range cudaProfilerApi -m package.train;  "
    "tcprof profile --cuda-memory-usage=true train.py",
    context_settings={"allow_interspersed_args": False},
)
def profile(
    context: typer.Context,
    program: ProgramArgument,
    output: ReportOption = None,
    force: ForceOption = False,
    gpus: GpusOption = "all",
    frequency: FrequencyOption = 20_000,
    metrics: MetricsOption = "tcprof",
    capture_range: CaptureRangeOption = "none",
    delay: DelayOption = None,
    duration: DurationOption = None,
    cuda_graph_trace: GraphOption = None,
    annotate: AnnotateOption = "auto",
    unprofiled: UnprofiledOption = None,
    repeat: RepeatOption = 1,
    sudo: SudoOption = False,
    redact: RedactOption = False,
    wide: WideOption = False,
    nsys: NsysOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Record a program under Nsight Systems with GPU metrics.

    Its ranges are printed. The report, its SQLite export, the page and the saved analysis (.tcprof) are written side by
    side, named after the script. Options of tcprof and nsys go before the program; those that are not listed here are
    passed to nsys profile unchanged.
    """
    from tcprof.api.recording import UnprofiledRuns
    from tcprof.record.command import RecordOptions
    from tcprof.record.recording import Session, become_root
    from tcprof.views.commands import describe_end, describe_plan

    session = Session(program, output, repeat)
    if not dry_run:
        session.check_reports(force)
        for report in (files.report for files in session.reports):
            check_target(report.with_suffix(".html"), (), force=force)
            for saved in (report.with_suffix(SAVED_SUFFIX), *((name_copy(report),) if redact else ())):
                check_target(saved, (), force=force, for_recording=True)
    prefix = become_root() if sudo else ()
    options = RecordOptions(
        frequency_hz=frequency,
        gpus=gpus,
        metrics=metrics,
        capture_range=capture_range,
        delay_s=delay,
        duration_s=duration,
        cuda_graph_trace=cuda_graph_trace,
        annotate=annotate,
        extra_args=tuple(context.meta[FOR_NSYS]),
    )
    with ExitStack() as stack:
        with progress("Looking at this machine and trying the metrics"):
            plan = stack.enter_context(session.plan(options, nsys, prefix))
        if dry_run:
            print_notes(plan.notes)
            return echo(f"{shlex.join(plan.build_command(session.reports[0]))}\n")
        print_lines((describe_plan(plan),))
        print_notes(plan.notes)
        unprofiled_runs = UnprofiledRuns(session, unprofiled, options, print_notes, echo_error)
        last, written = _record_all(session, plan, unprofiled_runs, redact=redact, wide=wide)
    print_notes(describe_end(last))
    echo("\n")
    for path in written:
        echo_path(path)
    raise typer.Exit(last.program_status)


def _record_all(
    session: "Session", plan: "Plan", unprofiled: "UnprofiledRuns", *, redact: bool, wide: bool
) -> "tuple[RecordedRun, list[Path]]":
    """Record and show one run after the other, until one fails or is stopped; returns the last and what was written."""
    written: list[Path] = []
    count = len(session.reports)
    for number, files in enumerate(session.reports, start=1):
        if count > 1:
            echo_error(f"run {number} of {count}")
        run = session.record(plan, files)
        written += _show(run, unprofiled, redact=redact, in_full=count == 1, wide=wide)
        if run.program_status or run.was_stopped:
            break
    return run, written


def _show(run: "RecordedRun", unprofiled: "UnprofiledRuns", *, redact: bool, in_full: bool, wide: bool) -> list[Path]:
    """Print a recording's ranges, or its iterations only, and write its page; returns what was written."""
    from tcprof.api.recording import read_recorded
    from tcprof.nsys.export import find_export
    from tcprof.nsys.locate import find_nsys
    from tcprof.render.html import PageOptions
    from tcprof.render.html.pages import write_report
    from tcprof.views.recording.ranges import view_ranges
    from tcprof.views.recording.time import view_iterations

    report = run.report
    page = report.with_suffix(".html")
    try:
        with progress(f"Exporting and reading {report.name}"):
            analysis = read_recorded(run)
        analysis = unprofiled.add_to(analysis, run)
        findings = analysis.findings
        shown = view_ranges(analysis, findings, analysis.ranges) if in_full else view_iterations(analysis, findings)
        print_document(shown, TEXT, wide=wide)
        with progress(f"Writing {page.name}"):
            write_report(analysis, findings, page, PageOptions(origin=origin_of(report)))
        written = [report, page, *_save(analysis, report.with_suffix(SAVED_SUFFIX))]
        if redact:
            write_copy(find_export(report, find_nsys), name_copy(report))
            written.append(name_copy(report))
        return written
    except KeyboardInterrupt as stop:
        raise StoppedError(f"Stopped while {report} was read.", f"It is whole: tcprof report {report}") from stop


def _save(analysis: "JudgedAnalysis", target: Path) -> list[Path]:
    """Write a saved analysis, and keep it for the next command; returns the file, unless it cannot be written."""
    from tcprof.findings.judged import describe
    from tcprof.saved.cache import user_cache

    if cache := user_cache(lambda note: print_notes((note,))):
        cache.keep(analysis, describe(analysis.findings, analysis.advice))
    try:
        with progress(f"Writing {target.name}"):
            analysis.save(target)
    except OutputError as error:  # the recording and its page are whole
        print_notes((f"the analysis is not saved: {error.message}",))
        return []
    return [target]
