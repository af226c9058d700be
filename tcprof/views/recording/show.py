"""The first look at a recording: its figures, the verdict, what to do, and what loses most, on one screen."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.gpu_selection import busiest_gpus
from tcprof.analysis.range_folding import find_alike, fold_alike
from tcprof.analysis.steps.marked_steps import counted_paths
from tcprof.arrays import rows_of_gpu
from tcprof.findings import Findings, count_checks, summarize_checks
from tcprof.findings.advise import advise
from tcprof.findings.notes import describe_peaks, describe_utilization
from tcprof.findings.pricing.advice import Advice
from tcprof.findings.steps import from_kernel_order
from tcprof.frames import HEADLINE, OPS_DOMAIN
from tcprof.views import Order
from tcprof.views.document import Document, Medium, Notes, Only, Part, Section
from tcprof.views.paths import keep_largest, path_rows
from tcprof.views.recording import count_notes, describe_base, head, make_document, make_table
from tcprof.views.recording.advice import MOST_SHOWN, view_best
from tcprof.views.recording.kernels import list_kernels
from tcprof.views.recording.modules import list_modules
from tcprof.views.recording.ranges import OWN_DOMAINS
from tcprof.views.recording.time import list_kind_tables
from tcprof.views.tables import Cell, Heading, Table

MOST_ROWS = 5  # of a table, so that all of it is one screen:
_LINES, _COLUMNS, _HEAD = 30, 78, 3  # its lines, the text in a line, and the head of a table
_MOST_GPUS = 4  # with a line each
_SMALL = 0.01  # of a step: shorter ranges of libraries are left out
_END = "\0"  # of a domain before a path
_MODULE_COLUMNS = ("kernel_ns", "forward_tensor_active_pct", "backward_tensor_active_pct", "tensor_peak_pct", "lost_ns")
_KERNEL_COLUMNS = ("total_ns", "tensor_active_pct", "precision", "bound")


def view_recording(
    analysis: Analysis, findings: Findings, limit: int | None = None, with_notes: bool = False
) -> Document:
    """A recording: on one screen what a first look should see, on a page all of it.

    Args:
        limit: Rows of each table of the screen; None for as many as it has, at most ``MOST_ROWS``.
        with_notes: Whether the screen also has the rest of the verdict, the checks, all GPUs, the kinds of steps, and
            what the figures are over.
    """
    (gpu,) = busiest_gpus(analysis, 1)
    kernels = rows_of_gpu(analysis.kernels, gpu).head(limit or MOST_ROWS)
    parts = (
        Only(Medium.SCREEN, partial(_list_screen, analysis, findings, gpu, kernels, limit, with_notes)),
        Only(Medium.PAGE, partial(_list_page, analysis, findings)),
    )
    base, rows = describe_base(analysis), analysis.ranges
    shown = {"ranges": rows, "kernels": kernels}
    return make_document(analysis, findings, "recording", parts, shown, base=base, rows=rows, remarks=findings.warnings)


def _list_page(analysis: Analysis, findings: Findings) -> tuple[Part, ...]:
    from tcprof.views.recording.report import list_page_parts  # with its figures, which the screen has not

    return list_page_parts(analysis, findings)


def _list_screen(
    analysis: Analysis, findings: Findings, gpu: int, kernels: pd.DataFrame, limit: int | None, with_notes: bool
) -> tuple[Part, ...]:
    """Tables of the busiest GPU alone, and of several its verdict."""
    advice, base = advise(analysis), describe_base(analysis)
    texts = _list_texts(analysis, findings, gpu, advice, with_notes)
    places = _list_places(analysis, gpu, limit or MOST_ROWS)
    if limit is None and not with_notes:
        most = _rows_that_fit((Notes(findings.faults), *texts), any(table.hidden for table in places))
        places = _list_places(analysis, gpu, most)
        kernels = kernels.head(most)
    kinds = list_kind_tables(analysis) if with_notes else []
    more = (*(sentence for each in findings.gpus for sentence in each.details), *describe_utilization(analysis))
    notes = (*more, *summarize_checks(findings.checks), *base, *describe_peaks(analysis))
    return (
        *texts,
        *([Section("kinds", "", tuple(kinds))] if kinds else []),
        *places,
        *(_cut(table, _KERNEL_COLUMNS) for table in list_kernels(analysis, kernels)),
        Notes(notes if with_notes else (_count_rest(findings, len(base), len(advice)),)),
    )


def view_verdict_in_short(analysis: Analysis, findings: Findings) -> Document:
    """The sentences that ``view_recording`` begins with, for one of several recordings of a program."""
    (gpu,), advice = busiest_gpus(analysis, 1), advise(analysis)
    texts = _list_texts(analysis, findings, gpu, advice, with_notes=False)
    return Document("recording", texts, faults=findings.faults, warnings=findings.warnings)


def _list_texts(
    analysis: Analysis, findings: Findings, gpu: int, advice: Sequence[Advice], with_notes: bool
) -> tuple[Notes, ...]:
    """The first lines, the verdict and the best advice; of several GPUs the verdict on the busiest, unless in full."""
    lines, headline = head(analysis, findings).lines, findings.headline
    if not with_notes:
        number = [each.gpu for each in findings.gpus].index(gpu)
        headline = headline[number : number + 1]
        if len(findings.gpus) > _MOST_GPUS:
            lines = (*lines[: 1 + _MOST_GPUS], f"{len(findings.gpus) - _MOST_GPUS} more GPUs: --notes")
    if analysis.tensor_source == "none":
        lines = (lines[0], f"No samples of Tensor Active. {analysis.recording.remedies.metrics}", *lines[1:])
    return Notes(lines), Notes(headline), Notes(view_best(analysis, advice))


def _rows_that_fit(texts: Sequence[Notes], has_hidden: bool) -> int:
    """How many rows each of two tables may have beside these texts and a last line, with a blank line before each."""
    lines = sum(-(-len(line) // _COLUMNS) for text in texts for line in text.lines)
    blank = sum(bool(text.lines) for text in texts) + 2
    return min(max((_LINES - lines - blank - 1 - 2 * _HEAD - has_hidden) // 2, 1), MOST_ROWS)


def _count_rest(findings: Findings, base: int, advice: int) -> str:
    notes = count_notes(len(findings.warnings) + base)
    more = f"{units.format_things(advice, 'finding')} in all: tcprof advise"
    return "; ".join((count_checks(findings.checks), notes, *([more] if advice > MOST_SHOWN else [])))


def _cut(table: Table, columns: tuple[str, ...]) -> Table:
    """A table with only the columns whose first one in a file is among these, and nothing on what else there is."""
    kept = [place for place, heading in enumerate(table.headings) if heading.columns[0] in columns]
    rows = tuple(replace(row, cells=tuple(row.cells[place] for place in kept)) for row in table.rows)
    headings = tuple(replace(table.headings[each], note="") for each in kept)
    return _name_gpu(replace(table, headings=headings, rows=rows, hidden=0, is_cut=True))


def _name_gpu(table: Table) -> Table:
    """A table of one of several GPUs, which is named in its head rather than on a line of its own."""
    return replace(table, title="", first=f"{table.first}, GPU {table.gpu}") if table.title else table


def _list_places(analysis: Analysis, gpu: int, limit: int) -> list[Table]:
    """The modules that lose most, or where none is known the ranges."""
    if len(modules := rows_of_gpu(analysis.modules, gpu)):
        return [_cut(table, _MODULE_COLUMNS) for table in list_modules(analysis, modules, limit, Order.LOST)]
    rows = rows_of_gpu(analysis.ranges, gpu)
    idle = rows_of_gpu(analysis.timeline, gpu).set_index("path_id")["idle_ns"]
    rows = rows.assign(idle_ns=idle.reindex(rows["path_id"]).to_numpy())
    steps = analysis.step_summary[analysis.step_summary["gpu"] == gpu]
    found, count = _in_steps(analysis, rows)
    is_of_capture = from_kernel_order(analysis) and (rows["depth"] > 0).sum() > len(found)  # the program's own say more
    if count and len(steps) and not is_of_capture:
        return _set_ranges(analysis, gpu, found, count, steps["total_ns"].iloc[0], limit)
    capture = rows[rows["depth"] == 0]
    return _set_ranges(analysis, gpu, rows, 0, float(capture["gpu_window_ns"].sum()), limit)


def _in_steps(analysis: Analysis, rows: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """The ranges in steps, those of all steps in one row each, and the number of steps that they are the sums of.

    Whatever the ranges around the steps are called.
    """
    steps = set(counted_paths(analysis.steps))  # of the kind that figures are of
    path = dict(zip(rows["path_id"], rows["path"], strict=True))
    parent = dict(zip(rows["path_id"], rows["parent_id"], strict=True))
    inner: dict[int, str] = {}
    for each in rows["path_id"].tolist():  # after what it lies in
        if path[each] in steps:
            inner[each] = ""
        elif parent[each] in inner:
            inner[each] = inner[parent[each]] + path[each].removeprefix(path[parent[each]])
    found = rows[rows["path_id"].isin(inner)]
    count = int(found["instance_count"][found["path"].isin(steps)].sum())
    relative = found["name"].where(found["path"].isin(steps), "") + found["path_id"].map(inner)
    number, _ = pd.factorize(found["domain"] + _END + found["path_id"].map(inner))
    names = pd.DataFrame({"number": number, "label": ""}, index=found["path_id"])
    return fold_alike(found.assign(path=relative), names).drop(columns=["label", "alike_count"]), count


def _set_ranges(
    analysis: Analysis, gpu: int, rows: pd.DataFrame, count: int, whole_ns: float, limit: int
) -> list[Table]:
    """The ranges that lose most, without PyTorch's ops and small ranges of libraries.

    Args:
        count: How many steps the figures are the mean of; 0 for sums.
    """
    is_op = rows["domain"] == OPS_DOMAIN
    is_small = ~rows["domain"].isin(OWN_DOMAINS) & ~(rows["gpu_window_ns"] >= _SMALL * whole_ns)
    known = rows[~(is_op | is_small)]
    if not (known["depth"] > 0).any():
        return []
    tree = fold_alike(known, find_alike(known))
    active = (tree[HEADLINE.name] / 100).fillna(0.0)
    kept = keep_largest(tree, tree["gpu_window_ns"] * (1 - active), limit)
    column = HEADLINE.column
    headings = (
        Heading("GPU window", unit="ns", after=("Share %",)),
        Heading.of(column),
        Heading("GPU idle", unit="pct"),
    )
    cells = [
        (
            Cell.share(row["gpu_window_ns"] / max(count, 1), whole_ns / max(count, 1)),
            Cell.of_column(row, column),
            Cell.percent(100 * row["idle_ns"] / row["gpu_window_ns"] if row["gpu_window_ns"] > 0 else np.nan),
        )
        for row in kept.to_dict("records")
    ]
    what = "mean per step" if count else "sums"
    hidden = int(is_small.sum())
    more = f"{'library range' if hidden == 1 else 'library ranges'} under 1 % hidden: tcprof ranges --all"
    rows_shown = path_rows(kept, cells)
    found = make_table(
        analysis, gpu, "Ranges that lose most", f"Range ({what})", headings, rows_shown, hidden=hidden, more=more
    )
    return [_name_gpu(replace(found, is_cut=True))]
