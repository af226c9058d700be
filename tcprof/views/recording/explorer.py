"""One table of a recording's modules, ranges, kernels and gaps: grouped by one, down to each kernel in its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.modules.tree import ALL
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.analysis.time.account import TIME_CLASSES, classes_of_activities
from tcprof.annotate.steps import NAMES, STEP
from tcprof.findings.finding import class_title
from tcprof.findings.notes import describe_module_coverage, describe_modules, describe_unresolved, describe_useful
from tcprof.untrusted import one_line
from tcprof.views.document import Explorer, Grouping, KernelUse, Line
from tcprof.views.paths import LONGEST_NAME, without_repeats
from tcprof.views.recording.kernels import list_kernels
from tcprof.views.recording.modules import list_modules
from tcprof.views.recording.ranges import list_ranges
from tcprof.views.recording.time import ABOUT_GAPS, list_sums, list_time
from tcprof.views.tables import Cell, Heading, Row, Table, bar_length, sort_key

MOST_CAUSES = 100  # of idle time, each in a range
MOST_LINES = 10_000  # of the rows of all GPUs, and of the kernels below them
_LOST = Heading(
    "Tensor Cores idle",
    "Its time x (1 - Tensor Active): how long the Tensor Cores were idle during it.",
    unit="ns",
    columns=("lost_time_ns",),
)
_TIMES = ("kernel_ns", "total_ns", "gpu_window_ns", "host_ns", "busy_ns")  # one of them is a table's first column
_ACTIVE = ("tensor_active_pct", "tensor_active_mean_pct")
_PHASES = NAMES - {STEP}


def list_explorer(
    analysis: Analysis, gap_sums: pd.DataFrame, of_ranges: tuple[str, ...], of_kernels: str
) -> tuple[Explorer, ...]:
    """List the table of a recording, with what is said of ranges and kernels; none where it has neither."""
    launches = _read_launches(analysis)
    most = MOST_LINES // max(len(analysis.gpus), 1)
    notes = (describe_modules(analysis), *describe_module_coverage(analysis), *describe_useful(analysis))
    of_modules = " ".join((*notes, describe_unresolved(analysis.modules))).rstrip()
    single = {table.gpu: table for table in list_modules(analysis, analysis.modules, most, fold=False)}
    groupings = [
        *(
            _by_module(analysis, launches, table, single[table.gpu], of_modules)
            for table in list_modules(analysis, analysis.modules, most)
        ),
        *(
            _by_range(analysis, launches, table, of_ranges)
            for table in list_ranges(analysis, analysis.ranges, MOST_LINES)
        ),
        *(
            _by_kernel(analysis, launches, table, of_kernels)
            for table in list_kernels(analysis, analysis.kernels, limit=most)
        ),
    ]
    completed = tuple(_complete(grouping) for grouping in groupings)
    of_gaps = tuple(map(_by_gap, list_sums(analysis, gap_sums, MOST_CAUSES)))
    return (Explorer((*completed, *of_gaps)),) if completed else ()


def _read_launches(analysis: Analysis) -> pd.DataFrame:
    """Read each launch of a kernel with its module's number, its path, its phase and its class."""
    launched = analysis.kernel_instances
    module, path = launched["module"].to_numpy(), launched["path_id"].to_numpy()
    of_module = np.append(analysis.modules["phase"].to_numpy(object), "")[module]
    of_path = np.array([*map(_phase_of, analysis.paths["path"]), ""], dtype=object)[path]
    classes = classes_of_activities(analysis.activities, launched, analysis.kernels)
    return launched[["gpu", "kernel", "path_id", "duration_ns", "tensor_active_ns"]].assign(
        module_id=np.append(analysis.modules["module_id"].to_numpy(np.int64), -1)[module],
        phase=np.where(module >= 0, of_module, of_path),
        time_class=classes[launched["activity"].to_numpy()],
        steady=(module >= 0) & are_counted(launched, analysis.steps),
    )


def _phase_of(path: str) -> str:
    return next((name for name in reversed(path.split(SEPARATOR)) if name in _PHASES), "")


@dataclass(frozen=True)
class _UseCells:
    """Launches of a kernel in a place, with what the columns of a table have of them."""

    kernel: int
    key: int
    site: KernelUse
    cells: Mapping[str, Cell]


def _places(analysis: Analysis, launches: pd.DataFrame, by: str, steps: int, whole_ns: float) -> list[_UseCells]:
    """Group the launches by kernel, place and phase, those that took longest first; means over so many steps."""
    keys = ["kernel", by, "phase", "time_class"]
    groups = launches.groupby(keys, sort=False)
    sums = groups.agg(count=("duration_ns", "size"), ns=("duration_ns", "sum"))
    sums = sums.assign(active_ns=groups["tensor_active_ns"].sum(min_count=1))
    longest = sums.reset_index().sort_values("ns", ascending=False, kind="stable").head(MOST_LINES)
    kernels = analysis.kernels
    precision, is_tensor = kernels["precision"].to_numpy(object), kernels["tensor_kernel"].to_numpy(bool)
    places = []
    for row in longest.itertuples(index=False):
        active = 100 * row.active_ns / row.ns if row.ns > 0 else np.nan
        time, count = Cell.share(row.ns / steps, whole_ns), row.count / steps
        counted = Cell(units.format_count(count) if steps == 1 else f"{count:.4g}", sort_key(count))
        percent = Cell(units.format_pct(active), sort_key(active), bar=bar_length(active))
        cells = {"kernel_ns": time, "total_ns": time, "kernel_count": counted, "launch_count": counted}
        cells |= dict.fromkeys(_ACTIVE, percent)
        traits = (str(precision[row.kernel]), class_title(TIME_CLASSES[row.time_class]), bool(is_tensor[row.kernel]))
        site = KernelUse(row.phase, *traits, row.ns / steps)
        places.append(_UseCells(int(row.kernel), int(getattr(row, by)), site, cells))
    return places


def _below(places: Sequence[_UseCells], analysis: Analysis, headings: Sequence[Heading]) -> dict[int, list[Line]]:
    """Make lines of the kernels of each place, which lie in none yet."""
    names, geometry = analysis.kernels["name"].tolist(), analysis.kernels["launch_geometry"].tolist()
    lines: dict[int, list[Line]] = {}
    for place in places:
        name, sizes = names[place.kernel], geometry[place.kernel]
        row = Row(
            short_name(name, LONGEST_NAME),
            _cells(place, headings),
            tag=" · ".join(filter(None, (place.site.phase, place.site.precision.upper(), one_line(sizes)))),
            full=one_line(f"{name} {sizes}", LONGEST_NAME),
            item=place.kernel,
        )
        lines.setdefault(place.key, []).append(Line(row, "kernel", site=place.site))
    return lines


def _cells(place: _UseCells, headings: Sequence[Heading]) -> tuple[Cell, ...]:
    return tuple(place.cells.get(heading.columns[0], Cell("")) for heading in headings)


def _append_kernels(lines: list[Line], below: Sequence[Line], has_others: bool, headings: Sequence[Heading]) -> None:
    """Add kernels, to lie in the last line; beside other rows they lie in a row of their own there."""
    if below and has_others:
        time = Cell.time(sum(line.site.ns for line in below if line.site))
        cells = tuple(time if heading.columns[0] in _TIMES[:2] else Cell("") for heading in headings)
        title = f"{units.format_things(len(below), 'kernel')} of its own"
        lines.append(Line(Row(title, cells), "", len(lines) - 1))
    parent = len(lines) - 1
    lines.extend(replace(line, parent=parent) for line in below)


def _parents(rows: Sequence[Row]) -> list[int]:
    """Find the row that each row lies in, by their depths; -1 for none."""
    parents: list[int] = []
    around: list[int] = []
    for place, row in enumerate(rows):
        while around and rows[around[-1]].depth >= row.depth:
            around.pop()
        parents.append(around[-1] if around else -1)
        around.append(place)
    return parents


def _by_module(analysis: Analysis, launches: pd.DataFrame, table: Table, single: Table, note: str) -> Grouping:
    whole_rows = analysis.modules[(analysis.modules["gpu"] == table.gpu) & (analysis.modules["depth"] == 0)]
    whole = whole_rows[whole_rows["phase"] == ALL].iloc[0]
    steps = max(int(whole["step_count"]), 1)
    gpu_launches = launches[launches["steady"] & (launches["gpu"] == table.gpu)]
    below = _below(
        _places(analysis, gpu_launches, "module_id", steps, whole["kernel_ns"] / steps), analysis, table.headings
    )
    lines: list[Line] = []
    at: dict[int, int] = {}
    parents = _parents(table.rows)
    holding = set(parents)
    for place, row in enumerate(table.rows):
        around = at.get(parents[place], -1)
        at[place] = len(lines)
        lines.append(Line(row, "modules" if row.alike else "module" if row.item >= 0 else "", around))
        if not row.alike:
            _append_kernels(lines, below.get(row.item, ()), place in holding, table.headings)
        elif around < 0 or not lines[around].row.alike:
            heading_row = Row(f"each of these {units.format_count(len(row.alike))}", (), depth=row.depth + 1)
            lines.append(Line(heading_row, "", at[place]))
            _add_members(lines, row.alike, single, below)
    return Grouping("module", replace(table, rows=()), tuple(lines), (note,))


def _add_members(lines: list[Line], members: Sequence[int], single: Table, below: Mapping[int, Sequence[Line]]) -> None:
    """Add modules by their numbers with all in them, to lie in the last line."""
    rows, head = single.rows, len(lines) - 1
    parents = _parents(rows)
    holding, wanted = set(parents), set(members)
    at: dict[int, int] = {}
    for place, row in enumerate(rows):
        around = head if row.item in wanted else at.get(parents[place], -1)
        if around < 0:
            continue
        at[place] = len(lines)
        lines.append(Line(row, "module", around))
        _append_kernels(lines, below.get(row.item, ()), place in holding, single.headings)


def _by_range(analysis: Analysis, launches: pd.DataFrame, table: Table, notes: tuple[str, ...]) -> Grouping:
    frame = analysis.timeline[analysis.timeline["gpu"] == table.gpu]
    (times,) = list_time(analysis, frame) or (None,)
    rows, headings = table.rows, table.headings
    if times:  # with the share of each time class
        of_path = dict(zip(frame["path_id"], (row.cells[1:] for row in times.rows), strict=True))
        unknown = (Cell("–", ""),) * (len(times.headings) - 1)  # of the whole capture, where no work was recorded
        rows = tuple(replace(row, cells=(*row.cells, *of_path.get(row.item, unknown))) for row in rows)
        headings = (*headings, *(replace(heading, on_page=False) for heading in times.headings[1:]))
    places = _places(analysis, launches[launches["gpu"] == table.gpu], "path_id", 1, np.nan)
    below, parents, at = _below(places, analysis, headings), _parents(rows), {-1: -1}
    holding, whole = set(parents), analysis.paths["path"].tolist()
    lines: list[Line] = []
    for place, row in enumerate(rows):
        at[place] = len(lines)
        full = one_line(whole[row.item], LONGEST_NAME) if row.item >= 0 else row.name
        lines.append(Line(replace(row, full=full), "range" if row.item >= 0 else "", at[parents[place]]))
        _append_kernels(lines, below.get(row.item, ()), place in holding, headings)
    return Grouping("range", replace(table, headings=headings, rows=()), tuple(lines), notes)


def _by_kernel(analysis: Analysis, launches: pd.DataFrame, table: Table, note: str) -> Grouping:
    """Group each kernel, and in it the modules, or where no kernel has one the ranges, that launch it."""
    gpu_launches = launches[launches["gpu"] == table.gpu]
    by, kind = ("module_id", "module") if (gpu_launches["module_id"] >= 0).any() else ("path_id", "range")
    paths = analysis.modules.drop_duplicates("module_id").set_index("module_id")["module"]
    names = paths if kind == "module" else analysis.paths["path"].map(without_repeats)
    whole = float(analysis.kernels.loc[analysis.kernels["gpu"] == table.gpu, "total_ns"].sum())
    below: dict[int, list[Line]] = {}
    for place in _places(analysis, gpu_launches, by, 1, whole):
        name = one_line(names.get(place.key, "") if place.key >= 0 else "", LONGEST_NAME) or f"(no {kind})"
        row = Row(name, _cells(place, table.headings), tag=place.site.phase, full=name, item=place.key)
        below.setdefault(place.kernel, []).append(Line(row, kind if place.key >= 0 else "", site=place.site))
    lines: list[Line] = []
    for row in table.rows:
        lines.append(Line(row, "kernel"))
        _append_kernels(lines, below.get(row.item, ()), False, table.headings)
    return Grouping("kernel", replace(table, rows=()), tuple(lines), (note,))


def _by_gap(table: Table) -> Grouping:
    """Group idle time by cause, and in it by range; a row selects the longest gap that it stands for."""
    whole = max((_number(row.cells, 0) for row in table.rows), default=np.nan) or np.nan
    lines = []
    for line in Grouping.of_table(table).lines:
        time, *further = line.row.cells
        time = replace(time, bar=bar_length(100 * _number((time,), 0) / whole), of_time=True)
        row = replace(line.row, cells=(time, *further))
        lines.append(replace(line, kind="gap" if row.item > 0 else "row", row=row))
    return Grouping("gap", replace(table, rows=()), tuple(lines), ABOUT_GAPS, is_ordered=True)


def _complete(grouping: Grouping) -> Grouping:
    """Put the lost time behind the first column, and drop columns in which no row has anything."""
    table, lines = grouping.table, grouping.lines
    names = [heading.columns[0] for heading in table.headings]
    active = next((names.index(name) for name in _ACTIVE if name in names), -1)
    whole = max((_number(line.row.cells, 0) for line in lines if line.row.cells), default=np.nan)
    time = {name: names.index(name) for name in _TIMES if name in names}
    made = []
    for line in lines:
        cells = line.row.cells or (Cell(""),) * len(names)
        at = next(iter(time.values())) if line.site else 0
        lost = _number(cells, at) * (1 - _number(cells, active) / 100) if active >= 0 else np.nan
        share = Cell(units.format_ns(lost), sort_key(lost), bar=bar_length(100 * lost / whole))
        made.append((*cells, share if line.row.cells else Cell("")))
    headings = (*table.headings, _LOST)
    first = [0, len(names), *((active,) if active >= 0 else ())]
    order = [*first, *(place for place in range(len(names)) if place not in first)]
    kept = [place for place in order if any(row[place].sort or any(row[place].values) for row in made)]
    full_lines = tuple(
        replace(line, row=replace(line.row, cells=tuple(row[place] for place in kept)))
        for line, row in zip(lines, made, strict=True)
    )
    return replace(grouping, table=replace(table, headings=tuple(headings[place] for place in kept)), lines=full_lines)


def _number(cells: Sequence[Cell], place: int) -> float:
    return float(cells[place].sort or "nan")
