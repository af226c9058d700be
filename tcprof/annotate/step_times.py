"""The times of steps, in place of ranges: how long they take where nothing is recorded."""

from __future__ import annotations

import os
import time
from typing import Any

from tcprof.annotate.steps import INFERENCE, STEP

VARIABLE = "TCPROF_STEP_TIMES"  # the folder that they are written to


class StepTimes:
    """Writes a line for each step that has ended to a file per process: whether it trains, begin and end in ns."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files: dict[int, int] = {}  # by process: one that is forked has a file of its own

    def push(self, name: str) -> None:
        """See ``Ranges``."""

    def pop(self) -> None:
        """See ``Ranges``."""

    def start(self, name: str) -> Any:
        """See ``Ranges``."""
        return (name, time.perf_counter_ns()) if name == STEP or name.startswith(INFERENCE) else None

    def end(self, handle: Any) -> None:
        """See ``Ranges``."""
        if handle is not None:
            name, begin = handle
            line = f"{int(name == STEP)} {begin} {time.perf_counter_ns()}\n"
            os.write(self._file(), line.encode("ascii"))  # at once: a program may end without a word

    def _file(self) -> int:
        process = os.getpid()
        if process not in self._files:
            path = f"{self._folder}/{process}"
            self._files[process] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return self._files[process]
