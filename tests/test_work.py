"""What launches count beside tensor cycles: bytes and instructions, from sums that were sampled with them."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder, count_at

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.verdicts import find_bounds
from tcprof.analysis.kernels.work import SHARES
from tcprof.chips import find_chip
from tcprof.frames import WORK

pytestmark = pytest.mark.usefixtures("shared_reads")

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
work = importlib.import_module("work")

SMS, CLOCK_HZ, BANDWIDTH, US = 132, 2_000_000_000, 4_800_000_000_000, 1_000
L2_PER_NS = 160  # slices times the clock of the L2 cache
PERIOD = 20 * US
NO = np.array([False])
NAMES = {column: metric.names[0] for column, metric in find_chip("GH100").sums.items()}
# What a launch counts: a kernel that streams memory, and one that multiplies float32 on the CUDA cores.
PER_LAUNCH = {
    "stream": (
        30 * US,
        {"dram_read_bytes": 90_000_000, "dram_write_bytes": 40_000_000, "instruction_count": 2_000_000},
    ),
    "gemm_ffma": (
        47 * US,
        {
            "dram_read_bytes": 1_000_000,
            "fma_instruction_count": 40_000_000,
            "instruction_count": 44e6,
            "l1_wavefront_count": 6_000_000,
            "l2_request_count": 1_500_000,
        },
    ),
}
API_CALLS = 40


def recorded(
    columns: tuple[str, ...] = WORK, bandwidth: int | None = BANDWIDTH, gap: int = 5 * US, varied: float = 0
) -> TraceBuilder:
    """Both kernels in turn, and samples of what they count, which may vary from launch to launch."""
    builder = TraceBuilder().gpu(sm_count=SMS, clock_hz=CLOCK_HZ, bandwidth=bandwidth)
    time, starts, ends, of = 100 * US, [], [], []
    for number in range(API_CALLS):
        name = list(PER_LAUNCH)[number % 2]
        length = PER_LAUNCH[name][0]
        builder.kernel(name, time, time + length, launched=time - US)
        starts, ends, of = [*starts, time], [*ends, time + length], [*of, name]
        time += length + gap
    borders = np.arange(0, time + 2 * PERIOD, PERIOD)
    when = {"start": 0, "period": PERIOD}

    def sums(column: str) -> list[int]:
        count = np.array([PER_LAUNCH[name][1].get(column, 0) for name in of], dtype=float)
        if column == "sm_active_cycles":
            count = (np.array(ends) - np.array(starts)) * 1e-9 * CLOCK_HZ * SMS
        count *= 1 + varied * np.cos(np.arange(len(count)))
        shape = np.ones((len(of), 1))
        counted = count_at(borders, np.array(starts), np.array(ends), count, shape)
        return np.diff(np.round(counted)).astype(int).tolist()

    elapsed = [int(PERIOD * 1e-9 * CLOCK_HZ * SMS)] * (len(borders) - 1)
    builder.cycles([0] * len(elapsed), sm=elapsed, **when)
    if "l2_request_count" in columns:
        builder.samples([PERIOD * L2_PER_NS] * len(elapsed), metric=NAMES["l2_cycles"], **when)
    for column in columns:
        builder.samples(sums(column), metric=NAMES[column], **when)
    return builder


def kernel(analysis: Analysis, name: str) -> pd.Series:
    return analysis.kernels[analysis.kernels["name"] == name].iloc[0]


def test_kernels_get_what_they_moved_and_executed(tmp_path):
    report = tcprof.read(recorded().write(tmp_path))
    for name, (length, counts) in PER_LAUNCH.items():
        row = kernel(report.analysis, name)
        for column, count in counts.items():
            assert row[column] / row["launch_count"] == pytest.approx(count, rel=0.02), (name, column)
            assert abs(row[column] / row["launch_count"] - count) <= row[f"{column}_error"] + 0.02 * count
        assert row["sm_cycles"] / row["launch_count"] == pytest.approx(length * 1e-9 * CLOCK_HZ * SMS, rel=0.01)
    stream, product = kernel(report.analysis, "stream"), kernel(report.analysis, "gemm_ffma")
    assert stream["dram_bandwidth"] == pytest.approx(130e6 / 30e-6, rel=0.02)
    assert stream["dram_pct"] == pytest.approx(100 * 130e6 / 30e-6 / BANDWIDTH, rel=0.02)
    assert product["fma_tflops"] == pytest.approx(64 * 40e6 / 47e-6 / 1e12, rel=0.02)
    assert product["fma_pct"] == pytest.approx(100 * 40e6 / (4 * 47e-6 * CLOCK_HZ * SMS), rel=0.02)
    assert product["l1_pct"] == pytest.approx(100 * 6e6 / (47e-6 * CLOCK_HZ * SMS), rel=0.02)
    assert product["l2_pct"] == pytest.approx(100 * 1.5e6 / (47_000 * L2_PER_NS), rel=0.02)
    assert (stream["bound"], product["bound"]) == ("memory", "fp32")


def test_sums_are_conserved_and_add_up_over_ranges(tmp_path):
    builder = recorded()
    builder.range("all", 0, 10_000 * US)
    analysis = tcprof.read(builder.write(tmp_path))
    for column in WORK:
        assert analysis.kernel_instances[column].sum() == pytest.approx(analysis.samples[column].sum(), rel=1e-9, abs=1)
    moved = analysis.kernel_instances["dram_read_bytes"].sum() + analysis.kernel_instances["dram_write_bytes"].sum()
    capture, inside = analysis.ranges.iloc[0], analysis.ranges.iloc[1]
    assert capture["dram_bytes"] == inside["dram_bytes"] == pytest.approx(moved)
    assert capture["dram_pct"] == pytest.approx(100 * moved / (capture["window_ns"] * 1e-9) / BANDWIDTH)
    assert analysis.instances["dram_bytes"].iloc[0] == pytest.approx(moved)


@pytest.mark.slow
def test_what_was_not_recorded_is_unknown(tmp_path):
    report = tcprof.read(recorded(columns=("instruction_count",)).write(tmp_path))
    row = kernel(report.analysis, "stream")
    unknown = [
        *("dram_read_bytes", "dram_read_bytes_error", "dram_bandwidth", "dram_pct", "fma_pct", "fma_tflops"),
        *("l2_bytes", "l1_pct", "l2_pct"),
    ]
    assert row[unknown].isna().all()
    assert row["sm_issue_pct"] == pytest.approx(100 * 2e6 / (4 * 30e-6 * CLOCK_HZ * SMS), rel=0.05)
    assert row["bound"] == ""
    assert report.ranges[["dram_bytes", "dram_pct"]].isna().all(axis=None)


@pytest.mark.slow
def test_long_launches_that_differ_are_known_by_their_own_samples(tmp_path):
    """Launches of one class that count very differently: the fit's interval is wide, their own samples are exact."""
    builder = TraceBuilder().gpu(sm_count=SMS, clock_hz=CLOCK_HZ, bandwidth=BANDWIDTH)
    start = 100 * US + 2_000 * US * np.arange(6)
    end = start + 1_990 * US
    count = np.array([1, 9, 2, 8, 1, 7]) * 10**9
    for begin, stop in zip(start.tolist(), end.tolist(), strict=True):
        builder.kernel("stream", begin, stop, launched=begin - US)
    borders = np.arange(0, int(end[-1]) + 2 * PERIOD, PERIOD)
    value = np.diff(count_at(borders, start, end, count)).tolist()
    builder.cycles([0] * len(value), sm=[int(PERIOD * 1e-9 * CLOCK_HZ * SMS)] * len(value), start=0, period=PERIOD)
    builder.samples(value, metric=NAMES["instruction_count"], start=0, period=PERIOD)
    found = kernel(tcprof.read(builder.write(tmp_path)).analysis, "stream")
    assert abs(found["instruction_count"] - count.sum()) <= found["instruction_count_error"]
    assert found["instruction_count_error"] < 0.03 * count.sum()


def test_what_comes_from_the_host_is_no_kernel_s(tmp_path):
    """A copy beside all kernels, as from pinned memory: the counters have its bytes, more or less, evenly."""
    builder, size, column = recorded(), 100_000_000, "dram_write_bytes"
    first, last = 100 * US, 1900 * US
    builder.copy("host to device", first, last, launched=first - 5 * US, stream=9, bytes=size)
    rows = builder._rows["GPU_METRICS"]
    of_metric = {row["metricName"]: row["metricId"] for row in builder._rows["TARGET_INFO_GPU_METRICS"]}
    for row in rows:
        if row["metricId"] == of_metric[NAMES[column]]:
            within = min(row["timestamp"], last) - max(row["timestamp"] - PERIOD, first)
            row["value"] += int(1.03 * size * max(within, 0) / (last - first))
    report = tcprof.read(builder.write(tmp_path))
    assert report.activities["moved_bytes"].max() == size
    for name, (_, counts) in PER_LAUNCH.items():
        found = kernel(report.analysis, name)
        assert abs(found[column] - counts.get(column, 0) * API_CALLS / 2) <= found[f"{column}_error"]
    assert kernel(report.analysis, "gemm_ffma")[column] < 0.6 * size


@pytest.mark.parametrize(
    ("dram", "issue", "fma", "tensor", "sm_active", "is_fp32_product", "bound"),
    [
        (80, 20, 10, 0, 99, False, "memory"),
        (80, 85, 10, 0, 99, False, "issue"),
        (59, 59, 10, 0, 99, False, "latency"),
        (10, 20, 5, 90, 99, False, "tensor"),
        (70, 20, 5, 90, 99, False, "tensor"),
        (95, 20, 5, 90, 99, False, "memory"),
        (5, 86, 77, 0, 99, False, "fp32"),
        (5, 86, 30, 0, 99, False, "issue"),
        (5, 86, np.nan, 0, 99, True, "fp32"),
        (5, 86, np.nan, 0, 99, False, "issue"),
        (5, 50, np.nan, 0, 99, True, "latency"),
        (5, 20, 5, 0, 12, False, "small grid"),
        (5, 20, 5, 0, np.nan, False, "latency"),
        (5, 65, 61, 90, 99, False, "tensor"),
        (np.nan, 90, 5, 0, 99, False, ""),
        (90, np.nan, 5, 0, 99, False, ""),
        (90, 20, 5, np.nan, 99, False, "memory"),
    ],
)
def test_what_bounds_a_kernel(dram, issue, fma, tensor, sm_active, is_fp32_product, bound):
    found = find_bounds(share(sm_active, issue, dram, fma), np.array([float(tensor)]), np.array([is_fp32_product]), NO)
    assert found.tolist() == [bound]


def test_communication_is_bound_by_nothing_else():
    found = find_bounds(share(18, 20, 90, 5), np.array([0.0]), NO, ~NO)
    assert found.tolist() == ["communication"]


def share(
    sm_active: float, issue: float, dram: float, fma: float, l1: float = np.nan, l2: float = np.nan
) -> dict[str, np.ndarray]:
    """What a kernel used of what the GPU can do, in percent."""
    values = (sm_active, issue, dram, fma, l1, l2)
    return {f"{name}_pct": np.array([value], dtype=float) for name, value in zip(SHARES, values, strict=True)}


def test_a_small_kernel_is_a_small_grid_in_the_timeline(tmp_path):
    timeline = tcprof.read(recorded().write(tmp_path)).timeline.iloc[0]
    assert timeline["fp32_bound_ns"] == 47 * US * API_CALLS / 2
    assert timeline["memory_bound_ns"] == 30 * US * API_CALLS / 2
    assert timeline["small_grid_ns"] == 0


@pytest.fixture(scope="module")
def known_work():
    return work.compare()


def test_counts_of_known_work_are_those_of_arithmetic_and_nsight_compute(known_work):
    long = known_work[known_work["duration_ns"] > 20_000]
    assert len(long) == 18
    cached = ["int8", "fp8"]  # whose factors stay in the L2 cache from one launch to the next
    for count, least in (("dram_read_bytes", 0), ("fma_instruction_count", 0), ("tensor_cycles", 1e5)):
        rows = long.drop(index=cached) if count == "dram_read_bytes" else long
        rows = rows[rows[f"ncu_{count}"] > least]
        ratio = rows[count] / rows[f"ncu_{count}"]
        assert ratio.between(0.985, 1.015).all(), (count, ratio)
    written = (long["dram_write_bytes"] / long["expected_dram_write_bytes"]).dropna()
    assert written.drop("fp16").between(0.98, 1.035).all()
    assert known_work.loc["fp32", "fma_instruction_count"] == pytest.approx(4096**3 / 32, rel=0.01)


def test_a_transpose_is_bound_by_the_l2_cache(known_work):
    assert known_work.loc["transpose", "bound"] == "L2 cache"
    kernels = tcprof.read(work.FIXTURES / "known_work.sqlite").kernels
    (transpose,) = kernels[kernels["bound"] == "L2 cache"].to_dict("records")
    assert transpose["l2_pct"] == pytest.approx(known_work.loc["transpose", "ncu_memory_pct"], abs=1.5)
    (product,) = kernels[kernels["bound"] == "fp32"].to_dict("records")
    assert product["l1_pct"] == pytest.approx(known_work.loc["fp32", "ncu_memory_pct"], abs=1.5)


def test_the_documented_table_is_that_of_the_benchmark():
    page = (Path(__file__).parent.parent / "docs" / "accuracy.md").read_text(encoding="utf-8")
    shown = page.split("<!-- work -->\n")[1].split("<!-- /work -->")[0]
    assert shown == work.table(), "put the output of 'python benchmarks/work.py' there"
