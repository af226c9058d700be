"""Take the pictures of the pages that README.md shows: ``python docs/generate_screenshots.py``.

Needs playwright and Chromium (on PATH, or CHROMIUM=/path).
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import tcprof
from tcprof.comparison import Side
from tcprof.comparison import compare as compare_sides
from tcprof.findings.compared import judge_comparison
from tcprof.render.html.page import write_page
from tcprof.views.comparison import view_comparison
from tcprof.views.recording.show import view_recording

ROOT = Path(__file__).parent.parent
FIXTURES, DOCS = ROOT / "fixtures", ROOT / "docs"
SIZE = {"width": 1200, "height": 1100}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]


def main() -> None:
    """Take both."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is absent: install Debian's package chromium, or set CHROMIUM=/path")
    base, new = (tcprof.read(FIXTURES / f"transformer_{name}.sqlite") for name in ("eager", "compiled"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = Path(folder) / "page.html"
        write_page(view_recording(new.analysis, new.findings, new.advice), page)
        take(browser, page, "report", "light")
        comparison = compare_sides(Side("eager", (base.analysis,)), Side("compiled", (new.analysis,)))
        write_page(view_comparison([judge_comparison(comparison)]), page)
        take(browser, page, "comparison", "dark")
        browser.close()


def take(browser: Browser, page: Path, name: str, scheme: str) -> None:
    """The top of a page, as a picture in docs/."""
    opened = browser.new_page(viewport=SIZE, color_scheme=scheme)
    opened.goto(page.as_uri())
    opened.wait_for_selector("html[data-drawn]", state="attached")
    opened.wait_for_timeout(300)
    opened.screenshot(path=DOCS / f"{name}.png")


if __name__ == "__main__":
    main()
