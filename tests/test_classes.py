"""Classes of launches: what is split by duration, and what is pooled because it is rare."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcprof.analysis.kernels import classes
from tcprof.analysis.kernels.classes import Classes, classify


def classified(launches: list[tuple[int, int, int]]) -> Classes:
    """Launches are (name, geometry, duration)."""
    return classify(*np.array(launches, dtype=np.int64).T)


def of_durations(*durations: int) -> list[int]:
    """The classes of launches of one kernel."""
    return classified([(0, 0, duration) for duration in durations]).kind.tolist()


def test_name_and_geometry_tell_classes_apart():
    found = classified([(0, 0, 100), (1, 0, 100), (0, 1, 100), (1, 1, 100)] * 3)
    assert found.kind.tolist() == [0, 1, 2, 3] * 3
    assert found.weight.tolist() == [1] * 12
    assert not found.pooled.any()


def test_one_kernel_that_lasts_twice_as_long_at_times_is_two_classes():
    assert of_durations(20_000, 10_000, 20_000, 10_000, 10_000, 20_000) == [0, 1, 0, 1, 1, 0]


def test_durations_that_scatter_by_three_percent_are_one_class():
    durations = np.random.default_rng(0).normal(10_000, 100, 200).clip(9_700, 10_300).astype(int)
    assert set(of_durations(*durations)) == {0}


@pytest.mark.parametrize(("ratio", "expected"), [(1.05, 1), (1.07, 2)])
def test_a_gap_of_six_percent_splits(ratio, expected):
    assert len(set(of_durations(*[100_000] * 5, *[int(100_000 * ratio)] * 5))) == expected


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        pytest.param([10_000] * 50 + [90_000], [0] * 50 + [1], id="one slow launch"),
        pytest.param([10_000] * 197 + [20_000] * 3, [0] * 197 + [1] * 3, id="three of two hundred"),
        pytest.param([85_000] * 64 + [700_000], [0] * 64 + [1], id="one long product after 32 layers of two"),
        pytest.param([10_000, 14_000, 20_000], [0, 1, 2], id="each launched once"),
        pytest.param([2_000, 2_400] * 5, [0] * 10, id="less apart than a border between kernels is known"),
    ],
)
def test_launches_that_last_differently_are_classes_however_few_they_are(durations, expected):
    assert of_durations(*durations) == expected


def test_nothing_is_pooled_that_need_not_be():
    found = classified([(0, 0, 500), (1, 0, 100), (1, 1, 200), (2, 0, 10)])
    assert found.kind.tolist() == [0, 1, 2, 3]
    assert not found.pooled.any()


def test_what_is_too_much_is_pooled_by_name_and_then_all_together(monkeypatch):
    monkeypatch.setattr(classes, "MOST_CLASSES", 1)
    monkeypatch.setattr(classes, "MOST_POOLS", 1)
    frequent, one_name, rest = [(0, 0, 500)] * 3, [(1, 0, 100), (1, 1, 200), (1, 2, 600)], [(2, 0, 10), (3, 0, 30)]
    found = classified(frequent + one_name + rest)
    assert found.kind.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]
    assert found.pooled.tolist() == [False, True, True]
    assert found.weight.tolist() == pytest.approx([1, 1, 1, 1 / 3, 2 / 3, 2, 0.5, 1.5])


def test_of_too_many_geometries_those_that_took_the_least_time_are_pooled(monkeypatch):
    monkeypatch.setattr(classes, "MOST_CLASSES", 4)
    found = classified([(0, geometry, 1000 * (1 + geometry)) for geometry in range(10)] * 3)
    assert (~found.pooled).sum() == 4
    pooled = found.pooled[found.kind]
    assert pooled.tolist() == ([True] * 6 + [False] * 4) * 3
    assert len(set(found.kind[pooled].tolist())) == 1


API_CALLS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 3),
        st.sampled_from([100, 103, 106, 110, 200, 5_000]) | st.integers(1, 1_000_000),
    ),
    min_size=1,
    max_size=60,
)


@given(API_CALLS)
def test_every_launch_has_a_class_and_only_pools_mix_kernels(launches):
    found = classified(launches)
    duration = np.array([duration for *_, duration in launches])
    assert set(found.kind.tolist()) == set(range(len(found.pooled)))
    for kind, pooled in enumerate(found.pooled):
        rows = np.flatnonzero(found.kind == kind)
        if pooled:
            assert found.weight[rows] == pytest.approx(duration[rows] / duration[rows].mean())
        else:
            assert len({launches[row][:2] for row in rows}) == 1
            assert found.weight[rows].tolist() == [1] * len(rows)


@given(API_CALLS, st.randoms(use_true_random=False))
def test_the_order_of_launches_does_not_matter(launches, random):
    order = list(range(len(launches)))
    random.shuffle(order)
    one, other = classified(launches), classified([launches[row] for row in order])
    pairs = set(zip(one.kind[order].tolist(), other.kind.tolist(), strict=True))
    assert len(pairs) == len(one.pooled) == len(other.pooled)
    assert one.weight[order] == pytest.approx(other.weight)
