"""The calls between the package's modules while a command runs: which of them go back into a module that waits."""

import sys
from collections.abc import Callable, Iterator
from types import FrameType

PACKAGE = "tcprof"


def find_calls_back(function: Callable[[], object]) -> list[str]:
    """Calls of a module that waits for a call of its own to come back, by another module that works for it.

    Such a module cannot be read alone: what it does depends on who is called when. What a generator expression hands
    over is no call: it is a sequence whose values are made one after the other. But what is called in it counts.

    Args:
        function: What to watch.

    Returns:
        Who calls whom: each once, in the order of names.
    """
    found: set[str] = set()

    def watch(frame: FrameType, _event: str, _argument: object) -> None:
        if is_ours(frame) and (caller := next(callers_of(frame), None)):
            module = name_of(frame)
            if name_of(caller) != module and any(name_of(waiting) == module for waiting in callers_of(caller)):
                called, calling = (each.f_code.co_qualname for each in (frame, caller))
                found.add(f"{name_of(caller)}.{calling} calls {module}.{called}")

    before = sys.gettrace()
    sys.settrace(watch)  # which hears of calls of Python's functions alone: of no returns, and of nothing written in C
    try:
        function()
    finally:
        sys.settrace(before)
    return sorted(found)


def callers_of(frame: FrameType) -> Iterator[FrameType]:
    """What waits for a function of the package, the innermost first: functions of the package, too."""
    while frame := frame.f_back:
        if is_ours(frame):
            yield frame


def is_ours(frame: FrameType) -> bool:
    """Whether it is a function of the package; its modules run, too, when they are imported."""
    return name_of(frame).split(".")[0] == PACKAGE and frame.f_code.co_name not in ("<module>", "<genexpr>")


def name_of(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "")
