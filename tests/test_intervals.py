"""Intervals and step functions against what they are defined to be, written down as plain loops."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tcprof.analysis.intervals import OpenIntervals, StepFunction, enumerate_keys, search
from tcprof.arrays import union

TIMES = st.integers(-12, 20)
# Few distinct times, so that intervals often touch, coincide, are empty and overlap only in part.
INTERVALS = st.lists(
    st.tuples(st.sampled_from([-1, 0, 5]), TIMES, st.integers(0, 9)).map(lambda t: (t[0], t[1], t[1] + t[2])),
    max_size=25,
)
FAR = 3_000_000_000_000_000  # 35 days in ns


def arrays(rows, width=3):
    return tuple(np.array([row[i] for row in rows], dtype=np.int64) for i in range(width))


@given(st.lists(st.sampled_from([-FAR, -1, 0, 1, 2, 7, 30, FAR])))
@example([0, 2, 2, 7, 1, 0, 1, 2])
def test_keys_are_enumerated(keys):
    given_keys = np.array(keys, dtype=np.int64)
    found, place = enumerate_keys(given_keys)
    assert found.tolist() == sorted(set(keys))
    assert found[place].tolist() == keys


def naive_union(rows):
    """Every unit of time that is under an interval, joined to runs."""
    found = []
    for group in sorted({row[0] for row in rows}):
        units = {t for g, start, end in rows if g == group for t in range(start, end)}
        for t in sorted(units):
            if found and found[-1][0] == group and found[-1][2] == t:
                found[-1][2] = t + 1
            else:
                found.append([group, t, t + 1])
    return [tuple(row) for row in found]


@given(INTERVALS)
def test_union(rows):
    assert list(zip(*(column.tolist() for column in union(*arrays(rows))), strict=True)) == naive_union(rows)


def test_union_far_from_zero_with_many_groups():
    rows = [(group, FAR + 10 * group, FAR + 10 * group + 5) for group in range(500)]
    assert [column.tolist() for column in union(*arrays(rows))] == [list(column) for column in zip(*rows, strict=True)]


def build(rows):
    """The intervals in their order, and what finds them."""
    group, start, end = arrays(rows)
    order = OpenIntervals.order(group, start, end)
    ordered = [rows[i] for i in order]
    return ordered, OpenIntervals(*arrays(ordered))


def naive_at(ordered, group, time, before=None):
    """The last interval of the order that holds the time, among those before a place in the order."""
    open_there = [i for i, (other, start, end) in enumerate(ordered[:before]) if other == group and start <= time < end]
    return open_there[-1] if open_there else -1


@given(INTERVALS)
@example([])
def test_parents(rows):
    ordered, intervals = build(rows)
    expected = [naive_at(ordered, group, start, before=i) for i, (group, start, _) in enumerate(ordered)]
    assert intervals.parents().tolist() == expected


@given(INTERVALS, st.lists(st.tuples(st.sampled_from([-2, -1, 0, 3, 5, 9]), st.integers(-14, 32)), max_size=20))
@example([], [(0, 0)])
def test_at(rows, queries):
    ordered, intervals = build(rows)
    group, time = arrays(queries, width=2)
    assert intervals.at(group, time).tolist() == [naive_at(ordered, *query) for query in queries]


@given(INTERVALS)
def test_order_is_by_group_then_start_and_the_longer_of_two_that_start_together_comes_first(rows):
    ordered, _ = build(rows)
    assert ordered == sorted(rows, key=lambda row: (row[0], row[1], -row[2]))


def test_a_thousand_levels():
    rows = [(0, FAR + i, FAR + 5_000 - i) for i in range(1_000)]
    _, intervals = build(rows)
    assert intervals.parents().tolist() == list(range(-1, 999))
    assert intervals.at(np.array([0, 0]), np.array([FAR + 2_500, FAR + 4_500])).tolist() == [999, 499]


@st.composite
def step_functions(draw):
    """Steps with and without gaps between them; some are unknown, many are 0."""
    count = draw(st.integers(0, 12))
    gaps = draw(st.lists(st.sampled_from([0, 0, 0, 1, 5]), min_size=count, max_size=count))
    lengths = draw(st.lists(st.integers(1, 6), min_size=count, max_size=count))
    values = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, 0.1, 37.5, 100.0, np.nan]), min_size=count, max_size=count))
    start = np.cumsum(np.array(gaps, dtype=np.int64) + np.append(0, lengths)[:count].astype(np.int64)) - 10
    return start, start + np.array(lengths, dtype=np.int64), np.array(values, dtype=np.float64)


WINDOWS = st.lists(st.tuples(TIMES, st.integers(0, 40)).map(lambda t: (t[0], t[0] + t[1])), min_size=1, max_size=8)


def value_at(steps, time):
    known = [value for start, end, value in zip(*steps, strict=True) if start <= time < end and not np.isnan(value)]
    return known[0] if known else None


@given(step_functions(), WINDOWS)
def test_integrals(steps, windows):
    low, high = arrays(windows, width=2)
    function = StepFunction(*steps)
    under = [[value_at(steps, t) for t in range(*window)] for window in windows]
    known = [[value for value in values if value is not None] for values in under]
    assert function.integral(low, high) == pytest.approx([sum(values) for values in known], abs=1e-9)
    assert function.covered(low, high).tolist() == [len(values) for values in known]
    weights = (function.value != 0).astype(float)
    (counted,) = function.integrals_of([weights], low, high)
    assert counted.tolist() == [sum(v != 0 for v in values) for values in known]


@given(step_functions(), WINDOWS)
def test_an_integral_over_zeros_is_exactly_0_and_none_is_negative(steps, windows):
    low, high = arrays(windows, width=2)
    function = StepFunction(*steps)
    integral = function.integral(low, high)
    (nonzero,) = function.integrals_of([(function.value != 0).astype(float)], low, high)
    assert (integral >= 0).all()
    assert ((integral == 0) == (nonzero == 0)).all()


@given(step_functions(), WINDOWS)
def test_overlaps(steps, windows):
    low, high = arrays(windows, width=2)
    function = StepFunction(*steps)
    known = [(s, e) for s, e, v in zip(*steps, strict=True) if not np.isnan(v)]
    expected = [
        (query, step, min(end, window[1]) - max(start, window[0]))
        for query, window in enumerate(windows)
        for step, (start, end) in enumerate(known)
        if min(end, window[1]) > max(start, window[0])
    ]
    found = zip(*(column.tolist() for column in function.overlaps(low, high)), strict=True)
    # A window without length may name the step that it lies in.
    assert [row for row in found if windows[row[0]][0] < windows[row[0]][1]] == expected


def test_unknown_steps_are_gaps():
    function = StepFunction(np.array([0, 10, 30]), np.array([10, 20, 40]), np.array([50.0, np.nan, 100.0]))
    assert function.start.tolist() == [0, 30]
    window = np.array([0]), np.array([40])
    assert function.integral(*window).tolist() == [1_500]
    assert function.covered(*window).tolist() == [20]


def test_a_function_without_steps_knows_nothing():
    empty = StepFunction(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    low, high = np.array([0, 5]), np.array([10, 5])
    assert empty.integral(low, high).tolist() == empty.covered(low, high).tolist() == [0, 0]
    assert empty.overlaps(low, high)[0].tolist() == []


@given(st.lists(st.integers(-5, 30)), st.lists(st.integers(-9, 40)), st.sampled_from(["left", "right"]))
def test_times_are_found_whatever_their_order(times, wanted, side):
    times, wanted = np.sort(np.array(times, dtype=np.int64)), np.array(wanted, dtype=np.int64)
    assert search(times, wanted, side).tolist() == np.searchsorted(times, wanted, side).tolist()
