"""Time and memory of tcprof by the size of a recording, beside the scan of its largest table and beside peers.

    python benchmarks/speed.py                                # all of it: ten minutes, 8 GB of disk
    python benchmarks/speed.py --quick                        # small sizes, no goals: two minutes
    python benchmarks/speed.py --samples 10000000 --work --depths --paths
    python benchmarks/speed.py --minutes 15                   # what has not begun by then is left out, and told
    python benchmarks/speed.py --write docs/performance.md

``large_recording.py`` makes the recordings. The scan is ``select sum(value) from GPU_METRICS`` by SQLite, warm, the
best of three. Every command is a process of its own, from its start to its end; where a goal is in scans the best of
three, and no analysis from the cache: what is saved has a table of its own, in CPU seconds, the least and the median of
seven. The peers do less: pandas with sqlite3 reads the same tables, finds the kernels launched inside each range of the
same thread, and takes the mean of the samples in its window; ``nsys stats`` prints NVIDIA's sums of ranges and kernels,
where an nsys is found, and reads no sample. The recipes of nsys take only its own reports, which cannot be made here.
With ``--write``, the growth is drawn as an SVG of the page's name beside it. Ends with status 1 if a goal is missed.
"""

import argparse
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from accuracy import write
from growth import Growth
from large_contents import Size
from large_recording import write_recording
from machine import describe_machine
from processes import LIMIT_S, Cost, run
from saved_analyses import SAVED, measure_saved

from tcprof.errors import TcprofError
from tcprof.nsys.locate import find_nsys
from tcprof.saved.contents import VARIABLE

HERE = Path(__file__).parent
FIXTURE = HERE.parent / "fixtures" / "mnist_amp.sqlite"
OTHER_FIXTURE = HERE.parent / "fixtures" / "mnist_fp32.sqlite"
BEST_OF = 3
BY_SAMPLES, BY_WORK = "metric rows", "kernels, and as many ranges"  # the panels of the drawing
NAIVE = """
import sqlite3, sys
import pandas as pd
connection = sqlite3.connect(sys.argv[1])
names = pd.read_sql("select typeId, metricId, metricName from TARGET_INFO_GPU_METRICS", connection)
samples = pd.read_sql("select timestamp, typeId, metricId, value from GPU_METRICS", connection)
tensor = names.loc[names["metricName"].str.startswith("Tensor Active [T"), "metricId"].iloc[0]
samples = samples[(samples["metricId"] == tensor) & (samples["typeId"] == samples["typeId"].min())]
kernels = pd.read_sql(
    "select k.start, k.end, r.start as launched, r.globalTid from CUPTI_ACTIVITY_KIND_KERNEL k "
    "join CUPTI_ACTIVITY_KIND_RUNTIME r using (correlationId) where k.deviceId = 0", connection)
ranges = pd.read_sql("select text, start, end, globalTid from NVTX_EVENTS where eventType = 59", connection)
means = []
for each in ranges.itertuples():
    mine = kernels[(kernels["globalTid"] == each.globalTid) & kernels["launched"].between(each.start, each.end)]
    inside = samples["timestamp"].between(mine["start"].min(), mine["end"].max())
    means.append((each.text, samples.loc[inside, "value"].mean()))
print(pd.DataFrame(means).groupby(0)[1].mean().to_string())
"""


class Goals:
    """What is wanted, and whether it was met."""

    def __init__(self, checked: bool, minutes: float = float("inf")) -> None:
        self.checked = checked
        self.lines: list[str] = []
        self.missed = 0
        self._until = time.monotonic() + 60 * minutes

    def add(self, what: str, found: float, wanted: float, unit: str, cpu_s: float | None = None) -> None:
        """Hold a figure against its goal; a time beside what all threads worked, which a busy machine changes less."""
        if self.checked:
            self.missed += found > wanted
            verdict = "met" if found <= wanted else "**missed**"
            cpu = "" if cpu_s is None else f"{cpu_s:,.2f} s"
            self.lines.append(f"| {what} | {wanted:,.2f} {unit} | {found:,.2f} {unit} | {cpu} | {verdict} |")

    def in_time(self, sizes: Iterable[int], what: str) -> Iterator[int]:
        """The sizes, as long as there is time left; what is left out is told."""
        for size in sizes:
            if time.monotonic() < self._until:
                yield size
            else:
                print(f"no time left for {size:,} {what}", file=sys.stderr)


def tcprof(folder: Path, *options: str | Path, best_of: int = 1) -> Cost:
    """Run a command of tcprof."""
    command = [sys.executable, "-m", "tcprof", *options]
    return min((run(command, folder) for _ in range(best_of)), key=lambda cost: cost.wall_s)


def scan_s(recording: Path) -> float:
    """Seconds of one scan over all samples, with the file in memory."""
    times = []
    for _ in range(BEST_OF):
        connection = sqlite3.connect(f"{recording.absolute().as_uri()}?mode=ro", uri=True)
        start = time.perf_counter()
        connection.execute("select sum(value) from GPU_METRICS").fetchone()
        times.append(time.perf_counter() - start)
        connection.close()
    return min(times)


def peers(folder: Path, recording: Path) -> dict[str, Cost | None]:
    """What others take for some of the same; none where it is not to be had."""
    naive = run([sys.executable, "-c", NAIVE, recording], folder, LIMIT_S)
    reports = "--report=nvtx_gpu_proj_sum,cuda_gpu_kern_sum"
    try:
        stats = run([find_nsys().path, "stats", reports, "--force-export=false", recording], folder, LIMIT_S)
        failed = b"ERROR" in (folder / "printed").read_bytes()  # its status says nothing of it
    except TcprofError:
        failed = True
    return {"pandas and sqlite3": naive, "nsys stats": None if failed else stats}


def measure_samples(sizes: Iterable[int], folder: Path, goals: Goals, growth: Growth) -> str:
    """By samples: two GPUs, and four where there are 100 million rows; 2,000 ranges and 10,000 kernels."""
    shown = ("scan", "`ranges --no-kernels`", "in scans", "`ranges`", "pandas and sqlite3", "`nsys stats`")
    lines = [f"| metric rows | file | {' | '.join(shown)} |", "| ---: " * 8 + "|"]
    for rows in goals.in_time(sizes, "metric rows"):
        recording = folder / "samples.sqlite"
        gpus = 4 if rows >= 100_000_000 else 2
        write_recording(recording, Size(rows, kernels=10_000, ranges=2_000, gpus=gpus, seconds=max(rows // 166_667, 1)))
        scan = scan_s(recording)
        bare = tcprof(folder, "ranges", recording, "--no-kernels", "--format", "json", best_of=BEST_OF)
        whole = tcprof(folder, "ranges", recording, "--format", "json")
        others = peers(folder, recording)
        lines.append(
            f"| {rows:,} | {recording.stat().st_size / 1e6:,.0f} MB | {scan:.2f} s | {bare} | {bare.wall_s / scan:.1f} "
            f"| {whole} | {' | '.join(str(cost or '–') for cost in others.values())} |"
        )
        growth.add(BY_SAMPLES, "scan", rows, scan)
        for name, cost in {"tcprof ranges --no-kernels": bare, "tcprof ranges": whole, **others}.items():
            growth.add(BY_SAMPLES, name, rows, cost.wall_s if cost else float("inf"))
        if rows == 10_000_000:
            goals.add("ranges --no-kernels, 10 M metric rows", bare.wall_s, 2 * scan + 0.5, "s", bare.cpu_s)
            goals.add("its memory", bare.peak_mb, 400, "MB")
        if rows == 100_000_000:
            goals.add("ranges --no-kernels, 100 M metric rows: memory", bare.peak_mb, 2000, "MB")
            goals.add("ranges, 100 M metric rows: memory", whole.peak_mb, 2000, "MB")
        recording.unlink()
    return "\n".join(lines)


def measure_work(sizes: Iterable[int], folder: Path, goals: Goals, growth: Growth) -> str:
    """By kernels and ranges, as many of these as of those: 1,000 paths to 8 deep, one sample for each kernel."""
    shown = ("`ranges --no-kernels`", "`ranges`", "`kernels`", "`report`", "page", "pandas and sqlite3", "`nsys stats`")
    lines = [f"| kernels and ranges | {' | '.join(shown)} |", "| ---: " * 8 + "|"]
    wanted = {"ranges --no-kernels": 15, "ranges": 15, "kernels": 40, "report": 60}
    for count in goals.in_time(sizes, "kernels and ranges"):
        recording, page = folder / "work.sqlite", folder / "work.html"
        paths = min(1_000, count // 10)
        write_recording(recording, Size(9 * count, kernels=count, ranges=count, paths=paths, depth=8))
        costs = {
            "ranges --no-kernels": tcprof(folder, "ranges", recording, "--no-kernels", "--format", "json"),
            "ranges": tcprof(folder, "ranges", recording, "--format", "json"),
            "kernels": tcprof(folder, "kernels", recording),
            "report": tcprof(folder, "report", recording, "-o", page, "--force"),
        }
        others = peers(folder, recording)
        size = page.stat().st_size / 1e6
        cells = [*costs.values(), f"{size:.1f} MB", *(cost or "–" for cost in others.values())]
        lines.append(f"| {count:,} | {' | '.join(map(str, cells))} |")
        for name, cost in {**{f"tcprof {name}": cost for name, cost in costs.items()}, **others}.items():
            growth.add(BY_WORK, name, count, cost.wall_s if cost else float("inf"))
        if count == 1_000_000:
            for name, cost in costs.items():
                goals.add(f"{name}, 1 M kernels and 1 M ranges", cost.wall_s, wanted[name], "s", cost.cpu_s)
                goals.add("its memory", cost.peak_mb, 2000, "MB")
            goals.add("its page", size, 20, "MB")
        recording.unlink()
    return "\n".join(lines)


def measure_trees(depths: Iterable[int], paths: Iterable[int], folder: Path, goals: Goals) -> str:
    """By the depth of ranges that lie in each other, and by the number of paths, 12 deep."""
    lines = ["| ranges | file | `ranges` | `ranges --format json` | printed |", "|---|" + " ---: |" * 4]
    deep = ((f"{each:,} in each other", Size(0, 0, each, each, each)) for each in goals.in_time(depths, "deep ranges"))
    wide = ((f"{each:,} paths", Size(90_000, 2 * each, 2 * each, each, 12)) for each in goals.in_time(paths, "paths"))
    for name, size in chain(deep, wide):
        recording = folder / "tree.sqlite"
        write_recording(recording, size)
        shown = tcprof(folder, "ranges", recording, "--no-kernels")
        whole = tcprof(folder, "ranges", recording, "--no-kernels", "--format", "json")
        megabytes = recording.stat().st_size / 1e6
        lines.append(f"| {name} | {megabytes:.1f} MB | {shown} | {whole} | {whole.printed_mb:.1f} MB |")
        if size.depth == 5_000:
            goals.add("5,000 ranges in each other: memory", whole.peak_mb, 300, "MB")
    return "\n".join(lines)


def measure_small(folder: Path, goals: Goals) -> str:
    """Every command on a recording of 57,000 metric rows."""
    page = folder / "small.html"
    commands: dict[str, list[str | Path]] = {
        "--version": ["--version"],
        "show": ["show", FIXTURE],
        "ranges": ["ranges", FIXTURE],
        "kernels": ["kernels", FIXTURE],
        "timeline": ["timeline", FIXTURE],
        "report": ["report", FIXTURE, "-o", page, "--force"],
        "export": ["export", FIXTURE, "-o", folder / "small"],
        "compare": ["compare", OTHER_FIXTURE, FIXTURE],
    }
    lines = ["| command | wall (CPU), memory |", "|---|---:|"]
    for name, command in commands.items():
        cost = tcprof(folder, *command, best_of=BEST_OF)
        lines.append(f"| `tcprof {name}` | {cost} |")
        goals.add(f"{name}, a small recording", cost.wall_s, 1, "s", cost.cpu_s)
    return "\n".join(lines)


def main() -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, and no goals")
    for option, full, what in (
        ("samples", (1_000_000, 10_000_000, 100_000_000), "metric rows"),
        ("work", (100_000, 1_000_000), "kernels and ranges"),
        ("depths", (500, 5_000), "ranges that lie in each other"),
        ("paths", (3_500, 35_000), "distinct paths"),
    ):
        parser.add_argument(f"--{option}", type=int, nargs="*", default=full, help=f"{what}; default: {full}")
    parser.add_argument("--saved", nargs="*", choices=SAVED, default=[*SAVED], help="beside the Llama fixture")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin with no size after so long")
    parser.add_argument("--folder", type=Path, help="where recordings are made; default: a temporary folder")
    parser.add_argument("--write", type=Path, help="put the tables into this page, between its markers")
    options = parser.parse_args()
    if options.quick:
        options.samples, options.work = (100_000, 1_000_000), (10_000, 40_000)
        options.depths, options.paths, options.saved = (100, 1_000), (500, 5_000), ()
    os.environ[VARIABLE] = ""  # or all but the first command would be read from the cache
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each command would compile tcprof, as only the first one does
    goals = Goals(checked=not options.quick, minutes=options.minutes)
    growth = Growth(BY_SAMPLES, BY_WORK)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        # What is most often used first, should the time be over before the largest.
        tables = {
            "machine": describe_machine(),
            "small": measure_small(folder, goals),
            "saved": measure_saved({name: SAVED[name] for name in options.saved}, folder),
            "work": measure_work(options.work, folder, goals, growth) if options.work else "",
            "samples": measure_samples(options.samples, folder, goals, growth) if options.samples else "",
            "trees": measure_trees(options.depths, options.paths, folder, goals),
        }
    if goals.lines:
        tables["goals"] = "\n".join(["| goal | wanted | found | CPU | |", "|---|---:|---:|---:|---|", *goals.lines])
    for label, text in tables.items():
        print(f"{text}\n")
        if options.write and (label == "machine" or text.count("\n") > 1):  # no time may have been left for a row
            write(options.write, label, f"{text}\n")
    if options.write:
        growth.write(options.write.with_suffix(".svg"))
    sys.exit(1 if goals.missed else 0)


if __name__ == "__main__":
    main()
