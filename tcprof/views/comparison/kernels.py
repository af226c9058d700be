"""The kernels whose time changed."""

from collections.abc import Mapping
from typing import Any

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.comparison import Comparison
from tcprof.comparison.waterfall import part_of_kernel
from tcprof.findings.compared.verdict import iteration_name
from tcprof.frames import KERNEL_CHANGES
from tcprof.untrusted import one_line
from tcprof.views.comparison.modules import SHORT_TITLES
from tcprof.views.comparison.waterfall import part_label
from tcprof.views.paths import LONGEST_NAME
from tcprof.views.recording.kernels import SHORT_NAME, fitted_cell
from tcprof.views.tables import BECAME, Cell, Heading, Row, Table, heading, number_cell, signed_time_cell, word_cell

MOST_KERNELS = 500
_LONGEST_FILE = 80
_LEFT_OUT = (
    "more kernels are not in this table: those whose time changed least. 'tcprof compare --limit 0' lists all of them."
)
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
_NONE = Cell(units.UNKNOWN)


def list_kernel_changes(comparison: Comparison, gpu: int, most: int | None = None) -> Table:
    """The kernels that were matched, renamed, are new or gone, those whose time per iteration changed most first."""
    changes = comparison.matching.changes
    rows = changes[changes["gpu"] == gpu]
    kept = rows.head(most) if most else rows
    return Table(
        name=f"kernels-{gpu}",
        title=f"kernels, by change per {iteration_name(comparison)}",
        first="Kernel",
        headings=tuple(_heading(name) for name in _COLUMNS),
        rows=tuple(_row(row) for row in kept.to_dict("records")),
        hidden=len(rows) - len(kept),
        more=_LEFT_OUT,
        gpu=gpu,
        search="part of a name",
    )


def describe_kernels(comparison: Comparison) -> tuple[str, ...]:
    """How much of the kernel time has a counterpart, whose figures these are, and what the statuses mean."""
    base, new = (
        units.format_pct(share) for share in (comparison.matching.base_matched_pct, comparison.matching.new_matched_pct)
    )
    named = [
        one_line(side.typical.recording.file, _LONGEST_FILE)
        for side in (comparison.base, comparison.new)
        if len(side.recordings) > 1
    ]
    told = [
        f"Per {iteration_name(comparison)}, those whose time changed most first.",
        f"Matched kernels have {base} of the baseline's kernel time, and {new} of the other side's.",
    ]
    if named:
        told.append(f"They are those of one typical recording of a side: {', '.join(named)}.")
    return (*told, _STATUSES)


def _heading(name: str) -> Heading:
    spare = int(name == "base_tensor_active_pct")  # on a narrow terminal
    shown, short = name not in _FURTHER, SHORT_TITLES.get(name, "")
    return heading(KERNEL_CHANGES[name], brief=name in _BRIEF, shown=shown, short=short, spare=spare)


def _row(row: Mapping[Any, Any]) -> Row:
    sides = [side for side in ("base", "new") if row[f"{side}_name"]]
    names, short = (
        BECAME.join(dict.fromkeys(short_name(row[f"{side}_name"], length) for side in sides))
        for length in (LONGEST_NAME, SHORT_NAME)
    )
    full = dict.fromkeys(one_line(f"{row[f'{side}_name']} {row[f'{side}_geometry']}", LONGEST_NAME) for side in sides)
    cells = (
        word_cell(row["status"]),
        signed_time_cell(row["difference_ns"]),
        *_pair(row, sides, "ns"),
        *(
            fitted_cell(row[f"{side}_tensor_active_pct"], row[f"{side}_fit"]) if side in sides else _NONE
            for side in ("base", "new")
        ),
        _words(*(row[f"{side}_precision"] for side in sides)),
        _words(*(row[f"{side}_class"] for side in sides)),
        _words(row["path"]),
        *_pair(row, sides, "count"),
    )
    return Row(names, cells, full=BECAME.join(full), short=short, group=part_label(part_of_kernel(row)))


def _pair(row: Mapping[Any, Any], sides: list[str], figure: str) -> list[Cell]:
    names = {side: f"{side}_{figure}" for side in ("base", "new")}
    return [number_cell(row[name], KERNEL_CHANGES[name]) if side in sides else _NONE for side, name in names.items()]


def _words(*texts: str) -> Cell:
    known = [one_line(text, 40) for text in texts]
    shown = BECAME.join(dict.fromkeys(text or units.UNKNOWN for text in known))
    return Cell(shown, shown if any(known) else "")
