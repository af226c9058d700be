"""Ranges for single ops, by PyTorch's own observer, ``torch.autograd.profiler.emit_nvtx``.

The observer is switched on for a thread, and autograd's threads follow the one whose backward pass they run. So it is
switched on where CUDA is initialised, before the first op on a GPU, and on other threads when they first call a model.
Only one observer can be on in a thread: one of the program's own, or of nsys's ``--pytorch``, goes before ours.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tcprof.annotate.guard import Guard

OFF, AUTO, MODULES, OPS, SHAPES = "off", "auto", "modules", "ops", "shapes"
LEVELS = (MODULES, OPS, SHAPES)  # each opens all that those before it do


class _ObserverState(threading.local):
    """Our observer in a thread, and whether it is being switched on there."""

    entered: _Entered | None = None
    is_entering = False


class _Entered:
    """Our observer, which is on in this thread at a level; PyTorch complains where a thread ends with it."""

    def __init__(self, level: str, disable: Callable[[], object]) -> None:
        self.level, self._disable, self._thread = level, disable, threading.get_ident()

    def __del__(self) -> None:
        """Switch off: it is wanted no more, or its thread has ended; what a fork left of other threads is not on."""
        if self._thread == threading.get_ident():
            with contextlib.suppress(Exception):  # the interpreter may be ending, too
                self._disable()


class Ops:
    """Has PyTorch open a range for each op."""

    def __init__(self, torch: Any, guard: Guard) -> None:
        self._torch, self._guard = torch, guard
        self._wanted: str | None = None
        self._thread = _ObserverState()
        self._arguments: dict[str, Any] = {}  # what emit_nvtx asked the observer for at a level
        self._enable: Any = None
        self._disable: Any = None
        self.want = guard.protect(self._want)
        self.follow, self.leave = guard.protect(self._follow), guard.protect(self._leave)

    def _want(self, level: str) -> None:
        self._wanted = level if level in (OPS, SHAPES) else None
        if self._wanted is None:
            self.follow()
        elif not hasattr(self._torch._C, "_nvtx"):
            self._wanted = None
            self._guard.tell("ops are not annotated: this PyTorch is built without NVTX")
        else:
            self._attach()
            self._torch.cuda._lazy_call(self.follow)  # now, if CUDA is initialised

    @property
    def are_wanted(self) -> bool:
        """Tell whether there are ranges for ops."""
        return self._wanted is not None

    def _attach(self) -> None:
        """Give way to observers of the program's own."""
        if self._enable is not None:
            return
        profiler = self._torch.autograd.profiler
        self._enable, self._disable = profiler._enable_profiler, profiler._disable_profiler
        give_way, follow = self._guard.protect(self._give_way), self.follow

        def enable(*args: Any, **kwargs: Any) -> Any:
            give_way(args, kwargs)
            return self._enable(*args, **kwargs)

        def disable(*args: Any, **kwargs: Any) -> Any:
            result = self._disable(*args, **kwargs)
            follow()
            return result

        profiler._enable_profiler, profiler._disable_profiler = enable, disable

    def _give_way(self, args: Any, kwargs: Any) -> None:
        """Make way for the observer that the program switches on in this thread; keep the arguments of ours."""
        if self._thread.is_entering:
            self._arguments[str(self._wanted)] = args, kwargs
        else:
            self._leave()

    def _follow(self) -> None:
        entered = self._thread.entered
        if (None if entered is None else entered.level) == self._wanted:
            return
        self._leave()
        cuda = self._torch.cuda
        is_initialized = cuda.is_initialized() or hasattr(cuda._tls, "is_initializing")
        if self._wanted is not None and is_initialized and not self._torch.autograd._profiler_enabled():
            self._enter(self._wanted)

    def _enter(self, level: str) -> None:
        """Switch ours on. ``emit_nvtx`` waits for the GPU, which must not be done in a step: it is entered once."""
        if level in self._arguments:
            args, kwargs = self._arguments[level]
            self._enable(*args, **kwargs)
        else:
            self._thread.is_entering = True
            try:
                self._torch.autograd.profiler.emit_nvtx(record_shapes=level == SHAPES).__enter__()
            finally:
                self._thread.is_entering = False
        self._thread.entered = _Entered(level, self._disable)

    def _leave(self) -> None:
        self._thread.entered = None

    def close(self) -> None:
        """Switch ours off, for good but in threads that call no model any more."""
        self._wanted = None
        self.follow()
