"""``tcprof history trend`` and ``accept``: where figures changed, and which changes are meant."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from tcprof.cli.history import MetricOption, StoreOption, history, open_existing
from tcprof.cli.options import ForceOption, OutputOption, TableFormatOption, WideOption, choose_format
from tcprof.cli.output import (
    check_folder,
    check_target,
    print_document,
    print_notes,
    progress,
    progress_of,
    read_recording,
)
from tcprof.cli.streams import echo_path
from tcprof.errors import InputError, UsageError
from tcprof.files import PAGE_SUFFIX
from tcprof.render import is_page_of

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.history.store import Store
    from tcprof.history.trends import SeriesTrend
    from tcprof.views.document import Document

ProgramOption = Annotated[
    str | None, typer.Option("--program", metavar="NAME", help="The program; by default that of the newest run.")
]


BranchOption = Annotated[
    str | None,
    typer.Option(
        "--branch",
        metavar="NAME",
        help="The branch; by default the one that is checked out, else main or master, else that of most runs.",
    ),
]


@history.command(epilog="Examples: tcprof history trend;  tcprof history trend --metric step_ns --confirm")
def trend(
    metric: MetricOption = None,
    branch: BranchOption = None,
    program: ProgramOption = None,
    pages: Annotated[
        bool,
        typer.Option(
            "--pages",
            help="With -o NAME.html, also write the pages of kept runs, those beside changes and the newest, into "
            "NAME-runs.",
        ),
    ] = False,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Say what to record if the last runs are off but too few to be sure.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Number of series to show; 0 for all.")] = 20,
    store: StoreOption = None,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """Show at which commits the figures of a program changed, and what changed there.

    It looks at the series that the newest run is in. Where the analyses of both sides are kept, it compares them.
    '-o NAME.html' writes a page with a figure of each series.
    """
    from tcprof.history.trends import explain_step, read_trends
    from tcprof.views.trends import view_trends

    page = output if output is not None and output.suffix == PAGE_SUFFIX and output_format is None else None
    if page is not None:
        check_target(page, (), force=force)
    elif pages:
        raise UsageError("--pages needs the page of the trend", "Name it: -o trend.html --pages")
    chosen = choose_format(output_format, None if page else output, force=force)
    opened = open_existing(store)
    trends = read_trends(opened, branch, program, metric or ())
    document = view_trends(trends, lambda *sides: explain_step(opened, *sides), confirm, limit or None)
    print_document(document, chosen, None if page else output, wide=wide)
    if page is not None and trends:
        folder = page.with_name(f"{page.stem}-runs")
        if pages:
            _write_runs(opened, trends, folder)
        _write_page(opened, trends, document, limit or None, page, folder)
        echo_path(page)


def _write_page(
    store: "Store", trends: list["SeriesTrend"], document: "Document", limit: int | None, page: Path, folder: Path
) -> None:
    """Write the page of a trend, with links to the pages of its runs in a folder."""
    from tcprof.render.html.trend import write_trend
    from tcprof.views.trend_page import list_runs, name_pages, view_trend_page

    runs = list_runs(trends)
    links = {
        int(run["run_id"]): quote(f"{folder.name}/{_page_of(run)}")
        for _, run in runs.iterrows()
        if _is_there(folder, run)
    }
    accepted = store.accepted()
    why = dict(zip(accepted["commit"], accepted["why"], strict=True))
    with progress(f"Writing {page.name}"):
        write_trend(view_trend_page(document, trends, limit, why, links), page, name_pages(trends, links))


def _write_runs(store: "Store", trends: list["SeriesTrend"], folder: Path) -> None:
    """Write the pages of kept runs that a reader of the trend asks for first, unless they are there."""
    from tcprof.history.trends import choose_runs, write_run
    from tcprof.render.html import PageOptions
    from tcprof.render.html.pages import write_report
    from tcprof.temporary import temporary_folder
    from tcprof.views.trends import name_run

    chosen = choose_runs(trends)
    if chosen.empty:
        print_notes(("no analysis of these runs is kept: 'tcprof history add --keep' keeps them.",))
        return
    missing = [run for _, run in chosen.iterrows() if not _is_there(folder, run)]
    check_folder(folder, map(_page_of, missing), (), force=False)
    folder.mkdir(exist_ok=True)
    with temporary_folder() as saved, progress_of("Writing pages of runs", len(missing)) as on_done:
        for done, run in enumerate(missing, 1):
            try:
                analysis = read_recording(write_run(store, int(run["run_id"]), Path(saved)), no_cache=True)
                options = PageOptions(title=f"{run['program']}, {name_run(run)}", origin=_origin(run))
                write_report(analysis, analysis.findings, folder / _page_of(run), options)
            except InputError as error:
                print_notes((f"run {run['run_id']} has no page: {error.message}",))
            on_done(done)


def _page_of(run: "pd.Series[object]") -> str:
    return f"run-{run['run_id']}{PAGE_SUFFIX}"


def _origin(run: "pd.Series[object]") -> str:
    """Identifies the run that a page is of, see ``PageOptions.origin``."""
    return str(run["content"])[:16]


def _is_there(folder: Path, run: "pd.Series[object]") -> bool:
    return (folder / _page_of(run)).is_file() and is_page_of(folder / _page_of(run), _origin(run))


@history.command(epilog="Example: tcprof history accept 4f2a91c --why 'a larger model'")
def accept(
    commit: Annotated[str, typer.Argument(metavar="COMMIT", help="The commit, or its first digits.")],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Why the change is intended.")],
    store: StoreOption = None,
) -> None:
    """Accept the change that came with a commit: its level is the baseline from there on."""
    from tcprof.history.trends import find_commit

    opened = open_existing(store)
    opened.accept(find_commit(opened, commit), why)
