"""What a kind of frame promises: its columns, each with a dtype, a unit and a meaning."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import union_categoricals

from tcprof import units

INT = "int64"
FLOAT = "float64"
TEXT = "object"
CATEGORY = "category"
BOOL = "bool"
_DTYPES = {name: pd.api.types.pandas_dtype(name) for name in (INT, FLOAT, TEXT, CATEGORY, BOOL)}
_UNITS_ALONE = ("ns", "s", "pct", "hz", "bytes")  # which say only the unit; a count says what is counted
FEW = 20_000  # rows of a frame that is copied for speed
_MOST = 2.0**100
UNBOUNDED = (0.0, float("inf"))  # limits of ends of intervals that may reach to infinity
SIGNED = (-_MOST, _MOST)  # limits of shifts and differences
ON_CLOCK = (-(2.0**54), 2.0**54)  # limits of times
OR_NONE = (-1.0, 2.0**32)  # limits of numbers of something that may be -1, for none
LARGEST_UNCOVERED_PCT = 1.0  # what is left out of a sum that counts as the whole
_TENSOR_ACTIVE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
# What Nsight Compute calls the figures of some columns.
NCU_METRICS = {
    "tensor_active_pct": _TENSOR_ACTIVE,
    "tensor_active_mean_pct": _TENSOR_ACTIVE,
    "tensor_cycles": "sm__pipe_tensor_cycles_active.sum",
    "sm_active_pct": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
}
_ACRONYMS = {"gpu": "GPU", "sm": "SM"}


@dataclass(frozen=True)
class Column:
    """One column of a frame: the only place that says what it is called, measured in and means."""

    name: str  # its name, with a unit at the end (``_ns``, ``_s``, ``_pct``, ``_hz``, ``_bytes``, ``_count``)
    _: KW_ONLY
    title: str = ""  # what tables and figures call it; by default its name without the unit
    # What its numbers are measured in, as ``tcprof.units.format_value`` knows it; by default the end of the name. Empty
    # for words and for numbers without a unit, such as that of a GPU.
    unit: str = ""
    # The column of the same row with the share, in percent, of what is not in a value: if that is over 1 %, the value
    # is a lower bound. Empty for values that hold everything.
    missing: str = ""
    # Of a sum over samples, the column of the same row with the share, in percent, of the time that was sampled: what
    # is left of 100 % is not in the value. Empty for everything else.
    covered: str = ""
    dtype: str = FLOAT  # its pandas dtype. Unknown values are NaN, so only columns that are always known are integers
    limits: tuple[float, float] = (0.0, _MOST)  # the least and the most that a known number may be
    meaning: str = ""  # what a value says, in one or two sentences

    def __post_init__(self) -> None:
        stem, _, suffix = self.name.rpartition("_")
        if not self.unit and self.dtype in (INT, FLOAT) and suffix in units.SUFFIXES:
            object.__setattr__(self, "unit", suffix)
        if not self.title:
            words = (stem if self.unit == suffix and suffix in _UNITS_ALONE else self.name).split("_")
            object.__setattr__(self, "title", " ".join([_ACRONYMS.get(words[0], words[0].capitalize()), *words[1:]]))

    def means(self, meaning: str) -> "Column":
        """Say what a value means, in one or two sentences."""
        return replace(self, meaning=meaning)

    @property
    def is_text(self) -> bool:
        """Tell whether its values are words."""
        return self.dtype in (TEXT, CATEGORY)

    @property
    def is_share(self) -> bool:
        """Tell whether its values are shares of a whole; those that may exceed it are unbounded."""
        return self.unit == "pct" and self.limits == (0.0, _MOST)

    def has(self, dtype: object) -> bool:
        """Tell whether a dtype is the column's own; of categories any are."""
        return isinstance(dtype, pd.CategoricalDtype) if self.dtype == CATEGORY else dtype == _DTYPES[self.dtype]

    def admits(self, values: npt.NDArray[Any]) -> bool:
        """Tell whether all known numbers are within the limits; of texts any are."""
        if self.dtype not in (INT, FLOAT) or not len(values):
            return True
        return not (np.fmin.reduce(values) < self.limits[0] or np.fmax.reduce(values) > self.limits[1])

    def format(self, value: object) -> str:
        """Format a value as a person reads it."""
        return units.format_value(value, self.unit)

    def missing_pct(self, row: Mapping[Any, Any]) -> Any:
        """Return the share, in percent, that the row's value lacks; of a frame, for each row."""
        return 100 - row[self.covered] if self.covered else row[self.missing] if self.missing else 0.0

    def is_lower_bound(self, row: Mapping[Any, Any]) -> bool:
        """Tell whether the row's value lacks more than counts as the whole, see ``missing_pct``."""
        return bool(self.missing_pct(row) > LARGEST_UNCOVERED_PCT)


@dataclass(frozen=True)
class Schema:
    """The contract of one kind of frame."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()  # columns that tell its rows apart; empty where rows may be alike

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name} has no column {name}")

    @property
    def names(self) -> list[str]:
        """List the columns' names, in order."""
        return [column.name for column in self.columns]

    def conform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with just this Schema's columns and dtypes; absent floats are unknown, others a KeyError."""
        index, data = pd.RangeIndex(len(frame)), {}
        dtypes = dict(zip(frame.columns.tolist(), frame.dtypes.tolist(), strict=True))
        if list(dtypes) == self.names and all(map(Column.has, self.columns, dtypes.values())):
            return frame.set_axis(index)
        for column in self.columns:
            if column.name in dtypes:
                values = frame[column.name]
                values = values if column.has(dtypes[column.name]) else values.astype(column.dtype)
                # Arrays are taken as they are, and quicker; but pandas looks into those of objects for texts.
                data[column.name] = values.set_axis(index) if column.dtype == TEXT else values.array
            elif column.dtype == FLOAT:
                data[column.name] = np.broadcast_to(np.nan, len(frame))  # takes no memory
            else:
                raise KeyError(f"{self.name}.{column.name} is missing")
        # A copy has one array for each dtype: rows are picked from it four times as fast. Of many it would be large.
        return pd.DataFrame(data, index, copy=len(frame) < FEW)

    def find_invalid(self, frame: pd.DataFrame) -> str:
        """Name what no frame of this kind may hold and this one, which conforms, does; empty for nothing."""
        beyond = (column.name for column in self.columns if not column.admits(frame[column.name].to_numpy()))
        if name := next(beyond, ""):
            return f"{name} is out of range"
        for start in (name for name in self.names if name.endswith("start_ns")):
            end = f"{start.removesuffix('start_ns')}end_ns"
            if end in self.names:
                begins, ends = frame[start].to_numpy(), frame[end].to_numpy()
                if not ((begins <= ends) | (np.isnan(begins) & np.isnan(ends))).all():
                    return f"{end} is before {start}"
        return f"two rows have the same {', '.join(self.key)}" if self.key and self._repeats(frame) else ""

    def _repeats(self, frame: pd.DataFrame) -> bool:
        """Tell whether two rows have the same key; numbers are most often in order, which is seen at once."""
        if all(self[name].dtype == INT for name in self.key):
            ascends = np.zeros(max(len(frame) - 1, 0), dtype=bool)
            for name in reversed(self.key):
                values = frame[name].to_numpy()
                ascends = (values[1:] > values[:-1]) | ((values[1:] == values[:-1]) & ascends)
            if ascends.all():
                return False
        return bool(frame.duplicated([*self.key]).any())

    def empty(self) -> pd.DataFrame:
        """Make a frame of this kind without rows."""
        return self._empty.copy()

    @cached_property
    def _empty(self) -> pd.DataFrame:
        return pd.DataFrame({c.name: pd.Series(dtype=c.dtype) for c in self.columns})

    def concat(self, frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
        """Join the rows of several frames of this kind, in the order given: texts by number, as they may be many."""
        parts = [frame for frame in frames if not frame.empty]
        if len(parts) < 2:
            return parts[0] if parts else self.empty()
        names = [column.name for column in self.columns if column.dtype == CATEGORY]
        if not names:
            return self.conform(pd.concat(parts, ignore_index=True))
        texts = {name: [part[name].cat for part in parts] for name in names}
        joined = {
            name: union_categoricals([one.rename_categories(one.categories.astype(object)) for one in columns])
            for name, columns in texts.items()
        }
        rest = pd.concat([part.drop(columns=names) for part in parts], ignore_index=True)
        return self.conform(rest.assign(**joined))


Float = Column
Int = partial(Column, dtype=INT)
Text = partial(Column, dtype=TEXT)
Category = partial(Column, dtype=CATEGORY)
Bool = partial(Column, dtype=BOOL)
IntTime, FloatTime = partial(Int, limits=ON_CLOCK), partial(Float, limits=ON_CLOCK)
Number = partial(Int, limits=OR_NONE)
Owner = partial(Int, limits=(-1.0, 2.0**24))  # a process or a thread, -1 for one that is unknown
Signed = partial(Float, limits=SIGNED)
GPU = Int("gpu", limits=(0, 255)).means("Number of the GPU in the recording, as Nsight Systems numbers GPUs.")
START = IntTime("start_ns").means("Start on the recording's clock; negative if before the capture began.")
END = IntTime("end_ns").means("End on the recording's clock; the interval is half-open.")

_TEXT_STORAGE = "mode.string_storage"  # one setting for the whole process, in which several threads may be at work
_text_lock = Lock()
_text_users: list[str] = []  # what the setting was when each thread came


@contextmanager
def python_string_storage() -> Iterator[None]:
    """Have pandas keep texts as Python's, not Arrow's: many frames are small, and are made a fifth faster."""
    with _text_lock:
        _text_users.append(_text_users[0] if _text_users else pd.get_option(_TEXT_STORAGE))
        pd.set_option(_TEXT_STORAGE, "python")
    try:
        yield
    finally:
        with _text_lock:
            before = _text_users.pop()
            if not _text_users:
                pd.set_option(_TEXT_STORAGE, before)


@dataclass(frozen=True)
class Deferred:
    """A frame that is made, or read from a file, when it is first asked for."""

    make: Callable[[], pd.DataFrame]
    column: Callable[[str], npt.NDArray[Any]] | None = None  # reads one without the others


class Frame:
    """A field of ``Analysis``: a frame, or a ``Deferred`` one."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, analysis: object, owner: type | None = None) -> pd.DataFrame:
        if analysis is None:
            raise AttributeError(self._name)  # by which a dataclass knows that it has no default
        frame = vars(analysis)[self._name]
        if isinstance(frame, Deferred):
            with python_string_storage():
                frame = vars(analysis)[self._name] = frame.make()
        return frame

    def __set__(self, analysis: object, frame: pd.DataFrame | Deferred) -> None:
        vars(analysis)[self._name] = frame
