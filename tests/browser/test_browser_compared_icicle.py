"""Two icicles of a comparison as a browser shows them: one scale, one zoom, rows of blocks, colours of the theme."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
BOXES = "#icicles-1-0 > .bars"


def widths(opened):
    return opened.locator(BOXES).evaluate_all("boxes => boxes.map(box => box.getBoundingClientRect().width)")


def times(opened):
    data = opened.evaluate("JSON.parse(document.getElementById('icicles-1-0-data').textContent)")
    return [side["time"] for side in data["trees"][0]["sides"]]


def names(opened, box, row):
    bars = opened.locator(BOXES).nth(box).locator(f"button[data-row='{row}']")
    return [title.split("\n")[0] for title in bars.evaluate_all("bars => bars.map(bar => bar.title)")]


def test_both_have_one_scale_and_a_click_zooms_both_and_selects_the_row(visit, pages):
    opened = visit(pages / "two.html")
    base, new = times(opened)
    whole = widths(opened)
    assert whole[1] / whole[0] == pytest.approx(new[0] / base[0], rel=0.01)
    assert whole[1] < whole[0]
    before = opened.evaluate("scrollY")
    opened.locator(BOXES).nth(1).locator("button", has_text="forward").click()
    assert [names(opened, box, 1) for box in (0, 1)] == [["forward"], ["forward"]]
    node = int(opened.locator(f"{BOXES} button", has_text="forward").first.get_attribute("data-node"))
    zoomed = widths(opened)
    assert zoomed[1] / zoomed[0] == pytest.approx(new[node] / base[node], rel=0.01)
    assert opened.locator("tr[aria-current] .name").all_text_contents() == ["forward"]
    opened.get_by_role("button", name="Show it in the table").first.click()
    assert opened.evaluate("scrollY") > before
    assert opened.messages == []


def test_differences_are_listed_with_sign_and_what_one_side_lacks(visit, pages):
    opened = visit(pages / "two.html")
    base, new = times(opened)
    listed = opened.locator("#icicles-1-0 .changes button")
    assert int(listed.first.get_attribute("data-node")) == 0
    assert listed.first.locator("b").inner_text().startswith("+" if new[0] > base[0] else "-")
    opened.locator(f"{BOXES} button", has_text="forward").first.click()
    texts = listed.all_inner_texts()
    assert any("only in " in text for text in texts) == any(0 in pair for pair in zip(base, new, strict=True))


def test_bars_have_the_colours_of_the_theme(visit, pages):
    opened = visit(pages / "two.html")

    def color():
        return opened.locator(f"{BOXES} button").first.evaluate("bar => getComputedStyle(bar).backgroundColor")

    light = color()
    opened.get_by_role("button", name="Show the page in dark colours").click()
    assert color() != light
    opened.get_by_role("button", name="Show the page in light colours").click()
    assert color() == light
