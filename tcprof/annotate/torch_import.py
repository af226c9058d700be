"""Wait until the program imports PyTorch; it is never imported for it."""

from __future__ import annotations

import contextlib
import importlib.abc
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

TORCH = "torch"
IMPORTLIB = "<frozen importlib._bootstrap_external>"  # frames of this file are left out of tracebacks of imports


def when_imported(then: Callable[[ModuleType], None]) -> None:
    """Call a function with PyTorch once it is imported: now, if it is already."""
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
        specs = (each.find_spec(name, path, target) for each in sys.meta_path if each is not self)
        spec = next((each for each in specs if each is not None), None)
        if spec is not None and spec.loader is not None:
            with contextlib.suppress(AttributeError):  # a loader of the program's own that takes no attributes
                self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        """Have a loader, which stays what it is, call the function when it has run PyTorch."""
        own = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            own(module)
            if module.__name__ == TORCH:
                loader.__dict__.pop("exec_module", None)
                with contextlib.suppress(ValueError):  # the program has taken it away
                    sys.meta_path.remove(self)
                self._then(module)

        code = exec_module.__code__.replace(co_filename=IMPORTLIB)
        loader.exec_module = FunctionType(code, globals(), "exec_module", None, exec_module.__closure__)
