"""``tcprof history``: a group of commands on runs that were added to a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tcprof.cli import app
from tcprof.cli.options import ForceOption, NoCacheOption, OutputOption, TableFormatOption, WideOption, choose_format
from tcprof.cli.output import print_document, print_notes, progress_of, read_recording
from tcprof.cli.streams import echo
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
    """Keep runs in a store: add, list and export them."""
    if ctx.invoked_subcommand is None:
        echo(f"{ctx.get_help()}\n")


StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The store: sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE; by default .tcprof/history.db of "
        "the project.",
        envvar="TCPROF_STORE",
        show_envvar=True,
    ),
]
BranchOption = Annotated[str | None, typer.Option("--branch", metavar="NAME", help="Only runs of this branch.")]
MetricOption = Annotated[
    list[str] | None, typer.Option("--metric", metavar="NAME", help="Only this figure, such as step_ns.")
]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Its number; or BRANCH@latest, BRANCH@-2 for the one before, commit:HASH.")
]


@history.command(
    epilog="Examples:\n\ntcprof history add run.nsys-rep --keep\n\ntcprof history add runs/ --config batch=64"
)
def add(
    recordings: Annotated[
        list[Path], typer.Argument(metavar="RECORDING...", help="Recordings, saved analyses, or folders of them.")
    ],
    commit: Annotated[
        str | None, typer.Option("--commit", metavar="HASH", help="The commit; by default git's HEAD.")
    ] = None,
    commit_time: Annotated[
        str | None,
        typer.Option(
            "--commit-time", metavar="TIME", help="When it was committed, in ISO 8601; by default as git says."
        ),
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", metavar="NAME", help="The branch; by default git's.")
    ] = None,
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="A name of your own.")] = "",
    program: Annotated[
        str, typer.Option("--program", metavar="NAME", help="The program; by default as recorded.")
    ] = "",
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config", metavar="KEY=VALUE", help="What the program was given; other values start another series."
        ),
    ] = None,
    power_limit: Annotated[
        float | None,
        typer.Option("--power-limit", metavar="WATTS", min=1, help="The GPUs' power limit; it splits series."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Also keep the analyses, for commands on main@latest and the like.")
    ] = False,
    store: StoreOption = None,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    no_cache: NoCacheOption = False,
    force: ForceOption = False,
) -> None:
    """Add recordings to a store, each once.

    A recording, its copies and its saved analysis are one run, however often they are added. Commit, commit time
    and branch come from git.
    """
    from tcprof.history.database import find_url
    from tcprof.history.git import add_commit, parse_config
    from tcprof.history.run import Facts, describe_run, to_utc
    from tcprof.history.store import open_store
    from tcprof.sources.registry import find_recordings
    from tcprof.views.history import view_added

    chosen = choose_format(output_format, output, tuple(recordings), force=force)
    if commit_time and not to_utc(commit_time):
        raise UsageError(f"--commit-time {commit_time!r} is not a time.", "Write it so: 2026-11-25T13:00:00+00:00")
    given = Facts(
        *(commit or "", commit_time or "", branch or "", label, program), power_limit, parse_config(config or [])
    )
    facts, notes = add_commit(given)
    files = [file for each in recordings for file in find_recordings(each)]
    find_url(store)  # a wrong address is refused before anything is read
    added = []
    with progress_of("Adding", len(files)) as on_done:
        for done, file in enumerate(files, 1):
            analysis = read_recording(file, no_cache=no_cache)
            if done == 1:
                describe_run(analysis, facts)  # what cannot be read, or names no program, makes no store
                opened = open_store(store)
            added += opened.add([analysis], facts, keep=keep)
            on_done(done)
    print_notes(dict.fromkeys([*notes, *(note for each in added for note in each.notes)]))
    document = view_added([file.name for file in files], [(each.run_id, each.is_new) for each in added], opened.name)
    print_document(document, chosen, output)


@history.command("list", epilog="Example:\n\ntcprof history list --branch main")
def list_runs(
    branch: BranchOption = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Number of runs to show; 0 for all.")] = 40,
    store: StoreOption = None,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """List the runs of a store, the newest first."""
    from tcprof.views.history import view_runs

    chosen = choose_format(output_format, output, force=force)
    print_document(view_runs(open_existing(store).runs(branch), limit), chosen, output, wide=wide)


@history.command(epilog="Example:\n\ntcprof history show main@latest")
def show(
    run: RunArgument,
    store: StoreOption = None,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    wide: WideOption = False,
    force: ForceOption = False,
) -> None:
    """Show a run: its facts and its figures, each with its interval."""
    from tcprof.views.history import view_run

    chosen = choose_format(output_format, output, force=force)
    opened = open_existing(store)
    found = _find_run(opened, run)
    series, points = opened.series(), opened.points(run_ids=[found["run_id"]])
    print_document(view_run(found, series, points), chosen, output, wide=wide)


@history.command(epilog="Example:\n\ntcprof history export -o history.csv")
def export(
    branch: BranchOption = None,
    store: StoreOption = None,
    output_format: TableFormatOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
) -> None:
    """Write every point with its series and its run."""
    from tcprof.views.history import view_export

    opened = open_existing(store)
    chosen = choose_format(output_format, output, force=force)
    runs = opened.runs(branch)
    points = opened.points(run_ids=runs["run_id"])
    print_document(view_export(runs, opened.series(), points, opened.accepted()), chosen, output)


@history.command(epilog="Example:\n\ntcprof history rm 12")
def rm(
    runs: Annotated[list[int], typer.Argument(metavar="RUN...", help="Numbers of runs.")], store: StoreOption = None
) -> None:
    """Remove runs with their points and analyses, such as those of a disturbed machine."""
    opened = open_existing(store)
    for run_id in runs:
        opened.remove(run_id)


def open_existing(url: str | None) -> "Store":
    """A store that is there."""
    from tcprof.history.store import open_store

    return open_store(url, create=False)


def _find_run(store: "Store", name: str) -> "pd.Series[object]":
    """The last of the runs that are meant.

    Raises:
        InputError: There is none.
        UsageError: It is no such number, and no name of a run.
    """
    from tcprof.history.names import find_runs, names_runs

    if name.isdecimal():
        runs = store.runs()
        runs = runs[runs["run_id"] == int(name)]
    elif names_runs(Path(name)):
        runs = find_runs(store, name)
    else:
        raise UsageError(f"{name!r} names no run.", "Give its number, BRANCH@latest or commit:HASH.")
    if runs.empty:
        raise UsageError(f"{store.name} has no run {name}.", "'tcprof history list' lists them.")
    return runs.iloc[-1]
