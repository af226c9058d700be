"""The first look at a recording: its figures, the verdict, what to do, and what loses most, on one screen."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.analysis import busiest_gpus
from tcprof.analysis.folding import find_alike, fold_alike
from tcprof.analysis.gaps import Gaps, list_gaps
from tcprof.analysis.kernels.roofline import has_bytes
from tcprof.analysis.steps.marked_steps import counted_paths
from tcprof.arrays import return_freed_memory, rows_of_gpu
from tcprof.findings import Findings, count_checks, summarize_checks
from tcprof.findings.judge import keep_busiest
from tcprof.findings.notes import describe_peaks, describe_utilization, summarize_utilization
from tcprof.findings.pricing.advice import Advice
from tcprof.findings.steps import from_kernel_order
from tcprof.frames import HEADLINE, OPS_DOMAIN
from tcprof.untrusted import one_line
from tcprof.views import Order
from tcprof.views.document import (
    BASE,
    SUBTITLE,
    TITLE,
    WARNINGS,
    Chapter,
    Document,
    FactList,
    Figure,
    Medium,
    Notes,
    Only,
    Part,
    Section,
    Timeline,
)
from tcprof.views.figures.traces import shown_gpus
from tcprof.views.paths import keep_largest, path_rows
from tcprof.views.recording import (
    SOURCE_NOTES,
    WINDOW_MEANINGS,
    count_notes,
    describe_base,
    describe_date,
    head,
    list_provenance,
    make_document,
    make_table,
)
from tcprof.views.recording.advice import MOST_SHOWN, list_leads, view_best, view_sections
from tcprof.views.recording.explorer import list_explorer
from tcprof.views.recording.icicle import EXPLAINED, list_icicles
from tcprof.views.recording.kernels import NO_ROOFLINE, describe_fit, list_kernels, list_rooflines
from tcprof.views.recording.modules import list_modules
from tcprof.views.recording.ranges import OWN_DOMAINS
from tcprof.views.recording.summary import summarize
from tcprof.views.recording.time import (
    MEANING,
    MOST_POINTS,
    describe_steps,
    figure_step_strip,
    list_kind_tables,
    list_ledger,
)
from tcprof.views.tables import Cell, Heading, Table

MOST_ROWS = 5  # of a table, so that all of it is one screen:
_LINES, _COLUMNS, _HEAD = 30, 78, 3  # its lines, the text in a line, and the head of a table
_WITH_IDLE = "Ranges with the most Tensor Core idle time"
_MOST_GPUS = 4  # with a line each
_SMALL = 0.01  # of a step: shorter ranges of libraries are left out
_END = "\0"  # of a domain before a path
_MODULE_COLUMNS = ("kernel_ns", "forward_tensor_active_pct", "backward_tensor_active_pct", "tensor_peak_pct", "lost_ns")
_KERNEL_COLUMNS = ("total_ns", "tensor_active_pct", "precision", "bound")
_UNDRAWN = "There is nothing to draw: the recording has no samples, no work on a GPU and no ranges."
_ADVICE = "How to do it, and why"
_LEDGER = "Time accounting: what the figures are based on"
_STRIP = (
    "Dashed lines are medians without warm-up, bands their 95 % intervals; arrows mark values above the axis. Click a "
    "step to show it in the timeline."
)
_ACCOUNT = "All recorded time, and how tcprof accounts for it, including what could not be attributed or fitted."
_NAMES = "“Tensor Cores?” says “yes” if the counter and the name both say so."


def view_recording(
    analysis: Analysis, findings: Findings, advice: Sequence[Advice], limit: int | None = None, with_notes: bool = False
) -> Document:
    """Show on one screen what a first look should see, and on a page all of a recording.

    A table of the screen has ``limit`` rows, or as many as fit. With notes the screen also has the rest of the verdict,
    the checks, all GPUs, the roles of steps, and what the figures are over.
    """
    (gpu,) = busiest_gpus(analysis, 1)
    kernels, file = rows_of_gpu(analysis.kernels, gpu).head(limit or MOST_ROWS), one_line(analysis.recording.file, 160)
    texts = cache(partial(_list_texts, analysis, findings, advice, gpu, with_notes))
    drawn = cache(partial(keep_busiest, analysis, findings, advice))
    gaps = cache(lambda: list_gaps(drawn()[0]))
    parts = (
        Only(Medium.SCREEN, texts),
        Only(Medium.PAGE, lambda: (Notes((file,), TITLE), Notes((describe_date(analysis),), SUBTITLE))),
        Only(Medium.PAGE, lambda: summarize(*drawn()[:2])),
        Only(Medium.PAGE, lambda: _list_advice(*drawn())),
        Only(Medium.PAGE, lambda: _list_pictures(drawn()[0], gaps())),
        Only(Medium.SCREEN, lambda: list_kind_tables(analysis) if with_notes else ()),
        Only(
            Medium.SCREEN,
            lambda: _list_tables(analysis, gpu, kernels, limit, () if limit else (Notes(findings.faults), *texts())),
        ),
        Only(Medium.PAGE, lambda: _list_sections(drawn()[0], gaps().gap_sums)),
        Only(Medium.SCREEN, lambda: (_list_rest(analysis, findings, advice, with_notes),)),
        Only(Medium.PAGE, lambda: _list_sources(drawn()[0])),
    )
    base, rows = describe_base(analysis), analysis.ranges
    frames = {"ranges": rows, "kernels": kernels}
    return make_document(
        analysis, findings, "recording", parts, frames, base=base, rows=rows, remarks=findings.warnings
    )


def _list_advice(analysis: Analysis, findings: Findings, advice: Sequence[Advice]) -> tuple[Part, ...]:
    """List what to do first, what makes figures doubtful, and how to do what saves time."""
    return_freed_memory()  # of a large recording, what advice and icicles were found from is more than what they say
    base = (*describe_base(analysis), *describe_peaks(analysis), *findings.remarks)
    return (
        list_leads(analysis, advice),
        Notes(base, BASE),
        Notes(tuple(warning for warning in findings.warnings if warning not in findings.remarks), WARNINGS),
        Section("advice", _ADVICE, view_sections(analysis, advice), chapter=Chapter.VERDICT),
    )


def _list_pictures(analysis: Analysis, gaps: Gaps) -> tuple[Section, ...]:
    timeline = Timeline(analysis, gaps) if shown_gpus(analysis) else Notes((_UNDRAWN,))
    icicles = _explained(EXPLAINED, list_icicles(analysis, gaps.gaps))
    return_freed_memory()
    return (
        Section("consists", "What the time consists of", icicles, chapter=Chapter.PICTURE),
        Section("timeline", "Timeline", (timeline,), chapter=Chapter.PANE),
    )


def _list_tables(
    analysis: Analysis, gpu: int, kernels: pd.DataFrame, limit: int | None, texts: Sequence[Notes]
) -> list[Table]:
    """List what loses most, and the kernels, of one GPU; as many rows as fit below the texts, if there are any."""
    most = _rows_that_fit(texts, 0) if texts else limit or MOST_ROWS
    tables = _list_losses(analysis, gpu, most)
    if texts and (notes := sum(table.hidden > 0 for table in tables)):
        most = _rows_that_fit(texts, notes)
        tables = _list_losses(analysis, gpu, most)
    kernels = kernels.head(most) if texts else kernels
    return [*tables, *(_cut(table, _KERNEL_COLUMNS) for table in list_kernels(analysis, kernels))]


def _list_sections(analysis: Analysis, gap_sums: pd.DataFrame) -> tuple[Section, ...]:
    table = list_explorer(analysis, gap_sums, (_about_ranges(analysis), MEANING), _about_kernels(analysis))
    return (
        Section("table", "Modules, ranges and kernels", table, "Table"),
        Section("plots", "Steps, roofline, and time against Tensor Active", _plots(analysis), "Steps and roofline"),
    )


def _list_rest(analysis: Analysis, findings: Findings, advice: Sequence[Advice], with_notes: bool) -> Notes:
    """List what else there is, or count it."""
    base = describe_base(analysis)
    if not with_notes:
        return Notes((_count_rest(findings, len(base), len(advice)),))
    details = (sentence for gpu in findings.gpus for sentence in gpu.details)
    more = (*details, *describe_utilization(analysis), *summarize_checks(findings.checks))
    return Notes((*more, *base, *describe_peaks(analysis)))


def _list_sources(analysis: Analysis) -> tuple[Section, ...]:
    ledger = _explained(_ACCOUNT, list_ledger(analysis, analysis.ledger))
    provenance = tuple((name, False, ((text,),)) for name, text in list_provenance(analysis))
    return (
        Section("ledger", _LEDGER, ledger, "Time accounting", Chapter.SOURCES),
        Section("provenance", "The recording", (FactList(provenance),), chapter=Chapter.SOURCES),
    )


def view_verdict_in_short(analysis: Analysis, findings: Findings, advice: Sequence[Advice]) -> Document:
    """Show the sentences that ``view_recording`` begins with, for one of several recordings of a program."""
    texts = _list_texts(analysis, findings, advice, busiest_gpus(analysis, 1)[0], with_notes=False)
    return Document("recording", texts, faults=findings.faults, warnings=findings.warnings)


def _list_texts(
    analysis: Analysis, findings: Findings, advice: Sequence[Advice], gpu: int, with_notes: bool
) -> tuple[Notes, ...]:
    """List the first lines, the verdict, of the busiest GPU unless in full, and the best advice."""
    lines, headline = head(analysis, findings).lines, findings.headline
    if not with_notes:
        number = [gpu_findings.gpu for gpu_findings in findings.gpus].index(gpu)
        headline = headline[number : number + 1]
        if len(findings.gpus) > _MOST_GPUS:
            lines = (*lines[: 1 + _MOST_GPUS], f"{len(findings.gpus) - _MOST_GPUS} more GPUs: --notes")
    if analysis.tensor_source == "none":
        lines = (lines[0], f"No samples of Tensor Active. {analysis.recording.remedies.metrics}", *lines[1:])
    lines = (*lines, *filter(None, [summarize_utilization(analysis, gpu)]))
    return Notes(lines), Notes(headline), Notes(view_best(analysis, advice))


def _rows_that_fit(texts: Sequence[Notes], notes: int) -> int:
    """Count the rows that two tables may have beside these texts, their notes and a last line, after blank lines."""
    lines = sum(-(-len(line) // _COLUMNS) for text in texts for line in text.lines)
    blank = sum(bool(text.lines) for text in texts) + 2
    return min(max((_LINES - lines - blank - 1 - 2 * _HEAD - notes) // 2, 1), MOST_ROWS)


def _count_rest(findings: Findings, base: int, advice: int) -> str:
    notes = count_notes(len(findings.warnings) + base)
    more = f"{units.format_things(advice, 'finding')} in all: tcprof advise"
    return "; ".join((count_checks(findings.checks), notes, *([more] if advice > MOST_SHOWN else [])))


def _cut(table: Table, columns: tuple[str, ...]) -> Table:
    """Cut a table to the columns whose first one in a file is among these, without notes on the others."""
    kept = [place for place, heading in enumerate(table.headings) if heading.columns[0] in columns]
    rows = tuple(replace(row, cells=tuple(row.cells[place] for place in kept)) for row in table.rows)
    headings = tuple(replace(table.headings[place], note="") for place in kept)
    return _name_gpu(replace(table, headings=headings, rows=rows, hidden=0, is_cut=True))


def _name_gpu(table: Table) -> Table:
    """Name the GPU of a table, of several, in its head rather than on a line of its own."""
    return replace(table, title="", first=f"{table.first}, GPU {table.gpu}") if table.title else table


def _list_losses(analysis: Analysis, gpu: int, limit: int) -> list[Table]:
    """List the modules that lose most, or where none is known the ranges."""
    if len(modules := rows_of_gpu(analysis.modules, gpu)):
        return [_cut(table, _MODULE_COLUMNS) for table in list_modules(analysis, modules, limit, Order.LOST)]
    rows = rows_of_gpu(analysis.ranges, gpu)
    idle = rows_of_gpu(analysis.timeline, gpu).set_index("path_id")["idle_ns"]
    rows = rows.assign(idle_ns=idle.reindex(rows["path_id"]).to_numpy())
    steps = analysis.step_summary[analysis.step_summary["gpu"] == gpu]
    in_steps, count = _in_steps(analysis, rows)
    many = (rows["depth"] > 0).sum() > len(in_steps)  # the program's own ranges say more
    is_of_capture = from_kernel_order(analysis) and many
    if count and len(steps) and not is_of_capture:
        return _set_ranges(analysis, gpu, in_steps, count, steps["total_ns"].iloc[0], limit)
    capture = rows[rows["depth"] == 0]
    return _set_ranges(analysis, gpu, rows, 0, float(capture["gpu_window_ns"].sum()), limit)


def _in_steps(analysis: Analysis, rows: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Keep the ranges in steps, whatever is around these, those of all steps in one row each, and count the steps."""
    steps = set(counted_paths(analysis.steps))  # of the kind that figures are of
    path = dict(zip(rows["path_id"], rows["path"], strict=True))
    parent = dict(zip(rows["path_id"], rows["parent_id"], strict=True))
    inner: dict[int, str] = {}
    for path_id in rows["path_id"].tolist():  # after what it lies in
        if path[path_id] in steps:
            inner[path_id] = ""
        elif parent[path_id] in inner:
            inner[path_id] = inner[parent[path_id]] + path[path_id].removeprefix(path[parent[path_id]])
    in_steps = rows[rows["path_id"].isin(inner)]
    count = int((in_steps["instance_count"] - in_steps["slow_count"])[in_steps["path"].isin(steps)].sum())
    relative = in_steps["name"].where(in_steps["path"].isin(steps), "") + in_steps["path_id"].map(inner)
    number, _ = pd.factorize(in_steps["domain"] + _END + in_steps["path_id"].map(inner))
    names = pd.DataFrame({"number": number, "label": ""}, index=in_steps["path_id"])
    return fold_alike(in_steps.assign(path=relative), names).drop(columns=["label", "alike_count"]), count


def _set_ranges(
    analysis: Analysis, gpu: int, rows: pd.DataFrame, count: int, whole_ns: float, limit: int
) -> list[Table]:
    """List the ranges that lose most, without ops and small library ranges: means over ``count`` steps, for 0 sums."""
    is_op = rows["domain"] == OPS_DOMAIN
    is_small = ~rows["domain"].isin(OWN_DOMAINS) & ~(rows["gpu_window_ns"] >= _SMALL * whole_ns)
    notable = rows[~(is_op | is_small)]
    if not (notable["depth"] > 0).any():
        return []
    tree = fold_alike(notable, find_alike(notable))
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
    table = make_table(analysis, gpu, _WITH_IDLE, f"Range ({what})", headings, rows_shown, hidden=hidden, more=more)
    return [_name_gpu(replace(table, is_cut=True))]


def _plots(analysis: Analysis) -> tuple[Part, ...]:
    """List the plots, of which a reader chooses one, and the roles of steps."""
    figures = (*_steps(analysis), *list_rooflines(analysis))
    axes = (Section("axes", "", figures, choice=True),) if figures else ()
    lacks = len(analysis.kernels) and not has_bytes(analysis.kernels)
    return (*axes, *((Notes((NO_ROOFLINE,)),) if lacks else ()), *list_kind_tables(analysis))


def _steps(analysis: Analysis) -> tuple[Figure, ...]:
    if not len(analysis.steps):
        return ()
    most = int(analysis.steps.groupby("gpu").size().max())
    step = units.format_count(-(-most // MOST_POINTS))
    thinned = f"The longest of every {step} steps is drawn; bands and medians cover all of them."
    notes = (*describe_steps(analysis), *((thinned,) if most > MOST_POINTS else ()), _STRIP)
    caption = "GPU window and Tensor Active of each step"
    return (Figure("steps", caption, lambda: figure_step_strip(analysis), notes),)


def _about_ranges(analysis: Analysis) -> str:
    interval = " Means of five or more instances have 95 % intervals."
    return (
        f"Tensor Active and its coverage are taken over {WINDOW_MEANINGS[analysis.window]}. "
        f"{SOURCE_NOTES[analysis.tensor_source]}{interval if analysis.tensor_source != 'none' else ''} Beside each "
        "time is its share of the GPU's time from first activity to last."
    )


def _about_kernels(analysis: Analysis) -> str:
    interval = " ± is the larger half of its 95 % interval." if analysis.tensor_source != "none" else ""
    return f"{describe_fit(analysis)}{interval} Beside each time is its share of all kernel time. {_NAMES}"


def _explained(how: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    return (*parts, Notes((how,), "aside")) if parts else ()


def view_verdict(analysis: Analysis, findings: Findings) -> Document:
    """Show a recording in some lines: its name, the verdict, the checks, and what is left out."""
    base = describe_base(analysis)
    lines = (*head(analysis, findings).lines, *findings.headline, *summarize_checks(findings.checks), *base)
    parts: tuple[Part, ...] = (Notes(lines),)
    return Document(kind="recording", parts=parts, faults=findings.faults, base=base)
