"""Reading a saved analysis: checked as any file that comes from elsewhere, and frame by frame as they are asked for."""

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Observed, Unattributed
from tcprof.errors import InputError
from tcprof.frames import plain_texts
from tcprof.frames.schema import FLOAT, Deferred
from tcprof.identity import Identity
from tcprof.saved.checks import find_nulls, find_unfit, find_unreadable, has_rows, is_consistent
from tcprof.saved.contents import FORMAT, FRAMES, JUDGED, OBSERVED, About
from tcprof.sources import InvalidValues, Recording
from tcprof.sources.saved import ABOUT
from tcprof.untrusted import one_line
from tcprof.version import __version__

MOST_ABOUT_BYTES = 1 << 24
_NO_ZIP = (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, RuntimeError)
_DISAGREES = "it contradicts the other parts"
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
                self._parts = archive.infolist()
                if len(_contents(self._parts)) < len(self._parts):
                    self._refuse("two of its parts share a name")
                if any(member.compress_type != zipfile.ZIP_STORED for member in self._parts):
                    self._refuse("its parts are compressed twice")
                if ABOUT not in archive.namelist() or archive.getinfo(ABOUT).file_size > MOST_ABOUT_BYTES:
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
            self._refuse(f"{unfit} is malformed")
        self.about: dict[str, Any] = about
        self._counts: dict[str, int] = {}
        self._columns: dict[tuple[str, str], npt.NDArray[Any]] = {}

    def analysis(self, name: str | None = None) -> Analysis:
        """Return the analysis, whose frames are read when they are asked for.

        Args:
            name: What the file is called that it stands for; None: as it was when it was saved.
        """
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
            with plain_texts():
                table = file.read(columns=schema.names, use_threads=False)
                wrong = find_nulls(table, schema)
                frame = schema.conform(table.to_pandas(use_threads=False)) if not wrong else schema.empty()
            wrong = wrong or schema.find_invalid(frame)
            wrong = wrong or ("" if is_consistent(name, frame, self) else _DISAGREES)
        except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
            raise self._damaged(f"{name}: {error}") from error
        if wrong:
            self._refuse(f"{name}: {wrong}")
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
                self._refuse(f"{name}: {wrong}")
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
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            content = self._read(f"{name}.parquet")
            file = pq.ParquetFile(io.BytesIO(content), pre_buffer=False)
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
