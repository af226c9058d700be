"""Figures over windows of samples, and the mean's 95 % interval."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcprof.analysis.samples import sampling
from tcprof.analysis.samples.interval_estimates import bootstrap_interval
from tcprof.analysis.samples.sampling import Windows, measure, measure_distribution, measure_errors, tensor_functions
from tcprof.frames import SAMPLES


def samples(values, *, period=10, start=0, gpu=0, cycles=None, times=None):
    """A frame of samples one after the other; ``times`` in place of start and period, with gaps where they jump."""
    begin = np.array(times if times is not None else start + period * np.arange(len(values)), dtype=np.int64)
    columns = {"gpu": gpu, "start_ns": begin, "end_ns": begin + period, "tensor_active_pct": np.array(values, float)}
    return SAMPLES.conform(pd.DataFrame(columns | ({} if cycles is None else {"tensor_cycles": cycles})))


def windows(*rows):
    """Windows as (group, start, end), or (group, gpu, start, end)."""
    full = [row if len(row) == 4 else (row[0], 0, *row[1:]) for row in rows]
    return Windows(*(np.array(column, dtype=np.int64) for column in zip(*full, strict=True)))


def test_samples_are_weighted_by_overlap_and_not_counted_by_time_stamp():
    """[5, 22): half of 0, all of 50, a fifth of 100."""
    window, functions = windows((0, 5, 22)), tensor_functions(samples([0, 50, 100]))
    assert measure(window, 1, functions).iloc[0].to_dict() == {
        "window_ns": 17,
        "covered_ns": 17,
        "active_ns": pytest.approx(10 * 0.5 + 2 * 1.0),
        "tensor_cycles": pytest.approx(math.nan, nan_ok=True),
    }
    for rounded in (True, False):
        errors = measure_errors(window, 1, functions, rounded)
        assert errors[["below_ns", "above_ns"]].iloc[0].tolist() == pytest.approx([12 * 0.005 * rounded] * 2)


def test_what_lies_under_no_sample_is_not_covered():
    functions = tensor_functions(samples([100, 100], times=[0, 50]))
    sums = measure(windows((0, -5, 65)), 1, functions)
    assert sums[["window_ns", "covered_ns", "active_ns"]].iloc[0].tolist() == [70, 20, 20]


def test_a_group_has_several_windows_and_a_gpu_samples_of_its_own():
    both = SAMPLES.concat([samples([0, 50, 100]), samples([20, 20, 20], gpu=1)])
    rows = windows((0, 0, 0, 5), (0, 0, 20, 30), (1, 1, 0, 30), (2, 2, 0, 30))
    sums = measure(rows, 4, tensor_functions(both))
    assert sums["window_ns"].tolist() == [15, 30, 30, 0]
    assert sums["covered_ns"].tolist() == [15, 30, 0, 0]
    assert sums["active_ns"].tolist() == pytest.approx([10, 6, 0, 0])


def test_cycles_are_shared_by_overlap_and_add_up():
    functions = tensor_functions(samples([10, 20, 30], cycles=[100, 200, 300]))
    whole = measure(windows((0, 0, 30)), 1, functions)["tensor_cycles"].tolist()
    parts = measure(windows((0, 0, 5), (1, 5, 22), (2, 22, 30)), 3, functions)["tensor_cycles"]
    assert whole == pytest.approx([600])
    assert parts.tolist() == pytest.approx([50, 50 + 200 + 60, 240])


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=30),
    st.lists(st.integers(-20, 320), min_size=2, max_size=10, unique=True),
)
def test_tensor_active_time_adds_up(values, cuts):
    """However a time is cut into windows, their tensor-active times sum to the whole's."""
    cuts = sorted(cuts)
    functions = tensor_functions(samples(values))
    parts = measure(windows(*((0, *cut) for cut in itertools.pairwise(cuts))), 1, functions)
    whole = measure(windows((0, cuts[0], cuts[-1])), 1, functions)
    pd.testing.assert_frame_equal(parts, whole)


def distribution(values, *rows, groups=1, **how):
    frame = measure_distribution(windows(*rows), groups, tensor_functions(samples(values, **how)))
    return frame["peak_pct"].tolist(), frame["p95_pct"].tolist()


@pytest.mark.parametrize(
    ("start", "end", "peak"),
    [
        (0, 40, 100),
        (0, 25, 100),  # half of 100 is inside
        (0, 24, 50),  # less than half
        (35, 40, 30),
        (36, 40, None),  # no sample is half inside
        (27, 34, None),  # nor of two
    ],
)
def test_the_peak_is_the_largest_sample_half_inside(start, end, peak):
    found = distribution([0, 50, 100, 30], (0, start, end))[0][0]
    assert found == peak if peak is not None else math.isnan(found)


def test_a_sample_is_half_inside_by_all_windows_of_the_group_together():
    assert distribution([0, 100, 0], (0, 10, 13), (0, 16, 18))[0] == [100]
    assert distribution([0, 100, 0], (0, 0, 13), (0, 16, 17))[0] == [0]


def test_a_gap_does_not_make_a_sample_longer():
    assert distribution([10, 90], (0, 0, 15), times=[0, 50])[0] == [10]
    assert distribution([10, 90], (0, 54, 60), times=[0, 50])[0] == [90]


def test_a_window_under_no_sample_has_neither():
    peak, percentile = distribution([10, 90], (0, 20, 50), (1, 0, 0), (2, 0, 20), groups=4, times=[0, 50])
    assert np.isnan(peak).tolist() == np.isnan(percentile).tolist() == [True, True, False, True]


def test_the_percentile_is_the_least_value_that_95_percent_of_the_time_does_not_exceed():
    ramp = list(range(1, 101))
    assert distribution(ramp, (0, 0, 1000))[1] == [95]
    assert distribution([0] * 19 + [100], (0, 0, 200))[1] == [0]
    assert distribution([0] * 18 + [100] * 2, (0, 0, 200))[1] == [100]
    # 100 for 1 of 11 ns: the percentile weighs by overlap, where it counted samples it would be the same as 1 of 2
    assert distribution([0, 100], (0, 0, 11))[1] == [100]
    assert distribution([0, 0, 0, 100], (0, 0, 31))[1] == [0]


def naive_distribution(values, rows, period=10):
    overlap = [
        sum(max(0, min(end, period * (i + 1)) - max(start, period * i)) for start, end in rows)
        for i in range(len(values))
    ]
    under = sorted((value, o) for value, o in zip(values, overlap, strict=True) if o)
    if not under:
        return None
    half = [value for value, o in under if 2 * o >= period]
    peak = max(half, default=None)
    total, running = sum(o for _, o in under), 0
    for value, o in under:
        running += o
        if 100 * running >= 95 * total:
            return peak, value
    raise AssertionError


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=30),
    st.lists(st.lists(st.integers(-20, 320), unique=True, max_size=6), min_size=1, max_size=5),
    st.sampled_from([1, 7, 10**6]),
)
def test_distribution_against_plain_loops(values, cuts, pairs_at_once):
    groups = [list(zip(sorted(c)[::2], sorted(c)[1::2], strict=False)) for c in cuts]
    rows = [(group, *row) for group, of_group in enumerate(groups) for row in of_group]
    if not rows:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "PAIRS_AT_ONCE", pairs_at_once)
        found = zip(*distribution(values, *rows, groups=len(groups)), strict=True)
    expected = [naive_distribution(values, of_group) for of_group in groups]
    found = [(None if math.isnan(peak) else peak, percentile) for peak, percentile in found]
    assert [None if math.isnan(pair[1]) else pair for pair in found] == expected


def interval(part, whole=None, group=None, groups=1):
    part = np.asarray(part, float)
    whole = np.ones(len(part)) if whole is None else np.asarray(whole, float)
    group = np.zeros(len(part), np.int64) if group is None else np.asarray(group)
    return bootstrap_interval(group, part, whole, groups)


def test_fewer_than_five_instances_have_no_interval():
    for count in range(5):
        assert np.isnan(interval(np.arange(count))).all()
    assert not np.isnan(interval(np.arange(5))).any()


def test_equal_instances_have_an_interval_of_no_width():
    low, high = interval([3] * 10, [4] * 10)
    assert (low, high) == (0.75, 0.75)


def test_the_interval_holds_the_mean_and_is_the_same_every_time():
    part, whole = np.random.default_rng(1).random((2, 30))
    first, again = interval(part, whole), interval(part, whole)
    assert np.array_equal(first, again)
    assert first[0] < part.sum() / whole.sum() < first[1]


def test_groups_are_apart_and_their_rows_need_no_order():
    part = np.array([1, 5, 1, 5, 1, 5, 1, 5, 1, 5, 9, 9, 9])
    low, high = interval(part, group=[2, 0] * 5 + [3, 3, 3], groups=5)
    assert low[[0, 2]].tolist() == high[[0, 2]].tolist() == [5, 1]
    assert np.isnan(low[[1, 3, 4]]).all()


def hits(draw, truth, trials):
    """In how many of 100 cases the interval holds the truth; each trial is a group."""
    part, whole = draw(trials)
    count = part.shape[1]
    group = np.repeat(np.arange(trials), count)
    low, high = bootstrap_interval(group, part.ravel(), whole.ravel(), trials)
    return 100 * np.mean((low <= truth) & (truth <= high))


def test_of_95_percent_intervals_over_20_instances_about_95_in_100_hold_the_truth():
    generator = np.random.default_rng(7)

    def draw(trials):
        return generator.normal(0.4, 0.05, (trials, 20)), np.ones((trials, 20))

    assert 90 <= hits(draw, 0.4, 600) <= 99


def test_neighbours_that_are_alike_are_drawn_together():
    """2000 instances in drifting stretches: blocks give wider intervals than drawing one by one, and honest ones."""
    generator = np.random.default_rng(3)

    def draw(trials):
        steps = generator.normal(0, 1, (trials, 2000))
        drift = np.empty_like(steps)
        drift[:, 0] = steps[:, 0]
        for i in range(1, 2000):  # each is 0.8 of the one before: 9 instances count as one
            drift[:, i] = 0.8 * drift[:, i - 1] + 0.6 * steps[:, i]
        return 40 + drift, np.ones_like(drift)

    part, whole = draw(100)
    assert hits(lambda trials: (part, whole), 40, 100) >= 84
    one_by_one = 2 * 1.96 / math.sqrt(2000)
    low, high = bootstrap_interval(np.repeat(np.arange(100), 2000), part.ravel(), whole.ravel(), 100)
    assert 1.8 * one_by_one < np.mean(high - low) < 4 * one_by_one
