"""Launches under samples: shares of parts, launches that a border cuts, and stretches between the borders."""

import gc
import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.design import MOST_PARTS, Design, Launches, build_design


def launches(*rows: tuple[int, int, int]) -> Launches:
    """Launches as (start, end, class)."""
    start, end, kind = np.array(rows, dtype=np.int64).T
    return Launches(start, end, kind, np.ones(len(rows)), np.zeros(int(kind.max()) + 1, dtype=bool), 0 * start)


def samples(*borders: int, missing: tuple[int, ...] = ()) -> StepFunction:
    """Samples from border to border, without those that start at a missing one."""
    kept = [(low, high) for low, high in pairwise(borders) if low not in missing]
    start, end = np.array(kept, dtype=np.int64).T
    return StepFunction(start, end, np.zeros(len(kept)))


def cuts(found: Design, steps: StepFunction) -> list[tuple[int, int]]:
    """Borders at which a launch is cut, with its class: where samples begin, and where they end before a gap."""
    begins = zip(steps.start[found.row[found.begins.row]].tolist(), found.begins.part, strict=True)
    ends = zip(steps.end[found.row[found.ends.row]].tolist(), found.ends.part, strict=True)
    return sorted({(border, int(found.part_kind[part])) for border, part in (*begins, *ends)})


def test_parts_of_a_launch_lie_in_samples_by_overlap():
    """5 µs are two parts, [0, 2500) and [2500, 5000)."""
    found = build_design(launches((0, 5000, 0)), samples(-2000, 0, 2000, 4000, 6000))
    assert found.row.tolist() == [1, 2, 3]
    assert found.shares.toarray().tolist() == pytest.approx(np.array([[0.8, 0], [0.2, 0.6], [0, 0.4]]))
    assert (found.part_kind.tolist(), found.part_ns.tolist()) == ([0, 0], [2500, 2500])
    assert found.length.tolist() == [2000, 2000, 2000]


def test_launches_of_a_class_share_its_parts_whatever_each_lasts():
    found = build_design(launches((0, 900, 0), (1000, 2100, 0), (2100, 2600, 1)), samples(0, 1000, 2000, 3000))
    assert found.part_ns.tolist() == [1000, 500]
    assert found.shares.toarray() == pytest.approx(np.array([[1, 0], [1000 / 1100, 0], [100 / 1100, 1]]))


def test_a_launch_of_a_pool_counts_by_its_weight():
    pool = Launches(
        np.array([0, 200]),
        np.array([100, 500]),
        np.array([0, 0]),
        np.array([0.5, 1.5]),
        np.zeros(1, bool),
        np.array([0, 0]),
    )
    found = build_design(pool, samples(0, 150, 300, 600))
    assert found.shares.toarray().ravel().tolist() == pytest.approx([0.5, 0.5, 1])


def test_borders_inside_of_launches_cut_them_and_those_at_their_ends_do_not():
    steps = samples(0, 10, 15, 20, 25, 30, 35, 40, 45)
    found = build_design(launches((10, 20, 0), (30, 40, 1)), steps)
    assert cuts(found, steps) == [(15, 0), (35, 1)]
    assert found.stretch.tolist() == [0, 0, 1, 1]
    assert found.launch_stretch.tolist() == [0, 1]


def test_a_stretch_ends_where_nothing_runs_at_a_border():
    rows = [(5, 15, 0), (16, 25, 0), (41, 49, 0), (52, 59, 0), (60, 70, 0)]
    found = build_design(launches(*rows), samples(*range(0, 90, 10)))
    assert found.row.tolist() == [0, 1, 2, 4, 5, 6]
    assert found.stretch.tolist() == [0, 0, 0, 1, 2, 3]
    assert found.launch_stretch.tolist() == [0, 0, 1, 2, 3]


def test_without_a_sample_under_launches_there_are_no_rows():
    found = build_design(launches((100, 200, 0), (300, 400, 1)), samples(0, 50, 100))
    assert found.shares.shape == (0, 2)
    assert found.launch_stretch.tolist() == [-1, -1]


@pytest.mark.parametrize(("duration", "parts"), [(200, 1), (3000, 1), (5000, 2), (10_000, 4), (300_000, MOST_PARTS)])
def test_longer_launches_have_more_parts(duration, parts):
    assert len(build_design(launches((0, duration, 0)), samples(0, 500_000)).part_kind) == parts


def test_borders_lie_in_a_part_of_their_launch():
    steps = samples(0, 1000, 4000, 5000, 20_000)
    found = build_design(launches((500, 5500, 0), (6000, 21_000, 1)), steps)
    assert (found.begins.row.tolist(), found.begins.part.tolist()) == ([1, 2, 3], [0, 1, 1])
    assert (found.ends.row.tolist(), found.ends.part.tolist()) == ([0, 1, 2, 3], [0, 1, 1, 2 + 5])


def test_squares_are_of_each_launch_and_not_of_their_sum():
    """Two whole launches in the first sample; half of the third in each of two samples, which are one cluster."""
    found = build_design(launches((0, 20, 0), (20, 40, 0), (60, 100, 0)), samples(-10, 50, 80, 110))
    assert found.squares.toarray().ravel() == pytest.approx([2, 0.25, 0.25])
    assert found.cluster.tolist() == [0, 1, 1]
    assert found.cluster_squares.toarray().ravel() == pytest.approx([2, 1])


ROW = st.tuples(st.integers(0, 50_000), st.integers(1, 30_000), st.integers(0, 2))


@given(st.lists(ROW, min_size=1, max_size=15), st.integers(100, 20_000), st.integers(1, 20_000))
def test_shares_and_stretches_of_complete_samples(rows, period, before):
    kinds = sorted({kind for *_, kind in rows})
    whole = sorted((start, start + duration, kinds.index(kind)) for start, duration, kind in rows)
    every, steps = launches(*whole), samples(*range(-before, 80_001 + period, period))
    found = build_design(every, steps)
    number = np.bincount(every.kind)
    assert found.shares.sum(axis=0) == pytest.approx(number[found.part_kind])
    assert np.bincount(found.part_kind, found.part_ns) == pytest.approx(
        np.bincount(every.kind, every.end - every.start) / number
    )
    lasts = [(steps.start[found.row] < end) & (steps.end[found.row] > start) for start, end, _ in whole]
    assert [set(found.stretch[rows].tolist()) for rows in lasts] == [{stretch} for stretch in found.launch_stretch]
    begins = steps.start[found.row[np.flatnonzero(np.diff(found.stretch)) + 1]]
    assert not any(start < border < end for start, end, _ in whole for border in begins)


def test_a_design_is_freed_at_once():
    """Of a large recording it is a hundred megabytes, and there are several of them, one after the other."""
    gc.disable()
    try:
        found = build_design(launches((0, 900, 0)), samples(0, 1000))
        assert found.sample is found
        left = weakref.ref(found)
        del found
        assert left() is None
    finally:
        gc.enable()
