"""Write tcprof.1, the man page, from the help of the commands and the glossary: ``python docs/generate_man.py``."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from tcprof.cli import COMMANDS, GROUPS, app
from tcprof.cli.tools import read_glossary

PAGE = Path(__file__).with_name("tcprof.1")


def escape(text: str) -> str:
    """Keep roff from acting on text: backslashes, hyphens of options, and lines that begin with a dot."""
    plain = " ".join(text.replace("\\[", "[").split()).replace("\\", "\\e").replace("-", "\\-").replace("–", "\\(en")
    return re.sub(r"^([.'])", r"\\&\1", plain)


def describe(command: Any, name: str) -> list[str]:
    """Describe a command, its options and, of a group, its commands."""
    paragraphs = (command.help or "").split("\n\n")
    usage = " ".join(param.metavar or param.name.upper() for param in command.params if is_argument(param))
    lines = [f'.SS "tcprof {name} {escape(usage)}"']
    for paragraph in filter(None, paragraphs):
        lines += [".PP", escape(paragraph)]
    for param in command.params:
        if not is_argument(param) and param.name != "help":
            lines += [".TP", f"\\fB{escape(', '.join(param.opts))}\\fR", escape(param.help or "")]
    for inner, subcommand in getattr(command, "commands", {}).items():
        lines += describe(subcommand, f"{name} {inner}")
    return lines


def is_argument(param: Any) -> bool:
    """Tell an argument from an option."""
    return bool(param.param_type_name == "argument")


def render() -> str:
    """Render the page."""
    for module in dict.fromkeys(COMMANDS.values()):
        import_module(f"tcprof.cli.{module}")
    root = typer.main.get_command(app)
    lines = ['.TH TCPROF 1 "" "tcprof" "User Commands"', ".SH NAME", "tcprof \\- " + escape(root.help or "")]
    lines += [".SH SYNOPSIS", "\\fBtcprof\\fR COMMAND [OPTIONS] [ARGS]", ".SH COMMANDS"]
    for names in GROUPS.values():
        for name in names:
            lines += describe(root.commands[name], name)  # type: ignore[attr-defined]
    lines.append(".SH TERMS")
    for term, (meaning, tools) in read_glossary().items():
        names = "".join(f" {tool}: {other}." for tool, other in tools.items())
        lines += [".TP", f"\\fB{escape(term)}\\fR", escape(f"{meaning}.{names}")]
    lines += [".SH EXIT STATUS"]
    lines.append(escape("0 done; 1 a gate failed; 2 wrong use; 3 the input lacks what is needed; 4 nsys failed; "))
    lines.append(escape("5 a gate is inconclusive; 70 a defect of tcprof."))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
