"""IPython's ``%tcprof`` and ``%%tcprof``, which ``%load_ext tcprof`` brings."""

import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcprof.errors import TcprofError, UsageError

if TYPE_CHECKING:
    from tcprof.api.reading import Report

USAGE = "%tcprof RECORDING shows a recording; %%tcprof [REPORT] records the cell below it."
DEFAULT_REPORT = "cell.nsys-rep"


def register(shell: Any) -> None:
    """Add the magics to a shell of IPython."""
    shell.register_magic_function(tcprof, "line_cell", "tcprof")


def tcprof(line: str, cell: str | None = None) -> "Report | None":
    """Show a recording, or record a cell.

    ``%tcprof RECORDING`` shows a recording. ``%%tcprof [REPORT]`` runs the cell as a script of its own, in another
    process under Nsight Systems, by this Python and in this folder; it shares no variable with the notebook. Both show
    the verdict, the findings and the tables, and give the report; an error is a message.
    """
    try:
        return _analyze(shlex.split(line), cell)
    except TcprofError as error:
        sys.stderr.write(f"tcprof: {error}\n")
        return None


def _analyze(given: list[str], cell: str | None) -> "Report":
    if len(given) > 1 or (cell is None and not given):
        raise UsageError("tcprof takes one name.", USAGE)
    if cell is None:
        from tcprof.api.reading import read

        return read(given[0])
    from tcprof.api.recording import profile

    with tempfile.TemporaryDirectory(prefix="tcprof-") as folder:
        script = Path(folder) / "cell.py"
        script.write_text(cell, encoding="utf-8")
        return profile([str(script)], given[0] if given else DEFAULT_REPORT)
