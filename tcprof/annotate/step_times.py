"""The times of a program's steps, without a profiler: by what the GPU did, where they use one.

A program that runs asynchronously is ahead of its GPU, and then waits for it: the times at which it begins its steps
say little. So a CUDA event is recorded on the thread's stream where a step begins and ends: the GPU reaches it when all
that the stream was given before is done. Nothing waits for it.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Dict, Tuple, Union

from tcprof.annotate.steps import INFERENCE, STEP

if TYPE_CHECKING:
    from collections.abc import Callable

STEP_TIMES = "TCPROF_STEP_TIMES"  # the folder that the times of steps are written to

_Moment = Union[int, Tuple[int, Any]]  # of the host, in ns; or a device and an event on it


class StepTimes:
    """Writes a line for each step that has ended to a file per process: whether it trains, begin and end in ns."""

    mark: Callable[[str], object] | None = None

    def __init__(self, folder: str, torch: Any) -> None:
        self._folder, self._cuda = folder, torch.cuda
        self._files: dict[int, int] = {}  # by process: one that is forked has a file of its own
        self._pending: dict[tuple[int, int], deque[tuple[bool, _Moment, _Moment]]] = {}  # by process and thread
        self._known: Dict[
            int, Tuple[Any, float]
        ] = {}  # of each device the event that was read last, and its time in ns
        atexit.register(self._write_all)

    def push(self, name: str) -> None:
        """See ``Ranges``."""

    def pop(self) -> None:
        """See ``Ranges``."""

    def start(self, name: str) -> Any:
        """See ``Ranges``."""
        return (name == STEP, self._now()) if name == STEP or name.startswith(INFERENCE) else None

    def end(self, handle: Any) -> None:
        """See ``Ranges``."""
        if handle is not None:
            steps = self._pending.setdefault((os.getpid(), threading.get_ident()), deque())
            steps.append((*handle, self._now()))
            while steps and all(isinstance(moment, int) or moment[1].query() for moment in steps[0][1:]):
                self._write(*steps.popleft())  # as soon as may be: a program may end without a word

    def _now(self) -> _Moment:
        cuda = self._cuda
        if not cuda.is_initialized() or cuda.is_current_stream_capturing():
            return time.perf_counter_ns()
        event = cuda.Event(enable_timing=True)
        event.record()
        return cuda.current_device(), event

    def _write_all(self) -> None:
        process = os.getpid()
        for (owner, _), steps in self._pending.items():
            while steps and owner == process:
                for moment in steps[0][1:]:
                    if not isinstance(moment, int):
                        moment[1].synchronize()
                self._write(*steps.popleft())

    def _write(self, trains: bool, begin: _Moment, end: _Moment) -> None:
        line = f"{int(trains)} {self._time_of(begin)} {self._time_of(end)}\n"
        os.write(self._file(), line.encode("ascii"))

    def _time_of(self, moment: _Moment) -> int:
        """In ns; an event's is counted from the one before, since CUDA gives distances in single precision."""
        if isinstance(moment, int):
            return moment
        device, event = moment
        known, time_ns = self._known.get(device, (event, float(time.perf_counter_ns())))
        time_ns += 1e6 * known.elapsed_time(event) if known is not event else 0.0
        self._known[device] = event, time_ns
        return round(time_ns)

    def _file(self) -> int:
        process = os.getpid()
        if process not in self._files:
            path = f"{self._folder}/{process}"
            self._files[process] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return self._files[process]
