"""Two icicles of a comparison as a browser shows them: one scale, one zoom, rows of blocks, colours of the theme."""

import pytest
from builders import FIXTURES
from comparison_inputs import write_page
from report_inputs import Pages

import tcprof
from tcprof.comparison import Side, compare

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
BOXES = "#icicles-1-0 > .bars"


def widths(opened):
    return opened.locator(BOXES).evaluate_all("boxes => boxes.map(box => box.getBoundingClientRect().width)")


def times(opened):
    data = opened.evaluate("JSON.parse(document.getElementById('icicles-1-0-data').textContent)")
    return [side["time"] for side in data["sides"]]


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


@pytest.mark.slow
def test_keys_move_and_zoom_and_the_order_is_one_for_both(visit, pages):
    opened = visit(pages / "two.html", width=390)
    first = opened.locator(f"{BOXES} button[tabindex='0']").first
    first.focus()
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("Enter")
    assert len(names(opened, 0, 1)) == 1
    opened.locator("#icicles-1-0 [data-order]").select_option("change")
    assert widths(opened)[0] <= 390


@pytest.mark.slow
def test_a_module_that_one_side_lacks_is_said_where_it_is_zoomed_in(visit, tmp_path):
    sides = [Side(name, (tcprof.read(FIXTURES / f"{name}.sqlite"),)) for name in ("llama", "resnet")]
    made = Pages(tmp_path, modules=lambda path: write_page([compare(*sides)], path))
    opened = visit(made / "modules.html", scheme="dark")
    opened.locator(f"{BOXES} button", has_text="Llama").first.click()
    assert opened.locator("#icicles-1-0 [data-length]").nth(1).inner_text() == "– without Llama"
    assert opened.locator(BOXES).nth(1).is_hidden()
    assert opened.locator("#table-modules-1-0 tr[aria-current] .name").all_text_contents() == ["Llama"]
    assert opened.messages == []
