"""The files of a report: what nsys calls them, whether they can be written, and which it wrote, in which version."""

import itertools
import os
import re
import socket
from dataclasses import dataclass, replace
from pathlib import Path

from tcprof.errors import OutputError, UsageError
from tcprof.files import stamp

REPORT_MAGIC = b"NVIDIA Tegra Profiler Report"
SQLITE_MAGIC = b"SQLite format 3\0"
REPORT_SUFFIX = ".nsys-rep"
REPORT_SUFFIXES = (REPORT_SUFFIX, ".qdrep")  # nsys before 2021.4 wrote .qdrep
STREAM_SUFFIX = ".qdstrm"
EXPORT_SUFFIX = ".sqlite"
_WRITTEN = (*REPORT_SUFFIXES, STREAM_SUFFIX)  # by nsys


@dataclass(frozen=True)
class ReportFiles:
    """The files that belong to a report, whether or not they exist."""

    base: Path  # their path without the suffix
    # Whether nsys makes a report for each capture range, and numbers them if there are several: NAME.1, NAME.2
    in_captures: bool = False
    is_pattern: bool = False  # whether the path holds patterns that nsys is to fill in, see ``fill_in``

    @classmethod
    def named(cls, path: Path) -> "ReportFiles":
        """Name the files by a path with or without one of the suffixes."""
        is_one = path.suffix in (*REPORT_SUFFIXES, STREAM_SUFFIX, EXPORT_SUFFIX)
        return cls(path.with_suffix("") if is_one else path)

    def captures(self) -> tuple["ReportFiles", ...]:
        """List the files of each numbered capture that has any, in order; none where captures are not numbered."""
        name = re.compile(rf"{re.escape(self.base.name)}\.([1-9]\d*)(?:-redacted)?\.[\w-]+")
        beside = (name.fullmatch(path.name) for path in self.base.parent.iterdir()) if self.in_captures else ()
        numbers = sorted({int(match[1]) for match in beside if match})
        return tuple(ReportFiles(self._with(f".{number}")) for number in numbers)

    def numbered(self, count: int) -> tuple["ReportFiles", ...]:
        """Number the files of several reports from 1 on; a single one has no number."""
        if count == 1:
            return (self,)
        return tuple(replace(self, base=self._with(f"-{number}")) for number in range(1, count + 1))

    @property
    def output(self) -> str:
        """Return the path that nsys is to write to."""
        return self.base.as_posix() if self.is_pattern else self.base.as_posix().replace("%", "%%")

    @property
    def report(self) -> Path:
        """Return the path of the report, as nsys calls it today."""
        return self._with(REPORT_SUFFIX)

    @property
    def export(self) -> Path:
        """Return the path of the report's SQLite export."""
        return self._with(EXPORT_SUFFIX)

    def check(self, force: bool) -> None:
        """Make sure before the run that a report can be written: nsys finds out at the end, and leaves it elsewhere."""
        folder = self.base.parent
        if not folder.is_dir():
            raise OutputError(f"The folder {folder} does not exist.", hint=f"Make it first: mkdir -p '{folder}'")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(f"The folder {folder} cannot be written.", hint="Choose another place for the report.")
        for path in map(self._with, REPORT_SUFFIXES):
            if path.is_dir():
                raise OutputError(f"{path} is a folder.", hint="Choose another name for the report.")
            if path.exists() and not force:
                raise OutputError(f"{path} already exists.", hint="Choose another name, or replace it with --force.")

    def stamps(self) -> dict[Path, tuple[int, ...]]:
        """Stamp the files that nsys writes, reports first; the stamp is empty for one that is not there."""
        files = (self, *self.captures())
        return {path: stamp(path) for suffix in _WRITTEN for path in (report._with(suffix) for report in files)}

    def written_since(self, before: dict[Path, tuple[int, ...]]) -> list[Path]:
        """List the files that were written since ``stamps`` was asked."""
        return [path for path, now in self.stamps().items() if now and now != before.get(path)]

    def _with(self, suffix: str) -> Path:
        return self.base.with_name(self.base.name + suffix)


def fill_in(path: Path) -> Path:
    """Replace nsys's patterns in a path: %q{VARIABLE}, %h (host), %p (this process), %n (first free number), %% (%).

    UsageError where a variable is not set.
    """
    for number in itertools.count(1):
        filled = Path(_PATTERN.sub(lambda match: _value(match, number), str(path)))  # noqa: B023
        files = ReportFiles.named(filled)
        if "%n" not in path.name.replace("%%", "") or not any(files.stamps().values()):
            break
    return filled


_PATTERN = re.compile(r"%(?:q\{([^}]*)\}|([hpn%]))")


def _value(pattern: re.Match[str], number: int) -> str:
    name, letter = pattern.groups()
    if letter:
        return {"h": socket.gethostname(), "p": str(os.getpid()), "n": str(number), "%": "%"}[letter]
    if name not in os.environ:
        raise UsageError(
            f"The environment variable {name} in -o is not set.",
            hint="Set it, or start tcprof with a launcher that sets it, such as srun, mpirun or torchrun.",
        )
    return os.environ[name]


def read_report_version(report: Path) -> tuple[int, ...]:
    """Read the version of nsys that wrote a report; empty if its first bytes do not say."""
    with report.open("rb") as file:
        match = re.search(rb"Report (\d+(?:@\d+)+)", file.read(256))
    return tuple(int(part) for part in match[1].split(b"@")) if match else ()
