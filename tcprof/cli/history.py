"""``tcprof history``: a group of commands on runs that were added to a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tcprof.cli import app
from tcprof.cli.options import NO_CACHE, TABLE, WIDE, Asked, CliOption, limit_to, paths_argument, takes
from tcprof.cli.output import BRIEF, TEXT, print_document, print_notes, progress_of, read_recording, write_page
from tcprof.cli.streams import echo, echo_path
from tcprof.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.history.store import Store

history = typer.Typer(
    name="history",
    epilog="Examples:\n\ntcprof history add run.nsys-rep --keep\n\ntcprof history list\n\n"
    "'tcprof help history COMMAND' explains a command.",
    rich_markup_mode="rich",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(history, rich_help_panel="Compare")


@history.callback()
def explain(ctx: typer.Context) -> None:
    """Track runs over time and detect regressions."""
    if ctx.invoked_subcommand is None:
        echo(f"{ctx.get_help()}\n")


STORE = CliOption("store", str | None, metavar="URL", envvar="TCPROF_STORE", show_envvar=True).means(
    "The store: sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE; by default .tcprof/history.db of the "
    "project."
)
BRANCH = CliOption("branch", str | None, metavar="NAME").means("Only runs of this branch.")
FACTS = (
    CliOption("commit", str, "", metavar="HASH").means("The commit; by default git's HEAD.")
    | CliOption("commit_time", str, "", metavar="TIME").means("Commit time in ISO 8601; by default from git.")
    | CliOption("branch", str, "", metavar="NAME").means("Branch; by default git's current one.")
    | CliOption("label", str, "", metavar="TEXT").means("A label of your choice.")
    | CliOption("program", str, "", metavar="NAME").means("The program; by default as recorded.")
    | CliOption("config", list[str] | None, metavar="KEY=VALUE").means(
        "The program's settings; other values start another series."
    )
    | CliOption("power_limit", float | None, metavar="WATTS", min=1).means(
        "The GPUs' power limit; each limit has its own series."
    )
)
RECORDINGS = paths_argument("recordings", "RECORDING...", "Recordings, saved analyses, or folders of them.")


@history.command(
    epilog="Examples:\n\ntcprof history add run.nsys-rep --keep\n\ntcprof history add runs/ --config batch=64"
)
@takes(
    RECORDINGS,
    FACTS,
    CliOption("keep", bool, False).means("Also keep the analyses, so that commands can read main@latest and the like."),
    *(STORE, TABLE, NO_CACHE),
)
def add(asked: Asked) -> None:
    """Add recordings to a store.

    A recording, its copies and its saved analysis count as one run, however often they are added. Commit, commit
    time and branch come from git.
    """
    from tcprof.history.database import find_url
    from tcprof.history.run import Facts, add_commit, describe_run, parse_config, to_utc
    from tcprof.history.store import open_store
    from tcprof.sources.registry import find_recordings
    from tcprof.views.history import view_added

    chosen, output, _ = asked.choose_outputs(*asked.recordings)
    if asked.commit_time and not to_utc(asked.commit_time):
        raise UsageError(
            f"--commit-time {asked.commit_time!r} is not a time.", "Write it like this: 2026-11-25T13:00:00+00:00"
        )
    names = (asked.commit, asked.commit_time, asked.branch, asked.label, asked.program)
    facts, notes = add_commit(Facts(*names, asked.power_limit, parse_config(asked.config or [])))
    files = [file for path in asked.recordings for file in find_recordings(path)]
    find_url(asked.store)  # a wrong address is refused before anything is read
    added = []
    with progress_of("Adding", len(files)) as on_done:
        for done, file in enumerate(files, 1):
            analysis = read_recording(file, no_cache=asked.no_cache).analysis
            if done == 1:
                describe_run(analysis, facts)  # what cannot be read, or names no program, makes no store
                store = open_store(asked.store)
            added += store.add([analysis], facts, keep=asked.keep)
            on_done(done)
    print_notes(dict.fromkeys([*notes, *(note for run in added for note in run.notes)]))
    runs = [(run.run_id, run.is_new) for run in added]
    print_document(view_added([file.name for file in files], runs, store.name), chosen, output)


@history.command("list", epilog="Example:\n\ntcprof history list --branch main")
@takes(BRANCH, limit_to(40, "Number of runs to show; 0 for all."), STORE, TABLE, WIDE)
def list_runs(asked: Asked) -> None:
    """List the runs in a store, newest first."""
    from tcprof.views.history import view_runs

    asked.check_output()
    asked.show(view_runs(open_existing(asked.store).runs(asked.branch), asked.limit))


@history.command(epilog="Example:\n\ntcprof history show main@latest")
@takes(STORE, TABLE, WIDE)
def show(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="Run number, BRANCH@latest, BRANCH@-2 (the previous one) or commit:HASH."),
    ],
    asked: Asked,
) -> None:
    """Show a run: its metadata, and its figures with intervals."""
    from tcprof.views.history import view_run

    asked.check_output()
    store = open_existing(asked.store)
    row = _find_run(store, run)
    asked.show(view_run(row, store.series(), store.points(run_ids=[row["run_id"]])))


@history.command(epilog="Example:\n\ntcprof history export -o history.csv")
@takes(BRANCH, STORE, TABLE)
def export(asked: Asked) -> None:
    """Write each data point with its series and run."""
    from tcprof.views.history import view_export

    store = open_existing(asked.store)
    asked.check_output()
    runs = store.runs(asked.branch)
    points = store.points(run_ids=runs["run_id"])
    asked.show(view_export(runs, store.series(), points, store.accepted()))


@history.command(epilog="Example:\n\ntcprof history rm 12")
@takes(STORE)
def rm(runs: Annotated[list[int], typer.Argument(metavar="RUN...", help="Numbers of runs.")], asked: Asked) -> None:
    """Remove runs with their points and analyses, such as runs from a noisy machine."""
    store = open_existing(asked.store)
    for run_id in runs:
        store.remove(run_id)


@history.command(epilog="Examples:\n\ntcprof history trend\n\ntcprof history trend --metric step_ns --confirm")
@takes(
    CliOption("metric", list[str] | None, metavar="NAME").means("Only this metric, such as step_ns."),
    CliOption("branch", str | None, metavar="NAME").means(
        "The branch; by default the one that is checked out, else main or master, else the one with the most runs."
    ),
    CliOption("program", str | None, metavar="NAME").means("The program; by default that of the newest run."),
    CliOption("confirm", bool, False).means("If the last runs deviate but are too few to be sure, say what to record."),
    *(limit_to(20, "Number of series to show; 0 for all."), STORE, TABLE, WIDE),
)
def trend(asked: Asked) -> None:
    """Show at which commits a program's figures changed, and what changed there.

    It covers the series of the newest run. If the store has the analyses from before and after a change, it compares
    them. '-o NAME.html' writes a page with a chart per series.
    """
    from tcprof.history.trends import explain_step, read_trends
    from tcprof.views.trends import view_trends

    chosen, file, page = asked.choose_outputs(has_page=True)
    store = open_existing(asked.store)
    trends = read_trends(store, asked.branch, asked.program, asked.metric or ())
    accepted = store.accepted()
    why = dict(zip(accepted["commit"], accepted["why"], strict=True))
    document = view_trends(trends, lambda *sides: explain_step(store, *sides), asked.confirm, asked.most, why)
    in_full = chosen == BRIEF and (asked.confirm or not trends)
    print_document(document, TEXT if in_full else chosen, file, wide=asked.wide)
    if page is not None and trends:
        write_page(document, page)
        echo_path(page)


@history.command(epilog="Example:\n\ntcprof history accept 4f2a91c --why 'a larger model'")
@takes(STORE)
def accept(
    commit: Annotated[str, typer.Argument(metavar="COMMIT", help="The commit, or its first digits.")],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Why the change is intended.")],
    asked: Asked,
) -> None:
    """Accept the change that came with a commit: use its level as the new baseline."""
    from tcprof.history.trends import find_commit

    store = open_existing(asked.store)
    store.accept(find_commit(store, commit), why)


def open_existing(url: str | None) -> "Store":
    """Open a store that is there."""
    from tcprof.history.store import open_store

    return open_store(url, create=False)


def _find_run(store: "Store", name: str) -> "pd.Series[object]":
    """Find the last of the runs that a number or a name means."""
    from tcprof.history.names import find_runs, is_run_reference

    if name.isdecimal():
        runs = store.runs()
        runs = runs[runs["run_id"] == int(name)]
    elif is_run_reference(Path(name)):
        runs = find_runs(store, name)
    else:
        raise UsageError(f"{name!r} names no run.", "Give its number, BRANCH@latest or commit:HASH.")
    if runs.empty:
        raise UsageError(f"{store.name} has no run {name}.", "'tcprof history list' lists them.")
    return runs.iloc[-1]
