"""Time and memory of the fit of kernels, and how they grow with a recording.

    python benchmarks/fit.py [--sizes 100000 1000000]

Recordings with as many samples as kernels and ranges (``large_recording.py``), each read in a process of its own, with
and without the fit: the CPU time of all threads, without imports, and the peak memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tcprof
import tcprof.analysis  # now, not within the time that is measured

HERE = Path(__file__).parent
SIZES = (25_000, 50_000, 100_000, 200_000)
METRICS = 9  # of each sample


def make(target: Path, size: int) -> None:
    """A recording of that many samples, kernels and ranges."""
    counts = {"metric-rows": METRICS * size, "kernels": size, "ranges": size}
    options = [text for name, count in counts.items() for text in (f"--{name}", str(count))]
    command = [sys.executable, HERE / "large_recording.py", target, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read(recording: Path, kernels: bool) -> None:
    """Read a recording and print what it took, as JSON."""
    start = time.process_time()
    analysis = tcprof.read(recording, kernels=kernels)
    seconds = time.process_time() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"seconds": seconds, "megabytes": megabytes, "samples": len(analysis.samples)}
    found |= {
        "launches": len(analysis.kernel_instances),
        "classes": analysis.kernel_instances["kernel_class"].nunique(),
    }
    print(json.dumps(found))


def measure(recording: Path, *options: str) -> dict[str, float]:
    """Read the recording in a process of its own."""
    command = [sys.executable, __file__, "--once", str(recording), *options]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def main() -> None:
    """Print the figures as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--once", type=Path, help="read this recording, in this process")
    parser.add_argument("--without-kernels", action="store_true", help="then without the fit")
    options = parser.parse_args()
    if options.once:
        read(options.once, not options.without_kernels)
        return
    print("| launches | classes | samples | without the fit | memory | with the fit | memory |")
    print("| ---: " * 7 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            recording = Path(folder) / f"{size}.sqlite"
            make(recording, size)
            without, fitted = measure(recording, "--without-kernels"), measure(recording)
            recording.unlink()
            counts = " | ".join(f"{fitted[name]:,}" for name in ("launches", "classes", "samples"))
            costs = (f"{run['seconds']:.2f} s | {run['megabytes']:.0f} MB" for run in (without, fitted))
            print(f"| {counts} | {' | '.join(costs)} |", flush=True)


if __name__ == "__main__":
    main()
