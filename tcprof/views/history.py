"""What is said of a store: its runs, one of them with its figures, and what became of recordings that were added."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.frames import ACCEPTED, HISTORY_RUNS, POINTS, SERIES
from tcprof.history.run import METRICS, SPLITTING, STEP
from tcprof.untrusted import one_line
from tcprof.views.document import Document, FactList, Notes
from tcprof.views.paths import LEFT_OUT, WHOLE_CAPTURE
from tcprof.views.tables import Cell, Heading, Row, Table, sort_key

_HASH = 10  # digits of a commit that a table shows
_LONGEST, _WHOLE = 60, 2_000  # characters of a text
_LISTED = ("commit", "branch", "ordered_utc", "program", "gpu_name", "label", "config", "driver_version",
           "torch_version", "kept", "file")  # fmt: skip
_NO_RUNS = "The store has no such run."


def view_runs(runs: pd.DataFrame, limit: int) -> Document:
    """Show the newest runs, newest first; 0 for all."""
    newest = runs.iloc[::-1]
    listed = newest.head(limit) if limit else newest
    columns = [HISTORY_RUNS[name] for name in _LISTED if name == "commit" or (runs[name].astype(str) != "").any()]
    headings = tuple(Heading.of(column, words=True, spare=place) for place, column in enumerate(columns))
    rows = tuple(
        Row(str(row["run_id"]), tuple(Cell.word(_write(column.name, row[column.name])) for column in columns))
        for row in listed.to_dict("records")
    )
    hidden = len(newest) - len(listed)
    more = LEFT_OUT.format(command="history list --limit 0")
    title = "Runs, newest first"
    table = Table("runs", title, "Run", headings, rows, hidden=hidden, more=more, caption=title, search="a run")
    return Document("history", (table,), data={"runs": runs}, rows=runs, if_empty=_NO_RUNS)


def view_run(run: "pd.Series[object]", series: pd.DataFrame, points: pd.DataFrame) -> Document:
    """Show what is known of a run, and its figures."""
    run_facts = {name: None if value == "" or pd.isna(value) else value for name, value in run.items()}
    facts = tuple(
        (column.title, False, ((_write(column.name, run_facts[column.name], _WHOLE),),))
        for column in HISTORY_RUNS.columns
        if column.name != "content" and run_facts[column.name] is not None
    )
    figures = points.merge(series.drop(columns="fingerprint"), on="series_id", validate="many_to_one")
    figures = _put_steps_first(figures)
    headings = (
        Heading("Figure", words=True),
        Heading("Value", after=("95 % interval",), columns=("value", "low", "high")),
        Heading.of(POINTS["n"], title="Over", spare=1),
        Heading.of(SERIES["scope"], title="Of", spare=2),
    )
    rows = tuple(_row(row, figures["gpu"].nunique() > 1) for row in figures.to_dict("records"))
    table = Table("figures", "Figures", "Part", headings, rows)
    data = {"run": run_facts, "figures": figures}
    return Document("history", (FactList(facts), table), data=data, rows=figures, if_empty="The run has no figures.")


def _put_steps_first(figures: pd.DataFrame) -> pd.DataFrame:
    """Put figures of the steps before others, the step time first, and of several kinds the most frequent."""
    order = {name: place for place, name in enumerate(METRICS)}
    rank = figures["metric"].map(order).where(figures["scope"] == STEP).fillna(len(order))
    count = figures["n"].where(figures["scope"] == STEP, 0)
    by = pd.DataFrame({"rank": rank, "count": -count}).sort_values(["rank", "count"], kind="stable").index
    return figures.loc[by].reset_index(drop=True)


def _row(row: Mapping[Any, Any], several: bool) -> Row:
    """Make the row of a figure; its name has the GPU where there are several."""
    metric = METRICS.get(row["metric"])
    title, write = metric.title if metric else row["metric"], partial(units.format_value, unit=row["unit"])
    interval = units.format_interval(row["low"], row["high"], write) or units.UNKNOWN
    values = tuple(sort_key(row[name]) for name in ("value", "low", "high"))
    value = Cell(write(row["value"]), values[0], after=(interval,), values=values)
    name = one_line(row["subject"], _WHOLE) or WHOLE_CAPTURE
    cells = (Cell.word(title), value, Cell(str(row["n"]), str(row["n"])), Cell.word(row["scope"]))
    return Row(f"{name}, GPU {row['gpu']}" if several else name, cells)


def view_export(runs: pd.DataFrame, series: pd.DataFrame, points: pd.DataFrame, accepted: pd.DataFrame) -> Document:
    """Every point with its series and its run, in one table."""
    facts = [name for name in runs.columns if name not in (*SPLITTING, "content")]
    rows = points.merge(series, on="series_id").merge(runs[facts], on="run_id")
    parts = (Notes((f"{units.format_things(len(rows), 'point')} of {units.format_things(len(runs), 'run')}.",)),)
    data = {"runs": runs, "series": series, "points": points, ACCEPTED.name: accepted}
    return Document("history", parts, data=data, rows=rows, if_empty=_NO_RUNS)


def view_added(files: Sequence[str], added: Sequence[tuple[int, bool]], store: str) -> Document:
    """Show which runs recordings are in a store: new ones, or those that were there."""
    rows = pd.DataFrame({"file": files, "run_id": [run for run, _ in added], "is_new": [new for _, new in added]})
    count = int(rows["is_new"].sum())
    old_count = len(rows) - count
    lines = [f"{units.format_things(count, 'run')} added to {one_line(store)}."]
    if old_count:
        lines.append(f"{units.format_things(old_count, 'recording')} already in the store.")
    items = tuple(
        f"{one_line(row['file'], _LONGEST)} is run {row['run_id']}{'' if row['is_new'] else ', added before'}"
        for row in rows.to_dict("records")
    )
    return Document("history", (Notes(tuple(lines), items=items),), data={"store": store, "added": rows}, rows=rows)


def _write(name: str, value: object, longest: int = _LONGEST) -> str:
    """Write a fact of a run as text; of a commit and a time the first digits where space is scarce."""
    if name == "kept":
        return "yes" if value else "no"
    if isinstance(value, float):
        return HISTORY_RUNS[name].format(value)
    text = one_line(str(value), longest)
    if name == "ordered_utc" and longest < _WHOLE:
        return text.replace("T", " ").rpartition(":")[0]
    return text[:_HASH] if name == "commit" and longest < _WHOLE else text
