"""A store of runs: what is added stays as it is; a recording that is there already is not added again."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Connection, Select, delete, exists, insert, select

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Marks, is_same_recording
from tcprof.errors import UsageError
from tcprof.files import temporary_folder
from tcprof.frames import ACCEPTED, HISTORY_RUNS, POINTS, SERIES, Schema
from tcprof.history import database
from tcprof.history.database import StoreDatabase, find_url
from tcprof.history.run import METRICS, NO_FACTS, Facts, clean, describe_run, fingerprint_of, list_points, now, signed
from tcprof.saved import save

_FIRST_MARKS = 16  # of each run: of copies, which share most marks, at least one is among both's
_AT_ONCE = 500  # values that one statement names
_FACTS = ("metric", "scope", "subject", "unit", "fingerprint", "gpu")  # of a series


@dataclass(frozen=True)
class Added:
    """What became of a recording that was added."""

    run_id: int
    is_new: bool  # whether it was not in the store
    notes: tuple[str, ...] = ()


class Store:
    """Runs, their series and points; see ``open_store``."""

    def __init__(self, opened: StoreDatabase) -> None:
        self._database = opened
        self.name = opened.name  # where it is, without a password

    def add(self, analyses: Iterable[Analysis], facts: Facts = NO_FACTS, *, keep: bool = False) -> list[Added]:
        """Add runs, each in its own transaction, with saved analyses if ``keep``; UsageError for an unknown program."""
        return [self._add(analysis, facts, keep) for analysis in analyses]

    def _add(self, analysis: Analysis, facts: Facts, keep: bool) -> Added:
        run, marks = describe_run(analysis, facts), analysis.fingerprint
        points, fingerprint = list_points(analysis), fingerprint_of(run)
        saved = _save(analysis) if keep else None
        with self._database.write() as connection:
            copy_id = _find_copy(connection, run["content"], marks)
            run_id = _insert(connection, database.RUN, run) if copy_id is None else copy_id
            notes: list[str] = []
            if copy_id is None:
                first = [{"mark": mark, "run_id": run_id} for mark in signed(marks)[:_FIRST_MARKS].tolist()]
                if first:
                    connection.execute(insert(database.MARK), first)
                notes = _add_points(connection, points, fingerprint, run_id)
            if saved and not connection.scalar(select(exists().where(database.BLOB.c.run_id == run_id))):
                connection.execute(insert(database.BLOB), {"run_id": run_id, "saved": saved})
        return Added(run_id, copy_id is None, tuple(notes))

    def runs(self, branch: str | None = None) -> pd.DataFrame:
        """Read the runs of a branch, or all, in order of time: ``tcprof.frames.HISTORY_RUNS``."""
        run = database.RUN
        kept = exists().where(database.BLOB.c.run_id == run.c.run_id).label("kept")
        query = select(*(column for column in run.c if column.name != "marks"), kept)
        frame = self._frame(query if branch is None else query.where(run.c.branch == branch))
        return _conform(HISTORY_RUNS, frame.assign(ordered_utc=_order(frame)), ["ordered_utc", "run_id"])

    def series(self) -> pd.DataFrame:
        """Read all series: ``tcprof.frames.SERIES``."""
        table = database.SERIES
        query = select(*(column for column in table.c if column.name != "key"))
        return _conform(SERIES, self._frame(query), ["series_id"])

    def points(self, series_ids: Iterable[int] | None = None, run_ids: Iterable[int] | None = None) -> pd.DataFrame:
        """Read ``tcprof.frames.POINTS`` of some series and runs, or of all, each series' in the order of ``runs``."""
        query, among = select(database.POINT), None if run_ids is None else sorted(map(int, run_ids))
        if among:  # those between are few where runs are added in the order of their times
            query = query.where(database.POINT.c.run_id.between(among[0], among[-1]))
        if series_ids is None:
            frame = self._frame(query)
        else:
            numbers = map(int, series_ids)  # SQLite finds none of numpy's
            parts = [query.where(database.POINT.c.series_id.in_(some)) for some in _split(numbers)]
            frame = pd.concat([POINTS.empty(), *map(self._frame, parts)])
        frame = frame if among is None else frame[frame["run_id"].isin(among)]
        run = database.RUN.c
        runs = self._frame(select(run.run_id, run.commit_utc, run.recorded_utc, run.added_utc))
        runs = runs.assign(order=_order(runs)).sort_values(["order", "run_id"], kind="stable")["run_id"]
        order = pd.Series(range(len(runs)), runs)
        return _conform(POINTS, frame.assign(order=frame["run_id"].map(order)), ["series_id", "order"])

    def accept(self, commit: str, why: str) -> None:
        """Store that the change that came with a commit is intended: the new level is the baseline."""
        row = {"commit": clean(commit), "why": clean(why), "added_utc": now()}
        with self._database.write() as connection:
            connection.execute(insert(database.ACCEPTED), row)

    def accepted(self) -> pd.DataFrame:
        """Read the accepted commits, in that order: ``tcprof.frames.ACCEPTED``."""
        return _conform(ACCEPTED, self._frame(select(database.ACCEPTED)), ["accepted_id"])

    def blob(self, run_id: int) -> bytes | None:
        """Read the saved analysis of a run; None where it was not kept."""
        with self._database.read() as connection:
            query = select(database.BLOB.c.saved).where(database.BLOB.c.run_id == run_id)
            saved: bytes | None = connection.scalar(query)
        return saved

    def remove(self, run_id: int) -> None:
        """Take a run out with its points and saved analysis, and series that it leaves empty; UsageError for none."""
        with self._database.write() as connection:
            for table in (database.POINT, database.MARK, database.BLOB):
                connection.execute(delete(table).where(table.c.run_id == run_id))
            if not connection.execute(delete(database.RUN).where(database.RUN.c.run_id == run_id)).rowcount:
                raise UsageError(f"The store has no run {run_id}.", "'tcprof history list' lists them.")
            used = exists().where(database.POINT.c.series_id == database.SERIES.c.series_id)
            connection.execute(delete(database.SERIES).where(~used))

    def _frame(self, query: Select[Any]) -> pd.DataFrame:
        with self._database.read() as connection:
            result = connection.execute(query)
            assert result.cursor is not None  # whose rows are those of a result, in half the time
            names, columns = list(result.keys()), list(zip(*result.cursor.fetchall(), strict=True))
        return pd.DataFrame(dict(zip(names, columns, strict=True)) if columns else {name: [] for name in names})


def open_store(url: str | None = None, *, create: bool = True) -> Store:
    """Open the store at an SQLAlchemy URL; None: ``TCPROF_STORE``, else ``.tcprof/history.db`` of the project.

    Where there is none, it is made with ``create``, else NoRunError. InputError: it is no store, or a newer tcprof's;
    OutputError: it cannot be reached; UsageError: the URL is of no database that tcprof uses.
    """
    return Store(StoreDatabase(find_url(url), create=create))


def _order(runs: pd.DataFrame) -> "pd.Series[str]":
    """Return the times that order runs: no commit is later than when it was added, whatever its clock says."""
    first = runs["commit_utc"].where(runs["commit_utc"] != "", runs["recorded_utc"])
    return first.where((first != "") & (first < runs["added_utc"]), runs["added_utc"])


def _find_copy(connection: Connection, content: str, marks: Marks) -> int | None:
    """Find the run of the same recording, or of a redacted or shortened copy of it."""
    run = database.RUN
    same_content: int | None = connection.scalar(select(run.c.run_id).where(run.c.content == content))
    if same_content is not None:
        return same_content
    like = select(database.MARK.c.run_id).where(database.MARK.c.mark.in_(signed(marks)[:_FIRST_MARKS].tolist()))
    for run_id, stored in connection.execute(select(run.c.run_id, run.c.marks).where(run.c.run_id.in_(like))):
        if is_same_recording(np.frombuffer(stored, dtype="<u8"), marks):
            return int(run_id)
    return None


def _add_points(connection: Connection, points: pd.DataFrame, fingerprint: str, run_id: int) -> list[str]:
    """Add the points of a run, and the series that are new; returns what its user must know."""
    notes, table = [], database.SERIES
    rows = [{**row, "subject": clean(row["subject"]), "fingerprint": fingerprint} for row in points.to_dict("records")]
    facts = [[*(row[name] for name in _FACTS[:-1]), int(row["gpu"])] for row in rows]  # which identify a series
    keys = [hashlib.sha256(json.dumps(of_row).encode()).hexdigest() for of_row in facts]
    keyed = dict(zip(keys, rows, strict=True))
    series_ids = _find_series(connection, keyed)
    new = [{"key": key, **{name: row[name] for name in _FACTS}} for key, row in keyed.items() if key not in series_ids]
    for row in new:
        same = [table.c[name] == row[name] for name in _FACTS if name != "unit"]
        if other := connection.scalar(select(table.c.unit).where(*same)):
            title = METRICS[row["metric"]].title
            notes.append(
                f"The unit of {title} of {row['subject']} changed from {other} to {row['unit']}: a new series begins."
            )
    if new:
        connection.execute(insert(table), new)
        series_ids |= _find_series(connection, [row["key"] for row in new])
    point_rows = [
        {"series_id": series_ids[key], "run_id": run_id, "n": int(row["n"]), "value": float(row["value"]),
         **{end: None if np.isnan(row[end]) else float(row[end]) for end in ("low", "high")}}
        for key, row in keyed.items()
    ]  # fmt: skip
    if point_rows:
        connection.execute(insert(database.POINT), point_rows)
    return notes


def _find_series(connection: Connection, keys: Iterable[str]) -> dict[str, int]:
    table = database.SERIES
    series_ids: dict[str, int] = {}
    for part in _split(keys):
        query = select(table.c.key, table.c.series_id).where(table.c.key.in_(part))
        series_ids |= {row.key: row.series_id for row in connection.execute(query)}
    return series_ids


def _insert(connection: Connection, table: Any, row: Mapping[str, Any]) -> int:
    """Insert a row; returns the number that it got."""
    key = connection.execute(insert(table), dict(row)).inserted_primary_key
    assert key is not None  # it is that of a single row
    return int(key[0])


def _conform(schema: Schema, frame: pd.DataFrame, order: list[str]) -> pd.DataFrame:
    ordered = frame.sort_values(order, kind="stable")
    return schema.conform(
        ordered.astype({column.name: column.dtype for column in schema.columns if column.name in ordered})
    )


def _split(values: Iterable[Any]) -> Iterable[list[Any]]:
    listed = list(values)
    return (listed[low : low + _AT_ONCE] for low in range(0, len(listed), _AT_ONCE))


def _save(analysis: Analysis) -> bytes:
    with temporary_folder() as folder:
        path = Path(folder) / "saved"
        save(analysis, path)
        return path.read_bytes()
