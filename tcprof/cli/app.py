"""The application that the commands are added to."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import tcprof
from tcprof.cli.streams import echo
from tcprof.errors import StoppedError

# Each is added by the module of its name. As users meet them: can it be recorded, record it, what does it show, in more
# detail, did a change help, pass it on.
COMMANDS = (
    "doctor",
    "profile",
    "show",
    "advise",
    "report",
    "ranges",
    "kernels",
    "modules",
    "timeline",
    "compare",
    "save",
    "export",
    "redact",
    "workloads",
)


class Commands(TyperGroup):
    """All commands; Ctrl-C ends each of them with the same status, whatever the version of typer makes of it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the help text."""
        return sorted(super().list_commands(ctx), key=COMMANDS.index)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named.

        Raises:
            StoppedError: The user ended it.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise StoppedError("Stopped.") from stop


app = typer.Typer(
    name="tcprof",
    cls=Commands,
    help="Are the Tensor Cores working, where not, why, and did my change help?",
    epilog="Example: tcprof profile train.py, then tcprof compare base.nsys-rep opt.nsys-rep",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def common(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Are the Tensor Cores working, where not, why, and did my change help?"""
    if version:
        echo(f"tcprof {tcprof.__version__}\n")
        raise typer.Exit
