"""Runs of a store by name, wherever a recording is given: ``main@latest``, ``main@-5..``, ``commit:4f2a``."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tcprof.errors import InputError, NoRunError
from tcprof.files import SAVED_SUFFIX
from tcprof.untrusted import one_line

if TYPE_CHECKING:  # every command that takes a recording asks whether it is the name of a run
    import pandas as pd

    from tcprof.history.store import Store

_OF_BRANCH = re.compile(r"(?P<branch>.+)@(?:latest|-(?P<back>[1-9]\d{0,6})(?P<on>\.\.)?)(?::(?P<program>.+))?")
_OF_COMMIT = re.compile(r"commit:(?P<commit>[0-9a-fA-F]{4,64})(?::(?P<program>.+))?")
_LISTED = 8


def is_run_reference(path: Path) -> bool:
    """Tell whether a name means runs; a file or a folder of that name goes first."""
    text = str(path)
    return bool(_OF_BRANCH.fullmatch(text) or _OF_COMMIT.fullmatch(text)) and not path.exists()


def find_runs(store: "Store", name: str) -> "pd.DataFrame":
    """Find the runs that a name means, oldest first: ``tcprof.frames.HISTORY_RUNS``.

    ``BRANCH@latest`` and ``BRANCH@-N`` mean one run, ``BRANCH@-N..`` that one and those after it, of the same facts
    that split series. ``commit:HASH`` means all runs of a commit, by the first digits of its hash.
    """
    from tcprof.history.run import SPLITTING

    if match := _OF_COMMIT.fullmatch(name):
        return _of_one_program(_of_commit(store, match["commit"]), name, match["program"])
    match = _OF_BRANCH.fullmatch(name)
    assert match is not None  # see ``is_run_reference``
    runs = _of_one_program(_of_branch(store, match["branch"]), name, match["program"])
    facts = list(SPLITTING)
    alike = runs[facts].fillna(-1).eq(runs[facts].iloc[-1].fillna(-1)).all(axis=1)
    runs, back = runs[alike], int(match.group("back") or 1)
    if back > len(runs) and not match["on"]:
        raise InputError(f"{name}: {match['branch']} has {len(runs)} such runs.", "Give a smaller number.")
    return runs.iloc[-back:] if match["on"] else runs.iloc[-back : len(runs) - back + 1]


def write_runs(store: "Store", name: str, folder: Path) -> Path:
    """Write the saved analyses of runs; returns the file, or of several their folder, called after their name."""
    runs, called = find_runs(store, name), name.replace("/", "-")
    target = folder / called
    if len(runs) > 1:
        target.mkdir()
    for run_id in runs["run_id"].tolist():
        saved = store.blob(run_id)
        if saved is None:
            raise InputError(
                f"{store.name} has the figures of run {run_id} ({name}), but not its analysis.",
                "Add its recording again, and keep it: tcprof history add RECORDING --keep",
            )
        file = target / f"run-{run_id}{SAVED_SUFFIX}" if len(runs) > 1 else folder / f"{called}{SAVED_SUFFIX}"
        file.write_bytes(saved)
        target = target if len(runs) > 1 else file
    return target


def _of_commit(store: "Store", commit: str) -> "pd.DataFrame":
    runs = store.runs()
    runs = runs[runs["commit"].str.startswith(commit.lower())]
    if runs.empty:
        raise InputError(f"{store.name} has no run of commit {commit}.", "'tcprof history list' lists all.")
    if (commits := runs["commit"].unique()).size > 1:
        raise InputError(f"{commit} is ambiguous: {len(commits)} commits begin with it.", "Give more digits.")
    return runs


def _of_branch(store: "Store", branch: str) -> "pd.DataFrame":
    runs = store.runs()
    chosen = runs[runs["branch"] == branch]
    if chosen.empty:
        branches = [one_line(text, 40) for text in runs["branch"].unique()[:_LISTED] if text]
        hint = f"It has runs of {', '.join(branches)}. " if branches else ""
        raise NoRunError(
            f"{store.name} has no run of {one_line(branch, 80)} yet.",
            f"{hint}Add one: tcprof history add RECORDING --branch {one_line(branch, 80)} --keep",
        )
    return chosen


def _of_one_program(runs: "pd.DataFrame", name: str, program: str | None) -> "pd.DataFrame":
    programs = runs["program"].unique().tolist()
    if program is not None:
        runs = runs[runs["program"] == program]
    if runs["program"].nunique() != 1:
        listed = ", ".join(one_line(text, 40) for text in programs[:_LISTED])
        what = "has no such program" if program is not None else "has runs of several programs"
        raise InputError(
            f"{name} {what}: {listed}.", f"Name one of them, such as {name.partition(':')[0]}:{programs[0]}"
        )
    return runs
