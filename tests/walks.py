"""The calls between the package's modules while a command runs: which of them go back into a module that waits."""

import sys
from collections.abc import Callable, Iterator
from types import FrameType

PACKAGE = "tcprof"


def find_calls_back(function: Callable[[], object]) -> list[str]:
    """Calls of a module that waits for a call of its own to come back, by another module that works for it.

    Such a module cannot be read alone: what it does depends on who is called when. What a generator expression hands
    over is no call: it is a sequence whose values are made one after the other. But what is called in it counts.

    Returns:
        Who calls whom: each once, in the order of names.
    """
    found: set[str] = set()
    name_of = Names().of

    def watch(frame: FrameType, _event: str, _argument: object) -> None:
        if not (module := name_of(frame)) or not (caller := next(callers_of(frame), None)):
            return
        if name_of(caller) != module and any(name_of(waiting) == module for waiting in callers_of(caller)):
            called, calling = (each.f_code.co_qualname for each in (frame, caller))
            found.add(f"{name_of(caller)}.{calling} calls {module}.{called}")

    def callers_of(frame: FrameType) -> Iterator[FrameType]:
        """What waits for a function of the package, the innermost first: functions of the package, too."""
        while frame := frame.f_back:
            if name_of(frame):
                yield frame

    before = sys.gettrace()
    sys.settrace(watch)  # which hears of calls of Python's functions alone: of no returns, and of nothing written in C
    try:
        function()
    finally:
        sys.settrace(before)
    return sorted(found)


class Names:
    """The module that a function is in, if it is one of the package; its modules run, too, when they are imported."""

    def __init__(self) -> None:
        # Of all that is called little is ours: a module's name is looked at once, and found by its globals, which stay.
        self._names: dict[int, tuple[dict[str, object], str]] = {}

    def of(self, frame: FrameType) -> str:
        """The module's name; empty for what is not ours."""
        space = frame.f_globals
        if id(space) not in self._names:
            name = str(space.get("__name__", ""))
            self._names[id(space)] = space, name if name.split(".")[0] == PACKAGE else ""
        _, name = self._names[id(space)]
        return name if frame.f_code.co_name not in ("<module>", "<genexpr>") else ""
