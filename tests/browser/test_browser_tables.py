"""The tables of the report's page: sorting, searching, folding, CSV; they and the timeline follow each other."""

import csv
import io
from pathlib import Path

import pytest
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


def names(opened, table="#table-ranges-0"):
    rows = opened.locator(f"{table} tbody tr").all()
    return [" ".join(row.locator("bdi").first.text_content().split()) for row in rows if row.is_visible()]


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


def test_headings_sort_by_mouse_and_keyboard(visit, pages):
    opened = visit(pages / "plain.html")
    assert names(opened) == TREE
    heading = opened.locator("#table-ranges-0").get_by_role("button", name="Tensor Active", exact=True)
    heading.click()
    assert names(opened) == ["step / forward", "step", "whole capture", "step / backward"]
    assert opened.locator("th[aria-sort=descending]").count() == 1
    heading.focus()
    opened.keyboard.press("Enter")
    assert names(opened) == ["whole capture", "step", "step / forward", "step / backward"]
    assert opened.locator("th[aria-sort=ascending]").count() == 1
    opened.keyboard.press("Enter")
    assert names(opened) == TREE
    assert opened.locator("th[aria-sort=none]").count() == 16


@pytest.mark.slow
def test_names_and_words_are_sorted_upwards_first(visit, pages):
    opened = visit(pages / "recorded.html")
    opened.locator("#table-ranges-0").get_by_role("button", name="Range (sums)", exact=True).click()
    found = names(opened)
    assert [name.lower() for name in found] == sorted(name.lower() for name in found)
    chooser = opened.locator(".table-tools:has([data-csv=table-kernels-0]) .columns")
    chooser.locator("summary").click()
    chooser.get_by_label("Counter and name").check()
    opened.keyboard.press("Escape")
    table = opened.locator("#table-kernels-0")
    heading = table.get_by_role("button", name="Counter and name")
    heading.click()
    column = heading.evaluate("button => button.closest('th').cellIndex") + 1
    verdicts = table.locator(f"tbody tr :nth-child({column}) .value").all_text_contents()
    assert verdicts == sorted(verdicts)
    assert len(set(verdicts)) > 1


def test_search(visit, pages):
    opened = visit(pages / "plain.html")
    opened.get_by_label("Search").fill("FORW")
    assert names(opened) == ["step / forward"]
    assert opened.locator("output").text_content() == "1 of 4 rows"
    opened.get_by_label("Search").fill("")
    assert names(opened) == TREE


@pytest.mark.slow
def test_tree_is_folded_by_keyboard(visit, pages):
    opened = visit(pages / "recorded.html")
    tree = names(opened)
    step = opened.get_by_role("button", name="Ranges within step", exact=True)
    step.focus()
    opened.keyboard.press("Enter")
    assert step.get_attribute("aria-expanded") == "false"
    assert names(opened) == [name for name in tree if not name.startswith("step / ")]
    assert len(names(opened)) < len(tree)
    opened.keyboard.press("Space")
    assert names(opened) == tree


@pytest.mark.slow
def test_large_tree_shows_its_first_two_levels(visit, pages):
    opened = visit(pages / "many.html")
    assert opened.locator("#table-ranges-0 tbody tr").count() == 82
    assert len(names(opened)) == 82, "all of depth 2"
    opened.locator("button.fold").first.click()
    assert names(opened) == ["whole capture", "step"]
    opened.get_by_label("Search").fill("range 7")
    assert len(names(opened)) == 11


@pytest.mark.slow
def test_click_on_an_iteration_moves_the_timeline(visit, pages):
    opened = visit(pages / "recorded.html", reduced_motion="reduce")
    step = tcprof.read(FIXTURE).iterations.merge(tcprof.read(FIXTURE).instances, on=["gpu", "range"]).iloc[3]
    opened.locator("#iterations .point").nth(3).scroll_into_view_if_needed()
    box = opened.locator("#iterations .point").nth(3).bounding_box()
    opened.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    low, high = shown_window(opened)
    assert low < step["gpu_start_ns"] * 1e-9 < step["gpu_end_ns"] * 1e-9 < high
    assert high - low < 2e-9 * step["gpu_window_ns"]


def test_click_on_a_kernel_moves_the_timeline(visit, pages):
    opened = visit(pages / "recorded.html", reduced_motion="reduce")
    analysis = tcprof.read(FIXTURE)
    opened.locator("#table-kernels-0 button.goto").first.click()
    low, high = shown_window(opened)
    length = max(analysis.kernels["median_ns"].iloc[0], 20 * analysis.samples["start_ns"].diff().median()) * 1e-9
    assert 0.9 * length <= high - low < 2 * length, "a sample says nothing of what is shorter"
    at = analysis.activities.iloc[analysis.kernel_instances["activity"][analysis.kernel_instances["kernel"] == 0]]
    assert ((at["start_ns"] * 1e-9 >= low) & (at["end_ns"] * 1e-9 <= high)).any()


def test_window_of_the_timeline_is_shown_by_the_tables(visit, pages):
    opened = visit(pages / "plain.html")
    everything, within = opened.locator("[data-whole]"), opened.locator("#table-ranges-0 .within")
    assert everything.is_hidden()
    opened.evaluate(f"window.tcprof.showWindow(0, {1.01 * STEP_S}, {1.02 * STEP_S})")
    everything.wait_for(state="visible")
    opened.wait_for_timeout(300)
    assert [text[:3] for text in within.all_text_contents()] == ["1 ×", "", ""], "only the step is there"
    assert opened.locator("#table-ranges-0 tr.outside .name").all_text_contents() == ["forward", "backward"]
    everything.click()
    everything.wait_for(state="hidden")
    opened.wait_for_timeout(300)
    assert opened.locator("tr.outside").count() == 0
    assert set(within.all_text_contents()) == {""}
    assert opened.messages == []


@pytest.mark.slow
def test_counts_in_the_window_are_those_of_the_recording(visit, pages):
    opened = visit(pages / "recorded.html")
    analysis = tcprof.read(FIXTURE)
    step = analysis.iterations.merge(analysis.instances, on=["gpu", "range"]).iloc[4]
    low, high = step["gpu_start_ns"] * 1e-9, step["gpu_end_ns"] * 1e-9
    window = {"start": low, "end": high, "whole": False}
    opened.evaluate("detail => document.dispatchEvent(new CustomEvent('tcprof:window', {detail}))", window)
    opened.wait_for_timeout(300)
    kernels = analysis.activities[analysis.activities["kind"] == "kernel"]
    inside = kernels[(kernels["end_ns"] * 1e-9 > low) & (kernels["start_ns"] * 1e-9 < high)]
    told = opened.locator("#table-kernels-0 .within").all_text_contents()
    assert sum(int(text.split(" ")[0]) for text in told if text) == len(inside)


def test_table_is_saved_as_csv_with_exact_numbers(visit, pages):
    opened = visit(pages / "recorded.html")
    analysis = tcprof.read(FIXTURE)
    rows = saved(opened, opened.locator("[data-csv=table-kernels-0]"))
    assert len(rows) == 1 + len(analysis.kernels)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert rows[0][:6] == [
        "Kernel (sums)",
        "total_ns",
        "share_pct",
        *(f"tensor_active_{end}pct" for end in ("", "low_", "high_")),
    ]
    first = analysis.kernels.iloc[0]
    assert rows[1][0] == f"{first['name']} {first['launch_geometry']}"[:600]
    assert [float(text) for text in rows[1][1:4]] == pytest.approx(
        [first["total_ns"], first["share_pct"], first["tensor_active_pct"]]
    )
    assert "–" not in {text for row in rows for text in row}
    ledger = saved(opened, opened.locator("[data-csv=table-ledger-0]"))
    assert sum(float(row[1]) for row in ledger[1:] if ":" in row[0]) == pytest.approx(analysis.ledger["seconds"].sum())


@pytest.mark.slow
def test_search_is_what_is_saved(visit, pages):
    opened = visit(pages / "plain.html")
    opened.get_by_label("Search").fill("forward")
    rows = saved(opened, opened.locator("[data-csv=table-ranges-0]"))
    assert [row[0] for row in rows] == ["Range (sums)", "step / forward"]


@pytest.mark.slow
def test_figures_are_saved_as_csv(visit, pages):
    opened = visit(pages / "recorded.html")
    analysis = tcprof.read(FIXTURE)
    rows = saved(opened, opened.locator("[data-csv=iterations]"))
    assert rows[0][:4] == ["gpu", "number", "path", "warm_up"]
    assert [float(row[5]) for row in rows[1:]] == analysis.iterations["gpu_window_ns"].tolist()
    classes = saved(opened, opened.locator("[data-csv=classes]"))
    of_step = [float(row[1]) for row in classes[1:] if row[0].endswith(": step")]
    assert sum(of_step) == pytest.approx(100)
    curves = saved(opened, opened.locator("[data-csv=timeline]"))
    assert {"Tensor Active", "SM Active"} <= {row[0] for row in curves[1:]}
    assert len(curves) > 100
    assert curves[0] == ["series", "time_s", "value", "unit"]
    units = {row[0]: row[3] for row in curves[1:]}
    assert (units["Tensor Active"], units["Tensor FLOP/s"], units["GPC clock"]) == ("%", "FLOP/s", "Hz")


@pytest.mark.slow
def test_hostile_names_are_no_formulas_in_csv(visit, pages):
    opened = visit(pages / "hostile_kernels.html")
    rows = saved(opened, opened.locator("[data-csv=table-ranges-0]"))
    assert any(HOSTILE[0] in row[0] for row in rows)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not [text for row in rows for text in row if text[:1] in ("=", "@")]


def headings(opened, table):
    cells = opened.locator(f"{table} thead th").all()
    return [cell.text_content().strip() for cell in cells if cell.is_visible()]


OVERFLOW = "box => box.scrollWidth - box.clientWidth"


def test_tables_show_eight_columns_that_fit_and_others_on_request(visit, pages):
    opened = visit(pages / "recorded.html")
    for table in ("#table-ranges-0", "#table-kernels-0"):
        assert len(headings(opened, table)) <= 9, "the name, and eight columns"
        assert opened.locator(f".table-box:has({table})").evaluate(OVERFLOW) == 0
    table = "#table-kernels-0"
    assert headings(opened, table)[3:] == [
        *("Precision", "Bound by", "Launches", "Tensor FLOP/s", "Lost to the peak", "Mostly in")
    ]
    chooser = opened.locator(".table-tools:has([data-csv=table-kernels-0]) .columns")
    chooser.locator("summary").click()
    chooser.get_by_label("HFU").check()
    chooser.get_by_label("Launches").uncheck()
    assert "HFU" in headings(opened, table)
    assert "Launches" not in headings(opened, table)
    opened.keyboard.press("Escape")
    assert chooser.get_by_label("HFU").is_hidden()
    assert opened.evaluate("document.activeElement.textContent").startswith("Columns (8 of")
    assert opened.messages == []


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_a_box_of_the_columns_stands_before_its_words(visit, pages, width):
    opened = visit(pages / "plain.html", width=width)
    chooser = opened.locator(".columns").first
    chooser.locator("summary").click()
    found = chooser.locator("label").evaluate_all(
        "labels => labels.map(label => { const words = document.createRange(); words.selectNode(label.lastChild);"
        " const [box, first] = [label.firstChild.getBoundingClientRect(), words.getClientRects()[0]];"
        " return [box.width, box.right <= first.left, box.top < first.bottom && first.top < box.bottom] })"
    )
    assert [each for each in found if not (each[0] < 24 and each[1] and each[2])] == []
    menu = chooser.locator("div").bounding_box()
    assert 0 <= menu["x"] <= menu["x"] + menu["width"] <= width


@pytest.mark.slow
def test_kernels_are_sorted_by_lost_time(visit, pages):
    opened = visit(pages / "recorded.html")
    analysis = tcprof.read(FIXTURE)
    opened.locator("#table-kernels-0").get_by_role("button", name="Lost to the peak").click()
    items = [int(row.get_attribute("data-item")) for row in opened.locator("#table-kernels-0 tbody tr").all()]
    lost = analysis.kernels["lost_ns"].loc[items]
    assert lost.dropna().is_monotonic_decreasing
    assert lost.isna().to_numpy().argmax() in (0, lost.notna().sum()), "unknown is last"


@pytest.mark.slow
def test_a_click_on_a_kernel_shows_its_whole_name(visit, pages):
    opened = visit(pages / "recorded.html")
    rows = opened.locator("#table-kernels-0 tbody tr")
    for number in (1, 0):
        rows.nth(number).locator("td").first.click()
        (whole,) = opened.locator("#table-kernels-0 .whole-name").all_text_contents()
        assert whole == rows.nth(number).locator("th").get_attribute("title")
