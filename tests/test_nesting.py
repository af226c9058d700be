"""The nesting of ranges against what it is defined to be, written down as plain loops."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tcprof.analysis.intervals import OpenIntervals
from tcprof.analysis.ranges.nesting import Nesting

TIMES = st.integers(0, 24)
LANES = st.sampled_from([0, 3])
INTERVALS = st.tuples(LANES, TIMES, st.integers(0, 12)).map(lambda t: (t[0], t[1], t[1] + t[2]))


def cross(one, other):
    """Whether two intervals share time and neither encloses the other."""
    return one[0] == other[0] and (one[1] < other[1] < one[2] < other[2] or other[1] < one[1] < other[2] < one[2])


@st.composite
def rows(draw):
    """Push/pop ranges, of which none cross, and start/end ranges: lane, start, end and whether it is the latter."""
    stack = []
    for row in draw(st.lists(INTERVALS, max_size=14)):
        if not any(cross(row, other) for other in stack):
            stack.append(row)
    free = draw(st.lists(INTERVALS, max_size=8))
    found = [(*row, False) for row in stack] + [(*row, True) for row in free]
    return sorted(found, key=lambda row: (row[0], row[1], -row[2]))


def build(found):
    columns = [np.array([row[i] for row in found], dtype=np.int64) for i in range(4)]
    return Nesting(*columns[:3], columns[3].astype(bool))


def left_of(found, i):
    """When a range is open and no push/pop range that it crosses is."""
    lane, start, end, start_end = found[i]
    crossed = [row for row in found if start_end and not row[3] and cross(row[:3], (lane, start, end))]
    low = max([row[2] for row in crossed if row[1] < start], default=start)
    high = min([row[1] for row in crossed if row[1] > start], default=end)
    return low, max(low, high)


def place(found, i):
    """Of two ranges that hold a time the one that is further back is the innermost."""
    low, high = left_of(found, i)
    return (low, -high, i)


def naive_parent(found, i):
    lane, start, end, _ = found[i]
    around = [
        j
        for j, other in enumerate(found)
        if j != i and other[0] == lane and left_of(found, j)[0] <= start < left_of(found, j)[1]
        if end <= left_of(found, j)[1] and place(found, j) < (start, -end, i)
    ]
    return max(around, key=lambda j: place(found, j), default=-1)


def naive_at(found, lane, moment):
    mine = [i for i, row in enumerate(found) if row[0] == lane]
    is_open = [i for i in mine if left_of(found, i)[0] <= moment < left_of(found, i)[1]]
    return max(is_open, key=lambda i: place(found, i), default=-1)


@given(rows())
@example([])
def test_parents(found):
    parents = build(found).parents().tolist()
    assert parents == [naive_parent(found, i) for i in range(len(found))]
    for row, parent in zip(found, parents, strict=True):
        assert parent < 0 or (found[parent][1] <= row[1] and row[2] <= found[parent][2])


@given(rows(), st.lists(st.tuples(LANES, st.integers(-2, 40)), max_size=12))
@example([], [(0, 0)])
def test_at(found, queries):
    lane, moment = (np.array([query[i] for query in queries], dtype=np.int64) for i in range(2))
    at = build(found).at(lane, moment).tolist()
    assert at == [naive_at(found, *query) for query in queries]
    for (query_lane, query), row in zip(queries, at, strict=True):
        assert (row >= 0) == any(lane == query_lane and start <= query < end for lane, start, end, _ in found)


@given(rows(), st.lists(st.tuples(LANES, st.integers(-2, 40)), max_size=12), st.randoms())
@example([], [(0, 0)], None)
def test_start_end_at(found, queries, random):
    path = [random.randrange(3) for _ in found]
    lane, moment = (np.array([query[i] for query in queries], dtype=np.int64) for i in range(2))
    number, row = build(found).start_end_at(np.array(path, dtype=np.int64), lane, moment)
    expected = {}
    for i, (query_lane, query) in enumerate(queries):
        for j, (range_lane, start, end, start_end) in enumerate(found):
            if start_end and range_lane == query_lane and start <= query < end:
                expected[i, path[j]] = j  # the last in order
    pairs = sorted(zip(number.tolist(), row.tolist(), strict=True))
    assert pairs == sorted((i, j) for (i, _), j in expected.items())


@pytest.mark.slow
def test_half_a_million_ranges_that_cross():
    """Each start/end range crosses two others; what is quadratic would take more memory than there is."""
    count = 250_000
    start = np.sort(np.concatenate([np.arange(count) * 100, np.arange(count) * 100 + 50]))
    lane, start_end = np.zeros(2 * count, dtype=np.int64), np.arange(2 * count) % 2 == 1
    order = OpenIntervals.order(lane, start, start + 100)
    assert (order == np.arange(2 * count)).all()
    nesting = Nesting(lane, start, start + 100, start_end)
    assert (nesting.parents() == -1).all()
    query, row = nesting.start_end_at(np.zeros(2 * count, dtype=np.int64), lane, start + 10)
    assert len(query) == len(row) == 2 * count - 1
