"""Which source reads a file: each is asked whether the file is its own. A new source is one more entry of the list."""

from pathlib import Path

from tcprof.errors import InputError
from tcprof.record.nsys.export import check_is_file
from tcprof.sources import Source, SourceType
from tcprof.sources.nsys_sqlite import NSYS

# In order; Nsight Systems comes last, since it takes files by their names too.
SOURCE_TYPES: tuple[SourceType, ...] = (NSYS,)
HEADER_BYTES = 256


def open_source(path: Path) -> Source:
    """Open a recording with the source that it belongs to, by its content.

    Args:
        path: A recording: for Nsight Systems a report, which is exported first, or its SQLite export.

    Raises:
        InputError: The file is absent, damaged, or of no kind that tcprof reads.
    """
    header = _header(path)
    found = next((kind for kind in SOURCE_TYPES if kind.recognizes(path, header)), None)
    if found:
        return found.open(path)
    check_is_file(path)
    raise InputError(
        f"{path} is not a recording that tcprof can read: {', '.join(kind.title for kind in SOURCE_TYPES)}.",
        "Record one with 'tcprof profile -o RUN.nsys-rep -- PROGRAM', or give a report of nsys (.nsys-rep) or what "
        "'nsys export --type=sqlite REPORT.nsys-rep' makes of it.",
    )


def _header(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEADER_BYTES)
    except OSError:
        return b""
