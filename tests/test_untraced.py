"""Work of other processes: seen in pauses and under kernels without matrix instructions, reported, and in intervals."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import TENSOR_ACTIVE, TraceBuilder
from jobs import make_job
from scenarios import PLAIN, steps
from slow import first
from worlds import UNTRACED, Kernel, Sampler, World, beside, join_worlds, make_world, write_world

import tcprof
from tcprof.analysis.kernels.untraced import Untraced, find_untraced
from tcprof.analysis.samples.clock import align_samples, check_clocks
from tcprof.api.reading import Report
from tcprof.findings.checks import GOOD
from tcprof.findings.compared.verdict import measure_side
from tcprof.findings.finding import Severity
from tcprof.findings.judge import first_line
from tcprof.findings.pricing.multi_gpu import measure_steps
from tcprof.ranks.job import join_ranks
from tcprof.ranks.reduce import reduce_file
from tcprof.views.recording.icicle import list_icicles

COVER, DETECTED = 0.9, 0.7
GR_ACTIVE, SM_ACTIVE = "GR Active [Throughput %]", "SMs Active [Throughput %]"
OTHERS = (  # kernels in µs, their activity, and their share of the time
    (150, 0.5, 0.05),
    (150, 0.5, 0.1),
    (60, 0.3, 0.05),
    (400, 0.6, 0.1),
    (150, 0.2, 0.2),
    (40, 0.5, 0.3),
    (1000, 0.5, 0.1),
    (150, 0.8, 0.05),
)
KINDS = ("beside", "slices")
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::{}<float>>(int)"
BUSY = {"beside": (0, 1, 2, 3, 4, 5, 6, 7), "slices": (0, 1, 3, 4, 5, 7)}  # seeds that are seen; too few samples in two


def alone(seed: int) -> World:
    """A program that leaves the GPU idle for a fifth of the time."""
    return steps(seed, idle=0.2, idle_us=(20, 200))


def busy(seed: int) -> World:
    """One that leaves it idle for less than 2 % of the time; the names of kernels without tensor activity tell that."""
    world = steps(seed, idle=0.02, gap_us=0.5)
    named = [
        kernel if kernel.active else replace(kernel, name=ELEMENTWISE.format(kernel.name)) for kernel in world.kernels
    ]
    return replace(world, kernels=tuple(named))


def shared(world: World, seed: int, kind: str) -> World:
    """With another process on its GPU, beside it or in slices of time."""
    us, active, share = OTHERS[seed]
    if kind == "slices":
        return beside(world, Kernel(UNTRACED, us, active), share, seed)
    pause = us * (1 / share - 1)
    other = make_world(
        [Kernel("other", us, active)], int(world.end.max() / 1000 / (us + pause)) + 1, seed, gap_us=pause
    )
    return join_worlds(world, replace(other, kernels=(Kernel(UNTRACED, us, active),)))


def seen(world: World, sampler: Sampler = PLAIN) -> Untraced:
    samples, activities = world.samples(sampler), world.activities()
    return find_untraced(align_samples(samples, check_clocks(activities, samples)), activities)


@cache
def measured(kind: str) -> pd.DataFrame:
    found = []
    for seed in range(len(OTHERS)):
        world = shared(alone(seed), seed, kind)
        kernels = world.measure(PLAIN)
        found.append(kernels[kernels["counts"]].assign(seed=seed, seen=seen(world).is_notable))
    return pd.concat(found, ignore_index=True)


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_is_seen(kind):
    assert measured(kind).groupby("seed")["seen"].first().mean() >= DETECTED


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_or_kernels_are_unresolved_beside_another_process(kind):
    found = measured(kind)
    found = found[found["seen"]]
    assert (found["held"] | ~found["resolved"]).mean() >= COVER


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_a_program_alone_raises_no_alarm(seed):
    found = seen(alone(seed))
    assert not found.is_notable
    assert not found.doubt(np.ones(1)).any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_another_process_is_seen_where_the_traced_work_leaves_hardly_any_pauses(kind):
    missed = [seed for seed in BUSY[kind] if not seen(shared(busy(seed), seed, kind)).is_notable]
    assert not missed


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "kind"), first(2, [(seed, kind) for seed in (1, 4, 0, 3, 7) for kind in KINDS]))
def test_intervals_hold_beside_a_process_that_no_pause_shows(seed, kind):
    world = shared(busy(seed), seed, kind)
    assert not seen(world).in_pauses
    found = world.measure(PLAIN)
    found = found[found["counts"]]
    assert (found["held"] | ~found["resolved"]).mean() >= COVER


SAMPLERS = (PLAIN, Sampler(rounded=True), Sampler(late=20_000), Sampler(late=-5_000), Sampler(lost=0.3))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_busy_program_alone_shows_nothing_under_its_quiet_kernels(sampler):
    for seed in range(4):
        found = seen(busy(seed), sampler)
        assert found.quiet.ns
        assert not found.quiet.samples


def quiet_program(other: Kernel, *, at_once: bool = False) -> World:
    """Long element-wise kernels, and another that runs beside them, or after each tenth."""
    quiet = Kernel(ELEMENTWISE.format("add"), 400, 0)
    if at_once:
        world = make_world([quiet], 100, gap_us=0.5, idle=0)
        return join_worlds(world, make_world([other], 40, 1, gap_us=700, idle=0))
    return make_world([quiet] * 10 + [other], 10, gap_us=0.5, idle=0)


@pytest.mark.parametrize("name", ["gemm", "graph"])
def test_traced_work_on_another_stream_or_before_is_no_other_process(name):
    after, at_once = (quiet_program(Kernel(name, 150, 0.5), at_once=each) for each in (False, True))
    untraced = tuple(replace(kernel, name=UNTRACED) if kernel.name == name else kernel for kernel in at_once.kernels)
    assert seen(replace(at_once, kernels=untraced)).is_notable
    assert not seen(at_once).is_notable
    assert not seen(after).is_notable


def test_a_kernel_that_counts_against_its_name_is_no_other_process():
    assert not seen(quiet_program(Kernel(ELEMENTWISE.format("misnamed"), 400, 0.5))).is_notable


def test_kernels_that_differ_but_whose_names_tell_nothing_are_no_other_process():
    twins = [Kernel("mine", 400, 0)] * 9 + [Kernel("mine", 400, 0.5)]
    assert not seen(make_world(twins, 10, gap_us=0.5, idle=0)).is_notable


@pytest.mark.usefixtures("shared_reads")
def test_fixtures_raise_no_alarm(fixture_file):
    assert not [
        text for text in tcprof.read(fixture_file).faults if "trace does not show" in text or "drift apart" in text
    ]


def test_the_fault_says_where_it_was_seen(tmp_path):
    faults = tcprof.read(write_world(shared(busy(1), 1, "beside"), PLAIN, tmp_path)).faults
    (fault,) = (text for text in faults if "trace does not show" in text)
    assert "during kernels that do not use them" in fault


def worker(tmp_path: Path, metrics: Sequence[str], traced: int = 0, busy: int = 90) -> Report:
    """GPU 0 works in steps; GPU 1 is as busy as its samples say, with so much of its work traced."""
    builder = TraceBuilder().gpu(0).gpu(1).recorded(2_000_000)
    for at in builder.steps(10, 200_000, 190_000):
        builder.kernel("gemm", at + 10_000, at + 150_000, launched=at + 5_000)
    for metric in (TENSOR_ACTIVE, GR_ACTIVE):
        builder.samples([90 * (1 <= place % 20 < 15) for place in range(200)], metric=metric)
    for metric in metrics:
        builder.samples([busy] * 200, gpu=1, metric=metric)
    for number in range(traced):
        at = 20_000 + number * 1_900_000 // max(traced, 2)
        builder.memset(at, at + 2_000, launched=at - 1_000, deviceId=1)
    return tcprof.read(builder.write(tmp_path))


@pytest.mark.parametrize("traced", first(1, [0, 2]))
@pytest.mark.parametrize("metrics", [(GR_ACTIVE,), (TENSOR_ACTIVE,), (SM_ACTIVE,), (GR_ACTIVE, TENSOR_ACTIVE)])
def test_a_gpu_whose_work_was_not_traced_is_not_idle(metrics, traced, tmp_path):
    analysis = worker(tmp_path, metrics, traced)
    analysis.save(tmp_path / "run.tcprof")
    for each in (analysis, tcprof.read(tmp_path / "run.tcprof")):
        assert [found.rule for found in each.findings.entries if found.severity == Severity.FAULT] == ["untraced-gpu"]
        assert [f"GPU {gpu.gpu} {first_line(each.analysis, gpu).split(' · ')[2]}" for gpu in each.findings.gpus] == [
            "GPU 0 GPU idle 27.8 %",
            "GPU 1 GPU idle –",
        ]
        assert any(check.state != GOOD for check in each.findings.gpus[1].checks)
        assert each.timeline.groupby("gpu")["idle_ns"].count().to_dict() == ({0: 2, 1: 0} if traced else {0: 2})


@pytest.mark.parametrize(("busy", "traced"), [(0, 0), (1, 0), (1, 2)])
def test_an_idle_gpu_is_idle(busy, traced, tmp_path):
    analysis = worker(tmp_path, (GR_ACTIVE,), traced, busy)
    assert not analysis.faults
    assert "GPU idle –" not in first_line(analysis.analysis, analysis.findings.gpus[1])


def test_nothing_is_made_of_the_idle_time_of_a_gpu_whose_work_was_hardly_traced(tmp_path):
    sides = []
    for name, traced in (("a", 10), ("b", 11)):
        (tmp_path / name).mkdir()
        sides.append(worker(tmp_path / name, (GR_ACTIVE, TENSOR_ACTIVE), traced))
    compared = tcprof.compare(*sides)
    rows = compared.rows[compared.rows["quantity"] == "idle_ns"].groupby("gpu")["base"].count()
    assert (rows[0] > 0, rows[1]) == (True, 0)
    assert set(compared.waterfall["gpu"]) == {0}
    for side in sides:
        assert set(side.steps["gpu"]) == {0, 1}
        assert [icicle.gpu for icicle in list_icicles(side.analysis, side.gaps)] == [0]
        assert set(measure_steps(side.analysis)) == {0}
    for side in (compared.comparison.base, compared.comparison.new):
        figures = [measure_side(side, gpu).idle_pct for gpu in (0, 1)]
        assert [np.isnan(each) for each in figures] == [False, True]


def test_the_idle_time_of_a_rank_whose_work_was_hardly_traced_is_unknown(tmp_path):
    work, waits = [[13_000] * 20, [500] * 20, [13_000] * 20, [13_600] * 20], [0, 12_500, 0, 0]
    files = make_job(tmp_path, work, input_us=waits, other_work=1)
    job = join_ranks([rank for file in files for rank in reduce_file(str(file))])
    assert job.ranks["idle_ns"].isna().tolist() == [False, True, False, False]
    assert job.ranks["straggler"].tolist() == [False, False, False, True]
