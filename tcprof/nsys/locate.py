"""Find every nsys on the machine, its version, and its importer.

The importer is the program of Nsight Systems that turns a raw recording (.qdstrm) into a report. nsys calls it at the
end of a recording. Where it cannot be loaded, nsys leaves the raw recording, and exit status 0.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import InputError, NsysError, OutputError
from tcprof.files import temporary_folder
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import run_quietly

ENVIRONMENT_VARIABLE = "TCPROF_NSYS"
VENDOR_ROOT = Path("/")
VENDOR_PATTERNS = (
    "opt/nvidia/nsight-systems*/*/target-linux-*/nsys",  # NVIDIA's packages
    "usr/local/cuda*/NsightSystems-cli-*/target-linux-*/nsys",
    "usr/local/cuda*/nsight-systems-*/target-linux-*/nsys",
    "usr/lib/nsight-systems/target-linux-*/nsys",  # Debian and Ubuntu
    "usr/lib/*/nsight-systems/target-linux-*/nsys",
    "opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Systems/target-linux-*/nsys",
    "opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",  # Nsight Compute brings a complete copy
    "usr/local/cuda*/nsight-compute-*/host/target-linux-*/nsys",
)
METRIC_SETS = "GpuMetrics"  # folder beside the executable
ANSWER_S = 120.0  # the first start from a cold network file system is slow
INSTALL_HINT = (
    "Install NVIDIA Nsight Systems (package nsight-systems-cli in NVIDIA's repositories, nsight-systems in "
    f"Debian and Ubuntu), or set {ENVIRONMENT_VARIABLE}=/path/to/nsys."
)
_NAME = "QdstrmImporter"
_PACKAGES = {  # library: its package in Debian and Ubuntu, in Fedora and RHEL
    "libdw.so.1": ("libdw1", "elfutils-libs"),
    "libelf.so.1": ("libelf1", "elfutils-libelf"),
    "libssh.so.4": ("libssh-4", "libssh"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2"),
}


@dataclass(frozen=True)
class Nsys:
    """An nsys that runs."""

    path: Path  # the executable
    version: tuple[int, ...]  # for instance (2025, 3, 2, 474)
    # What comes before it on a command line that reads counters: sudo with what it needs, or nothing.
    prefix: tuple[str, ...] = ()

    @property
    def version_text(self) -> str:
        """Write the version as people do: 2025.3.2."""
        return ".".join(str(part) for part in self.version[:3])

    @property
    def folder(self) -> Path:
        """Return the folder of the program itself, with its metric sets."""
        return self.path.resolve().parent

    @property
    def is_on_path(self) -> bool:
        """Tell whether a shell finds it by its name."""
        path = shutil.which("nsys")
        return path is not None and Path(path).resolve() == self.path.resolve()


@dataclass(frozen=True)
class Survey:
    """Every nsys of the machine."""

    programs: tuple[Nsys, ...]  # those that run; the first is the one to use
    failures: tuple[str, ...]  # what is called nsys and does not run, and why


def find_nsys(explicit: Path | None = None) -> Nsys:
    """Find the nsys to use, the first of ``survey_nsys``; NsysError where there is none, or the named one fails."""
    survey = survey_nsys(explicit)
    if survey.programs:
        return survey.programs[0]
    if survey.failures:
        raise NsysError("\n".join(survey.failures), hint=INSTALL_HINT)
    looked = ", ".join(str(VENDOR_ROOT / pattern.partition("/target")[0]) for pattern in VENDOR_PATTERNS)
    raise NsysError(
        f"nsys, the program of NVIDIA Nsight Systems, was not found on PATH nor in {looked}.", hint=INSTALL_HINT
    )


def survey_nsys(explicit: Path | None = None) -> Survey:
    """Try the given nsys, else that of TCPROF_NSYS; else the one on PATH, then, newest first, those installed."""
    named = explicit or (os.environ.get(ENVIRONMENT_VARIABLE) and Path(os.environ[ENVIRONMENT_VARIABLE]).expanduser())
    if named:
        return _survey([named])
    on_path = shutil.which("nsys")
    first = _survey([Path(on_path)] if on_path else [])
    paths = {nsys.path.resolve() for nsys in first.programs}
    installed = _survey([path for path in _vendor_paths() if path.resolve() not in paths])
    newest_first = sorted(installed.programs, key=lambda nsys: nsys.version, reverse=True)
    return Survey(tuple(dict.fromkeys([*first.programs, *newest_first])), (*first.failures, *installed.failures))


def _survey(paths: list[Path]) -> Survey:
    programs, failures = [], []
    for path in paths:
        try:
            programs.append(_behind_wrapper(_read_version(path)))
        except NsysError as error:  # CUDA puts a wrapper on PATH even where Nsight Systems is not installed
            failures.append(error.message)
    return Survey(tuple(programs), tuple(failures))


def _behind_wrapper(nsys: Nsys) -> Nsys:
    """Find the program that CUDA's script on PATH calls: its metric sets and its importer are beside it only."""
    if (nsys.folder / METRIC_SETS).is_dir():
        return nsys
    near = sorted(nsys.folder.parent.glob("target-linux-*/nsys"))
    for path in (*near, *_vendor_paths()):
        if (path.parent / METRIC_SETS).is_dir() and _read_version(path).version == nsys.version:
            return Nsys(path, nsys.version)
    return nsys


def _vendor_paths() -> Iterator[Path]:
    seen = set()
    for pattern in VENDOR_PATTERNS:
        for path in sorted(VENDOR_ROOT.glob(pattern)):
            if path.resolve() not in seen:
                seen.add(path.resolve())
                yield path


def _read_version(path: Path) -> Nsys:
    done = run_quietly([str(path), "--version"], timeout_s=ANSWER_S)
    match = re.search(r"\bversion (\d+(?:\.\d+)+)", done.output)
    if done.status != 0 or match is None:
        output = done.last_lines() or "nothing"
        raise NsysError(f"{path} fails to run as nsys: exit status {done.status}, output: {output}")
    return Nsys(path, tuple(int(part) for part in match[1].split(".")))


@dataclass(frozen=True)
class Importer:
    """An importer that was started once, and its problem if it has one."""

    path: Path  # the program
    problem: str  # why it does not run; empty if it does
    remedy: str  # what to do about it


def find_importer(nsys: Nsys) -> Importer | None:
    """Start the importer that an nsys will call once; None if it has none."""
    path = next(_importer_paths(nsys), None)
    if path is None:
        return None
    try:
        done = run_quietly([str(path), "--version"], timeout_s=ANSWER_S)
    except NsysError as error:
        return Importer(path, error.message, error.hint)
    if done.status == 0:
        return Importer(path, "", "")
    if missing := re.search(r"shared libraries: (\S+?):", done.output):
        return Importer(path, f"the shared library {missing[1]} is missing", explain_library(missing[1]))
    reason = done.last_lines(1) or f"exit status {done.status}"
    return Importer(path, reason, "Install the full Nsight Systems.")


def explain_library(library: str) -> str:
    """Explain how to get a shared library."""
    if library in _PACKAGES:
        debian, fedora = _PACKAGES[library]
        how = f"Install it: apt-get install {debian} (Debian, Ubuntu), dnf install {fedora} (Fedora, RHEL)"
    else:
        how = f"Install the package that has it ('apt-file search {library}', 'dnf provides {library}')"
    return f"{how}; or put {library} into a folder that LD_LIBRARY_PATH names."


def import_stream(stream: Path, nsys: Iterable[Nsys] | None = None) -> Path:
    """Turn a raw recording (``X.qdstrm``), which is kept, into a report beside it.

    InputError: no importer here can read it; it repeats what each said. OutputError: the report cannot be written.
    """
    report = ReportFiles.named(stream).report
    refusals = []
    try:
        for candidate in survey_nsys().programs if nsys is None else nsys:
            importer = find_importer(candidate)
            if importer is None:
                continue
            problem = importer.problem or _import(importer.path, stream, report)
            if not problem:
                return report
            refusals.append(f"{importer.path}: {problem}. {importer.remedy}")
    except OSError as error:
        raise OutputError(f"{report} cannot be written: {error.strerror}.", "Copy the recording elsewhere.") from error
    raise InputError(
        f"{stream} is a raw recording, and no importer here can convert it. "
        f"{' '.join(refusals) or 'The importer comes with Nsight Systems.'}".rstrip(),
        hint="Or make the report where the Nsight Systems that recorded it is fully installed: "
        f"QdstrmImporter -i '{stream.name}'",
    )


def _import(importer: Path, stream: Path, report: Path) -> str:
    """Import into a folder beside the report and rename; return what went wrong."""
    with temporary_folder(report.parent) as folder:
        made = folder / report.name
        done = run_quietly([str(importer), "-i", str(stream), "-o", str(made)])
        if done.status == 0 and made.exists():
            made.replace(report)
            return ""
    return done.last_lines(2) or f"exit status {done.status}"


def _importer_paths(nsys: Nsys) -> Iterator[Path]:
    yield from sorted(nsys.folder.parent.glob(f"*/{_NAME}"))
    if nsys.folder.is_relative_to(VENDOR_ROOT / "usr" / "lib"):  # Debian keeps target and host apart
        yield from sorted((VENDOR_ROOT / "usr" / "lib" / "nsight-systems").glob(f"*/{_NAME}"))
