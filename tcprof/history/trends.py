"""The trends of a store's series: where the figures of one program changed, and what changed with them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.errors import InputError, TcprofError, UsageError
from tcprof.files import SAVED_SUFFIX, temporary_folder
from tcprof.history.change_points import FALSE_ALARMS, Change, Trend, find_trends
from tcprof.history.run import METRICS, SPLITTING, STEP, current_branch
from tcprof.history.store import Store
from tcprof.saved.reading import load

MOST_RUNS = 1000  # the newest that are looked at
MOST_KEPT = 3  # saved analyses on each side of a step that are compared
# What a run may have that its program does not determine.
CIRCUMSTANCES = ("driver_version", "cuda_version", "torch_version", "tcprof_version")
_CLOCK_DIFFERS = 0.01
_SHORTEST_COMMIT = 4
_MAIN = ("main", "master")


@dataclass(frozen=True)
class SeriesTrend:
    """A series of one program, and its levels."""

    series: "pd.Series[object]"  # a row of ``tcprof.frames.SERIES``
    # A row for each point, in order of time: value, low, high, n, the columns of ``tcprof.frames.HISTORY_RUNS``, and
    # place, the position among all runs that were looked at.
    points: pd.DataFrame
    trend: Trend

    @property
    def visible_changes(self) -> tuple[Change, ...]:
        """Return the changes, without accepted commits at which this series does not change."""
        return tuple(step for step in self.trend.changes if not step.accepted or step.p_value <= FALSE_ALARMS)

    def around(self, change: Change) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the points of the levels before and after a step."""
        borders = [0, *(other.index for other in self.trend.changes), len(self.points)]
        number = borders.index(change.index, 1)
        return self.points[borders[number - 1] : change.index], self.points[change.index : borders[number + 1]]


def read_trends(
    store: Store, branch: str | None = None, program: str | None = None, metrics: Sequence[str] = ()
) -> list[SeriesTrend]:
    """Find the trends of the series that the newest run of a branch and program is in, those of steps first.

    All are tested together before ``metrics`` are chosen. The branch is the one that is checked out, else main or
    master, else that of most runs; UsageError where there is no such branch, program or metric.
    """
    if unknown := [metric for metric in metrics if metric not in METRICS]:
        raise UsageError(f"there is no metric {unknown[0]!r}", f"Metrics: {', '.join(METRICS)}.")
    joined = _join_points(store, _choose_runs(store, branch, program))
    accepted = set(store.accepted()["commit"])
    levels = find_trends(
        [
            (points["value"].to_numpy(), points["commit"].tolist(), _find_accepted(points, accepted))
            for _, points in joined
        ]
    )
    together = [SeriesTrend(*series, trend) for series, trend in zip(joined, levels, strict=True)]
    wanted = [trend for trend in together if not metrics or trend.series["metric"] in metrics]
    return sorted(wanted, key=_order)


def _order(trend: SeriesTrend) -> tuple[Any, ...]:
    scope, metric = trend.series["scope"], str(trend.series["metric"])
    return scope != STEP, scope, trend.series["gpu"], list(METRICS).index(metric)


def _choose_runs(store: Store, branch: str | None, program: str | None) -> pd.DataFrame:
    runs = store.runs()
    branch = _choose_branch(runs) if branch is None and len(runs) else branch
    runs = runs[runs["branch"] == branch] if branch is not None else runs
    if branch is not None and runs.empty:
        raise UsageError(f"The store has no run of the branch {branch!r}.", "'tcprof history list' lists the runs.")
    chosen = runs if program is None else runs[runs["program"] == program]
    if program is not None and chosen.empty:
        programs = ", ".join(dict.fromkeys(runs["program"]))
        raise UsageError(f"The store has no run of the program {program!r}.", f"Programs: {programs}.")
    if chosen.empty:
        raise InputError(f"The store {store.name} is empty.", "Add a run: tcprof history add RECORDING")
    return chosen


def _choose_branch(runs: pd.DataFrame) -> str:
    counts = runs["branch"].value_counts()
    usual = [name for name in (current_branch(), *_MAIN) if name and name in counts.index]
    return usual[0] if usual else str(counts.index[0])


def _join_points(store: Store, runs: pd.DataFrame) -> list[tuple["pd.Series[object]", pd.DataFrame]]:
    newest = runs.iloc[-1]
    facts = {name: None if pd.isna(newest[name]) else newest[name] for name in SPLITTING}
    series = store.series()
    like = {text for text in series["fingerprint"].unique() if json.loads(text) == facts}
    series = series[series["fingerprint"].isin(like)]
    placed = runs.tail(MOST_RUNS).reset_index(drop=True).rename_axis("place").reset_index()
    joined = placed.merge(store.points(series["series_id"], placed["run_id"]), on="run_id")
    of_series = {number: rows.reset_index(drop=True) for number, rows in joined.groupby("series_id")}
    current = joined.loc[joined["run_id"] == newest["run_id"], "series_id"]
    return [(row, of_series[row["series_id"]]) for _, row in series.iterrows() if row["series_id"] in set(current)]


def _find_accepted(points: pd.DataFrame, accepted: set[str]) -> list[int]:
    """Find where the levels begin that came with accepted commits."""
    is_first = points["commit"].isin(accepted) & (points["commit"] != points["commit"].shift())
    return [index for index in points.index[is_first] if index]


def find_commit(store: Store, name: str) -> str:
    """Find a commit of a store's runs by its whole name, or how it begins."""
    commits = [commit for commit in dict.fromkeys(store.runs()["commit"]) if commit]
    matches = [commit for commit in commits if commit == name] or [
        commit for commit in commits if len(name) >= _SHORTEST_COMMIT and commit.startswith(name)
    ]
    if len(matches) != 1:
        what = f"runs of {len(matches)} commits that begin with" if matches else "no run of a commit that begins with"
        raise UsageError(f"The store has {what} {name!r}.", "'tcprof history list' lists the commits.")
    return str(matches[0])


def find_circumstances(before: pd.DataFrame, after: pd.DataFrame) -> list[tuple[str, str, str]]:
    """List what else changed from the last run before a step to the first one after it: column, from, to."""
    last, first = before.iloc[-1], after.iloc[0]
    changed = [
        (name, str(last[name]), str(first[name]))
        for name in CIRCUMSTANCES
        if last[name] and first[name] and last[name] != first[name]
    ]
    clocks = before["clock_hz"].median(), after["clock_hz"].median()
    if abs(clocks[1] / clocks[0] - 1) > _CLOCK_DIFFERS:  # not where either is unknown
        changed.append(("clock_hz", units.format_hz(clocks[0]), units.format_hz(clocks[1])))
    return changed


def explain_step(store: Store, before: pd.DataFrame, after: pd.DataFrame) -> tuple[str, ...]:
    """Compare the saved analyses on both sides; empty where a side has none that can be read."""
    from tcprof.comparison import Side, compare  # here, since most trends have no step to explain
    from tcprof.findings.compared import judge_comparison

    kept = [before[before["kept"]].tail(MOST_KEPT), after[after["kept"]].head(MOST_KEPT)]
    if kept[0].empty or kept[1].empty:
        return ()
    with temporary_folder() as folder:
        base, new = (
            Side(name, tuple(load_run(store, int(number), folder) for number in rows["run_id"]))
            for name, rows in zip(("before", "after"), kept, strict=True)
        )
        try:
            return judge_comparison(compare(base, new)).verdict
        except TcprofError as error:
            return (f"The saved analyses cannot be compared: {error.message}",)


def load_run(store: Store, run_id: int, folder: Path) -> Analysis:
    """Load the saved analysis of a run that is kept; its frames are read from the folder when they are needed."""
    path = folder / f"run-{run_id}{SAVED_SUFFIX}"
    path.write_bytes(store.blob(run_id) or b"")
    return load(path)
