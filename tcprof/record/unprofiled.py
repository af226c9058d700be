"""Run a program by itself, without nsys, to time its steps."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pandas as pd

from tcprof.errors import NsysError
from tcprof.files import temporary_folder
from tcprof.frames import UNPROFILED
from tcprof.record.program import annotated

_GRACE_S = 5.0  # from the signal that asks the program to end


def run_unprofiled(program: tuple[str, ...], limit_s: float | None) -> tuple[pd.DataFrame, int | None]:
    """Runs a program by itself, in silence, for so many seconds at most, and times its steps.

    Returns:
        The steps, see ``tcprof.frames.UNPROFILED``; and its exit status, None where it was ended as its time was over.

    Raises:
        NsysError: It cannot be started.
    """
    with temporary_folder() as folder:
        status = _run(annotated(program, "modules", folder), limit_s)
        return _read_steps(folder), status


def _run(command: tuple[str, ...], limit_s: float | None) -> int | None:
    nowhere = subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
    except OSError as error:
        raise NsysError(f"{command[0]} could not be started: {error.strerror or error}.") from error
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(process.pid, number)
                    process.wait(_GRACE_S)


def _read_steps(folder: Path) -> pd.DataFrame:
    """The steps of all processes, on one clock that begins with the first."""
    rows = []
    for path in sorted(folder.glob("[0-9]*")):
        for line in path.read_text(encoding="ascii").splitlines():
            trains, start, end = (int(word) for word in line.split())
            rows.append((int(path.name), bool(trains), start, end))
    steps = pd.DataFrame(rows, columns=["process", "training", "start_ns", "end_ns"])
    first = steps["start_ns"].min() if len(steps) else 0
    moved = {name: steps[name] - first for name in ("start_ns", "end_ns")}
    return UNPROFILED.conform(steps.assign(**moved).sort_values(["process", "start_ns"]))
