"""The report's page for those who read it with a keyboard or a screen reader, held by axe-core and by use."""

import json

import pytest
from builders import FIXTURES
from report_inputs import HOSTILE, Pages, make_analysis, write_page

import tcprof

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def pages(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("accessible")
    warned = {"faults": ("Samples were lost.",), "warnings": ("Rounded samples.",)}
    return Pages(
        folder,
        pages,
        hostile=lambda path: write_page(make_analysis(names=HOSTILE, gpus=(0, 1)), path, **warned),
        small=lambda path: write_page(tcprof.read(FIXTURES / "mlp_fp16.sqlite").analysis, path),
    )


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("small", 1280, "light"), ("recorded", 1280, "dark"), ("hostile", 400, "light"), ("empty", 400, "dark")],
)
def test_no_serious_finding(visit, pages, axe, name, scheme, width):
    opened = visit(pages / f"{name}.html", width, scheme)
    grave = [each for each in axe(opened) if each[1] in GRAVE]
    assert grave == [], json.dumps(grave, indent=1)


@pytest.mark.parametrize(("width", "scheme"), [(1600, "light"), (1920, "dark")])
def test_no_finding_on_wide_screens(visit, pages, axe, width, scheme):
    opened = visit(pages / "small.html", width, scheme)
    opened.locator(".explorer tr[data-kind]").first.click()
    opened.wait_for_selector("aside.panel:not(.nothing)")
    assert axe(opened) == []


def test_no_finding_with_the_list_of_keys_open(visit, pages, axe):
    opened = visit(pages / "small.html", 1280, "light")
    opened.keyboard.press("?")
    opened.wait_for_selector("dialog.keys[open]")
    assert axe(opened) == []


def test_a_finding_would_be_found(visit, pages, axe):
    opened = visit(pages / "empty.html")
    opened.evaluate("document.querySelector('button.theme').style.color = 'rgb(230, 230, 230)'")
    assert "color-contrast" in {rule for rule, _, _ in axe(opened)}


def test_skip_link_is_first_and_focus_is_seen(visit, pages):
    opened = visit(pages / "small.html")
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.className") == "skip"
    assert opened.locator(".skip:focus").bounding_box()["x"] >= 0
    for _ in range(6):
        opened.keyboard.press("Tab")
        width = opened.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
        assert width >= 2, opened.evaluate("document.activeElement.outerHTML.slice(0, 200)")


def test_parts_have_names(visit, pages):
    opened = visit(pages / "small.html")
    for part in ("Timeline", "Steps, roofline, and time against Tensor Active", "Modules, ranges and kernels"):
        assert opened.get_by_role("region", name=part, exact=True).count() == 1
    assert opened.get_by_role("navigation", name="Parts of this page").count() == 1
    assert opened.get_by_role("treegrid").count() == 1


def test_nothing_moves_for_those_who_asked(visit, pages):
    opened = visit(pages / "small.html", reduced_motion="reduce")
    durations = opened.evaluate(
        "[...document.querySelectorAll('body *')].map((e) => getComputedStyle(e).transitionDuration)"
    )
    assert set(durations) == {"0s"}
