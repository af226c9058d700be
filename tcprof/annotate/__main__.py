"""``python -m tcprof.annotate train.py --epochs 1``: run a program annotated, below nsys or not."""

from __future__ import annotations

import builtins
import runpy
import sys
from pathlib import Path
from types import ModuleType

from tcprof.annotate import start
from tcprof.annotate.ops import LEVELS

USAGE = f"usage: python -m tcprof.annotate [--level {'|'.join(LEVELS)}] [-m MODULE | SCRIPT] [ARGUMENT ...]"


def main() -> None:
    """Run the script, or with ``-m`` the module, that the arguments name, as Python itself would."""
    args, level = sys.argv[1:], None
    if args[:1] == ["--level"]:
        level, args = "".join(args[1:2]), args[2:]
    elif args and args[0].startswith("--level="):
        level, args = args[0].partition("=")[2], args[1:]
    is_module = args[:1] == ["-m"]
    program = args[is_module:]
    if not program or (level is not None and level not in LEVELS):
        sys.exit(USAGE)
    sys.argv = program
    start(level)
    if is_module:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    elif Path(program[0]).is_file():
        _run_script(program[0])
    else:
        runpy.run_path(program[0], run_name="__main__")  # a folder or an archive, or an error that says so


def _run_script(script: str) -> None:
    """Run a script in a module of its own, which stays the main one for what the program does when it ends."""
    path = Path.cwd() / script  # as Python has it in __file__ and in tracebacks
    sys.path[0] = str(Path(script).resolve().parent)
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = str(path)
    module.__builtins__ = builtins  # type: ignore[attr-defined]
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    exec(code, module.__dict__)


main()
