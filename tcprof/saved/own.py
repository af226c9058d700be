"""What marks a file as one's own: a key in the user's cache, which nobody else who sends a file has."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes

VARIABLE = "TCPROF_CACHE"  # the folder of the cache; empty or 0: none
_KEY_BYTES = 32


def find_folder() -> Path | None:
    """The folder that the user's environment names for what is cached; None where it wants none."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Path(given).expanduser() if given not in ("", "0") else None
    with suppress(RuntimeError):  # a user without a home
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "tcprof"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tcprof"
    return None


def own_key() -> bytes:
    """The user's key, which is made when it is first asked for; empty where nothing can be cached."""
    folder = find_folder()
    if folder is None:
        return b""
    path = folder / "key"
    with suppress(OSError):
        if not path.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_new(path, token_bytes(_KEY_BYTES))
        key = path.read_bytes()
        return key if len(key) == _KEY_BYTES else b""  # another process is writing it
    return b""


def _write_new(path: Path, content: bytes) -> None:
    """For the user alone to read, unless another process came first."""
    with suppress(FileExistsError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, content)
        os.close(file)
