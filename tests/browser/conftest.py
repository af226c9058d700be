"""Chromium without a network, and pages made for it. Skipped aloud where Chromium or playwright is absent."""

import os
import shutil
from importlib.resources import files

import pytest

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


@pytest.fixture
def visit(browser):
    """Opens a page; what it said and asked for is in its ``messages`` and ``requests``."""
    contexts = []

    def open_page(path, width=1280, scheme="light", **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        contexts.append(context)
        opened = context.new_page()
        opened.messages, opened.requests = [], []
        opened.on("console", lambda message: opened.messages.append(message.text))
        opened.on("pageerror", lambda error: opened.messages.append(str(error)))
        opened.on("request", lambda request: opened.requests.append(request.url[:200]))
        opened.goto(path.as_uri())
        opened.wait_for_selector("html[data-drawn]", state="attached")
        return opened

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe():
    """Gives what axe-core, whose script comes with a package for playwright, finds: rule, impact and the places."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

    def find(opened):
        opened.evaluate(script)
        found = opened.evaluate("axe.run(document, {resultTypes: ['violations']})")
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
