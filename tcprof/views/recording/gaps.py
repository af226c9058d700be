"""Where a GPU is idle: its idle time by cause and range, and its longest gaps."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.gaps import SHORT_NS, Gaps
from tcprof.findings import Findings
from tcprof.frames import GAP_SUMS, GAPS, Column
from tcprof.untrusted import one_line
from tcprof.views import ROWS_SHOWN
from tcprof.views.document import Document, Part
from tcprof.views.paths import LEFT_OUT, LONGEST_NAME, without_repeats
from tcprof.views.recording import describe_base, head, list_notes, make_document, make_table, split_by_gpu
from tcprof.views.tables import Cell, Heading, Row, Table, sort_key

MEANING = (
    "Saves at most: what removing a gap saves per mean step as recorded; profiling lengthens launches. Causes are "
    "those of the advice ('tcprof advise'), and the range is the innermost one that is open on the CPU.",
    "Where the CPU first waits and then works long, a gap counts for both causes. No figure includes the time before "
    "the GPU's first activity and after its last.",
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
        list_notes(findings.remarks, (*MEANING, *base), with_notes),
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
        causes["longest_ns"] = gpu_rows.groupby("cause", sort=False)["longest_ns"].max()
        listed = []
        for row in causes.sort_values("saving_ns", ascending=False, kind="stable").reset_index().to_dict("records"):
            listed.append(Row(row["cause"] or "unknown", _cells(row, _SUMS)))
            parts = kept[kept["cause"] == row["cause"]].to_dict("records")
            listed += [Row(_name_part(part), _cells(part, _SUMS), 2, nested=True) for part in parts]
        further = {"hidden": len(gpu_rows) - len(kept), "more": LEFT_OUT.format(command=_ALL)}
        tables.append(make_table(analysis, gpu, "Idle time of", "Idle time by cause", headings, listed, **further))
    return tables


def _name_part(part: Mapping[Any, Any]) -> str:
    place = without_repeats(part["path"]) if part["path"] else "in no range"
    place = f"gaps up to {units.format_ns(SHORT_NS)}" if part["short"] else place
    return one_line(f"{place}: {part['wait']}" if part["wait"] else place, LONGEST_NAME)


def _list_longest(analysis: Analysis, gaps: pd.DataFrame, limit: int | None) -> list[Table]:
    """List the longest gaps of each GPU, so many, None for all."""
    headings = (
        Heading("Length", "From the end of the previous work to the start of the next.", "ns", columns=("length_ns",)),
        *(Heading.of(GAPS[name], spare=spare) for name, spare in _OF_GAP.items()),
    )
    tables = []
    for gpu, gpu_rows in split_by_gpu(gaps.assign(length_ns=gaps["end_ns"] - gaps["start_ns"])):
        longest = gpu_rows.sort_values("length_ns", ascending=False, kind="stable")
        longest = longest.head(len(gpu_rows) if limit is None else limit)
        listed = [Row(f"{row['number']}", _describe(row)) for row in longest.to_dict("records")]
        further = {"hidden": len(gpu_rows) - len(longest), "more": LEFT_OUT.format(command=_ALL)}
        tables.append(make_table(analysis, gpu, "Gaps of", "Longest gaps", headings, listed, **further))
    return tables


def _describe(row: Mapping[Any, Any]) -> tuple[Cell, ...]:
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


def _cells(row: Mapping[Any, Any], columns: tuple[Column, ...]) -> tuple[Cell, ...]:
    return tuple(Cell.number(row[column.name], column) for column in columns)
