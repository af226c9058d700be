"""Intervals hold in synthetic recordings of known truth, and figures are right; see scenarios.py for what they are."""

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_inputs import summarize
from scenarios import PLAIN, SCENARIOS, dependent, nodes, rare_long, some_wait, steps, twins
from worlds import UNTRACED, Kernel, World, beside, make_world, measure_places, write_world

import tcprof
from tcprof.analysis.kernels import launches as kernel_launches
from tcprof.analysis.samples.borders import LEAST_OFFSET_NS, MOST_OFFSET_NS
from tcprof.analysis.time.account import UNEXPLAINED

SEEDS = 4
ALIKE = (  # each like another scenario that runs by default
    *("random order", "short kernels", "few steps", "work varies by 10 %", "length varies by 30 %"),
    *("dependent, some wait", "some vary by 30 %", "clock steps", "clock steps fast", "clock falls to 1.75 GHz"),
    *("clock falls, 64 steps", "clock falls, and creeps", "clock falls, short", "clock falls, percentages, 64 steps"),
    *("launches and clock of convnet_channels_last", "launches and clock of transformer_compiled"),
    *("a recorded clock, percentages", "percentages at 200 kHz", "launch stamps, 64 steps", "sampler 3 µs late"),
    *("sampler 5 µs early", "never idle, 2 µs late", "percentages, short", "percentages, low"),
    *("percentages, no clock", "percentages, lost"),
)
NAMES = [*(name for name in SCENARIOS if name not in ALIKE)]
COVER = 0.9  # of the kernels with 1 % of the time and more; of these, 95 % intervals


@functools.cache
def measured(name: str) -> pd.DataFrame:
    found = SCENARIOS[name].measure(SEEDS)
    return found[found["counts"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_or_the_kernel_is_unresolved(name):
    found = measured(name)
    assert len(found) >= 10
    assert (found["held"] | ~found["resolved"]).mean() >= COVER


QUICK = (
    "launch stamps",
    "twins without ranges",
    "clock falls to 1.6 GHz",
    "launches and clock of transformer_eager",
    "percentages at 200 kHz, clock falls",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUICK])
def test_intervals_of_modules_hold(name):
    """Sums over kernels whose clocks are uncertain together."""
    found = SCENARIOS[name].measure_modules(4 * SEEDS)  # of each world there are but four
    found = found[found["counts"]]
    assert len(found) >= 40
    assert found["held"].mean() >= SCENARIOS[name].modules


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_figures_are_right_and_intervals_say_something(name):
    found, scenario = measured(name), SCENARIOS[name]
    assert np.average(found["error"], weights=found["total_ns"]) <= scenario.error
    assert found["resolved"].mean() >= scenario.resolved


@pytest.mark.slow
def test_intervals_of_bytes_and_instructions_hold():
    found = pd.concat([nodes(seed).measure_counts(PLAIN) for seed in range(SEEDS)])
    found = found[found["counts"]]
    assert len(found) >= 100
    assert found["held"].mean() >= COVER
    assert found["half_pct"].median() < 10


def test_bytes_are_known_no_better_than_where_samples_lie(monkeypatch):
    """As tensor cycles are: a clock that departs from the trace's widens both."""
    half = []
    for error_ns in (LEAST_OFFSET_NS, MOST_OFFSET_NS):
        monkeypatch.setattr(kernel_launches, "offset_errors", lambda _, error_ns=error_ns: {0: error_ns})
        half.append(steps(1, idle=0, gap_us=0).measure_counts(PLAIN)["half_pct"].mean())
    assert half[1] > 1.1 * half[0]


def test_each_gpu_has_its_own_fit():
    """Two GPUs in one recording give what each gives alone."""
    worlds = [replace(steps(seed), gpu=seed) for seed in range(2)]
    alone = pd.concat([world.measure(PLAIN) for world in worlds])
    together = worlds[0].measure(PLAIN, worlds[1])
    assert together["tensor_active_pct"].to_numpy() == pytest.approx(alone["tensor_active_pct"].to_numpy())
    assert together["tensor_active_low_pct"].to_numpy() == pytest.approx(alone["tensor_active_low_pct"].to_numpy())


def test_a_long_launch_that_is_rare_is_no_short_one():
    """The softmax after it reads what is true, and is no tensor kernel."""
    kernels = rare_long(0).fit(PLAIN)[1].set_index("name")
    assert kernels.loc["softmax", "tensor_active_pct"] == pytest.approx(0.5, abs=0.1)
    assert not kernels.loc["softmax", "tensor_kernel"]


@pytest.mark.slow
@pytest.mark.parametrize(("us", "points"), [(10, 3), (200, 1)])
def test_neighbouring_ranges_are_distinguished(us, points, tmp_path):
    """Ranges of one kernel each, shorter than a sample or little longer, side by side at 80 and 1 %."""
    kernels = [Kernel("high", us, 0.8), Kernel("low", us, 0.01)]
    world = make_world(kernels, 40, 1, idle=0.2)
    ranges = tcprof.read(write_world(world, PLAIN, tmp_path)).ranges.set_index("path")
    for name, true in world.truth().items():
        row = ranges.loc[name]
        assert row["tensor_active_mean_pct"] == pytest.approx(true, abs=points)
        assert row["tensor_active_low_pct"] <= true <= row["tensor_active_high_pct"]


def measure_several(worlds: list[World], folder: Path) -> pd.DataFrame:
    """What is measured of the places of several worlds."""
    folders = [folder / str(number) for number in range(len(worlds))]
    for each in folders:
        each.mkdir()
    return pd.concat([measure_places(world, PLAIN, each) for world, each in zip(worlds, folders, strict=True)])


@pytest.mark.slow
@pytest.mark.parametrize(("make", "number", "half"), [(dependent, 12, 6), (some_wait, 12, 1.2)])
def test_intervals_of_ranges_hold_where_launches_overlap(make, number, half, tmp_path):
    """Windows begin while the launch before still counts, and end while the one behind may."""
    ranges = measure_several([make(seed, number) for seed in range(4)], tmp_path)
    ranges = ranges[ranges["counts"] & (ranges["what"] == "range")]
    assert len(ranges) >= 40
    assert ranges["held"].mean() >= COVER
    assert (ranges["tensor_active_high_pct"] - ranges["tensor_active_low_pct"]).median() < 2 * half


@pytest.mark.slow
def test_modules_hold_what_is_true_of_them_though_their_kernels_do_other_work(tmp_path):
    """Kernels of one name, grid and duration, whose cycles differ by layer."""
    places = measure_several([twins(seed, 12) for seed in range(3)], tmp_path)
    modules = places[places["counts"] & (places["what"] == "module")]
    assert len(modules) >= 10
    assert modules["held"].mean() >= COVER
    assert modules["error"].mean() < 1.5


def test_work_that_no_trace_shows_is_a_fault(tmp_path):
    world = make_world([Kernel("gemm", 40, 0.6), Kernel("add", 20, 0)], 60, 1, idle=0.5, idle_us=(200, 600))
    quiet, busy = (tmp_path / name for name in ("quiet", "busy"))
    quiet.mkdir()
    busy.mkdir()
    assert not tcprof.read(write_world(world, PLAIN, quiet)).faults
    report = tcprof.read(write_world(beside(world, Kernel(UNTRACED, 150, 0.5), 0.05), PLAIN, busy))
    assert [fault for fault in report.faults if "work that the trace does not show" in fault]
    (summary,) = summarize(report.analysis)
    said = " ".join((*summary.headline, *summary.verdict, *(each.title for each in summary.figures)))
    assert "idle" not in said  # it was not
    assert "No traced work ran in" in said
    assert "Nothing traced" in said


def test_what_the_kernels_do_not_explain_stands_in_the_ledger(tmp_path):
    """Before it is shared among them, so that conservation does not hide it."""
    shares = {}
    for name in ("fixed order", "some vary by 30 %"):
        folder = tmp_path / name
        folder.mkdir()
        ledger = tcprof.read(write_world(SCENARIOS[name].make(0), PLAIN, folder)).ledger
        shares[name] = ledger.loc[ledger["entry"] == UNEXPLAINED, "share_pct"].item()
    assert shares["fixed order"] < 0.1
    assert shares["some vary by 30 %"] > 1
