"""Reading a saved analysis: checked as any file that comes from elsewhere, and frame by frame as they are asked for."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Observed, Unattributed
from tcprof.errors import InputError
from tcprof.frames import plain_texts
from tcprof.identity import Identity
from tcprof.saved.contents import FORMAT, FRAMES, OBSERVED, ROWS
from tcprof.sources import InvalidValues, Recording
from tcprof.sources.saved import ABOUT

MOST_ROWS = 1 << 28
MOST_ABOUT_BYTES = 1 << 24
_AGAIN = "Save the analysis again: tcprof save RECORDING -o NAME.tcprof"


class SavedFile:
    """The file of a saved analysis.

    Raises:
        InputError: It is no saved analysis, of another version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                members = {member.filename: member for member in archive.infolist()}
                if any(member.compress_type != zipfile.ZIP_STORED for member in members.values()):
                    self._refuse("its parts are compressed once more")
                if ABOUT not in members or members[ABOUT].file_size > MOST_ABOUT_BYTES:
                    self._refuse(f"it has no {ABOUT}")
                about = json.loads(archive.read(ABOUT))
        except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
            raise self._damaged(str(error)) from error
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.", "Check the name.") from error
        if not isinstance(about, dict) or not isinstance(about.get("format"), int):
            self._refuse(f"its {ABOUT} does not say what it is")
        if about["format"] > FORMAT:
            raise InputError(
                f"{path} was saved by a newer tcprof, {about.get('tcprof')}.",
                "Update tcprof, or save the analysis again.",
            )
        self.about: dict[str, Any] = about

    def frame(self, name: str) -> pd.DataFrame:
        """One of ``FRAMES``, with its Schema's columns and values that its other frames have."""
        import pyarrow as pa

        schema = FRAMES[name]
        try:
            with plain_texts():
                found = schema.conform(self._parquet(name).read(columns=schema.names).to_pandas())
        except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
            raise self._damaged(f"{name}: {error}") from error
        for column, other in ROWS.get(name, {}).items():
            rows = found[column].to_numpy()
            if len(rows) and not -1 <= rows.min() <= rows.max() < self._parquet(other).metadata.num_rows:
                self._refuse(f"{name}.{column} names rows that {other} has not")
        return found

    def _parquet(self, name: str) -> Any:
        """The Parquet file of a frame."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with zipfile.ZipFile(self.path) as archive:
                file = pq.ParquetFile(io.BytesIO(archive.read(f"{name}.parquet")))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile, pa.ArrowException) as error:
            raise self._damaged(f"{name}: {error}") from error
        if file.metadata.num_rows > MOST_ROWS:
            self._refuse(f"{name} has {file.metadata.num_rows} rows")
        return file

    def _refuse(self, why: str) -> NoReturn:
        raise self._damaged(why)

    def _damaged(self, why: str) -> InputError:
        return InputError(f"{self.path} is not a saved analysis that can be read: {why.splitlines()[0]}.", _AGAIN)


class SavedAnalysis(Analysis):
    """An analysis whose frames are read when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        file = self.__dict__.get("_file")
        if file is None or name not in _LAZY:
            raise AttributeError(name)
        value = _split(self) if name == "split_by_path" else file.frame(name)
        self.__dict__[name] = value
        return value

    @cached_property
    def kernels_by_path(self) -> pd.DataFrame:
        """The kernels, with a row for each path as well."""
        return self.split_by_path()

    @cached_property
    def fingerprint(self) -> Any:
        """What copies of the recording have in common, and no other run has."""
        file = self.__dict__.get("_file")
        if file is None:
            return super().fingerprint
        return np.array(file.about["fingerprint"], dtype=np.uint64)


_Kind = TypeVar("_Kind", bound=SavedAnalysis)
_LAZY = {field.name for field in fields(Analysis)}


def _split(analysis: SavedAnalysis) -> Callable[[], pd.DataFrame]:
    return lambda: analysis.__dict__["_file"].frame("kernels_by_path")


def load(path: Path, kind: type[_Kind], name: str | None = None) -> _Kind:
    """Read a saved analysis.

    Args:
        name: What the file is called that it stands for; None: as it was when it was saved.

    Raises:
        InputError: It cannot be read.
    """
    file = SavedFile(path)
    about = file.about
    analysis = object.__new__(kind)
    try:
        observed = dict(about["observed"])
        unattributed = tuple(Unattributed(**each) for each in observed.pop("unattributed"))
        wrong = tuple(InvalidValues(**each) for each in observed.pop("wrong"))
        known = Observed(
            **observed, unattributed=unattributed, wrong=wrong, **{name: file.frame(name) for name in OBSERVED}
        )
        values = {
            "recording": _recording(about["recording"], name),
            "window": str(about["window"]),
            "tensor_source": str(about["tensor_source"]),
            "iterations_active": {int(gpu): float(value) for gpu, value in about["iterations_active"].items()},
            "options": dict(about["options"]),
            "observed": known,
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a saved analysis that can be read: {error}.", _AGAIN) from error
    analysis.__dict__.update(values, _file=file)
    return analysis


def _recording(about: Mapping[str, Any], name: str | None) -> Recording:
    known = {**about, "identity": Identity.from_facts(dict(about["identity"]))}
    return Recording(**(known if name is None else {**known, "file": name}))
