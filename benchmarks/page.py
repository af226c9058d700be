"""Size of the report's page, time and memory to write it, and how quickly a browser draws its timeline and zooms.

    python benchmarks/page.py [RECORDING.sqlite]

Five times: for the recording, and for four that ``large_recording.py`` makes, in which nothing repeats exactly, so
that the compression is not flattered: one with ten million metric rows, two with 300,000 and a million kernels and
ranges, and one with a table of 10,000 rows. Needs Chromium (``CHROMIUM=/path``) and playwright.
A click, in the table, and a zoom step are from the click to the next frame after the drawing.
In brackets stands what the page's main thread
worked, which other programs on the machine change less: for the first drawing with all that is drawn after it.
Scrolling is of the table, ten rows a frame: the milliseconds from one frame to the next, 16.7 at 60 frames a second.
"""

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from tcprof.render.html.page import pack_bundle

HERE = Path(__file__).parent
FIXTURE = HERE.parent / "fixtures" / "mnist_amp.sqlite"
LARGE = {
    "samples": {"metric-rows": 10_000_000, "kernels": 100_000, "gpus": 2},
    "middle": {"metric-rows": 3_000_000, "kernels": 300_000, "ranges": 300_000},
    "bars": {"metric-rows": 9_000_000, "kernels": 1_000_000, "ranges": 1_000_000},
    "rows": {"metric-rows": 100_000, "kernels": 100_000, "ranges": 100_000, "paths": 10_000},
}
OPENINGS = 5
SETTLED_MS = 1000  # figures below the timeline have their size, and the page rests
MEASURE = """
import resource, sys, time
from pathlib import Path
import tcprof
from tcprof.render.html.page import write_page
from tcprof.views.recording.show import view_recording
start = time.perf_counter()
report = tcprof.read(sys.argv[1])
read = time.perf_counter()
write_page(view_recording(report.analysis, report.findings, report.advice), Path(sys.argv[2]))
print(read - start, time.perf_counter() - read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
STEP = """async selector => {
    const start = performance.now();
    document.querySelector(selector).click();
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start;
}"""
SCROLL = """async () => {
    document.querySelector("[data-group-by=range]").click();
    document.querySelector("[data-flat]").click();
    const box = document.querySelector(".explorer .table-box");
    box.scrollIntoView({ block: "center" });
    const frames = [];
    let last = await new Promise(requestAnimationFrame);
    for (let i = 0; i < 300 && box.scrollTop + box.clientHeight < box.scrollHeight; i++) {
        box.scrollTop += 240;
        const now = await new Promise(requestAnimationFrame);
        frames.push(now - last);
        last = now;
    }
    return frames;
}"""
STEPS = [f"[data-action={action}]" for action in (*["in"] * 7, "left", "right", *["out"] * 7)]
ROW = ".explorer tr[data-kind]:not([data-kind=''])"
CLICKS = (  # of which the first is the first click in the page
    *(ROW, "[data-no-tensor]", "[data-no-tensor]", "[data-group-by=kernel]", f"{ROW} .fold", "[data-flat]"),
    *(f"{ROW} ~ {ROW}", ".explorer thead th:nth-child(3) button", "[data-group-by=range]", "[data-whole]"),
)


@dataclass(frozen=True)
class Times:
    """Of each opening and of each step of the last one, in seconds: wall time, and that of the main thread."""

    drawn: list[float]
    drawn_work: list[float]
    steps: list[float]
    steps_work: list[float]
    clicks: list[float]
    clicks_work: list[float]
    frames: list[float]
    frame_work: float
    heap_mb: float


@dataclass(frozen=True)
class Limits:
    """What is allowed: megabytes beside plotly's bundle, seconds to the first drawing, ms of a step, MB of Python."""

    page_mb: float
    drawn_s: float
    step_ms: float = 50
    longest_ms: float = 100
    click_ms: float = 100
    longest_click_ms: float = 150
    frame_ms: float = 1000 / 60
    memory_mb: float = 1500


def make_large(target: Path, sizes: dict[str, int]) -> Path:
    """A recording of these sizes."""
    options = [text for name, count in sizes.items() for text in (f"--{name}", str(count))]
    command = [sys.executable, HERE / "large_recording.py", target, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return target


def time_browser(browser: Browser, page: Path) -> Times:
    """How long the first drawing takes, and a zoom step."""
    times = Times([], [], [], [], [], [], [], math.nan, math.nan)
    for _ in range(OPENINGS):
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        session = opened.context.new_cdp_session(opened)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        opened.goto(page.as_uri(), wait_until="commit")
        opened.wait_for_selector("#timeline[data-drawn=true]", timeout=120_000)
        times.drawn.append(opened.evaluate("performance.getEntriesByName('timeline drawn')[0].startTime") / 1e3)
        opened.wait_for_selector("html[data-drawn]", state="attached", timeout=120_000)
        opened.wait_for_timeout(SETTLED_MS)
        times.drawn_work.append(read_metric(session, "TaskDuration"))
        if len(times.drawn) == OPENINGS:
            times = time_reader(opened, session, times)
        opened.close()
    return times


def time_reader(opened: Page, session: CDPSession, times: Times) -> Times:
    """What a reader does: clicks, zoom steps and scrolling."""
    parts = ((CLICKS, times.clicks, times.clicks_work), (STEPS, times.steps, times.steps_work))
    for selectors, taken, worked in parts:
        for selector in selectors:
            if opened.locator(selector).count():
                before = read_metric(session, "TaskDuration")
                taken.append(opened.evaluate(STEP, selector) / 1e3)
                worked.append(read_metric(session, "TaskDuration") - before)
    before = read_metric(session, "TaskDuration")
    times.frames.extend(each / 1e3 for each in opened.evaluate(SCROLL))
    work = (read_metric(session, "TaskDuration") - before) / max(len(times.frames), 1)
    return replace(times, frame_work=work, heap_mb=read_metric(session, "JSHeapUsedSize") / 1e6)


def read_metric(session: CDPSession, name: str) -> float:
    """A figure of a page, as Chromium counts it."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == name))


def report(name: str, recording: Path, browser: Browser, folder: Path, limits: Limits) -> bool:
    """Print the figures of one recording; whether all are within the limits."""
    page = folder / f"{recording.stem}.html"
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, recording, page], check=True, capture_output=True, text=True
    ).stdout
    read_s, write_s, memory_mb = map(float, done.split())
    megabytes = (page.stat().st_size - len(pack_bundle())) / 1e6
    times = time_browser(browser, page)
    drawn_s, step_ms, longest_ms = (
        statistics.median(times.drawn),
        1e3 * statistics.median(times.steps),
        1e3 * max(times.steps),
    )
    worked_s = statistics.median(times.drawn_work)
    print(name)
    print(f"  page beside plotly's bundle     {megabytes:8.2f} MB   allowed {limits.page_mb} MB")
    print(f"  read, then written in           {read_s:8.2f} s    {write_s:.2f} s")
    print(f"  Python's peak memory            {memory_mb:8.0f} MB   allowed {limits.memory_mb:.0f} MB")
    print(f"  the page's heap                 {times.heap_mb:8.0f} MB")
    print(
        f"  first drawing, of {OPENINGS}, median      {drawn_s:8.2f} s    allowed {limits.drawn_s} s ({worked_s:.2f} s)"
    )
    print_ms("zoom step, median", step_ms, limits.step_ms, 1e3 * statistics.median(times.steps_work))
    print_ms("zoom step, longest", longest_ms, limits.longest_ms, 1e3 * max(times.steps_work))
    print_ms("first click", 1e3 * times.clicks[0], limits.click_ms, 1e3 * times.clicks_work[0])
    longest_click_ms = 1e3 * max(times.clicks)
    print_ms(
        f"{len(times.clicks)} clicks, longest",
        longest_click_ms,
        limits.longest_click_ms,
        1e3 * max(times.clicks_work),
    )
    frame_ms = 1e3 * statistics.median(times.frames) if times.frames else 0.0
    print_ms(f"{len(times.frames)} frames of scrolling", frame_ms, limits.frame_ms, 1e3 * times.frame_work)
    late = sum(each > 1.5 * limits.frame_ms / 1e3 for each in times.frames)
    print(f"  frames that came late           {late:8d}")
    return (
        megabytes <= limits.page_mb
        and memory_mb <= limits.memory_mb
        and drawn_s <= limits.drawn_s
        and step_ms <= limits.step_ms
        and longest_ms <= limits.longest_ms
        and 1e3 * times.clicks[0] <= limits.click_ms
        and longest_click_ms <= limits.longest_click_ms
        and frame_ms <= 1.01 * limits.frame_ms
    )


def print_ms(name: str, taken_ms: float, allowed_ms: float, worked_ms: float) -> None:
    """One line on what a reader waits for."""
    print(f"  {name:31s} {taken_ms:8.0f} ms   allowed {allowed_ms:.0f} ms ({worked_ms:.0f} ms)")


def main() -> None:
    """Measure all five."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path, nargs="?", default=FIXTURE)
    recording = parser.parse_args().recording
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as running:
        folder = Path(name)
        samples, middle, bars, rows = (make_large(folder / f"{size}.sqlite", sizes) for size, sizes in LARGE.items())
        browser = running.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        kept = [
            report(recording.name, recording, browser, folder, Limits(page_mb=1.5, drawn_s=1.0)),
            report("10,000,000 metric rows", samples, browser, folder, Limits(page_mb=10, drawn_s=1.5)),
            report("300,000 kernels and ranges", middle, browser, folder, Limits(page_mb=10, drawn_s=1.5)),
            report("1,000,000 kernels and ranges", bars, browser, folder, Limits(page_mb=10, drawn_s=1.5)),
            report("10,000 rows", rows, browser, folder, Limits(page_mb=10, drawn_s=1.0)),
        ]
        browser.close()
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
