"""``python -m tcprof.annotate train.py --epochs 1``: run a program annotated, below nsys or not."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

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
    else:
        sys.path[0] = str(Path(program[0]).resolve().parent)
        runpy.run_path(program[0], run_name="__main__")


main()
