"""How pandas keeps texts while frames are made."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import pandas as pd


class _TextStorage:
    """How pandas keeps texts, which is one setting for the whole process: several threads may be at work."""

    name = "mode.string_storage"

    def __init__(self) -> None:
        self._lock, self._users, self._before = Lock(), 0, ""

    def enter(self) -> None:
        """The first one that needs Python's texts sets it."""
        with self._lock:
            if self._users == 0:
                self._before = pd.get_option(self.name)
                pd.set_option(self.name, "python")
            self._users += 1

    def leave(self) -> None:
        """The last one sets it back."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                pd.set_option(self.name, self._before)


_TEXT_STORAGE = _TextStorage()


@contextmanager
def plain_texts() -> Iterator[None]:
    """Have pandas keep texts as Python's, not as Arrow's: columns' names are texts, too, and many frames are small.

    Around all that makes frames, a small recording is analyzed in four fifths of the time.
    """
    _TEXT_STORAGE.enter()
    try:
        yield
    finally:
        _TEXT_STORAGE.leave()
