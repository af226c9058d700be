"""The application that the commands are added to."""

from typing import Annotated

import typer

import tcprof

app = typer.Typer(
    name="tcprof",
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
        typer.echo(f"tcprof {tcprof.__version__}")
        raise typer.Exit
