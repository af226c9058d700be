"""NVTX ranges in a domain of our own, so that a reader can tell them from the program's."""

from __future__ import annotations

from typing import Any, Protocol

DOMAIN = "tcprof"


class Ranges(Protocol):
    """Opens and closes ranges. ``push`` and ``pop`` nest on a thread; ``start`` and ``end`` need not."""

    def push(self, name: str) -> None:
        """Open a range on this thread."""

    def pop(self) -> None:
        """Close the one that this thread pushed last."""

    def start(self, name: str) -> Any:
        """Open a range that any thread may close; returns what names it."""

    def end(self, handle: Any) -> None:
        """Close it."""


def open_ranges() -> Ranges:
    """Ranges by the nvtx package, which knows domains; where the program's Python lacks it, by PyTorch, which does not.

    Where no profiler is attached, the package's domain does nothing, so that an annotated program runs at full speed.
    """
    for ranges in (_OwnDomain, _NamedDomain):
        try:
            return ranges()
        except (ImportError, AttributeError):  # the latter also of a program's own module that is called nvtx
            continue
    return _DefaultDomain()


class _OwnDomain:
    """The nvtx package's ranges; the attributes of a name are made once."""

    def __init__(self) -> None:
        import nvtx

        domain = nvtx.get_domain(DOMAIN)
        self._attributes_of = domain.get_event_attributes
        self._push, self.pop = domain.push_range, domain.pop_range
        self._start, self.end = domain.start_range, domain.end_range
        self._known: dict[str, Any] = {}  # without a lock, which a process that is forked meanwhile would find closed

    def _learn(self, name: str) -> Any:
        return self._known.setdefault(name, self._attributes_of(message=name))

    def push(self, name: str) -> None:
        """See ``Ranges``."""
        self._push(self._known[name] if name in self._known else self._learn(name))

    def start(self, name: str) -> Any:
        """See ``Ranges``."""
        return self._start(self._known[name] if name in self._known else self._learn(name))


class _NamedDomain:
    """The ranges of nvtx before 0.2.12, which are given their domain each time."""

    def __init__(self) -> None:
        import nvtx

        self._push, self._pop, self._start, self.end = nvtx.push_range, nvtx.pop_range, nvtx.start_range, nvtx.end_range

    def push(self, name: str) -> None:
        """See ``Ranges``."""
        self._push(name, domain=DOMAIN)

    def pop(self) -> None:
        """See ``Ranges``."""
        self._pop(domain=DOMAIN)

    def start(self, name: str) -> Any:
        """See ``Ranges``."""
        return self._start(name, domain=DOMAIN)


class _DefaultDomain:
    """PyTorch's ranges, which stand among the program's own."""

    def __init__(self) -> None:
        from torch.cuda import nvtx

        if type(getattr(nvtx, "_nvtx", None)).__name__ == "_NVTXStub":
            raise RuntimeError("this PyTorch is built without NVTX, and the package nvtx is not installed")
        self.push, self.pop = nvtx.range_push, nvtx.range_pop
        self.start, self.end = nvtx.range_start, nvtx.range_end
