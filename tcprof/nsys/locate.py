"""Find every nsys on the machine, and its version."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import NsysError
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


@dataclass(frozen=True)
class Nsys:
    """An nsys that runs."""

    path: Path  # the executable
    version: tuple[int, ...]  # for instance (2025, 3, 2, 474)
    # What comes before it on a command line that reads counters: sudo with what it needs, or nothing.
    prefix: tuple[str, ...] = ()

    @property
    def version_text(self) -> str:
        """The version as people write it: 2025.3.2."""
        return ".".join(str(part) for part in self.version[:3])

    @property
    def folder(self) -> Path:
        """Where the program itself is, with its metric sets beside it."""
        return self.path.resolve().parent

    @property
    def is_on_path(self) -> bool:
        """Whether a shell finds it by its name."""
        found = shutil.which("nsys")
        return found is not None and Path(found).resolve() == self.path.resolve()


@dataclass(frozen=True)
class Survey:
    """Every nsys of the machine."""

    found: tuple[Nsys, ...]  # those that run; the first is the one to use
    failures: tuple[str, ...]  # what is called nsys and does not run, and why


def find_nsys(explicit: Path | None = None) -> Nsys:
    """Finds the nsys to use: the first of ``survey_nsys``.

    Raises:
        NsysError: If there is none, or the named one does not run.
    """
    survey = survey_nsys(explicit)
    if survey.found:
        return survey.found[0]
    if survey.failures:
        raise NsysError("\n".join(survey.failures), hint=INSTALL_HINT)
    looked = ", ".join(str(VENDOR_ROOT / pattern.partition("/target")[0]) for pattern in VENDOR_PATTERNS)
    raise NsysError(
        f"nsys, the program of NVIDIA Nsight Systems, was not found on PATH nor in {looked}.", hint=INSTALL_HINT
    )


def survey_nsys(explicit: Path | None = None) -> Survey:
    """The given nsys, else that of TCPROF_NSYS; else the one on PATH, then, newest first, those installed."""
    named = explicit or (os.environ.get(ENVIRONMENT_VARIABLE) and Path(os.environ[ENVIRONMENT_VARIABLE]).expanduser())
    if named:
        return _survey([named])
    on_path = shutil.which("nsys")
    first = _survey([Path(on_path)] if on_path else [])
    known = {nsys.path.resolve() for nsys in first.found}
    installed = _survey([path for path in _vendor_paths() if path.resolve() not in known])
    newest_first = sorted(installed.found, key=lambda nsys: nsys.version, reverse=True)
    return Survey(tuple(dict.fromkeys([*first.found, *newest_first])), (*first.failures, *installed.failures))


def _survey(paths: list[Path]) -> Survey:
    found, failures = [], []
    for path in paths:
        try:
            found.append(_behind_wrapper(_read_version(path)))
        except NsysError as error:  # CUDA puts a wrapper on PATH even where Nsight Systems is not installed
            failures.append(str(error))
    return Survey(tuple(found), tuple(failures))


def _behind_wrapper(nsys: Nsys) -> Nsys:
    """The program that CUDA's script on PATH calls: only beside the program are its metric sets and its importer."""
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
        said = done.last_lines() or "nothing"
        raise NsysError(f"{path} does not run as nsys: exit status {done.status}, and it said: {said}")
    return Nsys(path, tuple(int(part) for part in match[1].split(".")))
