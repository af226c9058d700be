"""The clock check over long recordings: work that begins late, and clocks that drift apart."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder
from scenarios import draw, steps
from slow import slow
from worlds import MS, SMS, Kernel, Sampler, World, join_worlds, make_world, write_world

import tcprof
from tcprof.analysis.samples.borders import MOST_OFFSET_NS
from tcprof.analysis.samples.clock import align_samples, check_clocks

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
def test_a_drift_is_measured_and_corrected(drift: float, late: int) -> None:
    assert left_ns(steps(0, STEPS, **SPARSE), Sampler(drift=drift, late=late)) < 250


@pytest.mark.parametrize("drift", [0.2, 5.0])
def test_intervals_of_kernels_hold_where_clocks_drift(drift: float) -> None:
    found = pd.concat([steps(seed, STEPS, **SPARSE).measure(Sampler(drift=drift)) for seed in range(4)])
    found = found[found["counts"]]
    assert found["resolved"].mean() > 0.9
    assert found["held"].mean() >= COVER


@pytest.mark.parametrize("drift", [0.2, *slow([5.0])])
def test_intervals_of_ranges_hold_where_clocks_drift(drift: float, tmp_path: Path) -> None:
    held = []
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        world = make_world(draw(seed, number=12, us=(5, 200)), 60, seed, step_us=SPAN_S * 1e6 / 60)
        analysis = tcprof.read(write_world(world, Sampler(drift=drift), folder))
        assert any("at the end" in text for text in analysis.warnings)
        assert not analysis.faults
        ranges = analysis.ranges.set_index("path")
        for name, true in world.truth().items():
            held.append(ranges.loc[name, "tensor_active_low_pct"] <= true <= ranges.loc[name, "tensor_active_high_pct"])
    assert np.mean(held) >= COVER


def test_work_after_a_long_start_up_is_compared() -> None:
    work = steps(0, STEPS, start_ns=3_000 * MS)
    world = join_worlds(make_world([Kernel("load", 5, 0)], 1), work)
    clock = check_clocks(world.activities(), world.samples(Sampler(late=20_000))).iloc[0]
    assert clock["correlation"] > 0.99
    assert clock["shift_ns"] == pytest.approx(20_000, abs=250)


def test_clocks_on_time_are_left_alone() -> None:
    world = steps(0, STEPS, **SPARSE)
    samples = world.samples(Sampler())
    clocks = check_clocks(world.activities(), samples)
    assert align_samples(samples, clocks) is samples
    assert clocks["error_ns"].iloc[0] <= 250


def test_a_clock_that_jumps_is_a_fault(tmp_path: Path) -> None:
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
