"""Reading a saved analysis, frame by frame as they are asked for.

Anyone may have written the file, and what reads frames trusts them: so it is checked as any file from elsewhere.
"""

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Observed, Unattributed
from tcprof.errors import InputError
from tcprof.frames import Schema, python_string_storage
from tcprof.frames.schema import BOOL, CATEGORY, FLOAT, INT, TEXT, Deferred
from tcprof.identity import Identity
from tcprof.parquet import find_unsafe
from tcprof.saved.contents import FORMAT, FRAMES, JUDGED, OBSERVED, ROWS, About
from tcprof.sources import InvalidValues, Recording
from tcprof.sources.saved import ABOUT
from tcprof.untrusted import one_line
from tcprof.version import __version__

MOST_ABOUT_BYTES = 1 << 24
_NO_ZIP = (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError)
_DISAGREES = "it contradicts the other parts"
_AGAIN = "Save the analysis again: tcprof save RECORDING -o NAME.tcprof"
_MOST_NUMBER = 1 << 64
_MOST_DIGITS = 20
_TYPES = {
    INT: {"int64"},
    FLOAT: {"double"},
    BOOL: {"bool"},
    TEXT: {"string", "large_string"},
    CATEGORY: {"string", "large_string", "categories of string", "categories of large_string"},
}


class SavedFile:
    """The file of a saved analysis; InputError where it is none, of another version, or damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved_by = ""
        try:
            with zipfile.ZipFile(path) as archive:
                self._parts = archive.infolist()
                if len(_contents(self._parts)) < len(self._parts):
                    raise self._damaged("two of its parts share a name")
                if any(member.compress_type != zipfile.ZIP_STORED for member in self._parts):
                    raise self._damaged("its parts are compressed twice")
                if ABOUT not in archive.namelist() or archive.getinfo(ABOUT).file_size > MOST_ABOUT_BYTES:
                    raise self._damaged(f"it has no {ABOUT}")
                about = json.loads(archive.read(ABOUT))
        except _NO_ZIP as error:
            raise self._damaged(str(error)) from error
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.", "Check the name.") from error
        number = about.get("format") if isinstance(about, dict) else None
        if type(number) is int and number > FORMAT:
            raise InputError(
                f"{path} was saved by a newer tcprof, {about.get('tcprof')}.",
                "Update tcprof, or save the analysis again.",
            )
        if isinstance(about, dict) and (version := str(about.get("tcprof", ""))) != __version__:
            self._saved_by = f" It was saved by tcprof {one_line(version, 20)}, and this is {__version__}."
        if unfit := find_unfit(about, About, ABOUT) or (f"{ABOUT}.format" if number != FORMAT else ""):
            raise self._damaged(f"{unfit} is malformed")
        self.about: dict[str, Any] = about
        self._counts: dict[str, int] = {}
        self._files: dict[str, Any] = {}  # opened for a column or a count, until their frame is read
        self._columns: dict[tuple[str, str], npt.NDArray[Any]] = {}

    def analysis(self, name: str | None = None) -> Analysis:
        """Return the analysis, whose frames are read when asked for; ``name`` is what the file stands for."""
        about, observed = self.about, dict(self.about["observed"])
        unattributed = tuple(Unattributed(**item) for item in observed.pop("unattributed"))
        wrong = tuple(InvalidValues(**item) for item in observed.pop("wrong"))
        frames = {item: Deferred(partial(self.frame, item), partial(self.column, item)) for item in FRAMES}
        observed_frames = {item: frames.pop(item).make() for item in OBSERVED}
        analysis = Analysis(
            recording=_recording(about["recording"], name),
            window=about["window"],
            tensor_source=about["tensor_source"],
            options=about["options"],
            observed=Observed(**observed, unattributed=unattributed, wrong=wrong, **observed_frames),
            **frames,
        )
        # A copy with other frames has none.
        vars(analysis)["fingerprint"] = np.array(about["fingerprint"], dtype=np.uint64)
        return analysis

    def frame(self, name: str) -> pd.DataFrame:
        """Read one of ``FRAMES``, which holds what its Schema promises, and agrees with the others."""
        import pyarrow as pa

        schema, file = FRAMES[name], self._parquet(name)
        try:
            with python_string_storage():
                table = file.read(columns=schema.names, use_threads=False)
                wrong = find_nulls(table, schema)
                frame = schema.conform(table.to_pandas(use_threads=False)) if not wrong else schema.empty()
            wrong = wrong or schema.find_invalid(frame)
            wrong = wrong or ("" if is_consistent(name, frame, self) else _DISAGREES)
        except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
            raise self._damaged(f"{name}: {error}") from error
        if wrong:
            raise self._damaged(f"{name}: {wrong}")
        del self._files[name]
        return frame

    def judged(self) -> dict[str, Any]:
        """Read what this very tcprof judged and wrote into the cache."""
        judged: dict[str, Any] = json.loads(self._read(JUDGED))
        return judged

    def count(self, name: str) -> int:
        """Count the rows of a frame."""
        if name not in self._counts:
            self._parquet(name)
        return self._counts[name]

    def column(self, name: str, column: str) -> npt.NDArray[Any]:
        """Read a column of a frame, which holds what its Schema promises."""
        import pyarrow as pa

        if (name, column) not in self._columns:
            try:
                table = self._parquet(name).read(columns=[column], use_threads=False)
                wrong, values = find_nulls(table, FRAMES[name]), self._values(table, name, column)
            except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
                raise self._damaged(f"{name}.{column}: {error}") from error
            if not wrong and not FRAMES[name][column].admits(values):
                wrong = f"{column} is out of range"
            if wrong := wrong or ("" if has_rows(name, column, values, self) else _DISAGREES):
                raise self._damaged(f"{name}: {wrong}")
            self._columns[name, column] = values
        return self._columns[name, column]

    def _values(self, table: Any, name: str, column: str) -> npt.NDArray[Any]:
        """Return a column of a table; an absent one of floats is unknown, as it is in a frame."""
        if column not in table.column_names and FRAMES[name][column].dtype == FLOAT:
            return np.full(self._counts[name], np.nan)
        values: npt.NDArray[Any] = table[column].to_numpy()
        return values

    def _read(self, member: str) -> bytes:
        try:
            with zipfile.ZipFile(self.path) as archive:
                if _contents(archive.infolist()) != _contents(self._parts):
                    raise InputError(f"{self.path} was replaced while it was read.", "Run the command again.")
                return archive.read(member)
        except (OSError, *_NO_ZIP) as error:
            raise self._damaged(f"{member}: {error}") from error

    def _parquet(self, name: str) -> Any:
        """Open the Parquet file of a frame."""
        if name in self._files:
            return self._files[name]
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            content = self._read(f"{name}.parquet")
            file = pq.ParquetFile(io.BytesIO(content), pre_buffer=False)
            wrong = find_unreadable(file, FRAMES[name], len(content))
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise self._damaged(f"{name}: {error}") from error
        if wrong:
            raise self._damaged(f"{name}: {wrong}")
        self._counts[name], self._files[name] = file.metadata.num_rows, file
        return file

    def _damaged(self, why: str) -> InputError:
        return InputError(
            f"{self.path} cannot be read as a saved analysis: {one_line(why, 200)}.{self._saved_by}", _AGAIN
        )


def _contents(parts: Iterable[zipfile.ZipInfo]) -> dict[str, tuple[int, int]]:
    """Return each part's checksum and number of bytes."""
    return {part.filename: (part.CRC, part.file_size) for part in parts}


def load(path: Path) -> Analysis:
    """Read a saved analysis, whose frames are read when they are asked for."""
    return SavedFile(path).analysis()


def _recording(about: Mapping[str, Any], name: str | None) -> Recording:
    facts = {**about, "identity": Identity.from_facts(dict(about["identity"]))}
    return Recording(**(facts if name is None else {**facts, "file": name}))


def find_unfit(value: object, kind: Any, name: str) -> str:
    """Name what is not of its type in a value of a JSON document, whose numbers are 0 or more; empty for none."""
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


def find_unreadable(file: Any, schema: Schema, size: int) -> str:
    """Explain why a Parquet file of so many bytes is not read as a frame of a kind; empty where it can be."""
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


def is_consistent(name: str, frame: pd.DataFrame, file: SavedFile) -> bool:
    """Tell whether a frame agrees with the others of its file."""
    if "gpu" in frame and name != "gpus":
        gpus = file.column("gpus", "gpu")
        if not np.isin(frame["gpu"].unique(), gpus if len(gpus) else 0).all():  # a recording that names none has one
            return False
    for column, (other, shared) in ROWS.get(name, {}).items():
        rows = frame[column].to_numpy()
        if not has_rows(name, column, rows, file):
            return False
        named = rows >= 0
        if any((file.column(other, key)[rows[named]] != frame[key].to_numpy()[named]).any() for key in shared):
            return False
    return name not in _FURTHER or bool(_FURTHER[name](frame, file))


def has_rows(name: str, column: str, rows: npt.NDArray[Any], file: SavedFile) -> bool:
    """Tell whether all rows of another frame that a column names are there."""
    other, _ = ROWS.get(name, {}).get(column, ("", ()))
    return not other or int(rows.max(initial=-1)) < file.count(other)


def _check_instances(frame: pd.DataFrame, file: SavedFile) -> bool:
    """Windows are those of activities, and those of steps are the steps'."""
    steps = pd.MultiIndex.from_arrays([file.column("steps", name) for name in ("gpu", "range")])
    repeated = frame[frame["range"].isin(file.column("steps", "range"))]
    windows = (repeated["gpu_end_ns"] - repeated["gpu_start_ns"]).set_axis(
        pd.MultiIndex.from_frame(repeated[["gpu", "range"]])
    )
    return (
        (frame["gpu_start_ns"].isna() == (frame["activity_count"] == 0)).all()
        and steps.isin(windows.index).all()
        and np.array_equal(windows.reindex(steps), file.column("steps", "gpu_window_ns"), equal_nan=True)
    )


def _check_ranges(frame: pd.DataFrame, file: SavedFile) -> bool:
    """One row of each GPU that was used is the whole capture."""
    whole, used = frame["path_id"] < 0, file.column("outside", "gpu")
    return ((frame["depth"] == 0) == whole).all() and {*frame["gpu"]} <= {*frame["gpu"][whole]} == {*used} > set()


def _check_paths(frame: pd.DataFrame, _: SavedFile) -> bool:
    return _is_tree(np.arange(len(frame)), frame["parent_id"].to_numpy(), frame["depth"].to_numpy())


def _check_modules(frame: pd.DataFrame, _: SavedFile) -> bool:
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


def _check_steps(frame: pd.DataFrame, file: SavedFile) -> bool:
    """Check that each step's kind is among those of its GPU, unless there are none: then all are of one."""
    kinds = pd.MultiIndex.from_arrays([file.column("kinds", name) for name in ("gpu", "kind")])
    keys = pd.MultiIndex.from_frame(frame[["gpu", "kind"]])
    return keys.isin(kinds).all() or not (len(kinds) or frame["kind"].any())


_FURTHER: dict[str, Callable[[pd.DataFrame, SavedFile], bool]] = {
    "steps": _check_steps,
    "instances": _check_instances,
    "ranges": _check_ranges,
    "paths": _check_paths,
    "modules": _check_modules,
}
