"""The pages as a browser shows them."""

from pathlib import Path

import numpy as np
import pytest
from report_inputs import HOSTILE, make_analysis, make_comparison, make_empty, make_samples, read_hostile

import tcprof
from tcprof.report import page

FIXTURE = Path(__file__).parents[2] / "fixtures" / "transformer_compiled.sqlite"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    page.write_report(make_analysis(), folder / "plain.html")
    page.write_report(make_empty(), folder / "empty.html")
    long = make_samples(np.arange(60_000) % 97)
    page.write_report(
        make_analysis(names=HOSTILE, file=HOSTILE[0], faults=HOSTILE, warnings=HOSTILE, samples=long),
        folder / "hostile.html",
    )
    page.write_report(make_analysis(gpus=(0, 1)), folder / "gpus.html")
    page.write_report(read_hostile(folder), folder / "hostile_kernels.html")
    page.write_report(tcprof.read(FIXTURE), folder / "recorded.html")
    page.write_comparison(make_comparison(), folder / "comparison.html")
    page.write_comparison(make_comparison(names=HOSTILE), folder / "hostile_comparison.html")
    lost = (
        "Samples were lost: GPU 0 has none for 1.21 s. Record again with --frequency 100000.",
        "Kernels may be missing.",
    )
    page.write_report(make_analysis(faults=lost, warnings=("Rounded samples.",)), folder / "faulty.html")
    page.write_comparison(make_comparison(faults=lost), folder / "faulty_comparison.html")
    return folder


NAMES = (
    *("plain", "empty", "hostile", "hostile_kernels", "recorded", "gpus", "faulty"),
    *("comparison", "hostile_comparison", "faulty_comparison"),
)
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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_opens_silently_and_asks_for_nothing(visit, pages, name, width, scheme):
    path = pages / f"{name}.html"
    opened = visit(path, width, scheme)
    assert opened.messages == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [path.as_uri()]
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.evaluate(overflow) == 0


@pytest.mark.parametrize("name", ["faulty", "faulty_comparison"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380])
def test_faults_are_read_first(visit, pages, name, scheme, width):
    opened = visit(pages / f"{name}.html", width, scheme)
    alert = opened.get_by_role("alert")
    box, header = alert.bounding_box(), opened.locator("header").bounding_box()
    assert header["y"] + header["height"] <= box["y"] < 300
    assert box["y"] + box["height"] <= opened.locator("#figures").bounding_box()["y"]
    for element in alert.locator("h2, li").all():
        assert element.evaluate(CONTRAST) > 4.5
    assert opened.locator(".option").first.evaluate("e => e.getClientRects().length") == 1
    color = "e => getComputedStyle(e).backgroundColor"
    if name == "faulty":
        assert alert.evaluate(color) != opened.locator(".warnings").evaluate(color)


@pytest.mark.parametrize("name", ["plain", "comparison"])
def test_timeline_is_drawn(visit, pages, name):
    opened = visit(pages / f"{name}.html")
    assert opened.locator("#timeline .scatterlayer path.js-line").count() >= 2
    assert opened.locator("#timeline .barlayer .point path").count() >= 36
    assert opened.evaluate("document.querySelector('#timeline path.js-line').getTotalLength()") > 500


def test_zoom_moves_all_strips(visit, pages):
    opened = visit(pages / "gpus.html")
    before = opened.locator("#timeline .barlayer .point path").first.get_attribute("d")
    opened.evaluate("Plotly.relayout('timeline', {'xaxis.range': [0.001, 0.002]})")
    assert opened.locator("#timeline .barlayer .point path").first.get_attribute("d") != before
    assert opened.messages == []


def test_headings_sort_by_mouse_and_keyboard(visit, pages):
    opened = visit(pages / "plain.html")
    names = ["whole capture", "step", "step / forward", "step / backward"]
    assert texts(opened, "tbody th bdi") == names
    heading = opened.get_by_role("button", name="Tensor Active, mean")
    heading.click()
    assert texts(opened, "tbody th bdi") == ["step / forward", "step", "whole capture", "step / backward"]
    assert opened.locator("th[aria-sort=descending]").count() == 1
    heading.focus()
    opened.keyboard.press("Enter")
    assert texts(opened, "tbody th bdi") == ["whole capture", "step", "step / forward", "step / backward"]
    assert opened.locator("th[aria-sort=ascending]").count() == 1
    opened.keyboard.press("Enter")
    assert texts(opened, "tbody th bdi") == names
    assert opened.locator("th[aria-sort=none]").count() == 13


def test_filter(visit, pages):
    opened = visit(pages / "plain.html")
    opened.get_by_label("Filter").fill("FORW")
    assert opened.locator("tbody tr:visible").count() == 1
    assert opened.locator("output").text_content() == "1 of 4 rows"
    assert opened.locator("tbody tr:visible th").inner_text().strip() == "step / forward"


def test_time_classes_fill_each_bar(visit, pages):
    opened = visit(pages / "recorded.html")
    assert opened.locator("#classes .barlayer .point path").count() >= 6 * 4
    rows = opened.locator("#table-time-1 tbody tr")
    assert rows.count() == 6
    shares = rows.evaluate_all("rows => rows.map(r => [...r.cells].slice(2).map(c => Number(c.dataset.sort)))")
    assert [sum(row) for row in shares] == pytest.approx([100] * 6)


def test_kernels_are_listed_sorted_and_filtered(visit, pages):
    opened = visit(pages / "recorded.html")
    table = opened.locator("#table-kernels-1")
    assert table.locator("tbody tr").count() == len(tcprof.read(FIXTURE).kernels)
    assert table.locator("tbody th").first.get_attribute("title").startswith("nvjet_sm90_tst_256x128")
    table.get_by_role("button", name="Tensor Active").click()
    shares = [
        float(text)
        for text in table.locator("tbody tr td:nth-child(5)").evaluate_all("c => c.map(x => x.dataset.sort)")
    ]
    assert shares == sorted(shares, reverse=True)
    opened.get_by_placeholder("part of a name").fill("triton")
    assert 0 < table.locator("tbody tr:visible").count() < len(shares)


@pytest.mark.parametrize("name", ["hostile", "hostile_kernels", "hostile_comparison"])
def test_hostile_names_are_shown_as_text(visit, pages, name):
    opened = visit(pages / f"{name}.html")
    shown = texts(opened, "tbody th .name")
    assert HOSTILE[0] in shown
    assert HOSTILE[1] in shown
    assert opened.evaluate("window.hacked") is None
    assert opened.locator("img").count() == 0
    assert opened.locator("a[href^=http]").count() == 0
    assert opened.locator("#timeline .barlayer text a, #timeline .barlayer text tspan").count() == 0


def test_pointer_shows_a_name_as_text(visit, pages):
    opened = visit(pages / "hostile.html")
    opened.evaluate(
        "const trace = document.getElementById('timeline').data.findIndex((t) => t.name === 'GPU 0, host ranges');"
        "const name = document.getElementById('timeline').data[trace].hovertext.findIndex((t) => t.includes('script'));"
        "const subplot = 'x' + document.getElementById('timeline').data[trace].yaxis;"
        "Plotly.Fx.hover('timeline', [{curveNumber: trace, pointNumber: name}], subplot)"
    )
    hover = opened.locator("#timeline .hoverlayer").text_content()
    assert "</script><img src=x onerror=window.hacked=1>" in hover
    assert opened.evaluate("window.hacked") is None


def test_theme_changes_with_the_system(visit, pages):
    opened = visit(pages / "plain.html")
    color = "getComputedStyle(document.querySelector('#timeline .xtick text')).fill"
    light = opened.evaluate(color)
    opened.emulate_media(color_scheme="dark")
    for _ in range(100):
        if opened.evaluate(color) != light:
            break
        opened.wait_for_timeout(50)
    assert opened.evaluate(color) != light
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"


def test_prints_light(visit, pages):
    opened = visit(pages / "plain.html", scheme="dark")
    opened.emulate_media(media="print", color_scheme="dark")
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.locator(".table-tools").is_hidden()


def test_without_scripts_the_figures_are_read_in_the_table(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto((pages / "plain.html").as_uri())
    assert opened.locator("tbody tr").count() == 4
    assert opened.get_by_text("it needs JavaScript").is_visible()
    context.close()


def test_picture_can_be_saved_under_the_policy(visit, pages):
    opened = visit(pages / "plain.html")
    picture = opened.evaluate("Plotly.toImage('timeline', {format: 'png', width: 400, height: 300})")
    assert picture.startswith("data:image/png;base64,")
    assert opened.messages == []
