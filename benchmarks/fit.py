"""Time and memory of the fit of kernels, and how they grow with a recording.

    python benchmarks/fit.py [RECORDING.sqlite]

The recording is repeated in time (``large_recording.py``), which adds launches and samples, and hardly any classes of
launches. Each is read in a process of its own, with and without the fit: the best time of some runs, without imports,
and the peak memory.
"""

import argparse
import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from large_recording import TIMES, repeat

import tcprof
import tcprof.analysis  # now, not within the time that is measured

FIXTURE = Path(__file__).parent.parent / "fixtures" / "mnist_amp.sqlite"
COPIES = (1, 2, 4, 8)
RUNS = 3


def grow(source: Path, target: Path, copies: int) -> None:
    """A recording as long as so many of the source."""
    shutil.copyfile(source, target)
    connection = sqlite3.connect(target)
    columns = {table: [row[1] for row in connection.execute(f'pragma table_info("{table}")')] for table in TIMES}
    repeat(connection, {table: names for table, names in columns.items() if names}, copies)
    connection.commit()
    connection.close()


def read(recording: Path, kernels: bool) -> None:
    """Read a recording and print what it took, as JSON."""
    start = time.perf_counter()
    analysis = tcprof.read(recording, kernels=kernels)
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"seconds": seconds, "megabytes": megabytes, "samples": len(analysis.samples)}
    found |= {"launches": len(analysis.launched), "classes": analysis.launched["kernel_class"].nunique()}
    print(json.dumps(found))


def measure(recording: Path, *options: str) -> dict[str, float]:
    """The best of some processes that read the recording."""
    command = [sys.executable, __file__, str(recording), "--once", *options]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)]
    return min(runs, key=lambda run: run["seconds"])


def main() -> None:
    """Print the figures as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path, nargs="?", default=FIXTURE)
    parser.add_argument("--once", action="store_true", help="read it once, in this process")
    parser.add_argument("--without-kernels", action="store_true", help="then without the fit")
    options = parser.parse_args()
    if options.once:
        read(options.recording, not options.without_kernels)
        return
    print("| copies | launches | classes | samples | without the fit | memory | with the fit | memory |")
    print("| ---: " * 8 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for copies in COPIES:
            recording = Path(folder) / f"{copies}.sqlite"
            grow(options.recording, recording, copies)
            without, fitted = measure(recording, "--without-kernels"), measure(recording)
            counts = " | ".join(f"{fitted[name]:,}" for name in ("launches", "classes", "samples"))
            costs = (f"{run['seconds']:.2f} s | {run['megabytes']:.0f} MB" for run in (without, fitted))
            print(f"| {copies} | {counts} | {' | '.join(costs)} |", flush=True)


if __name__ == "__main__":
    main()
