"""Where the time of a recording went, what its figures rest on, and its steps one by one."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.gaps import SHORT_NS, Gaps
from tcprof.analysis.mean_step import Typical, find_typical
from tcprof.arrays import rows_of_gpu
from tcprof.findings import Findings
from tcprof.findings.checks import describe_clocks
from tcprof.findings.notes import name_steps
from tcprof.findings.steps import list_kinds
from tcprof.frames import GAP_SUMS, GAPS, HEADLINE, KINDS, LEDGER, TIMELINE, Column
from tcprof.untrusted import one_line
from tcprof.views import ROWS_SHOWN, figures
from tcprof.views.document import Document, Part
from tcprof.views.figures.circles import as_table
from tcprof.views.figures.traces import TENSOR_COLOR, shown_classes
from tcprof.views.paths import LEFT_OUT, LONGEST_NAME, keep_longest, link, path_rows, without_repeats
from tcprof.views.recording import describe_base, head, list_notes, make_document, make_table, split_by_gpu
from tcprof.views.recording.kernels import describe_fit
from tcprof.views.recording.ranges import fold_ranges
from tcprof.views.tables import Cell, Heading, Row, Table, sort_key

NOTABLE_PCT = 1.0  # entries of the ledger below this are not worth a remedy
# On a narrow terminal; the last one first.
_SPARE = (
    *("memory_bound", "fp32_bound", "graph", "communication", "unresolved_kernel", "copy", "issue_bound"),
    "small_grid",
)
MEANING = (
    "Each nanosecond of the GPU windows, from a range's first activity to its last, is in exactly one class, the first "
    "that applies. All GPU work in the window counts, whichever range launched it."
)

_NO_STEPS = (
    "No steps were found: no range with 5 or more instances holds most of the GPU's work, and the order of the "
    "kernels does not repeat."
)


def view_timeline(
    analysis: Analysis,
    findings: Findings,
    rows: pd.DataFrame,
    gpu: int | None = None,
    limit: int | None = ROWS_SHOWN,
    fold: bool = False,
    with_notes: bool = True,
) -> Document:
    """Show where the time of ``limit`` ranges went; with notes also the ledger, and what the figures are over."""
    frames = {"rows": rows, "ledger": analysis.ledger, "steps": analysis.steps, "clocks": analysis.clocks}
    base = describe_base(analysis)
    ledger = analysis.ledger if gpu is None else analysis.ledger[analysis.ledger["gpu"] == gpu]
    notes = (describe_fit(analysis), MEANING, *describe_steps(analysis), *describe_clocks(analysis.clocks), *base)
    remedies = list_remedies(analysis.ledger)
    remarks = (*remedies, *findings.remarks)
    tables = (*list_time(analysis, rows, limit, fold), *(list_ledger(analysis, ledger) if with_notes else ()))
    parts: tuple[Part, ...] = (head(analysis, findings), *tables, list_notes(remarks, notes, with_notes))
    further = {"warnings": (*remedies, *findings.warnings), "remarks": remarks, "base": base}
    return make_document(analysis, findings, "timeline", parts, frames, rows=rows, **further)


def list_time(analysis: Analysis, rows: pd.DataFrame, most: int | None = None, fold: bool = False) -> list[Table]:
    """List the shares of the time classes that occur in the paths that took longest, of all GPUs ``most``."""
    classes = shown_classes(rows)
    columns = [f"{name}_ns" for name in classes]
    headings = [Heading.of(TIMELINE["window_ns"])]
    for name, column in zip(classes, columns, strict=True):
        spare = _SPARE.index(name) + 1 if name in _SPARE else 0
        headings.append(Heading.of(TIMELINE[column], unit="pct", columns=(column, f"{name}_pct"), spare=spare))
    tables = []
    for gpu, gpu_rows in split_by_gpu(rows):
        kept = fold_ranges(gpu_rows, rows_of_gpu(analysis.ranges, gpu)) if fold else gpu_rows
        if most is not None:
            kept = keep_longest(kept, kept["window_ns"], most // rows["gpu"].nunique())
        listed = path_rows(kept, [_time_cells(row, columns) for row in kept.to_dict("records")])
        more = LEFT_OUT.format(command="timeline --all")
        count = int(kept["alike_count"].sum()) if fold else len(kept)
        further = {"hidden": len(gpu_rows) - count, "more": more, "search": "part of a path"}
        tables.append(make_table(analysis, gpu, "Time on", "Range (totals)", tuple(headings), listed, **further))
    return tables


def _time_cells(row: Mapping[Any, Any], columns: list[str]) -> tuple[Cell, ...]:
    window = row["window_ns"] if row["window_ns"] > 0 else math.nan
    cells = [Cell.time(window)]
    for column in columns:
        share = 100 * row[column] / window
        values = (sort_key(row[column]), sort_key(share))
        cells.append(Cell(units.format_pct(share), values[1], values=values))
    return tuple(cells)


def list_ledger(analysis: Analysis, rows: pd.DataFrame) -> list[Table]:
    """List what the figures rest on, one table for each GPU: accounts, and below each what became of its parts."""
    headings = (
        Heading.of(LEDGER["seconds"], columns=("seconds", "share_pct"), after=("%",)),
        Heading.of(LEDGER["remedy"], brief=False),
    )
    tables = []
    for gpu, gpu_rows in split_by_gpu(rows):
        listed: list[Row] = []
        for account, parts in gpu_rows.groupby("account", sort=False):
            total_ns = 1e9 * float(parts["seconds"].sum())
            listed.append(Row(str(account), (Cell.share(total_ns, total_ns, "s"), Cell("", ""))))
            for entry in parts.to_dict("records"):
                remedy = one_line(entry["remedy"], 200) if entry["seconds"] > 0 else ""
                cells = (Cell.share(1e9 * entry["seconds"], total_ns, "s"), Cell.word(remedy))
                name, around = one_line(entry["entry"], 90), f"{account}: "
                listed.append(Row(name, cells, depth=2, ancestors=around, nested=True))
        tables.append(make_table(analysis, gpu, "Time accounting of", "Time accounting", headings, listed))
    return tables


def list_remedies(ledger: pd.DataFrame) -> tuple[str, ...]:
    """List what would record better, for the parts of the ledger that matter."""
    wanted = ledger[(ledger["remedy"] != "") & (ledger["share_pct"] >= NOTABLE_PCT)]
    return tuple(
        f"{units.format_pct(row['share_pct'])} of the {row['account']}: {row['entry']}. To fix this: {row['remedy']}."
        for row in wanted.to_dict("records")
    )


def describe_steps(analysis: Analysis) -> tuple[str, ...]:
    """Say what a step takes, in a line for each GPU: medians without warm-up."""
    steps, name, lines = analysis.steps, name_steps(analysis), []
    for gpu, gpu_rows in steps.groupby("gpu", sort=True):
        rest = gpu_rows[gpu_rows["counted"]]
        where = f"GPU {gpu}: " if steps["gpu"].nunique() > 1 else ""
        host, window, kernels = (
            units.format_ns(rest[column].median()) for column in ("host_ns", "gpu_window_ns", "kernel_ns")
        )
        lines.append(
            f"{where}Medians of {units.format_things(len(rest), 'step')} of {name}: host time {host}, GPU window "
            f"{window}, kernel time {kernels}, Tensor Active of the window {units.format_pct(rest[_ACTIVE].median())}."
        )
    return tuple(lines) or (_NO_STEPS,)


_ACTIVE = "window_active_pct"
MOST_POINTS = 1000  # of a GPU, about one for each pixel; of more steps the longest of each group is drawn
TIME_COLOR = "#1F7FC4"
_WARM_UP_COLOR = "rgba(128,128,128,0.14)"
_HIGHEST = 2.0  # warm-up above this many times the longest of the others is drawn at the edge
_STRIP, _GAP, _TOP, _BOTTOM, _LEGEND = 150, 34, 30, 48, 28  # pixels
_COLUMNS = [
    *("gpu", "number", "path", "warm_up", "host_ns", "gpu_window_ns", "kernel_ns"),
    *(_ACTIVE, "tensor_active_s", "tensor_cycles", "coverage_pct"),
]
# Of several GPUs; of one alone, what is drawn has a colour.
_GPU_COLORS = ("#1F7FC4", "#C7609A", "#A9790B", "#2AA3A3", "#8A6F5C", "#7A8CA3", "#9B3FA8", "#3B9C3B")
_SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-left", "star", "hexagon", "pentagon")


def figure_step_strip(analysis: Analysis) -> figures.PlotlyFigure:
    """Draw the GPU window of each step and its mean Tensor Active, where known, with medians and marked warm-up."""
    steps = analysis.steps[analysis.steps["gpu_window_ns"] > 0]
    strips = [("gpu_window_ns", "GPU window of each step", TIME_COLOR)]
    if steps[_ACTIVE].notna().any():
        strips.append((_ACTIVE, "Tensor Active, mean", TENSOR_COLOR))
    inner = len(strips) * (_STRIP + _GAP) - _GAP
    several = steps["gpu"].nunique() > 1
    head = _TOP + _LEGEND * several
    figure = figures.PlotlyFigure().update_layout(
        **figures.base_layout(inner + head + _BOTTOM, head, _BOTTOM), showlegend=several
    )
    if steps.empty:
        return figure
    figure.update_layout(legend={**figures.LEGEND, "yref": "container", "yanchor": "top"})
    for place, (column, title, color) in enumerate(strips):
        axis, axis_name = figures.axis_names(place)
        high = 1 - place * (_STRIP + _GAP) / inner
        scale = 1e-9 if column.endswith("_ns") else 1.0
        top = _highest(steps[column], steps["warm_up"]) * scale
        domain = [max(high - _STRIP / inner, 0), high]
        ticks = {"ticksuffix": " %", "nticks": 5} if column.endswith("_pct") else figures.unit_ticks(0, top, "s")
        shared = {**figures.AXIS, "anchor": "x", "fixedrange": True, "domain": domain, "range": [0, 1.08 * top]}
        figure.update_layout({axis_name: {**shared, **ticks}})
        figure.add_title(title, high)
        for number, (gpu, rows) in enumerate(steps.groupby("gpu", sort=True)):
            typical = find_typical(analysis, int(str(gpu)))
            gpu_color = _GPU_COLORS[number % len(_GPU_COLORS)] if several else color
            if typical:
                _add_median(figure, typical[column], scale, axis, gpu_color)
            points = _points(_thinned(rows), column, scale, top, number)
            group = {"legendgroup": f"GPU {gpu}", "showlegend": several and place == 0}
            figure.data.append(points.set(group, yaxis=axis, marker={"color": gpu_color}))
    _mark_warm_up(figure, steps)
    drawn = pd.concat([_thinned(rows) for _, rows in steps.groupby("gpu", sort=True)])
    across = figures.number_axis(axis, int(steps["number"].max()))
    return figure.update_layout(meta=as_table(drawn, _COLUMNS), xaxis=across)


def _highest(values: "pd.Series[float]", warm_up: "pd.Series[bool]") -> float:
    steady, largest = values[~warm_up].max(), values.max()
    return float(min(largest, _HIGHEST * steady) if steady > 0 else largest) or 1.0


def _thinned(rows: pd.DataFrame) -> pd.DataFrame:
    """Thin out steps: keep the longest of neighbours."""
    step = -(-len(rows) // MOST_POINTS)
    if step <= 1:
        return rows
    return rows.loc[rows.groupby(np.arange(len(rows)) // step)["gpu_window_ns"].idxmax()]


def _points(rows: pd.DataFrame, column: str, scale: float, top: float, number: int) -> figures.Settings:
    value = rows[column].to_numpy(np.float64) * scale
    beyond, warm_up = value > 1.08 * top, rows["warm_up"].to_numpy(bool)
    symbol = _SYMBOLS[number % len(_SYMBOLS)]
    shapes = np.where(beyond, "triangle-up", symbol).astype(object)
    return figures.scatter(
        x=rows["number"].to_numpy(),
        y=np.where(beyond, 1.04 * top, value),
        mode="markers",
        name=f"GPU {rows['gpu'].iloc[0]}",
        marker={"size": 7 if len(rows) < 300 else 4, "symbol": np.where(warm_up, shapes + "-open", shapes)},
        customdata=[link("step", str(number), gpu) for number, gpu in zip(rows["number"], rows["gpu"], strict=True)],
        meta={"selects": True},
        hovertext=[_describe(row) for row in rows.to_dict("records")],
    )


def _describe(row: Mapping[Any, Any]) -> str:
    warm_up = ", warm-up" if row["warm_up"] else ""
    return (
        f"<b>{figures.label(str(row['path']), 60)}</b>, step {row['number']} on GPU {row['gpu']}{warm_up}<br>"
        f"GPU window {units.format_ns(row['gpu_window_ns'])}, on the CPU {units.format_ns(row['host_ns'])}<br>"
        f"Tensor Active {HEADLINE.column.format(row[_ACTIVE])} of its GPU window"
    )


def _add_median(figure: figures.PlotlyFigure, typical: Typical, scale: float, axis: str, color: str) -> None:
    across = {"xref": "paper", "yref": axis, "x0": 0, "x1": 1}
    if typical.value == typical.value:
        line = {"color": color, "width": 1, "dash": "dash"}
        figure.add_shape(type="line", y0=typical.value * scale, y1=typical.value * scale, line=line, **across)
    if typical.low <= typical.high:
        band = {"fillcolor": color, "opacity": 0.18, "line": {"width": 0}, "layer": "below"}
        figure.add_shape(type="rect", y0=typical.low * scale, y1=typical.high * scale, **band, **across)


def _mark_warm_up(figure: figures.PlotlyFigure, steps: pd.DataFrame) -> None:
    warm_up = steps.loc[steps["warm_up"], "number"]
    if warm_up.empty:
        return
    last = float(warm_up.max()) + 0.5
    place = {"xref": "x", "yref": "paper", "x0": -0.5, "x1": last, "y0": 0, "y1": 1}
    figure.add_shape(type="rect", fillcolor=_WARM_UP_COLOR, line={"width": 0}, layer="below", **place)
    word = {"x": 1, "xref": "paper", "y": 1, "yref": "paper", "xanchor": "right", "yanchor": "bottom"}
    figure.add_annotation(text="grey: warm-up", showarrow=False, font={"size": 11}, **word)


# The most important first: where a terminal is narrow, the last of these leaves first.
_KIND_COLUMNS = (
    *("share_pct", "step_time_ns", "step_count", "tokens_per_second", "tensor_active_mean_pct", "gpu_idle_pct"),
    *("kernel_count", "tensor_kernel_share_pct", "kernel_ns", "dram_pct", "flop_per_byte", "step_p10_ns"),
    *("step_p90_ns", "slow_count", "warm_up_count"),
)


def list_kind_tables(analysis: Analysis) -> list[Table]:
    """List the roles of each GPU, the one that figures are of first; only figures that are known."""
    tables = []
    for gpu in analysis.kinds["gpu"].unique().tolist():
        rows = list_kinds(analysis, gpu)
        columns = [KINDS[name] for name in _KIND_COLUMNS if rows[name].notna().any()]
        headings = tuple(Heading.of(column, spare=spare) for spare, column in enumerate(columns))
        listed = [
            Row(one_line(row["name"], 60), tuple(Cell.number(row[column.name], column) for column in columns))
            for row in rows.to_dict("records")
        ]
        if listed:
            tables.append(make_table(analysis, gpu, "Roles of steps on", "Role", headings, listed))
    return tables


ABOUT_GAPS = (
    "Saves at most: the time that the mean step would save without the gap, measured under profiling, which lengthens "
    "launches. Causes are those of the advice ('tcprof advise'), and the range is the innermost one that is open on "
    "the CPU.",
    "A gap in which the CPU first waits and then works for a long time counts towards both causes. No figure "
    "includes the time before the GPU's first activity and after its last.",
)
_ADDED = ["saving_ns", "share_pct", "gap_count", "total_ns"]
_SUMS = tuple(GAP_SUMS[name] for name in ("saving_ns", "share_pct", "gap_count", "longest_ns", "total_ns"))
_OF_GAP = {"saving_ns": 2, "step": 0, "cause": 0, "path": 0, "wait": 1, "launch_count": 3}  # and what may be left out
_ALL = "timeline --gaps --limit 0"


def view_gaps(
    analysis: Analysis, findings: Findings, gaps: Gaps, limit: int | None = ROWS_SHOWN, with_notes: bool = True
) -> Document:
    """Show the idle time of each GPU by cause and range, then its longest gaps; of each ``limit``, None for all."""
    base = describe_base(analysis)
    tables = (*list_sums(analysis, gaps.gap_sums, limit), *_list_longest(analysis, gaps.gaps, limit))
    parts: tuple[Part, ...] = (
        head(analysis, findings),
        *tables,
        list_notes(findings.remarks, (*ABOUT_GAPS, *base), with_notes),
    )
    frames = {"rows": gaps.gaps, "gap_sums": gaps.gap_sums}
    return make_document(analysis, findings, "gaps", parts, frames, rows=gaps.gaps, base=base)


def list_sums(analysis: Analysis, sums: pd.DataFrame, limit: int | None) -> list[Table]:
    """List the idle time of each GPU by cause, and of each cause by range; so many ranges, None for all."""
    headings = tuple(Heading.of(column, spare=spare) for spare, column in enumerate(_SUMS))
    tables = []
    for gpu, gpu_rows in split_by_gpu(sums):
        kept = gpu_rows.head(len(gpu_rows) if limit is None else limit)
        causes = gpu_rows.groupby("cause", sort=False)[_ADDED].sum()
        counted = gpu_rows.assign(counts=gpu_rows["saving_ns"] > 0)  # those of warm-up only where there is no other
        longest = counted.sort_values(["counts", "longest_ns"], kind="stable").groupby("cause", sort=False)
        causes[["longest_ns", "longest_gap"]] = longest[["longest_ns", "longest_gap"]].last()
        listed = []
        for row in causes.sort_values("saving_ns", ascending=False, kind="stable").reset_index().to_dict("records"):
            listed.append(Row(row["cause"] or "unknown", _sum_cells(row, _SUMS), item=int(row["longest_gap"])))
            parts = kept[kept["cause"] == row["cause"]].to_dict("records")
            listed += [
                Row(_name_part(part), _sum_cells(part, _SUMS), 2, nested=True, item=int(part["longest_gap"]))
                for part in parts
            ]
        further = {"hidden": len(gpu_rows) - len(kept), "more": LEFT_OUT.format(command=_ALL)}
        tables.append(make_table(analysis, gpu, "Idle time of", "Idle time by cause", headings, listed, **further))
    return tables


def _name_part(part: Mapping[Any, Any]) -> str:
    place = without_repeats(part["path"]) if part["path"] else "in no range"
    place = f"gaps up to {units.format_ns(SHORT_NS)}" if part["short"] else place
    return one_line(f"{place}: {part['wait']}" if part["wait"] else place, LONGEST_NAME)


def _list_longest(analysis: Analysis, gaps: pd.DataFrame, limit: int | None) -> list[Table]:
    headings = (
        Heading("Length", "From the end of the previous work to the start of the next.", "ns", columns=("length_ns",)),
        *(Heading.of(GAPS[name], spare=spare) for name, spare in _OF_GAP.items()),
    )
    tables = []
    for gpu, gpu_rows in split_by_gpu(gaps.assign(length_ns=gaps["end_ns"] - gaps["start_ns"])):
        longest = gpu_rows.sort_values("length_ns", ascending=False, kind="stable")
        longest = longest.head(len(gpu_rows) if limit is None else limit)
        listed = [Row(f"{row['number']}", _gap_cells(row)) for row in longest.to_dict("records")]
        further = {"hidden": len(gpu_rows) - len(longest), "more": LEFT_OUT.format(command=_ALL)}
        tables.append(make_table(analysis, gpu, "Gaps of", "Longest gaps", headings, listed, **further))
    return tables


def _gap_cells(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    step = f"{row['step']}" if row["step"] >= 0 else units.UNKNOWN
    step = f"{step} to {row['step'] + 1}" if row["between_steps"] else step
    place = one_line(without_repeats(row["path"]), LONGEST_NAME)
    return (
        Cell.time(row["length_ns"]),
        Cell.number(row["saving_ns"] or math.nan, GAPS["saving_ns"]),  # of warm-up and the like nothing is said
        Cell(step, sort_key(row["step"]) if row["step"] >= 0 else ""),
        Cell.word(row["cause"]),
        Cell.word(place),
        Cell.word(row["wait"]),
        Cell.number(row["launch_count"], GAPS["launch_count"]),
    )


def _sum_cells(row: Mapping[Any, Any], columns: tuple[Column, ...]) -> tuple[Cell, ...]:
    return tuple(Cell.number(row[column.name], column) for column in columns)
