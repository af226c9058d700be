"""What a saved analysis must hold to be used: anyone may have written the file, and what reads frames trusts them."""

from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Literal, Protocol, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.frames import Schema
from tcprof.frames.schema import BOOL, CATEGORY, FLOAT, INT, TEXT
from tcprof.identity import Identity
from tcprof.parquet import find_unsafe
from tcprof.saved.contents import ROWS

_MOST_NUMBER = 1 << 64
_MOST_DIGITS = 20
_TYPES = {
    INT: {"int64"},
    FLOAT: {"double"},
    BOOL: {"bool"},
    TEXT: {"string", "large_string"},
    CATEGORY: {"string", "large_string", "categories of string", "categories of large_string"},
}


def find_unfit(value: object, kind: Any, name: str) -> str:
    """Name what is not of its type in a value of a JSON document, whose numbers are 0 or more; empty for none.

    Args:
        kind: A class with typed attributes or keys, or a plain type; ``list`` and the like with what is in
            them, where keys are numbers.
    """
    parts, origin = get_args(kind), get_origin(kind)
    if kind in (str, bool, NoneType):
        return "" if type(value) is kind else name
    if kind is Identity:  # as ``Identity.facts`` gives it
        return "" if isinstance(value, dict) and {*map(type, value.values())} <= {str} else name
    if kind in (int, float):  # which is NaN where it is unknown
        is_number = type(value) is int or (kind is float and type(value) is float)
        return "" if is_number and (0 <= value < _MOST_NUMBER or value != value) else name  # type: ignore[operator]
    if origin is Literal:
        return "" if value in parts else name
    if origin is UnionType:
        return "" if any(not find_unfit(value, item, name) for item in parts) else name
    if origin in (list, tuple):
        unfit = (find_unfit(item, parts[0], name) for item in value) if isinstance(value, list) else iter([name])
    elif not isinstance(value, dict):
        return name
    elif origin is dict:
        if not all(key.isascii() and key.isdigit() and len(key) < _MOST_DIGITS for key in value):
            return name
        unfit = (find_unfit(item, parts[1], name) for item in value.values())
    else:
        hints = {item: hint for item, hint in get_type_hints(kind).items() if hint is not pd.DataFrame}
        if value.keys() != hints.keys():
            return name
        unfit = (find_unfit(value[item], hint, f"{name}.{item}") for item, hint in hints.items())
    return next(filter(None, unfit), "")


class Columns(Protocol):
    """The columns of a file's frames."""

    def count(self, name: str) -> int:
        """Count the rows of a frame."""

    def column(self, name: str, column: str) -> npt.NDArray[Any]:
        """Return a column of a frame, as the file has it."""


def find_unreadable(file: Any, schema: Schema, size: int) -> str:
    """Explain why a Parquet file of so many bytes is not read as a frame of a kind; empty where it can be.

    Raises:
        OSError: The file is damaged.
    """
    if wrong := find_unsafe(file, size):
        return wrong
    arrow = file.schema_arrow
    for column in schema.columns:
        places = arrow.get_all_field_indices(column.name)
        if len(places) > 1:
            return f"it has two columns {column.name}"
        kinds = {_type(arrow.field(place).type) for place in places}
        if not kinds <= _TYPES[column.dtype] | ({"null"} if file.metadata.num_rows == 0 else set()):
            return f"{column.name} is of type {kinds.pop()}"
    return ""


def _type(kind: Any) -> str:
    return f"categories of {kind.value_type}" if str(kind).startswith("dictionary<") else str(kind)


def find_nulls(table: Any, schema: Schema) -> str:
    """Name the column of an Arrow table that lacks a value that a frame of a kind always has; empty for none."""
    complete = (column.name for column in schema.columns if column.dtype != FLOAT and column.name in table.column_names)
    return next((f"{name} is unknown in some rows" for name in complete if table[name].null_count), "")


def is_consistent(name: str, frame: pd.DataFrame, columns: Columns) -> bool:
    """Tell whether a frame agrees with the others of its file."""
    if "gpu" in frame and name != "gpus":
        gpus = columns.column("gpus", "gpu")
        if not np.isin(frame["gpu"].unique(), gpus if len(gpus) else 0).all():  # a recording that names none has one
            return False
    for column, (other, shared) in ROWS.get(name, {}).items():
        rows = frame[column].to_numpy()
        if not has_rows(name, column, rows, columns):
            return False
        named = rows >= 0
        if any((columns.column(other, key)[rows[named]] != frame[key].to_numpy()[named]).any() for key in shared):
            return False
    return name not in _FURTHER or bool(_FURTHER[name](frame, columns))


def has_rows(name: str, column: str, rows: npt.NDArray[Any], columns: Columns) -> bool:
    """Tell whether all rows of another frame that a column names are there."""
    other, _ = ROWS.get(name, {}).get(column, ("", ()))
    return not other or int(rows.max(initial=-1)) < columns.count(other)


def _check_instances(frame: pd.DataFrame, columns: Columns) -> bool:
    """Windows are those of activities, and those of steps are the steps'."""
    steps = pd.MultiIndex.from_arrays([columns.column("steps", name) for name in ("gpu", "range")])
    repeated = frame[frame["range"].isin(columns.column("steps", "range"))]
    windows = (repeated["gpu_end_ns"] - repeated["gpu_start_ns"]).set_axis(
        pd.MultiIndex.from_frame(repeated[["gpu", "range"]])
    )
    return (
        (frame["gpu_start_ns"].isna() == (frame["activity_count"] == 0)).all()
        and steps.isin(windows.index).all()
        and np.array_equal(windows.reindex(steps), columns.column("steps", "gpu_window_ns"), equal_nan=True)
    )


def _check_ranges(frame: pd.DataFrame, columns: Columns) -> bool:
    """One row of each GPU that was used is the whole capture."""
    whole, used = frame["path_id"] < 0, columns.column("outside", "gpu")
    return ((frame["depth"] == 0) == whole).all() and {*frame["gpu"]} <= {*frame["gpu"][whole]} == {*used} > set()


def _check_paths(frame: pd.DataFrame, _: Columns) -> bool:
    return _is_tree(np.arange(len(frame)), frame["parent_id"].to_numpy(), frame["depth"].to_numpy())


def _check_modules(frame: pd.DataFrame, _: Columns) -> bool:
    """Check that each module has one place, in one that is there; rows of all kernels have none."""
    modules = frame[frame["module_id"] >= 0].drop_duplicates(["module_id", "parent_id", "depth", "module", "name"])
    number, parent, depth = (modules[name].to_numpy() for name in ("module_id", "parent_id", "depth"))
    order = np.argsort(number)
    row = np.searchsorted(number[order], parent).clip(0, max(len(order) - 1, 0))
    return (
        (np.diff(number[order]) > 0).all()
        and ((frame["module_id"] < 0) == (frame["depth"] == 0)).all()
        and ((parent < 0) | (number[order][row] == parent)).all()
        and _is_tree(order.argsort(), np.where(parent < 0, -1, row), depth)
    )


def _is_tree(number: npt.NDArray[Any], parent: npt.NDArray[Any], depth: npt.NDArray[Any]) -> bool:
    """Check that what lies in something comes after it, and is one deeper; numbers are 0 to their count less one."""
    depths = np.zeros(len(number) + 1, dtype=np.int64)  # the last one is that of -1, which is none
    depths[number] = depth
    return bool((parent < number).all() and (depth == depths[parent] + 1).all())


def _check_steps(frame: pd.DataFrame, columns: Columns) -> bool:
    """Check that each step's kind is among those of its GPU, unless there are none: then all are of one."""
    kinds = pd.MultiIndex.from_arrays([columns.column("kinds", name) for name in ("gpu", "kind")])
    keys = pd.MultiIndex.from_frame(frame[["gpu", "kind"]])
    return keys.isin(kinds).all() or not (len(kinds) or frame["kind"].any())


_FURTHER: dict[str, Callable[[pd.DataFrame, Columns], bool]] = {
    "steps": _check_steps,
    "instances": _check_instances,
    "ranges": _check_ranges,
    "paths": _check_paths,
    "modules": _check_modules,
}
