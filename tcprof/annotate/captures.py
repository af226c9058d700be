"""Keep the ranges that are open while a stream is captured into a CUDA graph: its kernels run when it is replayed.

nsys tells when the program made each node of a graph, also of one made before the recording began; of the ranges from
before it, it tells nothing.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tcprof.annotate.steps import Ranges

CAPTURES = "captured-"  # files in the folder PROCESSES, with the number of the process
CLOCK = "tcprof clock"  # what marks begin with that tell this clock's time at theirs
MARK, PUSH_POP, START_END = 34, 59, 60  # as nsys numbers them


def now() -> int:
    """Return the time on the clock that nsys's runs alike with: nobody sets it."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def format_clock_mark() -> str:
    """Say in a mark's text which thread of which process writes it, and when."""
    return f"{CLOCK} {os.getpid()} {threading.get_native_id()} {now()}"


class CaptureLog:
    """Ranges that go where others go, and are kept: see ``tcprof.annotate.steps.Ranges``.

    Args:
        ranges: The others.
        around: What is open on this thread when the capture begins: names, and whether they were pushed.
    """

    def __init__(self, ranges: Ranges, around: Iterable[tuple[str, bool]]) -> None:
        self._ranges = ranges
        self._rows: list[list[Any]] = []
        self._pushed: dict[int, list[list[Any]]] = {}  # by thread
        for name, is_pushed in around:
            row = self._open(PUSH_POP if is_pushed else START_END, name)
            if is_pushed:
                self._pushed.setdefault(row[1], []).append(row)
        self.mark = self._mark if ranges.mark is not None else None

    def _open(self, kind: int, name: str) -> list[Any]:
        row = [kind, threading.get_native_id(), now(), None, name]
        self._rows.append(row)
        return row

    def push(self, name: str) -> None:
        """See ``Ranges``."""
        row = self._open(PUSH_POP, name)
        self._pushed.setdefault(row[1], []).append(row)
        self._ranges.push(name)

    def pop(self) -> None:
        """See ``Ranges``."""
        pushed = self._pushed.get(threading.get_native_id())
        if pushed:
            pushed.pop()[3] = now()
        self._ranges.pop()

    def start(self, name: str) -> Any:
        """See ``Ranges``."""
        return self._open(START_END, name), self._ranges.start(name)

    def end(self, handle: Any) -> None:
        """See ``Ranges``."""
        row, inner = handle
        row[3] = now()
        self._ranges.end(inner)

    def _mark(self, name: str) -> None:
        self._open(MARK, name)
        self._ranges.mark(name)  # type: ignore[misc]

    def write(self, folder: str) -> None:
        """Add all to the process's file; what is open ends here."""
        end = now()
        with open(f"{folder}/{CAPTURES}{os.getpid()}", "a", encoding="utf-8") as file:  # noqa: PTH123
            file.writelines(f"{json.dumps([*row[:3], row[3] or end, *row[4:]])}\n" for row in self._rows)
