"""Analyses that are kept for the next command on the same recording, in a folder of the user's.

An entry's name is a hash of all that its figures depend on: the content of the recording, the options, and tcprof
itself. So none is ever out of date, whatever happens to files' times, and two processes that write one write the same.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tcprof.analysis import Analysis
from tcprof.errors import InputError, OutputError, TcprofError
from tcprof.files import SAVED_SUFFIX
from tcprof.saved.contents import FORMAT, find_folder, hash_own_code, options_of, save
from tcprof.saved.reading import SavedFile

MOST_BYTES = 2 << 30  # of all entries: those that were not used for longest go


class Cache:
    """A folder of saved analyses, made when one is kept; ``note`` takes what a user must know, and no command fails."""

    def __init__(self, folder: Path, note: Callable[[str], object]) -> None:
        self._folder, self._note = folder, note

    def find(self, content: str, options: Mapping[str, Any]) -> Path | None:
        """Find a recording's analysis, by its ``tcprof.files.hash_file``, with these options; None if none was kept."""
        entry = self._entry(content, options)
        try:
            if not entry.is_file():
                return None
            if entry.stat().st_uid != getattr(os, "getuid", int)():  # its findings hold code to paste
                raise InputError(f"{entry} is another user's.")
            if SavedFile(entry).about["recording"]["content"] != content:
                raise InputError(f"{entry} belongs to another recording.")
            with zipfile.ZipFile(entry) as archive:
                damaged = archive.testzip()
            if damaged:
                raise InputError(f"{entry} is damaged in {damaged}.")
            os.utime(entry)
        except (InputError, OSError, KeyError, TypeError, zipfile.BadZipFile) as error:
            self._note(f"a cached analysis cannot be used, so the recording is read: {_reason(error)}")
            return None
        return entry

    def keep(self, analysis: Analysis, judged: Mapping[str, Any]) -> None:
        """Keep an analysis with what it says, and remove what was not used for longest where there is too much."""
        entry = self._entry(analysis.recording.content, options_of(analysis))
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            save(analysis, entry, judged)
            self._make_room()
        except (OSError, OutputError, ValueError) as error:
            self._note(f"the analysis cannot be cached: {_reason(error)} (--no-cache avoids this note)")

    def list_entries(self) -> list[Path]:
        """List the analyses that are kept."""
        return sorted(self._folder.glob(f"*{SAVED_SUFFIX}"))

    def _entry(self, content: str, options: Mapping[str, Any]) -> Path:
        facts = json.dumps([FORMAT, hash_own_code(), content, sorted(options.items())], default=str)
        return self._folder / f"{hashlib.sha256(facts.encode()).hexdigest()[:40]}{SAVED_SUFFIX}"

    def _make_room(self) -> None:
        entries = [(path.stat(), path) for path in self.list_entries()]
        total = sum(status.st_size for status, _ in entries)
        for status, path in sorted(entries, key=lambda entry: entry[0].st_mtime_ns):
            if total <= MOST_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= status.st_size


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, TcprofError) else str(error)


def user_cache(note: Callable[[str], object]) -> Cache | None:
    """Open the cache that the user's environment names; None where it wants none."""
    folder = find_folder()
    return Cache(folder, note) if folder else None
