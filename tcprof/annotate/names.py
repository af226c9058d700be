"""Name a module by the class of its root, and its path in it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.nn import Module

# What wraps a module adds a part to the path that says nothing about the model.
_WRAPPED = {"_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module"}
_WRAPPERS = {"DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "DeepSpeedEngine"}
_WRAPPED_BY_THEM = "module"
MOST = 64  # roots of one class that have names of their own: a program may make models without end


class Names:
    """The names of the modules that were seen, each under the first root that it was seen in; none is reserved."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self.by_id: dict[int, str] = {}  # what is freed is no more in it: see ``_keep``
        self._references: dict[int, weakref.ref[Module]] = {}
        self._by_hooks: dict[int, tuple[weakref.ref[Module], str]] = {}  # which a replica shares with its original
        self._taken = dict.fromkeys(reserved, 1)
        self._unnumbered: set[str] = set()
        self._is_model: dict[str, bool] = {}  # of what the program calls, whether it has parameters: a loss has none

    def find(self, module: Module) -> str | None:
        """Look up the name of a module that was seen before; of a replica that of its original."""
        name = self.by_id.get(id(module))
        return self._of_original(module) if name is None and is_replica(module) else name

    def _of_original(self, replica: Module) -> str | None:
        hooks = _own_hooks(replica)
        entry = self._by_hooks.get(id(hooks))
        original = None if entry is None else entry[0]()
        return entry[1] if entry is not None and original is not None and _own_hooks(original) is hooks else None

    def called(self, module: Module) -> str:
        """Name a module that the program itself calls, and note whether it is a model."""
        name = self.find(module) or self.root(module)
        if name not in self._is_model and not is_replica(module):
            self._is_model[name] = _has_parameters(module)
        return name

    def is_model(self, name: str) -> bool:
        """Tell whether what is so called has parameters, and was called by the program itself."""
        return self._is_model.get(name, False)

    def within(self, module: Module, caller: str) -> str:
        """Name a module that is called inside another, in whose root it may not be registered."""
        below = f"{caller}.{type(module).__name__}"
        return self.find(module) or (self._keep(module, below) if caller else self.root(module))

    def root(self, module: Module) -> str:
        """Name a module that is called by the program itself, and all modules in it that have no name yet.

        Where the modules in it cannot be listed, they get their names when they are called.
        """
        listed = list_modules(module)
        modules = dict(listed)
        inner = module
        while (held := _wrapped(inner)) is not None:
            inner = held
        name = self.find(inner) or self._free(type(inner).__name__, is_numbered=_has_parameters(inner))
        clean = {"": name}
        for path, part in listed:
            above, _, last = path.rpartition(".")
            if path:
                base = clean.get(above, name)
                clean[path] = base if _is_wrapped(path, modules) else f"{base}.{last}"
            if self.find(part) is None:
                self._keep(part, clean[path])
        return name

    def _keep(self, module: Module, name: str) -> str:
        key, hooks = id(module), id(_own_hooks(module))

        def forget(_: weakref.ref[Module]) -> None:
            for kept in (self.by_id, self._references):
                kept.pop(key, None)
            self._by_hooks.pop(hooks, None)

        reference = weakref.ref(module, forget)
        self.by_id[key], self._references[key], self._by_hooks[hooks] = name, reference, (reference, name)
        return name

    def _free(self, name: str, *, is_numbered: bool) -> str:
        """Choose a root's name, numbered from the second of its class on; a loss, which may be made anew, is not."""
        number = min(self._taken.get(name, 0) + 1, MOST)
        if number > 1 and not is_numbered and name in self._unnumbered:
            return name
        self._taken[name] = number
        self._unnumbered |= set() if is_numbered or number > 1 else {name}
        return name if number == 1 else f"{name}#{number}" + ("+" if number == MOST else "")


def is_replica(module: Module) -> bool:
    """Tell whether ``torch.nn.DataParallel`` made a module: a shallow copy for one call on one device."""
    return bool(attribute_of(module, "_is_replica"))


def attribute_of(module: Module, name: str) -> Any:
    """Read an attribute of a module's dictionary, as PyTorch sets it; nothing of the program's own runs for it."""
    return object.__getattribute__(module, "__dict__").get(name)


def _own_hooks(module: Module) -> object:
    """Return the dictionary of a module's own hooks, which a shallow copy of it has in common with it."""
    return attribute_of(module, "_forward_hooks")


def list_modules(module: Module) -> list[tuple[str, Module]]:
    """List a module and all modules in it, by their paths and in the order of ``named_modules``.

    That itself is not called: a program's own may do anything. Itself alone where what is in it cannot be known.
    """
    by_id: dict[int, tuple[str, Module]] = {}
    waiting = [("", module)]
    while waiting:
        path, holder = waiting.pop()
        if id(holder) not in by_id:
            by_id[id(holder)] = path, holder
            inner = [(f"{path}.{name}" if path else name, child) for name, child in children(holder).items()]
            waiting += reversed(inner)
    return list(by_id.values())


def children(module: Module) -> dict[str, Module]:
    """Return the modules that a module holds; none where they are not held as PyTorch does."""
    held = attribute_of(module, "_modules")
    try:
        return {name: child for name, child in held.items() if isinstance(name, str) and _is_module(child)}
    except Exception:  # a program may put there what it likes
        return {}


def _is_module(child: object) -> bool:
    return any(base.__module__ == "torch.nn.modules.module" for base in type.mro(type(child)))


def _has_parameters(module: Module) -> bool:
    """Tell whether a module is a model; one that cannot list what is in it counts as one."""
    try:
        held = (attribute_of(part, "_parameters") or {} for _, part in list_modules(module))
        return any(parameter is not None for parameters in held for parameter in parameters.values())
    except Exception:  # what hides its attributes
        return True


def _is_wrapped(path: str, modules: dict[str, Module]) -> bool:
    above, _, last = path.rpartition(".")
    return last in _WRAPPED or (last == _WRAPPED_BY_THEM and type(modules.get(above)).__name__ in _WRAPPERS)


def _wrapped(module: Module) -> Module | None:
    held = children(module)
    for name in _WRAPPED:
        if name in held:
            return held[name]
    return held.get(_WRAPPED_BY_THEM) if type(module).__name__ in _WRAPPERS else None
