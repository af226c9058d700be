"""The paths of modules: a trace names a call by the module's class and a number among all modules of that class.

A path is put together of the calls that a call lies in. Its numbers are those among the modules of a class in one
module, in the order of their first calls, and left out where there is but one: so alike layers hold the same names.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tcprof.sources.kineto.events import UNNAMED, Columns, Names

_OUTERMOST = -1
_DEEPEST, _LONGEST = 64, 128  # modules around another, and characters of a class: paths repeat them
_Module = tuple[int, int]  # the module around, and the number of the name


def name_calls(calls: Columns, names: Names) -> "npt.NDArray[Any]":
    """For each call the number of its module's path in ``names``."""
    modules: dict[_Module, int] = {}  # in the order of their first calls
    module_of_call = np.empty(len(calls["start"]), dtype=np.int64)
    order = np.lexsort((-calls["end"], calls["start"], calls["thread"], calls["process"]))
    columns = (calls[name][order].tolist() for name in ("process", "thread", "end", "name"))
    around: list[tuple[int, int, int, int]] = []  # process, thread, end and module of the calls that hold the next one
    for row, (process, thread, end, name) in zip(order.tolist(), zip(*columns, strict=True), strict=True):
        while around and (around[-1][:2] != (process, thread) or around[-1][2] < end):
            around.pop()
        parent = around[-1][3] if around else _OUTERMOST
        module = modules.setdefault((parent, name), len(modules)) if len(around) < _DEEPEST else parent
        module_of_call[row] = module
        around.append((process, thread, end, module))
    codes = [names.code(path) for path in _name_paths(list(modules), names)]
    return np.array(codes, dtype=np.int64)[module_of_call]


def _name_paths(modules: list[_Module], names: Names) -> list[str]:
    classes = [_class_of(names.text(name)) for _, name in modules]
    number: list[int] = []
    alike: dict[tuple[int, str], int] = {}  # how many modules of a class are in one
    for (around, _), kind in zip(modules, classes, strict=True):
        number.append(alike.get((around, kind), 0))
        alike[around, kind] = number[-1] + 1
    paths: list[str] = []
    for (around, _), kind, own in zip(modules, classes, number, strict=True):
        name = f"{kind}.{own}" if alike[around, kind] > 1 else kind
        paths.append(name if around == _OUTERMOST else f"{paths[around]}.{name}")
    return paths


def _class_of(name: str) -> str:
    """Linear of Linear_7."""
    stem, _, number = name.rpartition("_")
    return (stem if number.isdigit() and stem else name)[:_LONGEST].replace(".", "_") or UNNAMED
