"""``tcprof history trend`` and ``accept``: where figures changed, and which changes are meant."""

from typing import TYPE_CHECKING, Annotated

import typer

from tcprof.cli.history import MetricOption, StoreOption, history, open_existing
from tcprof.cli.options import ForceOption, OutputOption, TableFormatOption, WideOption, choose_outputs
from tcprof.cli.output import BRIEF, TEXT, print_document, progress
from tcprof.cli.streams import echo_path

if TYPE_CHECKING:
    pass

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


@history.command(epilog="Examples:\n\ntcprof history trend\n\ntcprof history trend --metric step_ns --confirm")
def trend(
    metric: MetricOption = None,
    branch: BranchOption = None,
    program: ProgramOption = None,
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

    chosen, file, page = choose_outputs(output_format, output, force=force)
    opened = open_existing(store)
    trends = read_trends(opened, branch, program, metric or ())
    accepted = opened.accepted()
    why = dict(zip(accepted["commit"], accepted["why"], strict=True))
    document = view_trends(trends, lambda *sides: explain_step(opened, *sides), confirm, limit or None, why)
    print_document(document, TEXT if chosen == BRIEF and (confirm or not trends) else chosen, file, wide=wide)
    if page is not None and trends:
        from tcprof.render.html.page import write_page

        with progress(f"Writing {page.name}"):
            write_page(document, page)
        echo_path(page)


@history.command(epilog="Example:\n\ntcprof history accept 4f2a91c --why 'a larger model'")
def accept(
    commit: Annotated[str, typer.Argument(metavar="COMMIT", help="The commit, or its first digits.")],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Why the change is intended.")],
    store: StoreOption = None,
) -> None:
    """Accept the change that came with a commit: its level is the baseline from there on."""
    from tcprof.history.trends import find_commit

    opened = open_existing(store)
    opened.accept(find_commit(opened, commit), why)
