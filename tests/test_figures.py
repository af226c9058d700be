"""Figures as data: what is drawn, what is left out, and that names stay names."""

from dataclasses import replace

import numpy as np
import pytest
from report_inputs import HOSTILE

from tcprof.analysis.drawing import compute_envelope
from tcprof.frames import SAMPLES, Column
from tcprof.render.html.timeline import list_strips
from tcprof.untrusted import one_line
from tcprof.views.figures import label, traces, unit_ticks
from tcprof.views.figures.traces import Curve


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
    power = Column("power_w", "Power.", title="GPU power", unit=unit)
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
