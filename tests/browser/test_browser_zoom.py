"""What is pointed at and clicked is what is seen there, at each zoom level of the browser and after a resize."""

import re

import pytest
from clicks import draw
from test_browser_timeline import BARS

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
ZOOMS = [2]
# What each circle or bar of a figure stands for, in the order of their elements.
MEANT = """selector => Array.from(document.querySelectorAll(selector), shape => {
    const group = shape.closest('.trace');
    return (group.__data__[0].trace ?? group.__data__).customdata[shape.closest('.point').__data__.i];
})"""


def resize(opened, factor):
    size = opened.viewport_size
    opened.set_viewport_size({"width": round(factor * size["width"]), "height": size["height"]})
    opened.wait_for_timeout(500)  # plotly waits for the last of several changes


def click(opened, shape):
    """Click in the middle of a shape, after the pointer has been there for a moment: plotly clicks what it hovers."""
    box = before = None
    for _ in range(20):  # what comes into view is laid out then, and may move it
        shape.evaluate("each => each.scrollIntoView({ block: 'center' })")
        opened.wait_for_timeout(300)
        box, before = shape.bounding_box(), box
        if box == before:
            break
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    opened.wait_for_timeout(150)
    opened.mouse.down()
    opened.mouse.up()


def check_bars(opened):
    opened.locator(".timeline").evaluate("element => element.scrollIntoView()")
    kernel, copy = opened.evaluate(BARS)
    box = opened.locator("#timeline").bounding_box()
    y = box["y"] + kernel["y"]
    hover = opened.locator(".tooltip")
    for place, name in (
        (kernel["left"] + 3, "lonely"),
        (copy["right"] - 3, "host to device"),
        ((kernel["right"] + copy["left"]) / 2, "Idle"),
    ):
        opened.mouse.move(box["x"] + place - 1, y)
        opened.mouse.move(box["x"] + place, y)
        opened.wait_for_timeout(250)
        assert name in hover.text_content()
    opened.mouse.click(box["x"] + kernel["right"] - 3, y)
    opened.wait_for_selector("aside.panel:not(.nothing)")
    assert "lonely" in opened.locator(".panel-title").text_content()
    opened.keyboard.press("Escape")
    opened.wait_for_timeout(500)


def check_circles(opened):
    opened.locator("#choose-roofline").check()
    draw(opened, "#roofline")
    selector = "#roofline .scatterlayer path.point"
    meant = opened.evaluate(MEANT, selector)
    assert len(set(meant)) == len(meant) == 2
    for shape, link in zip(opened.locator(selector).all(), meant, strict=True):
        click(opened, shape)
        assert opened.evaluate("location.hash.slice(1)").split("&")[0] == link
        opened.keyboard.press("Escape")  # the panel covers half of a narrow window
        opened.wait_for_timeout(700)


def check_waterfall(opened):
    draw(opened, "#waterfall-time_ns-1-0")
    selector = "#waterfall-time_ns-1-0 .bars .point path"
    meant = opened.evaluate(MEANT, selector)
    said = opened.locator("#part-why-1-0 .chosen").first
    of_kernels = [[name for name in groups if name != "idle"] for groups in meant]
    bars = zip(opened.locator(selector).all(), of_kernels, strict=True)
    chosen = [(bar, groups) for bar, groups in bars if groups and bar.bounding_box()["width"] > 4]
    assert len(chosen) == 2, "the third is too thin to hit; its label can be clicked, too"
    for shape, groups in chosen:
        click(opened, shape)
        said.filter(has_text=re.compile(re.escape(": " + ", ".join(groups)) + "$")).wait_for()
        opened.wait_for_timeout(400)  # two clicks in a row would be one that zooms out


@pytest.mark.parametrize("zoom", ZOOMS)
@pytest.mark.parametrize(
    ("page", "check"), [("unsampled", check_bars), ("circles", check_circles), ("two", check_waterfall)]
)
def test_what_is_pointed_at_is_what_is_seen(visit, pages, page, check, zoom):
    opened = visit(pages / f"{page}.html", zoom=zoom)
    check(opened)
    resize(opened, 0.8)
    check(opened)
    assert [text for text in opened.messages if "getImageData" not in text] == [], "the test of bars reads pixels"
