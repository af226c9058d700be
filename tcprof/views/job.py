"""The ranks of a job: which is a straggler, and what each does in a step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from tcprof.analysis.kernels.names import short_name
from tcprof.findings.compared.verdict import describe_change
from tcprof.frames import COLLECTIVE_KINDS, RANKS, Column, Quantity
from tcprof.ranks.compare import compare_jobs
from tcprof.ranks.job import Job
from tcprof.ranks.verdict import describe_base, judge_job
from tcprof.untrusted import one_line
from tcprof.views.comparison.changes import CHANGE_HEADINGS, quantity_row
from tcprof.views.document import VERDICT, WARNINGS, Chapter, Document, HeatMap, Medium, Notes, Only, Section
from tcprof.views.paths import LEFT_OUT
from tcprof.views.tables import Cell, Heading, Row, Table

RANKS_SHOWN = 16
_ON_PAGE, _MOST_ON_PAGE = 256, 8  # rows and columns of a page's table
_JOBS_BASE = (
    "Means over the ranks, then medians over the steps. Each job is one run, so tcprof assumes a run-to-run "
    "variation; changes smaller than that are inconclusive."
)
_TIMES = ("step_time_ns", "own_ns")
_BOTH = (
    "Medians over the steps of each rank. The bars of both jobs share a scale. Own time is the step time without "
    "waiting for other ranks. – marks a rank that a job lacks."
)
_MOST_COLUMNS, _MOST_CELLS = 400, 250_000
# What cells may show, and whether much of it is bad.
_MAPPED = {
    "excess_ns": True,
    "own_ns": True,
    "step_time_ns": True,
    "wait_ns": True,
    "tensor_active_pct": False,
    "clock_hz": False,
}
_CELLS = (
    "A row is a rank, a column a step{several}. Own time is the step time without waiting for other ranks; a row "
    "above the overall median in most steps is a straggler; the others wait for it. A cell without a colour is "
    "unknown."
)
# The most important first: where a terminal is narrow, the last of these leaves first.
_COLUMNS = (
    *("own_ns", "excess_ns", "wait_ns", "saves_ns", "compute_ns", "idle_ns", "tensor_active_pct", "clock_hz"),
    *("power_w", "last_pct", "between_ns", "input_ns", "communication_ns", "copy_ns", "tensor_tflops"),
    *("useful_tflops", "mfu_pct", "step_time_ns"),
)


def view_job(job: Job, limit: int | None = RANKS_SHOWN, links: Sequence[str] = ()) -> Document:
    """Show the job's verdict, and ``limit`` ranks with the longest own time; on a page each rank in each step."""
    verdict, base, warnings = judge_job(job), describe_base(job), _list_warnings(job)
    parts = (
        Only(Medium.SCREEN, lambda: (Notes(verdict), _list_ranks(job.ranks, limit), *_list_kinds(job), Notes(base))),
        Only(Medium.PAGE, lambda: (Notes(verdict, VERDICT), Notes(warnings, WARNINGS), *_list_page(job, links))),
    )
    data = {
        "verdict": verdict,
        "world_size": job.world_size,
        "job": job.whole,
        "ranks": job.ranks,
        "rank_steps": job.rank_steps,
        "collective_kinds": job.kinds,
        "clocks": job.clocks.rename_axis("rank").reset_index(),
        "failures": [vars(failure) for failure in job.failures],
        "warnings": job.warnings,
    }
    title = f"{len(job.ranks):,} ranks of {one_line(job.recordings[0].program or 'a job')}"
    return Document("ranks", parts, base=base, warnings=warnings, data=data, rows=job.ranks, title=title)


def _list_page(job: Job, links: Sequence[str]) -> tuple[Section, ...]:
    cells = map_steps(job, links)
    width = cells.first_steps[1] - cells.first_steps[0] if len(cells.first_steps) > 1 else 1
    note = _CELLS.format(several=f", or the mean of {width} steps" if width > 1 else "")
    return (
        Section("steps", "Every rank in every step", (Notes((note,)), cells)),
        Section("ranks", "The ranks", (_list_ranks(job.ranks, _ON_PAGE), *_list_kinds(job))),
        Section("base", "", (Notes(describe_base(job)),), chapter=Chapter.SOURCES),
    )


def _list_ranks(ranks: pd.DataFrame, limit: int | None) -> Table:
    ordered = ranks.sort_values(["excess_ns", "own_ns", "rank"], ascending=[False, False, True], kind="stable")
    listed = ordered if limit is None else ordered.head(limit)
    columns = [RANKS[name] for name in _COLUMNS if ranks[name].notna().any()]
    headings = tuple(
        Heading.of(column, spare=place, on_page=place < _MOST_ON_PAGE) for place, column in enumerate(columns)
    )
    rows = [
        Row(
            f"rank {row['rank']}",
            tuple(Cell.of_column(row, column) for column in columns),
            tag="slow" * row["straggler"],
        )
        for row in listed.to_dict("records")
    ]
    more = LEFT_OUT.format(command="ranks --limit 0")
    title = "Means per step of each rank, slowest rank first"
    hidden = len(ranks) - len(listed)
    return Table(
        "ranks", title, "Rank", headings, tuple(rows), hidden=hidden, more=more, caption=title, search="a rank"
    )


def _list_kinds(job: Job) -> tuple[Table, ...]:
    kinds = job.kinds
    columns = [column for column in COLLECTIVE_KINDS.columns[1:] if kinds[column.name].notna().any()]
    rows = [
        Row(short_name(row["name"]), tuple(Cell.of_column(row, column) for column in columns))
        for row in kinds.to_dict("records")
    ]
    title = "Collectives, means per step and rank"
    headings = tuple(Heading.of(column, spare=place) for place, column in enumerate(columns))
    return (Table("collectives", title, "Collective", headings, tuple(rows), caption=title),) if rows else ()


def _list_warnings(job: Job) -> tuple[str, ...]:
    return (*(f"{one_line(failure.file)} gives no rank: {failure.reason}" for failure in job.failures), *job.warnings)


def map_steps(job: Job, links: Sequence[str] = ()) -> HeatMap:
    """Map the figures of each rank in each step, or of blocks of steps where there are many."""
    steps, ranks = job.rank_steps, job.ranks.sort_values("rank", ignore_index=True)
    first, count = int(steps["step"].min()), int(steps["step"].max() - steps["step"].min()) + 1
    width = -(-count // max(1, min(_MOST_COLUMNS, _MOST_CELLS // len(ranks))))
    group = steps["rank"].map(ranks.set_index("rank")["group"]).rename("group")
    cells = steps.assign(
        block=(steps["step"] - first) // width,
        excess_ns=steps["own_ns"] - steps.groupby([group, "step"])["own_ns"].transform("median"),
        tensor_active_pct=100 * steps["tensor_active_ns"] / steps["step_time_ns"],
    )
    means = cells.groupby(["rank", "block"])[[*_MAPPED]].mean().unstack("block").reindex(ranks["rank"])
    every_metric = ((RANKS[name], bad, means[name]) for name, bad in _MAPPED.items())
    metrics: list[tuple[Column, bool, pd.DataFrame]] = [
        metric for metric in every_metric if metric[2].notna().any(axis=None)
    ]
    order = ranks.sort_values(["excess_ns", "own_ns"], ascending=False, kind="stable").index
    blocks = means.columns.get_level_values("block").unique().sort_values()
    return HeatMap(
        tuple(ranks["rank"].tolist()),
        tuple(order.tolist()),
        tuple((first + blocks * width).tolist()),
        tuple(metrics),
        tuple(links),
    )


def view_compared_jobs(jobs: tuple[Job, Job], names: tuple[str, str]) -> Document:
    """Show how the steps of two jobs differ, and which rank holds each of them up; on a page each rank of both."""
    rows = compare_jobs(*jobs)
    by_quantity = rows.set_index("quantity").to_dict("index")
    judged, time = (
        next(iter(by_quantity.values())),
        "Mean unprofiled step" if "unprofiled_ns" in by_quantity else "Median step",
    )
    verdict = " ".join(describe_change(judged, names[1], f"{time} time"))
    of_each = [f"{name}: {line}" for name, job in zip(names, jobs, strict=True) for line in judge_job(job)[1:]]
    warnings = [f"{name}: {line}" for name, job in zip(names, jobs, strict=True) for line in _list_warnings(job)]
    if len(jobs[0].ranks) != len(jobs[1].ranks):
        warnings.insert(0, f"The jobs have {len(jobs[0].ranks):,} and {len(jobs[1].ranks):,} ranks.")
    cells = tuple(_change_row(name, row) for name, row in by_quantity.items())
    table = Table("jobs", f"{names[0]} → {names[1]}, per step, over all ranks", "Per step", CHANGE_HEADINGS, cells)
    base = (_JOBS_BASE,)
    parts = (
        Notes((verdict,), VERDICT),
        Only(Medium.SCREEN, lambda: (table, Notes(tuple(of_each)), Notes(base))),
        Only(Medium.PAGE, lambda: (Notes(tuple(warnings), WARNINGS), *_list_page_of_two(jobs, names, table))),
    )
    data = {"verdict": (verdict, *of_each), "job_comparison": rows, "warnings": warnings}
    title = " → ".join(names)
    return Document("jobs", parts, base=base, warnings=tuple(warnings), data=data, rows=rows, title=title)


def _list_page_of_two(jobs: tuple[Job, Job], names: tuple[str, str], changes: Table) -> tuple[Section, ...]:
    bases = [describe_base(job) for job in jobs]
    shared = [line for line in bases[0] if line in bases[1]]
    side_lines = [
        f"{name}: {line}" for name, base in zip(names, bases, strict=True) for line in base if line not in shared
    ]
    held = (
        Section(f"job-{number}", f"What slows {name} down", (Notes(judge_job(job)),))
        for number, (name, job) in enumerate(zip(names, jobs, strict=True), 1)
    )
    return (
        Section("changed", "What changed per step", (replace(changes, caption=changes.title),)),
        Section("ranks", "Every rank of both jobs", (_list_both(jobs, names), Notes((_BOTH,)))),
        *held,
        Section("base", "", (Notes((_JOBS_BASE, *shared, *side_lines)),), chapter=Chapter.SOURCES),
    )


def _list_both(jobs: tuple[Job, Job], names: tuple[str, str]) -> Table:
    """List the median step and own time of each rank in both jobs, with the change; what changed most comes first."""
    medians = [job.rank_steps.groupby("rank")[[*_TIMES]].median() for job in jobs]
    both = pd.concat([medians[0].add_suffix("_base"), medians[1].add_suffix("_new")], axis=1)
    columns = [f"{name}_{side}" for name in _TIMES for side in ("base", "new")]
    longest = float(both[columns].max(axis=None))
    change = medians[1]["own_ns"] - medians[0]["own_ns"]
    order = change.abs().sort_values(ascending=False, kind="stable").index
    slow = [set(job.ranks["rank"][job.ranks["straggler"]]) for job in jobs]
    headings = [Heading(f"{RANKS[name].title}: {of}") for name in _TIMES for of in names]
    rows = [
        Row(
            f"rank {rank}",
            (*(_bar(both.at[rank, column], longest) for column in columns), Cell.signed_time(change[rank])),
            tag=", ".join(f"slow in {name}" for name, ranks in zip(names, slow, strict=True) if rank in ranks),
        )
        for rank in order[:_ON_PAGE]
    ]
    title = "Median step time and own time of each rank, largest change first"
    more = LEFT_OUT.format(command="ranks --limit 0")
    every = (*headings, Heading("Own time: change"))
    further: dict[str, Any] = {"hidden": len(order) - len(rows), "more": more, "caption": title, "search": "a rank"}
    return Table("ranks", title, "Rank", every, tuple(rows), **further)


def _bar(time_ns: float, longest: float) -> Cell:
    bar = -1.0 if pd.isna(time_ns) else round(100 * time_ns / longest, 1)
    return replace(Cell.time(time_ns), bar=bar, of_time=bar >= 0)


def _change_row(name: str, row: Mapping[str, Any]) -> Row:
    column = RANKS[name]
    quantity = Quantity(column, name, better="higher" if column.unit == "pct" else "lower")
    return quantity_row(quantity, column.title, 1, {**row, "base_lower_bound": False, "new_lower_bound": False})
