"""CPU seconds and memory of commands on small files with more different things than any program has.

    python benchmarks/small_files.py                   # about 20 MB each: half an hour
    python benchmarks/small_files.py --rows 20000 --kinds nest

Each file is a fixture with as many rows of a kind: kernels of names or grids of their own, ranges in each other or of
names or domains of their own, GPUs, waits and messages. Ends with status 1 if a command takes over 20 s of CPU.
"""

# ruff: noqa: S608

import argparse
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from machine import describe_machine
from speed import OTHER_FIXTURE, tcprof

from tcprof.saved.contents import VARIABLE

FIXTURE = Path(__file__).parent.parent / "fixtures" / "mlp_tf32.sqlite"
MOST_CPU_S = 20
KERNELS, RANGES, CALLS = "CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"
Row = dict[str, Any]


def _range(number: int, row: Row, step: int, **changes: Any) -> Row:
    """A range behind the one before."""
    start = row["start"] + number * step
    return {"start": start, "end": start + step // 2, "text": "r", "textId": None} | changes


def _nested(number: int, row: Row, step: int) -> Row:
    start, end = row["start"] + number * step // 2, row["end"] - number * step // 2
    return _range(number, row, step, start=start, end=end, text=f"r{number}")


def _kernel(number: int, row: Row, step: int, **changes: Any) -> Row:
    return {"start": row["start"] + number * step, "end": row["start"] + (number + 1) * step - 1} | changes


# By kind the table, how a row is chosen in it, and what each new one has.
KINDS: dict[str, tuple[str, str, Callable[[int, Row, int], Row]]] = {
    "kernel names": (KERNELS, "true", lambda n, row, step: _kernel(n, row, step, demangledName=-n, shortName=-n)),
    "grids": (KERNELS, "true", lambda n, row, step: _kernel(n, row, step, gridX=n)),
    "GPUs": (KERNELS, "true", lambda n, row, step: _kernel(n, row, step, deviceId=n)),
    "streams": (KERNELS, "true", lambda n, row, step: _kernel(n, row, step, streamId=n)),
    "nested ranges": (RANGES, "eventType in (59, 60)", _nested),
    "range names": (RANGES, "eventType in (59, 60)", lambda n, row, step: _range(n, row, step, text=f"r{n}x")),
    "domains": (RANGES, "eventType in (59, 60)", lambda n, row, step: _range(n, row, step, domainId=n)),
    "waits": (CALLS, "true", lambda n, row, step: _kernel(n, row, step, nameId=-n, correlationId=10**7 + n)),
    "messages": ("DIAGNOSTIC_EVENT", "true", lambda n, _, __: {"text": f"Event {n} was lost in /home/user{n}/run"}),
}


def write_file(path: Path, kind: str, rows: int) -> None:
    """Add the rows to a copy of the fixture, over the time of all its kernels."""
    table, chosen, change = KINDS[kind]
    shutil.copyfile(FIXTURE, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.row_factory = sqlite3.Row
        first, last = connection.execute(f"select min(start), max(end) from {KERNELS}").fetchone()
        row = dict(connection.execute(f"select * from {table} where {chosen} limit 1").fetchone())
        row |= {"start": first, "end": last} if "start" in row else {}
        if table == KERNELS:
            connection.execute(f"delete from {table}")
        words = {"kernel names": "kernel_{}(float*)", "waits": "cudaStreamSynchronize_v{}"}.get(kind, "")
        names = ((-number, words.format(number)) for number in range(1, rows + 1)) if words else ()
        connection.executemany("insert into StringIds values (?, ?)", names)
        step = max((last - first) // rows, 2)
        marks = ", ".join(f":{name}" for name in row)
        added = ({**row, **change(number, row, step)} for number in range(1, rows + 1))
        connection.executemany(f"insert into {table} ({', '.join(row)}) values ({marks})", added)


def main() -> None:
    """Print a table of CPU seconds and memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=225_000, help="of each file; default: %(default)s")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=[*KINDS])
    options = parser.parse_args()
    os.environ[VARIABLE] = ""  # or all but the first command would be read from the cache
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, page = folder / "small.sqlite", folder / "small.html"
        commands: dict[str, list[str | Path]] = {
            **{command: [command, path] for command in ("show", "ranges", "advise")},
            "export": ["export", path, "-o", folder / "frames", "--force"],
            "report": ["report", path, "-o", page, "--force"],
            "compare": ["compare", OTHER_FIXTURE, path],
        }
        print(
            f"{describe_machine()}\n\n| kind | file | {' | '.join(commands)} |\n|---|{' ---: |' * (1 + len(commands))}"
        )
        for kind in options.kinds:
            write_file(path, kind, options.rows)
            costs = [tcprof(folder, *command) for command in commands.values()]
            missed += any(cost.cpu_s > MOST_CPU_S for cost in costs)
            cells = " | ".join(f"{cost.cpu_s:.1f} s, {cost.peak_mb:.0f} MB" for cost in costs)
            print(f"| {kind} | {path.stat().st_size / 1e6:.1f} MB | {cells} |", flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
