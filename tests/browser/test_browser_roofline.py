"""The roofline and time against Tensor Active as a browser shows them."""

import pytest
from clicks import draw

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light")])
def test_figures_are_drawn_within_the_page(visit, pages, width, scheme):
    tab = visit(pages / "circles.html", width=width, scheme=scheme)
    for name, circles in (("roofline", 2), ("tensor-time", 3), ("memory-tensor", 3)):
        tab.locator(f"#choose-{name}").check()
        draw(tab, f"#{name}")
        assert tab.locator(".choose .plot:visible").count() == 1
        assert tab.locator(f"#{name} .scatterlayer path.point").count() == circles
        box = tab.locator(f"#{name}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert (tab.messages, [url for url in tab.requests if not url.startswith("file:")]) == ([], [])


def test_a_click_on_a_circle_selects_its_kernel(visit, pages):
    tab = visit(pages / "circles.html")
    tab.locator("#choose-roofline").check()
    draw(tab, "#roofline")
    circle = tab.locator("#roofline .scatterlayer path.point").first
    circle.scroll_into_view_if_needed()
    box = circle.bounding_box()
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.wait_for_selector("aside.panel:not(.nothing)")
    assert tab.locator(".panel-kind").text_content() == "Kernel"
