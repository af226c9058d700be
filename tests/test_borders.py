"""Samples that the border of a window cuts are shared by what is launched in them, and the error of that is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from builders import US

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.noise import Noise
from tcprof.analysis.samples import sample_splitting as pieces
from tcprof.analysis.samples.borders import BorderErrors, border_errors
from tcprof.analysis.samples.sample_splitting import NO_LAUNCHES, Rates, even_rates, split_samples
from tcprof.analysis.samples.sampling import Windows, measure, tensor_functions
from tcprof.frames import SAMPLES

WHOLE = 50 * US


def samples(*percent: float) -> pd.DataFrame:
    """One each 50 µs."""
    start = WHOLE * np.arange(len(percent))
    frame = pd.DataFrame({"gpu": 0, "start_ns": start, "end_ns": start + WHOLE, "tensor_active_pct": percent})
    return SAMPLES.conform(frame)


def launches(*rows: tuple[int, int, float, float]) -> Rates:
    """Start and end in µs, rate, and the error that its class has in common; single launches do not differ."""
    start, end, rate, error = (np.array(column) for column in zip(*rows, strict=True))
    return even_rates(start * US, end * US, rate, error, np.zeros(len(rate)))


NEIGHBOURS = launches((10, 20, 0.8, 0.0), (20, 30, 0.01, 0.0))  # of 16.2 % of the sample


def active_ns(frame: pd.DataFrame, of: Rates, start: int, end: int) -> float:
    rows = Windows(*(np.array([value]) for value in (0, 0, US * start, US * end)))
    return measure(rows, 1, tensor_functions(frame, {0: of}))["active_ns"].item()


def errors_at(frame: pd.DataFrame, of: Rates, *times: int) -> BorderErrors:
    """At times in µs."""
    found = tensor_functions(frame, {0: of})[0]
    return border_errors(found.split, found.errors, found.active, US * np.array(times))


def test_neighbours_have_what_the_fit_gives_them():
    whole = 0.162 * WHOLE
    assert active_ns(samples(16.2), NEIGHBOURS, 10, 20) == pytest.approx(whole * 0.8 / 0.81)
    assert active_ns(samples(16.2), NEIGHBOURS, 20, 30) == pytest.approx(whole * 0.01 / 0.81, rel=1e-4)
    assert active_ns(samples(16.2), NEIGHBOURS, 0, 50) == pytest.approx(whole)


def test_idle_time_has_nothing_of_a_sample_in_which_something_ran():
    assert active_ns(samples(16.2), NEIGHBOURS, 0, 10) == 0
    assert active_ns(samples(16.2), NEIGHBOURS, 30, 50) == pytest.approx(0, abs=1e-9)


def test_a_sample_that_the_fit_does_not_explain_goes_to_those_that_ran():
    silent = launches((10, 20, 0.0, 0.0), (20, 40, 0.0, 0.0))
    assert active_ns(samples(30), silent, 10, 20) == pytest.approx(0.3 * WHOLE / 3)


def test_a_sample_without_any_launch_is_even_and_its_border_uncertain():
    assert active_ns(samples(40), NO_LAUNCHES, 0, 10) == pytest.approx(0.4 * 10 * US)
    assert errors_at(samples(40), NO_LAUNCHES, 10).common == pytest.approx(0.4 * 10 * US)


@pytest.mark.parametrize(("at", "expected"), [(20, 1000), (30, 0), (15, 500), (0, 0), (50, 0)])
def test_the_split_is_off_by_no_more_than_the_surer_side(at, expected):
    """The first launch is off by 0.1 of its 10 µs, the second by 0.3: the sum of both is the sample's."""
    found = errors_at(samples(16.2), launches((10, 20, 0.8, 0.1), (20, 30, 0.01, 0.3)), at)
    assert found.common == pytest.approx(expected)


def test_a_border_inside_a_launch_is_known_to_half_a_microsecond():
    found = errors_at(samples(80), launches((0, 50, 0.8, 0.0)), 25, 50)
    assert found.single == pytest.approx([0.8 * 500, 0])


def test_what_launches_may_have_counted_at_a_border_is_common_to_them():
    """By 0.1 of each ns up to 5 µs from either end of a launch, and a tenth of that at the samples' borders."""
    at = US * np.array([0, 5, 95, 100])
    rows = replace(launches((0, 100, 0.8, 0.0)), inside=StepFunction(at[:-1], at[1:], np.array([0.1, 0, -0.1])))
    assert errors_at(samples(80, 80), rows, 2, 25, 98, 100).common == pytest.approx([200, 500, 200, 0])


def test_late_samples_move_what_ran_at_their_own_borders_across_a_window():
    """Between a full launch and one of a quarter as much as they share the sample."""
    rows = launches((0, 110, 1.0, 0.0), (110, 250, 0.25, 0.0))
    found = errors_at(samples(100, 100, 40, 25, 25), rows, 75, 110, 175)
    assert found.moved == pytest.approx([1, 0.625, 0.25], rel=1e-4)


def test_launches_that_end_leave_nothing_behind():
    """Not by rounding either: a hundred thousand launches of odd rates, then a sample in which nothing runs."""
    start = np.arange(100_000)
    rate = 0.1 + start % 7 / 9
    rows = even_rates(start, start + 1, rate, rate, np.zeros(len(start)))
    assert errors_at(samples(50, 50, 50), rows, 120).common == pytest.approx(0.5 * 20 * US), (
        "the third sample has no launch"
    )


def test_only_what_is_shared_takes_pieces():
    """Not samples that counted nothing, which are most of a long recording, nor neighbours of one rate."""
    rows = launches((10, 20, 0.5, 0.0), (20, 30, 0.5, 0.0), (60, 70, 0.5, 0.0))
    found = split_samples(samples(16.2, 0), rows).pieces
    assert found.cut.tolist() == [0]
    assert found.start.tolist() == [0, 10 * US, 30 * US]


def test_no_launch_has_more_than_full_activity():
    """80 % of the sample, but half of it under launches: these are full, and what they cannot have lies beside them."""
    rows = launches((0, 10, 0.9, 0.0), (10, 25, 0.3, 0.0))
    assert active_ns(samples(80), rows, 0, 10) == pytest.approx(10 * US)
    assert active_ns(samples(80), rows, 10, 25) == pytest.approx(15 * US)
    assert active_ns(samples(80), rows, 30, 40) == pytest.approx(15 * US * 10 / 25)
    assert active_ns(samples(80), rows, 0, 50) == pytest.approx(40 * US)


def test_what_a_full_launch_cannot_have_goes_to_the_other_launches_first():
    rows = launches((0, 10, 0.9, 0.0), (10, 20, 0.1, 0.0), (20, 30, 0.3, 0.0))
    assert active_ns(samples(36), rows, 0, 10) == pytest.approx(10 * US), "of 18 µs it would have 12.5"
    assert active_ns(samples(36), rows, 10, 20) == pytest.approx(2 * US, rel=1e-5)
    assert active_ns(samples(36), rows, 20, 30) == pytest.approx(6 * US, rel=1e-5)
    assert active_ns(samples(36), rows, 30, 50) == pytest.approx(0, abs=1e-3)


def test_windows_that_cut_no_sample_have_exactly_what_was_recorded():
    """To the last bit, behind thousands of pieces of odd shares."""
    start = 15_000 * np.arange(1000)
    rows = even_rates(start, start + 7_000, 0.1 + start % 7 / 9, *np.zeros((2, len(start))))
    frame = samples(*(np.arange(300) % 101.0))
    functions = tensor_functions(frame, {0: rows})
    at = frame["start_ns"].to_numpy()
    assert functions[0].active.integral(at, at + WHOLE).tolist() == (frame["tensor_active_pct"] * WHOLE).tolist()
    assert functions[0].active.integral(at, at + 20_001) != pytest.approx(frame["tensor_active_pct"] * 20_001)


def test_gaps_between_samples_hold_nothing():
    frame = samples(10, 20, 30).drop(1)
    assert active_ns(frame, NEIGHBOURS, 60, 80) == 0
    assert active_ns(frame, NEIGHBOURS, 60, 110) == pytest.approx(0.3 * 10 * US)
    assert active_ns(frame, NEIGHBOURS, -20, 300) == pytest.approx(0.4 * WHOLE)


def test_samples_are_cut_alike_however_many_at_a_time(monkeypatch):
    """Launches that reach over many samples, and some of several parts, are there for each of them."""
    rng = np.random.default_rng(0)
    start = np.sort(rng.integers(0, 40 * WHOLE, 90))
    parts = rng.integers(1, 4, 90)
    rates = Rates(start, start + rng.integers(0, 5 * WHOLE, 90), *rng.random((3, 90)), parts, parts - 1, rng.random(6))
    frame = samples(*rng.uniform(0, 100, 40))
    whole = split_samples(frame, rates).pieces
    monkeypatch.setattr(pieces, "SAMPLES_AT_ONCE", 3)
    some = split_samples(frame, rates).pieces
    for name in ("cut", "first", "start", "share"):
        assert getattr(some, name).tolist() == getattr(whole, name).tolist()


@pytest.mark.parametrize(("scale", "odd", "low", "high"), [(1, 0.0, 0.9, 1.1), (3, 0.0, 8, 10), (1, 0.03, 0.9, 1.4)])
def test_borders_that_are_off_are_seen_and_a_few_odd_launches_are_none(scale, odd, low, high):
    rng = np.random.default_rng(3)
    count, reading = 20_000, 0.01
    residual = scale * rng.standard_normal((count, 2)).sum(axis=1) + np.sqrt(reading) * rng.standard_normal(count)
    residual[rng.random(count) < odd] *= 30
    noise = Noise(np.full(count, 2 + reading), np.zeros(count))
    assert low < noise.border_misfit(residual, np.full(count, 2.0)) < high
