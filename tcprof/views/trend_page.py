"""The page of a trend: what changed when, and each figure with its runs and their levels."""

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd

from tcprof.frames import HISTORY_RUNS
from tcprof.history.trends import SeriesTrend
from tcprof.views.document import Document, Figure, Notes, Part, Section
from tcprof.views.figures.trend import figure_trend
from tcprof.views.history import view_runs
from tcprof.views.trends import name_runs, name_series, sort_trends

_RUNS_SHOWN = 100
_HOW = (
    "Points are runs, with their 95 % intervals within the run. Hover for the commit and what it ran with.",
    "Lines are levels, which too few runs do not show; the last one's band is its 95 % interval. A diamond marks a "
    "change, a square one that came with another driver, CUDA, torch, tcprof or clock. Violet and dashed: accepted.",
)


def view_trend_page(
    shown: Document, trends: Sequence[SeriesTrend], limit: int | None, accepted: Mapping[str, str]
) -> Document:
    """What ``tcprof history trend`` says, and a figure of each of its series.

    Args:
        shown: What it says, see ``view_trends``.
        limit: How many series have a figure, those that changed first; None for all.
        accepted: Why the level of a commit is accepted.
    """
    verdict, series, *others = shown.parts
    figures = [
        Figure(f"trend-{number}", name_series(each), partial(figure_trend, each, accepted))
        for number, each in enumerate(sort_trends(trends)[:limit], 1)
    ]
    parts: tuple[Part, ...] = (
        verdict,
        Section("trends", "Figures", (Notes(_HOW), *figures)),
        *(part for part in others if isinstance(part, Section)),
        Section("series", "All series", (series, *(part for part in others if not isinstance(part, Section)))),
        Section("runs", "Runs", view_runs(list_runs(trends), _RUNS_SHOWN).parts),
    )
    return Document("trend", parts, title=f"Trend of {name_runs(trends)}")


def list_runs(trends: Sequence[SeriesTrend]) -> pd.DataFrame:
    """The runs that have a point in one of these series, in order of time."""
    runs = pd.concat([each.points[["place", *HISTORY_RUNS.names]] for each in trends]).drop_duplicates("run_id")
    return runs.sort_values("place", ignore_index=True)
