"""Files that tcprof writes.

They are written beside their place and renamed: a reader finds the old file or the new one, never half of one. What was
there keeps its permissions, and a link stays a link to what it names. A recording is never replaced by anything else,
whatever name or link leads to it.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcprof.errors import OutputError
from tcprof.files import temporary_folder
from tcprof.sources.registry import is_recording

_DEVICES = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))  # /dev/stdout may be a file, and stays the same one
_ELSEWHERE = "Choose another with -o."


@contextmanager
def replace_file(target: Path, *, for_recording: bool = False) -> Iterator[Path]:
    """A path to write to, which becomes the target if the block ends without an error.

    Args:
        target: The file to make or replace. What is no file, such as ``/dev/stdout``, is written to.
        for_recording: Whether what is written is a recording itself, which may replace another.

    Raises:
        OutputError: It cannot be written, or it is a recording.
    """
    place = Path(os.path.realpath(target))
    try:
        if not for_recording:
            _keep_recording(target, place)
        is_device = target.parent in _DEVICES or (target.exists() and not (target.is_file() or target.is_dir()))
        with temporary_folder(None if is_device else place.parent) as folder:
            path = folder / target.name
            yield path
            if is_device:
                with path.open("rb") as written, target.open("wb") as device:
                    shutil.copyfileobj(written, device)
            else:
                _move(path, place)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.", _ELSEWHERE) from error


@contextmanager
def replace_folder(target: Path, last: str) -> Iterator[Path]:
    """A folder to write files to, which becomes the target if the block ends without an error.

    A target that is there keeps its other files. Of those that are written, it has the old ones or the new ones; only
    where it has the ``last`` one too are all of them of one time.

    Raises:
        OutputError: It cannot be written, or one of the files to be replaced is a recording.
    """
    place = Path(os.path.realpath(target))
    base = next(folder for folder in (place, *place.parents) if os.path.lexists(folder))
    try:
        with temporary_folder(base) as folder:
            staged = folder / "made" / place.relative_to(base)
            staged.mkdir(parents=True)
            yield staged
            if base != place:
                first = place.relative_to(base).parts[0]
                (folder / "made" / first).rename(base / first)
                return
            names = sorted((path.name for path in staged.iterdir()), key=lambda name: (name == last, name))
            for name in names:
                _keep_recording(target / name, Path(os.path.realpath(place / name)))
            (place / last).unlink(missing_ok=True)
            for name in names:
                _move(staged / name, Path(os.path.realpath(place / name)))
    except OSError as error:
        raise OutputError(f"The folder {target} cannot be written: {error.strerror or error}.", _ELSEWHERE) from error


def _keep_recording(target: Path, place: Path) -> None:
    if is_recording(place):
        raise OutputError(f"{target} is a recording, which is not replaced by anything else.", _ELSEWHERE)


def _move(path: Path, place: Path) -> None:
    """Put a file in its place, with the permissions of the one that was there."""
    if place.exists():
        path.chmod(stat.S_IMODE(place.stat().st_mode))
    path.replace(place)
