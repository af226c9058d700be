"""The page of two jobs: how their steps differ, each rank of both on one scale, and what holds each job up."""

from dataclasses import replace
from typing import Any

import pandas as pd

from tcprof.frames import RANKS
from tcprof.ranks.job import Job
from tcprof.ranks.verdict import describe_base, judge_job
from tcprof.views.document import VERDICT, Chapter, Document, Notes, Section
from tcprof.views.paths import LEFT_OUT
from tcprof.views.ranks import view_compared_jobs
from tcprof.views.tables import Cell, Heading, Row, Table

_MOST = 256
_TIMES = ("step_time_ns", "own_ns")
_RANKS = (
    "Medians over the steps of each rank. The bars of both jobs have one scale. Own time is the step time without "
    "waiting for other ranks. – marks a rank that a job lacks."
)


def view_compared_jobs_page(jobs: tuple[Job, Job], names: tuple[str, str]) -> Document:
    """What the page of two jobs says; its first table is that of the text."""
    document = view_compared_jobs(jobs, names)
    changes = next(part for part in document.parts if isinstance(part, Table))
    bases = [describe_base(job) for job in jobs]
    shared = [line for line in bases[0] if line in bases[1]]
    own = [f"{name}: {line}" for name, base in zip(names, bases, strict=True) for line in base if line not in shared]
    held = tuple(
        Section(f"job-{number}", f"What holds {name} up", (Notes(judge_job(job)),))
        for number, (name, job) in enumerate(zip(names, jobs, strict=True), 1)
    )
    verdict = Notes(document.data["verdict"][:1], VERDICT)
    sections = (
        Section("changed", "What changed per step", (replace(changes, caption=changes.title),)),
        Section("ranks", "Every rank of both jobs", (_list_both(jobs, names), Notes((_RANKS,)))),
        *held,
        Section("base", "", (Notes((*document.base, *shared, *own)),), chapter=Chapter.SOURCES),
    )
    title = " → ".join(names)
    return Document("jobs", (verdict, *sections), warnings=document.warnings, title=title)


def _list_both(jobs: tuple[Job, Job], names: tuple[str, str]) -> Table:
    """The median step and own time of each rank in both jobs, with the change; what changed most comes first."""
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
        for rank in order[:_MOST]
    ]
    title = "Median step time and own time of each rank, the largest change first"
    more = LEFT_OUT.format(things="ranks", command="ranks --limit 0")
    every = (*headings, Heading("Own time: change"))
    further: dict[str, Any] = {"hidden": len(order) - len(rows), "more": more, "caption": title, "search": "a rank"}
    return Table("ranks", title, "Rank", every, tuple(rows), **further)


def _bar(time_ns: float, longest: float) -> Cell:
    cell = Cell.time(time_ns)
    return cell if pd.isna(time_ns) else Cell(cell.text, cell.sort, bar=round(100 * time_ns / longest, 1), of_time=True)
