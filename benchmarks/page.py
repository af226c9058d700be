"""Size of the report's page, time and memory to write it, and how quickly a browser draws its timeline and zooms.

    python benchmarks/page.py [RECORDING.sqlite]

Three times: for the recording, and for two that ``large_recording.py`` makes, in which nothing repeats exactly, so that
the compression is not flattered: one with ten million metric rows, and one with a million kernels and ranges. Needs
Chromium (``CHROMIUM=/path``) and playwright.
A zoom step is from the click to the next frame after the drawing.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tcprof.render.html.plotlyjs import read_bundle

HERE = Path(__file__).parent
FIXTURE = HERE.parent / "fixtures" / "mnist_amp.sqlite"
LARGE = {
    "samples": {"metric-rows": 10_000_000, "kernels": 100_000, "gpus": 2},
    "bars": {"metric-rows": 9_000_000, "kernels": 1_000_000, "ranges": 1_000_000},
}
OPENINGS = 5
MEASURE = """
import resource, sys, time
from pathlib import Path
import tcprof
from tcprof.render.html.report import write_report
start = time.perf_counter()
analysis = tcprof.read(sys.argv[1])
read = time.perf_counter()
write_report(analysis, analysis.findings, Path(sys.argv[2]))
print(read - start, time.perf_counter() - read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
STEP = """async action => {
    const start = performance.now();
    document.querySelector(`[data-action=${action}]`).click();
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start;
}"""
STEPS = [*["in"] * 7, "left", "right", *["out"] * 7]


@dataclass(frozen=True)
class Limits:
    """What is allowed: megabytes beside plotly's bundle, seconds to the first drawing, ms of a step, MB of Python."""

    page_mb: float
    drawn_s: float
    step_ms: float = 100
    memory_mb: float = 1500


def make_large(target: Path, sizes: dict[str, int]) -> Path:
    """A recording of these sizes."""
    options = [text for name, count in sizes.items() for text in (f"--{name}", str(count))]
    command = [sys.executable, HERE / "large_recording.py", target, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return target


def time_browser(browser: Browser, page: Path) -> tuple[list[float], list[float]]:
    """Seconds to the first drawing of each opening, and milliseconds of each zoom step of the last."""
    drawn = []
    for _ in range(OPENINGS):
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.goto(page.as_uri(), wait_until="commit")
        opened.wait_for_selector("#timeline[data-drawn=true]", timeout=120_000)
        drawn.append(opened.evaluate("performance.getEntriesByName('timeline drawn')[0].startTime") / 1e3)
        steps = [opened.evaluate(STEP, action) for action in STEPS] if len(drawn) == OPENINGS else []
        opened.close()
    return drawn, steps


def report(name: str, recording: Path, browser: Browser, folder: Path, limits: Limits) -> bool:
    """Print the figures of one recording; whether all are within the limits."""
    page = folder / f"{recording.stem}.html"
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, recording, page], check=True, capture_output=True, text=True
    ).stdout
    read_s, write_s, memory_mb = map(float, done.split())
    megabytes = (page.stat().st_size - len(read_bundle().encode())) / 1e6
    drawn, steps = time_browser(browser, page)
    drawn_s, step_ms = statistics.median(drawn), statistics.median(steps)
    print(name)
    print(f"  page beside plotly's bundle     {megabytes:8.2f} MB   allowed {limits.page_mb} MB")
    print(f"  read, then written in           {read_s:8.2f} s    {write_s:.2f} s")
    print(f"  Python's peak memory            {memory_mb:8.0f} MB   allowed {limits.memory_mb:.0f} MB")
    print(f"  first drawing, of {OPENINGS}, median      {drawn_s:8.2f} s    allowed {limits.drawn_s} s")
    print(f"  zoom step, median, longest      {step_ms:8.0f} ms   {max(steps):.0f} ms; allowed {limits.step_ms:.0f} ms")
    return (
        megabytes <= limits.page_mb
        and memory_mb <= limits.memory_mb
        and drawn_s <= limits.drawn_s
        and step_ms <= limits.step_ms
    )


def main() -> None:
    """Measure all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path, nargs="?", default=FIXTURE)
    recording = parser.parse_args().recording
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as running:
        folder = Path(name)
        samples, bars = (make_large(folder / f"{size}.sqlite", sizes) for size, sizes in LARGE.items())
        browser = running.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        kept = [
            report(recording.name, recording, browser, folder, Limits(page_mb=1.5, drawn_s=1.0)),
            report("10,000,000 metric rows", samples, browser, folder, Limits(page_mb=15, drawn_s=3.0)),
            report(
                "1,000,000 kernels and ranges", bars, browser, folder, Limits(page_mb=15, drawn_s=2.0, memory_mb=2000)
            ),
        ]
        browser.close()
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
