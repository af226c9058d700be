"""The tables of the report's page: sorting, searching, folding, CSV; they and the timeline follow each other."""

import csv
import io
from pathlib import Path

import pytest
from explorer import ROWS, group, whole_names
from report_inputs import HOSTILE, Pages, make_analysis, write_page

import tcprof

FIXTURE = Path(__file__).parents[2] / "fixtures" / "transformer_compiled.sqlite"

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
STEP_S = 3e-3  # the synthetic steps are 3 ms each, one after the other


@pytest.fixture(scope="module")
def pages(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    names = [f"range {number}" for number in range(80)]
    return Pages(folder, pages, many=lambda path: write_page(make_analysis(names=names), path))


def saved(opened, button):
    """What a click on a button saves, as rows."""
    with opened.expect_download() as download:
        button.click()
    assert download.value.suggested_filename.endswith(".csv")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert opened.messages == []
    return list(csv.reader(io.StringIO(text)))


def shown_window(opened):
    opened.wait_for_timeout(400)
    return [float(value) for value in opened.locator("#timeline").get_attribute("data-window").split()]


TREE = ["whole capture", "step", "step / forward", "step / backward"]


def heading(opened, title):
    return opened.locator(".explorer thead").get_by_role("button", name=title, exact=True)


def test_headings_sort_by_mouse_and_keyboard_within_what_rows_lie_in(visit, pages):
    opened = visit(pages / "plain.html")
    assert whole_names(opened) == TREE
    heading(opened, "Tensor Active").click()
    assert whole_names(opened) == ["whole capture", "step", "step / forward", "step / backward"]
    assert opened.locator("th[aria-sort=descending]").count() == 1
    opened.keyboard.press("Enter")
    assert opened.locator(".explorer th[aria-sort=ascending]").count() == 1
    assert whole_names(opened) == TREE, "unknown is last, whichever way"
    opened.locator("[data-flat]").click()
    assert whole_names(opened) == ["whole capture", "step", "step / forward", "step / backward"]
    heading(opened, "Tensor Active").click()
    assert whole_names(opened) == ["step / forward", "step", "whole capture", "step / backward"]


def test_search_shows_what_it_finds_and_what_that_lies_in(visit, pages):
    opened = visit(pages / "plain.html")
    search = opened.get_by_label("Search the table")
    search.fill("FORW")
    assert whole_names(opened) == TREE[:3]
    assert opened.locator(".explorer output").text_content() == "1 of 4 rows"
    search.fill("")
    assert whole_names(opened) == TREE


def test_the_table_is_moved_opened_and_chosen_from_by_keyboard(visit, pages):
    opened = visit(pages / "recorded.html")
    opened.locator(".explorer table").focus()
    tree = whole_names(opened)
    press = opened.keyboard.press
    press("Home")
    press("ArrowDown")
    current = opened.locator(".explorer tr.cursor")
    assert current.get_attribute("id") == opened.locator(".explorer table").get_attribute("aria-activedescendant")
    assert (current.locator(".name").text_content(), current.get_attribute("aria-expanded")) == ("step", "true")
    press("ArrowLeft")
    assert current.get_attribute("aria-expanded") == "false"
    assert whole_names(opened) == [name for name in tree if not name.startswith("step / ")]
    press("ArrowRight")
    assert whole_names(opened) == tree
    press("ArrowDown")
    press("Enter")
    assert opened.locator("aside.panel:not(.nothing)").is_visible()
    assert opened.locator("tr[aria-current]").get_attribute("id") == current.get_attribute("id")
    assert opened.messages == []


def test_click_on_a_kernel_moves_the_timeline(visit, pages):
    opened = visit(pages / "recorded.html", reduced_motion="reduce")
    analysis = tcprof.read(FIXTURE)
    group(opened, "kernel")
    opened.locator(ROWS).first.click()
    low, high = shown_window(opened)
    length = max(analysis.kernels["median_ns"].iloc[0], 20 * analysis.samples["start_ns"].diff().median()) * 1e-9
    assert 0.9 * length <= high - low < 2 * length, "a sample says nothing of what is shorter"
    at = analysis.activities.iloc[analysis.kernel_instances["activity"][analysis.kernel_instances["kernel"] == 0]]
    assert ((at["start_ns"] * 1e-9 >= low) & (at["end_ns"] * 1e-9 <= high)).any()


def test_window_of_the_timeline_is_shown_by_the_tables(visit, pages):
    opened = visit(pages / "plain.html")
    within, shown = opened.locator(".explorer .within"), opened.locator(".strip-text")
    assert shown.text_content() == ""
    opened.evaluate(f"window.tcprof.shown.show({{start: {1.01 * STEP_S}, end: {1.02 * STEP_S}}})")
    opened.wait_for_timeout(400)
    assert shown.text_content().startswith("Shown: ")
    assert within.all_text_contents() == ["1 ×"], "only the step is there"
    assert opened.locator(".explorer tr.outside .name").all_text_contents() == ["forward", "backward"]
    opened.locator("[data-whole]").click()
    opened.wait_for_timeout(400)
    assert opened.locator("tr.outside").count() == 0
    assert within.count() == 0
    assert opened.messages == []


def test_table_is_saved_as_csv_with_exact_numbers(visit, pages):
    opened = visit(pages / "recorded.html")
    analysis = tcprof.read(FIXTURE)
    group(opened, "kernel")
    rows = saved(opened, opened.locator("[data-save]"))
    assert len(rows) == 1 + len(analysis.kernels)
    assert {len(row) for row in rows} == {len(rows[0])}
    active = [f"tensor_active_{end}pct" for end in ("", "low_", "high_")]
    assert rows[0][:7] == ["Kernel (totals)", "total_ns", "share_pct", "lost_time_ns", *active]
    first = analysis.kernels.iloc[0]
    assert rows[1][0] == f"{first['name']} {first['launch_geometry']}"[:600]
    lost = first["total_ns"] * (1 - first["tensor_active_pct"] / 100)
    assert [float(text) for text in rows[1][1:5]] == pytest.approx(
        [first["total_ns"], first["share_pct"], lost, first["tensor_active_pct"]]
    )
    assert "–" not in {text for row in rows for text in row}
    ledger = saved(opened, opened.locator("[data-csv=time-0]"))
    assert sum(float(row[1]) for row in ledger[1:] if ":" in row[0]) == pytest.approx(analysis.ledger["seconds"].sum())


def test_hostile_names_are_no_formulas_in_csv(visit, pages):
    opened = visit(pages / "hostile_kernels.html")
    rows = saved(opened, opened.locator("[data-save]"))
    assert any(HOSTILE[0] in row[0] for row in rows)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not [text for row in rows for text in row if text[:1] in ("=", "@")]


def headings(opened):
    return [text.strip() for text in opened.locator(".explorer thead th").all_text_contents()]


LETTERS = """head => {
    const pen = document.createElement("canvas").getContext("2d");
    const { fontSize, fontFamily } = getComputedStyle(head.closest("table"));
    pen.font = `${fontSize} ${fontFamily}`;
    return head.clientWidth / pen.measureText("0").width;
}"""
OVERFLOW = "box => box.scrollWidth - box.clientWidth"


def test_the_table_shows_columns_that_fit_beside_forty_letters_and_others_on_request(visit, pages):
    opened = visit(pages / "recorded.html", width=1600)
    for way in opened.locator("[data-group-by]:not([hidden])").all():
        way.click()
        assert opened.locator(".explorer .table-box").evaluate(OVERFLOW) == 0
        assert opened.locator(".explorer thead th.first").evaluate(LETTERS) >= 40
    group(opened, "kernel")
    assert len(headings(opened)) > 4
    chooser = opened.locator(".explorer .columns")
    chooser.locator("summary").click()
    chooser.get_by_label("HFU").check()
    chooser.get_by_label("Launches").uncheck()
    assert "HFU" in headings(opened)
    assert "Launches" not in headings(opened)
    opened.keyboard.press("Escape")
    assert chooser.get_by_label("HFU").is_hidden()
    assert opened.evaluate("document.activeElement.textContent").startswith("Columns (")
    assert opened.messages == []


@pytest.mark.parametrize("width", [1280, 1920])
def test_a_deep_kernels_name_is_elided_once_in_the_middle(visit, pages, width):
    opened = visit(pages / "modules.html", width=width)
    group(opened, "module")
    opened.locator("[data-no-tensor]").click()
    opened.locator(f"{ROWS}.site").first.wait_for()
    names = opened.locator(f"{ROWS}.site .name")
    drawn = names.evaluate_all("""all => all.map(each => {
        const end = each.dataset.tail ? getComputedStyle(each, "::after").width : "0";
        const start = each.firstElementChild.getBoundingClientRect().width;
        return [each.textContent, start + parseFloat(end) - each.clientWidth, each.scrollWidth - each.clientWidth];
    })""")
    assert len(drawn) > 20
    assert max(len(name) for name, *_ in drawn) > 40
    for name, more, cut in drawn:
        assert "…" not in name, "which the drawing alone elides"
        assert more < 1, name
        assert cut <= 0, name
