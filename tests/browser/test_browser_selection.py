"""One selection on the whole page: by a click anywhere, in the address, and restored from it."""

from urllib.parse import unquote

import pytest
from explorer import ROWS, group, rows_with
from report_inputs import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]


def window(opened):
    """The window that is drawn, once what was asked for is, and the address has followed."""
    opened.wait_for_timeout(500)
    return [float(value) for value in opened.locator("#timeline").get_attribute("data-window").split()]


def fragment(opened):
    return unquote(opened.evaluate("location.hash"))


def go(opened, hash_):
    opened.evaluate("hash => { location.hash = hash }", hash_)
    return window(opened)


def selected(opened):
    rows = opened.locator("tr[aria-current] .name")
    return [text.strip() for text in rows.all_text_contents()]


def click_range(opened, name):
    row = rows_with(opened, name)
    row.evaluate("row => row.scrollIntoView()")
    before = opened.evaluate("scrollY")
    row.locator("td").first.click()
    shown = window(opened)
    assert opened.evaluate("scrollY") == before, "the reader stays where he is"
    return shown


def test_a_row_is_selected_without_scrolling_and_back_undoes_it(visit, pages):
    opened = visit(pages / "plain.html")
    whole = window(opened)
    of_backward = click_range(opened, "backward")
    assert of_backward[1] - of_backward[0] < (whole[1] - whole[0]) / 10
    assert fragment(opened).startswith("#range=step / backward&")
    of_forward = click_range(opened, "forward")
    assert selected(opened) == ["forward"]
    opened.go_back()
    assert window(opened) == pytest.approx(of_backward)
    assert selected(opened) == ["backward"]
    opened.go_back()
    assert (window(opened), selected(opened)) == (whole, [])
    opened.go_forward()
    opened.go_forward()
    assert window(opened) == pytest.approx(of_forward)
    assert opened.messages == []


def test_a_reload_and_a_pasted_link_restore_window_and_selection(visit, pages):
    opened = visit(pages / "recorded.html")
    group(opened, "kernel")
    opened.locator(ROWS).nth(2).click()
    opened.locator("[data-action=out]").click()
    shown, name = window(opened), selected(opened)
    link = opened.url
    opened.reload()
    opened.wait_for_selector("html[data-drawn]", state="attached")
    assert window(opened) == pytest.approx(shown)
    assert selected(opened) == name != []
    opened.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }")
    opened.locator("[data-copy-link]").click()
    assert opened.evaluate("window.copied") == link
    opened.goto("about:blank")
    opened.goto(link)
    opened.wait_for_selector("html[data-drawn]", state="attached")
    assert window(opened) == pytest.approx(shown)
    assert selected(opened) == name
    assert 0 <= opened.locator("#timeline").bounding_box()["y"] < opened.viewport_size["height"] / 2, "scrolled there"


def test_what_the_page_does_not_have_is_ignored(visit, pages):
    opened = visit(pages / "plain.html")
    whole = window(opened)
    assert go(opened, "#range=%zz") == whole
    assert selected(opened) == []
    assert opened.messages == []


def test_a_section_leaves_the_selection_in_the_address_and_a_new_window_closes_the_tooltip(visit, pages):
    opened = visit(pages / "plain.html")
    click_range(opened, "forward")
    address = opened.url
    opened.locator("nav.sections a[href='#explore']").click()
    window(opened)
    assert opened.url == address
    assert 0 <= opened.locator("#part-timeline").bounding_box()["y"] < 200
    opened.keyboard.press("Escape")
    told = opened.locator(".tooltip:not([hidden])")
    box = opened.locator("#timeline").bounding_box()
    for share in range(1, 20):
        opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + share / 20 * box["height"], steps=2)
        opened.wait_for_timeout(150)
        if told.count():
            break
    assert told.count() == 1
    opened.keyboard.press("s")
    window(opened)
    assert told.count() == 0
    assert opened.messages == []


def test_hostile_names_in_an_address_are_text(visit, pages):
    opened = visit(pages / "hostile_kernels.html")
    for name in HOSTILE[:3]:
        rows_with(opened, name).click()
        window(opened)
        assert selected(opened) == [name]
        shown = fragment(opened)
        assert name in shown
        opened.reload()
        opened.wait_for_selector("html[data-drawn]", state="attached")
        window(opened)
        assert (selected(opened), fragment(opened)) == ([name], shown)
    assert opened.evaluate("window.hacked") is None
    assert opened.messages == []
