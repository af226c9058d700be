"""Nothing lies over anything else in a figure, even on a phone that is turned, and a sheet of paper holds all of it."""

import pytest
from builders import FIXTURES
from clicks import draw
from comparison_inputs import write_page as write_comparison
from report_inputs import Pages

import tcprof
from tcprof.comparison import Side, compare

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
NAMES = ("recorded", "comparison")
SHEET = 711  # A4 between the margins of page.css, in pixels
SMALLEST = 7 * 96 / 72  # 7 pt in pixels

OVERLAPS = """() => {
    const box = element => element.getBoundingClientRect();
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    const found = new Set();
    for (const plot of document.querySelectorAll(".js-plotly-plot")) {
        const all = selector => Array.from(plot.querySelectorAll(selector)).filter(each => box(each).width);
        const compare = (what, some, others) => some.forEach(one => others.forEach(other => {
            if (meet(box(one), box(other))) found.add(`${plot.id}: ${what} ${one.textContent} ${other.textContent}`);
        }));
        const texts = all(".annotation-text, .legendtext, .xtick text, .ytick text, .xtitle");
        compare("buttons over", all(".modebar-group"), texts);
        compare("legend over curves", all(".legend .bg"), all(".draglayer .nsewdrag"));
        compare("legend over", all(".legendtext"), all(".annotation-text"));
    }
    return [...found];
}"""


@pytest.fixture(scope="module")
def pages(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("layout")

    def write_compared(path):
        base, new = (tcprof.read(FIXTURES / f"transformer_{name}.sqlite").analysis for name in ("eager", "compiled"))
        write_comparison([compare(Side("eager", (base,)), Side("compiled", (new,)))], path)

    return Pages(folder, pages, comparison=write_compared)


@pytest.mark.parametrize("name", NAMES)
def test_buttons_and_legends_are_beside_curves_and_labels(visit, pages, name):
    opened = visit(pages / f"{name}.html")
    draw(opened)
    for choice in opened.locator("#choose-tensor-time").all():
        choice.check()
        draw(opened)
    opened.locator("[data-figure]:visible").last.hover()
    assert opened.locator(".modebar-group").count() > 3
    assert opened.evaluate(OVERLAPS) == []


def test_all_fits_a_sheet_in_letters_that_can_be_read(visit, pages):
    opened = visit(pages / "recorded.html")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")  # print does not wait for anything behind it
    widths = "all => all.map(each => Math.round(each.getBoundingClientRect().width))"
    assert set(opened.locator(".plot .main-svg:visible").evaluate_all(widths)) == {690}
    opened.emulate_media(media="print")
    opened.set_viewport_size({"width": SHEET, "height": 1000})
    assert opened.evaluate("document.documentElement.scrollWidth") <= SHEET
    sizes = "all => all.map(each => parseFloat(getComputedStyle(each).fontSize))"
    assert min(opened.locator("table").evaluate_all(sizes)) >= SMALLEST
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    opened.emulate_media(media="screen")
    opened.set_viewport_size({"width": 1280, "height": 900})
    opened.wait_for_function("() => document.querySelector('.plot .main-svg').getBoundingClientRect().width > 800")
