"""Ranks that compute longer than the others, where the CPU sets the pace and own times vary too much to judge by."""

import re
from dataclasses import replace

import numpy as np
import pytest
from builders import FIXTURES
from jobs import noisy

from tcprof.ranks.job import join_ranks
from tcprof.ranks.reduce import ReducedRank
from tcprof.ranks.store import read_job
from tcprof.ranks.stragglers import find_more_compute, find_stragglers
from tcprof.ranks.verdict import judge_job


def with_cpu_gaps(ranks: list[ReducedRank], rng: np.random.Generator) -> list[ReducedRank]:
    """As nsys slows CPUs: each GPU idles for its own, in some stretches of steps more, and the others wait for it."""
    last = max(int(each.steps["step"].max()) for each in ranks)
    gaps = np.abs(np.repeat(rng.normal(0, 12e6, (len(ranks), last // 7 + 1)), 7, axis=1)).astype(np.int64)
    changed = []
    for each, gap in zip(ranks, gaps, strict=True):
        steps, collectives = each.steps, each.collectives
        idle, longest = gap[steps["step"]], gaps.max(axis=0)
        waits = longest[steps["step"]] - idle
        steps = steps.assign(
            idle_ns=steps["idle_ns"] + idle,
            communication_ns=steps["communication_ns"] + waits,
            step_time_ns=steps["step_time_ns"] + idle + waits,
        )
        of_first = np.where(collectives["place"] == 0, (longest - gap)[collectives["step"]], 0)
        changed.append(
            replace(
                each, steps=steps, collectives=collectives.assign(duration_ns=collectives["duration_ns"] + of_first)
            )
        )
    return changed


def test_more_compute_is_found_where_own_times_vary_too_much():
    ranks, rng = read_job(FIXTURES / "jobs" / "h200x4-fsdp-more-work"), np.random.default_rng(37)
    jobs = [join_ranks(with_cpu_gaps(ranks, rng)) for _ in range(6)]
    by_compute = [job.ranks for job in jobs if job.ranks["compute_excess_ns"].notna().any()]
    assert len(by_compute) >= 3
    for judged in by_compute:
        assert judged["straggler"].tolist() == [False, True, False, False]
        slow = judged.iloc[1]
        assert slow["compute_excess_ns"] == pytest.approx(4.05e6, rel=0.01)
        assert slow["saves_low_ns"] == 0 < 6.6e6 < slow["saves_high_ns"] < 11e6, "6.6 ms unprofiled"
        assert np.isnan(slow["saves_ns"])


def test_more_compute_is_said_with_its_cause_and_what_it_saves_at_most():
    ranks = read_job(FIXTURES / "jobs" / "h200x4-fsdp-more-work")
    rngs = map(np.random.default_rng, range(20))
    jobs = (join_ranks(with_cpu_gaps(ranks, rng)) for rng in rngs)
    verdict = judge_job(next(job for job in jobs if job.ranks["compute_excess_ns"].notna().any()))
    assert len(verdict) == 2
    assert re.match(r"Rank 1 may be a straggler: in a step it computes 4\.05 ms \([\d.]+ %\) ", verdict[1])
    assert "17.4 % more FLOP, spread over its modules, most in (forward) +218 µs" in verdict[1]


@pytest.mark.slow
@pytest.mark.parametrize("job", ["base", "fsdp", "h200-base", "h200-fsdp", "h200x4-base", "h200-input"])
def test_no_rank_is_accused_by_compute_where_none_has_more(job):
    ranks, rng = read_job(FIXTURES / "jobs" / job), np.random.default_rng(38)
    for _ in range(20):
        assert join_ranks(with_cpu_gaps(ranks, rng)).ranks["compute_excess_ns"].isna().all()


def paced_by_cpus(rng: np.random.Generator, ranks: int, slower: float = 0.0) -> tuple[np.ndarray, ...]:
    """Own times, compute and what waits slowed, as in FSDP on four H200s; one rank may have more work."""
    compute = 0.8 * noisy(rng, ranks, spread=0.006)
    own = compute + 8e6 + 5 * (noisy(rng, ranks, spread=0.0, alike=0.9) - 40e6)
    slow = ranks // 2
    held = np.zeros_like(compute)
    if slower:
        held[np.arange(ranks) != slow] = 0.5 * slower * 32e6
        own[slow] += slower * compute[slow]
        compute[slow] *= 1 + slower
    return own + held, compute + held, held


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4, 8, 64])
def test_few_jobs_without_more_compute_have_a_rank_accused_of_it(ranks):
    rng = np.random.default_rng(300 + ranks)
    accused = 0
    for _ in range(400):
        own, compute, held = paced_by_cpus(rng, ranks)
        accused += find_more_compute(find_stragglers(own), compute, held).stands_out.any()
    assert accused <= 14


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4, 8, 64])
def test_a_fifth_more_compute_is_found(ranks):
    rng = np.random.default_rng(400 + ranks)
    found = []
    for _ in range(100):
        own, compute, held = paced_by_cpus(rng, ranks, 0.2)
        by_own = find_stragglers(own)
        slow = by_own.stands_out | find_more_compute(by_own, compute, held).stands_out
        found.append(np.flatnonzero(slow).tolist())
    assert sum(each == [ranks // 2] for each in found) >= 90
