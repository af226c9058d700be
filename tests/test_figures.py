"""Figures as data: what is drawn, what is left out, and that names stay names."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from plotly_figures import as_plotly
from report_inputs import HOSTILE

from tcprof.analysis.drawing import compute_envelope
from tcprof.frames import SAMPLES, Column
from tcprof.render.html.timeline import list_strips
from tcprof.untrusted import one_line
from tcprof.views.figures import PlotlyFigure, Settings, label, traces, unit_ticks
from tcprof.views.figures.traces import CLASS_COLORS, Curve


def arrays(*values):
    return tuple(np.asarray(value) for value in values)


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
        assert compute_envelope(start, start + 1, value, 5).start.tolist() == [0, 80]

    def test_nothing(self):
        assert not len(compute_envelope(*arrays(*[np.empty(0, np.int64)] * 2, np.empty(0)), 10))


@pytest.mark.parametrize(("unit", "symbol"), [("W", "W"), ("hz", "Hz"), ("count", ""), ("furlong", "furlong")])
def test_a_metric_that_is_no_percentage_is_a_strip_in_its_unit(monkeypatch, unit, symbol):
    """Nothing is said of it but its column."""
    power = Column("power_w", title="GPU power", unit=unit)
    curve = Curve("GPU power", ("power_w",), "#9467BD")
    monkeypatch.setattr(traces, "SAMPLES", replace(SAMPLES, columns=(*SAMPLES.columns, power)))
    monkeypatch.setattr(traces, "MEASURED", (curve,))
    (strip,) = list_strips({curve: 700.0}, 0.0)
    assert (strip["title"], strip["high"], strip["unit"]) == ("GPU power", 700.0, symbol)


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


# Figures as plain data: plotly's script gets of them what plotly for Python would give it.


def drawn(**settings):
    figure = PlotlyFigure()
    figure.add_scatter(**settings)
    return figure


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.5, np.nan, 2.0]),
        np.array([0.5, 1.0], dtype=np.float32),
        np.array([-128, 127]),
        np.array([0, 128]),
        np.array([-40_000, 3]),
        np.array([0, 1 << 40]),
        np.array([1, 2], dtype=np.int32),
        np.array([True, False]),
        np.array(["a", "b"]),
        np.array(["a", None], dtype=object),
        np.array([]),
        [1, 2.5, None],
        [1.0, float("nan"), float("inf"), np.float64("nan")],
        [np.int64(3), np.float32(0.5)],
        (1, 2),
    ],
    ids=repr,
)
def test_values_are_what_plotly_makes_of_them(values):
    as_plotly(drawn)(x=values, y=[1, 2, 3], meta={"csv": [[1.0, float("nan")]]})


def test_tables_keep_their_shape():
    figure = drawn(customdata=np.arange(6.0).reshape(3, 2))
    assert figure.to_dict()["data"][0]["customdata"]["shape"] == "3, 2"
    as_plotly(drawn)(customdata=np.arange(6.0).reshape(3, 2))


def test_json_holds_no_number_that_it_does_not_have():
    text = drawn(x=[float("nan")], y=np.array([[np.inf, "text"]], dtype=object)).to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))


def test_settings_within_settings_stay_unless_they_are_set():
    line = {"color": "red", "width": 1}
    trace = Settings().set({"line": line, "name": "a"}).set(line={"width": 2}, name=None)
    assert trace == {"line": {"color": "red", "width": 2}, "name": "a"}
    assert line["width"] == 1, "what is given is not changed"


def test_layouts_notes_and_shapes():
    figure = drawn(x=[1]).update_layout({"xaxis": {"range": [0, 1]}}, title={"text": "A"})
    figure.update_layout(xaxis={"title": {"text": "time"}})
    figure.add_annotation(text="one", font={"size": 9})
    figure.add_annotation(text="two")
    figure.add_shape(type="line", x0=0, x1=1)
    layout = figure.to_plotly().layout
    assert layout.xaxis.range == (0, 1)
    assert layout.xaxis.title.text == "time"
    assert [note.text for note in layout.annotations] == ["one", "two"]
    assert layout.shapes[0].x1 == 1


def test_plotly_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="colour"):
        drawn(line={"colour": "red"}).to_plotly()


# The colours of the pages: whoever sees red, green or blue less tells classes apart.

# Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency (2009), at
# full severity, for linear RGB.
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
WHITE = [0.95047, 1.0, 1.08883]
APART = 15.0  # in CIELAB; side by side, 2.3 is just seen


def seen(color, sight="usual"):
    """A colour in CIELAB, as someone sees it."""
    channels = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    x, y, z = np.array(TO_XYZ) @ np.clip(np.array(SIGHTS[sight]) @ linear, 0, 1) / WHITE
    x, y, z = (np.cbrt(each) if each > 0.008856 else 7.787 * each + 16 / 116 for each in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
def test_classes_of_time_are_distinguished(sight):
    colors = {name: color for name, color in CLASS_COLORS.items() if color.startswith("#")}
    assert set(CLASS_COLORS) - set(colors) == {"idle"}, "which is hatched"
    near = {
        pair: round(distance, 1)
        for pair in combinations(colors, 2)
        if (distance := np.linalg.norm(seen(colors[pair[0]], sight) - seen(colors[pair[1]], sight))) < APART
    }
    assert near == {}
