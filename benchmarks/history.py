"""Time of adding a run to a store that holds a million points, and of reading the series of a trend from it.

    python benchmarks/history.py [URL]

The store is filled by its own tables, 100 figures of each of 10,000 runs, then a recording is added as any is. Commands
are timed whole, with the start of Python; what they add is a saved analysis.
"""

import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from sqlalchemy import insert

import tcprof
from tcprof.analysis import Analysis
from tcprof.history import database
from tcprof.history import store as module
from tcprof.history.run import Facts, describe_run, fingerprint_of
from tcprof.history.store import Store, open_store
from tcprof.history.trends import explain_step, read_trends
from tcprof.render.formats import PLAIN, text
from tcprof.saved import save
from tcprof.views.trends import view_trends

RUNS, FIGURES = 10_000, 100
AT_ONCE = 500  # runs
FIXTURES = Path(__file__).parent.parent / "fixtures"
FACTS = Facts(program="llama", branch="main")


def fill(store: Store, run: dict[str, object]) -> None:
    """A million points of 100 series."""
    generator = np.random.default_rng(0)
    with store._database.write() as connection:
        facts = fingerprint_of(run)
        kept = [{"metric": "step_ns", "scope": "step", "subject": f"part {number}", "unit": "ns", "gpu": 0,
                 "fingerprint": facts, "key": f"{number:064d}", "series_id": number + 1}
                for number in range(FIGURES)]  # fmt: skip
        connection.execute(insert(database.SERIES), kept)
        for first in range(0, RUNS, AT_ONCE):
            numbers = range(first + 1, first + AT_ONCE + 1)
            runs = [{**run, "run_id": number, "content": f"{number:064d}"} for number in numbers]
            connection.execute(insert(database.RUN), runs)
            marks = generator.integers(0, 2**62, (AT_ONCE, 16)).tolist()
            connection.execute(
                insert(database.MARK),
                [
                    {"mark": mark, "run_id": number}
                    for number, some in zip(numbers, marks, strict=True)
                    for mark in some
                ],
            )
            values = generator.normal(1e7, 1e5, (AT_ONCE, FIGURES)).tolist()
            points = [
                {
                    "series_id": place,
                    "run_id": number,
                    "value": value,
                    "low": 0.99 * value,
                    "high": 1.01 * value,
                    "n": 50,
                }
                for number, row in zip(numbers, values, strict=True)
                for place, value in enumerate(row, 1)
            ]
            connection.execute(insert(database.POINT), points)


def shift(analysis: Analysis, number: int) -> Analysis:
    """The same figures as of another recording."""
    later = {name: analysis.activities[name] + number for name in ("start_ns", "end_ns")}
    return replace(analysis, activities=analysis.activities.assign(**later))


def main() -> None:
    """Fill a store and print the times, each the median of several calls."""
    read = tcprof.read(FIXTURES / "llama.sqlite").analysis
    recordings = [shift(read, number) for number in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/history.db"
        store, saved = open_store(url), [Path(folder) / f"{number}.tcprof" for number in range(3)]
        for number, path in enumerate(saved):
            save(shift(read, 10 + number), path)
        fill(store, describe_run(recordings[0], FACTS))
        command, options = [sys.executable, "-m", "tcprof", "history"], ["--store", url]
        measure("a trend of 100 series", [partial(show_trend, store)] * 3)
        measure("history trend", [partial(run, [*command, "trend", *options])] * 3)
        facts = ["--program", FACTS.program, "--branch", FACTS.branch, "--no-cache"]
        measure("history add", [partial(run, [*command, "add", path, *facts, *options]) for path in saved])
        points = module.list_points(read)
        module.list_points = lambda _: points  # the figures of a recording are none of the store's work
        print(f"{RUNS * FIGURES:,} points of {RUNS:,} runs in {store.name.partition(':')[0]}, {os.cpu_count()} cores")
        measure("add a run, its series new", [partial(store.add, recordings[:1], FACTS)])
        measure("add a run", [partial(store.add, [each], FACTS) for each in recordings[1:]])
        measure("add one that is there", [partial(store.add, recordings[:1], FACTS)] * 5)
        measure("a series of 10,000 runs", [partial(store.points, [7])] * 3)
        measure("10 series of 10,000 runs", [partial(store.points, range(1, 11))] * 3)
        measure("all runs", [store.runs] * 3)
        measure("all points", [store.points])


def show_trend(store: Store) -> None:
    """What the command does after its start."""
    document = view_trends(read_trends(store, FACTS.branch), partial(explain_step, store), confirm=False, limit=20)
    text.write(document, PLAIN, io.StringIO())


def run(command: list) -> None:
    """Run a command, whose output does not matter."""
    subprocess.run(command, check=True, capture_output=True)


def cpu_seconds() -> float:
    """CPU time of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure(what: str, calls: list) -> None:
    """Print the median time of some calls, and the CPU's, which says more on a busy machine."""
    taken = []
    for call in calls:
        begin, used = time.perf_counter(), cpu_seconds()
        call()
        taken.append((time.perf_counter() - begin, cpu_seconds() - used))
    wall, cpu = 1000 * np.median(taken, axis=0)
    print(f"{what:<28} {wall:8.1f} ms, of the CPU {cpu:8.1f} ms")


if __name__ == "__main__":
    main()
