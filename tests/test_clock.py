"""Whether samples and trace agree on the time."""

import math

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder
from slow import first

import tcprof
from tcprof.analysis.samples.clock import check_clocks
from tcprof.frames import ACTIVITIES, SAMPLES

pytestmark = pytest.mark.usefixtures("shared_reads")

PERIOD = 50_000


def recorded(offset: int, busy: float = 0.4, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Kernels at random, and samples of GR Active that are stamped so much later than what they show."""
    random = np.random.default_rng(seed)
    length = random.integers(5_000, 80_000, 1500)
    gap = (
        random.integers(20_000, 1 + int(2 * 42_000 * (1 - busy) / busy) + 20_000, 1500)
        if busy < 1
        else 100 + 0 * length
    )
    start = np.cumsum(length + gap) - length
    end = start + length
    border = np.arange(0, end[-1] + PERIOD, PERIOD)
    ends = np.concatenate([start, end])
    order = np.argsort(ends)
    level = np.cumsum(np.repeat([1, -1], len(start))[order])
    done = np.append(0, np.cumsum(level[:-1] * np.diff(ends[order])))
    active = 100 * np.diff(np.interp(border - offset, ends[order], done)) / PERIOD
    kernels = {
        "gpu": 0,
        "kind": "kernel",
        "name": "k",
        "launch_geometry": "",
        "host_memory": "",
        "stream": 7,
        "process": 1,
        "correlation": 1,
    }
    activities = ACTIVITIES.conform(pd.DataFrame(kernels | {"start_ns": start, "end_ns": end}))
    samples = pd.DataFrame({"gpu": 0, "start_ns": border[:-1], "end_ns": border[1:], "gr_active_pct": np.round(active)})
    return activities, SAMPLES.conform(samples)


@pytest.mark.parametrize("offset", [-50_000, -7_000, 0, 3_000, 60_000])
def test_offset_to_a_microsecond(offset):
    found = check_clocks(*recorded(offset)).iloc[0]
    assert abs(found["offset_ns"] - offset) <= 1_000
    assert found["correlation"] > 0.99


def test_unknown_where_the_gpu_is_never_idle():
    found = check_clocks(*recorded(0, busy=1)).iloc[0]
    assert math.isnan(found["offset_ns"])
    assert math.isnan(found["correlation"])


def test_samples_of_other_work_do_not_correlate():
    activities, _ = recorded(0)
    _, samples = recorded(0, seed=2)
    assert check_clocks(activities, samples).iloc[0]["correlation"] < 0.5


def test_copies_within_the_memory_may_count_as_active():
    """A kernel that is not traced makes them on an H200, for 65 µs of each 3 ms: all else must agree."""
    activities, samples = recorded(0, busy=0.95)
    start = np.arange(20) * 3_000_000
    copies = {"kind": "memcpy", "name": "device to device", "start_ns": start, "end_ns": start + 65_000}
    kept = ~np.array([((activities["start_ns"] < at + 65_000) & (activities["end_ns"] > at)) for at in start]).any(
        axis=0
    )
    both = pd.concat([activities[kept], activities.iloc[:20].assign(**copies)]).sort_values("start_ns")
    begin, end = samples["start_ns"].to_numpy()[:, None], samples["end_ns"].to_numpy()[:, None]
    removed = activities[~kept]
    lost = np.clip(np.minimum(end, removed["end_ns"]) - np.maximum(begin, removed["start_ns"]), 0, None).sum(axis=1)
    copied = np.clip(np.minimum(end, start + 65_000) - np.maximum(begin, start), 0, None).sum(axis=1)
    percent = (samples["gr_active_pct"] + np.round(100 * (copied - lost) / PERIOD)).clip(0, 100)
    found = check_clocks(ACTIVITIES.conform(both), samples.assign(gr_active_pct=percent)).iloc[0]
    assert math.isnan(found["correlation"]) or found["correlation"] > 0.99


def test_no_row_without_gr_active():
    activities, samples = recorded(0)
    assert check_clocks(activities, samples.assign(gr_active_pct=np.nan)).empty
    assert check_clocks(activities, samples.iloc[:0]).empty


@pytest.mark.parametrize(
    ("offset", "moved", "fault"),
    first(2, [(20_000, "stamped 20.4 µs later", ""), (1_000_000, "", "correlation 0."), (0, "", "")]),
)
def test_a_reader_is_warned(tmp_path, offset, moved, fault):
    activities, samples = recorded(offset)
    trace = TraceBuilder().gpu().range("step", 0, 2)
    for start, end in activities[["start_ns", "end_ns"]].itertuples(index=False):
        trace.kernel("k", start, end, launched=1)
    active = samples["gr_active_pct"].astype(int).tolist()
    trace.samples(active, metric="GR Active [Throughput %]", period=PERIOD)
    analysis = tcprof.read(trace.write(tmp_path), metrics=("tensor_active_pct",))
    assert [fault in text for text in analysis.faults if "trace does not show" not in text] == ([True] if fault else [])
    assert [moved in text for text in analysis.warnings if "stamped" in text] == ([True] if moved else [])


def test_fixtures_are_on_one_clock(fixture_file):
    clocks = tcprof.read(fixture_file).clocks
    assert (clocks["offset_ns"].abs().fillna(0) <= 2_000).all()
    assert (clocks["correlation"].fillna(1) > 0.95).all()
