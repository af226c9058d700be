"""When a program is annotated: while ``tcprof profile`` records it; in between its steps are timed; afterwards nothing.

The recorder writes the phase into a file of one byte, which every process of the program maps and looks at where a step
ends. The processes write a line for each step into files of their own, by which the recorder sees how far they are.

While nsys ends a capture the program waits between two steps, with all work on its GPU done: nsys 2025.3 was seen to
crash a program that called CUDA meanwhile, and loses kernels that still run.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcprof.annotate.captures import CaptureLog, format_clock_mark
from tcprof.annotate.processes import PROCESSES
from tcprof.annotate.step_times import StepTimes
from tcprof.annotate.steps import DOMAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tcprof.annotate.steps import Ranges

# Files in the folder PROCESSES; the last with the number of its process.
CONTROL, OWN_RANGES, REPLAYS, STEPS = "phase", "own-ranges", "replays", "steps-"
CLOCK_S = 0.02  # between two marks of the clock
RECORDED, WAITING, TIMED, OVER = b"r", b"w", b"t", b"o"  # what the file CONTROL holds
_LONGEST_WAIT_S = 120.0  # for a recorder that has died


def do_nothing(*_: Any, **__: Any) -> None:
    """Do nothing, in place of a function that is not wanted."""


class Window:
    """Ranges that go where the phase wants them: see ``tcprof.annotate.steps.Ranges``.

    Args:
        ranges: What they are in the recording. Where nobody writes a phase, that is for good.
    """

    def __init__(self, ranges: Ranges, torch: Any) -> None:
        self._recorded, self._torch = ranges, torch
        self._control: Any = None
        self._folder = os.environ.get(PROCESSES, "")
        self._files: dict[int, int] = {}  # by process: one that is forked has a file of its own
        with contextlib.suppress(OSError, ValueError), open(f"{self._folder}/{CONTROL}", "rb") as file:  # noqa: PTH123
            self._control = mmap.mmap(file.fileno(), 1, access=mmap.ACCESS_READ)
        self.phase = RECORDED if self._control is None else self._control[:]
        self._captured: CaptureLog | None = None  # while a stream is captured
        self._has_captures = self._has_replays = False
        self._clock_marked_s = 0.0
        self._begin_phase()
        is_followed = self._control is not None and self.phase == RECORDED
        self._forget = notice_ranges(torch, self._note_ranges) if is_followed else do_nothing

    def note_replay(self) -> None:
        """Note that a CUDA graph is replayed, which may be all that a step does.

        What was kept of captures needs this clock, in a recording that may have begun after them.
        """
        if not self._has_replays and self._folder:
            self._has_replays = True
            with contextlib.suppress(OSError):
                Path(self._folder, REPLAYS).touch()
        if self._has_captures and time.monotonic() - self._clock_marked_s > CLOCK_S:
            self._clock_marked_s = time.monotonic()
            with contextlib.suppress(RuntimeError):  # of a PyTorch without NVTX
                self._torch.cuda.nvtx.mark(format_clock_mark())

    def _note_ranges(self) -> None:
        with contextlib.suppress(OSError):
            Path(self._folder, OWN_RANGES).touch()

    def _begin_phase(self) -> None:
        self._times = StepTimes(self._write, self._torch)
        self.push: Any = do_nothing
        self.pop = self.start = self.end = self.push
        self.mark: Callable[[str], object] | None = None
        if self.phase != OVER:
            self._choose(self._times if self.phase == TIMED else self._recorded)

    def _choose(self, ranges: Ranges) -> None:
        self.push, self.pop, self.start, self.end = ranges.push, ranges.pop, ranges.start, ranges.end
        self.mark = ranges.mark

    def begin_capture(self, around: Iterable[tuple[str, bool]]) -> bool:
        """Keep the ranges while a stream is captured into a CUDA graph, see ``CaptureLog``; return whether it does."""
        if not self._folder or self.phase != RECORDED or self._captured is not None:
            return False
        self._captured = CaptureLog(self._recorded, around)
        self._choose(self._captured)
        return True

    def end_capture(self) -> bool:
        """Write what was kept; return whether anything was."""
        captured, self._captured = self._captured, None
        if captured is None:
            return False
        self._choose(self._recorded)
        captured.write(self._folder)
        self._has_captures = True
        return True

    def follow(self) -> bool:
        """Note that a step has ended on this thread; return whether another phase has begun."""
        if self._control is None:
            return False
        if self.phase == RECORDED:
            self._write(f"r {time.perf_counter_ns()}\n")
        phase = self._control[:]
        if phase == self.phase or self.phase == OVER:
            return False
        cuda = self._torch.cuda
        if cuda.is_initialized() and cuda.is_current_stream_capturing():
            return False  # it goes on in the next step
        if phase == WAITING:
            phase = self._wait()
        self._captured = None  # of another thread, which loses its ranges, or of one that failed
        self.phase = phase
        self._forget()
        self._begin_phase()
        return True

    def _wait(self) -> bytes:
        """Wait, with all of the GPU's work done, until the recorder names another phase; return that."""
        cuda = self._torch.cuda
        with contextlib.suppress(RuntimeError):  # of the program's work, which will see it
            if cuda.is_initialized():
                cuda.synchronize()
        self._write("w\n")
        until = time.monotonic() + _LONGEST_WAIT_S
        phase: bytes = WAITING
        while phase == WAITING:
            if time.monotonic() > until:
                return OVER
            time.sleep(0.001)
            phase = self._control[:]
        return phase

    def close(self) -> None:
        """Write what is left to write of the steps that were timed."""
        self._times.write_all()

    def _write(self, line: str) -> None:
        process = os.getpid()
        if process not in self._files:
            path = f"{self._folder}/{STEPS}{process}"
            self._files[process] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self._files[process], line.encode("ascii"))


def notice_ranges(torch: Any, note: Callable[[], object]) -> Callable[[], None]:
    """Call a function once the program opens an NVTX range, by PyTorch or the package nvtx; return what ends that."""
    replaced: list[tuple[Any, str, Any, Any]] = []

    def restore() -> None:
        while replaced:
            owner, name, original, ours = replaced.pop()
            if getattr(owner, name, None) is ours:
                setattr(owner, name, original)

    def replace(owner: Any, name: str) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return

        @functools.wraps(original, updated=())
        def noticed(*args: Any, **kwargs: Any) -> Any:
            if replaced and DOMAIN not in (*args, *kwargs.values()):  # the program may keep ours
                restore()
                note()
            return original(*args, **kwargs)

        replaced.append((owner, name, original, noticed))
        setattr(owner, name, noticed)

    for name in ("range_push", "range_start"):
        replace(getattr(torch.cuda, "nvtx", None), name)
    package = sys.modules.get("nvtx")
    for owner in (package, getattr(package, "nvtx", None)):
        replace(owner, "get_domain" if hasattr(owner, "get_domain") else "Domain")
    return restore
