"""Record a program with nsys: run it, pass its output and signals on, find what it wrote."""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcprof.errors import InputError, MachineError, NsysError, StoppedError
from tcprof.identity import Identity, alias_of, identify_launch
from tcprof.nsys.export import check_export_place
from tcprof.nsys.locate import Nsys, import_stream, survey_nsys
from tcprof.nsys.report import REPORT_SUFFIXES, STREAM_SUFFIX, ReportFiles, fill_in
from tcprof.nsys.run import Completed, explain, run_quietly
from tcprof.record.command import name_options
from tcprof.record.driver_log import read_driver_log
from tcprof.record.plan import Plan
from tcprof.record.program import find_program, level_of, name_report
from tcprof.record.step_capture import StepCapture
from tcprof.record.turns import run_in_turn
from tcprof.version import __version__

if TYPE_CHECKING:
    import pandas as pd

_CAPTURES = "captured-"  # as tcprof.annotate.captures has it


@dataclass(frozen=True)
class RecordedRun:
    """A recording's reports and exit status, and what nsys does not know of it."""

    reports: tuple[Path, ...]  # that nsys wrote: one, or one for each capture range
    # Exit status of the recorded program, which nsys makes its own; not 0 does not mean that the report is bad. 0 where
    # nsys ended the program because the duration asked for was over.
    program_status: int
    was_stopped: bool = False  # whether the user, or a job scheduler, ended it
    identity: Identity = field(default_factory=Identity)  # what it is of, where nsys does not know it
    # The steps that were timed while nothing was recorded, see ``tcprof.frames.UNPROFILED``.
    unprofiled: "pd.DataFrame | None" = field(default=None, compare=False)
    driver_log: "pd.DataFrame | None" = field(default=None, compare=False)  # see ``read_driver_log``
    captured: dict[int, list[list[Any]]] = field(default_factory=dict, compare=False)  # see ``read_captures``
    is_of_steps: bool = False  # whether tcprof chose to record some steps, and what comes before them is of no interest
    notes: tuple[str, ...] = ()  # why less is recorded than was asked for
    was_ready: bool = field(default=False, compare=False)  # whether ``when_ready`` had it, as it is
    output: str = field(default="", compare=False, repr=False)  # of nsys and the program: their first and last words


class Session:
    """Recordings of one program: one, or several alike, each with a report of its own.

    Args:
        output: The report to write, with or without its suffix; None for one in this folder, named after the program.
        in_captures: Whether each run gives a report for each of its capture ranges.
        python: The Python that runs a script or a module.
        job: What the user calls the job that they are part of; empty for what its launcher or scheduler calls it.
        is_draft: Whether all is for another machine: nothing need be here, and nsys fills in patterns in ``output``.

    Raises:
        UsageError: There is no program.
        InputError: The program does not exist.
    """

    def __init__(
        self,
        program: Sequence[str],
        output: Path | None = None,
        repeat: int = 1,
        *,
        in_captures: bool = False,
        python: str = sys.executable,
        is_draft: bool = False,
        job: str = "",
    ) -> None:
        self.program = find_program(program, python, is_here=not is_draft)
        name = re.sub(r"[^\w.+-]", "_", name_report(program))[:80]
        self._identity = Identity(run=secrets.token_hex(8), program=name, tcprof_version=__version__)
        self._job = alias_of("job", job) if job else ""
        chosen = output if output is None or is_draft else fill_in(output)
        named = ReportFiles.named(chosen or Path(name_report(program)))
        is_pattern = is_draft and output is not None
        self.reports = replace(named, in_captures=in_captures, is_pattern=is_pattern).numbered(repeat)

    def check_reports(self, force: bool) -> None:
        """Make sure, before anything is run, that all reports and their exports can be written.

        Raises:
            OutputError: They cannot, or there are some and ``force`` is not given.
        """
        for report in self.reports:
            report.check(force)
            for files in (report, *report.captures()):
                files.check(force)
                check_export_place(files)

    def record(
        self, plan: Plan, report: ReportFiles, when_ready: Callable[[RecordedRun], object] | None = None
    ) -> RecordedRun:
        """Record the program once, into one of ``reports``; see ``record``.

        Args:
            when_ready: Takes the run once its report is written, where the program goes on; else nothing.
        """
        for path in plan.processes.iterdir():  # of the run before
            with suppress(OSError):  # a folder that the program has put there
                path.unlink()
        complete = partial(self._complete, plan)
        capture, argv = plan.make_capture(report)

        def show(run: RecordedRun) -> None:
            if when_ready is not None:
                when_ready(complete(run))

        return complete(record(plan.nsys, argv, report, capture, show))

    def _complete(self, plan: Plan, run: RecordedRun) -> RecordedRun:
        """Add the identity of the run."""
        identity = read_processes(plan.processes).or_else(self._identity)
        annotation = level_of(plan.options.annotate)
        for path in run.reports if plan.nsys.prefix else ():
            give_back(path)
        identity = replace(identity, annotation=annotation, job=self._job or identity.job)
        kept = {"driver_log": read_driver_log(plan.driver_log), "captured": read_captures(plan.processes)}
        return replace(run, identity=identity, **kept)


def read_captures(folder: Path) -> dict[int, list[list[Any]]]:
    """Read the ranges that the processes of a program kept of stream captures, see ``tcprof.annotate.captures``."""
    captured: dict[int, list[list[Any]]] = {}
    for path in folder.glob(f"{_CAPTURES}[0-9]*"):
        with suppress(ValueError, OSError, RecursionError):  # it was killed while it wrote, or worse
            rows: list[list[Any]] = []
            captured[int(path.name.removeprefix(_CAPTURES))] = rows
            rows += map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return captured


def read_processes(folder: Path) -> Identity:
    """Read what the processes of a program wrote about themselves, see ``tcprof.annotate.processes``."""
    processes: dict[int | None, dict[str, str]] = {}
    files = [path for path in folder.glob("[0-9]*") if path.is_file() and not path.is_symlink()]
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
        with suppress(ValueError, AttributeError, OSError, RecursionError):  # it was killed while it wrote, or worse
            facts = json.loads(path.read_text(encoding="utf-8")).items()
            processes[int(path.name)] = {name: value for name, value in facts if isinstance(value, str)}
    versions = ({"torch_version": variables.get("torch_version")} for variables in processes.values())
    return reduce(Identity.or_else, map(Identity.from_facts, versions), identify_launch(processes))


def record(
    nsys: Nsys,
    argv: Sequence[str],
    asked: ReportFiles,
    capture: StepCapture | None = None,
    when_ready: Callable[[RecordedRun], object] = lambda _: None,
) -> RecordedRun:
    """Run a recording to its end.

    The program's output appears as it comes. Ctrl-C and SIGTERM end the program, and the report is still written. A raw
    recording that nsys could not turn into a report is imported, if any importer here can.

    Args:
        capture: What begins and ends captures meanwhile.
        when_ready: Takes the run once its report is written, where the program goes on.

    Raises:
        NsysError: There is no report afterwards; the message says why and what to do.
        StoppedError: The user gave the recording up; nothing of it is left.
    """
    before = asked.stamps()
    finish = partial(_make_run, nsys, argv, asked, before, capture)

    def show() -> None:
        with suppress(NsysError):  # the program goes on; raised once it has ended
            when_ready(finish(Completed(0, "", "")))

    try:
        return finish(_run(argv, capture, show))
    except StoppedError as error:
        if capture is None or not capture.is_shown:
            _clear_away(asked, before, error)
            raise
    # Only the rest of the program was given up.
    return finish(Completed(128 + signal.SIGINT, "", "", was_stopped=True))


def _run(argv: Sequence[str], capture: StepCapture | None, show: Callable[[], None]) -> Completed:
    """Run nsys while captures are begun and ended; ``show`` is called once the report is written."""
    if capture is None:
        return run_in_turn(argv)
    try:
        return run_in_turn(argv, capture.watch(show))
    finally:
        capture.finish()


def _make_run(
    nsys: Nsys,
    argv: Sequence[str],
    asked: ReportFiles,
    before: dict[Path, tuple[int, ...]],
    capture: StepCapture | None,
    done: Completed,
) -> RecordedRun:
    reports = _find_reports(nsys, argv, done, asked, before)
    ended_by_us = done.status == 128 + signal.SIGTERM and "--duration" in name_options(argv)
    status = 0 if ended_by_us or (capture is not None and capture.has_stopped) else done.status
    run = RecordedRun(reports, status, done.was_stopped, output=done.output)
    if capture is None:
        return run
    run = replace(run, notes=tuple(capture.notes), was_ready=capture.is_shown, is_of_steps=capture.is_of_steps)
    run = replace(run, program_status=run.program_status or capture.stopped_status)
    return replace(run, unprofiled=capture.read_unprofiled())


def _clear_away(asked: ReportFiles, before: dict[Path, tuple[int, ...]], error: StoppedError) -> None:
    """Remove what nsys had begun to write; whole captures of several are kept, and named."""
    left = asked.written_since(before)
    if asked.in_captures and left:
        hint = f"{error.hint} Files left behind, some perhaps incomplete: {', '.join(map(str, left))}".strip()
        raise StoppedError(str(error), hint) from error
    for path in left:
        path.unlink()


def _find_reports(
    nsys: Nsys, argv: Sequence[str], done: Completed, asked: ReportFiles, before: dict[Path, tuple[int, ...]]
) -> tuple[Path, ...]:
    placed = asked.written_since(before)
    left = placed or [path for path in _generated(done.stdout) if path.is_file()]
    misplaced = not placed and re.search(r"Failed to create '.*rep'", done.output)
    reports = [] if misplaced else [path for path in left if path.suffix in REPORT_SUFFIXES]
    whole = {path.with_suffix("") for path in reports}
    streams = [path for path in left if path.suffix == STREAM_SUFFIX and path.with_suffix("") not in whole]
    reports += [_import(nsys, done, stream, is_only=len(reports + streams) == 1) for stream in streams]
    if not reports:
        raise _failure(argv, done, left)
    return tuple(reports)


def _failure(argv: Sequence[str], done: Completed, left: Sequence[Path]) -> NsysError:
    if left:
        return NsysError(
            f"nsys could not write the report to its path, and left it at {left[0]}: {done.last_lines(1)}",
            hint=f"Move it from there: mv '{left[0]}' .",
        )
    ranged = any(arg.startswith("--capture-range=") for arg in argv)
    if ranged and "Generated:" in done.stdout:  # nsys went through to its end and had nothing to write
        ended = "" if done.was_stopped or not done.status else f"; the program ended with exit status {done.status}"
        return NsysError(
            f"nsys recorded nothing: the capture range never began{ended}.",
            hint=(
                "Have the program call cudaProfilerStart (torch.cuda.profiler.start()) or open the NVTX range, as a "
                "server does on request (docs/servers.md), or record the whole program: leave out --capture-range."
            ),
        )
    problem = explain(done.output)
    if problem is not None:
        return NsysError(f"nsys recorded nothing: {problem.cause}. It said: {done.last_lines()}", hint=problem.remedy)
    output = done.last_lines() or "nothing"
    return NsysError(f"nsys recorded nothing; exit status {done.status}. It said: {output}")


def _import(nsys: Nsys, done: Completed, stream: Path, *, is_only: bool) -> Path:
    """Make the report of a raw recording; of one among others return itself if that fails: its reader says why."""
    try:
        return import_stream(stream, (nsys, *survey_nsys().programs))
    except InputError as error:
        if not is_only:
            return stream
        reason = re.search(r"Importer error status: (.+)", done.output)
        cause = f" ({reason[1].strip()})" if reason else ""
        raise NsysError(
            f"nsys recorded the program but wrote no report{cause}. {error.message}", hint=error.hint
        ) from error


def _generated(stdout: str) -> list[Path]:
    """List the files that nsys says it has written: where the user's own options put them, or where it had to."""
    _, _, listed = stdout.rpartition("Generated:")
    paths = [Path(line.strip()) for line in listed.splitlines()]
    return [path for path in paths if path.suffix in (*REPORT_SUFFIXES, STREAM_SUFFIX)]


_HANDED_OVER = ("PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME")


def become_root(*, ask: bool = True) -> tuple[str, ...]:
    """Ask for the password, if there is one; return what to put before nsys to run it as root, nothing for root.

    sudo drops PATH, and the loader drops LD_LIBRARY_PATH before sudo can keep it, so both are handed over by name. nsys
    starts the program as the user who asked, so that a virtual environment, files and caches are the user's own.

    Raises:
        MachineError: There is no sudo, or it refuses.
    """
    if os.geteuid() == 0:
        return ()
    if ask and shutil.which("sudo") is None:
        raise MachineError("There is no sudo on this machine.", hint="'tcprof doctor' says whether root is needed.")
    if ask and subprocess.run(["sudo", "--validate"], check=False).returncode != 0:
        raise MachineError("sudo refused.", hint="Ask the administrator, or see what 'tcprof doctor' proposes.")
    kept = (f"{name}={os.environ[name]}" for name in _HANDED_OVER if name in os.environ)
    return ("sudo", "--preserve-env", "env", *kept)


def give_back(report: Path) -> None:
    """Make a report that root wrote the user's; where sudo would ask for a password, it stays root's, readable."""
    if report.stat().st_uid != os.getuid():
        run_quietly(["sudo", "-n", "chown", f"{os.getuid()}:{os.getgid()}", str(report)], timeout_s=10.0)
