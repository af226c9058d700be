"""Files that are given, readable, not compressed and the same until they are read; and temporary folders."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from tcprof.errors import InputError

_Answer = TypeVar("_Answer")

SAVED_SUFFIX = ".tcprof"  # of saved analyses
PAGE_SUFFIX = ".html"
_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\xfd7zXZ\0": ("xz", "unxz"),
    b"BZh": ("bzip2", "bunzip2"),
    b"PK\3\4": ("zip", "unzip"),
    b"7z\xbc\xaf": ("7-Zip", "7z x"),
}


def check_is_file(path: Path) -> None:
    """Make sure that there is a file which may be read, is not empty, and is no pipe or device."""
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise InputError(f"{path} is a link to a file that does not exist.", hint="Check the name.") from None
        raise InputError(f"{path} does not exist.", hint="Check the name.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        raise InputError(f"{path} cannot be read: {reason}.", hint="Check the name.") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path} is a folder.", hint="Give the .nsys-rep or .sqlite file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"{path} is a pipe or a device, not a file.", hint="Write the recording to a file, and pass that file."
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} cannot be read: permission denied.", hint="Ask its owner for permission.")
    if status.st_size == 0:
        raise InputError(f"{path} is empty.", hint="Writing it was interrupted, or the disk was full: record again.")


def check_is_unpacked(path: Path, header: bytes) -> None:
    """Make sure, by its first bytes, that a file is not compressed."""
    for magic, (kind, command) in _COMPRESSED.items():
        if header.startswith(magic):
            raise InputError(f"{path} is compressed ({kind}).", hint=f"Unpack it first: {command} {path.name}")


@contextmanager
def temporary_folder(beside: Path | None = None) -> Iterator[Path]:
    """Make a folder for what is not finished, which is removed when the block ends.

    Args:
        beside: The folder to make it in, hidden, so that files in it can be renamed to their places; by default the
            system's folder for temporary files.

    Raises:
        OSError: It cannot be made.
    """
    prefix = "tcprof-" if beside is None else ".tcprof-"
    with TemporaryDirectory(prefix=prefix, dir=beside, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def name_of(path: Path) -> str:
    """Return a file's name without its folder; bytes that are no text are replaced."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def read_unchanged(path: Path, read: Callable[[str], _Answer]) -> _Answer:
    """Call a function with a file's SHA-256, and make sure, once more if need be, that it read that content."""
    for _ in range(2):
        try:
            before = stamp(path)
            held = path.open("rb")
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.", hint="Check the name.") from error
        with held:
            try:
                answer = read(hashlib.file_digest(held, "sha256").hexdigest())
            except Exception:
                if stamp(path) == before:
                    raise
            else:
                if stamp(path) == before:
                    return answer
    raise InputError(
        f"{path} was replaced or written while it was read.", hint="Wait until it is complete, or give a copy of it."
    )


def hash_file(path: Path) -> str:
    """Compute the SHA-256 of a file, as sha256sum prints it."""
    return read_unchanged(path, lambda content: content)


def stamp(path: Path) -> tuple[int, ...]:
    """Return what changes with a file or a link to it, even if size and times are set back; empty for no file."""
    try:
        file, link = path.stat(), path.lstat()
    except FileNotFoundError:
        return ()
    changes = file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns
    return *changes, link.st_ino, link.st_ctime_ns
