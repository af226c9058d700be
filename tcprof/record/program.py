"""The program to be recorded, as the user names it: a script, a module, a command."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import InputError, UsageError

MODULE_OPTION = "-m"
AUTO, OFF = "auto", "off"
LEVEL_VARIABLE, STEP_TIMES_VARIABLE = "TCPROF_ANNOTATE", "TCPROF_STEP_TIMES"  # as tcprof.annotate reads them
_ANNOTATION = Path(__file__).parents[1] / "annotate" / "startup"  # what Python runs at its start if it is on PYTHONPATH


def split_arguments(args: Sequence[str], known: Mapping[str, bool]) -> tuple[list[str], list[str], list[str]]:
    """Splits a command line into options of tcprof, options for nsys, and the program with its arguments.

    The program begins at the first argument that is no option, at ``-m``, or after ``--``. Every option of nsys takes a
    value, after ``=`` or as the next argument.

    Args:
        known: The options of tcprof, and whether each takes a value.
    """
    ours: list[str] = []
    theirs: list[str] = []
    position = 0
    while position < len(args):
        arg = args[position]
        if arg == "--":
            return ours, theirs, list(args[position + 1 :])
        if arg == MODULE_OPTION or arg == "-" or not arg.startswith("-"):
            return ours, theirs, list(args[position:])
        is_long = arg.startswith("--")
        name, has_value = (arg.partition("=")[0], "=" in arg) if is_long else (arg[:2], len(arg) > 2)
        target = ours if name in known else theirs
        count = 2 if known.get(name, True) and not has_value else 1
        target += args[position : position + count]
        position += count
    return ours, theirs, []


@dataclass(frozen=True)
class Program:
    """A program that is there."""

    command: tuple[str, ...]  # it and its arguments, as they are started
    name: str  # what a report of it is called


def find_program(args: Sequence[str], python: str = sys.executable) -> Program:
    """Finds what the user named.

    ``train.py --fast`` and ``-m train --fast`` get the Python that runs tcprof, so that virtual environments hold; a
    command that is not on PATH is looked for beside that Python, where pip installs torchrun.

    Raises:
        UsageError: If there is no program.
        InputError: If the script or the command does not exist.
    """
    if not args or (args[0] == MODULE_OPTION and len(args) == 1):
        raise UsageError("There is no program to record.", hint="Name it: tcprof profile train.py")
    if args[0] == MODULE_OPTION:
        return Program((python, *args), name_report(args))
    if args[0].endswith(".py"):
        if not Path(args[0]).is_file():
            raise InputError(f"The script {args[0]} does not exist.", hint="Check its path.")
        return Program((python, *args), name_report(args))
    beside = Path(python).parent / args[0]
    if shutil.which(args[0]) is None and not beside.is_file():
        raise InputError(
            f"The program {args[0]} was not found.",
            hint="Check its name; a program in this folder needs './' in front of it.",
        )
    return Program(tuple(args) if shutil.which(args[0]) else (str(beside), *args[1:]), name_report(args))


def annotated(command: tuple[str, ...], level: str, step_times: Path | None = None) -> tuple[str, ...]:
    """Has the program, and every Python that it starts, annotate itself once it imports PyTorch: ``tcprof.annotate``.

    The environment is set in the command, so that what is printed can be run as it stands.

    Args:
        level: See ``RecordOptions.annotate``.
        step_times: A folder that the times of its steps are written to, in place of ranges.
    """
    if level == OFF:
        return command
    folders = os.pathsep.join(filter(None, (str(_ANNOTATION), os.environ.get("PYTHONPATH"))))
    chosen = () if level == AUTO else (f"{LEVEL_VARIABLE}={level}",)
    timed = () if step_times is None else (f"{STEP_TIMES_VARIABLE}={step_times}",)
    return ("env", f"PYTHONPATH={folders}", *chosen, *timed, *command)


def name_report(args: Sequence[str]) -> str:
    """What to call a report: after the script, wherever it is in the command, else the module or the command."""
    if args[:1] == [MODULE_OPTION] and len(args) > 1:
        return args[1].removesuffix(".__main__").rpartition(".")[2]
    script = next((arg for arg in args if arg.endswith(".py") and not arg.startswith("-")), args[0] if args else "")
    return Path(script).stem or "recording"
