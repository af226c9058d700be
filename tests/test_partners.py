"""Which ranks take part in a collective together, where a job is parallel in several dimensions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcprof.ranks.job import join_ranks
from tcprof.ranks.store import read_job
from tcprof.ranks.waiting import align_clocks, match_collectives

FIXTURES = Path(__file__).parent.parent / "fixtures"
US = 1_000
TENSOR, DATA = 19.0, 24.0  # streams


def make_collectives(sets, stream, jitter_us=5, late=(), seed=37):
    """Twenty collectives in each of two steps: a set of ranks leaves each together; each rank starts when it can."""
    rng = np.random.default_rng(seed)
    skew = np.random.default_rng(37).integers(0, 10**9, 64)  # of each rank's clock
    rows = []
    for ranks in sets:
        end = np.cumsum(rng.integers(800 * US, 1_600 * US, 40))
        wait = rng.integers(0, 300 * US, (40, len(ranks)))
        wait -= wait.min(axis=1, keepdims=True)  # of the last to come
        for number, rank in enumerate(ranks):
            left = end + rng.integers(0, jitter_us * US, 40) + skew[rank]
            length = 100 * US + wait[:, number] + (200 * US if rank in late else 0)
            place = np.arange(40)
            frame = {"rank": rank, "step": place // 20, "stream": stream, "place": place % 20, "name": "AllReduce"}
            rows.append(pd.DataFrame({**frame, "start_ns": left - length, "duration_ns": length, "sm_pct": 10.0}))
    return pd.concat(rows, ignore_index=True)


def together(matched, stream):
    """The sets of ranks that were found to take part together on a stream."""
    rows = matched[matched["stream"] == stream]
    return sorted(sorted(of.unique().tolist()) for _, of in rows.groupby("partners")["rank"])


def test_sets_of_ranks_share_a_stream_each_in_one_dimension():
    tensor, data = [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 4], [1, 5], [2, 6], [3, 7]]
    collectives = pd.concat([make_collectives(tensor, TENSOR), make_collectives(data, DATA, seed=5)], ignore_index=True)
    matched = match_collectives(collectives, pd.Series(0, range(8)))
    assert (together(matched, TENSOR), together(matched, DATA)) == (tensor, data)
    assert len(matched) == len(collectives)
    sets = matched.groupby(["stream", "partners", "step", "place"])
    assert (sets["wait_ns"].min() == 0).all()
    assert (sets["is_last"].sum() == 1).all()
    clocks = align_clocks(matched)
    skew = np.random.default_rng(37).integers(0, 10**9, 64)[:8]
    assert clocks["offset_ns"].to_numpy() == pytest.approx(skew - skew[0], abs=10 * US)
    assert clocks["error_ns"].max() < 10 * US


def test_all_ranks_leave_together_however_late_some_come():
    collectives = make_collectives([[0, 1, 2, 3]], DATA, jitter_us=60, late=(2,))
    matched = match_collectives(collectives, pd.Series(0, range(4)))
    assert set(matched["partners"]) == {0}


@pytest.mark.parametrize("sets", [[[0, 1], [2, 3, 4]], [[0, 1], [2], [3]]])
def test_sets_of_other_sizes_are_no_dimension(sets):
    ranks = [rank for ranks in sets for rank in ranks]
    matched = match_collectives(make_collectives(sets, DATA), pd.Series(0, ranks))
    assert set(matched["partners"]) <= {0}


def test_older_jobs_know_no_streams():
    collectives = make_collectives([[0, 1, 2, 3]], np.nan)
    assert len(match_collectives(collectives, pd.Series(0, range(4)))) == 160


def test_a_recorded_job_of_two_dimensions():
    job = join_ranks(read_job(FIXTURES / "jobs" / "h100x4-tensor-parallel"))
    assert together(job.collectives, 19) == [[0, 1], [2, 3]]
    assert together(job.collectives, 24) == together(job.collectives, 28) == [[0, 2], [1, 3]]
    assert job.clocks["error_ns"].max() < 30 * US  # 63 ms while all four were taken to be together
    assert not job.ranks["straggler"].any()
