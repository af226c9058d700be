"""``python -m tcprof.annotate train.py --epochs 1``: run a program annotated, below nsys or not."""

from __future__ import annotations

import builtins
import runpy
import sys
import zipfile
from importlib.machinery import SourceFileLoader
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
        _be_main()
        runpy._run_module_as_main(program[0])  # type: ignore[attr-defined]
    elif Path(program[0]).is_file() and not zipfile.is_zipfile(program[0]):
        _run_script(program[0])
    elif Path(program[0]).exists():  # a folder or an archive
        _set_path(str(Path.cwd() / program[0]), always=True)
        _be_main()
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
    else:
        sys.exit(f"{sys.executable}: can't open file {str(Path.cwd() / program[0])!r}: there is none")


def _set_path(first: str, *, always: bool = False) -> None:
    """Put a script's folder where Python does, in place of the folder that ``python -m`` has put there."""
    is_safe = bool(getattr(sys.flags, "safe_path", False) or sys.flags.isolated)  # then it has put none
    if not is_safe:
        sys.path[0] = first
    elif always:
        sys.path.insert(0, first)


def _be_main() -> ModuleType:
    """Make a module of the program's own, which stays the main one for what the program does when it ends."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__builtins__ = builtins  # type: ignore[attr-defined]
    if sys.version_info < (3, 14):  # Python gives its main module one
        module.__annotations__ = {}
    return module


def _run_script(script: str) -> None:
    path = Path.cwd() / script  # as Python has it in __file__ and in tracebacks
    _set_path(str(Path(script).resolve().parent))
    module = _be_main()
    module.__file__, module.__cached__ = str(path), None  # type: ignore[attr-defined]
    module.__loader__ = SourceFileLoader("__main__", str(path))
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    exec(code, module.__dict__)


main()
