"""The ranks of a job: which holds the others up, and what each is doing in a step."""

import pandas as pd

from tcprof.frames import RANKS
from tcprof.ranks.job import Job
from tcprof.ranks.verdict import describe_base, judge_job
from tcprof.untrusted import one_line
from tcprof.views.document import Document, Notes, Part
from tcprof.views.tables import Cell, Heading, Row, Table

RANKS_SHOWN = 16
# The most important first: where a terminal is narrow, the last of these leaves first.
_COLUMNS = (
    *("own_ns", "excess_ns", "wait_ns", "saves_ns", "compute_ns", "idle_ns", "tensor_active_pct", "clock_hz"),
    *("last_pct", "between_ns", "input_ns", "communication_ns", "copy_ns", "tensor_tflops", "step_time_ns"),
)


def view_ranks(job: Job, limit: int | None = RANKS_SHOWN) -> Document:
    """The job's verdict, and the ``limit`` ranks with the longest own time, longest first."""
    verdict, base = judge_job(job), describe_base(job)
    failures = tuple(f"{one_line(each.file)} gives no rank: {each.reason}" for each in job.failures)
    parts: tuple[Part, ...] = (Notes(verdict), _list_ranks(job.ranks, limit), Notes(base))
    data = {
        "verdict": verdict,
        "world_size": job.world_size,
        "ranks": job.ranks,
        "rank_steps": job.rank_steps,
        "clocks": job.clocks.rename_axis("rank").reset_index(),
        "failures": [vars(each) for each in job.failures],
        "warnings": job.warnings,
    }
    warnings = (*failures, *job.warnings)
    return Document("ranks", parts, base=base, warnings=warnings, data=data, rows=job.ranks)


def _list_ranks(ranks: pd.DataFrame, limit: int | None) -> Table:
    ordered = ranks.sort_values(["excess_ns", "own_ns", "rank"], ascending=[False, False, True], kind="stable")
    shown = ordered if limit is None else ordered.head(limit)
    known = [RANKS[name] for name in _COLUMNS if ranks[name].notna().any()]
    headings = tuple(Heading.of(column, spare=place) for place, column in enumerate(known))
    rows = [
        Row(
            f"rank {row['rank']}", tuple(Cell.of_column(row, column) for column in known), tag="slow" * row["straggler"]
        )
        for row in shown.to_dict("records")
    ]
    more = "those with the shortest own time. 'tcprof ranks --limit 0' lists all of them."
    title = "Means per step of each rank, the longest own time first"
    return Table("ranks", title, "Rank", headings, tuple(rows), hidden=len(ranks) - len(shown), more=more)
