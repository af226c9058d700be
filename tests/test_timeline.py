"""Where the time went: every nanosecond in exactly one class."""

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder
from hypothesis import given
from hypothesis import strategies as st

import tcprof
from tcprof.analysis.time.account import IDLE, TIME_CLASSES, compute_timeline
from tcprof.frames import TIMELINE

pytestmark = pytest.mark.usefixtures("shared_reads")

TIMES = [column.name for column in TIMELINE.columns if column.name.endswith("_ns")]
ACTIVITIES = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(0, IDLE - 1)), min_size=1, max_size=25
)


def times(frame: pd.DataFrame, path: str, gpu: int = 0) -> dict[str, float]:
    """The times of one row that are not 0, without their unit."""
    row = frame[(frame["path"] == path) & (frame["gpu"] == gpu)].iloc[0]
    return {name.removesuffix("_ns"): row[name] for name in TIMES if row[name]}


@given(ACTIVITIES)
def test_every_moment_has_the_first_class_that_applies(drawn):
    start = np.array([begin for begin, _, _ in drawn], dtype=np.int64)
    end = start + np.array([length for _, length, _ in drawn], dtype=np.int64)
    kind = np.array([number for _, _, number in drawn], dtype=np.int64)
    found = compute_timeline(start, end, kind)
    low, high = int(start.min()), int(end.max())
    naive = [min(kind[(start <= t) & (t < end)], default=IDLE) for t in range(low, high)]
    drawn_out = np.repeat(found.value, found.end - found.start).astype(int)
    assert drawn_out.tolist() == naive
    assert not (found.value[1:] == found.value[:-1]).any()


def test_classes_in_order_where_they_overlap(tmp_path):
    """From names: the GEMM, other kernels (unresolved if unnamed), NCCL's and copies; what is left is idle."""
    trace = TraceBuilder().gpu().range("step", 0, 90_000)
    trace.kernel("nvjet_hsh_128x128_64x4_1x2_h_bz_NNT", 10_000, 20_000, launched=1_000)
    trace.kernel("void at::native::elementwise_kernel<128, 4>", 15_000, 25_000, launched=1_001, stream=8)
    trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 22_000, 40_000, launched=1_002, stream=9)
    trace.copy("device to host", 38_000, 45_000, launched=1_003, stream=10)
    trace.kernel("elementwise_kernel", 50_000, 51_000, launched=1_004)
    timeline = tcprof.read(trace.write(tmp_path)).timeline
    expected = {
        "window": 41_000,
        "tensor_kernel": 10_000,
        "other_kernel": 5_000,
        "unresolved_kernel": 1_000,
        "communication": 15_000,
        "copy": 5_000,
        "idle": 5_000,
    }
    assert times(timeline, "step") == expected
    assert times(timeline, "") == expected


def test_two_gpus_are_accounted_for_apart(tmp_path):
    trace = TraceBuilder().gpu().gpu(1).range("step", 0, 90_000).kernel("a", 10_000, 20_000, launched=1_000)
    trace.kernel("b", 15_000, 40_000, launched=1_001, device=1)
    trace.copy("host to device", 60_000, 61_000, launched=1_002, device=1)
    timeline = tcprof.read(trace.write(tmp_path)).timeline
    assert times(timeline, "step") == {"window": 10_000, "unresolved_kernel": 10_000}
    assert times(timeline, "step", gpu=1) == {
        "window": 46_000,
        "unresolved_kernel": 25_000,
        "copy": 1_000,
        "idle": 20_000,
    }


def test_work_of_other_ranges_is_not_idle_time(tmp_path):
    trace = TraceBuilder().gpu().range("a", 0, 2_000).range("b", 3_000, 5_000)
    trace.kernel("one", 10_000, 20_000, launched=1_000).kernel("two", 20_000, 30_000, launched=4_000)
    trace.kernel("one", 30_000, 40_000, launched=1_100)
    timeline = tcprof.read(trace.write(tmp_path)).timeline
    assert times(timeline, "a") == {"window": 30_000, "unresolved_kernel": 30_000}
    assert times(timeline, "b") == {"window": 10_000, "unresolved_kernel": 10_000}


def test_without_activities_there_is_no_time_to_account_for(tmp_path):
    timeline = tcprof.read(TraceBuilder().gpu().range("step", 0, 10).write(tmp_path)).timeline
    assert timeline["path"].tolist() == ["step"]
    assert times(timeline, "step") == {}


def test_parts_sum_to_the_whole_in_every_fixture(fixture_file):
    timeline = tcprof.read(fixture_file).timeline
    assert len(timeline)
    assert (timeline[[f"{name}_ns" for name in TIME_CLASSES]].sum(axis=1) == timeline["window_ns"]).all()
    assert (timeline[TIMES] >= 0).all(axis=None)
