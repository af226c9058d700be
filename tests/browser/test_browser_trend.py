"""The page of a trend in Chromium: runs, their levels, where these change, and a way to the pages of runs."""

import numpy as np
import pytest
from builders import FIXTURES
from histories import IDLE, STEP_TIME, make_store
from sqlalchemy import insert

import tcprof
from tcprof.history import tables

HOSTILE = "<script>document.title = 'taken'</script>"
COMMITS = [f"{number:08d}" for number in range(60)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store with a step that came with a driver, a level that was accepted, and two analyses that are kept."""
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
    saved = folder / "run.tcprof"
    tcprof.read(FIXTURES / "mlp_fp16.sqlite").save(saved)
    with store._database.write() as connection:
        for run_id in (25, 60):
            connection.execute(insert(tables.BLOB), {"run_id": run_id, "saved": saved.read_bytes()})
    return folder


@pytest.fixture
def page(folder, run):
    path = folder / "trend.html"
    done = run("history", "trend", "-o", path, "--pages", "--store", f"sqlite:///{folder / 'history.db'}")
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
    assert opened.locator("#table-runs tbody tr").count() == 60
    assert opened.title() == "Trend of train.py on main – tcprof"  # no name of the store has acted
    check_silent(opened, page)


def test_a_click_on_a_run_opens_its_page(visit, page):
    opened = visit(page)
    marker = opened.locator("#trend-1 .points path").nth(24).bounding_box()
    opened.mouse.click(marker["x"] + marker["width"] / 2, marker["y"] + marker["height"] / 2)
    opened.wait_for_url((page.parent / "trend-runs" / "run-25.html").as_uri())
    assert opened.locator("h1").inner_text() == "train.py, 00000024 (2026-01-25)"


def test_the_keyboard_reaches_the_pages_of_runs(visit, page):
    opened = visit(page)
    links = opened.locator("#part-runs li a")
    assert links.all_inner_texts() == ["run 60: 00000059 (2026-03-04)", "run 25: 00000024 (2026-01-25)"]
    links.first.focus()
    opened.keyboard.press("Enter")
    opened.wait_for_url((page.parent / "trend-runs" / "run-60.html").as_uri())


def test_a_page_of_another_run_is_no_link(visit, page, run, folder):
    other = folder / "trend-runs" / "run-25.html"
    other.write_text(
        other.read_text().replace('name="tcprof-recording" content="', 'name="tcprof-recording" content="x')
    )
    store = ("--store", f"sqlite:///{folder / 'history.db'}")
    assert run("history", "trend", "-o", page, *store).status == 0
    assert visit(page).locator("#part-runs li a").all_inner_texts() == ["run 60: 00000059 (2026-03-04)"]
    assert run("history", "trend", "-o", page, "--pages", *store).status == 0
    assert page.read_text().count('href="trend-runs/run-') == 2


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
