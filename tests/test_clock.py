"""Whether samples and trace agree on the time, also over long recordings whose clocks drift apart."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder
from scenarios import steps
from worlds import SMS, Kernel, Sampler, World, make_world

import tcprof
from tcprof.analysis.samples.borders import MOST_OFFSET_NS
from tcprof.analysis.samples.clock import ENGINE_EARLY_NS, ENGINE_LATE_NS, align_samples, check_clocks
from tcprof.findings.checks import describe_clocks
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
    ends = np.concatenate([start - ENGINE_EARLY_NS, end + ENGINE_LATE_NS])
    order = np.argsort(ends)
    level = np.minimum(np.cumsum(np.repeat([1, -1], len(start))[order]), 1)
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
    samples = pd.DataFrame(
        {"gpu": 0, "start_ns": border[:-1], "end_ns": border[1:], "gr_active_pct": np.round(active).clip(0, 100)}
    )
    return activities, SAMPLES.conform(samples)


@pytest.mark.parametrize("offset", [-50_000, -7_000, 0, 3_000, 60_000])
def test_offset_to_a_microsecond(offset):
    found = check_clocks(*recorded(offset)).iloc[0]
    assert abs(found["offset_ns"] - offset) <= 1_000
    assert found["offset_low_ns"] <= offset <= found["offset_high_ns"]
    assert found["agreement_pct"] > 90


@pytest.mark.parametrize(("late", "known"), [(0, True), (150_000, False)])
def test_of_offsets_that_fit_alike_one_clock_is_taken(late, known):
    """A program that repeats each 200 µs to the ns."""
    world = make_world([Kernel("k", 120, 0.5, jitter=0)], 4000, gap_us=0, idle=1, idle_us=(80, 80))
    clocks = check_clocks(world.activities(), world.samples(Sampler(late=late)))
    assert clocks["offset_ns"].notna().tolist() == [known]
    assert ("several offsets fit" in describe_clocks(clocks)[0]) == (not known)


@pytest.mark.parametrize(
    ("offset", "moved", "fault"), [(20_000, "timestamps are 20.0 µs later", ""), (1_000_000, "", "(agreement ")]
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
    assert [moved in text for text in analysis.warnings if "timestamps are" in text] == ([True] if moved else [])


FEW_EDGES = {"jax_mlp"}  # its graphs follow one another without a pause


def test_fixtures_are_on_one_clock(fixture_file):
    (clock,) = tcprof.read(fixture_file).clocks.to_dict("records")
    assert math.isnan(clock["offset_ns"]) == (clock["edge_count"] < 3) == (fixture_file.stem in FEW_EDGES)
    assert not clock["offset_low_ns"] > 0
    assert not clock["offset_high_ns"] < 0
    assert clock["shift_ns"] == clock["last_shift_ns"] == 0


COVER, SPAN_S, STEPS = 0.9, 19, 24
SPARSE = {"step_us": SPAN_S * 1e6 / STEPS}  # bursts of 4 ms over 19 s


def left_ns(world: World, sampler: Sampler) -> float:
    """By how much samples are off at most, after they were moved."""
    samples = world.samples(sampler)
    aligned = align_samples(samples, check_clocks(world.activities(), samples))
    true = world.samples(replace(sampler, drift=0.0, late=0))
    return float(np.abs(aligned["start_ns"].to_numpy() - true["start_ns"].to_numpy()).max())


@pytest.mark.parametrize("late", [0, 20_000])
@pytest.mark.parametrize("drift", [0.2, 5.0, -5.0])
def test_a_drift_is_measured_and_corrected(drift, late):
    assert left_ns(steps(0, STEPS, **SPARSE), Sampler(drift=drift, late=late)) < 250


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.2, 5.0])
def test_intervals_of_kernels_hold_where_clocks_drift(drift):
    found = pd.concat([steps(seed, STEPS, **SPARSE).measure(Sampler(drift=drift)) for seed in range(4)])
    found = found[found["counts"]]
    assert found["resolved"].mean() > 0.9
    assert found["held"].mean() >= COVER


def test_clocks_on_time_are_left_alone():
    world = steps(0, STEPS, **SPARSE)
    samples = world.samples(Sampler())
    clocks = check_clocks(world.activities(), samples)
    assert align_samples(samples, clocks) is samples
    assert clocks["error_ns"].iloc[0] <= 250


@pytest.mark.slow
def test_a_clock_that_jumps_is_a_fault(tmp_path):
    """By 30 µs, a third from the end: no line follows it."""
    world = steps(0, STEPS, **SPARSE)
    samples = world.samples(Sampler())
    jump = np.where(samples["start_ns"] > 2 * SPAN_S * 1e9 / 3, 30_000, 0)
    samples = samples.assign(start_ns=samples["start_ns"] + jump, end_ns=samples["end_ns"] + jump)
    assert check_clocks(world.activities(), samples)["error_ns"].iloc[0] > MOST_OFFSET_NS
    trace = TraceBuilder().gpu(0, "NVIDIA H200", chip="GH100", sm_count=SMS)
    for start, end in zip(world.start.tolist(), world.end.tolist(), strict=True):
        trace.kernel("k", start, end)
    active, times = samples["gr_active_pct"].astype(int).tolist(), samples["start_ns"].tolist()
    trace.samples(active, metric="GR Active [Throughput %]", times=times)
    (fault,) = tcprof.read(trace.write(tmp_path), metrics=("tensor_active_pct",)).faults
    assert "drift apart unevenly" in fault
