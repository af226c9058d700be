"""The panel that tells of what is selected, the strip that stays in view, and the search."""

import numpy as np
import pytest
from builders import FIXTURES
from clicks import find_rest
from explorer import ROWS, group
from report_inputs import write_page

import tcprof
from tcprof import units
from tcprof.views.paths import kernel_names

TRANSFORMER = FIXTURES / "transformer_compiled.sqlite"

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]


def settle(opened):
    opened.wait_for_timeout(400)
    return [float(value) for value in opened.locator("#timeline").get_attribute("data-window").split()]


def open_at(visit, pages, name, selection, **options):
    opened = visit(pages / f"{name}.html", **options)
    opened.evaluate("hash => { location.hash = hash }", selection)
    settle(opened)
    return opened


WIDTH = """(() => {
    const { shown, drawing } = window.tcprof, box = drawing.canvas.getBoundingClientRect();
    const at = x => drawing.locate({ clientX: x, clientY: box.top }).time;
    return (shown.high - shown.low) / (at(box.left + 101) - at(box.left + 100));
})()"""  # pixels of the lanes, without the names beside them


def facts(opened):
    names, values = (opened.locator(f".panel-facts {tag}").all_text_contents() for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def lines(opened, title):
    """Names and notes of one of the panel's lists."""
    found = opened.evaluate(
        "title => { const head = [...document.querySelectorAll('.panel h3')].find(e => e.textContent === title);"
        " return head ? [...head.nextElementSibling.children].map(li => ["
        "li.querySelector('bdi').textContent, li.querySelector('.line-note').textContent]) : [] }",
        title,
    )
    return [tuple(line) for line in found]


def test_an_instance_lists_the_kernels_that_it_launched_and_no_others(visit, pages):
    opened = open_at(visit, pages, "recorded", "range=step%20/%20backward&instance=5")
    analysis = tcprof.read(TRANSFORMER)
    paths = analysis.paths["path"]
    step = analysis.instances[analysis.instances["path_id"] == paths.index[paths == "step / backward"][0]].iloc[4]
    mine = analysis.kernel_instances[analysis.kernel_instances["range"] == step["range"]]
    assert opened.locator(".panel-kind").text_content() == "Range, instance 5 of 12"
    assert facts(opened)["Kernels"] == str(len(mine)) == str(step["kernel_count"])
    counted = mine["kernel"].value_counts()
    times = mine.groupby("kernel")["duration_ns"].sum().sort_values(ascending=False)
    listed = lines(opened, "Kernels that it launched")
    assert [int(note.split(" ×")[0]) for _, note in listed] == counted[times.index[:8]].tolist()
    assert lines(opened, "Within")[0][0] == "step"
    low, high = settle(opened)
    times = step[["host_start_ns", "host_end_ns", "gpu_start_ns", "gpu_end_ns"]] * 1e-9
    assert low < times.min() < times.max() < high, "the launch and the work are both in view"
    for name, _ in listed:
        assert "adam" not in name.lower(), "the optimizer's kernels are not the backward pass's"


def test_previous_next_longest_by_button_and_key_and_escape_closes(visit, pages):
    opened = open_at(visit, pages, "recorded", "range=step&instance=3")
    kind = opened.locator(".panel-kind")
    opened.locator("[data-step=previous]").click()
    assert kind.text_content() == "Range, instance 2 of 12"
    for key, number in (("n", 3), ("n", 4), ("p", 3)):
        opened.keyboard.press(key)
        assert kind.text_content() == f"Range, instance {number} of 12"
    opened.keyboard.press("l")
    steps = tcprof.read(TRANSFORMER).steps
    longest = int(steps["gpu_window_ns"].reset_index(drop=True).idxmax()) + 1
    assert kind.text_content() == f"Range, instance {longest} of 12"
    opened.get_by_role("button", name="Least active").click()
    least = int(steps["tensor_active_mean_pct"].reset_index(drop=True).idxmin()) + 1
    assert kind.text_content() == f"Range, instance {least} of 12"
    opened.keyboard.press("l")
    assert kind.text_content() == f"Range, instance {longest} of 12"
    opened.keyboard.press("Escape")
    assert opened.locator("aside.panel.nothing").count() == 1
    assert "range" not in opened.evaluate("location.hash")
    opened.go_back()
    settle(opened)
    assert kind.text_content() == f"Range, instance {longest} of 12"


@pytest.mark.parametrize("width", [1280])
def test_the_panel_leaves_the_row_that_was_clicked_where_it_is(visit, pages, width):
    opened = visit(pages / "modules.html", width=width)
    opened.set_viewport_size({"width": width, "height": 800})
    group(opened, "kernel")
    rows = opened.locator(ROWS)
    for number in (0, 3):
        rows.nth(number).evaluate(
            "row => { row.scrollIntoView({block: 'center'}); scrollBy(0, row.getBoundingClientRect().top - 385) }"
        )
        before, page = find_rest(rows.nth(number)), opened.locator("main").bounding_box()["width"]
        rows.nth(number).locator("td").first.click()
        assert find_rest(rows.nth(number)) == pytest.approx(before, abs=8)
        assert opened.locator("main").bounding_box()["width"] == page
        panel, stage = (opened.locator(each).bounding_box() for each in ("aside.panel:not(.nothing)", ".stage"))
        table = opened.locator(".explorer .table-box").bounding_box()
        assert table["x"] + table["width"] <= panel["x"], "beside the table"
        assert stage["y"] + stage["height"] <= panel["y"], "and below the picture"


def test_a_module_is_marked_in_timeline_and_strip(visit, pages):
    opened = open_at(visit, pages, "modules", "")
    analysis = tcprof.read(FIXTURES / "llama.sqlite")
    modules = analysis.modules[(analysis.modules["phase"] == "all") & (analysis.modules["parent_id"] >= 0)]
    module = modules.sort_values("kernel_count").iloc[-1]
    ticks = (
        "each => { const { width, height } = each; const row = each.getContext('2d')"
        ".getImageData(0, height - 2, width, 1).data; return [...row].filter((v, i) => i % 4 === 3 && v).length }"
    )
    canvas = opened.locator(".strip-map canvas")
    before = canvas.evaluate(ticks)
    opened.evaluate("hash => { location.hash = hash }", f"module={module['module']}")
    low, high = settle(opened)
    assert canvas.evaluate(ticks) > before + 50
    subject = "window.tcprof.subjects.find({kind: 'module', gpu: 0, name: name}).work()"
    bars = opened.evaluate(
        f"name => [...{subject}].map(bar => window.tcprof.gpu.lanes.work.start[bar])", module["module"]
    )
    inside = {module["module_id"]}
    for _, each in modules.sort_values("module_id").iterrows():
        inside |= {each["module_id"]} if each["parent_id"] in inside else set()
    of_launch = analysis.modules["module_id"].to_numpy()[analysis.kernel_instances["module"]]
    mine = analysis.kernel_instances[np.isin(of_launch, list(inside)) & (analysis.kernel_instances["module"] >= 0)]
    starts = np.sort(analysis.activities["start_ns"].to_numpy()[mine["activity"]])
    assert bars == pytest.approx(starts * 1e-9)
    assert low < max(bars) < opened.evaluate("window.tcprof.shown.whole[1]")
    assert any(low <= start <= high for start in bars)
    assert opened.locator(".panel-steps").is_hidden(), "it has no instances to go to"


def test_show_goes_to_the_timeline_and_leaves_samples_around_what_it_shows(visit, pages):
    opened = visit(pages / "recorded.html")
    opened.locator(".leads [data-select]").first.click()
    low, high = settle(opened)
    assert 0 <= find_rest(opened.locator(".timeline .stage")) < 300
    samples = tcprof.read(TRANSFORMER).samples
    assert high - low >= 19 * samples["start_ns"].diff().median() * 1e-9


def test_the_strip_shows_work_without_tensor_cores(visit, tmp_path):
    """In wmma they are busy in the last part alone, and 4 % there: one has to find the rest, too."""
    write_page(tcprof.read(FIXTURES / "wmma.sqlite").analysis, tmp_path / "wmma.html")
    canvas = visit(tmp_path / "wmma.html").locator(".strip-map canvas")
    painted = canvas.evaluate(
        "each => { const row = each.getContext('2d').getImageData(0, each.height / 2, each.width, 1).data;"
        " return row.filter((value, i) => i % 4 === 3 && value > 0).length / each.width }"
    )
    assert 0.7 < painted < 0.95, "both kernels have 84 % of what was recorded"


def test_the_window_of_the_strip_is_dragged(visit, pages):
    opened = open_at(visit, pages, "recorded", "range=step&instance=6")
    before = settle(opened)
    opened.locator("#explore").evaluate("each => each.scrollIntoView()")
    box = opened.locator(".strip-map").bounding_box()
    assert 0 <= box["y"] < 100
    low, high = opened.evaluate("[window.tcprof.shown.whole[0], window.tcprof.shown.whole[1]]")
    x = box["x"] + box["width"] * ((before[0] + before[1]) / 2 - low) / (high - low)
    opened.mouse.move(x, box["y"] + 20)
    opened.mouse.down()
    opened.mouse.move(x + 100, box["y"] + 20, steps=4)
    opened.mouse.up()
    after = settle(opened)
    assert after[0] - before[0] == pytest.approx(100 * (high - low) / box["width"], rel=0.05)
    assert after[1] - after[0] == pytest.approx(before[1] - before[0])
    assert opened.locator(".panel-kind").text_content() == "Range, instance 6 of 12", "it is still selected"


def drag(opened, box, shares, y):
    opened.mouse.move(box["x"] + shares[0] * box["width"], box["y"] + y)
    opened.mouse.down()
    opened.mouse.move(box["x"] + shares[1] * box["width"], box["y"] + y, steps=4)
    opened.mouse.up()
    return settle(opened)


def test_a_drag_on_the_strip_chooses_the_window_and_one_on_the_lanes_measures(visit, pages):
    opened = visit(pages / "recorded.html")
    opened.locator("#explore").evaluate("each => each.scrollIntoView()")
    low, high = opened.evaluate("window.tcprof.shown.whole")
    window = drag(opened, opened.locator(".strip-map").bounding_box(), (0.2, 0.4), 20)
    assert window == pytest.approx([low + share * (high - low) for share in (0.2, 0.4)], abs=0.01 * (high - low))
    opened.go_back()
    assert settle(opened) == pytest.approx([low, high]), "Back undoes a zoom"
    lanes = opened.locator("#timeline").bounding_box()
    drag(opened, lanes, (0.3, 0.5), 100)
    left, whole = lanes["width"] - opened.evaluate(WIDTH), lanes["width"]
    shown = opened.evaluate("window.tcprof.shown.mark")
    expected = [low + (share * whole - left) / (whole - left) * (high - low) for share in (0.3, 0.5)]
    assert shown == pytest.approx(expected, abs=0.01 * (high - low))
    assert opened.locator(".panel-kind").text_content() == "Window"
    samples = tcprof.read(TRANSFORMER).samples
    start, end = samples["start_ns"] * 1e-9, samples["end_ns"] * 1e-9
    inside = (end.clip(upper=shown[1]) - start.clip(lower=shown[0])).clip(lower=0)
    mean = (samples["tensor_active_pct"] * inside).sum() / inside.sum()
    assert facts(opened)["Tensor Active, mean"] == f"{mean:.1f} %"


def test_search_finds_and_selects_by_keyboard(visit, pages):
    opened = visit(pages / "modules.html")
    field = opened.locator("#find")
    field.fill("step")
    options = opened.locator("#found [role=option]")
    assert "step" in options.first.text_content()
    field.fill("mlp down")
    nouns = {text.rsplit(maxsplit=1)[-1] for text in options.locator(".line-note").all_text_contents()}
    assert "module" in nouns
    field.press("ArrowDown")
    assert options.nth(1).get_attribute("aria-selected") == "true"
    assert field.get_attribute("aria-activedescendant") == "found-1"
    name = options.nth(1).locator("bdi").text_content()
    field.press("Enter")
    settle(opened)
    assert opened.locator(".panel-title").text_content().strip() == name
    field.fill("there is no such thing")
    assert opened.get_by_text("Nothing matches").is_visible()
    assert opened.messages == []


def test_hostile_names_are_text_in_panel_and_search(visit, pages):
    opened = visit(pages / "hostile_kernels.html")
    opened.locator("#find").fill("script")
    assert "</script><img src=x onerror=window.hacked=1>" in opened.locator("#found [role=option]").first.text_content()
    opened.locator("#found [role=option]").first.click()
    settle(opened)
    assert "</script><img" in opened.locator(".panel-title").text_content()
    assert opened.evaluate("window.hacked") is None
    assert opened.locator(".panel img, .strip img").count() == 0
    assert opened.messages == []


def test_the_panel_splits_a_module_by_phase_and_lists_the_modules_of_a_kernel(visit, pages):
    analysis = tcprof.read(FIXTURES / "llama.sqlite")
    modules = analysis.modules
    module = modules[(modules["phase"] == "all") & (modules["depth"] == 1)].iloc[0]["module"]
    opened = open_at(visit, pages, "modules", f"module={module}")
    told = facts(opened)
    for phase in ("forward", "backward"):
        (row,) = modules[(modules["module"] == module) & (modules["phase"] == phase)].to_dict("records")
        time, active = told[f"In {phase}"].split(", Tensor Active ")
        assert time == units.format_ns(row["kernel_ns"] / row["step_count"]), "as in the table"
        assert active == units.format_pct(row["tensor_active_pct"])
        assert len(lines(opened, f"{phase.capitalize()} kernels")) == 8
    launched = analysis.kernel_instances[analysis.kernel_instances["module"] >= 0]
    of = modules.loc[launched["module"], ["module", "phase"]]
    times = launched.assign(name=of["module"].to_numpy(), phase=of["phase"].to_numpy())
    by_kernel = times.groupby(["kernel", "name", "phase"])["duration_ns"].sum()
    kernel = int(by_kernel.groupby("kernel").size().idxmax())
    opened.evaluate("hash => { location.hash = hash }", f"kernel={kernel_names(analysis.kernels)[kernel]}")
    settle(opened)
    listed = lines(opened, "Modules that launch it")
    largest = by_kernel[kernel].sort_values(ascending=False)
    assert len(listed) == min(len(largest), 8)
    (_, phase), time = largest.index[0], largest.iloc[0]
    share = units.format_pct(100 * time / largest.sum())
    assert listed[0][1].startswith(f"{phase}: {share}, {units.format_ns(time)}, ")
    assert opened.messages == []


def test_two_clicks_show_the_slowest_backward_kernel_without_tensor_cores_in_its_module(visit, pages):
    opened = visit(pages / "modules.html")
    for chosen in ("[data-phase=backward]", "[data-no-tensor]"):
        opened.locator(chosen).click()
    settle(opened)
    assert facts(opened)["Tensor Cores"] == "no"
    row = opened.locator(f"{ROWS}.cursor[aria-current=true]")
    assert "backward" in row.text_content()
    analysis = tcprof.read(FIXTURES / "llama.sqlite")
    launched = analysis.kernel_instances[analysis.kernel_instances["module"] >= 0]
    of = analysis.modules.loc[launched["module"], ["module", "phase"]].reset_index(drop=True)
    times = of.assign(ns=launched["duration_ns"].to_numpy(), kernel=launched["kernel"].to_numpy())
    mine = times[(of["phase"] == "backward") & (of["module"] == "Llama.layers.2.attention")]
    slow = mine[~analysis.kernels["tensor_kernel"].to_numpy()[mine["kernel"]]].groupby("kernel")["ns"].sum().idxmax()
    name = opened.evaluate("new URLSearchParams(location.hash.slice(1)).get('kernel')")
    assert name == kernel_names(analysis.kernels)[slow]
    above = row.locator("xpath=preceding-sibling::tr[@data-kind='module']").last
    assert above.locator(".name").text_content() == "attention"
    opened.locator("[data-no-tensor]").click()
    settle(opened)
    assert facts(opened)["Tensor Cores"] == "no", "what still matches stays selected"


def test_keys_search_frame_and_are_listed(visit, pages):
    opened = open_at(visit, pages, "modules", "range=step&instance=2")
    opened.keyboard.press("/")
    assert opened.evaluate("document.activeElement.id") == "find"
    opened.keyboard.press("Escape")
    opened.locator("h1").click()
    opened.evaluate("scrollTo(0, document.body.scrollHeight)")
    shown = settle(opened)
    opened.evaluate("window.tcprof.shown.showAll()")
    opened.keyboard.press("f")
    assert settle(opened) == pytest.approx(shown), "the selection is shown again"
    assert 0 <= find_rest(opened.locator(".timeline .stage")) < 300, "where the timeline is"
    opened.keyboard.press("?")
    dialog = opened.locator("dialog.keys")
    assert dialog.is_visible()
    assert dialog.locator("kbd").count() >= 8
    opened.keyboard.press("Escape")
    assert dialog.is_hidden()
    assert opened.locator("aside.panel").is_visible(), "which is not closed with it"
    opened.get_by_role("button", name="Keys").click()
    assert dialog.is_visible()
    assert opened.messages == []
