"""The page of a comparison as a browser shows it."""

import pytest
from builders import FIXTURES
from clicks import click_middle, draw, find_rest
from comparison_inputs import read_steps, tell, write_page
from explorer import ROWS, column, group
from report_inputs import HOSTILE, Pages, make_comparison, make_empty

import tcprof
from tcprof.comparison import compare

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
FEW = ("two",)


@pytest.fixture(scope="module")
def pages(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparisons")
    lost = ("Samples were lost: record again with --frequency 100000.", "Kernels may be missing.")

    def write_faulty(path):
        faulty = make_comparison()
        write_page([faulty], path, findings=[tell(faulty, new=lost)])

    return Pages(
        folder,
        pages,
        gpus_of_sides=lambda path: write_page(
            [compare(*(read_steps(folder, f"{name}.sqlite", gpus=(0, 1)) for name in ("a", "b")))], path
        ),
        faulty=write_faulty,
        empty_sides=lambda path: write_page([compare(make_empty(), make_empty(), allow_mismatch=True)], path),
    )


@pytest.mark.parametrize(("name", "scheme"), [(name, scheme) for name in FEW for scheme in ("light", "dark")])
def test_axe_finds_nothing_serious(visit, axe, pages, name, scheme):
    opened = visit(pages / f"{name}.html", scheme=scheme)
    opened.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    assert [each for each in axe(opened) if each[1] != "minor"] == []


def texts(opened, selector):
    return [text.strip() for text in opened.locator(selector).all_text_contents()]


@pytest.mark.parametrize(("name", "width", "scheme"), [*((name, 1280, "light") for name in FEW)])
def test_opens_silently_and_asks_for_nothing(visit, check_silent, pages, name, width, scheme):
    path = pages / f"{name}.html"
    opened = visit(path, width, scheme)
    opened.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    check_silent(opened, path)


def test_kernels_are_sorted_and_searched(visit, pages):
    opened = visit(pages / "two.html")
    group(opened, "kernel")
    assert opened.locator(ROWS).count() == 3
    given = column(opened, "Change")
    opened.locator(".explorer").get_by_role("button", name="Change").click()
    assert column(opened, "Change") != given
    opened.get_by_placeholder("Search the table").fill("nvjet")
    assert opened.locator(ROWS).count() == 1
    assert "renamed" in opened.locator(ROWS).inner_text()


def click_bar(opened, figure, number):
    """Click in the middle of a bar of a figure."""
    click_middle(opened.locator(f"#{figure} .bars .point path").nth(number))


def test_a_part_of_the_change_shows_its_kernels(visit, pages):
    opened = visit(pages / "two.html")
    opened.locator("#part-why-1-0").scroll_into_view_if_needed()
    figure = opened.locator("#waterfall-time_ns-1-0")
    top = find_rest(figure)  # what lies above is laid out meanwhile, which moves scrollY but nothing in view
    rows = opened.locator(ROWS)
    click_bar(opened, "waterfall-time_ns-1-0", 1)
    said = opened.locator("#part-why-1-0 .chosen").first
    assert said.inner_text().startswith("The table shows 1 of its kernels: replaced kernels: ")
    assert figure.bounding_box()["y"] == pytest.approx(top, abs=2)
    assert rows.locator("td").first.inner_text() == "renamed"
    assert rows.count() == 1
    click_bar(opened, "waterfall-time_ns-1-0", 1)
    assert rows.count() == 3
    assert said.inner_text() == "The table shows all kernels"
    opened.locator("#waterfall-time_ns-1-0 .annotation-text-g").nth(2).click()
    assert "renamed" in rows.inner_text()


def test_links_lead_to_their_sections(visit, pages):
    opened = visit(pages / "two.html")
    opened.get_by_role("navigation").get_by_role("link", name="Table").click()
    assert 0 <= opened.locator("#part-tables-1-0").bounding_box()["y"] < 200


@pytest.mark.parametrize(
    ("target", "first", "holds"),
    [
        ("steps-0", "series,x,y", '"base, Step time per step",0,'),
        ("kernel", "Kernel,status,difference_ns,base_ns,new_ns,", ",renamed,-2"),
    ],
)
def test_figures_and_tables_are_saved_as_csv(visit, pages, target, first, holds):
    opened = visit(pages / "two.html")
    button = f"[data-csv='{target}']"
    if target in ("kernel", "range"):
        group(opened, target)
        button = "[data-save]"
    else:
        draw(opened, f"#{target}")
    with opened.expect_download() as download:
        opened.locator(button).click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith(first)
    assert len({line.count(",") for line in lines if '"' not in line}) <= 1
    assert any(holds in line for line in lines)


def test_hostile_names_are_shown_as_text(visit, pages):
    opened = visit(pages / "hostile_sides.html")
    opened.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    shown = texts(opened, ".name")
    assert any(name.startswith(HOSTILE[0]) for name in shown)
    draw(opened, "#steps-0")
    assert opened.locator("img").count() == 0
    assert opened.locator("a[href^=http]").count() == 0
    assert opened.locator("svg a, svg foreignObject, svg .math").count() == 0
    draw(opened, "#steps-0")
    opened.evaluate(
        "() => { const plot = document.getElementById('steps-0');"
        "const curve = plot.data.findIndex((trace) => trace.mode === 'lines+markers');"
        "Plotly.Fx.hover(plot, [{ curveNumber: curve, pointNumber: 3 }], 'xy'); }"
    )
    assert "</script>" in opened.locator("#steps-0 .hoverlayer").text_content()
    assert opened.evaluate("window.hacked") is None
    assert opened.messages == []


def test_prints_light_with_all_parts(visit, pages):
    opened = visit(pages / "several.html", scheme="dark")
    opened.emulate_media(media="print", color_scheme="dark")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.locator(".folded:not([open])").count() == 0
    assert opened.locator("[data-csv]:visible").count() == 0
    width = "document.querySelector('#waterfall-time_ns-2-0 .main-svg').getBoundingClientRect().width"
    assert opened.evaluate(width) == 690
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.locator(".folded:not([open])").count() == 1


def test_without_scripts_the_figures_are_read_in_the_tables(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto((pages / "two.html").as_uri())
    assert opened.locator("#quantities-1-0 tbody tr").count() >= 6
    assert opened.locator("#kernels-1-0 tbody tr").count() == 3
    context.close()


@pytest.mark.parametrize("by", ["range", "kernel"])
def test_the_columns_that_are_shown_first_fit(visit, tmp_path, by):
    page = tmp_path / "recorded.html"
    write_page([compare(*(tcprof.read(FIXTURES / f"mlp_{name}.sqlite").analysis for name in ("fp32", "fp16")))], page)
    opened = visit(page, 1280)
    group(opened, by)
    box = opened.locator(".explorer .table-box")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
