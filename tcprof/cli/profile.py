"""``tcprof profile``."""

import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from tcprof.cli import app
from tcprof.cli.options import ForceOption, NsysOption, WideOption
from tcprof.cli.output import print_lines, print_notes, progress
from tcprof.cli.streams import echo

FOR_NSYS = "tcprof.options_for_nsys"


GraphTrace = Literal["graph", "node"]
Annotate = Literal["auto", "off", "modules", "ops", "shapes"]  # what of a program gets ranges that it does not open


class ProfileCommand(TyperCommand):
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
    list[str], typer.Argument(metavar="PROGRAM", help="A Python script, -m MODULE, or any command, with its arguments.")
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="The report; by default SCRIPT.nsys-rep in this folder. As in nsys, %q{NAME} is the environment variable "
        "NAME, %h the host, %p the process number, %n the next free number.",
    ),
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
        help="What to record: none (tcprof chooses the steps), cudaProfilerApi (between start() and stop() of "
        "torch.cuda.profiler) or nvtx:NAME (the first range of that name).",
    ),
]
CaptureEndOption = Annotated[
    str,
    typer.Option(
        "--capture-range-end",
        metavar="stop|repeat|repeat:N|...",
        help="After the first capture: stop, record no more; repeat:N, make N reports, NAME.1 to NAME.N; or another "
        "value of nsys. The program keeps running.",
    ),
]
DelayOption = Annotated[
    float | None, typer.Option("--delay", metavar="SECONDS", help="Start recording after this time.")
]
DurationOption = Annotated[
    float | None,
    typer.Option(
        "--duration",
        metavar="SECONDS",
        help="Record for at most this long; by default 60 seconds unless the program has steps.",
    ),
]
GraphOption = Annotated[
    GraphTrace | None,
    typer.Option(
        "--cuda-graph-trace",
        help="Record CUDA graphs as a whole (graph, nsys's default) or kernel by kernel (node, which is slower).",
    ),
]
AnnotateOption = Annotated[
    Annotate,
    typer.Option(
        "--annotate",
        help="NVTX ranges to add to a PyTorch program: steps, phases and modules (auto, modules), also each op "
        "(ops), also operand sizes (shapes), or none (off).",
    ),
]
StepsOption = Annotated[
    int, typer.Option("--steps", min=1, help="Number of steps to record; more if they take under 3 seconds.")
]
WholeOption = Annotated[bool, typer.Option("--whole", help="Record the whole program, not only some steps.")]
StopOption = Annotated[bool, typer.Option("--stop", help="End the program when its steps are recorded.")]
RepeatOption = Annotated[int, typer.Option("--repeat", min=1, help="Number of runs to record, for comparisons.")]
SudoOption = Annotated[bool, typer.Option("--sudo", help="Run nsys as root, and the program as you.")]
RedactOption = Annotated[bool, typer.Option("--redact", help="Also write a copy that is safe to share.")]
PythonOption = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="The Python that runs a script or a module; by default that of the active environment.",
    ),
]
JobOption = Annotated[
    str,
    typer.Option(
        "--job",
        metavar="NAME",
        help="The job ID that recordings of one job share; by default, the ID from torchrun, Slurm, PBS or LSF.",
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print an nsys command line for another machine, and record nothing.")
]


@app.command(
    cls=ProfileCommand,
    epilog="Examples:\n\ntcprof profile train.py --epochs 1\n\n"
    "tcprof profile -o run torchrun --nproc-per-node 2 ddp.py\n\n"
    "tcprof profile --capture-range cudaProfilerApi -m package.train\n\n"
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
    capture_range_end: CaptureEndOption = "stop",
    delay: DelayOption = None,
    duration: DurationOption = None,
    cuda_graph_trace: GraphOption = None,
    annotate: AnnotateOption = "auto",
    steps: StepsOption = 20,
    whole: WholeOption = False,
    stop: StopOption = False,
    repeat: RepeatOption = 1,
    sudo: SudoOption = False,
    redact: RedactOption = False,
    wide: WideOption = False,
    python: PythonOption = None,
    job: JobOption = "",
    nsys: NsysOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Record a program under Nsight Systems with GPU metrics.

    Afterwards, it shows the recording as 'tcprof show' does. The report, its SQLite export, the page and the saved
    analysis (.tcprof) are written side by side, named after the script. Options of tcprof and nsys go before the
    program; those that are not listed here are passed to nsys profile unchanged.
    """
    from tcprof.cli.recorded import check_targets, make_session, print_end, record_all
    from tcprof.record.command import RecordOptions
    from tcprof.record.draft import draft_recording
    from tcprof.record.plan import plan_recording
    from tcprof.record.recording import become_root
    from tcprof.views.commands import describe_plan

    options = RecordOptions(
        frequency_hz=frequency,
        gpus=gpus,
        metrics=metrics,
        capture_range=capture_range,
        capture_range_end=capture_range_end,
        delay_s=delay,
        duration_s=duration,
        cuda_graph_trace=cuda_graph_trace,
        annotate=annotate,
        steps=steps,
        whole=whole,
        stop=stop,
        extra_args=tuple(context.meta[FOR_NSYS]),
    )
    session = make_session(program, output, repeat, options, python, job=job, is_draft=dry_run)
    if not dry_run:
        check_targets(session, force=force, redact=redact)
    prefix = become_root(ask=not dry_run) if sudo else ()
    if dry_run:
        command, notes = draft_recording(session.program, options, session.reports[0], nsys, prefix)
        print_notes(notes)
        return echo(f"{shlex.join(command)}\n")
    with ExitStack() as stack:
        with progress("Checking this machine and its GPU metrics"):
            plan = stack.enter_context(plan_recording(session.program, options, nsys, prefix))
        print_lines((describe_plan(plan),))
        print_notes(plan.notes)
        last, written, status = record_all(session, plan, redact=redact, wide=wide)
    print_end(last, session.program, written)
    raise typer.Exit(status)
