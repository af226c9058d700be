"""The command line: one function a command, which parses, calls and prints; ``COMMANDS`` says where each is.

Exit status: 0 done, 1 a gate failed, 2 wrong use, 3 the input lacks what is needed or an output cannot be written, 4
nsys failed, 5 a gate is inconclusive, 70 a defect of tcprof; ended by a signal, or by a reader that has gone, 128 and
the signal's number.
"""

import gc
import os
import platform
import sys
import traceback
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import tcprof
from tcprof.cli.streams import READER_GONE, close_streams, echo, echo_error, open_streams, raise_on_signal
from tcprof.errors import DEFECT_STATUS, InputError, OutputError, StoppedError, TcprofError, UsageError
from tcprof.version import __version__

# What each command is for, and its module in this package; as users meet them: can it be recorded, record it, what does
# it show, in more detail, did a change help, pass it on.
GROUPS = {
    "Record": {"doctor": "tools", "profile": "profile", "workloads": "tools", "chips": "tools"},
    "Inspect": {
        "show": "views",
        "advise": "views",
        "report": "files",
        "ranges": "views",
        "modules": "views",
        "kernels": "views",
        "timeline": "views",
    },
    "Compare": {"compare": "compare", "history": "history", "ranks": "ranks"},
    "Share": {"save": "files", "export": "files", "redact": "files", "mcp": "tools", "cache": "tools"},
}
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
HELP = "help"
TRACEBACK = "TCPROF_TRACEBACK"
GARBAGE = (500_000, 20, 100)  # objects, then collections, between two collections: Python's own are far more frequent
# Commands whose programs inherit the environment. For others BLAS needs no threads, of which each spins while it waits.
_PROGRAMS = ("profile", "mcp")
_READERS = ("sqlite3", "sqlalchemy", "adbc_driver_manager", "pyarrow")  # which complain about what is in a file


class TcprofGroup(TyperGroup):
    """Ends each command with the same status on Ctrl-C, whatever the version of typer makes of it."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise StoppedError("Stopped.") from stop


app = typer.Typer(
    name="tcprof",
    cls=TcprofGroup,
    help="Are the Tensor Cores working? If not, where and why? Did my change help?",
    epilog="Examples:\n\ntcprof profile train.py\n\ntcprof compare base.nsys-rep new.nsys-rep\n\n"
    "'tcprof help COMMAND' explains a command, and 'tcprof help MFU' a term.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, metavar=" ")
    ] = False,
) -> None:
    """Are the Tensor Cores working? If not, where and why? Did my change help?"""
    if version:
        echo(f"tcprof {tcprof.__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command line, whatever happens, to an exit status and lines that its user understands."""
    # Each walks what pandas and SQLAlchemy have loaded, a tenth of the time; loading makes 250,000.
    gc.set_threshold(*GARBAGE)
    open_streams()
    try:
        status = _run()
    except SystemExit as end:
        # typer ends with status 1 where the reader has gone, which would be a gate that failed.
        gone = isinstance(end.__context__, BrokenPipeError)
        status = READER_GONE if gone else end.code if isinstance(end.code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        status = _explain(StoppedError("Stopped."))
    except Exception as error:
        status = _explain(error)
    close_streams()
    gc.freeze()  # or Python walks all of it once more to free what ends with the process: a sixth of a small command
    sys.exit(status)


def _run() -> int:
    """Run the command that the arguments ask for; returns its exit status."""
    args = sys.argv[1:] or ["--help"]
    if args[0] == HELP:
        if args[1:] and args[1] not in COMMANDS and not args[1].startswith("-"):
            from tcprof.cli.tools import explain_term

            echo(f"{explain_term(' '.join(args[1:]))}\n")
            return 0
        args = [*args[1:], "--help"]
    if args[0] not in _PROGRAMS:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    named = [COMMANDS[args[0]]] if args[0] in COMMANDS else []
    for name in named or dict.fromkeys(COMMANDS.values()):  # typer prepares the options of all it is given
        import_module(f"{__name__}.{name}")  # which adds its commands
    panels = {name: group for group, names in GROUPS.items() for name in names}
    for command in app.registered_commands:
        command.name = command.name or getattr(command.callback, "__name__", "")
        command.rich_help_panel = panels.get(str(command.name))
    app.registered_commands.sort(key=lambda command: list(panels).index(str(command.name)))
    with raise_on_signal():
        status = app(args, standalone_mode=False)
    return status if isinstance(status, int) else 0


def _convert_typer_error(error: Any) -> UsageError:
    """Add to an error of typer's about arguments the command whose help explains them."""
    names: list[str] = []
    ctx = error.ctx
    while ctx and ctx.parent:  # the outermost is tcprof, or python -m tcprof
        names, ctx = [ctx.info_name, *names], ctx.parent
    return UsageError(error.format_message().replace("Value error, ", ""), " ".join(["See: tcprof help", *names]))


def _explain(error: BaseException) -> int:
    """Print what went wrong, and what to do; returns the exit status.

    Names of files, and what SQLite and nsys say, are printed so that they cannot act on the terminal or begin a line.
    """
    if os.environ.get(TRACEBACK):
        echo_error("".join(traceback.format_exception(error)))
    if hasattr(error, "show") and hasattr(error, "exit_code"):  # typer's own, about arguments, of classes that it hides
        error = _convert_typer_error(error)
    for_user = _convert_error(error)
    if for_user is None:
        return _explain_defect(error)
    for text in filter(None, (f"tcprof: {for_user.message}", for_user.hint and f"  {for_user.hint}")):
        echo_error(text.replace("\n", "\n  "))
    return for_user.exit_status


def _convert_error(error: BaseException) -> TcprofError | None:
    """Turn an error into one that is meant for the user; None for a defect.

    Libraries that read files raise errors of their own where the content is not what it should be: a source turns these
    into errors that name the file, and this catches the rest.
    """
    if isinstance(error, TcprofError):
        return error
    reason = _first_line(error)
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        return OutputError(f"{where}{error.strerror or reason}.")
    if isinstance(error, MemoryError):
        return InputError("There is not enough memory for this recording.", "Record less: --capture-range, --duration.")
    if type(error).__module__.partition(".")[0] in _READERS:
        return InputError(
            f"The content of the recording cannot be read: {reason}",
            "The file may be damaged: copy it again from where it was made, or write it again.",
        )
    return None


def _explain_defect(error: BaseException) -> int:
    echo_error(f"tcprof: This is a bug in tcprof: {type(error).__name__}: {_first_line(error)}")
    echo_error(
        f"  Please report it, with the command and the traceback that {TRACEBACK}=1 shows.\n"
        f"  tcprof {__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    )
    return DEFECT_STATUS


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
