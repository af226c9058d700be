"""The page of a trend: what changed when, and each figure with its runs, their levels and a way to their pages."""

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd

from tcprof.frames import HISTORY_RUNS
from tcprof.history.trends import SeriesTrend
from tcprof.views.document import Document, Figure, Notes, Part, Section
from tcprof.views.figures.trend import figure_trend
from tcprof.views.history import view_runs
from tcprof.views.trends import name_run, name_runs, name_series, sort_trends

_RUNS_SHOWN = 100
_HOW = (
    "Points are runs, with their 95 % intervals within the run. Hover for the commit and what it ran with{click}.",
    "Lines are levels, which too few runs do not show; the last one's band is its 95 % interval. A diamond marks a "
    "change, a square one that came with another driver, CUDA, torch, tcprof or clock. Violet and dashed: accepted.",
)
_CLICK = "; click for its page, where there is one"


def view_trend_page(
    shown: Document,
    trends: Sequence[SeriesTrend],
    limit: int | None,
    accepted: Mapping[str, str],
    links: Mapping[int, str],
) -> Document:
    """What ``tcprof history trend`` says, and a figure of each of its series.

    Args:
        shown: What it says, see ``view_trends``.
        limit: How many series have a figure, those that changed first; None for all.
        accepted: Why the level of a commit is accepted.
        links: The pages of runs, by their numbers.
    """
    verdict, series, *others = shown.parts
    how = tuple(line.format(click=_CLICK if links else "") for line in _HOW)
    figures = [
        Figure(f"trend-{number}", name_series(each), partial(figure_trend, each, accepted, links))
        for number, each in enumerate(sort_trends(trends)[:limit], 1)
    ]
    parts: tuple[Part, ...] = (
        verdict,
        Section("trends", "Figures", (Notes(how), *figures)),
        *(part for part in others if isinstance(part, Section)),
        Section("series", "All series", (series, *(part for part in others if not isinstance(part, Section)))),
        Section("runs", "Runs", view_runs(list_runs(trends), _RUNS_SHOWN).parts),
    )
    return Document("trend", parts, title=f"Trend of {name_runs(trends)}")


def list_runs(trends: Sequence[SeriesTrend]) -> pd.DataFrame:
    """The runs that have a point in one of these series, in order of time."""
    runs = pd.concat([each.points[["place", *HISTORY_RUNS.names]] for each in trends]).drop_duplicates("run_id")
    return runs.sort_values("place", ignore_index=True)


def name_pages(trends: Sequence[SeriesTrend], links: Mapping[int, str]) -> list[tuple[str, str]]:
    """Links to the pages of runs with what they are called, the newest first."""
    rows = list_runs(trends).iloc[::-1].iterrows()
    return [
        (links[run["run_id"]], f"run {run['run_id']}: {name_run(run)}") for _, run in rows if run["run_id"] in links
    ]
