"""The program that is recorded: what the user named, in which Python it runs, and how it gets its annotation."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import InputError, UsageError

MODULE_OPTION = "-m"
AUTO, OFF = "auto", "off"
# As tcprof.annotate reads them.
LEVEL_VARIABLE, PROCESSES_VARIABLE = "TCPROF_ANNOTATE", "TCPROF_PROCESSES"
_ANNOTATION = Path(__file__).parents[1] / "annotate" / "startup"  # what Python runs at its start if it is on PYTHONPATH


@dataclass(frozen=True)
class Python:
    """The Python that runs a script or a module."""

    path: str
    reason: str = ""  # why it is not tcprof's own; empty where it is


def choose_python(asked: str | None = None) -> Python:
    """Choose the Python that the user names, else that of the active environment, else tcprof's own.

    An environment is active by VIRTUAL_ENV, by CONDA_PREFIX unless it is conda's base, or, where tcprof itself was
    found on PATH, by PATH: so a tcprof that has an environment of its own, as pipx makes one, uses the user's. One that
    was called by its path uses the Python beside it.

    Raises:
        InputError: The one that the user names does not exist.
    """
    if asked:
        path = shutil.which(os.path.expanduser(asked))  # noqa: PTH111 -- a path would lose ./
        if not path:
            raise InputError(f"The Python {asked} was not found.", hint="Name one: --python /path/to/bin/python")
        return Python(path, "as --python says")
    conda = os.environ.get("CONDA_PREFIX") if os.environ.get("CONDA_DEFAULT_ENV") != "base" else None
    active = {"VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV"), "CONDA_PREFIX": conda}
    candidates = [(str(Path(folder, "bin", "python")), name) for name, folder in active.items() if folder]
    if Path(sys.argv[0]).is_absolute() and shutil.which("tcprof") == sys.argv[0]:
        candidates += [(path, "PATH") for path in (shutil.which("python"), shutil.which("python3")) if path]
    path, name = next((candidate for candidate in candidates if os.access(candidate[0], os.X_OK)), (sys.executable, ""))
    if Path(path).parent.resolve() == Path(sys.executable).parent.resolve():
        return Python(sys.executable)
    return Python(path, f"of the active environment, according to {name}")


def find_program(args: Sequence[str], python: str = sys.executable, *, is_here: bool = True) -> tuple[str, ...]:
    """Find the program that the user named; return it and its arguments, as they are started.

    A command that is not on PATH is looked for beside the Python, where pip installs torchrun.

    Args:
        python: What runs a script, as in ``train.py --fast``, or a module, as in ``-m train --fast``.
        is_here: Whether it has to be on this machine.

    Raises:
        UsageError: If there is no program.
        InputError: If the script or the command does not exist.
    """
    if not args or (args[0] == MODULE_OPTION and len(args) == 1):
        raise UsageError("There is no program to record.", hint="Name one: tcprof profile train.py")
    if args[0] == MODULE_OPTION:
        return (python, *args)
    if args[0].endswith(".py"):
        if is_here and not Path(args[0]).is_file():
            raise InputError(f"The script {args[0]} does not exist.", hint="Check its path.")
        return (python, *args)
    beside = Path(python).parent / args[0]
    if not shutil.which(args[0]) and beside.is_file():
        return (str(beside), *args[1:])
    if shutil.which(args[0]) or not is_here:
        return tuple(args)
    raise InputError(
        f"The program {args[0]} was not found.",
        hint="Check its name; a program in this folder needs './' in front of it.",
    )


def annotated(command: tuple[str, ...], level: str, processes: Path | None = None) -> tuple[str, ...]:
    """Have the program, and every Python that it starts, annotate itself once it imports PyTorch: ``tcprof.annotate``.

    The environment is set in the command, so that what is printed can be run as it stands.

    Args:
        processes: A folder that each process writes to which rank it is, see ``tcprof.identity``, and its steps.
    """
    if level == OFF:
        return command
    folders = os.pathsep.join(filter(None, (str(_ANNOTATION), os.environ.get("PYTHONPATH"))))
    chosen = () if level == AUTO else (f"{LEVEL_VARIABLE}={level}",)
    written = () if processes is None else (f"{PROCESSES_VARIABLE}={processes}",)
    return ("env", f"PYTHONPATH={folders}", *chosen, *written, *command)


def level_of(level: str) -> str:
    """Return what is annotated: ``auto`` leaves it to the environment."""
    chosen = os.environ.get(LEVEL_VARIABLE) or AUTO if level == AUTO else level
    return "modules" if chosen == AUTO else chosen


_OF_JAX = re.compile(r"^\s*(import|from)\s+(jax|flax|equinox|optax|haiku)\b", re.MULTILINE)


def imports_jax(args: Sequence[str]) -> bool:
    """Tell whether a script of a command imports JAX, or what is built on it, itself."""
    for path in (Path(arg) for arg in args if arg.endswith(".py")):
        with suppress(OSError, ValueError):
            return bool(_OF_JAX.search(path.read_text(encoding="utf-8")))
    return False


_SCRIPT = re.compile(r"(?!-)[^\s=;&|]+\.py")  # not a command line of a shell, with variables in it


def name_report(args: Sequence[str]) -> str:
    """Name a report after the script, wherever it is in the command, else the module or the command."""
    if args[:1] == [MODULE_OPTION] and len(args) > 1:
        return args[1].removesuffix(".__main__").rpartition(".")[2]
    named = (arg for arg in args if _SCRIPT.fullmatch(arg) or (arg.endswith(".py") and Path(arg).is_file()))
    script = next(named, args[0] if args else "")
    return Path(script).stem or "recording"


_EXPLAINED = {  # what the output of a recording has: what it means, and what to do
    "Importation succeeded with non-fatal errors": "nsys could not import every event into the report: kernels or "
    "ranges may be missing, and sums too low. Record a shorter stretch (--duration, --capture-range), or use a newer "
    "nsys.",
    "Cannot re-initialize CUDA in forked subprocess": "the program forks after initializing CUDA, which CUDA "
    "does not support. Make it spawn its workers: multiprocessing.set_start_method('spawn'), or for vLLM "
    "VLLM_WORKER_MULTIPROC_METHOD=spawn.",
}


def explain_output(output: str, status: int, program: Sequence[str]) -> tuple[str, ...]:
    """Explain faults of the program or of nsys that the recording's output shows, each with what to do."""
    explained = [meaning for message, meaning in _EXPLAINED.items() if message in output]
    missing = re.findall(r"^ModuleNotFoundError: No module named '([\w.]+)'", output, re.MULTILINE)
    if status and missing:
        python = program[0] if "python" in Path(program[0]).name else ""
        where = python or "the Python that ran it"
        package = missing[-1].partition(".")[0]
        install = f"{shlex.quote(python) if python else 'python'} -m pip install {package}"
        explained.append(
            f"{where} has no module {missing[-1]}. Name the Python that has it, tcprof profile --python PATH ..., or "
            f"install it: {install}"
        )
    return tuple(explained)
