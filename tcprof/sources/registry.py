"""Find the source that reads a file, and recordings in folders: a new source is an entry of ``SOURCE_TYPES``."""

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tcprof.errors import InputError
from tcprof.files import check_is_file, check_is_unpacked
from tcprof.frames import RANK_RECORDINGS
from tcprof.nsys.folders import is_folder_export
from tcprof.sources import SourceType
from tcprof.sources.kineto import KINETO
from tcprof.sources.nsys import NSYS
from tcprof.sources.saved import SAVED

# In order; Nsight Systems comes last, since it takes files by their names too.
SOURCE_TYPES: tuple[SourceType, ...] = (SAVED, KINETO, NSYS)
HEADER_BYTES = 256
JOB_FILE = f"{RANK_RECORDINGS.name}.parquet"  # of a saved job, written last: a folder with it is whole
_SUFFIXES = tuple(dict.fromkeys(suffix for kind in SOURCE_TYPES for suffix in kind.suffixes))
_MOST_LISTED = 5
_REPEATED = re.compile(r"-(\d+)(?:-redacted)?$")  # as 'tcprof profile --repeat' and '--redact' name them


def find_type(path: Path) -> SourceType:
    """Find the type of source that a recording belongs to, by its content; InputError where it is none."""
    header = _header(path)
    source_type = next((kind for kind in SOURCE_TYPES if kind.recognizes(path, header)), None)
    if source_type:
        return source_type
    if path.is_dir():
        raise explain_folder(path)
    check_is_file(path)
    check_is_unpacked(path, header)
    raise InputError(
        f"{path} is not a recording that tcprof can read: {', '.join(kind.title for kind in SOURCE_TYPES)}.",
        "Record one with 'tcprof profile -o RUN.nsys-rep -- PROGRAM', or give an nsys report (.nsys-rep) or its "
        "export ('nsys export --type=sqlite REPORT.nsys-rep').",
    )


def is_recording(path: Path) -> bool:
    """Tell whether a file is, or begins like, what a source reads: nothing else is ever written in its place."""
    header = _header(path)
    return bool(header) and any(header.startswith(kind.magic) or kind.recognizes(path, header) for kind in SOURCE_TYPES)


def find_recordings(given: Path) -> list[Path]:
    """Find the recordings that the user means, in order of their names' numbers.

    Args:
        given: A file; a folder of recordings of one program; or NAME, where there are NAME-1, NAME-2 and so on, as
            ``tcprof profile --repeat`` writes them. A report stands for its export and its saved analysis, too.

    Raises:
        InputError: There is none, or the folder may not be read.
    """
    try:
        if is_folder(given):
            recordings = list_folder(given)
            if not recordings:
                raise explain_folder(given)
            return recordings
        if given.exists() or not given.parent.is_dir():
            return [given]
        plain = given.with_suffix("") if given.suffix in _SUFFIXES else given
        return choose_recordings(path for path in given.parent.iterdir() if _belongs(path, plain.name)) or [given]
    except OSError as error:
        raise InputError(f"{given} cannot be read: {error.strerror}.", "Check the name.") from error


def is_folder(given: Path) -> bool:
    """Tell whether a path is a folder that is no recording itself."""
    return given.is_dir() and not is_folder_export(given)


def is_job(folder: Path) -> bool:
    """Tell whether a folder holds a saved job."""
    return os.path.isfile(folder / JOB_FILE)  # noqa: PTH113  # False, where that folder may not be read


def explain_folder(folder: Path) -> InputError:
    """Explain what a folder is where a recording is needed, and what to type in its place."""
    if is_job(folder):
        return InputError(f"{folder} is a saved job of several ranks, not a recording.", f"Show it: {_ranks(folder)}")
    if recordings := list_folder(folder):
        return InputError(
            f"{folder} is a folder with {_count(recordings, 'recording')}.",
            f"Show the ranks of a job with '{_ranks(folder)}', or give one recording: {_quote(recordings[0])}",
        )
    inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    folders = [path for path in inside if path.is_dir()]
    if jobs := [path for path in folders if is_job(path)]:
        return InputError(
            f"{folder} itself has no recordings, but {_count(jobs, 'saved job')}.", f"Show one: {_ranks(jobs[0])}"
        )
    if full := [path for path in folders if list_folder(path)]:
        return InputError(
            f"{folder} has recordings only in {_count(full, 'folder')}.", f"Give one: {_quote(list_folder(full[0])[0])}"
        )
    kinds = Counter("folder" if path.is_dir() else path.suffix or "plain file" for path in inside).most_common()
    counts = (f"{count:,} {kind}{'s' if count > 1 and kind[0] != '.' else ''}" for kind, count in kinds[:_MOST_LISTED])
    content = ", ".join(counts) or "nothing"
    return InputError(
        f"{folder} is a folder without recordings: it has {content}.",
        f"Give one with files that end in {', '.join(_SUFFIXES)}.",
    )


def _ranks(folder: Path) -> str:
    return f"tcprof ranks {_quote(folder)}"


def _quote(path: Path) -> str:
    return shlex.quote(str(path))


def _count(paths: Sequence[Path], what: str) -> str:
    names = ", ".join(path.name for path in paths[:_MOST_LISTED])
    more = f" and {len(paths) - _MOST_LISTED:,} more" if len(paths) > _MOST_LISTED else ""
    return f"{len(paths):,} {what}{'s' if len(paths) > 1 else ''} ({names}{more})"


def list_folder(folder: Path) -> list[Path]:
    """List the recordings in a folder itself; InputError where it may not be read."""
    try:
        return choose_recordings(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}.", "Check the name.") from error


def _belongs(path: Path, name: str) -> bool:
    match = _REPEATED.search(path.stem)
    return match is not None and path.stem[: match.start()] == name


def choose_recordings(paths: Iterable[Path]) -> list[Path]:
    """Choose the recordings among some files, one of each, in order of their names: see ``SourceType.suffixes``."""
    files = list(paths)
    recordings: dict[tuple[str, Path], Path] = {}
    for kind in SOURCE_TYPES:
        for suffix in reversed(kind.suffixes):
            named = [path for path in files if path.name.endswith(suffix) and path.name != suffix]
            recordings |= {
                (kind.title, path.with_name(path.name.removesuffix(suffix))): path
                for path in named
                if _may_be(kind, path)
            }
    analyzed = {name for title, name in recordings if title != SAVED.title}  # what lies there itself is read
    return sorted(
        {path for (title, name), path in recordings.items() if title != SAVED.title or name not in analyzed},
        key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)],
    )


def _may_be(source_type: SourceType, path: Path) -> bool:
    """Tell whether a source reads a file with one of its suffixes, or fails with a reason: it has no content."""
    header = _header(path)
    return source_type.recognizes(path, header) or not (header or source_type.has_common_name)


def _header(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""  # opening a pipe would wait for whoever writes it
        with path.open("rb") as file:
            return file.read(HEADER_BYTES)
    except OSError:
        return b""
