"""Record a program with nsys: run it, pass its output and signals on, find what it wrote."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import NsysError, OutputError
from tcprof.nsys.capabilities import Capabilities, read_general_metric_set
from tcprof.nsys.command import report_base
from tcprof.nsys.locate import Nsys
from tcprof.nsys.metricset import build_metric_set
from tcprof.nsys.problems import explain
from tcprof.nsys.process import Completed, run_shown

REPORT_SUFFIXES = (".nsys-rep", ".qdrep")  # nsys before 2021.4 wrote .qdrep
STREAM_SUFFIX = ".qdstrm"


@dataclass(frozen=True)
class Recording:
    """What a recording left.

    Attributes:
        report: The report that nsys wrote.
        program_status: Exit status of the recorded program, which nsys makes its own; not 0 does not mean
            that the report is bad.
    """

    report: Path
    program_status: int


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


def write_metric_set(nsys: Nsys, capabilities: Capabilities, folder: Path, *, keep_links: bool = False) -> Path:
    """Writes a metric set with tensor cycles for the GPUs of this machine.

    Args:
        nsys: The nsys that will use it.
        capabilities: What it can do here.
        folder: Where to write it; a temporary folder that outlives the recording.
        keep_links: Keep the metrics of NVLink and PCIe as well.

    Returns:
        The file, named after the set's alias as nsys wants it.

    Raises:
        NsysError: If this nsys or these GPUs allow none; nsys's own set records percentages all the same.
    """
    chips = sorted({gpu.chip for gpu in capabilities.supported_gpus})
    if not capabilities.metric_set_files:
        raise NsysError(f"nsys {nsys.version_text} takes no metric set from a file.", hint="Use a newer nsys.")
    if len(chips) != 1 or not chips[0]:
        raise NsysError(
            f"One metric set serves one kind of GPU, and nsys names these: {', '.join(chips) or 'none'}.",
            hint="Record GPUs of one kind at a time.",
        )
    path = folder / "tcprof.config"
    text = build_metric_set(read_general_metric_set(nsys, chips[0]), chips[0], path.stem, keep_links=keep_links)
    path.write_text(text, encoding="utf-8")
    return path


def record(nsys: Nsys, argv: Sequence[str], output: Path) -> Recording:
    """Runs a recording to its end.

    The program's output appears as it comes. Ctrl-C and SIGTERM end the program, and the report is still
    written.

    Args:
        nsys: The nsys that records.
        argv: The command, from ``build_profile_command``.
        output: The report that was asked for.

    Raises:
        NsysError: If there is no report afterwards; it tells why and what to do.
    """
    before = {path: _stamp(path) for path in (*_report_paths(output), _stream_path(output))}
    done = run_shown(argv)
    left = [path for path in before if _stamp(path) not in (None, before[path])]
    if not left:
        left = [path for path in _generated(done.stdout) if path.is_file()]
    misplaced = left and left[0] not in before and re.search(r"Failed to create '.*rep'", done.output)
    if left and left[0].suffix in REPORT_SUFFIXES and not misplaced:
        return Recording(left[0], done.status)
    raise _failure(nsys, argv, done, left)


def _failure(nsys: Nsys, argv: Sequence[str], done: Completed, left: Sequence[Path]) -> NsysError:
    """Why a recording gave no report."""
    streams = [path for path in left if path.suffix == STREAM_SUFFIX]
    if streams:
        return _not_imported(nsys, done, streams[0])
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


def _not_imported(nsys: Nsys, done: Completed, stream: Path) -> NsysError:
    """The recording is there, but nsys could not turn it into a report, and says so with exit status 0."""
    reason = re.search(r"Importer error status: (.+)", done.output)
    said = f" ({reason[1].strip()})" if reason else ""
    return NsysError(
        f"nsys recorded the program but could not load its importer{said}: it left {stream}, no report.",
        hint="The importer needs the library libdw.so.1: install libdw1 (Debian, Ubuntu) or elfutils-libs "
        "(Fedora, RHEL), or install the full Nsight Systems, and record again. Or make the report on a machine "
        f"with Nsight Systems {nsys.version_text}: QdstrmImporter -i '{stream.name}'",
    )


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
