"""An error in the annotation switches it off with one message; the program goes on as if there were none."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def _raise_the_programs(error: Exception) -> None:
    """Raise an error that a signal's handler has raised: it is the program's, and may come anywhere."""
    import signal

    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {code for handler in handlers for code in [_code(handler)] if code is not None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            raise error
        trace = trace.tb_next


def _code(handler: Any) -> Any:
    """Return the code of a signal's handler; None for those that have none, such as SIG_DFL."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    function = handler if hasattr(handler, "__code__") or hasattr(handler, "__func__") else type(handler).__call__
    return getattr(getattr(function, "__func__", function), "__code__", None)


class Guard:
    """Holds whether an annotation is on, and its messages; ``what`` is switched off by an error."""

    def __init__(self, what: str = "annotation") -> None:
        self.is_on = True
        self._what = what
        self.messages: list[str] = []

    def tell(self, what: str) -> None:
        """Say on the error stream, once, what is not annotated."""
        if what in self.messages:
            return
        self.messages.append(what)
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none at all
            sys.stderr.write(f"tcprof: {what}\n")
            sys.stderr.flush()

    def leave_out(self, what: object, error: Exception) -> None:
        """Go on without what an error of our own has left out; one of the program is raised."""
        _raise_the_programs(error)
        if not isinstance(error, RecursionError):
            self.tell(f"{type(what).__name__} is not annotated: {type(error).__name__}: {error}")

    def switch_off(self, error: Exception) -> None:
        """Annotate no more, after an error of our own; one of the program is raised."""
        _raise_the_programs(error)
        if isinstance(error, RecursionError):
            return
        self.is_on = False
        self.tell(f"the {self._what} was switched off by an error of its own: {type(error).__name__}: {error}")

    def protect(self, function: Callable[..., Result]) -> Callable[..., Result | None]:
        """Make a function that raises nothing of its own: its first error switches the annotation off."""

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
