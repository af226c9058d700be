"""``tcprof profile``: its options, and what it prints and writes of each report."""

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from tcprof.cli import app
from tcprof.cli.files import name_copy, write_copy
from tcprof.cli.options import FORCE, NSYS, WIDE, Asked, CliOption, takes
from tcprof.cli.output import TEXT, origin_of, print_document, print_lines, print_notes, progress
from tcprof.cli.streams import echo, echo_error, echo_path
from tcprof.errors import OutputError, StoppedError, TcprofError
from tcprof.files import SAVED_SUFFIX

if TYPE_CHECKING:
    from tcprof.api.reading import Report
    from tcprof.record.command import RecordOptions
    from tcprof.record.plan import Plan
    from tcprof.record.recording import RecordedRun, Session

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


REPORT = CliOption("output", Path | None, None, "-o", "--output").means(
    "The report; by default SCRIPT.nsys-rep in this folder. As in nsys, %q{NAME} is the environment variable NAME, %h "
    "the host, %p the process ID, %n the next free number."
)
CHOICES = (  # by the names of fields of ``tcprof.record.command.RecordOptions``
    CliOption(
        "gpus",
        str,
        "all",
        callback=lambda text: "all" if text.startswith(("GPU-", "MIG-")) else text,  # names that CUDA knows, not nsys
        envvar="CUDA_VISIBLE_DEVICES",
    ).means("GPUs to sample: all, none, or numbers such as 0,2.")
    | CliOption("frequency_hz", int, 20_000, "--frequency").means("Samples per second.")
    | CliOption("metrics", str, "tcprof", metavar="tcprof|default|FILE").means(
        "What to sample: tcprof (exact tensor cycles where available), default (nsys's own set) or a metric-set file."
    )
    | CliOption("capture_range", str, "none").means(
        "What to record: none (tcprof chooses the steps), cudaProfilerApi (between start() and stop() of "
        "torch.cuda.profiler) or nvtx:NAME (the first range of that name)."
    )
    | CliOption("capture_range_end", str, "stop", metavar="stop|repeat|repeat:N|...").means(
        "After the first capture: stop (record no more), repeat:N (make N reports, NAME.1 to NAME.N) or another value "
        "that nsys accepts. The program keeps running."
    )
    | CliOption("delay_s", float | None, None, "--delay", metavar="SECONDS").means("Start recording after this time.")
    | CliOption("duration_s", float | None, None, "--duration", metavar="SECONDS").means(
        "Record for at most this long; by default 60 seconds unless the program has steps."
    )
    | CliOption("cuda_graph_trace", GraphTrace | None).means(
        "Record CUDA graphs as a whole (graph) or kernel by kernel (node, which is slower); by default node, unless "
        "--annotate is off or the script imports JAX."
    )
    | CliOption("annotate", Annotate, "auto").means(
        "NVTX ranges to add to a PyTorch program: steps, phases and modules (auto, modules), also each op (ops), also "
        "operand sizes (shapes), or none (off)."
    )
    | CliOption("steps", int, 20, min=1).means("Number of steps to record; more if together they take under 2 seconds.")
    | CliOption("whole", bool, False).means("Record the whole program, not only some steps.")
    | CliOption("stop", bool, False).means("End the program when its steps are recorded.")
)
RUNS = (
    CliOption("repeat", int, 1, min=1).means("Number of runs to record, for comparisons.")
    | CliOption("sudo", bool, False).means("Run nsys as root, and the program as you.")
    | CliOption("redact", bool, False).means("Also write a copy that is safe to share.")
)
MACHINE = CliOption("python", str | None, metavar="PATH").means(
    "The Python that runs a script or a module; by default that of the active environment."
) | CliOption("job", str, "", metavar="NAME").means(
    "The job ID that recordings of one job share; by default, the ID from torchrun, Slurm, PBS or LSF."
)
DRY_RUN = CliOption("dry_run", bool, False).means("Print an nsys command line for another machine, and record nothing.")


@app.command(
    cls=ProfileCommand,
    epilog="Examples:\n\ntcprof profile train.py --epochs 1\n\n"
    "tcprof profile -o run torchrun --nproc-per-node 2 ddp.py\n\n"
    "tcprof profile --capture-range cudaProfilerApi -m package.train\n\n"
    "tcprof profile --cuda-memory-usage=true train.py",
    context_settings={"allow_interspersed_args": False},
)
@takes(REPORT, FORCE, CHOICES, RUNS, WIDE, MACHINE, NSYS, DRY_RUN)
def profile(
    context: typer.Context,
    program: Annotated[
        list[str],
        typer.Argument(metavar="PROGRAM", help="A Python script, -m MODULE, or any command, with its arguments."),
    ],
    asked: Asked,
) -> None:
    """Record a program under Nsight Systems with GPU metrics.

    Afterwards, tcprof shows the recording as 'tcprof show' does, and leaves the report, its SQLite export, the page
    and the saved analysis (.tcprof) side by side, named after the script. Options of tcprof and nsys go before the
    program; those that are not listed here are passed to nsys profile unchanged.
    """
    from tcprof.record.command import RecordOptions
    from tcprof.record.draft import draft_recording
    from tcprof.record.plan import plan_recording
    from tcprof.record.recording import become_root
    from tcprof.views.commands import describe_plan

    choices = {name: getattr(asked, name) for name in CHOICES}
    options = RecordOptions(**choices, extra_args=tuple(context.meta[FOR_NSYS]))
    session = _make_session(program, options, asked)
    if not asked.dry_run:
        _check_targets(session, asked)
    prefix = become_root(ask=not asked.dry_run) if asked.sudo else ()
    if asked.dry_run:
        command, notes = draft_recording(session.program, options, session.reports[0], asked.nsys, prefix)
        print_notes(notes)
        return echo(f"{shlex.join(command)}\n")
    with ExitStack() as stack:
        with progress("Checking this machine and its GPU metrics"):
            plan = stack.enter_context(plan_recording(session.program, options, asked.nsys, prefix))
        print_lines((describe_plan(plan),))
        print_notes(plan.notes)
        last, written, status = _record_all(session, plan, asked)
    _print_end(last, session.program, written)
    raise typer.Exit(status)


def _make_session(program: list[str], options: "RecordOptions", asked: Asked) -> "Session":
    """Plan the recordings to make, and note where the program's Python is not tcprof's own."""
    from tcprof.record.program import choose_python
    from tcprof.record.recording import Session

    chosen = choose_python(asked.python)
    session = Session(
        *(program, asked.output, asked.repeat),
        in_captures=options.in_captures,
        python=chosen.path,
        is_draft=asked.dry_run,
        job=asked.job,
    )
    if chosen.reason and session.program[0] == chosen.path:
        print_notes((f"the program runs under {chosen.path}, {chosen.reason}.",))
    return session


def _check_targets(session: "Session", asked: Asked) -> None:
    """Make sure, before anything is run, that all that is to be written can be."""
    from tcprof.outputs import check_target

    session.check_reports(asked.force)
    for report in (run_files.report for files in session.reports for run_files in (files, *files.captures())):
        check_target(report.with_suffix(".html"), (), force=asked.force)
        for saved in (report.with_suffix(SAVED_SUFFIX), *((name_copy(report),) if asked.redact else ())):
            check_target(saved, (), force=asked.force, for_recording=True)


def _record_all(session: "Session", plan: "Plan", asked: Asked) -> "tuple[RecordedRun, list[Path], int]":
    """Record and show one run after the other, until one fails or is stopped.

    A report that is written while its program goes on is shown at once.

    Returns:
        The last one, what was written, and the exit status: of the program, else of what could not be analyzed.
    """
    Thread(target=_import_readers, daemon=True).start()
    written: list[Path] = []
    failed = 0
    count = len(session.reports)
    for number, files in enumerate(session.reports, start=1):
        if count > 1:
            echo_error(f"run {number} of {count}")
        outcomes: list[tuple[list[Path], int] | TcprofError] = []

        def show(run: "RecordedRun", outcomes: list[tuple[list[Path], int] | TcprofError] = outcomes) -> None:
            try:
                outcomes.append(_show_reports(run, plan, asked, is_only=count == 1))
            except TcprofError as error:  # raised once the program has ended
                outcomes.append(error)

        run = session.record(plan, files, show)
        if not (run.was_ready and outcomes):
            show(run)
        outcome = outcomes[-1]
        if isinstance(outcome, TcprofError):
            raise outcome
        written += outcome[0]
        failed = outcome[1] or failed
        if run.program_status or run.was_stopped:
            break
    return run, written, run.program_status or failed


def _import_readers() -> None:
    """Import what reads and shows a recording while the program runs: afterwards that would take a second."""
    import pyarrow.pandas_compat
    import pyarrow.parquet  # noqa: F401

    import tcprof.analysis.accounting
    import tcprof.analysis.kernels.launches
    import tcprof.api.recording
    import tcprof.redaction.copy_check
    import tcprof.render.html.page
    import tcprof.views.recording.show  # noqa: F401
    from tcprof.findings.rules import load_rules

    load_rules()


def _print_end(run: "RecordedRun", program: Sequence[str], written: Sequence[Path]) -> None:
    from tcprof.views.commands import describe_end

    print_notes(describe_end(run, program))
    echo("\n")
    for path in written:
        echo_path(path)


def _show_reports(run: "RecordedRun", plan: "Plan", asked: Asked, *, is_only: bool) -> tuple[list[Path], int]:
    """Show the reports of a run; return what was written, and an exit status."""
    from tcprof.api.recording import read_recorded
    from tcprof.views.commands import describe_capture

    written: list[Path] = []
    failed = 0
    is_only = is_only and len(run.reports) == 1
    print_notes(run.notes)
    for capture, file in enumerate(run.reports, start=1):
        if len(run.reports) > 1:
            echo_error(f"capture {capture} of {len(run.reports)}: {file.name}")
        try:
            with progress(f"Exporting and reading {file.name}"):
                report = read_recorded(file, run, plan.nsys)
            print_notes(describe_capture(report.analysis, plan.options.capture_range))
            written += _show(file, report, asked, in_full=is_only)
        except KeyboardInterrupt as stop:
            unread = run.reports[run.reports.index(file) :]
            commands = "; ".join(f"tcprof report {path}" for path in unread)
            whole = "The recording is complete" if len(unread) == 1 else "These recordings are complete"
            raise StoppedError(f"Stopped while reading {file}.", f"{whole}: {commands}") from stop
        except TcprofError as error:
            if is_only or isinstance(error, StoppedError):
                raise
            print_notes((f"{file} could not be analyzed: {error.message} {error.hint}".rstrip(),))
            failed = error.exit_status
    return written, failed


def _show(file: Path, report: "Report", asked: Asked, *, in_full: bool) -> list[Path]:
    """Print what 'tcprof show' does, or its first sentences, and write the page; returns what was written."""
    from tcprof.findings.steps import find_recording_cost
    from tcprof.nsys.export import find_export
    from tcprof.nsys.locate import find_nsys
    from tcprof.render.html import PageOptions
    from tcprof.render.html.page import write_page
    from tcprof.views.recording.show import view_recording, view_verdict_in_short

    page, parts = file.with_suffix(".html"), (report.analysis, report.findings, report.advice)
    document = view_recording(*parts) if in_full else view_verdict_in_short(*parts)
    print_document(document, TEXT, wide=asked.wide, notes=not in_full)
    if in_full:
        print_notes(cost.text for cost in find_recording_cost(report.analysis))
    with progress(f"Writing {page.name}"):
        write_page(view_recording(*parts), page, PageOptions(origin=origin_of(file)))
    written = [file, page, *_save(report, file.with_suffix(SAVED_SUFFIX))]
    if asked.redact:
        write_copy(find_export(file, find_nsys), name_copy(file))
        written.append(name_copy(file))
    return written


def _save(report: "Report", target: Path) -> list[Path]:
    """Write a saved analysis, and keep it for the next command; returns the file, unless it cannot be written."""
    from tcprof.findings.judge import describe
    from tcprof.saved.cache import user_cache

    if cache := user_cache(lambda note: print_notes((note,))):
        cache.keep(report.analysis, describe(report.findings, report.advice))
    try:
        with progress(f"Writing {target.name}"):
            report.save(target)
    except OutputError as error:  # the recording and its page are whole
        print_notes((f"the analysis was not saved: {error.message}",))
        return []
    return [target]
