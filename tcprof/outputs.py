"""Files that tcprof writes.

They are written beside their place and renamed: a reader finds the old file or the new one, never half of one. What was
there keeps its permissions, and a link stays a link to what it names. A recording is never replaced by anything else,
whatever name or link leads to it.
"""

import gzip
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tcprof.errors import InputError, OutputError
from tcprof.files import temporary_folder
from tcprof.frames import SCHEMAS
from tcprof.sources.registry import SOURCE_TYPES, find_recordings, is_recording

_DEVICES = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))  # /dev/stdout may be a file, and stays the same one
_ELSEWHERE = "Choose another with -o."
_ENOUGH = 4096  # bytes
# What the formats have at their begin or end, not the name alone: notes that mention tcprof are not its output.
_MARKS = re.compile(
    rb'\A\{\s*"tcprof": ?"|\A\{"displayTimeUnit":"ns","otherData":\{"tcprof":'
    rb'|\A<!doctype html>.*<meta name="generator" content="tcprof '
    rb'|\A<\?xml[^>]*>\s*<testsuites>\s*<testsuite name="tcprof"'
    rb"|\A\x89PNG\r\n\x1a\n.{25}.{4}tEXtSoftware\x00tcprof "
    rb"|Made by tcprof [\w.+-]+\.(?: -->)?\s*\Z",
    re.DOTALL,
)


def check_target(target: Path, inputs: Iterable[Path], *, force: bool, for_recording: bool = False) -> None:
    """Make sure, before anything is read, that a file may be written; recordings are replaced by recordings only."""
    if target.is_dir() or not target.parent.is_dir():
        why = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise OutputError(f"{target} cannot be written: {why}.", "Give a file name with -o.")
    if any(_is_same(target, path) for recording in inputs for path in _list_files(recording)):
        raise OutputError(f"{target} is the input.", _ELSEWHERE)
    if is_recording(target) and not (force and for_recording):
        hint = f"{_ELSEWHERE[:-1]}, or replace it with --force." if for_recording else _ELSEWHERE
        raise OutputError(f"{target} already exists and is a recording.", hint)
    if not force and not is_made_by_tcprof(target):
        hint = f"{_ELSEWHERE[:-1]}, or replace it with --force."
        raise OutputError(f"{target} already exists and was not written by tcprof.", hint)


def is_made_by_tcprof(path: Path) -> bool:
    """Tell whether tcprof wrote a file; also of one that is empty or absent, so that nothing in it can be lost."""
    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        head, size = file.read(_ENOUGH), file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _ENOUGH))
        tail = file.read()
    if head.startswith(b"\x1f\x8b"):
        with suppress(OSError, EOFError, zlib.error), gzip.open(path) as packed:
            head = packed.read(_ENOUGH)
    columns = head.decode("utf-8", "replace").partition("\n")[0].rstrip("\r").split(",")
    return bool(_MARKS.search(head) or _MARKS.search(tail)) or any(columns == schema.names for schema in SCHEMAS)


def _list_files(recording: Path) -> Iterator[Path]:
    """Iterate over the files that are read for a recording, or for several, and those that are the same recording."""
    yield recording
    with suppress(InputError, OSError):  # whoever reads it says what is wrong
        for path in find_recordings(recording):
            yield path
            suffixes = (source_type.suffixes for source_type in SOURCE_TYPES if path.suffix in source_type.suffixes)
            yield from (path.with_name(path.stem + suffix) for group in suffixes for suffix in group)


def _is_same(one: Path, other: Path) -> bool:
    """Tell whether two names lead to one file, or would if there were one."""
    with suppress(OSError):
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def replace_file(target: Path, *, for_recording: bool = False) -> Iterator[Path]:
    """Give a path to write to, which becomes the target if the block ends without an error.

    Args:
        target: The file to make or replace. What is no file, such as ``/dev/stdout``, is written to.
        for_recording: Whether what is written is a recording itself, which may replace another.
    """
    destination = Path(os.path.realpath(target))
    try:
        if not for_recording:
            _keep_recording(target, destination)
        is_device = target.parent in _DEVICES or (target.exists() and not (target.is_file() or target.is_dir()))
        with temporary_folder(None if is_device else destination.parent) as folder:
            path = folder / target.name
            yield path
            if is_device:
                with path.open("rb") as written, target.open("wb") as device:
                    shutil.copyfileobj(written, device)
            else:
                _move(path, destination)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.", _ELSEWHERE) from error


@contextmanager
def replace_folder(target: Path, last: str) -> Iterator[Path]:
    """Give a folder to write to, which becomes the target if the block ends without an error.

    A target that is there keeps its other files. Of those that are written, it has the old ones or the new ones; only
    where it has the ``last`` one too are all of them of one time.
    """
    destination = Path(os.path.realpath(target))
    base = next(folder for folder in (destination, *destination.parents) if os.path.lexists(folder))
    try:
        with temporary_folder(base) as folder:
            staged = folder / "made" / destination.relative_to(base)
            staged.mkdir(parents=True)
            yield staged
            if base != destination:
                first = destination.relative_to(base).parts[0]
                (folder / "made" / first).rename(base / first)
                return
            names = sorted((path.name for path in staged.iterdir()), key=lambda name: (name == last, name))
            for name in names:
                _keep_recording(target / name, Path(os.path.realpath(destination / name)))
            (destination / last).unlink(missing_ok=True)
            for name in names:
                _move(staged / name, Path(os.path.realpath(destination / name)))
    except OSError as error:
        raise OutputError(f"The folder {target} cannot be written: {error.strerror or error}.", _ELSEWHERE) from error


def _keep_recording(target: Path, destination: Path) -> None:
    if is_recording(destination):
        raise OutputError(f"{target} is a recording, which only a new recording may replace.", _ELSEWHERE)


def _move(path: Path, destination: Path) -> None:
    """Put a file in its place, with the permissions of the one that was there."""
    if destination.exists():
        path.chmod(stat.S_IMODE(destination.stat().st_mode))
    path.replace(destination)
