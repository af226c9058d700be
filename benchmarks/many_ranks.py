"""Time, memory and size of jobs of many ranks, made of a recorded one: ``python benchmarks/many_ranks.py 64 1024``.

Each rank has the steps, collectives and parts of a rank of fixtures/jobs/base with noise of its own; one rank computes
3 % longer in each step. How long a page takes to be drawn is Chromium's (``CHROMIUM=/path``), the median of five.
"""

import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from tcprof.identity import Rank
from tcprof.ranks.job import join_ranks
from tcprof.ranks.reduce import ReducedRank
from tcprof.ranks.store import read_job, write_job
from tcprof.render.html.page import write_page
from tcprof.views.job import view_job

JOB = Path(__file__).parent.parent / "fixtures" / "jobs" / "base"
SLOWER, NOISE = 0.03, 0.005


def make_ranks(count: int, rng: np.random.Generator) -> list[ReducedRank]:
    """The ranks of a job whose collectives end together: each waits for the slowest."""
    one = read_job(JOB)[0]
    steps = one.steps
    work = steps["compute_ns"].to_numpy() * (1 + rng.normal(0, NOISE, (count, len(steps))))
    work[count // 2] *= 1 + SLOWER
    waiting = work.max(axis=0) - work
    last = one.collectives.groupby("step")["place"].transform("max") == one.collectives["place"]
    ranks = []
    for number in range(count):
        waits = dict(zip(steps["step"], waiting[number], strict=True))
        longer = one.collectives["step"].map(waits).fillna(0).where(last, 0)
        collectives = one.collectives.assign(
            duration_ns=(one.collectives["duration_ns"] + longer).astype(np.int64),
        )
        rest = steps["step_time_ns"] - steps["compute_ns"]
        moved = steps.assign(
            compute_ns=work[number],
            communication_ns=steps["communication_ns"] + waiting[number],
            step_time_ns=rest + work[number] + waiting[number],
        )
        name = f"rank{number}.tcprof"
        ranks.append(
            replace(one, rank=Rank(number, count), file=name, content=name, steps=moved, collectives=collectives)
        )
    return ranks


def draw(page: Path) -> float:
    """Seconds from opening a page until it is drawn."""
    times = []
    with sync_playwright() as playwright:
        executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for _ in range(5):
            tab = browser.new_page(viewport={"width": 1280, "height": 800})
            begin = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-drawn]", state="attached")
            times.append(time.perf_counter() - begin)
            tab.close()
        browser.close()
    return statistics.median(times)


def main() -> None:
    """A line of a Markdown table for each number of ranks."""
    print("| ranks | join | memory | job in a folder | read again | page | drawn in | slow rank |")
    print("|---:|---:|---:|---:|---:|---:|---:|---|")
    for count in map(int, sys.argv[1:] or ("64", "1024")):
        ranks = make_ranks(count, np.random.default_rng(count))
        begin = time.perf_counter()
        job = join_ranks(ranks)
        joined = time.perf_counter() - begin
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with tempfile.TemporaryDirectory() as folder:
            write_job(job, Path(folder) / "job")
            size = sum(path.stat().st_size for path in (Path(folder) / "job").iterdir()) / 1e6
            begin = time.perf_counter()
            read_job(Path(folder) / "job")
            read = time.perf_counter() - begin
            page = Path(folder) / "job.html"
            write_page(view_job(job), page)
            drawn, of_page = draw(page), page.stat().st_size / 1e6
        found = job.ranks[job.ranks["straggler"]]["rank"].tolist()
        times = f"{joined:.1f} s | {memory:.0f} MB | {size:.1f} MB | {read:.1f} s | {of_page:.1f} MB | {drawn:.2f} s"
        print(f"| {count:,} | {times} | {found} |", flush=True)


if __name__ == "__main__":
    main()
