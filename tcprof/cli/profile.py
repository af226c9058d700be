"""``tcprof profile``."""

import shlex
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from tcprof.cli.app import app
from tcprof.cli.options import TEXT, ForceOption, NsysOption
from tcprof.cli.output import check_page, print_document, print_lines, print_notes, progress
from tcprof.cli.redact import name_copy, write_copy
from tcprof.errors import StoppedError

if TYPE_CHECKING:
    from tcprof.record.plan import Plan
    from tcprof.record.recording import RecordedRun

SIGNALLED = 128  # an exit status above it is that plus the signal's number
FOR_NSYS = "tcprof.options_for_nsys"


class GraphTrace(StrEnum):
    """How CUDA graphs are traced."""

    GRAPH = "graph"
    NODE = "node"


class ProfileCommand(TyperCommand):
    """Takes nsys's own options out of the arguments, so that they need no place of their own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keeps the options for nsys in the context, and gives the rest to the command."""
        from tcprof.record.program import split_arguments

        options = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == "option"]
        takes_value = {name: not getattr(option, "is_flag", False) for option in options for name in option.opts}
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
RepeatOption = Annotated[int, typer.Option("--repeat", min=1, help="Number of runs to record, for comparisons.")]
SudoOption = Annotated[bool, typer.Option("--sudo", help="Run nsys as root, and the program as you.")]
RedactOption = Annotated[bool, typer.Option("--redact", help="Also write a copy that is safe to share.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print nsys's command line and do nothing.")]


@app.command(
    cls=ProfileCommand,
    epilog="Examples: tcprof profile train.py --epochs 1;  tcprof profile -o run torchrun --nproc-per-node 2 ddp.py;  "
    "tcprof profile --capture-range cudaProfilerApi --cuda-memory-usage=true -m package.train",
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
    repeat: RepeatOption = 1,
    sudo: SudoOption = False,
    redact: RedactOption = False,
    nsys: NsysOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Record a program under Nsight Systems with GPU metrics, print its ranges and write a page.

    The report, its SQLite export and the page are written side by side, named after the script. Options of tcprof and
    nsys go before the program; those that are not listed here are passed to nsys profile unchanged.
    """
    from tcprof.record.command import RecordOptions
    from tcprof.record.plan import plan_recording
    from tcprof.record.sudo import become_root

    targets = _name_targets(program, output, repeat)
    if not dry_run:
        _check_targets(targets, force)
    prefix = become_root() if sudo else ()
    options = RecordOptions(
        output=targets[0],
        frequency_hz=frequency,
        gpus=gpus,
        metrics=metrics,
        capture_range=capture_range,
        delay_s=delay,
        duration_s=duration,
        cuda_graph_trace=None if cuda_graph_trace is None else cuda_graph_trace.value,
        extra_args=tuple(context.meta[FOR_NSYS]),
    )
    with ExitStack() as stack:
        with progress("Looking at this machine and trying the metrics"):
            plan = stack.enter_context(plan_recording(program, options, nsys, prefix))
        if dry_run:
            print_notes(plan.notes)
            typer.echo(shlex.join(plan.build_command(targets[0])))
            return
        _announce(plan)
        last, outputs = _record_all(plan, targets, redact=redact)
    if last.program_status:
        print_notes((_explain_status(last.program_status, stopped=last.was_stopped),))
    typer.echo("\n" + "\n".join(str(path) for path in outputs))
    raise typer.Exit(last.program_status)


def _record_all(plan: "Plan", targets: list[Path], *, redact: bool) -> "tuple[RecordedRun, list[Path]]":
    """Record and show one run after the other, until one fails or is stopped; returns the last and what was written."""
    outputs: list[Path] = []
    for number, target in enumerate(targets, start=1):
        if len(targets) > 1:
            typer.echo(f"run {number} of {len(targets)}", err=True)
        recording = _record(plan, target)
        outputs += _show(recording, redact=redact, in_full=len(targets) == 1)
        if recording.program_status or recording.was_stopped:
            break
    return recording, outputs


def _explain_status(status: int, *, stopped: bool) -> str:
    """Why the program did not end with status 0, as far as that is known."""
    if stopped:
        return f"the program was stopped; its exit status is {status}."
    if status > SIGNALLED:
        return (
            f"the program was killed by signal {status - SIGNALLED}. What CUDA had not handed over to nsys until then "
            "is lost: record a --capture-range that ends earlier."
        )
    return f"the program ended with exit status {status}."


def _name_targets(program: list[str], output: Path | None, repeat: int) -> list[Path]:
    """The reports to write, one for each run."""
    from tcprof.record.command import report_base
    from tcprof.record.program import name_report

    base = report_base(output or Path(name_report(program)))
    names = [base.name] if repeat == 1 else [f"{base.name}-{number}" for number in range(1, repeat + 1)]
    return [base.with_name(f"{name}.nsys-rep") for name in names]


def _check_targets(targets: list[Path], force: bool) -> None:
    """Make sure, before anything is run, that everything can be written."""
    from tcprof.record.recording import check_output

    for target in targets:
        check_output(target, force)
        check_page(target.with_suffix(".html"), ())


def _announce(plan: "Plan") -> None:
    """Say what will be recorded, and what less well than it could be."""
    from tcprof.views.plan import describe_plan

    print_lines((describe_plan(plan),))
    print_notes(plan.notes)


def _record(plan: "Plan", target: Path) -> "RecordedRun":
    from tcprof.record.recording import record
    from tcprof.record.sudo import give_back

    recording = record(plan.nsys, plan.build_command(target), target)
    if plan.nsys.prefix:
        give_back(recording.report)
    return recording


def _show(recording: "RecordedRun", *, redact: bool, in_full: bool) -> list[Path]:
    """Print a recording's ranges, or its iterations only, and write its page; returns what was written."""
    import tcprof
    from tcprof.record.nsys.export import find_export
    from tcprof.record.nsys.locate import find_nsys
    from tcprof.render.html.report import write_report
    from tcprof.views.recording.ranges import view_ranges
    from tcprof.views.recording.time import view_iterations

    report, page = recording.report, recording.report.with_suffix(".html")
    try:
        with progress(f"Exporting and reading {report.name}"):
            analysis = tcprof.read(report)
        findings = analysis.findings
        shown = view_ranges(analysis, findings, analysis.ranges) if in_full else view_iterations(analysis, findings)
        print_document(shown, TEXT)
        with progress(f"Writing {page.name}"):
            write_report(analysis, findings, page)
        if not redact:
            return [report, page]
        copy = name_copy(report)
        write_copy(find_export(report, find_nsys), copy)
        return [report, page, copy]
    except KeyboardInterrupt as stop:
        raise StoppedError(f"Stopped while {report} was read.", f"It is whole: tcprof report {report}") from stop
