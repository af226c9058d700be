"""The times of a program's steps, without a profiler: by what the GPU did, where they use one.

A program that runs asynchronously is ahead of its GPU, and then waits for it: the times at which it begins its steps
say little. So a CUDA event is recorded on the thread's stream where a step begins and ends: the GPU reaches it when all
that the stream was given before is done. Nothing waits for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Tuple, Union

from tcprof.annotate.steps import INFERENCE, STEP

if TYPE_CHECKING:
    from collections.abc import Callable

_Moment = Union[int, Tuple[int, Any]]  # of the host, in ns; or a device and an event on it


class StepTimes:
    """Writes a line for each step that has ended: "t", whether it trains, begin and end in ns.

    Args:
        write: Takes the line.
    """

    mark: Callable[[str], object] | None = None

    def __init__(self, write: Callable[[str], object], torch: Any) -> None:
        self._write_line, self._cuda = write, torch.cuda
        self._pending: dict[tuple[int, int], deque[tuple[bool, _Moment, _Moment]]] = {}  # by process and thread
        self._last: dict[int, tuple[Any, float]] = {}  # of each device the event read last, and its time in ns

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

    def write_all(self) -> None:
        """Write the steps that the GPU has not reached: wait for it."""
        process = os.getpid()
        for (owner, _), steps in self._pending.items():
            while steps and owner == process:
                for moment in steps[0][1:]:
                    if not isinstance(moment, int):
                        moment[1].synchronize()
                self._write(*steps.popleft())

    def _write(self, trains: bool, begin: _Moment, end: _Moment) -> None:
        self._write_line(f"t {int(trains)} {self._time_of(begin)} {self._time_of(end)}\n")

    def _time_of(self, moment: _Moment) -> int:
        """Return a moment in ns; an event's is counted from the one before, since CUDA's distances are 32-bit."""
        if isinstance(moment, int):
            return moment
        device, event = moment
        last, time_ns = self._last.get(device, (event, float(time.perf_counter_ns())))
        time_ns += 1e6 * last.elapsed_time(event) if last is not event else 0.0
        self._last[device] = event, time_ns
        return round(time_ns)
