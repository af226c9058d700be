"""Reducing many recordings to their ranks, each where it lies, over any executor of ``concurrent.futures``."""

import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

from tcprof.errors import INSTALL_EXTRA, InputError, TcprofError, UsageError
from tcprof.identity import Identity, Rank
from tcprof.nsys.report import REPORT_SUFFIXES
from tcprof.ranks.job import Failure, explain_unknown_ranks
from tcprof.ranks.reduce import ReducedRank, reduce_file
from tcprof.saved.reading import SavedFile
from tcprof.sources.kineto import KINETO, may_know_rank
from tcprof.sources.registry import explain_folder, find_recordings, find_type, is_folder, list_folder
from tcprof.sources.saved import SAVED

_KILLED = "KilledWorker"  # what Dask raises, which is no dependency
_DIED = "The worker reading it died, perhaps out of memory; a second one, with only this file, died too."
_NAMED = re.compile(r"(?i)rank[\W_]*(\d{1,6})(?!\d)")
_Outcome: TypeAlias = "list[ReducedRank] | BaseException"


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Find the recordings of files, and of folders with those of a job, in subfolders too."""
    files: list[Path] = []
    for path in paths:
        if not is_folder(path):
            files += find_recordings(path)
            continue
        files_below = [file for folder in _list_folders(path) for file in list_folder(folder)]
        if not files_below:
            raise explain_folder(path)
        files += files_below
    return list(dict.fromkeys(files))


def check_ranks(files: Iterable[Path]) -> None:
    """Make sure, before any is analyzed, that recordings or else their names say which ranks they are of."""
    listed = list(files)
    unread = [file for file in listed if file.suffix in REPORT_SUFFIXES or file.is_dir()][
        1:
    ]  # the first stands for all
    unknown = [file.name for file in listed if file not in unread and not _may_know_rank(file)]
    if len(listed) > 1 and not all(map(_NAMED.search, unknown)):  # a single one may be of several ranks: reading tells
        raise explain_unknown_ranks(unknown)


def _may_know_rank(file: Path) -> bool:
    """Tell whether a recording knows its ranks, or cannot be read, which is reported later."""
    with suppress(TcprofError):
        source_type = find_type(file)
        if source_type is SAVED:
            return bool(Identity.from_facts(SavedFile(file).about["recording"]["identity"]).ranks)
        if source_type is KINETO:
            return may_know_rank(file)
        return bool(source_type.open(source_type.find(file)).recording().identity.ranks)
    return True


def _list_folders(root: Path) -> Iterator[Path]:
    """List a folder and those in it, but no recordings, and no hidden ones such as that of a project's store."""
    yield root
    for top, folders, _ in os.walk(root):
        folders[:] = sorted(name for name in folders if name[0] != "." and is_folder(Path(top, name)))
        yield from (Path(top, name) for name in folders)


def gather(
    files: Sequence[Path],
    start: Callable[[], Executor],
    at_once: int,
    rank_from: str | None = None,
    on_done: Callable[[int], object] = lambda done: None,
) -> tuple[list[ReducedRank], list[Failure]]:
    """Reduce recordings, to at most a megabyte each, wherever the executor's workers are; paths are the workers'.

    Args:
        start: Gives the executor, and another one after its workers died.
        at_once: How many recordings the executor is given at a time: no more are lost with a worker.
        rank_from: A regular expression whose first group in a file's name is the rank, for recordings that do not say;
            by default a number after ``rank``.
        on_done: Called after each recording with how many are done.

    Returns:
        The ranks in order of the files, and the recordings that gave none, with the reason.

    Raises:
        UsageError: ``rank_from`` is no regular expression with a group.
    """
    pattern = _compile(rank_from)
    outcomes: dict[Path, _Outcome] = {}
    for file, outcome in _run(files, start, at_once):
        outcomes[file] = outcome
        on_done(len(outcomes))
    ranks = [rank for file in files if isinstance(reduced := outcomes[file], list) for rank in reduced]
    failures = [
        Failure(file.name, _reason(outcome)) for file in files if isinstance(outcome := outcomes[file], BaseException)
    ]
    empty = [
        Failure(file.name, "It has fewer than five steps on every GPU: mark the steps, or record more of them.")
        for file in files
        if outcomes[file] == []
    ]
    return [_with_rank(rank, pattern, len(files)) for rank in ranks], [*failures, *empty]


def _run(files: Sequence[Path], start: Callable[[], Executor], at_once: int) -> Generator[tuple[Path, _Outcome]]:
    """Reduce each file; yields them as they are done, with what became of them."""
    left, suspects = deque(files), list[Path]()
    while left:
        suspects += yield from _run_until_lost(left, start, at_once)
    for file in suspects:  # one at a time: which of several ends its worker could not be known
        if (yield from _run_until_lost(deque([file]), start, 1)):
            yield file, InputError(_DIED)


def _run_until_lost(
    left: deque[Path], start: Callable[[], Executor], at_once: int
) -> Generator[tuple[Path, _Outcome], None, list[Path]]:
    """Take files from ``left`` until a worker is lost; returns those that were given to workers then."""
    running: dict[Future[list[ReducedRank]], Path] = {}
    with start() as executor:
        while left or running:
            while left and len(running) < at_once:
                try:
                    running[executor.submit(reduce_file, str(left[0]))] = left[0]
                except BrokenExecutor:
                    return [*running.values()]
                left.popleft()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                error = future.exception()
                if isinstance(error, BrokenExecutor) or type(error).__name__ == _KILLED:
                    return [*running.values()]
                yield running.pop(future), error or future.result()
    return []


def _reason(error: BaseException) -> str:
    if isinstance(error, TcprofError):
        end = "" if error.message.endswith((".", "!", "?")) else "."
        return f"{error.message}{end} {error.hint}".strip()
    return f"{type(error).__name__}: {error}"


def _compile(rank_from: str | None) -> re.Pattern[str]:
    if rank_from is None:
        return _NAMED
    try:
        pattern = re.compile(rank_from)
    except re.error as error:
        raise UsageError(f"--rank-from {rank_from!r} is not a regular expression: {error}.") from error
    if pattern.groups < 1:
        raise UsageError(f"--rank-from {rank_from!r} has no group.", r"Put the rank in one: 'rank(\d+)'.")
    return pattern


def _with_rank(reduced: ReducedRank, pattern: re.Pattern[str], files: int) -> ReducedRank:
    """Add the rank from the file's name, where the recording does not say."""
    match = pattern.search(reduced.file) if reduced.rank is None else None
    if match is None or not match[1].isdecimal():
        return reduced
    rank = int(match[1])
    return replace(reduced, rank=Rank(rank, max(files, rank + 1)), rank_from="its name")


LOCAL = "local"  # an address: a cluster of this machine


def start_processes(jobs: int) -> Callable[[], Executor]:
    """Start processes anew, so that none copies the caller's threads; one job stays in this process."""
    if jobs == 1:
        return lambda: ThreadPoolExecutor(1)
    return lambda: ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def connect_dask(address: str) -> tuple[Callable[[], Executor], int]:
    """Connect to a Dask cluster by address, scheduler file or local; return how to get an executor, and its threads."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("Dask is not installed.", f"{INSTALL_EXTRA.format('dask')}.") from error
    where = {} if address == LOCAL else {"scheduler_file" if Path(address).is_file() else "address": address}
    try:
        client = Client(**where)
    except (OSError, ValueError) as error:
        raise UsageError(f"No Dask scheduler answers at {address}: {error}.", "Check the address.") from error
    return client.get_executor, max(1, sum(client.nthreads().values()))
