"""The modules and the kernels whose time changed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.modules.tree import ALL
from tcprof.comparison import Comparison
from tcprof.comparison.statistics.rows import of_means
from tcprof.comparison.statistics.verdicts import INCONCLUSIVE
from tcprof.comparison.waterfall import part_of_kernel
from tcprof.findings.compared.verdict import Row as ComparedRow
from tcprof.findings.compared.verdict import find_row, is_shown, mean_differs, step_name
from tcprof.findings.notes import are_resolved
from tcprof.frames import COMPARISON, HEADLINE, KERNEL_CHANGES, LISTED_QUANTITIES, MODULE_CHANGES, Quantity, Schema
from tcprof.untrusted import one_line
from tcprof.views.comparison.sides import change_mark
from tcprof.views.comparison.waterfall import part_label
from tcprof.views.paths import LEFT_OUT, LONGEST_NAME, keep_largest, keep_longest, path_rows
from tcprof.views.recording.kernels import SHORT_NAME, fitted_cell
from tcprof.views.recording.modules import ALL_KERNELS
from tcprof.views.tables import BECAME, Cell, Heading, Row, Strip, Table, sort_key

_STRIP_RATIO, _STRIP_POINTS = 4.0, 25.0  # at the ends of a strip
SCALE = "Ratios from 0.25x to 4x, percentages from -25 to +25 points; values beyond are drawn at the edge"
CHANGE_HEADINGS = (
    Heading.of(COMPARISON["base"], title="Base"),
    Heading.of(COMPARISON["new"], title="New"),
    Heading("Change", "A ratio or, for percentages, a difference in points.", columns=("change",)),
    Heading("95 % interval", SCALE, columns=("low", "high"), spare=1),
    Heading("p", COMPARISON["p_value"].meaning, spare=2),
    Heading.of(COMPARISON["verdict"], title="Verdict"),
)


def list_quantities(comparison: Comparison, gpu: int, title: str = "") -> Table:
    """List the steps' quantities: both values, the change with its interval, p and the verdict."""
    rows = tuple(quantity_row(*row) for row in _list_known(comparison, gpu))
    first = f"Per {step_name(comparison)}"
    return Table(f"quantities-{gpu}", title, first, CHANGE_HEADINGS, rows, gpu=gpu)


def list_quantities_of_sides(comparisons: Sequence[Comparison], gpu: int) -> Table:
    """List the steps' quantities of one baseline, and of each side compared with it the value and its change."""
    rows = {(quantity, depth): row for quantity, _, depth, row in _list_known(comparisons[0], gpu)}
    headings = [Heading.of(COMPARISON["base"], title="Base")]
    headings += [
        Heading(one_line(one.new.name), _BESIDE, before=("value",), columns=("change",)) for one in comparisons
    ]
    listed = []
    for (quantity, depth), first in rows.items():
        if depth > 1 and not quantity.part_of:
            continue  # means beside medians: the table of each side has them
        cells = [side_cell(quantity, first, "base")]
        for comparison in comparisons:
            row = find_row(comparison, gpu, quantity.name)
            before, tone = (side_cell(quantity, row, "new").text,), tone_of(quantity, row)
            in_points, mark = quantity.in_points, change_mark(row)
            cells.append(Cell.change(row[quantity.change], in_points, before=before, mark=mark, tone=tone))
        listed.append(Row(quantity.column.title, tuple(cells), depth, nested=depth > 1, full=quantity.name))
    name = f"Per {step_name(comparisons[0])}"
    return Table(f"sides-quantities-{gpu}", "", name, tuple(headings), tuple(listed), gpu=gpu)


_BESIDE = "Its change from the baseline, as a ratio or in points, and its value. ~ marks changes that are inconclusive."


def _list_known(comparison: Comparison, gpu: int) -> Iterator[tuple[Quantity, str, int, ComparedRow]]:
    """List quantities that one side has at least, with title, depth and row; also of means where these differ."""
    for quantity in LISTED_QUANTITIES:
        row = find_row(comparison, gpu, quantity.name)
        if not (pd.isna(row["base"]) and pd.isna(row["new"])):
            depth = 2 if quantity.part_of else 1
            yield quantity, quantity.column.title, depth, row
            if mean_differs(row):
                yield quantity, "mean", depth + 1, of_means(row)


def quantity_row(quantity: Quantity, title: str, depth: int, row: ComparedRow) -> Row:
    """Make the row of a quantity of both sides, see ``CHANGE_HEADINGS``."""
    change = quantity.change
    cells = (
        side_cell(quantity, row, "base"),
        side_cell(quantity, row, "new"),
        Cell.change(row[change], quantity.in_points),
        Cell.change_interval(
            row[f"{change}_low"], row[f"{change}_high"], quantity.in_points, strip=_strip(quantity, row)
        ),
        Cell.p_value(row["p_value"]),
        replace(Cell.word(row["verdict"]), tone=tone_of(quantity, row)),
    )
    return Row(title, cells, depth, nested=depth > 1, full=quantity.name)


def side_cell(quantity: Quantity, row: ComparedRow, side: str) -> Cell:
    """Write the value of a side, base or new; marked where it is a lower bound."""
    column, text = quantity.column, quantity.column.format(row[side])
    is_named = column.title.endswith(units.unit_of_heading(column.unit) or "-")  # as Tensor FLOP/s
    text = units.at_least(text) if row[f"{side}_lower_bound"] else text
    return Cell(text, sort_key(row[side]), unit=column.unit if is_named else "")


def tone_of(quantity: Quantity, row: ComparedRow) -> str:
    """Tell whether a change that is shown is better or worse; empty where it is neither, or not shown."""
    if not quantity.better or not is_shown(row):
        return ""
    return "better" if row["verdict"] == quantity.better else "worse"


def _strip(quantity: Quantity, row: ComparedRow) -> Strip | None:
    values = [float(row[f"{quantity.change}{end}"]) for end in ("_low", "", "_high")]
    if any(math.isnan(value) for value in values) or not (quantity.in_points or values[0] > 0):
        return None
    shares = [
        value / _STRIP_POINTS if quantity.in_points else math.log(value) / math.log(_STRIP_RATIO) for value in values
    ]
    low, middle, high = (round(50 + 50 * min(max(share, -1.0), 1.0), 2) for share in shares)
    return Strip(low, round(high - low, 2), middle)


NOTE = (
    "The change, as a ratio or in points, above baseline → new; medians per instance. ~ marks changes that are "
    "inconclusive, m those that only the mean shows."
)
_SHOWN_RANGES = (  # on a page, before its reader has chosen; by what conditions call them
    *("time", "gpu_idle", "kernel_count", "tensor_active", "tensor_kernel_share"),
)
_PLACE = ["domain", "path", "depth"]


def list_range_changes(comparison: Comparison, rows: pd.DataFrame, gpu: int, most: int | None = None) -> Table:
    """List the change of each quantity that is known of ranges; where space is scarce only time and Tensor Active."""
    rows = rows[rows["gpu"] == gpu]
    places = rows.drop_duplicates(_PLACE)
    time = rows[rows["quantity"] == "host_ns"].set_index(_PLACE)[["base", "new"]].max(axis=1)
    length = pd.Series(time.reindex(pd.MultiIndex.from_frame(places[_PLACE])).to_numpy(), index=places.index)
    kept = places if most is None else keep_longest(places, length, most)
    figures = rows.set_index([*_PLACE, "quantity"]).to_dict("index")
    brief = ("host_ns" if comparison.base.first.window == "host" else "gpu_window_ns", HEADLINE.name)
    names = set(rows["quantity"][rows[["base", "new"]].notna().any(axis=1)])
    listed = [quantity for quantity in LISTED_QUANTITIES if quantity.name in (*names, *brief) and not quantity.of_steps]
    cells = [
        tuple(_range_cell(quantity, figures[*place, quantity.name]) for quantity in listed)
        for place in kept[_PLACE].itertuples(index=False, name=None)
    ]
    return Table(
        name=f"ranges-{gpu}",
        title="",
        first="Range",
        headings=tuple(_range_heading(quantity, quantity.name in brief) for quantity in listed),
        rows=tuple(
            replace(row, full=one_line(path, LONGEST_NAME))
            for row, path in zip(path_rows(kept, cells, _tags(kept)), kept["path"], strict=True)
        ),
        hidden=len(places) - len(kept),
        more=LEFT_OUT.format(command="compare --all"),
        gpu=gpu,
        search="part of a path",
    )


def _range_heading(quantity: Quantity, brief: bool) -> Heading:
    return Heading.of(
        quantity.column,
        brief=brief,
        on_page=quantity.gate_name in _SHOWN_RANGES,
        spare=int(quantity is HEADLINE),
        before=("base", "new"),
        value="change" if quantity.in_points else "ratio",
        columns=tuple(f"{quantity.name}_{figure}" for figure in _figures(quantity)),
    )


def _figures(quantity: Quantity) -> tuple[str, ...]:
    return ("base", "new", quantity.change, f"{quantity.change}_low", f"{quantity.change}_high", "verdict")


def _range_cell(quantity: Quantity, row: Mapping[Any, Any]) -> Cell:
    *numbers, verdict = _figures(quantity)
    return Cell.change(
        row[quantity.change],
        quantity.in_points,
        before=tuple(side_cell(quantity, row, side).text for side in ("base", "new")),
        mark=change_mark(row),
        tone=tone_of(quantity, row),
        values=(*(sort_key(row[name]) for name in numbers), row[verdict]),
    )


def _tags(places: pd.DataFrame) -> list[str]:
    counts = zip(places["base_instance_count"], places["new_instance_count"], strict=True)
    return [
        "only in the baseline" if math.isnan(new) else "not in the baseline" if math.isnan(base) else ""
        for base, new in counts
    ]


MOST_MODULES = 20
_SIDES, _UNKNOWN = ("base", "new"), Cell(units.UNKNOWN)
_MODULES_LEFT_OUT = "more not shown, whose time changed least. JSON has all modules."
SHORT_TITLES = {
    "base_ns": "Time\nbase",
    "new_ns": "Time\nnew",
    "ratio": "Time\nratio",
    "base_tensor_active_pct": "Tensor Active\nbase",
    "new_tensor_active_pct": "Tensor Active\nnew",
    "tensor_active_difference_pct": "Tensor Active\nchange",
}
_ENDS = {
    "ratio": ("ratio_low", "ratio_high"),
    "difference_ns": ("difference_low_ns", "difference_high_ns"),
    "tensor_active_difference_pct": ("tensor_active_difference_low_pct", "tensor_active_difference_high_pct"),
}
MEANING = (
    "Means per step over the kernels of each module and its submodules; * stands for all layers of a list. ~ marks "
    "changes that are inconclusive. The interval of a change in Tensor Active includes the fit's uncertainty; where "
    "the samples do not resolve it, Tensor Active is unknown."
)


def list_module_changes(comparison: Comparison, gpu: int, most: int | None = MOST_MODULES) -> Table:
    """List the modules whose time per step changed most, each with what it lies in."""
    rows = comparison.modules[(comparison.modules["gpu"] == gpu) & (comparison.modules["phase"] == ALL)]
    above = dict(zip(rows["module_id"], rows["module"], strict=True))
    resolved = {f"{side}_resolved": are_resolved(rows, f"{side}_") for side in _SIDES}
    rows = rows.assign(path_id=rows["module_id"], above=rows["parent_id"].map(above), **resolved)
    kept = rows if most is None else keep_largest(rows, rows["difference_ns"].abs(), most)
    return Table(
        name=f"modules-{gpu}",
        title=f"Modules, per {step_name(comparison)}",
        first="Module",
        headings=_HEADINGS,
        rows=tuple(_module_row(row) for row in kept.to_dict("records")),
        hidden=len(rows) - len(kept),
        more=_MODULES_LEFT_OUT,
        gpu=gpu,
        search="part of a module's path",
    )


def _module_heading(name: str, spare: int = 0) -> Heading:
    return Heading.of(MODULE_CHANGES[name], short=SHORT_TITLES.get(name, ""), spare=spare)


def _interval_heading(name: str, **changes: Any) -> Heading:
    column = MODULE_CHANGES[name]
    return Heading(f"{column.title}: 95 % interval", column.meaning, columns=_ENDS[name], **changes)


_HEADINGS = (
    _module_heading("difference_ns"),
    _module_heading("base_ns"),
    _module_heading("new_ns"),
    _module_heading("ratio"),
    _interval_heading("ratio", spare=2, short="Time\n95 % interval"),
    _module_heading("base_tensor_active_pct", spare=4),
    _module_heading("new_tensor_active_pct", spare=3),
    _module_heading("tensor_active_difference_pct", spare=1),
    _interval_heading("tensor_active_difference_pct", brief=False),
    _interval_heading("difference_ns", brief=False),
    Heading.of(MODULE_CHANGES["p_value"], title="p", brief=False),
    Heading.of(MODULE_CHANGES["verdict"], brief=False),
)


def _module_row(row: Mapping[Any, Any]) -> Row:
    path = str(row["module"])
    return Row(
        name=one_line(path.removeprefix(f"{row['above']}."), LONGEST_NAME) or ALL_KERNELS,
        cells=_cells(row),
        depth=int(row["depth"]),
        nested=row["depth"] > 1,
        full=one_line(path, LONGEST_NAME),
    )


def _cells(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
    """In the order of the headings; Tensor Active is unknown as far as the samples do not resolve it."""
    resolved = [side for side in _SIDES if row[f"{side}_resolved"]]
    change, ends = (_UNKNOWN, _UNKNOWN)
    if len(resolved) == len(_SIDES):
        change = Cell.change(row["tensor_active_difference_pct"], True, mark=_mark(row["tensor_active_verdict"]))
        low, high = (row[end] for end in _ENDS["tensor_active_difference_pct"])
        ends = Cell.change_interval(low, high, True)
    lowest, highest = (Cell.signed_time(row[end]) for end in _ENDS["difference_ns"])
    interval = f"{lowest.text} to {highest.text}" if lowest.sort and highest.sort else units.UNKNOWN
    return (
        Cell.signed_time(row["difference_ns"], mark=_mark(row["verdict"])),
        *_pair(MODULE_CHANGES, row, _SIDES, "ns"),
        Cell(units.format_ratio(row["ratio"]), sort_key(row["ratio"])),
        Cell.change_interval(row["ratio_low"], row["ratio_high"], False),
        *_pair(MODULE_CHANGES, row, resolved, "tensor_active_pct"),
        change,
        ends,
        Cell(interval, values=(lowest.sort, highest.sort)),
        Cell.p_value(row["p_value"]),
        Cell.word(row["verdict"]),
    )


def _mark(verdict: str) -> str:
    return verdict if verdict == INCONCLUSIVE else ""


MOST_KERNELS = 500
_LONGEST_FILE = 80
_KERNELS_LEFT_OUT = "more not shown, whose time changed least: tcprof compare --all"
_COLUMNS = (
    *("status", "difference_ns", "base_ns", "new_ns", "base_tensor_active_pct", "new_tensor_active_pct"),
    *("base_precision", "base_class", "path", "base_count", "new_count"),
)
_FURTHER = ("base_precision", "base_count", "new_count")  # on a page only when its reader asks
_BRIEF = ("status", "base_ns", "new_ns", "base_tensor_active_pct", "new_tensor_active_pct")
_STATUSES = (
    "same: name and launch geometry agree; renamed: matched by position or by similar names, but name or launch "
    "geometry differs; new and removed have no counterpart; hidden ones may be in a CUDA graph that the other side "
    "recorded as a whole."
)


def list_kernel_changes(comparison: Comparison, gpu: int, most: int | None = None) -> Table:
    """List the kernels that were matched, renamed, are new or gone, those whose time per step changed most first."""
    changes = comparison.matching.changes
    rows = changes[changes["gpu"] == gpu]
    kept = rows.head(most) if most else rows
    return Table(
        name=f"kernels-{gpu}",
        title=f"Kernels, by change per {step_name(comparison)}",
        first="Kernel",
        headings=tuple(
            Heading.of(
                KERNEL_CHANGES[name],
                brief=name in _BRIEF,
                on_page=name not in _FURTHER,
                short=SHORT_TITLES.get(name, ""),
                spare=int(name == "base_tensor_active_pct"),
            )
            for name in _COLUMNS
        ),
        rows=tuple(_kernel_row(row) for row in kept.to_dict("records")),
        hidden=len(rows) - len(kept),
        more=_KERNELS_LEFT_OUT,
        gpu=gpu,
        search="part of a name",
    )


def describe_kernels(comparison: Comparison) -> tuple[str, ...]:
    """Say how much of the kernel time has a counterpart, whose figures these are, and what the statuses mean."""
    base, new = (
        units.format_pct(share) for share in (comparison.matching.base_matched_pct, comparison.matching.new_matched_pct)
    )
    named = [
        one_line(side.typical.recording.file, _LONGEST_FILE)
        for side in (comparison.base, comparison.new)
        if len(side.recordings) > 1
    ]
    return (
        f"Per {step_name(comparison)}, largest change in time first.",
        f"Matched kernels have {base} of the baseline's kernel time, and {new} of the other side's.",
        *([f"They come from one typical recording per side: {', '.join(named)}."] if named else []),
        _STATUSES,
    )


def _kernel_row(row: Mapping[Any, Any]) -> Row:
    sides = [side for side in _SIDES if row[f"{side}_name"]]
    names, short = (
        BECAME.join(dict.fromkeys(short_name(row[f"{side}_name"], length) for side in sides))
        for length in (LONGEST_NAME, SHORT_NAME)
    )
    full = dict.fromkeys(one_line(f"{row[f'{side}_name']} {row[f'{side}_geometry']}", LONGEST_NAME) for side in sides)
    cells = (
        Cell.word(row["status"]),
        Cell.signed_time(row["difference_ns"]),
        *_pair(KERNEL_CHANGES, row, sides, "ns"),
        *(
            fitted_cell(row[f"{side}_tensor_active_pct"], row[f"{side}_fit"]) if side in sides else _UNKNOWN
            for side in _SIDES
        ),
        _words(*(row[f"{side}_precision"] for side in sides)),
        _words(*(row[f"{side}_class"] for side in sides)),
        _words(row["path"]),
        *_pair(KERNEL_CHANGES, row, sides, "count"),
    )
    return Row(names, cells, full=BECAME.join(full), short=short, group=part_label(part_of_kernel(row)))


def _pair(schema: Schema, row: Mapping[Any, Any], sides: Sequence[str], figure: str) -> list[Cell]:
    names = {side: f"{side}_{figure}" for side in _SIDES}
    return [Cell.number(row[name], schema[name]) if side in sides else _UNKNOWN for side, name in names.items()]


def _words(*texts: str) -> Cell:
    lines = [one_line(text, 40) for text in texts]
    text = BECAME.join(dict.fromkeys(text or units.UNKNOWN for text in lines))
    return Cell(text, text if any(lines) else "")
