"""Where the time of a recording went, what its figures rest on, and its iterations."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.findings import Findings
from tcprof.findings.checks import describe_clocks
from tcprof.findings.notes import name_iterations
from tcprof.frames import HEADLINE, LEDGER, TIMELINE
from tcprof.untrusted import one_line
from tcprof.views import ROWS_SHOWN
from tcprof.views.document import Document, Notes, Part
from tcprof.views.figures.time_classes import shown_classes
from tcprof.views.paths import LEFT_OUT, keep_longest, path_rows
from tcprof.views.recording.facts import describe_base, describe_recording, make_document, make_table, split_by_gpu
from tcprof.views.recording.kernels import describe_fit
from tcprof.views.tables import Cell, Row, Table, heading, share_cell, sort_key, time_cell, word_cell

NOTABLE_PCT = 1.0  # entries of the ledger below this are not worth a remedy
# On a narrow terminal; the last one first.
_SPARE = (
    "memory_bound",
    "fp32_bound",
    "graph",
    "communication",
    "unresolved_kernel",
    "copy",
    "issue_bound",
    "small_grid",
)
MEANING = (
    "Each nanosecond of the GPU windows, from a range's first activity to its last, is in exactly one class, the first "
    "that applies. All GPU work in the window counts, whichever range launched it."
)

_NO_ITERATIONS = (
    "No iterations were found: no range of the program's with 5 instances holds most of the GPU's work, and the order "
    "of the kernels does not repeat."
)


def view_timeline(
    analysis: Analysis,
    findings: Findings,
    rows: pd.DataFrame,
    gpu: int | None = None,
    limit: int | None = ROWS_SHOWN,
) -> Document:
    """Where the time went.

    Args:
        gpu: Only the ledger of this GPU; None: of all.
        limit: Rows to show in tables, those with most time on the GPU and what these lie in; None for all.
    """
    frames = {"rows": rows, "ledger": analysis.ledger, "iterations": analysis.iterations, "clocks": analysis.clocks}
    base = describe_base(analysis)
    ledger = analysis.ledger if gpu is None else analysis.ledger[analysis.ledger["gpu"] == gpu]
    notes = (
        describe_recording(analysis),
        describe_fit(analysis),
        MEANING,
        *describe_iterations(analysis),
        *describe_clocks(analysis.clocks),
        *base,
    )
    parts: tuple[Part, ...] = (Notes(notes), *list_time(analysis, rows, limit), *list_ledger(analysis, ledger))
    warnings = (*list_remedies(analysis.ledger), *findings.warnings)
    return make_document(analysis, findings, "timeline", parts, frames, warnings=warnings, base=base, rows=rows)


def list_time(analysis: Analysis, rows: pd.DataFrame, most: int | None = None) -> list[Table]:
    """The share of each time class in the paths that took longest, of all GPUs ``most``; only classes that occur."""
    classes = shown_classes(rows)
    columns = [f"{name}_ns" for name in classes]
    headings = (
        heading(TIMELINE["window_ns"]),
        *(
            heading(
                TIMELINE[column],
                unit="pct",
                columns=(column, f"{name}_pct"),
                spare=_SPARE.index(name) + 1 if name in _SPARE else 0,
            )
            for name, column in zip(classes, columns, strict=True)
        ),
    )
    tables = []
    for gpu, of_gpu in split_by_gpu(rows):
        kept = of_gpu
        if most is not None:
            kept = keep_longest(of_gpu, of_gpu["window_ns"], most // rows["gpu"].nunique())
        cells = [_time_cells(row, columns) for row in kept.to_dict("records")]
        further = {"hidden": len(of_gpu) - len(kept), "more": LEFT_OUT.format(command="timeline --limit 0")}
        listed = path_rows(kept, cells)
        tables.append(
            make_table(analysis, gpu, "Time on", "Range", headings, listed, search="part of a path", **further)
        )
    return tables


def _time_cells(row: Mapping[Any, Any], columns: list[str]) -> tuple[Cell, ...]:
    window = row["window_ns"] if row["window_ns"] > 0 else math.nan
    cells = [time_cell(window)]
    for column in columns:
        share = 100 * row[column] / window
        values = (sort_key(row[column]), sort_key(share))
        cells.append(Cell(units.format_pct(share), values[1], values=values))
    return tuple(cells)


def list_ledger(analysis: Analysis, rows: pd.DataFrame) -> list[Table]:
    """What the figures rest on, one table for each GPU: accounts, and below each what became of its parts."""
    headings = (
        heading(LEDGER["seconds"], columns=("seconds", "share_pct"), after=("%",)),
        heading(LEDGER["remedy"], brief=False),
    )
    tables = []
    for gpu, of_gpu in split_by_gpu(rows):
        listed: list[Row] = []
        for account, parts in of_gpu.groupby("account", sort=False):
            total_ns = 1e9 * float(parts["seconds"].sum())
            listed.append(Row(str(account), (share_cell(total_ns, total_ns, "s"), Cell("", ""))))
            listed += [_ledger_row(entry, total_ns) for entry in parts.to_dict("records")]
        tables.append(make_table(analysis, gpu, "Ledger of", "Ledger", headings, listed))
    return tables


def _ledger_row(entry: Mapping[Any, Any], total_ns: float) -> Row:
    remedy = one_line(entry["remedy"], 200) if entry["seconds"] > 0 else ""
    cells = (share_cell(1e9 * entry["seconds"], total_ns, "s"), word_cell(remedy))
    return Row(one_line(entry["entry"], 90), cells, depth=2, ancestors=f"{entry['account']}: ", nested=True)


def list_remedies(ledger: pd.DataFrame) -> tuple[str, ...]:
    """What would record better, for the parts of the ledger that matter."""
    wanted = ledger[(ledger["remedy"] != "") & (ledger["share_pct"] >= NOTABLE_PCT)]
    return tuple(
        f"{units.format_pct(share)} of the {account}: {entry}. To fix this: {remedy}."
        for account, entry, share, remedy in zip(
            wanted["account"], wanted["entry"], wanted["share_pct"], wanted["remedy"], strict=True
        )
    )


def describe_iterations(analysis: Analysis) -> tuple[str, ...]:
    """What an iteration takes, in a line for each GPU: medians without warm-up."""
    iterations, name, lines = analysis.iterations, name_iterations(analysis), []
    for gpu, of_gpu in iterations.groupby("gpu", sort=True):
        rest = of_gpu[~of_gpu["warm_up"]]
        where = f"GPU {gpu}: " if iterations["gpu"].nunique() > 1 else ""
        lines.append(
            f"{where}{units.format_count(len(rest))} iterations of {name}, medians: host time "
            f"{units.format_ns(rest['host_ns'].median())}, GPU window "
            f"{units.format_ns(rest['gpu_window_ns'].median())}, kernels "
            f"{units.format_ns(rest['kernel_ns'].median())}, Tensor Active "
            f"{units.format_pct(rest[HEADLINE.name].median())}."
        )
    return tuple(lines) or (_NO_ITERATIONS,)


def view_iterations(analysis: Analysis, findings: Findings) -> Document:
    """What an iteration takes, for one of several recordings of a program."""
    return Document(
        kind="iterations",
        parts=(Notes(describe_iterations(analysis)),),
        faults=findings.faults,
        warnings=findings.warnings,
    )
