"""Many recordings that are read at once, with their frames in one."""

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd

from tcprof.api.reading import JudgedAnalysis, read
from tcprof.errors import InputError, TcprofError
from tcprof.files import SAVED_SUFFIX
from tcprof.saved.contents import TABLES, frame_of
from tcprof.sources.registry import choose_recordings, find_recordings

_Path: TypeAlias = str | PathLike[str]
_Outcome: TypeAlias = JudgedAnalysis | TcprofError
_GUARD = "In a script, call tcprof.read_many below if __name__ == '__main__'; jobs=1 needs the least memory."


class Runs(Mapping[str, JudgedAnalysis]):
    """Analyses by the name of their run. Each frame of ``Analysis`` is one of all of them, with a first column ``run``.

    Columns that are rows of another frame, such as ``path_id``, are rows of that of the same run.
    """

    def __init__(self, analyses: Mapping[str, JudgedAnalysis], failures: pd.DataFrame) -> None:
        self._analyses = analyses
        self.failures = failures  # what could not be read: its run, file and error

    def __getitem__(self, run: str) -> JudgedAnalysis:
        return self._analyses[run]

    def __iter__(self) -> Iterator[str]:
        return iter(self._analyses)

    def __len__(self) -> int:
        return len(self._analyses)

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name not in TABLES:
            raise AttributeError(name)
        frames = {run: frame_of(analysis, name) for run, analysis in self.items()}
        frame = TABLES[name].concat(frames.values())
        frame.insert(0, "run", [run for run, each in frames.items() for _ in range(len(each))])
        return frame

    def __dir__(self) -> list[str]:
        return sorted({"failures", "items", "keys", "values", *TABLES})

    def __repr__(self) -> str:
        lines = [f"{run}: {' '.join(analysis.verdict)}" for run, analysis in self.items()]
        lines += [f"{each.run}: {each.error}" for each in self.failures.itertuples()]
        return "\n".join(lines)


def read_many(
    recordings: _Path | Iterable[_Path],
    *,
    failures: Literal["raise", "keep"] = "raise",
    jobs: int | None = None,
    **options: Any,
) -> Runs:
    """Read and analyze many recordings, several at once in processes of their own; saved analyses need none.

    Args:
        recordings: Files, folders of recordings, or patterns such as ``runs/*.tcprof``; one or several.
        failures: Whether a recording that cannot be read raises its error, or is a row of ``Runs.failures``.
        jobs: How many are read at once; None: as many as there are CPU cores.
        options: Those of ``tcprof.read``.

    Returns:
        The analyses by the names of their files, with the folder's where two are alike, in the order given.

    Raises:
        InputError: Nothing matches a pattern; or a file cannot be read, which the message names.
        UsageError: As ``tcprof.read`` does.
    """
    given = [recordings] if isinstance(recordings, str | PathLike) else recordings
    files = _name_runs([file for each in given for file in _find(each)])
    analyses: dict[str, JudgedAnalysis] = {}
    failed = []
    for run, outcome in _read_all(files, jobs or os.cpu_count() or 1, options):
        if isinstance(outcome, JudgedAnalysis):
            analyses[run] = outcome
        elif failures == "raise":
            raise outcome
        else:
            failed.append((run, str(files[run]), str(outcome)))
    return Runs(analyses, pd.DataFrame(failed, columns=["run", "file", "error"]))


def _find(given: _Path) -> list[Path]:
    text = os.fspath(given)
    if not glob.has_magic(text) or os.path.lexists(text):
        return find_recordings(Path(text))
    found = [Path(file) for file in glob.glob(text, recursive=True)]  # noqa: PTH207 - which takes no whole paths
    if not found:
        raise InputError(f"No file matches {text}.", f"tcprof looked in {Path.cwd()}.")
    return choose_recordings(found) or found


def _name_runs(files: Iterable[Path]) -> dict[str, Path]:
    """Each file once, by its name without the suffix; with its folder's where two are alike, or all of its path."""
    whole = {Path(os.path.realpath(file)): file for file in files}
    for name in (lambda path: path.stem, lambda path: f"{path.parent.name}/{path.stem}", str):
        count = Counter(map(name, whole))
        if max(count.values(), default=0) <= 1:
            break
    return {name(path): file for path, file in whole.items()}


def _read_all(files: Mapping[str, Path], jobs: int, options: Mapping[str, Any]) -> Iterator[tuple[str, _Outcome]]:
    """Each run with what became of it, in order."""
    apart = [run for run, file in files.items() if file.suffix != SAVED_SUFFIX]
    if min(jobs, len(apart)) <= 1:
        for run, file in files.items():
            yield run, _read_one(file, options)
        return
    with _start(min(jobs, len(apart))) as pool:
        futures = {run: pool.submit(_read_one, files[run], options) for run in apart}
        for run, file in files.items():
            yield run, _wait(futures[run], file, options) if run in futures else _read_one(file, options)


def _wait(future: "Future[_Outcome]", file: Path, options: Mapping[str, Any]) -> _Outcome:
    """What came of a file; one whose process was ended, maybe by that of another, is read once more alone."""
    try:
        return future.result()
    except BrokenExecutor:
        pass
    try:
        with _start(1) as pool:
            return pool.submit(_read_one, file, options).result()
    except BrokenExecutor:
        return InputError(f"{file} was not read: its process was killed, perhaps for lack of memory.", _GUARD)


def _start(jobs: int) -> ProcessPoolExecutor:
    """Processes that begin anew: none copies threads of the caller's."""
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def _read_one(file: Path, options: Mapping[str, Any]) -> _Outcome:
    try:
        return read(file, **options)
    except TcprofError as error:
        return error
