"""The importer: the program of Nsight Systems that turns a raw recording (.qdstrm) into a report.

nsys calls it at the end of a recording. Where it cannot be loaded, nsys leaves the raw recording, and exit status 0.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import InputError, NsysError, OutputError
from tcprof.nsys import locate
from tcprof.nsys.locate import Nsys, survey_nsys
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import run_quietly
from tcprof.temporary import temporary_folder

_NAME = "QdstrmImporter"
_PACKAGES = {  # library: its package in Debian and Ubuntu, in Fedora and RHEL
    "libdw.so.1": ("libdw1", "elfutils-libs"),
    "libelf.so.1": ("libelf1", "elfutils-libelf"),
    "libssh.so.4": ("libssh-4", "libssh"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2"),
}


@dataclass(frozen=True)
class Importer:
    """An importer, tried."""

    path: Path  # the program
    problem: str  # why it does not run; empty if it does
    remedy: str  # what to do about it


def find_importer(nsys: Nsys) -> Importer | None:
    """The importer that an nsys will call, started once; None if it has none.

    Raises:
        NsysError: It gives no answer in time.
    """
    path = next(_importer_paths(nsys), None)
    if path is None:
        return None
    try:
        done = run_quietly([str(path), "--version"], timeout_s=locate.ANSWER_S)
    except NsysError as error:
        return Importer(path, str(error), error.hint)
    if done.status == 0:
        return Importer(path, "", "")
    if missing := re.search(r"shared libraries: (\S+?):", done.output):
        return Importer(path, f"the shared library {missing[1]} is missing", explain_library(missing[1]))
    said = done.last_lines(1) or f"exit status {done.status}"
    return Importer(path, said, "Install the full Nsight Systems.")


def explain_library(library: str) -> str:
    """How to get a shared library."""
    if library in _PACKAGES:
        debian, fedora = _PACKAGES[library]
        how = f"Install it: apt-get install {debian} (Debian, Ubuntu), dnf install {fedora} (Fedora, RHEL)"
    else:
        how = f"Install the package that has it ('apt-file search {library}', 'dnf provides {library}')"
    return f"{how}; or put {library} into a folder that LD_LIBRARY_PATH names."


def import_stream(stream: Path, nsys: Iterable[Nsys] | None = None) -> Path:
    """Turns a raw recording (``X.qdstrm``) into a report (``X.nsys-rep``) beside it; the raw recording is kept.

    Args:
        nsys: Those whose importers may be used, best first; all of this machine by default.

    Raises:
        InputError: No importer here can read it; the message repeats what each one said.
        OutputError: The report cannot be written.
    """
    report = ReportFiles.named(stream).report
    said = []
    try:
        for candidate in survey_nsys().found if nsys is None else nsys:
            importer = find_importer(candidate)
            if importer is None:
                continue
            problem = importer.problem or _import(importer.path, stream, report)
            if not problem:
                return report
            said.append(f"{importer.path}: {problem}. {importer.remedy}")
    except OSError as error:
        raise OutputError(f"{report} cannot be written: {error.strerror}.", "Copy the recording elsewhere.") from error
    raise InputError(
        f"{stream} is a raw recording, and no importer here can make a report of it. "
        f"{' '.join(said) or 'There is none: Nsight Systems brings it.'}".rstrip(),
        hint="Or make the report where the Nsight Systems that recorded it is installed whole: "
        f"QdstrmImporter -i '{stream.name}'",
    )


def _import(importer: Path, stream: Path, report: Path) -> str:
    """Imports into a folder beside the report and renames; returns what went wrong."""
    with temporary_folder(report.parent) as folder:
        made = folder / report.name
        done = run_quietly([str(importer), "-i", str(stream), "-o", str(made)])
        if done.status == 0 and made.exists():
            made.replace(report)
            return ""
    return done.last_lines(2) or f"exit status {done.status}"


def _importer_paths(nsys: Nsys) -> Iterator[Path]:
    yield from sorted(nsys.folder.parent.glob(f"*/{_NAME}"))
    if nsys.folder.is_relative_to(locate.VENDOR_ROOT / "usr" / "lib"):  # Debian keeps target and host apart
        yield from sorted((locate.VENDOR_ROOT / "usr" / "lib" / "nsight-systems").glob(f"*/{_NAME}"))
