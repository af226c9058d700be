"""The page of a trend in Chromium: runs, their levels, and where these change."""

import numpy as np
import pytest
from histories import IDLE, STEP_TIME, make_store

pytestmark = pytest.mark.browser

HOSTILE = "<script>document.title = 'taken'</script>"
COMMITS = [f"{number:08d}" for number in range(60)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store with a step that came with a driver, and a level that was accepted."""
    folder = tmp_path_factory.mktemp("trend")
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(60))
    values = {
        STEP_TIME: (np.repeat([14e6, 15e6, 13e6], [25, 20, 15]) * noise).tolist(),
        IDLE: (20 * noise).tolist(),
        ("tensor_tflops", "range", HOSTILE): (200 * noise).tolist(),
    }
    drivers = ["570.1"] * 25 + ["580.2"] * 35
    store = make_store(folder, values, COMMITS, driver_version=drivers, label=[HOSTILE] * 60)
    store.accept(COMMITS[45], f"fused {HOSTILE}")
    return folder


@pytest.fixture
def page(folder, run):
    path = folder / "trend.html"
    done = run("history", "trend", "-o", path, "--store", f"sqlite:///{folder / 'history.db'}")
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == str(path)
    return path


def points(opened, number, name):
    """Places and texts of a trace of a figure."""
    return opened.evaluate(
        "([id, name]) => document.getElementById(id).data.filter((each) => each.name === name)"
        ".flatMap(({ x, hovertext }) => hovertext.map((text, at) => [x[at], text]))",
        [f"trend-{number}", name],
    )


def test_what_changed_is_marked(visit, page, check_silent):
    opened = visit(page)
    assert opened.locator("h1").inner_text() == "Trend of train.py on main"
    assert opened.locator(".verdict").inner_text().startswith("Changed at 00000025")
    assert opened.locator("[data-figure]").count() == 3
    ((place, change),) = points(opened, 1, "change")
    assert (place, change.startswith("<b>00000025")) == (24.5, True)
    ((place, accepted),) = points(opened, 1, "accepted change")
    assert (place, "Accepted: fused &lt;script&gt;" in accepted) == (44.5, True)
    ((place, other),) = points(opened, 1, "driver, library or clock changed there, too")
    assert (place, other) == (24.5, "<b>Changed there, too</b><br>Driver: 570.1 → 580.2")
    runs = points(opened, 1, "runs")
    assert len(runs) == 60
    assert all(part in runs[0][1] for part in ("Commit: 00000000", "Branch: main", "Driver: 570.1", "&lt;script&gt;"))
    assert opened.locator("#table-runs table").get_attribute("aria-rowcount") == "61"
    assert opened.title() == "Trend of train.py on main – tcprof"  # no name of the store has acted
    check_silent(opened, page)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light")])
def test_axe_finds_nothing(visit, page, axe, width, scheme, check_silent):
    opened = visit(page, width, scheme)
    assert axe(opened) == []
    check_silent(opened, page)


def test_on_paper_figures_are_as_wide_as_it(visit, page):
    opened = visit(page)
    opened.emulate_media(media="print")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.locator("#trend-1").bounding_box()["width"] <= 690
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
