"""Temporary folders that end with the block, and at a signal; what a killed process left goes with the next one.

The folders of ``tempfile`` would stay where a process is killed, with gigabytes beside the user's recordings. Here each
holds a marker that names the folder and the process that made it, and that is locked while the process lives. Only a
folder with such a marker is ever removed, and only if its process is gone: the lock can be taken, and no process has
that number and start time. On a file system without locks nothing is removed.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "tcprof-"
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
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    lock = None
    try:
        lock = os.open(folder / _MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, _mark(folder, os.getpid()))  # once it is locked: nobody takes it for abandoned before
        yield folder
    finally:
        if lock is not None:
            os.close(lock)  # before the file is removed: a network file system keeps a file that is open
        shutil.rmtree(folder, ignore_errors=True)


def _mark(folder: Path, process: int) -> bytes:
    """The content of a marker: the folder's name, the machine, when that was started, the process, when that was."""
    return "\n".join((folder.name, os.uname().nodename, _boot(), str(process), _start(process), "")).encode()


def _remove_abandoned(place: Path, prefix: str) -> None:
    for folder in place.glob(f"{prefix}*"):
        with suppress(OSError):  # it has no marker, it is held, or it has just been removed
            if folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    lock = os.open(folder / _MARKER, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_abandoned(folder, os.read(lock, 4096), os.fstat(lock).st_mtime):
            return
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)  # where the open lock kept it


def _is_abandoned(folder: Path, mark: bytes, marked_s: float) -> bool:
    """Whether tcprof made a folder, on this machine, in a process that is gone."""
    name, node, boot, process, start, *rest = [*mark.decode(errors="replace").split("\n"), *[""] * 5][:6]
    if (name, node) != (folder.name, os.uname().nodename) or not process.isdecimal() or rest != [""]:
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
