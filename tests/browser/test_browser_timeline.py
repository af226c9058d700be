"""The page's timeline as a browser shows it: levels of detail, moving and zooming, single kernels, hostile names."""

import numpy as np
import pytest
from report_inputs import HOSTILE, Pages, make_analysis, make_samples, write_page

from tcprof.frames import SAMPLES

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
PERIOD_S = 50e-6
# What the curve of a name shows, and the places at which the pointer finds bars.
CURVE = "name => {const t = window.tcprof.curves().find(t => t.name === name); return [t.x, t.y]}"
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
HEIGHT = """value => {
    const { yaxis, _size: { t } } = document.getElementById('timeline')._fullLayout;
    return yaxis._offset + yaxis.l2p(value);
}"""
# Where the axes are, across and from the top, and where the canvas is painted there, in pixels of the page: all of a
# GPU's lane is painted, idle time too. Beside it the last and the first pixel in the colour of the first lane's work.
BARS = """() => {
    const canvas = document.querySelector('.timeline canvas');
    const ratio = canvas.width / canvas.clientWidth;
    const { _size: { l, t, w, h }, xaxis } = document.getElementById('timeline')._fullLayout;
    const y = Math.round(ratio * (t + h / 2));
    const row = canvas.getContext('2d').getImageData(0, y, canvas.width, 1).data;
    const colors = [];
    for (let x = 0; x < canvas.width; x++) colors.push(row.slice(4 * x, 4 * x + 4).join());
    const runs = [];
    colors.forEach((color, x) => {
        if (!x || color !== colors[x - 1]) runs.push({ color, left: x / ratio });
        runs[runs.length - 1].right = (x + 1) / ratio;
    });
    const at = seconds => l + xaxis.l2p(seconds);
    return { axis: [l, l + w], times: [1e-3, 1.5e-3, 2e-3, 2.5e-3].map(at),
             bars: runs.filter(run => run.color !== '0,0,0,0' && run.right - run.left > 3) };
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


def test_the_pointer_finds_bars_only_where_they_are_painted(timeline):
    opened = timeline("unsampled")
    found = opened.evaluate(BARS)
    box = opened.locator("#timeline").bounding_box()
    lanes = opened.locator("#timeline .nsewdrag").last.bounding_box()
    kernel, _, copy = found["bars"]
    hover = opened.locator("#timeline .hoverlayer")

    def pointed_at(x):
        opened.mouse.move(box["x"] + x + 40, lanes["y"] - 30)
        opened.wait_for_timeout(150)
        opened.mouse.move(box["x"] + x - 1, lanes["y"] + lanes["height"] / 2)
        opened.mouse.move(box["x"] + x, lanes["y"] + lanes["height"] / 2)
        opened.wait_for_timeout(250)
        return hover.text_content()

    assert "lonely" in pointed_at(kernel["right"] - 5)
    assert pointed_at(kernel["right"] + 8) == ""
    assert pointed_at(copy["left"] - 8) == ""
    assert "host to device" in pointed_at(copy["left"] + 5)


# Where a point of a curve is in the middle of the window, from the plot's corner, with its value.
POINT = """name => {
    const { x, y, yaxis = 'y' } = window.tcprof.curves().find(trace => trace.name === name);
    const layout = document.getElementById('timeline')._fullLayout;
    const place = Math.floor(x.length / 2);
    const axis = layout[yaxis.replace('y', 'yaxis')];
    const across = layout.xaxis._offset + layout.xaxis.l2p((x[place] + x[place + 1]) / 2);
    return [across, axis._offset + axis.l2p(y[place]), y[place]];
}"""


def test_the_pointer_finds_curves_and_tells_the_extremes_of_a_bin(timeline):
    opened = timeline("recorded")
    x, y, value = opened.evaluate(POINT, "SM Active")
    box = opened.locator("#timeline").bounding_box()
    hover = opened.locator("#timeline .hoverlayer")
    opened.mouse.move(box["x"] + x, box["y"] + y - 1)
    opened.mouse.move(box["x"] + x, box["y"] + y)
    hover.get_by_text("SM Active").first.wait_for()
    said = hover.text_content()
    assert f"{value:.1f} %" in said
    assert "mean of the bin; smallest " in said
    opened.mouse.move(box["x"] + x, box["y"] + 50)
    opened.wait_for_timeout(200)
    assert hover.text_content() == "", "above all curves"


def test_a_click_in_the_legend_takes_a_curve_away(timeline):
    opened = timeline("recorded")
    before = opened.evaluate(PAINTED).get("#2E8BC0", 0)
    opened.locator("#timeline .legend .traces", has_text="SM Active").locator(".legendtoggle").click()
    wait_until(opened, "!window.tcprof.curves().some(trace => trace.name === 'SM Active')")
    settled(opened)
    assert before > 200
    assert opened.evaluate(PAINTED).get("#2E8BC0", 0) < 20


def test_dragging_zooms(timeline):
    opened = timeline("recorded")
    before = settled(opened)
    box = opened.locator("#timeline .nsewdrag").first.bounding_box()
    opened.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 40)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 50, steps=6)
    opened.mouse.up()
    after = settled(opened)
    length = before[1] - before[0]
    assert after == pytest.approx([before[0] + 0.25 * length, before[0] + 0.75 * length], abs=0.01 * length)
    drawn = opened.evaluate("document.getElementById('timeline')._fullLayout.xaxis.range")
    assert drawn == pytest.approx(after)
    opened.mouse.dblclick(box["x"] + 100, box["y"] + 40)
    opened.wait_for_timeout(400)
    assert settled(opened) == before


def test_keys_move_and_zoom(timeline):
    opened = timeline("recorded")
    whole = settled(opened)
    opened.locator("#timeline").focus()
    for key in ("+", "+", "ArrowRight"):
        opened.keyboard.press(key)
    length = whole[1] - whole[0]
    assert settled(opened) == pytest.approx([whole[0] + (0.375 + 0.1) * length, whole[0] + (0.625 + 0.1) * length])
    opened.keyboard.press("0")
    assert settled(opened) == whole


def test_wheel_with_ctrl_zooms_at_the_pointer_and_without_scrolls(timeline):
    opened = timeline("recorded")
    whole = settled(opened)
    box = opened.locator("#timeline .nsewdrag").first.bounding_box()
    opened.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 40)
    opened.mouse.wheel(0, 100)
    assert settled(opened) == whole
    opened.keyboard.down("Control")
    opened.mouse.wheel(0, -100)
    opened.keyboard.up("Control")  # the tab is shared: a key that stays down changes every later test's keys
    low, high = settled(opened)
    pointed = whole[0] + 0.1 * (whole[1] - whole[0])
    assert high - low < whole[1] - whole[0]
    assert (pointed - low) / (high - low) == pytest.approx(0.1, abs=0.02)


def test_work_is_shown_where_nothing_was_sampled(timeline):
    opened = timeline("unsampled")
    assert opened.messages == []
    texts = opened.evaluate(PLACES)
    assert {text.split("</b>")[0] for text in texts} == {"<b>lonely", "<b>copy host to device"}


TABLES = (
    "() => [...document.querySelectorAll('table[data-gpu]')].filter(e => e.checkVisibility()).map(e => e.dataset.gpu)"
)


def test_one_gpu_is_shown_at_a_time(timeline):
    opened = timeline("long")
    first, second = (opened.get_by_role("button", name=f"GPU {number}", exact=True) for number in (0, 1))
    titles = opened.locator("#timeline .annotation")
    assert (first.get_attribute("aria-pressed"), second.get_attribute("aria-pressed")) == ("true", "false")
    assert set(opened.evaluate(TABLES)) == {"0"}
    assert max(value for value in opened.evaluate(CURVE, "Tensor Active")[1] if value is not None) == 0
    second.click()
    settled(opened)
    assert second.get_attribute("aria-pressed") == "true"
    assert set(opened.evaluate(TABLES)) == {"1"}
    assert titles.filter(has_text="GPU 1").count() == 1
    assert titles.filter(has_text="GPU 0").count() == 0
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
    assert any("&lt;/script&gt;" in text for text in texts)
    for text in texts:
        plain = text.replace("<b>", "").replace("</b>", "").replace("<br>", "")
        assert "<" not in plain
        assert "\u202e" not in plain
        assert len(text) < 600
    assert opened.evaluate("window.hacked") is None
    assert opened.locator(".timeline img").count() == 0
    assert opened.messages == []


def test_old_browser_is_told_why_nothing_is_drawn(browser, pages):
    context = browser.new_context()
    opened = context.new_page()
    opened.add_init_script("delete window.DecompressionStream")
    opened.goto((pages / "recorded.html").as_uri())
    opened.wait_for_selector("#timeline[data-drawn=failed]", state="attached")
    assert "this browser is too old" in opened.locator(".timeline .undrawn").text_content()
    context.close()
