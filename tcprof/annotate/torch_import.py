"""Wait until the program imports PyTorch; it is never imported for it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

TORCH = "torch"


def when_imported(then: Callable[[ModuleType], None]) -> None:
    """Call a function with PyTorch once it is imported: now, if it is already."""
    torch = sys.modules.get(TORCH)
    if torch is None:
        sys.meta_path.insert(0, _Finder(then))
    else:
        then(torch)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds PyTorch as the other finders do, and has its loader call a function when it is done."""

    def __init__(self, then: Callable[[ModuleType], None]) -> None:
        self._then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != TORCH:
            return None
        sys.meta_path.remove(self)  # the others are asked now, and this one is needed no more
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)
            return spec
        spec.loader = _Loader(spec.loader, self._then)
        return spec


class _Loader(importlib.abc.Loader):
    """A loader that calls a function with what it has loaded; all else is the other loader's."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._then(module)
