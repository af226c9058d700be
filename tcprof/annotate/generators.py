"""A model that calls itself again and again, by ``generate`` or the like: its methods, and the ranges between calls.

PyTorch has no hook for such methods, so that they are wrapped in the class that defines them, from when PyTorch first
tells of a model of that class until the annotation ends. A wrapped method has the signature, the result and the
exceptions of the program's own, and can be compiled, scripted and pickled as that can.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
import weakref
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tcprof.annotate.inlining import surround

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.nn import Module

    from tcprof.annotate.steps import Ranges

METHODS = ("generate", "sample")  # as transformers and others call them


class Generators:
    """Wraps methods of the program's classes.

    Args:
        begin: Called with the model before its method; never raises.
    """

    def __init__(self, begin: Callable[[object], object], end: Callable[[object], object], is_compiling: Any) -> None:
        self._begin, self._end, self._is_compiling = _Marker(begin), _Marker(end), is_compiling
        self._classes: weakref.WeakSet[type] = weakref.WeakSet()
        self._wrapped: list[tuple[type, str, FunctionType, FunctionType]] = []

    def add_all(self, base: type) -> None:
        """Wrap the methods of all classes that derive from one."""
        waiting, classes = [base], {}
        while waiting:
            cls = waiting.pop()
            if id(cls) not in classes:
                classes[id(cls)] = cls
                self.add(cls)
                waiting += type.__subclasses__(cls)

    def add(self, model: type) -> None:
        """Wrap the methods of a class, where it or one that it derives from has them."""
        with contextlib.suppress(Exception):  # a class may hide, be no key, or not let itself be changed
            if model in self._classes:
                return
            self._classes.add(model)
            for name in METHODS:
                owner = next((base for base in type.mro(model) if name in vars(base)), None)
                if owner is not None:
                    self._wrap(owner, name, vars(owner)[name])

    def _wrap(self, owner: type, name: str, method: object) -> None:
        if not isinstance(method, FunctionType) or any(method is ours for _, _, _, ours in self._wrapped):
            return
        if hasattr(method, "_torchscript_modifier") or _runs_later(method):
            return
        wrapper = surround(method, self._is_compiling, self._begin, self._end)
        setattr(owner, name, wrapper)
        self._wrapped.append((owner, name, method, wrapper))

    def close(self) -> None:
        """Give the classes their own methods back."""
        for owner, name, method, wrapper in self._wrapped:
            with contextlib.suppress(Exception):
                if vars(owner).get(name) is wrapper:  # else the program has replaced it
                    setattr(owner, name, method)
        self._wrapped.clear()
        self._classes.clear()


class _Marker:
    """A function of ours that pickling a wrapper leaves out: classes of the main module may be pickled by value."""

    def __init__(self, function: Callable[[object], object]) -> None:
        self._function = function

    def __call__(self, model: object = None) -> bool:
        self._function(model)
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.itemgetter(0), ((id,),)  # something that takes a model, and that any Python has


def _runs_later(method: FunctionType) -> bool:
    """Tell whether calling it runs nothing of it yet: what it makes runs when it is asked for results."""
    inner = inspect.unwrap(method)
    return any(
        check(inner) for check in (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    )


class Generations:
    """The models whose ``generate``, or what is like it, runs on a thread.

    Between its calls a model has a range of its own: sampling and what else its method does is its work. It is none
    around the calls, since each of these is a step, which lies in nothing.
    """

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._running: list[tuple[Module, str]] = []  # innermost last
        self._is_between = False

    @property
    def name(self) -> str:
        """Return the name of the innermost model that has one; empty for none."""
        return next((name for _, name in reversed(self._running) if name), "")

    def holds(self, module: Module) -> bool:
        """Tell whether it is one of these models."""
        return any(module is model for model, _ in self._running)

    def is_innermost(self, module: Module) -> bool:
        """Tell whether it is the last of these models; it is not where it began before the annotation was on."""
        return bool(self._running) and self._running[-1][0] is module

    def enter(self, module: Module, name: str) -> None:
        """Note that a model's method begins; it has no name within a call of a module, or within itself."""
        if name:
            self.end_between()
        self._running.append((module, name))

    def leave(self) -> bool:
        """Note that the method of the innermost model ends; return whether that had a name."""
        _, name = self._running.pop()
        if name:
            self.end_between()
        return bool(name)

    def begin_between(self) -> None:
        """Open a range for work of the innermost model itself, if there is one."""
        if self.name and not self._is_between:
            self._ranges.push(self.name)
            self._is_between = True

    def end_between(self) -> None:
        """Close that range: a model is called, or its method ends."""
        if self._is_between:
            self._is_between = False
            self._ranges.pop()

    def close(self) -> None:
        """Forget all."""
        self.end_between()
        self._running.clear()
