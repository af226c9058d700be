"""The models of a thread that call themselves again and again, and their ranges between these calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.nn import Module

    from tcprof.annotate.ranges import Ranges


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
        """The name of the innermost model that has one; empty for none."""
        return next((name for _, name in reversed(self._running) if name), "")

    def holds(self, module: Module) -> bool:
        """Whether it is one of these models."""
        return any(module is each for each, _ in self._running)

    def is_innermost(self, module: Module) -> bool:
        """Whether it is the last of these models; it is not where it began before the annotation was on."""
        return bool(self._running) and self._running[-1][0] is module

    def enter(self, module: Module, name: str) -> None:
        """A model's method begins; it has no name where it runs within a call of a module, or within itself."""
        if name:
            self.end_between()
        self._running.append((module, name))

    def leave(self) -> bool:
        """The method of the innermost model ends; returns whether that had a name."""
        _, name = self._running.pop()
        if name:
            self.end_between()
        return bool(name)

    def begin_between(self) -> None:
        """What runs now is work of the innermost model itself, if there is one."""
        if self.name and not self._is_between:
            self._ranges.push(self.name)
            self._is_between = True

    def end_between(self) -> None:
        """A model is called, or its method ends."""
        if self._is_between:
            self._is_between = False
            self._ranges.pop()

    def close(self) -> None:
        """Forget all."""
        self.end_between()
        self._running.clear()
