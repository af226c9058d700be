"""How help and wrong arguments are shown: options as people write them, examples to copy, plain sentences."""

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# What typer calls a type, and what readers call its values. What is not here, such as a list of choices, stays.
_VALUES = {"int": "N", "int range": "N", "float": "NUMBER", "path": "PATH", "str": "TEXT"}
LONGEST = 1000  # characters of a sentence: none is cut
_TYPE = re.compile(r"<([^<>]+)>")
_LEAST = re.compile(r"(; |  ?\[)x>=[\d.]+(\])")


class Command(TyperCommand):
    """A command with such help."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The parts of the line on usage; what is required has no braces."""
        pieces = super().collect_usage_pieces(ctx)
        return [re.sub(r"\{(.*?)(?:\.{3})?\}(\.{3})?", r"\1\2", piece) for piece in pieces]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        write_parameters(self.get_params(ctx), ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        write_examples(self.epilog or "", formatter)


class Group(TyperGroup):
    """Commands under one name, with such help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, each with its first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(LONGEST)) for name, each in self.commands.items()])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write how to learn more, and the examples."""
        formatter.write(f"\n'tcprof help {ctx.info_name} COMMAND' explains a command.\n")
        write_examples(self.epilog or "", formatter)


class App(typer.Typer):
    """All commands, each of which is a ``Command`` unless it names a class of its own."""

    def command(self, *args: Any, **options: Any) -> Callable[..., Any]:
        """Add a command: see ``typer.Typer.command``."""
        return super().command(*args, **{"cls": Command, **options})


def write_parameters(parameters: list[Any], ctx: Any, formatter: Any) -> None:
    """Write what arguments and options are for, each with its value as people write it."""
    rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in parameters:
        if record := parameter.get_help_record(ctx):
            name, text = record
            is_argument = parameter.param_type_name == "argument"
            name = re.sub(r" <.*>", "", name) if is_argument else _TYPE.sub(lambda of: _VALUES.get(of[1], of[1]), name)
            text = _LEAST.sub(lambda found: found[2] if found[1] == "; " else "", text).replace("  [required]", "")
            rows["Arguments" if is_argument else "Options"].append((name, text))
    for title, some in rows.items():
        if some:
            with formatter.section(title):
                formatter.write_dl(some)


def write_examples(examples: str, formatter: Any) -> None:
    """Write commands to copy, which are separated by a semicolon and two spaces, each as a line of its own."""
    if examples:
        with formatter.section("Examples" if ";  " in examples else "Example"):
            for line in examples.partition(": ")[2].split(";  "):
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def describe_wrong_use(error: Any) -> tuple[str, str]:
    """What is wrong with the arguments, as an error of typer's says it, and where help is."""
    message = error.format_message()
    if hasattr(error.__cause__, "errors"):  # pydantic's, which typer checks values with since 0.29
        message = message.replace(str(error.message), _describe_value(error.__cause__.errors()[0]))
    message = re.sub(r"is not a valid int( range)?\.", "is not a whole number.", message)  # as earlier typer says it
    message = message.replace("is not a valid float.", "is not a number.")
    message = re.sub(r"is not in the range x>=([\d.]+)\.", r"is less than \1.", message)
    names: list[str] = []
    ctx = error.ctx
    while ctx and ctx.parent:  # the outermost is tcprof, or python -m tcprof
        names, ctx = [ctx.info_name, *names], ctx.parent
    return message, " ".join(["See: tcprof help", *names])


def _describe_value(wrong: dict[str, Any]) -> str:
    given, kind = wrong["input"], wrong["type"]
    if kind == "greater_than_equal":
        return f"{given} is less than {wrong['ctx']['ge']}."
    if kind.startswith(("int_", "float_")):
        return f"{given!r} is not a {'whole ' * kind.startswith('int_')}number."
    return str(wrong["msg"]).removeprefix("Value error, ")
