"""Temporary folders that end with the block, and at a signal; what a killed process left goes with the next one.

The folders of ``tempfile`` would stay where a process is killed, with gigabytes beside the user's recordings. Here each
holds a marker that names the folder and the process that made it, and that is locked while the process lives. Only a
folder with such a marker is ever removed, and only if its process is gone: the lock can be taken, and no process has
that number and start time; or one that is empty, as a process leaves it that is killed before it marks it. On a file
system without locks nothing else is removed, nor is anything where the operating system has none.
"""

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX = "tcprof-temporary-"
_MARKER = ".made-by-tcprof"  # a file, since a folder cannot be locked on a network file system
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_EARLIER_S = 86_400.0  # a machine of the same name may be another one, whose locks are invisible: kept for a day


@contextmanager
def temporary_folder(beside: Path | None = None) -> Iterator[Path]:
    """A folder for what is not finished, removed with all that is in it when the block ends.

    Folders that killed processes left in the same place are removed first.

    Args:
        beside: The folder to make it in, hidden, so that files in it can be renamed to their places; by default the
            system's folder for temporary files.

    Raises:
        OSError: It cannot be made.
    """
    place, prefix = (Path(tempfile.gettempdir()), _PREFIX) if beside is None else (beside, f".{_PREFIX}")
    with suppress(OSError):  # the place is absent or closed, which making the folder says better
        _remove_abandoned(place, prefix)
    folder, lock = _make(place, prefix)
    try:
        yield folder
    finally:
        _empty(folder)
        os.close(lock)  # before the file is removed: a network file system keeps a file that is open
        shutil.rmtree(folder, ignore_errors=True)


def _make(place: Path, prefix: str) -> tuple[Path, int]:
    """A marked folder, and its lock; another one where it was taken for abandoned before it was marked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        with suppress(FileNotFoundError):
            lock = os.open(folder / _MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            if fcntl is not None:
                with suppress(OSError):
                    fcntl.flock(lock, fcntl.LOCK_EX)
            os.write(lock, _mark(folder, os.getpid()))
            if (folder / _MARKER).stat().st_ino == os.fstat(lock).st_ino:
                return folder, lock


def _empty(folder: Path) -> None:
    """Remove all but the marker: what is left where this is broken off can still be told from a user's folder."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _MARKER:
                path.unlink()


def _mark(folder: Path, process: int) -> bytes:
    """The content of a marker: the folder's name, the machine, when that was started, the process, when that was."""
    return "\n".join((folder.name, platform.node(), _boot(), str(process), _start(process), "")).encode()


def _remove_abandoned(place: Path, prefix: str) -> None:
    if fcntl is None:
        return
    for folder in place.glob(f"{prefix}*"):
        with suppress(OSError):  # it is held, it is not empty and has no marker, or it has just been removed
            if folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    """Remove a folder whose process is gone; one that was not marked yet holds nothing."""
    try:
        lock = os.open(folder / _MARKER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        folder.rmdir()
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mark = os.read(lock, 4096)
        if not mark and len(list(folder.iterdir())) == 1:
            (folder / _MARKER).unlink()
        elif _is_abandoned(folder, mark, os.fstat(lock).st_mtime):
            _empty(folder)
        else:
            return
    finally:
        os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path, mark: bytes, marked_s: float) -> bool:
    """Whether tcprof made a folder, on this machine, in a process that is gone."""
    name, node, boot, process, start, *rest = [*mark.decode(errors="replace").split("\n"), *[""] * 5][:6]
    if (name, node) != (folder.name, platform.node()) or not process.isdecimal() or rest != [""]:
        return False
    if boot != _boot():
        return time.time() - marked_s > _EARLIER_S
    return not start or _start(int(process)) != start


def _boot() -> str:
    """What distinguishes this start of the machine from others; empty where the system does not tell."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start(process: int) -> str:
    """When a process began, in ticks since the machine did; empty where there is none, or the system does not tell."""
    try:
        after_name = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        return after_name.split()[19]
    except (OSError, IndexError):
        return ""
