"""``tcprof mcp``."""

from pathlib import Path
from typing import Annotated

import typer

from tcprof.cli import app
from tcprof.errors import UsageError


@app.command(epilog="Example:\n\ntcprof mcp --root runs/")
def mcp(
    root: Annotated[
        list[Path],
        typer.Option(
            "--root", metavar="DIR", help="Folder of recordings that agents may read; repeat it for several folders."
        ),
    ] = [Path()],  # noqa: B006 - typer copies it
) -> None:
    """Serve recordings to agents over the Model Context Protocol.

    An agent starts this command and speaks to it over its standard streams. It has six read-only tools: list, show,
    advise, table, compare and ranks. They read only below the given folders, start no program and change no recording.
    """
    try:
        from tcprof.api.serving import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise UsageError("The MCP SDK is not installed.", "Install it: pip install 'tcprof[mcp]'.") from error
    serve(root)
