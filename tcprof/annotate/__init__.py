"""NVTX ranges for a PyTorch program that has none: its steps, their phases, and each module by its path.

Runs inside the user's program, in whatever Python that has, and imports nothing else of tcprof. Three ways lead here:
``tcprof profile``, which puts ``startup`` on PYTHONPATH; and for those who record with nsys themselves
``python -m tcprof.annotate train.py``, or in a program or notebook::

    with tcprof.annotate():
        train()
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.abc
import os
import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from tcprof.annotate.guard import Guard
from tcprof.annotate.hooks import Hooks
from tcprof.annotate.ops import AUTO, LEVELS, MODULES, OFF, Ops
from tcprof.annotate.processes import Process
from tcprof.annotate.steps import open_ranges
from tcprof.annotate.window import OVER, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from importlib.machinery import ModuleSpec

VARIABLE = "TCPROF_ANNOTATE"  # a level, or off: what is annotated unless the program says otherwise
_GUARD = Guard()
_installed: list[Hooks] = []
_levels = [MODULES]  # that are in force; the last one counts
TORCH = "torch"
IMPORTLIB = "<frozen importlib._bootstrap_external>"  # frames of this file are left out of tracebacks of imports


def start(level: str | None = None) -> None:
    """Annotate this process from the import of PyTorch on, now if it is imported already.

    Calling it again changes nothing but the level. It never raises: the error stream says what cannot be
    annotated.

    Args:
        level: What gets ranges: ``modules`` (with steps and phases), ``ops`` too, or also their ``shapes``; None for
            what the environment variable TCPROF_ANNOTATE says, by default modules. Nothing where that says ``off``.
    """
    chosen = level or _default_level()
    if chosen == OFF:
        return
    _GUARD.is_on = True
    _levels[-1] = max(_levels[-1], chosen, key=LEVELS.index)
    when_imported(_GUARD.protect(_install))


def is_on() -> bool:
    """Tell whether the steps of this process have ranges."""
    return bool(_installed) and _GUARD.is_on


def _default_level() -> str:
    level = os.environ.get(VARIABLE) or AUTO
    if level not in (*LEVELS, AUTO, OFF):
        _GUARD.tell(f"{VARIABLE} is none of {', '.join((*LEVELS, OFF))}: {level}")
    return level if level in (*LEVELS, OFF) else MODULES


def _install(torch: Any) -> None:
    if not _installed:
        note_groups = Guard("list of process groups").protect(Process(torch).note_groups)
        window = Window(open_ranges(), torch)
        if window.phase == OVER:  # the program was recorded before it came to this
            return
        hooks = Hooks(torch, window, _GUARD, Ops(torch, Guard("annotation of ops")), note_groups)
        _installed.append(hooks)
        hooks.install()
        atexit.register(_GUARD.protect(hooks.close))
        atexit.register(note_groups)
    _installed[0].want(_levels[-1])


def when_imported(then: Callable[[ModuleType], None]) -> None:
    """Call a function with PyTorch once the program imports it, now if it has: it is never imported for it."""
    torch = sys.modules.get(TORCH)
    if torch is None:
        sys.meta_path.insert(0, _Finder(then))
    else:
        then(torch)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds PyTorch as the other finders do, and has its loader call a function when it is done.

    The program may ask for PyTorch any number of times before it imports it: ``importlib.util.find_spec("torch")``.
    """

    def __init__(self, then: Callable[[ModuleType], None]) -> None:
        self._then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != TORCH:
            return None
        specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((finder for finder in specs if finder is not None), None)
        if spec is not None and spec.loader is not None:
            with contextlib.suppress(AttributeError):  # a loader of the program's own that takes no attributes
                self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        """Have a loader, which stays what it is, call the function when it has run PyTorch."""
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            original(module)
            if module.__name__ == TORCH:
                loader.__dict__.pop("exec_module", None)
                with contextlib.suppress(ValueError):  # the program has taken it away
                    sys.meta_path.remove(self)
                self._then(module)

        code = exec_module.__code__.replace(co_filename=IMPORTLIB)
        loader.exec_module = FunctionType(code, globals(), "exec_module", None, exec_module.__closure__)


class _Annotate(ModuleType):
    """This package, callable: one name is a package to ``python -m`` and a context in programs."""

    @contextlib.contextmanager
    def __call__(self, level: str | None = None) -> Iterator[None]:
        """Annotate what runs within the context, in this process; see ``start``.

        Where the whole program is annotated already, nothing changes but the level, if this one is higher.

        Raises:
            ValueError: There is no such level.
        """
        if level is not None and level not in LEVELS:
            raise ValueError(f"{level!r} is none of {', '.join(LEVELS)}")
        was_on = bool(_installed) and _GUARD.is_on
        _levels.append(_levels[-1])
        start(level)
        try:
            yield
        finally:
            _levels.pop()
            for hooks in _installed:
                if was_on:
                    hooks.want(_levels[-1])
                else:
                    _GUARD.protect(hooks.close)()
            _GUARD.is_on = _GUARD.is_on and was_on


sys.modules[__name__].__class__ = _Annotate
