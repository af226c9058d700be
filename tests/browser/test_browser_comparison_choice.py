"""What a reader chooses on the page of a comparison: the baseline and parts of a change, which the address keeps."""

import pytest
from clicks import click_middle, find_rest
from slow import first

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
FIGURE, TABLE = "waterfall-time_ns-1-0", "#table-kernels-1-0"


def address(opened):
    return opened.evaluate("decodeURIComponent(location.hash)")


def wait_until_drawn(opened, baseline):
    """Wait for all figures of the page with this side as the baseline."""
    opened.wait_for_function(
        "name => document.querySelector('.side-names li b').textContent === name"
        " && document.documentElement.dataset.drawn && !document.querySelector('.undrawn')",
        arg=baseline,
    )


def choose(opened, name):
    opened.get_by_role("button", name=f"Make {name} the baseline").click()
    wait_until_drawn(opened, name)


def follow(opened, path, fragment):
    """Open a link to a page, as from elsewhere."""
    opened.goto("about:blank")
    opened.goto(path.as_uri() + fragment)
    opened.wait_for_selector("html[data-drawn]", state="attached")


def click_bar(opened, figure, number):
    click(opened.locator(f"#{figure} .bars .point path").nth(number))


def click(bar):
    """Click on a bar when it rests in view."""
    bar.scroll_into_view_if_needed()
    find_rest(bar)
    click_middle(bar)


def test_another_side_becomes_the_baseline_and_back_undoes_it(visit, pages):
    opened = visit(pages / "two.html")
    before = opened.locator(".verdict").inner_text()
    choose(opened, "opt")
    assert opened.title().startswith("opt → base")
    assert opened.locator("h1").inner_text() == "opt → base"
    after = opened.locator(".verdict").inner_text()
    assert "opt" not in after.split(" takes ")[0]
    assert after != before
    assert address(opened) == "#baseline=2"
    assert opened.evaluate("document.activeElement.dataset.baseline") == "1"
    opened.reload()
    wait_until_drawn(opened, "opt")
    opened.go_back()
    wait_until_drawn(opened, "base")
    assert opened.locator(".verdict").inner_text() == before
    assert address(opened) == ""
    assert opened.messages == []


@pytest.mark.slow
def test_a_link_opens_with_its_baseline_and_what_is_unknown_is_ignored(visit, pages):
    path = pages / "alone.html"
    opened = visit(path)
    follow(opened, path, "#baseline=3")
    wait_until_drawn(opened, "fast")
    assert [name.split(" ")[0] for name in opened.locator(".part > summary bdi").all_inner_texts()] == [
        "middle",
        "slow",
    ]
    for unknown in ("#baseline=9", "#baseline=0", "#baseline=x", "#parts=99", "#parts=0&side=7"):
        follow(opened, path, unknown)
        wait_until_drawn(opened, "slow")
        assert opened.locator(f"{TABLE} tr.other-group").count() == 0
    assert opened.messages == []


@pytest.mark.slow
def test_all_works_with_another_baseline_as_with_the_first(visit, pages):
    opened = visit(pages / "two.html")
    choose(opened, "opt")
    click_bar(opened, FIGURE, 1)
    assert address(opened).startswith("#baseline=2&parts=")
    assert 0 < opened.locator(f"{TABLE} tbody tr:visible").count() < 3
    opened.get_by_role("button", name="Change").click()
    assert opened.locator(f"{TABLE} th[aria-sort=descending]").count() == 1
    with opened.expect_download() as download:
        opened.locator(f"[data-csv='{FIGURE}']").click()
    assert len(download.value.path().read_text().splitlines()) > 2
    opened.get_by_role("button", name="Show the page in dark colours").click()
    ink = opened.evaluate("getComputedStyle(document.body).color")
    assert opened.evaluate(f"document.getElementById('{FIGURE}').layout.font.color") != ""
    assert opened.locator(f"#{FIGURE} .xtick text").first.evaluate("each => getComputedStyle(each).fill") == ink


@pytest.mark.slow
def test_parts_of_a_change_are_kept_by_reload_link_and_back(visit, pages):
    path = pages / "two.html"
    opened = visit(path)
    click_bar(opened, FIGURE, 1)
    assert opened.locator(f"{TABLE} tbody tr:visible").count() == 1
    chosen = address(opened)
    assert chosen.startswith("#parts=")
    opened.reload()
    opened.wait_for_selector("html[data-drawn]", state="attached")
    assert opened.locator(f"{TABLE} tbody tr:visible").count() == 1
    assert "1 of its kernels" in opened.locator("#why-1-0 .chosen").first.inner_text()
    opened.go_back()
    assert opened.locator(f"{TABLE} tbody tr:visible").count() == 3
    follow(opened, path, chosen)
    assert opened.locator(f"{TABLE} tbody tr:visible").count() == 1
    assert 0 <= opened.locator("#why-1-0").bounding_box()["y"] < 300


def test_chosen_bars_stand_out(visit, pages):
    opened = visit(pages / "two.html")
    opacity = (
        f"Array.from(document.querySelectorAll('#{FIGURE} .bars .point path'), each => Number(each.style.opacity))"
    )
    assert set(opened.evaluate(opacity)) == {1}
    bars = opened.locator(f"#{FIGURE} .bars .point path").count()
    click_bar(opened, FIGURE, 1)
    assert [place for place, each in enumerate(opened.evaluate(opacity)) if each == 1] == [0, 1, bars - 1]


def test_kernels_of_what_is_chosen_stand_out_in_the_typical_step_and_choose_it(visit, pages):
    opened = visit(pages / "two.html")
    step = opened.locator("#step-1-0")
    opacity = (
        "Array.from(document.querySelectorAll('#step-1-0 .trace.bars'), trace => Array.from("
        "trace.querySelectorAll('.point path'), each => Number(each.style.opacity)))"
    )
    assert {each for trace in opened.evaluate(opacity) for each in trace} == {1}
    click_bar(opened, FIGURE, 1)
    chosen = opened.evaluate(opacity)
    assert {each for trace in chosen for each in trace} == {1, 0.35}
    assert "1 of its kernels" in opened.locator("#typical-1-0 .chosen").inner_text()
    click_bar(opened, FIGURE, 1)
    assert {each for trace in opened.evaluate(opacity) for each in trace} == {1}
    assert address(opened) == ""
    trace, point = next((number, each.index(0.35)) for number, each in enumerate(chosen) if 0.35 in each)
    click(step.locator(".trace.bars").nth(trace).locator(".point path").nth(point))
    assert address(opened).startswith("#parts=")
    assert opened.evaluate(opacity)[trace][point] == 1
    opened.locator("#typical-1-0 .chosen", has_text="1 of its kernels").wait_for()  # written after the bars are drawn
    assert opened.messages == []


@pytest.mark.parametrize("target", first(1, ["link", "parts"]))
def test_a_closed_part_opens_for_what_leads_into_it(visit, pages, target):
    path = pages / "alone.html"
    opened = visit(path)
    part = opened.locator("details#side-2")
    assert part.get_attribute("open") is None
    if target == "link":
        opened.get_by_role("navigation").get_by_role("link", name="fast").click()
    else:
        follow(opened, path, "#parts=0&side=2")
    assert part.get_attribute("open") is not None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scheme"), [("two", "dark"), ("alone", "light"), ("hostile_sides", "dark")])
def test_axe_finds_nothing_serious_with_another_baseline(visit, axe, check_silent, pages, name, scheme):
    path = pages / f"{name}.html"
    opened = visit(path, scheme=scheme)
    name = opened.locator(".side-names li b").last.text_content()
    opened.locator("[data-baseline]").last.click()
    wait_until_drawn(opened, name)
    opened.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    assert [each for each in axe(opened) if each[1] != "minor"] == []
    assert opened.evaluate("window.hacked") is None
    check_silent(opened, path)
