"""Chromium without a network, and pages made for it. Skipped aloud where Chromium or playwright is absent."""

import os
import shutil
from importlib.resources import files

import pytest
from builders import FIXTURES, TraceBuilder
from comparison_inputs import compare_hostile, compare_several, compare_steps
from comparison_inputs import write_page as write_comparison
from report_inputs import Pages, make_analysis, make_empty, read_hostile, write_page
from test_roofline import write_trace

import tcprof

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-default-browser-check",
]


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not executable:
        pytest.skip("Chromium is absent: install Debian's package chromium, or set CHROMIUM=/path")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Pages that several files look at: each is written once, when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")
    trace = TraceBuilder().gpu().kernel("lonely", 1_000_000, 1_500_000).copy("host to device", 2_000_000, 2_500_000)
    return Pages(
        folder,
        plain=lambda path: write_page(make_analysis(), path),
        hostile_kernels=lambda path: write_page(read_hostile(folder), path),
        recorded=lambda path: write_page(tcprof.read(FIXTURES / "transformer_compiled.sqlite").analysis, path),
        modules=lambda path: write_page(tcprof.read(FIXTURES / "llama.sqlite").analysis, path),
        empty=lambda path: write_page(make_empty(), path),
        circles=lambda path: write_page(tcprof.read(write_trace(folder)).analysis, path),
        unsampled=lambda path: write_page(tcprof.read(trace.write(folder)).analysis, path),
        two=lambda path: write_comparison([compare_steps(folder)], path),
        several=lambda path: write_comparison(compare_several(folder), path),
        alone=lambda path: write_comparison(compare_several(folder, (1,)), path),
        hostile_sides=lambda path: write_comparison(compare_hostile(folder), path),
    )


def open_tab(browser, **options):
    """A tab whose ``messages`` and ``requests`` hold what its page said and asked for."""
    tab = browser.new_context(**options).new_page()
    tab.messages, tab.requests = [], []
    tab.on("console", lambda message: tab.messages.append(message.text))
    tab.on("pageerror", lambda error: tab.messages.append(str(error)))
    tab.on("request", lambda request: tab.requests.append(request.url[:200]))
    return tab


@pytest.fixture(scope="session")
def shared_tab(browser):
    """A tab for one page after the other: it keeps plotly.js compiled, which takes longer than all else in a page."""
    tab = open_tab(browser)
    yield tab
    tab.context.close()


@pytest.fixture
def visit(browser, shared_tab):
    """Opens a page as if it were the first one, in a new tab if ``script`` runs before its own, or ``zoom`` is set."""
    tabs = []

    def open_page(path, width=1280, scheme="light", reduced_motion="no-preference", script=None, zoom=1):
        opened = shared_tab if zoom == 1 and not script else open_tab(browser, device_scale_factor=zoom)
        tabs.append(opened)
        if script:
            opened.add_init_script(script)
        opened.set_viewport_size({"width": round(width / zoom), "height": round(900 / zoom)})
        opened.emulate_media(media="null", color_scheme=scheme, reduced_motion=reduced_motion)
        opened.messages, opened.requests = [], []
        opened.goto(path.as_uri())
        opened.wait_for_selector("html[data-drawn]", state="attached")
        return opened

    yield open_page
    for opened in tabs:
        if opened is not shared_tab:
            opened.context.close()
            continue
        opened.evaluate("localStorage.clear()")
        opened.goto("about:blank")
        opened.mouse.move(0, 0)


@pytest.fixture(scope="session")
def axe():
    """Gives what axe-core, whose script comes with a package for playwright, finds: rule, impact and the places."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

    def find(opened, *parts):
        """What is wrong with a page, or with parts of it: colours of a large table take many seconds."""
        opened.evaluate(script)
        where = {"include": [[part] for part in parts or ["html"]]}
        found = opened.evaluate("where => axe.run(where, {resultTypes: ['violations']})", where)
        return [
            (each["id"], each["impact"], [node["target"] for node in each["nodes"]][:5]) for each in found["violations"]
        ]

    return find


@pytest.fixture
def check_silent():
    """Holds that a page said nothing, asked for nothing but itself, and is no wider than its window."""

    def check(opened, path):
        assert opened.messages == []
        assert [url for url in opened.requests if not url.startswith("data:")] == [path.as_uri()]
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert opened.evaluate(overflow) == 0

    return check
