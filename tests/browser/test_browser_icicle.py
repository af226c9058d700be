"""The mean step as a browser shows it: zoom, order, the places of a kernel, keyboard, names as text."""

from pathlib import Path

import pytest
from report_inputs import HOSTILE, Pages, write_page

import tcprof
from tcprof.views.figures.traces import CLASS_COLORS

FIXTURE, LLAMA = (Path(__file__).parents[2] / "fixtures" / f"{name}.sqlite" for name in ("transformer_eager", "llama"))
pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]


@pytest.fixture(scope="module")
def pages(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("icicles")
    return Pages(folder, pages, recorded=lambda path: write_page(tcprof.read(FIXTURE).analysis, path))


BARS = "#icicle-0 > .bars button"


def row_of(opened, number):
    """Names of a row's bars from left to right, with their widths in percent."""
    found = opened.locator(f"{BARS}[data-row='{number}']").evaluate_all(
        "bars => bars.map(bar => [parseFloat(bar.style.left), bar.title.split('\\n')[0], parseFloat(bar.style.width)])"
    )
    return [(name, width) for _, name, width in sorted(found)]


def test_bars_are_in_time_or_by_size(visit, pages):
    opened = visit(pages / "recorded.html")
    assert [name for name, _ in row_of(opened, 1)][:2] == ["forward", "backward"], "copies are too short to be seen"
    opened.locator("#icicle-0 [data-order]").select_option("time")
    widths = [width for _, width in row_of(opened, 1)]
    assert widths == sorted(widths, reverse=True)
    assert row_of(opened, 1)[0][0] == "backward"
    assert sum(widths) == pytest.approx(100, abs=2)


def test_a_click_zooms_and_selects_and_one_above_goes_back(visit, pages):
    opened = visit(pages / "recorded.html")
    opened.locator(f"{BARS}[data-row='1']", has_text="backward").click()
    assert [name for name, _ in row_of(opened, 1)] == ["backward"]
    assert opened.locator("tr[aria-current] .name").all_text_contents() == ["backward"]
    assert "backward" in opened.evaluate("decodeURIComponent(location.hash)")
    opened.locator(BARS).first.click()
    assert len(row_of(opened, 1)) > 1
    assert opened.messages == []


def test_kernels_have_their_classes_colours_and_a_search_marks_hits(visit, pages):
    opened = visit(pages / "recorded.html")
    color = "bar => getComputedStyle(bar).backgroundColor"
    kernels = {opened.locator(f"{BARS}.bar-kernel").nth(place).evaluate(color) for place in range(8)}
    named = {name: each for name, each in CLASS_COLORS.items() if each.startswith("#")}
    allowed = {f"rgb({', '.join(str(int(each[i : i + 2], 16)) for i in (1, 3, 5))})" for each in named.values()}
    assert kernels <= allowed
    opened.locator("#find").fill("backward")
    hits = opened.locator(f"{BARS}.hit")
    assert 0 < hits.count() < opened.locator(BARS).count()
    assert "backward" in hits.first.get_attribute("title").lower()


def test_idle_time_between_launches_is_the_longest_gap_that_its_bar_tells_of(visit, pages):
    opened = visit(pages / "modules.html")
    opened.locator(".shares .idle").click()
    number = int(opened.evaluate("location.hash").removeprefix("#gap=").split("&")[0])
    assert tcprof.read(LLAMA).gaps.set_index("number").loc[number, "saving_ns"] > 0, "none of warm-up"
    opened.locator("#icicle-0 [data-tree]").select_option("1")
    titles = opened.locator(f"{BARS}.bar-idle[title*='longest']").evaluate_all("bars => bars.map(bar => bar.title)")
    assert len(titles) > 1, "of several ranges"
    for title in titles:
        longest = title.split("\n")[0].rpartition("longest ")[2]
        opened.locator(f"{BARS}.bar-idle").and_(opened.get_by_title(title, exact=True)).first.evaluate(
            "bar => bar.click()"
        )
        assert opened.evaluate("location.hash").startswith("#gap=")
        assert f"idle for {longest}" in opened.locator(".panel-title").text_content()


def test_names_are_text_and_bars_lie_within_narrow_pages(visit, check_silent, pages):
    opened = visit(pages / "hostile_kernels.html", 390, "dark")
    titles = opened.locator(BARS).evaluate_all("bars => bars.map(bar => bar.title.split('\\n')[0])")
    assert any(HOSTILE[0] in title for title in titles)
    assert opened.evaluate("window.hacked") is None
    check_silent(opened, pages / "hostile_kernels.html")
