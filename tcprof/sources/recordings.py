"""The recordings that a name stands for: one, or repeated ones of the same program."""

import re
from collections.abc import Iterable
from pathlib import Path

from tcprof.errors import InputError
from tcprof.record.nsys.importer import REPORT_SUFFIXES

EXPORT_SUFFIX = ".sqlite"
_REPEATED = re.compile(r"-(\d+)(?:-redacted)?$")  # as 'tcprof profile --repeat' and '--redact' name them


def find_recordings(given: Path) -> list[Path]:
    """The recordings that are meant, in order of their names' numbers.

    Args:
        given: A file; a folder of recordings of one program; or NAME, where there are NAME-1, NAME-2 and so on, as
            ``tcprof profile --repeat`` writes them. A report stands for its export too.

    Raises:
        InputError: There is none.
    """
    if given.is_dir():
        found = _in_order(path for path in given.iterdir() if not path.name.startswith("."))
        if not found:
            raise InputError(f"{given} is a folder without recordings.", "Give one with .nsys-rep or .sqlite files.")
        return found
    if given.exists() or not given.parent.is_dir():
        return [given]
    plain = given.with_suffix("") if given.suffix in (*REPORT_SUFFIXES, EXPORT_SUFFIX) else given
    return _in_order(path for path in given.parent.iterdir() if _belongs(path, plain.name)) or [given]


def _belongs(path: Path, name: str) -> bool:
    match = _REPEATED.search(path.stem)
    return match is not None and path.stem[: match.start()] == name


def _in_order(paths: Iterable[Path]) -> list[Path]:
    """Reports, and exports that have none beside them."""
    known = [path for path in paths if path.suffix in (*REPORT_SUFFIXES, EXPORT_SUFFIX)]
    reports = {path.with_suffix("") for path in known if path.suffix in REPORT_SUFFIXES}
    kept = [path for path in known if path.suffix in REPORT_SUFFIXES or path.with_suffix("") not in reports]
    return sorted(
        kept, key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]
    )
