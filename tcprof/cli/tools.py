"""The commands that take no recording: this machine, what comes with tcprof, and the server for agents."""

from pathlib import Path

import typer

from tcprof import units
from tcprof.cli import app
from tcprof.cli.options import LIST, LIST_FORMATS, NSYS, TABLE, WIDE, Asked, CliOption, takes
from tcprof.cli.output import print_document, progress
from tcprof.cli.streams import echo
from tcprof.errors import INSTALL_EXTRA, UsageError

_NOT_READY = 3


@app.command(epilog="Examples:\n\ntcprof doctor\n\ntcprof doctor --format json")
@takes(NSYS, LIST)
def doctor(asked: Asked) -> None:
    """Check whether this machine can record GPU metrics.

    If it cannot, tcprof says why and what to do. It checks nsys, its importer, GPUs, permission to read counters, other
    profilers, disk and Python, then samples the GPUs briefly; it changes nothing. The exit status is 0 if a recording
    is possible, otherwise 3.
    """
    from tcprof.record.doctor import check_up
    from tcprof.views.commands import is_ready, view_checks

    chosen, file, _ = asked.choose_outputs(formats=LIST_FORMATS)
    with progress("Checking this machine"):
        checks = check_up(Path.cwd(), asked.nsys)
    print_document(view_checks(checks), chosen, file)
    if not is_ready(checks):
        raise typer.Exit(_NOT_READY)


@app.command(epilog="Examples:\n\ntcprof chips\n\ntcprof chips --format json")
@takes(TABLE, WIDE)
def chips(asked: Asked) -> None:
    """List the GPU boards that tcprof knows, with their peaks.

    A row has a board's SMs, clock, memory bandwidth, and dense peak of each precision (HFU and MFU are shares of it).
    Peaks that no source states, or on which sources differ, are unknown (–).
    """
    from tcprof.views.commands import view_boards

    asked.show(view_boards())


@app.command(epilog="Examples:\n\ntcprof workloads\n\ntcprof workloads --format json")
@takes(LIST)
def workloads(asked: Asked) -> None:
    """List the training scripts that come with tcprof.

    For each, it says what the script shows, and which command records it.
    """
    from tcprof.views.commands import view_workloads
    from tcprof.workloads import find_workloads, read_workloads

    chosen, file, _ = asked.choose_outputs(formats=LIST_FORMATS)
    folder = find_workloads()
    print_document(view_workloads(folder, read_workloads(folder, Path.cwd())), chosen, file)


@app.command(epilog="Examples:\n\ntcprof cache\n\ntcprof cache --clear")
@takes(CliOption("clear", bool, False).means("Remove all cached analyses; recordings stay."))
def cache(asked: Asked) -> None:
    """Show where cached analyses are and how much space they take, or remove them.

    tcprof keeps the analysis of each recording that it reads, so that the next command on it is fast; beyond 2 GiB,
    it removes the least recently used. TCPROF_CACHE=FOLDER chooses the folder, and TCPROF_CACHE=0 turns the
    cache off.
    """
    from tcprof.saved.cache import MOST_BYTES, user_cache
    from tcprof.saved.contents import find_folder

    kept = user_cache(lambda note: None)
    if kept is None:
        echo("The cache is off (TCPROF_CACHE).\n")
        return
    entries = kept.list_entries()
    size = units.format_bytes(sum(entry.stat().st_size for entry in entries))
    for entry in entries if asked.clear else ():
        entry.unlink(missing_ok=True)
    count = units.format_things(len(entries), "analysis", "analyses")
    limit = f" of at most {units.format_bytes(MOST_BYTES)}\nTo remove them: tcprof cache --clear"
    echo(f"{find_folder()}: {count}, {size}{' removed' if asked.clear else limit}\n")


@app.command(epilog="Example:\n\ntcprof mcp --root runs/")
@takes(
    CliOption("root", list[Path], [Path()], metavar="DIR").means(
        "Folder of recordings that agents may read; repeat it for several folders."
    )
)
def mcp(asked: Asked) -> None:
    """Serve recordings to agents over the Model Context Protocol.

    An agent starts this command and talks to it over standard input and output. It has six read-only tools: list, show,
    advise, table, compare and ranks. They read only below the given folders, start no program and change no recording.
    """
    try:
        from tcprof.api.agents import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise UsageError("The MCP SDK is not installed.", f"{INSTALL_EXTRA.format('mcp')}.") from error
    serve(asked.root)


_PACKAGE = Path(__file__).parents[1]
_FILES = (_PACKAGE / "_glossary.md", _PACKAGE.parent / "docs" / "glossary.md")


def read_glossary() -> dict[str, tuple[str, dict[str, str]]]:
    """Read each term with its meaning, and what other tools call it."""
    text = next(file for file in _FILES if file.is_file()).read_text(encoding="utf-8").replace("`", "")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {
        term: (meaning, {tool: name for tool, name in zip(head[2:], names, strict=True) if name != "–"})
        for term, meaning, *names in rows
    }


def explain_term(wanted: str) -> str:
    """Explain a term in a sentence, with what other tools call it."""
    terms = read_glossary()
    key = wanted.lower().replace("-", " ")
    for term, (meaning, tools) in terms.items():
        plain = term.lower().replace("-", " ")
        if key in (plain, *plain.split(", ")):
            names = "".join(f"\n  {tool}: {name}" for tool, name in tools.items())
            return f"{term}: {meaning}.{names}"
    raise UsageError(f"{wanted} is neither a command nor a term.", f"The terms are: {'; '.join(terms)}.")
