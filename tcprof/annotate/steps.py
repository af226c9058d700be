"""The steps and phases of a thread, from what the program calls: a loader, a model, the backward pass, an optimizer.

A step of training begins with what follows the optimizers of the step before: the wait for data, or the forward pass.
It so holds gradient accumulation whole, and every optimizer of a program that has several. A program without any that
has gradients computed updates its parameters itself: each backward pass ends a step. Where nothing is trained, each
call of a model is a step. The forward pass lasts from the model's call to the backward pass: the loss is in it.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

DOMAIN = "tcprof"
STEP, DATA, FORWARD, BACKWARD, OPTIMIZER = "step", "data", "forward", "backward", "optimizer"
RECOMPUTE = "recompute"  # a forward pass that is run again within the backward pass
NAMES = frozenset((STEP, DATA, FORWARD, BACKWARD, OPTIMIZER, RECOMPUTE))
INFERENCE = "inference"  # a step that trains nothing is named after the model: "inference Llama"


class Ranges(Protocol):
    """Opens and closes ranges. ``push`` and ``pop`` nest on a thread; ``start`` and ``end`` need not."""

    @property
    def mark(self) -> Callable[[str], object] | None:
        """Write a mark on this thread; None where nobody reads it, or it would stand among the program's own."""

    def push(self, name: str) -> None:
        """Open a range on this thread."""

    def pop(self) -> None:
        """Close the range that this thread pushed last."""

    def start(self, name: str) -> Any:
        """Open a range that any thread may close; return its handle."""

    def end(self, handle: Any) -> None:
        """Close the range of a handle."""


def open_ranges() -> Ranges:
    """Make ranges by the nvtx package, which knows domains; without it by PyTorch, which does not.

    Where no profiler is attached, the package's domain does nothing, so that an annotated program runs at full speed.
    """
    for ranges in (_OwnDomain, _NamedDomain):
        try:
            return ranges()
        except (ImportError, AttributeError):  # the latter also of a program's own module that is called nvtx
            continue
    return _DefaultDomain()


def is_recorded() -> bool:
    """Tell whether a profiler takes what NVTX is given: this variable names the library by which it does."""
    return bool(os.environ.get("NVTX_INJECTION64_PATH"))


class _OwnDomain:
    """The nvtx package's ranges; the attributes of a name are made once."""

    def __init__(self) -> None:
        import nvtx

        domain = nvtx.get_domain(DOMAIN)
        self._attributes_of = domain.get_event_attributes
        self._push, self.pop = domain.push_range, domain.pop_range
        self._start, self.end = domain.start_range, domain.end_range
        self._write = domain.mark
        self.mark = self._mark if is_recorded() else None
        self._cache: dict[str, Any] = {}  # without a lock, which a process that is forked meanwhile would find closed

    def _learn(self, name: str) -> Any:
        return self._cache.setdefault(name, self._attributes_of(message=name))

    def push(self, name: str) -> None:
        self._push(self._cache[name] if name in self._cache else self._learn(name))

    def start(self, name: str) -> Any:
        return self._start(self._cache[name] if name in self._cache else self._learn(name))

    def _mark(self, name: str) -> None:
        self._write(self._cache[name] if name in self._cache else self._learn(name))


class _NamedDomain:
    """The ranges of nvtx before 0.2.12, which are given their domain each time."""

    def __init__(self) -> None:
        import nvtx

        self._push, self._pop, self._start, self.end = nvtx.push_range, nvtx.pop_range, nvtx.start_range, nvtx.end_range
        self.mark = functools.partial(nvtx.mark, domain=DOMAIN) if is_recorded() else None

    def push(self, name: str) -> None:
        self._push(name, domain=DOMAIN)

    def pop(self) -> None:
        self._pop(domain=DOMAIN)

    def start(self, name: str) -> Any:
        return self._start(name, domain=DOMAIN)


class _DefaultDomain:
    """PyTorch's ranges, which stand among the program's own."""

    mark: Callable[[str], object] | None = None

    def __init__(self) -> None:
        from torch.cuda import nvtx

        if type(getattr(nvtx, "_nvtx", None)).__name__ == "_NVTXStub":
            raise RuntimeError("this PyTorch is built without NVTX, and the package nvtx is not installed")
        self.push, self.pop = nvtx.range_push, nvtx.range_pop
        self.start, self.end = nvtx.range_start, nvtx.range_end


BY_HAND = 0  # the number of what changes parameters in a program without optimizers; no object has it


class Optimizers:
    """The optimizers of a program, and which of them a step is expected to hold.

    All that there are, at first; one that another steps twice without is none of them.
    """

    def __init__(self) -> None:
        self.expected: set[int] = set()
        self._all: set[int] = set()

    def add(self, optimizer: int) -> None:
        """Note that an optimizer was made, or has stepped."""
        if optimizer not in self._all:
            self.discard(BY_HAND)
            self._all.add(optimizer)
            self.expected.add(optimizer)

    def are_absent(self) -> bool:
        """Tell whether the program has none."""
        return self._all <= {BY_HAND}

    def discard(self, optimizer: int) -> None:
        """Forget an optimizer that is gone; another may get its number."""
        self._all.discard(optimizer)
        self.expected.discard(optimizer)


class Steps:
    """The open step and phase of one thread; the optimizers, by identity, are shared by all threads.

    Args:
        ended: Called when a step has ended, with nothing open; with whether it trained.
    """

    def __init__(self, ranges: Ranges, optimizers: Optimizers, ended: Callable[[bool], object]) -> None:
        self._ranges, self._optimizers, self._ended = ranges, optimizers, ended
        self._process = os.getpid()
        self._stepped: set[int] = set()  # the optimizers that stepped in this step
        self._ended_with: set[int] = set()  # those that ended the step before, whose scaler has not returned
        self._step: Any = None
        self._forward: Any = None
        self._trains = False
        self._has_called = False  # whether a model was called in this step

    @property
    def phase(self) -> str:
        """Return the phase that is open across calls, empty for none."""
        return FORWARD if self._forward is not None else ""

    def begin_data(self, *, trains: bool) -> None:
        """Note that the program asks its loader for a batch."""
        self._end_forward()
        if self._stepped or (self._has_called and not self._trains):
            self._end_step()
        if trains and self._step is None:
            self._begin_step(STEP, trains=True)
        self._ranges.push(DATA)

    def begin_call(self, root: str, *, trains: bool, evaluates: bool = False) -> None:
        """Note that the program calls a model.

        Args:
            trains: Whether what it computes will be trained on.
            evaluates: Whether it was trained before, and is now tried.
        """
        self._follow_call(root, trains=trains, evaluates=evaluates)
        self._has_called = True
        self._begin_forward()

    def begin_generation(self, root: str, *, evaluates: bool) -> None:
        """Note that a model is to call itself again and again, from its first call on a step each."""
        self._follow_call(root, trains=False, evaluates=evaluates)
        if self._trains:
            self._begin_forward()

    def _follow_call(self, root: str, *, trains: bool, evaluates: bool) -> None:
        """End the step that is over with a call, and begin the one that the call belongs to."""
        if self._is_over(trains, evaluates):
            self._end_step()
        if self._step is None:
            self._begin_step(STEP if trains else f"{INFERENCE} {root}", trains=trains)

    def end_call(self) -> None:
        """Note that a model has returned."""
        if not self._trains:
            self._end_forward()

    def begin_backward(self, *, ends_forward: bool) -> None:
        """Note that gradients are computed: by the backward pass, or on the way to a loss that holds gradients."""
        if ends_forward:
            self._end_forward()
        self._ranges.push(BACKWARD)

    def end_backward(self, *, for_training: bool) -> None:
        """Note that gradients are computed; those for training end a step of a program without optimizers."""
        self.end_phase()
        if for_training and self._optimizers.are_absent():
            self.count_optimizer(BY_HAND)

    def begin_optimizer(self) -> None:
        """Note that an optimizer, or what prepares gradients for it, begins."""
        self._end_forward()
        self._ranges.push(OPTIMIZER)

    def end_phase(self) -> None:
        """Close what was begun last, other than a call."""
        self._ranges.pop()

    def count_optimizer(self, optimizer: int) -> None:
        """Note that an optimizer has stepped."""
        self._optimizers.add(optimizer)
        if optimizer in self._stepped:
            self._optimizers.expected &= self._stepped
        self._stepped.add(optimizer)

    def count_scaled(self, optimizer: int) -> None:
        """Count the step of a gradient scaler's optimizer, made or left out as a gradient had overflowed."""
        if optimizer not in self._stepped | self._ended_with:
            self.count_optimizer(optimizer)
        self._ended_with = set()

    def end_with_optimizers(self) -> None:
        """End the step with the last optimizer that it is expected to hold, where no calls are followed."""
        if BY_HAND in self._stepped or (self._stepped and self._stepped >= self._optimizers.expected):
            self._ended_with = self._stepped
            self._end_step()
            self._stepped = set()
            self._begin_step(STEP, trains=True)

    def close(self) -> None:
        """End what is open."""
        self._end_forward()
        self._end_step()

    def __del__(self) -> None:
        """End with the thread, unless the thread's process was forked into this one: see ``Hooks._forget``."""
        with contextlib.suppress(Exception):  # the interpreter may be ending, too
            if os.getpid() == self._process:
                self.close()

    def _is_over(self, trains: bool, evaluates: bool) -> bool:
        """Tell whether a call begins another step: a model that is not trained, a teacher, may be called within one."""
        if not self._trains:
            return self._has_called or trains
        has_only_data = evaluates and not self._has_called
        has_stepped = bool(self._stepped) and self._stepped >= self._optimizers.expected
        return has_only_data or has_stepped or BY_HAND in self._stepped

    def _begin_step(self, name: str, *, trains: bool) -> None:
        self._step, self._trains = self._open(name), trains

    def _open(self, name: str) -> Callable[[], object]:
        """Open a range; return what closes it where it was opened, though another thread may begin a phase."""
        return functools.partial(self._ranges.end, self._ranges.start(name))

    def _end_step(self) -> None:
        if self._step is None:
            return
        self._step()
        self._step, self._stepped, self._has_called = None, set(), False
        self._ended(self._trains)

    def _begin_forward(self) -> None:
        if self._forward is None:
            self._forward = self._open(FORWARD)

    def _end_forward(self) -> None:
        if self._forward is not None:
            self._forward()
            self._forward = None


def is_exhausted(batches: Any) -> bool:
    """Tell whether a DataLoader's iterator will say that it is at its end; False where its length is unknown."""
    try:
        return bool(batches._num_yielded >= len(batches))
    except (AttributeError, TypeError):
        return False
