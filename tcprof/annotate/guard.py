"""An error in the annotation switches it off and is told once; the program goes on as if there were none."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class Guard:
    """Holds whether an annotation is on, and what was told.

    Args:
        what: What is switched off by an error.
    """

    def __init__(self, what: str = "annotation") -> None:
        self.is_on = True
        self._what = what
        self.told: list[str] = []

    def tell(self, what: str) -> None:
        """Say on the error stream, once, what is not annotated."""
        if what in self.told:
            return
        self.told.append(what)
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none at all
            sys.stderr.write(f"tcprof: {what}\n")
            sys.stderr.flush()

    def switch_off(self, error: Exception) -> None:
        """Annotate no more, after an error of our own."""
        self.is_on = False
        self.tell(f"the {self._what} was switched off by an error of its own: {type(error).__name__}: {error}")

    def protect(self, function: Callable[..., Result]) -> Callable[..., Result | None]:
        """A function that never raises: its first error switches the annotation off."""

        @functools.wraps(function)
        def protected(*args: Any, **kwargs: Any) -> Result | None:
            if not self.is_on:
                return None
            try:
                return function(*args, **kwargs)
            except Exception as error:  # the program is not ours to stop
                self.switch_off(error)
                return None

        return protected
