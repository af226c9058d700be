"""Which source reads a file: each is asked whether the file is its own. A new source is one more entry of the list."""

from pathlib import Path

from tcprof.errors import InputError
from tcprof.files import check_is_file, check_is_unpacked
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
        InputError: The file is absent, damaged, or of no type that tcprof reads.
    """
    return find_type(path).open(path)


def find_type(path: Path) -> SourceType:
    """The type of source that a recording belongs to, by its content.

    Raises:
        InputError: The file is absent, or of no type that tcprof reads.
    """
    header = _header(path)
    found = next((each for each in SOURCE_TYPES if each.recognizes(path, header)), None)
    if found:
        return found
    check_is_file(path)
    check_is_unpacked(path, header)
    raise InputError(
        f"{path} is not a recording that tcprof can read: {', '.join(each.title for each in SOURCE_TYPES)}.",
        "Record one with 'tcprof profile -o RUN.nsys-rep -- PROGRAM', or give a report of nsys (.nsys-rep) or what "
        "'nsys export --type=sqlite REPORT.nsys-rep' makes of it.",
    )


def _header(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""  # opening a pipe would wait for whoever writes it
        with path.open("rb") as file:
            return file.read(HEADER_BYTES)
    except OSError:
        return b""
