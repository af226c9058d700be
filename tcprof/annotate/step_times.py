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
# Shorter steps are timed together: with two events each, steps of 1.0 ms took 2.0 (H200, under nsys 2025.3.1).
_SHORTEST_NS = 20_000_000


class _Stretch:
    """Consecutive steps that are timed together."""

    def __init__(self, trains: bool, begin: _Moment) -> None:
        self.trains, self.begin, self.count = trains, begin, 0
        self.end = begin  # until it has ended


class StepTimes:
    """Writes a line for consecutive steps that have ended: "t", whether they train, begin and end in ns, their number.

    Args:
        write: Takes the line.
    """

    mark: Callable[[str], object] | None = None

    def __init__(self, write: Callable[[str], object], torch: Any) -> None:
        self._write_line, self._cuda = write, torch.cuda
        self._open: dict[tuple[int, int], _Stretch] = {}  # by process and thread
        self._pending: dict[tuple[int, int], deque[_Stretch]] = {}  # that have ended
        self._last: dict[int, tuple[Any, float]] = {}  # of each device the event read last, and its time in ns
        self._together = 1  # steps that are timed together, by those that were timed last

    def push(self, name: str) -> None:
        """See ``Ranges``."""

    def pop(self) -> None:
        """See ``Ranges``."""

    def start(self, name: str) -> Any:
        """See ``Ranges``: a step ends with the next one."""
        trains = name == STEP
        if trains or name.startswith(INFERENCE):
            thread = os.getpid(), threading.get_ident()
            stretch = self._open.get(thread)
            if stretch is None or stretch.trains != trains or stretch.count >= self._together:
                stretch = self._begin(thread, trains)
            stretch.count += 1

    def end(self, handle: Any) -> None:
        """See ``Ranges``."""

    def _begin(self, thread: tuple[int, int], trains: bool) -> _Stretch:
        """Begin a stretch where the one before ends, and write those that the GPU has reached.

        They are written as soon as possible: a program may end without notice.
        """
        before, now = self._open.get(thread), self._now()
        if before is not None:
            before.end = now
            stretches = self._pending.setdefault(thread, deque())
            stretches.append(before)
            while stretches and all(
                isinstance(moment, int) or moment[1].query() for moment in (stretches[0].begin, stretches[0].end)
            ):
                self._write(stretches.popleft())
        stretch = self._open[thread] = _Stretch(trains, now)
        return stretch

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
        for (owner, _), stretches in self._pending.items():
            while stretches and owner == process:
                for moment in (stretches[0].begin, stretches[0].end):
                    if not isinstance(moment, int):
                        moment[1].synchronize()
                self._write(stretches.popleft())

    def _write(self, stretch: _Stretch) -> None:
        begin_ns, end_ns = self._time_of(stretch.begin), self._time_of(stretch.end)
        wanted = 1 + _SHORTEST_NS * stretch.count // max(end_ns - begin_ns, 1)
        self._together = min(wanted, 2 * stretch.count)  # a first step may be a part of one
        self._write_line(f"t {int(stretch.trains)} {begin_ns} {end_ns} {stretch.count}\n")

    def _time_of(self, moment: _Moment) -> int:
        """Return a moment in ns; an event's is counted from the one before, since CUDA's distances are 32-bit."""
        if isinstance(moment, int):
            return moment
        device, event = moment
        last, time_ns = self._last.get(device, (event, float(time.perf_counter_ns())))
        time_ns += 1e6 * last.elapsed_time(event) if last is not event else 0.0
        self._last[device] = event, time_ns
        return round(time_ns)
