"""Trends: each figure's level and its steps, with the commits they came with and what else changed there, drawn too."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.arrays import Floats
from tcprof.frames import HISTORY_RUNS, Column
from tcprof.history.change_points import FEWEST, LEAST, Change
from tcprof.history.run import CAPTURE, METRICS, STEP
from tcprof.history.trends import SeriesTrend, find_circumstances
from tcprof.untrusted import one_line
from tcprof.views.document import VERDICT, Commands, Document, Figure, Medium, Notes, Only, Part, Section
from tcprof.views.figures import AXIS, PlotlyFigure, base_layout, label, unit_ticks
from tcprof.views.figures.circles import as_table
from tcprof.views.history import view_runs
from tcprof.views.paths import LEFT_OUT
from tcprof.views.tables import Cell, Heading, Row, Table

_RUNS_SHOWN = 100
_HOW = (
    "Points are runs, with their 95 % intervals within the run. Hover for the commit and the software it ran with.",
    "Lines are levels, drawn where there are enough runs; the last one's band is its 95 % interval. A diamond marks a "
    "change, a square a change that came with another driver, CUDA, torch, tcprof or clock. Violet and dashed: an "
    "accepted change.",
)
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 24
_SHORT_COMMIT = 10
_OF_SERIES = ["series_id", "metric", "scope", "subject", "gpu", "unit"]
_OF_POINTS = ["run_id", "ordered_utc", "commit", "value", "low", "high", "n"]
Step: TypeAlias = tuple[SeriesTrend, Change]
Explain = Callable[[pd.DataFrame, pd.DataFrame], tuple[str, ...]]


def view_trends(
    trends: Sequence[SeriesTrend],
    explain: Explain,  # what a comparison of the runs before and after a step says
    confirm: bool,  # whether to say what to record to confirm what is not sure
    limit: int | None,  # how many series to list, and to draw, those that changed first; None for all
    accepted: Mapping[str, str] = MappingProxyType({}),  # why the level of a commit is accepted
) -> Document:
    """Show what changed when, all levels, and what else changed with each change; on a page figures and runs."""
    steps = _join_steps(trends)
    sections = tuple(_view_step(place, joined, explain) for place, joined in enumerate(steps, 1))
    series, commands = _list_series(trends, limit), (_confirm(trends),) if confirm else ()
    parts: tuple[Part, ...] = (
        Notes(_verdict(trends, steps), VERDICT),
        Only(Medium.SCREEN, lambda: (series,)),
        Only(Medium.PAGE, lambda: (_draw(trends, limit, accepted),)),
        *sections,
        Only(Medium.SCREEN, lambda: commands),
        Only(
            Medium.PAGE,
            lambda: (
                Section("series", "All series", (series, *commands)),
                Section("runs", "Runs", view_runs(list_runs(trends), _RUNS_SHOWN).parts),
            ),
        ),
    )
    rows = list_rows(trends) if trends else pd.DataFrame()
    data = {"series": [_describe(trend) for trend in trends], "points": rows}
    title = f"Trend of {name_runs(trends)}" if trends else ""
    return Document("trend", parts, data=data, rows=rows, if_empty="The store has no such series.", title=title)


def _draw(trends: Sequence[SeriesTrend], limit: int | None, accepted: Mapping[str, str]) -> Section:
    figures = [
        Figure(f"trend-{number}", name_series(trend), partial(figure_trend, trend, accepted))
        for number, trend in enumerate(sort_trends(trends)[:limit], 1)
    ]
    return Section("trends", "Figures", (Notes(_HOW), *figures))


def list_runs(trends: Sequence[SeriesTrend]) -> pd.DataFrame:
    """List the runs that have a point in one of these series, in order of time."""
    runs = pd.concat([trend.points[["place", *HISTORY_RUNS.names]] for trend in trends]).drop_duplicates("run_id")
    return runs.sort_values("place", ignore_index=True)


def name_series(trend: SeriesTrend) -> str:
    """Name a series by what it is of and its figure: "step: Step time"."""
    series = trend.series
    title = METRICS[str(series["metric"])].title
    subject = one_line(str(series["subject"])) or str(series["scope"])
    place = subject if series["scope"] in (STEP, CAPTURE) else f"{series['scope']} {subject}"
    gpu = f" (GPU {series['gpu']})" if series["gpu"] else ""
    return f"{title}, {place}{gpu}"


def name_runs(trends: Sequence[SeriesTrend]) -> str:
    """Name what the runs of these series are of: "train.py on main"."""
    newest = trends[0].points.iloc[-1]
    branch = one_line(str(newest["branch"]))
    return f"{one_line(str(newest['program']))} {f'on {branch}' if branch else 'without a branch'}"


def name_run(run: pd.Series) -> str:
    """Name a run by its commit, or by its number, with its date."""
    commit = one_line(str(run["commit"]))[:_SHORT_COMMIT]
    return f"{commit or 'run ' + str(run['run_id'])} ({str(run['ordered_utc'])[:10]})"


def sort_trends(trends: Sequence[SeriesTrend]) -> list[SeriesTrend]:
    """Put those first that changed."""
    return sorted(trends, key=lambda trend: trend.trend.verdict not in ("changed", "unconfirmed"))


def draw_line(values: Floats) -> str:
    """Draw values as bars of eighths, their means where they are many."""
    parts = [part.mean() for part in np.array_split(values, min(len(values), _MOST_BARS))]
    low, high = min(parts), max(parts)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((part - low) * scale)] for part in parts)


def _join_steps(trends: Sequence[SeriesTrend]) -> list[list[Step]]:
    """Join steps that may be of one change, since noise moves the place of a step; the newest change first."""
    steps = sorted(((trend, change) for trend in trends for change in trend.visible_changes), key=_place)
    groups: list[list[Step]] = []
    for step in steps:
        if groups and _place(step) - _place(groups[-1][0]) < LEAST:
            groups[-1].append(step)
        else:
            groups.append([step])
    order = {int(trend.series["series_id"]): number for number, trend in enumerate(trends)}
    return [sorted(group, key=lambda step: order[int(step[0].series["series_id"])]) for group in reversed(groups)]


def find_sides(joined: list[Step]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Find the points before all of these steps, and after them, of the first one's levels."""
    before, after = joined[0][0].around(joined[0][1])
    places = [_place(step) for step in joined]
    earlier, later = before[before["place"] < min(places)], after[after["place"] >= max(places)]
    return (before if earlier.empty else earlier), (after if later.empty else later)


def _place(step: Step) -> int:
    return int(step[0].points["place"].iloc[step[1].index])


def tell(trend: SeriesTrend, change: Change) -> str:
    """Describe a step in a sentence."""
    column = METRICS[str(trend.series["metric"])]
    before, after = column.format(change.before), column.format(change.after)
    difference = change.after - change.before
    by = (
        units.format_points(difference)
        if column.unit == "pct"
        else units.format_signed_pct(100 * difference / change.before)
        if change.before
        else ""
    )
    follows = units.format_things(len(trend.points) - change.index, "recording")
    accepted = ", accepted" if change.accepted else ""
    return f"{name_series(trend)}: {before} → {after} ({by}); {follows} since then{accepted}."


def _verdict(trends: Sequence[SeriesTrend], steps: list[list[Step]]) -> tuple[str, ...]:
    lines = []
    for joined in steps:
        new = [step for step in joined if not step[1].accepted]
        if new:
            trend, change = new[0]
            more = f" {units.format_things(len(new) - 1, 'more figure')} changed there." if len(new) > 1 else ""
            lines.append(f"Changed at {name_run(trend.points.iloc[change.index])}. {tell(trend, change)}{more}")
    lines += [
        f"Unconfirmed: {name_series(trend)} has been off its level since "
        f"{name_run(trend.points.iloc[trend.trend.candidate])}. More recordings of that commit will decide; "
        f"--confirm says how."
        for trend in trends
        if trend.trend.candidate is not None
    ]
    if not trends:
        return ()
    few = [trend for trend in trends if trend.trend.verdict == "too few"]
    if len(few) == len(trends):
        count = max((len(trend.points) for trend in trends), default=0)
        return (f"Too few recordings ({count}): estimating noise takes {FEWEST}, or {2 * LEAST} of one commit.",)
    count = max(len(trend.points) for trend in trends)
    return tuple(lines) or (f"Steady: no change in {units.format_things(count, 'recording')}.",)


def _list_series(trends: Sequence[SeriesTrend], limit: int | None) -> Table:
    headings = (
        Heading("Trend", "Values in commit order, oldest first.", words=True),
        Heading(
            "Level",
            "Mean since the last change, or over all recordings if there are few.",
            after=("95 % interval",),
            columns=("level", "low", "high"),
        ),
        Heading("Runs differ by", "Run-to-run deviation around the levels.", columns=("spread",), spare=2),
        Heading("Recordings", columns=("recordings",), spare=1),
        Heading("Verdict", words=True),
    )
    listed = sort_trends(trends)[:limit]
    rows = tuple(Row(name_series(trend), _cells(trend)) for trend in listed)
    more = LEFT_OUT.format(command="history trend --limit 0")
    hidden = len(trends) - len(listed)
    title = f"Series of {name_runs(trends)}, changed ones first" if trends else ""
    further: dict[str, Any] = {"hidden": hidden, "more": more, "caption": title, "search": "part of a name"}
    return Table("series", title, "Figure", headings, rows, **further)


def _cells(series: SeriesTrend) -> tuple[Cell, ...]:
    column, trend = METRICS[str(series.series["metric"])], series.trend
    interval = f"{column.format(trend.low)} to {column.format(trend.high)}" if np.isfinite(trend.low) else units.UNKNOWN
    values = series.points["value"].to_numpy()
    relative = bool((values > 0).all())
    spread = units.format_pct(100 * trend.spread) if relative else column.format(trend.spread)
    return (
        Cell.word(draw_line(values)),
        Cell(column.format(trend.level), str(trend.level), after=(interval,)),
        Cell(spread, str(trend.spread)),
        Cell(units.format_count(len(values)), str(len(values))),
        Cell.word(trend.verdict),
    )


def _view_step(place: int, joined: list[Step], explain: Explain) -> Section:
    """Show all that changed with one run."""
    before, after = find_sides(joined)
    lines = tuple(tell(*step) for step in joined)
    title = f"{name_run(before.iloc[-1])} → {name_run(after.iloc[0])}"
    circumstances = [
        f"{HISTORY_RUNS[name].title} changed there, too: {one_line(first)} → {one_line(second)}. To find out which of "
        f"them is the cause, record both commits under the same conditions."
        for name, first, second in find_circumstances(before, after)
    ]
    why = explain(before, after) or (
        "The store does not have the analyses from before and after the change: 'tcprof history add --keep' keeps "
        "them.",
    )
    return Section(f"change-{place}", title, (Notes((), items=lines), Notes((*circumstances, *why))))


def _confirm(trends: Sequence[SeriesTrend]) -> Commands:
    """List what to record, of each commit that is not sure."""
    commits: dict[str, SeriesTrend] = {}
    for trend in trends:
        if trend.trend.candidate is not None:
            commits.setdefault(str(trend.points["commit"].iloc[trend.trend.candidate]), trend)
    items = []
    for commit, trend in commits.items():
        program = one_line(str(trend.points["program"].iloc[-1]))
        what = (
            f"{units.format_things(LEAST, 'more recording')} of the commit will show whether it is a change or an "
            f"outlier.",
        )
        command = f"tcprof profile --repeat {LEAST} -o confirm {program}"
        items.append((one_line(commit)[:_SHORT_COMMIT] or "the newest run", what, command))
    return Commands(tuple(items))


def _describe(series: SeriesTrend) -> dict[str, object]:
    trend = series.trend
    changes = [
        {
            **vars(change),
            "run_id": int(series.points["run_id"].iloc[change.index]),
            "commit": series.points["commit"].iloc[change.index],
        }
        for change in series.visible_changes
    ]
    return {**series.series.to_dict(), **vars(trend), "changes": changes}


def list_rows(trends: Sequence[SeriesTrend]) -> pd.DataFrame:
    """List a row for each point, with the level that it belongs to."""
    points = pd.concat([trend.points[_OF_POINTS] for trend in trends], ignore_index=True)
    places = np.repeat(np.arange(len(trends)), [len(trend.points) for trend in trends])
    series = pd.DataFrame([trend.series for trend in trends])[_OF_SERIES].take(places).reset_index(drop=True)
    return pd.concat([series, points], axis=1).assign(level=np.concatenate([find_levels(trend) for trend in trends]))


def find_levels(series: SeriesTrend) -> Floats:
    """Find the level of each point; NaN where recordings are too few to show one."""
    if series.trend.verdict == "too few":
        return np.full(len(series.points), np.nan)
    changes = series.trend.changes
    levels = [*(change.before for change in changes[:1]), *(change.after for change in changes)] or [series.trend.level]
    borders = [0, *(change.index for change in changes), len(series.points)]
    return np.repeat(levels, np.diff(borders))


_HEIGHT, _TOP, _BOTTOM, _RIGHT = 260, 12, 44, 44  # on the right half of the last date
_POINT, _LEVEL, _ACCEPTED, _BAND = "#2E8BC0", "#1D745B", "#9467BD", "rgba(29,116,91,0.16)"
_CHANGE, _CIRCUMSTANCE = "#D81B60", "#B08900"
_MOST_DATES, _MANY = 6, 200
_SCALES = {"ns": 1e-9, "tflops": 1e12}  # from a column's unit to that of its axis
_SYMBOLS = {"ns": "s", "tflops": "FLOP/s"}
_HOVERED = ("branch", "label", "driver_version", "cuda_version", "torch_version", "clock_hz")
_LABELLED, _LONGEST = 14, 160  # characters
_STAGGERED = 0.08  # of the height: labels of changes that follow each other stand at two heights


def figure_trend(series: SeriesTrend, accepted: Mapping[str, str]) -> PlotlyFigure:
    """Draw the points of a series over its runs; ``accepted`` says why the level of a commit is accepted."""
    column = METRICS[str(series.series["metric"])]
    figure, scale = PlotlyFigure(), _SCALES.get(column.unit, 1.0)
    _add_points(figure, series, column, scale)
    _add_levels(figure, series, scale)
    _add_changes(figure, series, column, scale, accepted)
    _add_circumstances(figure, series, scale)
    return figure.update_layout(_layout(series, column, scale), margin={"r": _RIGHT})


def _add_points(figure: PlotlyFigure, series: SeriesTrend, column: Column, scale: float) -> None:
    points = series.points
    values, low, high = (scale * points[name].to_numpy(float) for name in ("value", "low", "high"))
    figure.add_scatter(
        name="runs",
        mode="markers",
        x=points["place"].to_numpy(),
        y=values,
        error_y={"type": "data", "array": np.nan_to_num(high - values), "arrayminus": np.nan_to_num(values - low),
                 "color": _POINT, "thickness": 1, "width": 2},
        marker={"color": _POINT, "size": 7 if len(points) <= _MANY else 4},
        hovertext=[_describe_run(row, column) for row in points.to_dict("records")],
    )  # fmt: skip


def _describe_run(row: Mapping[Any, Any], column: Column) -> str:
    commit = label(str(row["commit"]), 40)
    interval = units.format_interval(float(row["low"]), float(row["high"]), column.format)
    facts = [f"{HISTORY_RUNS[name].title}: {label(HISTORY_RUNS[name].format(row[name]))}"
             for name in _HOVERED if pd.notna(row[name]) and row[name] != ""]  # fmt: skip
    lines = [
        f"<b>{column.format(row['value'])}</b>{f', 95 %: {interval}' if interval else ''}",
        f"run {row['run_id']}, {str(row['ordered_utc'])[:10]}",
        *([f"Commit: {commit}"] if commit else []),
        *facts,
        *["analysis kept in the store"] * bool(row["kept"]),
    ]
    return "<br>".join(lines)


def _add_levels(figure: PlotlyFigure, series: SeriesTrend, scale: float) -> None:
    """Draw the level of each stretch, accepted ones in another colour, and the last one's interval."""
    place, count, changes = series.points["place"].to_numpy(), len(series.points), series.trend.changes
    borders = [0, *(change.index for change in changes), count]
    levels = find_levels(series)
    for is_accepted, name, color in ((False, "level", _LEVEL), (True, "accepted level", _ACCEPTED)):
        x: list[float | None] = []
        y: list[float | None] = []
        for number, (first, last) in enumerate(pairwise(borders)):
            if np.isnan(levels[first]):
                continue
            if (
                number > 0 and changes[number - 1] in series.visible_changes and changes[number - 1].accepted
            ) == is_accepted:
                x += [place[first] - 0.5, place[last - 1] + 0.5, None]
                y += [scale * levels[first], scale * levels[first], None]
        if x:
            figure.add_scatter(
                name=name,
                mode="lines",
                x=x,
                y=y,
                line={"color": color, "width": 2},
                connectgaps=False,
                hoverinfo="skip",
            )
    if np.isfinite(series.trend.low):
        first, last = place[borders[-2]] - 0.5, place[-1] + 0.5
        low, high = scale * series.trend.low, scale * series.trend.high
        figure.add_scatter(
            name="95 % interval of the level", mode="lines", x=[first, last, last, first], y=[low, low, high, high],
            line={"width": 0}, fill="toself", fillcolor=_BAND, hoverinfo="skip",
        )  # fmt: skip


def _add_changes(
    figure: PlotlyFigure, series: SeriesTrend, column: Column, scale: float, accepted: Mapping[str, str]
) -> None:
    """Draw each change with its commit, on a line between the runs before and after it."""
    for is_accepted, name, color in ((False, "change", _CHANGE), (True, "accepted change", _ACCEPTED)):
        changes = [change for change in series.visible_changes if change.accepted == is_accepted]
        texts = []
        for change in changes:
            run = series.points.iloc[change.index]
            commit, x = name_run(run), float(run["place"]) - 0.5
            figure.add_shape(
                type="line", x0=x, x1=x, yref="paper", y0=0, y1=1,
                line={"color": color, "width": 1, "dash": "dash" if is_accepted else "solid"},
            )  # fmt: skip
            is_late = change.index > len(series.points) / 2
            figure.add_annotation(
                text=label(commit.partition(" ")[0], _LABELLED), showarrow=False, x=x, yref="paper",
                y=1 - _STAGGERED * (series.visible_changes.index(change) % 2),
                yanchor="top", xanchor="right" if is_late else "left", xshift=-3 if is_late else 3,
            )  # fmt: skip
            why = accepted.get(str(run["commit"]), "")
            lines = [f"<b>{label(commit)}</b>", label(tell(series, change), _LONGEST)]
            texts.append("<br>".join([*lines, *([f"Accepted: {label(why, _LONGEST)}"] if why else [])]))
        if changes:
            figure.add_scatter(
                name=name, mode="markers", hovertext=texts,
                x=[float(series.points["place"].iloc[change.index]) - 0.5 for change in changes],
                y=[scale * change.after for change in changes],
                marker={"color": color, "size": 11, "symbol": "diamond"},
            )  # fmt: skip


def _add_circumstances(figure: PlotlyFigure, series: SeriesTrend, scale: float) -> None:
    """Draw where driver, CUDA, torch, tcprof or the clock changed together with the figure."""
    x, y, texts = [], [], []
    for change in series.visible_changes:
        if circumstances := find_circumstances(*series.around(change)):
            x.append(float(series.points["place"].iloc[change.index]) - 0.5)
            y.append(scale * change.before)
            lines = [f"{HISTORY_RUNS[name].title}: {label(old)} → {label(new)}" for name, old, new in circumstances]
            texts.append("<br>".join(["<b>Changed there, too</b>", *lines]))
    if x:
        figure.add_scatter(
            name="driver, library or clock changed there, too", mode="markers", x=x, y=y, hovertext=texts,
            marker={"color": _CIRCUMSTANCE, "size": 11, "symbol": "square"},
        )  # fmt: skip


def _layout(series: SeriesTrend, column: Column, scale: float) -> dict[str, object]:
    points = series.points
    ends = scale * points[["value", "low", "high"]].to_numpy(float)
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    pad = 0.1 * (high - low) or 0.05 * abs(high) or 1.0
    symbol = _SYMBOLS.get(column.unit, units.symbol_of(column.unit))
    ticks = unit_ticks(low - pad, high + pad, symbol)
    if column.unit == "pct":
        ticks = {"ticksuffix": " %", "nticks": 6}
    dated = points.iloc[np.unique(np.linspace(0, len(points) - 1, _MOST_DATES).astype(int))]
    dates = {"tickvals": dated["place"].tolist(), "ticktext": [str(time)[:10] for time in dated["ordered_utc"]]}
    first, last = float(points["place"].iloc[0]), float(points["place"].iloc[-1])
    return {
        **base_layout(_HEIGHT, _TOP, _BOTTOM),
        "showlegend": False,  # the page has one for all
        "xaxis": {**AXIS, "range": [first - 1, last + 1], **dates},
        "yaxis": {**AXIS, "range": [low - pad, high + 2 * pad], **ticks, "automargin": True},
        "meta": as_table(rows := list_rows([series]), list(rows)),
    }
