"""Which ranks take part in a collective together, where a job is parallel in several dimensions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder
from jobs import NCCL

from tcprof.nsys import schema
from tcprof.ranks.job import join_ranks
from tcprof.ranks.store import read_job
from tcprof.ranks.waiting import align_clocks, match_collectives

FIXTURES = Path(__file__).parent.parent / "fixtures"
US = 1_000
TENSOR, DATA = "AllReduce", "ReduceScatter"
SKEW = np.random.default_rng(37).integers(0, 10**9, 64)  # of each rank's clock


def make_collectives(sets, name, jitter_us=5, late=(), seed=37, place=0, apart_us=None):
    """One collective in each of forty steps: a set of ranks leaves it together; each rank starts when it can."""
    rng = np.random.default_rng(seed)
    rows, common = [], np.cumsum(rng.integers(5_000 * US, 8_000 * US, 40))
    for number, ranks in enumerate(sets):
        of_set = rng.integers(0, 4_000 * US, 40) if apart_us is None else rng.normal(0, 1, 40) * apart_us[number] * US
        end = common + of_set.astype(np.int64)
        wait = rng.integers(0, 300 * US, (40, len(ranks)))
        wait -= wait.min(axis=1, keepdims=True)  # of the last to come
        for column, rank in enumerate(ranks):
            left = end + rng.integers(0, jitter_us * US, 40) + SKEW[rank]
            length = 100 * US + wait[:, column] + (200 * US if rank in late else 0)
            frame = {"rank": rank, "step": np.arange(40), "place": place, "name": name}
            rows.append(pd.DataFrame({**frame, "start_ns": left - length, "duration_ns": length, "sm_pct": 10.0}))
    return pd.concat(rows, ignore_index=True)


def together(matched, name, nth=0):
    """The sets of ranks that were found to take part together in a collective."""
    rows = matched[matched["name"].str.contains(name) & (matched["nth"] == nth)]
    return sorted(sorted(of.unique().tolist()) for _, of in rows.groupby("partners")["rank"])


def test_each_collective_is_of_sets_of_ranks_in_one_dimension():
    tensor, data, whole = [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 4], [1, 5], [2, 6], [3, 7]], [[*range(8)]]
    parts = [make_collectives(tensor, TENSOR), make_collectives(data, DATA, seed=5, place=1)]
    parts += [make_collectives(whole, TENSOR, seed=6, place=2)]  # the second one of that name
    collectives = pd.concat(parts, ignore_index=True)
    matched = match_collectives(collectives, pd.Series(0, range(8)))
    assert (together(matched, TENSOR), together(matched, DATA)) == (tensor, data)
    assert together(matched, TENSOR, nth=1) == whole
    assert matched.index.equals(collectives.index)
    sets = matched.groupby(["partners", "step", "place"])
    assert (sets["wait_ns"].min() == 0).all()
    assert (sets["is_last"].sum() == 1).all()


@pytest.mark.parametrize("data", [[[0, 2], [1, 3]], [[0, 3], [1, 2]]])
def test_clocks_are_compared_by_way_of_other_ranks(data):
    parts = [make_collectives([[0, 1], [2, 3]], TENSOR), make_collectives(data, DATA, seed=5, place=1)]
    matched = match_collectives(pd.concat(parts, ignore_index=True), pd.Series(0, range(4)))
    clocks, skew = align_clocks(matched), SKEW[:4]
    assert clocks["offset_ns"].to_numpy() == pytest.approx(skew - skew[0], abs=10 * US)
    assert clocks["error_ns"].max() < 10 * US


@pytest.mark.parametrize("apart_us", [(0, 100, 100, 1_500), (0, 100, 2_000, 2_000), (0, 0, 600, 600), (300,) * 4])
def test_sets_may_be_near_each_other_or_far(apart_us):
    sets = [[0, 1], [2, 3], [4, 5], [6, 7]]
    matched = match_collectives(make_collectives(sets, TENSOR, apart_us=apart_us), pd.Series(0, range(8)))
    assert align_clocks(matched)["error_ns"].max() < 10 * US


def test_all_ranks_leave_together_however_late_some_come():
    collectives = make_collectives([[0, 1, 2, 3]], DATA, jitter_us=60, late=(2,))
    assert together(match_collectives(collectives, pd.Series(0, range(4))), DATA) == [[0, 1, 2, 3]]


def test_a_recorded_job_of_two_dimensions():
    job = join_ranks(read_job(FIXTURES / "jobs" / "h100x4-tensor-parallel"))
    tensor, data = [[0, 1], [2, 3]], [[0, 2], [1, 3]]
    assert together(job.collectives, "AllReduce") == together(job.collectives, "AllGather", nth=5) == tensor
    assert together(job.collectives, "AllGather") == data
    assert len(job.collectives) == 4 * 13 * 88
    assert job.clocks["error_ns"].max() < 30 * US  # 63 ms while all four were taken to be together
    assert not job.ranks["straggler"].any()


@pytest.mark.parametrize(
    ("messages", "launches", "sizes"),
    [
        ([("100", 10, 20)], [15, 30], [100, None]),
        ([("10", 10, 11), ("20", 12, 13)], [15], [30]),  # in a group
        ([("7", 10, 11), ("40", 20, 30)], [25], [40]),  # after one that launched nothing
        ([("7", 10, 11)], [15, 16], [None, None]),  # a group of two kernels
        ([("5", 10, None)], [15], [5]),
        *(([(wrong, 10, 20)], [15], [None]) for wrong in ('"5"', "-5", "1.5", str(1 << 60))),
    ],
)
def test_kernels_of_nccl_move_the_messages_of_their_ranges(messages, launches, sizes, tmp_path):
    builder = TraceBuilder()
    for size, start, end in messages:
        payload = f'{{"NCCL communicator ID":7,"{schema.MESSAGE_SIZE}":{size}}}'
        builder.range("ncclAllGather", start, end, domain=schema.NCCL_DOMAIN, payload=payload)
        builder.range("of the program", 14, 16, payload=payload)
    for launched in launches:
        builder.kernel(NCCL, 2000 + launched, 2001 + launched, launched=launched)
    source = builder.kernel("gemm", 3000, 3001, launched=14).trace(tmp_path)
    moved = source.activities()["moved_bytes"]
    assert moved.astype(object).where(moved.notna(), None).tolist() == [*sizes, None]
    assert [value.what for value in source.wrong()] == ["invalid message sizes"] * (sizes == [None])
