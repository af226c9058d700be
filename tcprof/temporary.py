"""Temporary folders: they end with the block, at a signal too, and what a killed process left goes with the next one.

A folder is locked while its process lives. The kernel gives the lock back however the process ends, so that a folder
whose lock can be taken has no owner any more. On a file system without locks nothing is taken for abandoned.
"""

import fcntl
import os
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "tcprof-"
_LOCK = ".lock"  # a file, since a folder cannot be locked on a network file system
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_ELSEWHERE_S = 86_400.0  # locks of another machine may be invisible: its folders are kept for a day


@contextmanager
def temporary_folder(beside: Path | None = None) -> Iterator[Path]:
    """A folder for what is not finished, removed with all that is in it when the block ends.

    Folders that killed processes left in the same place are removed first.

    Args:
        beside: The folder to make it in, as a hidden one, so that files in it can be renamed to their places. None: the
            system's folder for temporary files.

    Raises:
        OSError: It cannot be made.
    """
    place, prefix = (Path(tempfile.gettempdir()), _PREFIX) if beside is None else (beside, f".{_PREFIX}")
    with suppress(OSError):  # the place is absent or closed, which making the folder says better
        _remove_abandoned(place, prefix)
    folder, lock = _make_locked(place, prefix)
    try:
        yield folder
    finally:
        os.close(lock)  # before the file is removed: a network file system keeps a file that is open
        shutil.rmtree(folder, ignore_errors=True)


def _make_locked(place: Path, prefix: str) -> tuple[Path, int]:
    """Makes a folder that is locked, and gives the lock's file descriptor."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{_boot()}-", dir=place))
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:
            continue  # another process found it before it was locked
        except OSError:
            folder.rmdir()
            raise
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)


def _remove_abandoned(place: Path, prefix: str) -> None:
    """Removes the folders of this user that no process holds."""
    for folder in place.glob(f"{prefix}*"):
        made = re.fullmatch(rf"{re.escape(prefix)}([0-9a-f]+)-\w+", folder.name)
        with suppress(OSError):  # it is held, or it has just been removed
            status = folder.lstat()
            is_near = made is not None and (made[1] == _boot() or time.time() - status.st_mtime > _ELSEWHERE_S)
            if is_near and status.st_uid == os.geteuid() and not folder.is_symlink():
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    """Removes a folder if its lock can be taken.

    Raises:
        OSError: It cannot.
    """
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)  # where the open lock kept it


def _boot() -> str:
    """What distinguishes this machine, since it was started, from those that may share its file systems."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").replace("-", "")[:12]
    except OSError:
        return f"{zlib.crc32(os.uname().nodename.encode()):x}"
