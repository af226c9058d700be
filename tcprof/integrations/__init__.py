"""For training loops: name the steps, and have the recorder take some of them.

Works in any loop, and so with accelerate. Runs inside the user's program, beside which tcprof is installed, and imports
only the annotation until it saves::

    with Capture(first=10, count=20) as capture:
        for batch in batches:
            with capture.step():
                train(batch)
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tcprof import annotate
from tcprof.annotate import steps

TRAINING, EVALUATION = steps.STEP, "evaluation"  # kinds of steps: what their ranges are called
_SAVED_SUFFIX = ".tcprof"


class Capture:
    """Names steps, and opens the capture around some of them.

    Under ``tcprof profile --capture-range cudaProfilerApi``, and any nsys with that option, these steps are recorded
    and nothing else. Where ``tcprof profile`` names the steps itself, no further ranges are opened.

    Args:
        first: The first training step that is recorded, counted from 0.
        count: How many are recorded, with the evaluation between them.
        trace: Where no nsys records: a Chrome trace of these steps that ``torch.profiler`` writes, and beside it the
            saved analysis; it has no Tensor Active. None: nothing is recorded there.
    """

    def __init__(self, first: int = 10, count: int = 20, trace: str | os.PathLike[str] | None = None) -> None:
        if first < 0 or count < 1:
            raise ValueError("first must be 0 or more, count 1 or more")
        self._first, self._last = first, first + count - 1
        self._trace = Path(trace) if trace is not None else None
        self._ranges: Any = None if annotate.is_on() else steps.open_ranges()  # that name steps; None for none
        self._stop: Callable[[], object] | None = None  # ends the capture; None where none is open
        self._open: Any = None  # the range of the open step
        self._done = 0  # training steps
        self._profiler: Any = None

    def begin(self, kind: str = TRAINING) -> None:
        """Begin a step of a kind, such as TRAINING or EVALUATION; one that is open ends."""
        self._end_range()
        if kind == TRAINING and self._done == self._first and self._stop is None:
            self._stop = self._start()
        if self._ranges is not None:
            self._open = self._ranges.start(kind)

    def end(self, kind: str = TRAINING) -> None:
        """End the step that was begun; after the last one that is recorded the capture is closed."""
        self._end_range()
        if kind != TRAINING:
            return
        if self._done == self._last:
            self.close()
        self._done += 1

    @contextmanager
    def step(self, kind: str = TRAINING) -> Iterator[None]:
        """One step of a loop."""
        self.begin(kind)
        try:
            yield
        finally:
            self.end(kind)

    def close(self) -> None:
        """Close the capture, if it is open, and save what ``torch.profiler`` recorded."""
        self._end_range()
        stop, self._stop = self._stop, None
        if stop is not None:
            stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end_range(self) -> None:
        if self._ranges is not None and self._open is not None:
            self._ranges.end(self._open)
            self._open = None

    def _start(self) -> Callable[[], object]:
        """Open the capture of nsys, or else that of ``torch.profiler``; gives what closes it."""
        torch = sys.modules.get("torch")
        if torch is None:
            raise RuntimeError("Capture needs a program that uses PyTorch")
        if self._trace is not None and not steps.is_recorded():
            self._profiler = torch.profiler.profile(record_shapes=True, with_stack=True, with_modules=True)
            self._profiler.start()
            self._ranges = _InTrace(torch)
            return self._save
        if not torch.cuda.is_available():
            return lambda: None
        torch.cuda.synchronize()
        torch.cuda.profiler.start()

        def stop() -> None:
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()

        return stop

    def _save(self) -> None:
        """Write the trace and its analysis; a failure is no reason to end a training."""
        profiler, self._profiler, self._ranges = self._profiler, None, None
        profiler.stop()
        if self._trace is None:
            return
        try:
            profiler.export_chrome_trace(str(self._trace))
            from tcprof.api.reading import read

            name = self._trace.name.removesuffix(".gz").removesuffix(".json")
            read(self._trace).save(self._trace.with_name(f"{name}{_SAVED_SUFFIX}"))
        except Exception as error:
            warnings.warn(f"tcprof could not save the analysis of {self._trace}: {error}", stacklevel=2)


class _InTrace:
    """Ranges in a trace of ``torch.profiler``."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def start(self, name: str) -> Any:
        annotation = self._torch.profiler.record_function(name)
        annotation.__enter__()
        return annotation

    def end(self, annotation: Any) -> None:
        annotation.__exit__(None, None, None)
