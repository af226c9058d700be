"""Record a program with nsys: run it, pass its output and signals on, find what it wrote."""

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import InputError, NsysError, OutputError, StoppedError
from tcprof.record.command import name_options, report_base
from tcprof.record.nsys.importer import REPORT_SUFFIXES, STREAM_SUFFIX, import_stream
from tcprof.record.nsys.locate import Nsys, survey_nsys
from tcprof.record.nsys.problems import explain
from tcprof.record.processes.run import Completed, run_shown


@dataclass(frozen=True)
class RecordedRun:
    """What a recording left.

    Attributes:
        report: The report that nsys wrote.
        program_status: Exit status of the recorded program, which nsys makes its own; not 0 does not mean
            that the report is bad. 0 where nsys ended the program because the duration asked for was over.
        was_stopped: Whether the user, or a job scheduler, ended it.
    """

    report: Path
    program_status: int
    was_stopped: bool = False


def check_output(output: Path, force: bool) -> None:
    """Makes sure, before anything is run, that a report can be written.

    nsys finds out only at the end, and then leaves the report in a temporary folder with exit status 0.

    Args:
        output: The report to be written.
        force: Whether an existing one may be replaced.

    Raises:
        OutputError: If it exists, or if its folder is absent or closed.
    """
    folder = output.parent
    if not folder.is_dir():
        raise OutputError(f"The folder {folder} does not exist.", hint=f"Make it first: mkdir -p '{folder}'")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"The folder {folder} cannot be written.", hint="Choose another place for the report.")
    for path in _report_paths(output):
        if path.is_dir():
            raise OutputError(f"{path} is a folder.", hint="Choose another name for the report.")
        if path.exists() and not force:
            raise OutputError(f"{path} exists already.", hint="Choose another name, or replace it with --force.")


def record(nsys: Nsys, argv: Sequence[str], output: Path) -> RecordedRun:
    """Runs a recording to its end.

    The program's output appears as it comes. Ctrl-C and SIGTERM end the program, and the report is still
    written. A raw recording that nsys could not turn into a report is imported, if any importer here can.

    Args:
        nsys: The nsys that records.
        argv: The command, from ``build_profile_command``.
        output: The report that was asked for.

    Raises:
        NsysError: If there is no report afterwards; the message says why and what to do.
        StoppedError: If the user gave the recording up; nothing of it is left.
    """
    before = {path: _stamp(path) for path in (*_report_paths(output), _stream_path(output))}
    try:
        done = run_shown(argv)
    except StoppedError:
        for path in (path for path in before if _stamp(path) not in (None, before[path])):
            path.unlink()  # nsys had begun to write it
        raise
    left = [path for path in before if _stamp(path) not in (None, before[path])]
    if not left:
        left = [path for path in _generated(done.stdout) if path.is_file()]
    in_time = done.status == 128 + signal.SIGTERM and "--duration" in name_options(argv)
    status = 0 if in_time else done.status
    misplaced = left and left[0] not in before and re.search(r"Failed to create '.*rep'", done.output)
    if left and left[0].suffix in REPORT_SUFFIXES and not misplaced:
        return RecordedRun(left[0], status, done.was_stopped)
    if streams := [path for path in left if path.suffix == STREAM_SUFFIX]:
        return RecordedRun(_import(nsys, done, streams[0]), status, done.was_stopped)
    raise _failure(argv, done, left)


def _failure(argv: Sequence[str], done: Completed, left: Sequence[Path]) -> NsysError:
    """Why a recording gave no report."""
    if left:
        return NsysError(
            f"nsys could not write the report where it was asked to, and left it at {left[0]}: {done.last_lines(1)}",
            hint=f"Move it from there: mv '{left[0]}' .",
        )
    ranged = any(arg.startswith("--capture-range=") for arg in argv)
    if ranged and "Generated:" in done.stdout:  # nsys went through to its end and had nothing to write
        return NsysError(
            "nsys recorded nothing: the capture range never began.",
            hint="Let the program call cudaProfilerStart (torch.cuda.profiler.start()) or open the NVTX range, "
            "or record the whole program, without a capture range.",
        )
    problem = explain(done.output)
    if problem is not None:
        return NsysError(f"nsys recorded nothing: {problem.cause}. It said: {done.last_lines()}", hint=problem.remedy)
    said = done.last_lines() or "nothing"
    return NsysError(f"nsys recorded nothing; exit status {done.status}. It said: {said}")


def _import(nsys: Nsys, done: Completed, stream: Path) -> Path:
    """The report of a recording that nsys left raw, which it says with exit status 0.

    Raises:
        NsysError: If no importer of this machine can read it; the raw recording stays where it is.
    """
    try:
        return import_stream(stream, (nsys, *survey_nsys().found))
    except InputError as error:
        reason = re.search(r"Importer error status: (.+)", done.output)
        said = f" ({reason[1].strip()})" if reason else ""
        raise NsysError(
            f"nsys recorded the program but made no report of it{said}. {error}", hint=error.hint
        ) from error


def _report_paths(output: Path) -> tuple[Path, ...]:
    base = report_base(output)
    return tuple(base.with_name(base.name + suffix) for suffix in REPORT_SUFFIXES)


def _stream_path(output: Path) -> Path:
    base = report_base(output)
    return base.with_name(base.name + STREAM_SUFFIX)


def _generated(stdout: str) -> list[Path]:
    """The files that nsys says it has written: where the user's own options put them, or where it had to."""
    _, _, listed = stdout.rpartition("Generated:")
    paths = [Path(line.strip()) for line in listed.splitlines()]
    return [path for path in paths if path.suffix in (*REPORT_SUFFIXES, STREAM_SUFFIX)]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is written anew; None if there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
