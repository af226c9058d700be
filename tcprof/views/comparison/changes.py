"""The modules and the kernels whose time changed."""

from collections.abc import Mapping, Sequence
from typing import Any

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.modules.tree import ALL
from tcprof.comparison import Comparison
from tcprof.comparison.statistics.verdicts import INCONCLUSIVE
from tcprof.comparison.waterfall import part_of_kernel
from tcprof.findings.compared.verdict import step_name
from tcprof.findings.notes import are_resolved
from tcprof.frames import KERNEL_CHANGES, MODULE_CHANGES, Schema
from tcprof.untrusted import one_line
from tcprof.views.comparison.waterfall import part_label
from tcprof.views.paths import LONGEST_NAME, keep_largest
from tcprof.views.recording.kernels import SHORT_NAME, fitted_cell
from tcprof.views.recording.modules import ALL_KERNELS
from tcprof.views.tables import BECAME, Cell, Heading, Row, Table, sort_key

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
    "Means per step over the kernels of each module, with all modules in it; * stands for all layers of a list. ~ "
    "marks changes that are inconclusive. The interval of a change of Tensor Active includes that of the fit; where "
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
    "same: name and launch geometry agree; renamed: matched by place or by name, with another name or geometry; new "
    "and removed have no counterpart; hidden ones may be in a CUDA graph that the other side recorded as a whole."
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
