"""Time and memory of ``tcprof ranges`` on 10 million metric rows, beside one bare scan of the same table.

    python benchmarks/ranges.py [RECORDING.sqlite]

The recording is repeated in time and on a second GPU (``large_recording.py``). The floor is ``select sum(value)`` over
the table of samples; tcprof should take at most four such scans and a second, and 600 MB.
"""

import argparse
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
FIXTURE = HERE.parent / "fixtures" / "mnist_amp.sqlite"
RUNS = 5
SCANS_ALLOWED = 4
SECONDS_ALLOWED = 1.0
MEGABYTES_ALLOWED = 600


def scan_s(path: Path) -> float:
    """Seconds of one scan over all samples: the best of some runs, so with the file in memory."""
    times = []
    for _ in range(RUNS):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        start = time.perf_counter()
        connection.execute("select sum(value) from GPU_METRICS").fetchone()
        times.append(time.perf_counter() - start)
        connection.close()
    return min(times)


def ranges_s(path: Path) -> float:
    """Seconds of the whole command: the best of some runs."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        command = [sys.executable, "-m", "tcprof", "ranges", str(path), "--format", "json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the figures as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path, nargs="?", default=FIXTURE)
    recording = parser.parse_args().recording
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.sqlite"
        subprocess.run([sys.executable, HERE / "large_recording.py", recording, large], check=True)
        scan, command = scan_s(large), ranges_s(large)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        small = ranges_s(recording)
    allowed = SCANS_ALLOWED * scan + SECONDS_ALLOWED
    print(f"one scan of the samples           {scan:6.2f} s")
    print(f"tcprof ranges, large recording    {command:6.2f} s   allowed {allowed:.2f} s")
    print(f"its peak memory                   {memory:6.0f} MB  allowed {MEGABYTES_ALLOWED} MB")
    print(f"tcprof ranges, {recording.name:<18} {small:6.2f} s")
    sys.exit(0 if command <= allowed and memory <= MEGABYTES_ALLOWED else 1)


if __name__ == "__main__":
    main()
