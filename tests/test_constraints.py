"""What launches count: nothing below 0, and within bounds that are held against counters made with known truth."""

import numpy as np
import pytest
from builders import count_at
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.constraints import LEAST_INSIDE, Bounds, find_enclosure, minimize_nonnegative
from tcprof.analysis.kernels.design import Launches

RIDGE = 1e-10


def system(seed, unknowns, rows, alike=0.0):
    """Normal equations of random rows; some columns are nearly like the one before."""
    generator = np.random.default_rng(seed)
    design = generator.normal(size=(rows, unknowns))
    design[:, 1::2] = (1 - alike) * design[:, 1::2] + alike * design[:, : unknowns - 1 : 2]
    design /= np.linalg.norm(design, axis=0)
    matrix = design.T @ design + RIDGE * np.eye(unknowns)
    return matrix, design.T @ generator.normal(size=rows)


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(0, 40), st.sampled_from([0.0, 0.9, 0.999]))
def test_it_is_what_the_older_method_finds(seed, unknowns, more, alike):
    matrix, right = system(seed, unknowns, unknowns + more, alike)
    lower = np.linalg.cholesky(matrix)
    expected = nnls(lower.T, np.linalg.solve(lower, right))[0]
    found = minimize_nonnegative(matrix, right, np.random.default_rng(seed).random(unknowns) < 0.5)
    assert found.min() >= 0
    cost, least = (x @ matrix @ x / 2 - right @ x for x in (found, expected))
    assert cost <= least + 1e-9 * max(abs(least), 1)


@pytest.mark.parametrize("unknowns", [1, 60, 300])
def test_no_change_of_one_value_makes_it_less(unknowns):
    matrix, right = system(7, unknowns, unknowns + 5, alike=0.9 if unknowns > 1 else 0.0)
    found = minimize_nonnegative(matrix, right, np.ones(unknowns, dtype=bool))
    gradient = matrix @ found - right
    assert np.all(gradient[found == 0] > -1e-9)
    assert np.abs(gradient[found > 0]).max(initial=0) < 1e-9
    assert (found > 0).sum() >= (right > 0).any()


def test_of_nothing_it_is_nothing():
    assert minimize_nonnegative(np.empty((0, 0)), np.empty(0), np.ones(0, dtype=bool)).tolist() == []
    assert minimize_nonnegative(np.eye(3), np.array([-1.0, -2.0, 0.0]), np.ones(3, dtype=bool)).tolist() == [0, 0, 0]


PERIOD = 50_000
NOTHING = StepFunction(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def launched(start: list[int], length: list[int]) -> Launches:
    begin, zeros = np.array(start, dtype=np.int64), np.zeros(len(start), dtype=np.int64)
    return Launches(begin, begin + np.array(length), zeros, np.ones(len(start)), np.zeros(1, dtype=bool), zeros)


def sampled(launches: Launches, count: np.ndarray, offset: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Borders of samples, and what was counted between them by launches that count unevenly."""
    borders = np.arange(0, int(launches.end.max()) + 3 * PERIOD, PERIOD)
    shape = np.tile([[0.5, 0.1, 0.4]], (len(count), 1))
    return borders, np.diff(count_at(borders + offset, launches.start, launches.end, count, shape)).astype(float)


def bounded(made: Launches, borders: np.ndarray, value: np.ndarray, moves: StepFunction = NOTHING) -> Bounds:
    return find_enclosure(made, borders[:-1], borders[1:], moves).bound(value, np.ones(len(value), dtype=bool))


@given(st.data())
def test_the_truth_lies_within(data):
    """Launches long and short, in a row, with gaps or beside each other; clocks that differ."""
    launches = data.draw(st.integers(1, 12))
    gaps = data.draw(st.lists(st.integers(-300_000, 200_000), min_size=launches, max_size=launches))
    lengths = data.draw(st.lists(st.integers(1_000, 900_000), min_size=launches, max_size=launches))
    starts, time = [], 400_000
    for gap, length in zip(gaps, lengths, strict=True):
        starts.append(max(time + gap, starts[-1] if starts else 0))
        time = starts[-1] + length
    made = launched(starts, lengths)
    count = np.array(data.draw(st.lists(st.integers(0, 10**9), min_size=launches, max_size=launches)))
    borders, value = sampled(made, count, data.draw(st.integers(-1900, 1900)))
    bounds = bounded(made, borders, value)
    rounding = 2
    assert (bounds.least <= count[bounds.launch] + rounding).all()
    assert (bounds.most >= count[bounds.launch] - rounding).all()


def test_of_a_long_launch_alone_all_is_known():
    made = launched([130_000], [5_000_000])
    borders, value = sampled(made, np.array([7 * 10**9]))
    bounds = bounded(made, borders, value)
    assert bounds.most == pytest.approx(7e9, rel=1e-9)
    assert bounds.least == pytest.approx(7e9, rel=0.03)  # but for the samples that it begins and ends in
    half = bounds.half_of_sums(np.zeros(1, dtype=np.int64), np.array([6.9e9]))
    assert half == pytest.approx(max(6.9e9 - bounds.least[0], bounds.most[0] - 6.9e9))


def test_short_launches_and_groups_with_one_have_none():
    made = launched([130_000, 6_000_000], [5_000_000, LEAST_INSIDE * PERIOD // 2])
    borders, value = sampled(made, np.array([10**9, 10**6]))
    bounds = bounded(made, borders, value)
    assert bounds.launch.tolist() == [0]
    counted = np.array([1e9, 1e6])
    assert np.isinf(bounds.half_of_sums(np.array([0, 0]), counted)).all()
    assert np.isfinite(bounds.half_of_sums(np.array([0, 1]), counted)).tolist() == [True, False]


def test_what_runs_beside_a_launch_may_have_counted_all():
    made = launched([130_000, 130_000], [5_000_000, 5_000_000])
    borders, value = sampled(made, np.array([10**9, 10**9]))
    bounds = bounded(made, borders, value)
    assert bounds.least.tolist() == [0, 0]
    assert bounds.most == pytest.approx([2e9, 2e9], rel=1e-6)


def test_what_an_untraced_kernel_copies_beside_a_launch_is_not_its_own():
    made = launched([130_000], [5_000_000])
    borders, value = sampled(made, np.array([10**9]))
    copied = StepFunction(np.array([1_000_000]), np.array([2_000_000]), np.ones(1))
    value[20:40] += 10**8
    bounds = bounded(made, borders, value, copied)
    assert bounds.least[0] <= 1e9 <= bounds.most[0]


@pytest.mark.parametrize("fault", ["gap", "inexact"])
def test_nothing_is_bounded_where_samples_are_missing_or_inexact(fault):
    made = launched([130_000], [5_000_000])
    borders, value = sampled(made, np.array([10**9]))
    start, end, exact = borders[:-1], borders[1:], np.ones(len(value), dtype=bool)
    if fault == "gap":
        start, end, value, exact = (np.delete(each, 40) for each in (start, end, value, exact))
    else:
        exact[40] = False
    bounds = find_enclosure(made, start, end, NOTHING).bound(value, exact)
    half = bounds.half_of_sums(np.zeros(1, dtype=np.int64), np.array([1e9]))
    assert np.isinf(half).all()
