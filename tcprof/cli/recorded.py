"""What ``tcprof profile`` prints and writes of each report."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tcprof.cli.files import name_copy, write_copy
from tcprof.cli.output import TEXT, origin_of, print_document, print_notes, progress
from tcprof.cli.streams import echo, echo_error, echo_path
from tcprof.errors import OutputError, StoppedError, TcprofError
from tcprof.files import SAVED_SUFFIX

if TYPE_CHECKING:
    from tcprof.api.reading import Report
    from tcprof.record.command import RecordOptions
    from tcprof.record.plan import Plan
    from tcprof.record.recording import RecordedRun, Session


def make_session(
    program: list[str],
    output: Path | None,
    repeat: int,
    options: "RecordOptions",
    python: str | None,
    *,
    job: str,
    is_draft: bool,
) -> "Session":
    """Plan the recordings to make, and note where the program's Python is not tcprof's own."""
    from tcprof.record.program import choose_python
    from tcprof.record.recording import Session

    chosen, in_captures = choose_python(python), options.in_captures
    session = Session(program, output, repeat, in_captures=in_captures, python=chosen.path, is_draft=is_draft, job=job)
    if chosen.reason and session.program[0] == chosen.path:
        print_notes((f"the program runs in {chosen.path}, {chosen.reason}.",))
    return session


def check_targets(session: "Session", *, force: bool, redact: bool) -> None:
    """Make sure, before anything is run, that all that is to be written can be."""
    from tcprof.outputs import check_target

    session.check_reports(force)
    for report in (run_files.report for files in session.reports for run_files in (files, *files.captures())):
        check_target(report.with_suffix(".html"), (), force=force)
        for saved in (report.with_suffix(SAVED_SUFFIX), *((name_copy(report),) if redact else ())):
            check_target(saved, (), force=force, for_recording=True)


def record_all(session: "Session", plan: "Plan", *, redact: bool, wide: bool) -> "tuple[RecordedRun, list[Path], int]":
    """Record and show one run after the other, until one fails or is stopped.

    A report that is written while its program goes on is shown at once.

    Returns:
        The last one, what was written, and the exit status: of the program, else of what could not be analyzed.
    """
    written: list[Path] = []
    failed = 0
    count = len(session.reports)
    for number, files in enumerate(session.reports, start=1):
        if count > 1:
            echo_error(f"run {number} of {count}")
        outcomes: list[tuple[list[Path], int] | TcprofError] = []

        def show(run: "RecordedRun", outcomes: list[tuple[list[Path], int] | TcprofError] = outcomes) -> None:
            try:
                outcomes.append(_show_reports(run, plan, is_only=count == 1, redact=redact, wide=wide))
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


def print_end(run: "RecordedRun", program: Sequence[str], written: Sequence[Path]) -> None:
    """Print how the program ended, and what was written."""
    from tcprof.views.commands import describe_end

    print_notes(describe_end(run, program))
    echo("\n")
    for path in written:
        echo_path(path)


def _show_reports(
    run: "RecordedRun", plan: "Plan", *, is_only: bool, redact: bool, wide: bool
) -> tuple[list[Path], int]:
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
            written += _show(file, report, redact=redact, in_full=is_only, wide=wide)
        except KeyboardInterrupt as stop:
            unread = run.reports[run.reports.index(file) :]
            commands = "; ".join(f"tcprof report {path}" for path in unread)
            whole = "It is whole" if len(unread) == 1 else "These are whole"
            raise StoppedError(f"Stopped while reading {file}.", f"{whole}: {commands}") from stop
        except TcprofError as error:
            if is_only or isinstance(error, StoppedError):
                raise
            print_notes((f"{file} is not analyzed: {error.message} {error.hint}".rstrip(),))
            failed = error.exit_status
    return written, failed


def _show(file: Path, report: "Report", *, redact: bool, in_full: bool, wide: bool) -> list[Path]:
    """Print what 'tcprof show' does, or its first sentences, and write the page; returns what was written."""
    from tcprof.findings.recording_cost import find_recording_cost
    from tcprof.nsys.export import find_export
    from tcprof.nsys.locate import find_nsys
    from tcprof.render.html import PageOptions
    from tcprof.render.html.page import write_page
    from tcprof.views.recording.show import view_recording, view_verdict_in_short

    page, parts = file.with_suffix(".html"), (report.analysis, report.findings, report.advice)
    document = view_recording(*parts) if in_full else view_verdict_in_short(*parts)
    print_document(document, TEXT, wide=wide, notes=not in_full)
    if in_full:
        print_notes(cost.text for cost in find_recording_cost(report.analysis))
    with progress(f"Writing {page.name}"):
        write_page(view_recording(*parts), page, PageOptions(origin=origin_of(file)))
    written = [file, page, *_save(report, file.with_suffix(SAVED_SUFFIX))]
    if redact:
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
        print_notes((f"the analysis is not saved: {error.message}",))
        return []
    return [target]
