"""What another process takes: time, and the most memory that it has, from its start to its end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 60  # for peers, which may take hours


@dataclass(frozen=True)
class Cost:
    """What a process took.

    Attributes:
        wall_s: Seconds from its start to its end; infinite where it was stopped.
        cpu_s: Seconds of all its threads.
        peak_mb: Most memory that it had.
        printed_mb: What it printed.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float
    printed_mb: float = 0.0

    def __str__(self) -> str:
        if self.wall_s == float("inf"):
            return f"> {LIMIT_S} s"
        return f"{self.wall_s:.2f} s ({self.cpu_s:.2f} s), {self.peak_mb:,.0f} MB"


# The kernel counts the memory of the process that forks for the new one, too, so a small one does.
LAUNCHER = """import json, os, sys, time
start = time.perf_counter()
child = os.fork()
if not child:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
found = status, time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


def run(command: Sequence[str | Path], folder: Path, limit_s: float | None = None) -> Cost:
    """Run a process, and measure it alone."""
    launched = [sys.executable, "-I", "-S", "-c", LAUNCHER, folder / "cost", *command]
    with (folder / "printed").open("wb") as printed, (folder / "told").open("wb") as told:
        process = subprocess.Popen(launched, stdout=printed, stderr=told, start_new_session=True)
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return Cost(float("inf"), float("inf"), float("inf"))
    status, wall_s, cpu_s, megabytes = json.loads((folder / "cost").read_text())
    if status:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{(folder / 'told').read_text()[-2000:]}")
    return Cost(wall_s, cpu_s, megabytes, (folder / "printed").stat().st_size / 1e6)
