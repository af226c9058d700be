"""The page's timeline as a browser shows it: levels of detail, moving and zooming, single kernels, hostile names."""

import numpy as np
import pytest
from builders import FIXTURES
from report_inputs import HOSTILE, Pages, make_analysis, make_samples, write_page

import tcprof
from tcprof import units
from tcprof.frames import SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
PERIOD_S = 50e-6
TRANSFORMER = FIXTURES / "transformer_compiled.sqlite"
# What the curve of a name shows, and the places at which the pointer finds bars.
CURVE = """name => {
    const points = window.tcprof.rows().filter(row => row[0] === name);
    return [1, 2].map(column => points.map(row => row[column]));
}"""
PLACES = "window.tcprof.labels()"
# Pixels of the canvas by colour.
PAINTED = """() => {
    const canvas = document.querySelector('.timeline canvas');
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const counts = {};
    for (let i = 0; i < pixels.length; i += 4) {
        if (pixels[i + 3] !== 255) continue;
        const color = '#' + [0, 1, 2].map(j => pixels[i + j].toString(16).padStart(2, '0')).join('').toUpperCase();
        counts[color] = (counts[color] || 0) + 1;
    }
    return counts;
}"""

# Where the highest paint of a colour is, across and from the top, in pixels of the canvas as it is shown.
PEAK = """color => {
    const canvas = document.querySelector('.timeline canvas');
    const ratio = canvas.width / canvas.clientWidth;
    const wanted = color.match(/[0-9]+/g).map(Number);
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const found = [];
    for (let i = 0; i < data.length && found.length < canvas.width; i += 4) {
        if (!data[i + 3] || wanted.some((value, j) => Math.abs(data[i + j] - value) > 8)) continue;
        const [x, y] = [(i / 4) % canvas.width, Math.floor(i / 4 / canvas.width)];
        if (found.length && y > found[0][1]) break;
        found.push([x, y]);
    }
    const across = found.map(([x]) => x / ratio);
    return [[Math.min(...across), Math.max(...across) + 1 / ratio], found[0][1] / ratio];
}"""
# Where a value of Tensor Active is, from the top of the canvas.
HEIGHT = """value => {
    const { drawing } = window.tcprof, box = drawing.canvas.getBoundingClientRect();
    const laneAt = y => drawing.locate({ clientX: box.left, clientY: box.top + y }).lane;
    const rows = Array.from({ length: drawing.frame.height }, (_, y) => laneAt(y));
    const inside = rows.flatMap((lane, y) => (lane?.group === 'tensor' ? [y] : []));
    const [top, bottom] = [inside[0], inside.at(-1) + 1];
    const { high } = rows[top].strip;
    return bottom - 1 - value / high * (bottom - top - 3);
}"""
# The bars of kernels and copies in the first stream, from left to right, in pixels of the canvas.
BARS = """() => {
    const { drawing } = window.tcprof;
    const box = drawing.canvas.getBoundingClientRect();
    const found = drawing.places.filter(({ lane, place }) => lane.kind === 'work' && place.top === 0);
    return found.map(({ lane, place }) => {
        const middle = drawing.centre(lane, place);
        const at = x => drawing.locate({ clientX: x, clientY: middle.clientY }).time;
        const inside = Array.from({ length: Math.ceil(box.width) }, (_, x) => x)
            .filter(x => at(box.left + x) >= place.left && at(box.left + x) <= place.right);
        return { left: inside[0], right: inside.at(-1), y: middle.clientY - box.top };
    });
}"""


@pytest.fixture(scope="module")
def pages(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("timelines")
    peak = np.zeros(60_000)
    peak[40_000] = 97.0
    samples = SAMPLES.concat([make_samples(peak), make_samples([5.0] * 400, gpu=1)])
    return Pages(
        folder,
        pages,
        long=lambda path: write_page(make_analysis(samples=samples, gpus=(0, 1)), path),
        hostile=lambda path: write_page(make_analysis(names=HOSTILE), path),
    )


@pytest.fixture
def timeline(visit, pages):
    def open_timeline(name, *place, **options):
        opened = visit(pages / f"{name}.html", *place, **options)
        opened.wait_for_selector("#timeline[data-drawn=true]")
        opened.locator(".timeline").evaluate("element => element.scrollIntoView()")  # a mouse reaches only what is seen
        return opened

    return open_timeline


def settled(opened):
    """The window that is drawn, once what was asked for is."""
    opened.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    opened.wait_for_timeout(50)
    return [float(value) for value in opened.locator("#timeline").get_attribute("data-window").split()]


def wait_until(opened, condition):
    """Playwright's own way to wait evaluates text, which the page's policy forbids."""
    for _ in range(100):
        if opened.evaluate(condition):
            return
        opened.wait_for_timeout(50)
    pytest.fail(f"never came true: {condition}")


def test_peak_of_one_sample_is_seen_in_the_whole_capture(timeline):
    opened = timeline("long")
    opened.locator("[data-action=whole]").click()
    settled(opened)
    _, y = opened.evaluate(CURVE, "Tensor Active")
    assert len(y) < 1500
    assert max(value for value in y if value is not None) < 50
    (left, right), top = opened.evaluate(PEAK, "rgb(29,116,91)")
    assert right - left <= 4, "the band of one bin reaches up to the peak, and no other one does"
    assert top == pytest.approx(opened.evaluate(HEIGHT, 97), abs=2)


def test_it_opens_where_the_work_is_and_shows_everything_when_asked(timeline):
    opened = timeline("long")
    low, high = settled(opened)
    assert -0.002 < low < 0.001, "kernels run from 0 to 19.5 ms of 3 s"
    assert 0.019 < high < 0.022
    assert opened.evaluate("location.hash") == ""
    assert opened.locator(".strip-text").text_content().startswith("Shown: ")
    opened.locator("[data-whole]").click()
    assert settled(opened)[1] == pytest.approx(60_000 * PERIOD_S)
    opened.wait_for_timeout(300)
    opened.reload()
    opened.wait_for_selector("html[data-drawn]", state="attached")
    assert settled(opened)[1] == pytest.approx(60_000 * PERIOD_S), "what the reader asked for stays"


def point_at(opened, x, y):
    """What is said of a point of the timeline, from its corner; empty for nothing."""
    box = opened.locator("#timeline").bounding_box()
    opened.mouse.move(box["x"] + x - 1, box["y"] + y)
    opened.mouse.move(box["x"] + x, box["y"] + y)
    told = opened.locator(".tooltip:not([hidden])")
    return told.text_content() if told.count() else ""


def test_the_pointer_finds_bars_where_they_are_painted_and_idle_time_between(timeline):
    opened = timeline("unsampled")
    kernel, copy = opened.evaluate(BARS)
    assert "lonely" in point_at(opened, kernel["right"] - 5, kernel["y"])
    assert "Idle for 500 µs" in point_at(opened, kernel["right"] + 8, kernel["y"])
    assert "Idle for 500 µs" in point_at(opened, copy["left"] - 8, copy["y"])
    assert "host to device" in point_at(opened, copy["left"] + 5, copy["y"])


def test_the_pointer_finds_curves_and_tells_the_extremes_of_a_bin(timeline):
    opened = timeline("recorded")
    _, values = opened.evaluate(CURVE, "Tensor Active")
    top = opened.evaluate(HEIGHT, 0) - 1
    said = point_at(opened, 500, top)
    assert "Tensor Active" in said
    assert any(f"Tensor Active {value:.1f} %" in said for value in values)
    assert "mean of the bin; smallest " in said


def test_lanes_and_curves_are_chosen_and_pinned(timeline):
    opened = timeline("recorded")
    opened.locator(".lanes-menu summary").click()
    before = opened.locator("#timeline").bounding_box()["height"]
    other = opened.locator(".lanes-menu").get_by_role("button", name="Other curves", exact=True)
    assert other.get_attribute("aria-pressed") == "false", "one band alone"
    other.click()
    settled(opened)
    assert opened.locator("#timeline").bounding_box()["height"] > before + 80
    assert opened.evaluate(PAINTED).get("#2E8BC0", 0) > 100
    opened.locator(".lanes-menu").get_by_label("SM Active").uncheck()
    settled(opened)
    assert opened.evaluate(PAINTED).get("#2E8BC0", 0) < 20
    opened.get_by_role("button", name="Keep in view: Kernels").click()
    settled(opened)
    lanes = "window.tcprof.drawing.places.filter(({lane}) => lane.kind === 'work' && lane.isPinned).length"
    assert opened.evaluate(lanes) > 0


def test_a_double_click_zooms_to_the_bar_and_two_clicks_on_two_bars_do_not_move(timeline):
    opened = timeline("unsampled")
    whole = settled(opened)
    kernel, copy = opened.evaluate(BARS)
    box = opened.locator("#timeline").bounding_box()
    at = lambda bar: (box["x"] + (bar["left"] + bar["right"]) / 2, box["y"] + bar["y"])  # noqa: E731
    opened.mouse.click(*at(kernel))
    opened.mouse.move(*at(copy))
    opened.mouse.down(click_count=2)
    opened.mouse.up(click_count=2)
    assert settled(opened) == whole
    opened.wait_for_timeout(600)
    opened.mouse.dblclick(*at(kernel))
    low, high = settled(opened)
    assert (low, high) == pytest.approx((1e-3, 1e-3 + 1.3 * 0.5e-3)), "with a margin, within what was recorded"
    opened.wait_for_timeout(300)
    opened.go_back()
    assert settled(opened) == whole, "Back undoes a zoom"


def test_tensor_active_is_light_on_dark(timeline):
    opened = timeline("long", scheme="dark")
    opened.locator("[data-action=whole]").click()
    settled(opened)
    assert opened.evaluate(PEAK, "rgb(58,168,134)")[0][0] > 0


def test_a_row_of_gaps_selects_the_longest_of_its_range(timeline):
    opened = timeline("recorded")
    sums = tcprof.read(TRANSFORMER).gap_sums
    opened.locator("[data-group-by=gap]").click()
    rows = opened.locator(".explorer tbody tr[aria-level='2']")
    numbers = [int(row.get_attribute("data-item") or 0) for row in rows.all()]
    assert sorted(number for number in numbers if number) == sorted(set(sums["longest_gap"]) - {0})


def test_idle_time_is_selected_walked_and_told_of(timeline):
    opened = timeline("recorded")
    opened.locator(".shares .idle").click()
    assert opened.locator("[data-group-by=gap]").get_attribute("aria-pressed") == "true"
    assert "gap=" not in opened.evaluate("location.hash"), "those of its steps are all too short for numbers"
    opened.locator(".explorer tbody tr[aria-level='2'][data-kind=gap]").first.click()
    settled(opened)
    number = int(opened.evaluate("location.hash").removeprefix("#gap=").split("&")[0])
    gaps = tcprof.read(TRANSFORMER).gaps.set_index("number")
    facts = dict(zip(*(opened.locator(f".panel-facts {tag}").all_text_contents() for tag in ("dt", "dd")), strict=True))
    gap = gaps.loc[number]
    assert facts["Length"] == units.format_ns(gap["end_ns"] - gap["start_ns"])
    assert opened.locator(".panel-title").text_content().lower().startswith(gap["cause"])
    marked = [1e-9 * gap["start_ns"], 1e-9 * gap["end_ns"]]
    assert opened.evaluate("window.tcprof.shown.mark") == pytest.approx(marked)
    assert opened.evaluate("window.tcprof.drawing.highlights.arrow.to") == pytest.approx(marked[1])
    opened.keyboard.press("n")
    settled(opened)
    assert opened.evaluate("location.hash").startswith(f"#gap={number + 1}")


def test_one_launch_is_copied_with_its_name_and_figures(timeline):
    opened = timeline("recorded")
    opened.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }")
    opened.evaluate("location.hash = 'kernel=' + encodeURIComponent(window.tcprof.subjects.header.links.kernels[0])")
    settled(opened)
    opened.keyboard.press("n")
    opened.keyboard.press("c")
    copied = opened.evaluate("window.copied")
    opened.locator(".panel-copy").click()
    assert opened.evaluate("window.copied") == copied
    name, *lines = opened.evaluate("window.copied").split("\n")
    report = tcprof.read(TRANSFORMER)
    kernel = report.kernels.iloc[0]
    assert name == kernel["name"]
    figures = dict(line.split(": ", 1) for line in lines)
    assert f"{figures['Grid']} {figures['Block']}" == kernel["launch_geometry"]
    first = report.kernel_instances[report.kernel_instances["kernel"] == 0].iloc[0]
    assert figures["Duration"] == units.format_ns(first["duration_ns"])
    assert {"Cycles, mean", "Tensor FLOP/s", "Share of the step", "Bound by", "Launched"} <= set(figures)


def test_a_search_marks_its_hits_and_counts_them(timeline):
    opened = timeline("recorded")
    opened.locator("#find").fill("softmax")
    hits = opened.evaluate("[...window.tcprof.drawing.hits]")
    report = tcprof.read(TRANSFORMER)
    names = report.kernels["name"].str.lower().str.contains("softmax").to_numpy()
    assert sum(hits) == int(names[report.kernel_instances["kernel"]].sum()) > 0
    assert opened.locator(".hits").text_content().endswith(" launches")
    assert " % of the step, " in opened.locator(".hits").text_content()
    opened.locator("#find").press("Escape")
    assert opened.evaluate("window.tcprof.drawing.hits") is None


def test_keys_move_and_zoom_and_go_from_bar_to_bar(timeline):
    opened = timeline("unsampled")
    whole = settled(opened)
    for key in ("w", "w", "d"):
        opened.keyboard.press(key)
    length = whole[1] - whole[0]
    assert settled(opened) == pytest.approx(
        [whole[0] + (0.375 + 0.0625) * length, whole[0] + (0.625 + 0.0625) * length]
    )
    opened.locator("#timeline").focus()
    opened.keyboard.press("0")
    assert settled(opened) == whole
    told = opened.locator(".tooltip:not([hidden])")
    opened.keyboard.press("ArrowRight")
    assert "lonely" in told.text_content()
    opened.keyboard.press("ArrowRight")
    assert "host to device" in told.text_content()
    opened.keyboard.press("ArrowLeft")
    opened.keyboard.press("Enter")
    assert opened.locator(".panel-title").text_content() == "lonely"


def test_wheels_zoom_at_the_pointer_pan_or_scroll(timeline):
    opened = timeline("recorded")
    whole = settled(opened)
    box = opened.locator("#timeline").bounding_box()
    x = box["x"] + 0.2 * box["width"]
    opened.mouse.move(x, box["y"] + 40)
    pointed = opened.evaluate("x => window.tcprof.drawing.locate({ clientX: x, clientY: 0 }).time", x)
    opened.mouse.wheel(0, 100)
    assert settled(opened) == whole
    opened.locator(".timeline").evaluate("element => element.scrollIntoView()")
    opened.mouse.move(x, opened.locator("#timeline").bounding_box()["y"] + 40)
    opened.keyboard.down("Control")
    opened.mouse.wheel(0, -100)
    opened.keyboard.up("Control")  # the tab is shared: a key that stays down changes every later test's keys
    low, high = settled(opened)
    assert high - low < whole[1] - whole[0]
    assert (pointed - low) / (high - low) == pytest.approx((pointed - whole[0]) / (whole[1] - whole[0]), abs=0.01)
    opened.mouse.wheel(50, 0)
    moved = settled(opened)
    assert moved[0] > low
    assert moved[1] - moved[0] == pytest.approx(high - low)


def test_two_fingers_zoom_and_pan_and_one_pans(timeline):
    opened = timeline("recorded")
    whole = settled(opened)
    box = opened.locator("#timeline").bounding_box()
    session = opened.context.new_cdp_session(opened)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    time_at = "x => window.tcprof.drawing.locate({ clientX: x, clientY: 0 }).time"

    def drag(*fingers):
        """Move fingers from one x to another; the times below each before and after."""
        before = [opened.evaluate(time_at, start) for start, _ in fingers]
        for part in range(11):
            points = [{"x": a + (b - a) * part / 10, "y": box["y"] + 90, "id": i} for i, (a, b) in enumerate(fingers)]
            kind = "touchMove" if part else "touchStart"
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        settled(opened)
        return before, [opened.evaluate(time_at, end) for _, end in fingers]

    for fingers in (((500, 300), (700, 900)), ((500, 560), (700, 760)), ((600, 540),)):
        low, high = settled(opened)
        before, after = drag(*fingers)
        assert after == pytest.approx(before, abs=0.01 * (high - low)), fingers
    low, high = settled(opened)
    assert high - low == pytest.approx((whole[1] - whole[0]) / 3, rel=0.02)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    assert opened.evaluate("visualViewport.scale") == 1, "the page itself is not zoomed"


def test_work_is_shown_where_nothing_was_sampled(timeline):
    opened = timeline("unsampled")
    assert opened.messages == []
    texts = opened.evaluate(PLACES)
    assert {text.split("\n")[0] for text in texts} == {"lonely", "copy host to device"}


TABLES = (
    "() => [...document.querySelectorAll('table[data-gpu]')].filter(e => e.checkVisibility()).map(e => e.dataset.gpu)"
)


def test_one_gpu_is_shown_at_a_time(timeline):
    opened = timeline("long")
    first, second = (opened.get_by_role("button", name=f"GPU {number}", exact=True) for number in (0, 1))
    assert (first.get_attribute("aria-pressed"), second.get_attribute("aria-pressed")) == ("true", "false")
    assert set(opened.evaluate(TABLES)) == {"0"}
    assert max(value for value in opened.evaluate(CURVE, "Tensor Active")[1] if value is not None) == 0
    second.click()
    settled(opened)
    assert second.get_attribute("aria-pressed") == "true"
    assert set(opened.evaluate(TABLES)) == {"1"}
    assert max(value for value in opened.evaluate(CURVE, "Tensor Active")[1] if value is not None) == 5
    opened.evaluate("location.hash = 'range=step&instance=2'")
    settled(opened)
    assert first.get_attribute("aria-pressed") == "true", "what is selected decides"
    opened.evaluate("location.hash = 'range=step&gpu=1&instance=2'")
    settled(opened)
    assert second.get_attribute("aria-pressed") == "true"
    assert opened.locator(".panel-kind").text_content() == "Range, instance 2 of 6 on GPU 1"
    assert set(opened.evaluate(TABLES)) == {"1"}
    assert opened.messages == []


@pytest.mark.parametrize("name", ["hostile_kernels"])
def test_hostile_names_are_text_under_the_pointer(timeline, name):
    opened = timeline(name)
    texts = opened.evaluate(PLACES)
    assert any("</script>" in text for text in texts)
    for text in texts:
        assert "\u202e" not in text
        assert len(text) < 900
    opened.locator("#timeline").focus()
    for _ in texts:
        opened.keyboard.press("ArrowRight")
    assert opened.evaluate("window.hacked") is None
    assert opened.locator(".timeline img, .tooltip img").count() == 0
    assert opened.messages == []


def test_old_browser_is_told_why_nothing_is_drawn(browser, pages):
    context = browser.new_context()
    opened = context.new_page()
    opened.add_init_script("delete window.DecompressionStream")
    opened.goto((pages / "recorded.html").as_uri())
    opened.wait_for_selector("#timeline[data-drawn=failed]", state="attached")
    assert "this browser is too old" in opened.locator(".timeline .undrawn").text_content()
    context.close()
