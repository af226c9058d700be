"""What a reader chooses on the page of a comparison: parts of a change, which the address keeps."""

import pytest
from clicks import click_middle, draw, find_rest
from explorer import ROWS

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
FIGURE = "waterfall-time_ns-1-0"


def address(opened):
    return opened.evaluate("decodeURIComponent(location.hash)")


def follow(opened, path, fragment):
    """Open a link to a page, as from elsewhere."""
    opened.goto("about:blank")
    opened.goto(path.as_uri() + fragment)
    opened.wait_for_selector("html[data-drawn]", state="attached")


def click_bar(opened, figure, number):
    draw(opened, f"#{figure}")
    click(opened.locator(f"#{figure} .bars .point path").nth(number))


def click(bar):
    """Click on a bar when it rests in view."""
    bar.scroll_into_view_if_needed()
    find_rest(bar)
    click_middle(bar)


def test_parts_of_a_change_are_kept_by_reload_link_and_back(visit, pages):
    path = pages / "two.html"
    opened = visit(path)
    click_bar(opened, FIGURE, 1)
    assert opened.locator(ROWS).count() == 1
    chosen = address(opened)
    assert chosen.startswith("#parts=")
    opened.reload()
    opened.wait_for_selector("html[data-drawn]", state="attached")
    assert opened.locator(ROWS).count() == 1
    draw(opened, f"#{FIGURE}")
    assert "1 of its kernels" in opened.locator("#part-why-1-0 .chosen").first.inner_text()
    opened.go_back()
    assert opened.locator(ROWS).count() == 3, "which are still kernels"
    follow(opened, path, chosen)
    assert opened.locator(ROWS).count() == 1
    assert 0 <= opened.locator("#part-why-1-0").bounding_box()["y"] < 300


def test_chosen_bars_stand_out(visit, pages):
    opened = visit(pages / "two.html")
    draw(opened, f"#{FIGURE}")
    opacity = (
        f"Array.from(document.querySelectorAll('#{FIGURE} .bars .point path'), each => Number(each.style.opacity))"
    )
    assert set(opened.evaluate(opacity)) == {1}
    bars = opened.locator(f"#{FIGURE} .bars .point path").count()
    click_bar(opened, FIGURE, 1)
    assert [place for place, each in enumerate(opened.evaluate(opacity)) if each == 1] == [0, 1, bars - 1]


def test_a_closed_part_opens_for_what_leads_into_it(visit, pages):
    opened = visit(pages / "alone.html")
    part = opened.locator("details#part-side-2")
    assert part.get_attribute("open") is None
    opened.get_by_role("navigation").get_by_role("link", name="fast").click()
    assert part.get_attribute("open") is not None
