"""Reading a saved analysis: checked as any file that comes from elsewhere, and frame by frame as they are asked for."""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property, partial
from hmac import compare_digest
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Observed, Unattributed
from tcprof.errors import InputError
from tcprof.frames import plain_texts
from tcprof.frames.schema import FLOAT
from tcprof.identity import Identity
from tcprof.saved.checks import find_dangling, find_inconsistent, find_nulls, find_unfit, find_unreadable
from tcprof.saved.contents import FORMAT, FRAMES, JUDGED, OBSERVED, About, mark_judged
from tcprof.sources import InvalidValues, Recording
from tcprof.sources.saved import ABOUT
from tcprof.untrusted import one_line
from tcprof.version import __version__

MOST_ABOUT_BYTES = 1 << 24
_NO_ZIP = (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError)
_AGAIN = "Save the analysis again: tcprof save RECORDING -o NAME.tcprof"


class SavedFile:
    """The file of a saved analysis.

    Raises:
        InputError: It is no saved analysis, of another version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved_by = ""
        try:
            with zipfile.ZipFile(path) as archive:
                members = {member.filename: member for member in archive.infolist()}
                if len(members) < len(archive.infolist()):
                    self._refuse("two of its parts have one name")
                if any(member.compress_type != zipfile.ZIP_STORED for member in members.values()):
                    self._refuse("its parts are compressed once more")
                if ABOUT not in members or members[ABOUT].file_size > MOST_ABOUT_BYTES:
                    self._refuse(f"it has no {ABOUT}")
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
            self._refuse(f"{unfit} is not as it should be")
        self.about: dict[str, Any] = about
        self._parts = list(members.values())
        self._counts: dict[str, int] = {}
        self._columns: dict[tuple[str, str], npt.NDArray[Any]] = {}

    def frame(self, name: str) -> pd.DataFrame:
        """One of ``FRAMES``, which holds what its Schema promises, and agrees with the others."""
        import pyarrow as pa

        schema, file = FRAMES[name], self._parquet(name)
        try:
            with plain_texts():
                table = file.read(columns=schema.names)
                wrong = find_nulls(table, schema)
                frame = schema.conform(table.to_pandas()) if not wrong else schema.empty()
            wrong = wrong or schema.find_invalid(frame) or find_inconsistent(name, frame, self)
        except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
            raise self._damaged(f"{name}: {error}") from error
        if wrong:
            self._refuse(f"{name}: {wrong}")
        return frame

    @cached_property
    def judged(self) -> dict[str, Any] | None:
        """What its figures say; None where another tcprof, or another user's, said it, or of other figures."""
        try:
            content = self._read(JUDGED)
            judged = json.loads(content) if len(content) <= MOST_ABOUT_BYTES else None
        except KeyError:
            return None
        except (ValueError, RecursionError) as error:
            raise self._damaged(f"{JUDGED}: {error}") from error
        if not isinstance(judged, dict):
            return None
        mark, own = str(judged.pop("mark", "")), mark_judged(self._parts, judged)
        return judged if own and compare_digest(own.encode(), mark.encode(errors="replace")) else None

    def count(self, name: str) -> int:
        """How many rows a frame has."""
        if name not in self._counts:
            self._parquet(name)
        return self._counts[name]

    def column(self, name: str, column: str) -> npt.NDArray[Any]:
        """A column of a frame, which holds what its Schema promises."""
        import pyarrow as pa

        if (name, column) not in self._columns:
            try:
                table = self._parquet(name).read(columns=[column])
                wrong, values = find_nulls(table, FRAMES[name]), self._values(table, name, column)
            except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
                raise self._damaged(f"{name}.{column}: {error}") from error
            if not wrong and not FRAMES[name][column].admits(values):
                wrong = f"{column} is out of range"
            if wrong := wrong or find_dangling(name, column, values, self):
                self._refuse(f"{name}: {wrong}")
            self._columns[name, column] = values
        return self._columns[name, column]

    def _values(self, table: Any, name: str, column: str) -> npt.NDArray[Any]:
        """A column of a table; an absent one of floats is unknown, as it is in a frame."""
        if column not in table.column_names and FRAMES[name][column].dtype == FLOAT:
            return np.full(self._counts[name], np.nan)
        values: npt.NDArray[Any] = table[column].to_numpy()
        return values

    def _read(self, member: str) -> bytes:
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(member)
        except (OSError, *_NO_ZIP) as error:
            raise self._damaged(f"{member}: {error}") from error

    def _parquet(self, name: str) -> Any:
        """The Parquet file of a frame."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            content = self._read(f"{name}.parquet")
            file = pq.ParquetFile(io.BytesIO(content))
            wrong = find_unreadable(file, FRAMES[name], len(content))
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise self._damaged(f"{name}: {error}") from error
        if wrong:
            self._refuse(f"{name}: {wrong}")
        self._counts[name] = file.metadata.num_rows
        return file

    def _refuse(self, why: str) -> NoReturn:
        raise self._damaged(why)

    def _damaged(self, why: str) -> InputError:
        return InputError(
            f"{self.path} is not a saved analysis that can be read: {one_line(why, 200)}.{self._saved_by}", _AGAIN
        )


class SavedAnalysis(Analysis):
    """An analysis whose frames are read when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        file = self.__dict__.get("_file")
        if file is None or name not in _LAZY:
            raise AttributeError(name)
        value = partial(file.frame, "kernels_by_path") if name == "split_by_path" else file.frame(name)
        self.__dict__[name] = value
        return value

    def column(self, frame: str, name: str) -> npt.NDArray[Any]:
        """A column of a frame, without the others."""
        file = self.__dict__.get("_file")
        return super().column(frame, name) if file is None or frame in self.__dict__ else file.column(frame, name)

    @property
    def judged(self) -> dict[str, Any] | None:
        """What ``tcprof.findings`` said of it when it was saved; None where it has to be judged."""
        file = self.__dict__.get("_file")
        return None if file is None else file.judged

    @cached_property
    def fingerprint(self) -> Any:
        """What copies of the recording have in common, and no other run has."""
        file = self.__dict__.get("_file")
        if file is None:
            return super().fingerprint
        return np.array(file.about["fingerprint"], dtype=np.uint64)


_Kind = TypeVar("_Kind", bound=SavedAnalysis)
_LAZY = {field.name for field in fields(Analysis)}


def load(path: Path, kind: type[_Kind], name: str | None = None) -> _Kind:
    """Read a saved analysis.

    Args:
        name: What the file is called that it stands for; None: as it was when it was saved.
    """
    file = SavedFile(path)
    about = file.about
    analysis = object.__new__(kind)
    observed = dict(about["observed"])
    unattributed = tuple(Unattributed(**each) for each in observed.pop("unattributed"))
    wrong = tuple(InvalidValues(**each) for each in observed.pop("wrong"))
    known = Observed(
        **observed, unattributed=unattributed, wrong=wrong, **{name: file.frame(name) for name in OBSERVED}
    )
    values = {
        "recording": _recording(about["recording"], name),
        "window": about["window"],
        "tensor_source": about["tensor_source"],
        "options": about["options"],
        "observed": known,
    }
    analysis.__dict__.update(values, _file=file)
    return analysis


def _recording(about: Mapping[str, Any], name: str | None) -> Recording:
    known = {**about, "identity": Identity.from_facts(dict(about["identity"]))}
    return Recording(**(known if name is None else {**known, "file": name}))
