"""The pages as a browser shows them."""

import base64
import struct
from pathlib import Path

import numpy as np
import pytest
from explorer import ROWS, group
from report_inputs import HOSTILE, Pages, make_analysis, make_samples, write_page

import tcprof
from tcprof.findings.pricing.advice import name_advice

FIXTURE = Path(__file__).parents[2] / "fixtures" / "transformer_compiled.sqlite"

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]


@pytest.fixture(scope="module")
def pages(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    long = make_samples(np.arange(60_000) % 97)
    hostile = {"names": HOSTILE, "file": HOSTILE[0], "samples": long}
    lost = (
        "Samples were lost: GPU 0 has none for 1.21 s. Record again with --frequency 100000.",
        "Kernels may be missing.",
    )
    return Pages(
        folder,
        pages,
        hostile=lambda path: write_page(make_analysis(**hostile), path, faults=HOSTILE, warnings=HOSTILE),
        gpus=lambda path: write_page(make_analysis(gpus=(0, 1)), path),
        faulty=lambda path: write_page(make_analysis(), path, faults=lost, warnings=("Rounded samples.",)),
    )


FEW = ("recorded",)
CONTRAST = """element => {
    const light = color => color.match(/[0-9.]+/g).slice(0, 3).map(Number).map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const box = element.closest('.faults');
    const pair = [light(getComputedStyle(element).color), light(getComputedStyle(box).backgroundColor)];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}"""


def texts(opened, selector):
    return [text.strip() for text in opened.locator(selector).all_text_contents()]


@pytest.mark.parametrize(
    ("name", "width", "scheme"), [*((name, 1280, "light") for name in FEW), ("hostile", 390, "dark")]
)
def test_opens_silently_and_asks_for_nothing(visit, check_silent, pages, name, width, scheme):
    path = pages / f"{name}.html"
    check_silent(visit(path, width, scheme), path)


@pytest.mark.parametrize(("width", "scheme"), [(380, "dark")])
def test_faults_are_read_first(visit, pages, width, scheme):
    opened = visit(pages / "faulty.html", width, scheme)
    alert = opened.get_by_role("alert")
    box, header = alert.bounding_box(), opened.locator("header").bounding_box()
    assert header["y"] + header["height"] <= box["y"] < 300
    assert box["y"] + box["height"] <= opened.locator("#figures").bounding_box()["y"]
    for element in alert.locator("h2, li").all():
        assert element.evaluate(CONTRAST) > 4.5
    assert opened.locator(".option").first.evaluate("e => e.getClientRects().length") == 1
    color = "e => getComputedStyle(e).backgroundColor"
    assert alert.evaluate(color) != opened.locator(".warnings").evaluate(color)


@pytest.mark.parametrize("name", ["hostile_kernels"])
def test_hostile_names_are_shown_as_text(visit, pages, name):
    opened = visit(pages / f"{name}.html")
    shown = texts(opened, "tbody th .name")
    assert HOSTILE[0] in shown
    assert HOSTILE[1] in shown
    assert opened.evaluate("window.hacked") is None
    assert opened.locator("img").count() == 0
    assert opened.locator("a[href^=http]").count() == 0


BACKGROUND = "getComputedStyle(document.body).backgroundColor"
TICKS = "window.tcprof.drawing.frame.inks.ink"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(18, 22, 28)"


def wait_until_not(opened, expression, value):
    """Playwright's own way to wait evaluates text, which the page's policy forbids."""
    for _ in range(100):
        if opened.evaluate(expression) != value:
            return
        opened.wait_for_timeout(50)
    pytest.fail(f"{expression} stays {value}")


@pytest.mark.parametrize(("scheme", "first", "other"), [("light", LIGHT, DARK)])
def test_theme_is_chosen_by_a_button_and_kept(visit, pages, scheme, first, other):
    opened = visit(pages / "plain.html", scheme=scheme)
    before = opened.evaluate(TICKS)
    assert opened.evaluate(BACKGROUND) == first
    opened.get_by_role("button", name="Show the page in").click()
    assert opened.evaluate(BACKGROUND) == other
    wait_until_not(opened, TICKS, before)
    opened.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    assert opened.evaluate(BACKGROUND) == other
    opened.emulate_media(color_scheme=scheme)
    opened.reload()
    assert opened.evaluate(BACKGROUND) == other
    opened.get_by_role("button", name="Show the page in").click()
    assert opened.evaluate(BACKGROUND) == first
    assert opened.messages == []


def test_prints_light_with_everything_open(visit, pages):
    opened = visit(pages / "recorded.html", width=711, scheme="dark")
    opened.locator(f"{ROWS} .fold").nth(1).click()
    opened.emulate_media(media="print", color_scheme="dark")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.evaluate(BACKGROUND) == LIGHT
    for hidden in (".table-tools", ".figure-tools", ".timeline-tools", "button.theme", "nav"):
        assert not [each for each in opened.locator(hidden).all() if each.is_visible()], hidden
    assert opened.locator("details:not([open])").count() == 0
    assert opened.locator(f"{ROWS} >> nth=1").get_attribute("aria-expanded") == "true"
    assert opened.evaluate("document.documentElement.scrollWidth") <= 711
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.locator("details[open]").count() == 0


@pytest.mark.parametrize(("name", "scheme"), [("modules", "dark"), ("two", "light"), ("several", "light")])
def test_a_card_to_share_has_the_verdict_and_the_gap_or_the_sides(visit, pages, name, scheme):
    opened = visit(pages / f"{name}.html", scheme=scheme)
    with opened.expect_download() as download:
        opened.locator("[data-card]").click()
    picture = download.value.path().read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)
    rows = opened.evaluate(
        "async url => { const image = new Image(); image.src = url; await image.decode();"
        " const { width, height } = image, pen = new OffscreenCanvas(width, height).getContext('2d');"
        " pen.drawImage(image, 0, 0); const { data } = pen.getImageData(0, 0, width, height); const last = width - 1;"
        " const at = (x, y) => data.slice(4 * (y * width + x), 4 * (y * width + x) + 3).join(); const page = at(1, 1);"
        " return [at(last, height - 1) === page, [...Array(height).keys()].filter(y => at(60, y) !== page).length] }",
        "data:image/png;base64," + base64.b64encode(picture).decode(),
    )
    assert rows[0], "nothing is cut at its edge"
    assert rows[1] > 60, "the bar, or one of each side"
    assert opened.evaluate("location.hash").startswith("#gap=" if name == "modules" else "")
    assert opened.messages == []


def test_each_of_several_gpus_has_a_picture_that_fits(visit, pages):
    """What does not makes a browser print the whole page smaller."""
    opened = visit(pages / "gpus.html", width=390)
    assert opened.locator(".picture .readings").count() > 1
    title, tools = (opened.locator(part).bounding_box() for part in ("h1", ".page-tools"))
    assert title["y"] + title["height"] <= tools["y"]
    for media in ("screen", "print"):
        opened.emulate_media(media=media)
        assert opened.locator(".glance").evaluate("glance => glance.scrollWidth") <= 390


def test_without_scripts_the_figures_are_read_in_the_table(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto((pages / "plain.html").as_uri())
    assert opened.locator("tbody tr").count() == 4 + 2, "ranges and gaps"
    assert opened.locator("button.theme, .table-tools").first.is_hidden()
    assert opened.get_by_text("this needs JavaScript").first.is_visible()
    context.close()


def test_first_screen_answers(visit, pages):
    opened = visit(pages / "recorded.html")
    opened.set_viewport_size({"width": 1280, "height": 800})
    analysis = tcprof.read(FIXTURE)
    (found,) = analysis.findings.gpus
    assert [text.replace("\xa0", " ") for text in texts(opened, ".verdict")] == [" ".join(found.headline)]
    assert len(found.headline) == 2
    assert opened.locator(".readings .figure").count() == 3
    leads = opened.locator(".leads li")
    assert 1 <= leads.count() <= 3
    assert "checks passed" in opened.locator(".trust summary").text_content()
    picture = (".readings div >> nth=-1", ".share-names", ".icicle >> nth=0")
    for seen in (".verdict", *picture, ".leads li >> nth=-1", ".trust summary"):
        box = opened.locator(seen).bounding_box()
        assert box["y"] + box["height"] <= 800, seen


def test_show_selects_what_a_finding_is_about(visit, pages):
    opened = visit(pages / "recorded.html")
    button = opened.get_by_role("button", name="Show what this is about").first
    link = button.get_attribute("data-select")
    button.click()
    assert opened.evaluate("location.hash").startswith(f"#{link}")
    about = opened.locator(f"[data-finding={link.removeprefix('finding=')}]").get_attribute("data-about").split(" ")
    group(opened, "kernel")
    rows = opened.locator("tr[aria-current]").count()
    assert rows == len(about) > 1, "all that it is about is selected"
    title = opened.locator(".panel-title").text_content()
    assert title == opened.locator(".leads li b").first.text_content()
    opened.reload()
    opened.wait_for_selector("html[data-drawn]", state="attached")
    assert opened.locator(".panel-title").text_content() == title
    group(opened, "kernel")
    assert opened.locator("tr[aria-current]").count() == rows
    opened.locator(f"{ROWS}[data-item]").first.click()
    opened.go_back()
    opened.wait_for_function("title => document.querySelector('.panel-title').textContent === title", arg=title)
    assert opened.messages == []
    titles = [title.strip() for title in opened.locator(".panel h3").all_text_contents()]
    assert "Its kernels" in titles  # a finding launches none
    assert not [title for title in titles if "it launched" in title]


def test_findings_are_headed_by_what_to_do_with_their_rule_beside_it(visit, pages):
    opened = visit(pages / "recorded.html")
    advice = tcprof.read(FIXTURE).advice
    heads = opened.locator("h3.finding")
    assert heads.count() >= 1
    for place, head in enumerate(heads.all()):
        assert head.text_content().replace("\N{NO-BREAK SPACE}", " ") == advice[place].action
    assert opened.locator("#part-advice .rule").first.text_content() == advice[0].rule
    assert opened.locator(".leads .rule").count() == 0
    (card, *_) = opened.locator(".lead-says").all_text_contents()
    assert card.replace("\N{NO-BREAK SPACE}", " ") == name_advice(advice[0]), "the sentence of the terminal"
    opened.locator(".leads a", has_text="How").first.click()
    assert 0 <= heads.first.bounding_box()["y"] < 300


def test_each_of_several_gpus_has_its_figures_beside_its_name(visit, pages):
    opened = visit(pages / "gpus.html")
    names = [each.bounding_box() for each in opened.locator(".picture > h3").all()]
    figures = [each.bounding_box() for each in opened.locator(".readings").all()]
    assert len(names) == len(figures) == 2
    for name, of_gpu in zip(names, figures, strict=True):
        assert name["x"] + name["width"] <= of_gpu["x"]
        assert abs(name["y"] - of_gpu["y"]) < 10
    assert figures[1]["y"] - figures[0]["y"] < 80
