"""The roofline and time against Tensor Active as a browser shows them."""

import pytest
from explorer import ROWS, group
from slow import slow
from test_roofline import write_trace

import tcprof

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]


# Pixels of the timeline's canvas in the colour of outlines.
OUTLINED = """() => {
    const canvas = document.querySelector('.timeline canvas');
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const wanted = getComputedStyle(document.documentElement).getPropertyValue('--focus').trim();
    const [r, g, b] = [1, 3, 5].map(at => parseInt(wanted.slice(at, at + 2), 16));
    let count = 0;
    for (let i = 0; i < pixels.length; i += 4)
        if (pixels[i] === r && pixels[i + 1] === g && pixels[i + 2] === b && pixels[i + 3] === 255) count++;
    return count;
}"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), *slow([(390, "dark")])])
def test_figures_are_drawn_within_the_page(visit, pages, width, scheme):
    tab = visit(pages / "circles.html", width=width, scheme=scheme)
    for name, circles in (("roofline", 2), ("tensor-time", 3), ("memory-tensor", 3)):
        assert tab.locator(f"#{name} .scatterlayer path.point").count() == circles
        box = tab.locator(f"#{name}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert (tab.messages, [url for url in tab.requests if not url.startswith("file:")]) == ([], [])


def test_a_click_on_a_circle_selects_its_kernel(visit, pages):
    tab = visit(pages / "circles.html")
    assert tab.locator("aside.panel").is_hidden()
    circle = tab.locator("#roofline .scatterlayer path.point").first
    circle.scroll_into_view_if_needed()
    box = circle.bounding_box()
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.wait_for_selector("aside.panel:not([hidden])")
    assert tab.locator(".panel-kind").text_content() == "Kernel"


@pytest.mark.slow
def test_a_lasso_shows_its_kernels_alone_in_the_table(visit, pages, tmp_path):
    tab = visit(pages / "circles.html")
    group(tab, "kernel")
    rows = tab.locator(f"{ROWS}:not(.site)")
    everything = rows.count()
    figure = tab.locator("#tensor-time")
    figure.scroll_into_view_if_needed()
    figure.hover()
    figure.locator("[data-title='Box Select']").click()
    circle = figure.locator(".scatterlayer path.point").first.bounding_box()
    x, y = circle["x"] + circle["width"] / 2, circle["y"] + circle["height"] / 2
    tab.mouse.move(x - 30, y - 30)
    tab.mouse.down()
    tab.mouse.move(x, y, steps=3)
    tab.mouse.move(x + 30, y + 30, steps=3)
    tab.mouse.up()
    said = tab.locator("figure:has(#tensor-time) .chosen")
    said.get_by_role("link").first.wait_for(state="visible")
    shown = [row for row in rows.all() if row.is_visible()]
    assert 1 <= len(shown) < everything
    assert f"shows {len(shown)} kernel" in said.text_content()
    names = {row.get_attribute("data-item") for row in shown}
    counts = tcprof.read(write_trace(tmp_path)).kernels["launch_count"]
    assert f"{sum(counts.iloc[int(name)] for name in names):,} launch" in said.text_content()
    assert tab.locator(".panel-title").text_content() == f"{len(shown)} kernels"
    assert tab.evaluate(OUTLINED) > 0, "in the timeline"
    tab.reload()
    tab.wait_for_selector("html[data-drawn]", state="attached")
    said.get_by_role("link").first.wait_for(state="visible")
    assert {row.get_attribute("data-item") for row in rows.all() if row.is_visible()} == names, (
        "the address restores it"
    )
    said.get_by_role("button", name="All kernels").click()
    assert len([row for row in rows.all() if row.is_visible()]) == everything
    assert said.text_content() == ""
    assert tab.evaluate(OUTLINED) == 0
    assert tab.messages == []
