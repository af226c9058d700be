"""Figures as data: what is drawn, what is left out, and that names stay names."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from plotly_figures import as_plotly
from report_inputs import HOSTILE, make_analysis, make_empty, make_samples

from tcprof.analysis.drawing import band_points, choose_lanes, compute_envelope, step_points
from tcprof.frames import SAMPLES, Column
from tcprof.render.html.timeline import figure, lanes
from tcprof.untrusted import one_line
from tcprof.views.figures import label, traces, unit_ticks
from tcprof.views.figures.timeline import BINS
from tcprof.views.figures.timeline import figure_timeline as draw_timeline
from tcprof.views.figures.traces import Metric

figure_timeline = as_plotly(draw_timeline)


def arrays(*values):
    return tuple(np.asarray(value) for value in values)


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def drawn(trace):
    """The x and y of a trace as lists, with None for breaks."""
    return [[None if value != value else float(value) for value in axis] for axis in (trace.x, trace.y)]


class TestEnvelope:
    def test_few_samples_are_drawn_as_they_are(self):
        start, end, value = arrays([0, 10, 20], [10, 20, 30], [1.0, 5.0, 2.0])
        envelope = compute_envelope(start, end, value, 2)
        assert envelope.bin_ns == 0
        assert envelope.mean.tolist() == [1, 5, 2]

    def test_bins_keep_extremes_and_weight_the_mean_by_time(self):
        start, end, value = arrays([0, 10, 40, 50, 60], [10, 40, 50, 60, 80], [8.0, 2.0, 0.0, 90.0, 10.0])
        envelope = compute_envelope(start, end, value, 2)
        assert envelope.bin_ns == 40
        assert envelope.low.tolist() == [2, 0]
        assert envelope.high.tolist() == [8, 90]
        assert envelope.mean.tolist() == pytest.approx([(8 * 10 + 2 * 30) / 40, (0 + 900 + 200) / 40])

    def test_sample_across_bins_counts_in_each(self):
        start, end, value = arrays([0, 1, 2, 3, 4], [1, 2, 3, 4, 100], [0.0, 0.0, 0.0, 0.0, 50.0])
        envelope = compute_envelope(start, end, value, 2)
        assert envelope.high.tolist() == [50, 50]
        assert envelope.mean.tolist() == pytest.approx([46, 50])

    def test_against_naive_version(self):
        random = np.random.default_rng(7)
        edges = np.cumsum(random.integers(1, 60, 4001))
        keep = random.random(4000) > 0.3
        start, end, value = edges[:-1][keep], edges[1:][keep], random.random(keep.sum()) * 100
        envelope = compute_envelope(start, end, value, 50)
        for index in range(len(envelope)):
            low, high = envelope.start[index], envelope.end[index]
            overlap = np.minimum(end, high) - np.maximum(start, low)
            inside = overlap > 0
            assert envelope.high[index] == value[inside].max()
            assert envelope.low[index] == value[inside].min()
            assert envelope.mean[index] == pytest.approx(np.average(value[inside], weights=overlap[inside]))

    def test_bins_without_samples_and_unknown_values_are_gaps(self):
        start = np.concatenate([np.arange(10), np.arange(90, 100)])
        value = np.where(start == 95, np.nan, 7.0)
        envelope = compute_envelope(start, start + 1, value, 5)
        assert envelope.start.tolist() == [0, 80]
        x, y = step_points(envelope, envelope.mean)
        assert np.isnan(y).sum() == 2
        assert x[np.flatnonzero(np.isnan(y))[0]] == pytest.approx(20e-9)

    def test_steps_break_where_samples_are_missing(self):
        start, end, value = arrays([0, 10, 50], [10, 20, 60], [1.0, 2.0, 3.0])
        x, y = step_points(compute_envelope(start, end, value, 9), value)
        assert (x * 1e9).round().tolist() == [0, 10, 20, 20, 50, 60, 60]
        assert [None if v != v else v for v in y] == [1, 2, 2, None, 3, 3, None]

    def test_band_is_one_polygon_for_each_stretch(self):
        start, end, value = arrays([0, 10, 50], [10, 20, 60], [1.0, 2.0, 3.0])
        x, y = band_points(compute_envelope(start, end, value, 9))
        assert len(x) == len(y) == (4 * 2 + 1) + (4 + 1)
        assert np.isnan(y).sum() == 2

    def test_nothing(self):
        empty = compute_envelope(*arrays(*[np.empty(0, np.int64)] * 2, np.empty(0)), 10)
        assert len(step_points(empty, empty.mean)[0]) == len(band_points(empty)[0]) == 0


class TestTimeline:
    def test_curves_and_lanes(self):
        figure = figure_timeline(make_analysis())
        assert {trace.name for trace in figure.data if trace.name} == {
            "Tensor Active",
            "SM Active",
            "GPU busy (kernels, copies, sets)",
            "GPU 0, host ranges",
            "GPU 0, gpu ranges",
        }
        assert {trace.xaxis for trace in figure.data} <= {None, "x"}, "one axis of time: zooming one zooms all"

    def test_busy_is_shown_where_nothing_was_sampled(self):
        figure = figure_timeline(make_analysis(samples=SAMPLES.empty(), tensor_source="none"))
        assert not named(figure, "Tensor Active")
        assert named(figure, "GPU busy (kernels, copies, sets)")[0].visible is True

    def test_gap_is_not_drawn_through(self):
        samples = make_samples([10.0] * 20, gap_after=10)
        x, y = drawn(named(figure_timeline(make_analysis(samples=samples)), "Tensor Active")[0])
        first = y.index(None)
        assert x[first] == pytest.approx(10 * 50e-6)
        assert x[first + 1] == pytest.approx(20 * 50e-6)

    def test_many_samples_become_an_envelope_with_the_peak(self):
        values = np.zeros(100_000)
        values[77_777] = 99.0
        figure = figure_timeline(make_analysis(samples=make_samples(values)))
        line, band = named(figure, "Tensor Active")[0], named(figure, "Tensor Active, smallest to largest")[0]
        assert len(line.x) <= BINS + 2
        assert np.nanmax(band.y) == 99
        assert "99.0 %" in line.customdata[:, 2]
        assert len(figure.to_json()) < 1_000_000

    def test_each_gpu_has_its_strips(self):
        figure = figure_timeline(make_analysis(gpus=(0, 3)))
        assert len(named(figure, "Tensor Active")) == 2
        assert [trace.showlegend for trace in named(figure, "Tensor Active")] == [True, False]
        titles = [note.text for note in figure.layout.annotations]
        assert titles[0] == "<b>GPU 0</b> · Tensor Active"
        assert titles[4] == "<b>GPU 3</b> · Tensor Active"
        domains = [figure.layout[f"yaxis{number or ''}"].domain for number in ("", *range(2, 9))]
        assert all(upper[0] >= lower[1] for upper, lower in itertools.pairwise(domains))

    def test_unknown_tensor_active_is_grey(self):
        bars = named(figure_timeline(make_analysis()), "GPU 0, gpu ranges")[0]
        unknown = {color for color, text in zip(bars.marker.color, bars.text, strict=True) if text == "backward"}
        assert unknown == {"#A7AEB8"}

    def test_short_neighbours_share_a_bar(self):
        analysis = make_analysis(instances=2000)
        lanes = choose_lanes(analysis, 0, 100)
        assert lanes.hidden == 0
        for bars in (lanes.host, lanes.gpu):
            assert len(bars) <= 100
            assert bars["count"].sum() == 3 * 2000
            assert bars["start_ns"].min() in (0, 1000)
        forward = lanes.host[lanes.host["depth"] == 2].iloc[0]
        assert forward["length_ns"] > 3_000_000
        times = analysis.instances[analysis.instances["path_id"] > 0]
        together = times[times["host_start_ns"] < forward["end_ns"]]["tensor_active_mean_pct"]
        assert forward["tensor_active_mean_pct"] == pytest.approx(together.mean(), rel=0.02)

    def test_long_ranges_keep_their_own(self):
        lanes = choose_lanes(make_analysis(instances=40), 0, 100)
        assert (lanes.host.loc[lanes.host["depth"] == 1, "count"] == 1).all()
        assert (lanes.host["count"] > 1).any()

    def test_hostile_names_are_text(self):
        figure = figure_timeline(make_analysis(names=HOSTILE))
        bars = named(figure, "GPU 0, host ranges")[0]
        for text in (*bars.text, *bars.hovertext):
            plain = text.replace("<b>", "").replace("</b>", "").replace("<br>", "")
            assert "<" not in plain
            assert "\u202e" not in plain
            assert len(text) < 500
        assert "&lt;/script&gt;" in bars.text[1]

    def test_nothing_at_all(self):
        assert len(figure_timeline(make_empty()).data) == 0


class TestMetricsThatAreNoPercentages:
    """Each is a strip of its own in its unit, in a notebook and in the page, with nothing said but its column."""

    @pytest.fixture
    def draw(self, monkeypatch):
        def draw(unit):
            power = Column("power_w", "Power.", title="GPU power", unit=unit)
            curve = Metric("GPU power", ("power_w",), "#9467BD")
            monkeypatch.setattr(traces, "SAMPLES", replace(SAMPLES, columns=(*SAMPLES.columns, power)))
            monkeypatch.setattr(traces, "MEASURED", (curve,))
            analysis = make_analysis(samples=make_samples([10.0] * 20).assign(power_w=np.arange(681.0, 701.0)))
            drawn = lanes.lay_lanes(analysis, 0, lanes.name_work(analysis), 100)
            return figure_timeline(analysis), figure.draw_skeleton(analysis, {curve: 700.0}, drawn).to_plotly()

        return draw

    @pytest.mark.parametrize(("unit", "symbol"), [("W", "W"), ("hz", "Hz"), ("count", ""), ("furlong", "furlong")])
    def test_it_is_a_strip_in_its_unit(self, draw, unit, symbol):
        notebook, page = draw(unit)
        for drawn in (notebook, page):
            (line,) = named(drawn, "GPU power")
            axis = drawn.layout[line.yaxis.replace("y", "yaxis", 1)]
            assert tuple(axis.range) == (0, pytest.approx(770))
            assert list(axis.ticktext) == [f"{value} {symbol}".strip() for value in (0, 200, 400, 600)]
            assert "GPU power" in [note.text for note in drawn.layout.annotations]
        assert np.nanmax(named(notebook, "GPU power")[0].y) == 700
        line = named(notebook, "GPU power")[0]
        assert line.hovertemplate.startswith("<b>GPU power</b> %{customdata[0]}<br>")
        assert line.customdata[-2][0] == f"700 {symbol}".strip()
        assert named(page, "GPU power")[0].meta["unit"] == symbol


class TestTicks:
    @pytest.mark.parametrize(
        ("low", "high", "unit", "texts"),
        [
            (0, 0.12, "s", ["0 s", "50 ms", "100 ms"]),
            (0, 5.2e14, "FLOP/s", ["0 FLOP/s", "200 TFLOP/s", "400 TFLOP/s"]),
            (-3e-6, 3e-6, "s", ["-2 µs", "0 s", "2 µs"]),
            (0, 2e9, "Hz", ["0 Hz", "1 GHz", "2 GHz"]),
            (5, 5, "W", ["5 W"]),
        ],
    )
    def test_a_unit_has_a_space_before_it(self, low, high, unit, texts):
        assert unit_ticks(low, high, unit, 3)["ticktext"] == texts


class TestLabels:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_one_short_line(self, name):
        assert len(one_line(name, 60)) <= 60
        assert "\n" not in one_line(name)
        assert not set("<>") & set(label(name))

    def test_ends_of_a_long_name_stay(self):
        assert one_line("begin " + "x" * 10_000 + " end", 20) == "begin xxx … xxxx end"

    def test_json_holds_no_nan(self):
        text = draw_timeline(make_analysis(samples=make_samples([1.0, 2.0], gap_after=1))).to_json()
        json.loads(text, parse_constant=lambda name: pytest.fail(name))
