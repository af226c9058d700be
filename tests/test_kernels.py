"""Kernels of a recording: what the fit says of each, beside its name, its paths and the other GPUs."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder, assert_rows, count_at

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.kernels import classes
from tcprof.analysis.kernels.verdicts import are_unknown
from tcprof.frames import KERNEL_INSTANCES, KERNELS
from tcprof.frames.schema import Deferred

PERIOD = 50_000
SM_CYCLES_NS = 132 * 1.98  # of all SMs, each with four tensor pipes
PEAK = 4 * SM_CYCLES_NS
GEMM = "nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_NNT"
CONV = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_tensor16x8x16_execute_kernel"
SGEMM = "ampere_sgemm_128x64_nn"
COPY = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>>(int, T2, T3)"
OWN = "my_kernel"
# Duration in µs, and Tensor Active while it runs.
USUAL = {GEMM: (40, 0.6), CONV: (30, 0.2), SGEMM: (25, 0.0), COPY: (12, 0.01), OWN: (20, 0.3)}


def add_gpu(
    builder: TraceBuilder,
    kernels: dict[str, tuple[float, float]],
    gpu: int = 0,
    *,
    seed: int = 0,
    streams: int = 1,
    rounded: bool = False,
    number: int = 300,
) -> TraceBuilder:
    """A GPU with kernels in random order, which is idle now and then, and its samples: cycles, or percentages."""
    rng, names = np.random.default_rng(seed), list(kernels)
    duration_us, active = np.array(list(kernels.values())).T
    counted = []
    builder.gpu(gpu)
    for stream in range(streams):
        kind = rng.permuted(np.arange(number) % len(names))
        last = (1000 * duration_us[kind] * rng.normal(1, 0.01, number)).astype(np.int64)
        pause = np.where(rng.random(number) < 0.2, rng.integers(10_000, 80_000, number), 1_000)
        end = np.cumsum(last + pause)
        count = 1000 * duration_us[kind] * active[kind] / streams * PEAK
        counted.append(np.stack([end - last, end, count]))
        for name, begin, finish in zip(kind.tolist(), (end - last).tolist(), end.tolist(), strict=True):
            builder.kernel(names[name], begin, finish, launched=begin, device=gpu, stream=7 + stream)
    start, end, count = np.concatenate(counted, axis=1)
    counts = np.diff(count_at(np.arange(-PERIOD, end.max() + 2 * PERIOD, PERIOD), start, end, count))
    percent = 100 * counts / (PEAK * PERIOD)
    if rounded:
        shown = np.where(counts > 0, np.maximum(np.round(percent), 1), 0)
        return builder.samples(shown.tolist(), start=-PERIOD, period=PERIOD, gpu=gpu)
    sm = [round(SM_CYCLES_NS * PERIOD)] * len(counts)
    return builder.cycles(counts.tolist(), sm=sm, start=-PERIOD, period=PERIOD, gpu=gpu)


def usual(**how: int | bool) -> TraceBuilder:
    builder = TraceBuilder().range("forward", 0, 5_000_000).range("backward", 5_000_000, 50_000_000)
    return add_gpu(builder, USUAL, **how)


def read(builder: TraceBuilder, folder: Path) -> Analysis:
    return tcprof.read(builder.write(folder)).analysis


def last_end(builder: TraceBuilder, folder: Path) -> int:
    return int(read(builder, folder).activities["end_ns"].max())


RECORDINGS: dict[str, Callable[[], TraceBuilder]] = {
    "cycles": usual,
    "percentages": lambda: usual(rounded=True),
    "two streams": lambda: usual(streams=2),
    "two gpus": lambda: add_gpu(usual(), {GEMM: (15, 0.8), OWN: (33, 0.1)}, 1, seed=1),
    "no samples": lambda: TraceBuilder().gpu().kernel(GEMM, 0, 10).kernel(COPY, 20, 30),
    "few launches": lambda: usual(number=12),
    "full load": lambda: add_gpu(TraceBuilder(), {GEMM: (40, 1.0), OWN: (20, 0.99), COPY: (7, 0)}, rounded=True),
}


def test_kernels_with_what_counter_and_name_say(tmp_path):
    kernels = read(usual(), tmp_path).kernels
    shown = kernels.assign(name=[name.removeprefix("void ")[:8] for name in kernels["name"]])
    expected = """
        name      launch_count  tensor_active_pct  tensor_tflops  tensor_peak_pct  tensor_kernel  name_verdict  fit
        nvjet_sm  60            60                 642.26         60               True           agrees        resolved
        sm80_xmm  60            20                 142.72         13.3             True           agrees        resolved
        ampere_s  60            0                  0              –                False          no            resolved
        my_kerne  60            30                 –              –                True           counter only  resolved
        at::nati  60            1                  0              –                False          no            resolved
        """
    assert_rows(shown, expected, rel=0.02, abs=0.1)
    assert (kernels["tensor_active_high_pct"] - kernels["tensor_active_low_pct"]).max() < 0.5


WMMA, UNKNOWN = "_Z11wmma_kernelPK6__halfS1_Pf", "_Z6kernelPf"
GELU = "triton_poi_fused_gelu_view_8"


@pytest.mark.parametrize(
    ("name", "active_pct", "tensor_kernel", "verdict", "time_class"),
    [
        (WMMA, 0.05, True, "agrees", "tensor_kernel"),
        (WMMA, 0, False, "name only", "other_kernel"),
        (UNKNOWN, 14, False, "counter only", "unresolved_kernel"),
        (UNKNOWN, 30, True, "counter only", "tensor_kernel"),
        (UNKNOWN, 0.5, False, "no", "other_kernel"),
        (GELU, 30, False, "counter only", "other_kernel"),
        (COPY, 14, False, "no", "other_kernel"),
    ],
)
def test_names_decide_and_the_counter_where_they_tell_nothing(
    name, active_pct, tensor_kernel, verdict, time_class, tmp_path
):
    analysis = read(add_gpu(TraceBuilder(), {name: (40, active_pct / 100), COPY + "2": (30, 0)}), tmp_path)
    kernel = analysis.kernels.set_index("name").loc[name]
    assert kernel["tensor_active_pct"] == pytest.approx(active_pct, abs=0.02)
    assert (kernel["tensor_kernel"], kernel["name_verdict"]) == (tensor_kernel, verdict)
    time_ns = analysis.timeline.iloc[0]
    assert time_ns[f"{time_class}_ns"] >= kernel["total_ns"]
    capture = analysis.ranges.iloc[0]
    assert capture["tensor_kernel_share_pct"] > 50 if tensor_kernel else capture["tensor_kernel_share_pct"] == 0
    assert math.isnan(capture["tensor_flop"]) == (verdict == "counter only" and name == UNKNOWN)  # 0 would deny it
    assert (capture["tensor_flop"] > 0) == (name == WMMA and tensor_kernel)


def test_a_graph_recorded_as_a_whole_is_no_tensor_kernel_whatever_the_counter_shows(tmp_path):
    builder = usual()
    end = last_end(usual(), tmp_path)
    for number in range(40):
        builder.graph(end + 100_000 * number + 20_000, end + 100_000 * number + 90_000, launched=end)
    whole = read(builder, tmp_path).kernels.set_index("name").loc["graph"]
    assert (whole["launch_geometry"], whole["tensor_kernel"], whole["family"]) == ("", False, "")
    assert math.isnan(whole["tensor_tflops"])


def test_flop_are_cycles_times_the_rate_of_the_kernels_instructions(tmp_path):
    kernels = read(usual(), tmp_path).kernels.set_index("name")
    flop, cycles = kernels["tensor_flop"], kernels["tensor_cycles"]
    assert flop[[GEMM, CONV]].tolist() == pytest.approx((cycles[[GEMM, CONV]] * [1024, 2048 / 3]).tolist())
    assert flop[[COPY, SGEMM]].tolist() == [0, 0]
    assert math.isnan(flop[OWN])
    assert cycles[GEMM] == pytest.approx(60 * 40_000 * 0.6 * PEAK, rel=0.005)
    assert kernels.loc[GEMM, "tensor_cycles_per_launch"] == cycles[GEMM] / 60


def test_on_a_chip_that_is_not_known_flop_are_not_either(tmp_path):
    builder = usual().row("TARGET_INFO_GPU", id=0, name="NVIDIA X", chipName="XX100", smCount=132, cuDevice=0)
    kernels = read(builder.without("TARGET_INFO_GPU.chipName", "TARGET_INFO_GPU.name"), tmp_path).kernels.set_index(
        "name"
    )
    assert kernels["tensor_active_pct"][GEMM] == pytest.approx(60, abs=0.5)
    assert kernels["tensor_flop"].notna().tolist() == [name in (COPY, SGEMM) for name in kernels.index]


def test_percentages_give_no_cycles_and_are_right_to_two_points(tmp_path):
    kernels = read(usual(rounded=True), tmp_path).kernels.set_index("name")
    found = kernels["tensor_active_pct"]
    assert [found[name] for name in USUAL] == pytest.approx([60, 20, 0, 1, 30], abs=2)
    assert kernels[["tensor_cycles", "tensor_flop", "tensor_tflops", "tensor_peak_pct"]].isna().all(axis=None)
    assert kernels.loc[[GEMM, CONV, OWN], "tensor_kernel"].all()


def test_each_gpu_stands_for_itself(tmp_path):
    other = {GEMM: (15, 0.8), OWN: (33, 0.1)}
    both = read(add_gpu(usual(), other, 1, seed=1), tmp_path)
    one = read(usual(), tmp_path).kernels
    two = read(add_gpu(TraceBuilder(), other, 1, seed=1), tmp_path).kernels
    for gpu, alone in ((0, one), (1, two)):
        beside = both.kernels[both.kernels["gpu"] == gpu].reset_index(drop=True)
        pd.testing.assert_frame_equal(beside.drop(columns="path"), alone.drop(columns="path"))
    assert two.set_index("name")["tensor_active_pct"][GEMM] == pytest.approx(80, abs=0.5)


def test_kernels_of_concurrent_streams(tmp_path):
    """Each counts half of what it did alone."""
    found = read(usual(streams=2), tmp_path).kernels.set_index("name")["tensor_active_pct"]
    assert [found[name] for name in USUAL] == pytest.approx([30, 10, 0, 0.5, 15], abs=0.5)


def test_launches_of_graphs_are_a_kernel_of_their_own(tmp_path):
    builder = usual()
    end = last_end(usual(), tmp_path)
    begins = [end + 1_000_000 + 200_000 * number for number in range(10)]
    for begin in begins:
        builder.graph(begin, begin + 100_000, launched=begin)
    first = (end // PERIOD + 3) * PERIOD
    borders = np.arange(first, begins[-1] + 300_000, PERIOD)
    count = np.full(10, 0.25 * 100_000 * PEAK)
    counts = np.diff(count_at(borders, np.array(begins), np.array(begins) + 100_000, count))
    builder.cycles(counts.tolist(), sm=[round(SM_CYCLES_NS * PERIOD)] * len(counts), start=first, period=PERIOD)
    analysis = read(builder, tmp_path)
    kernels = analysis.kernels.set_index("name")
    assert kernels.loc["graph", ["launch_count", "launch_geometry", "total_ns"]].tolist() == [10, "", 1_000_000]
    assert kernels.loc["graph", "tensor_active_pct"] == pytest.approx(25, abs=0.1)
    assert kernels.loc[GEMM, "tensor_active_pct"] == pytest.approx(60, abs=0.5)
    classes = analysis.kernel_instances.groupby(analysis.kernel_instances["kernel"])["kernel_class"].unique()
    assert len(np.concatenate(classes.tolist())) == len(set(np.concatenate(classes.tolist()).tolist())) == 6


def test_geometries_of_a_kernel_are_rows_of_their_own(tmp_path):
    builder = TraceBuilder().gpu()
    for begin in range(0, 600, 100):
        builder.kernel("k", begin, begin + 10 + begin % 200 // 10, gridX=64 if begin % 200 else 7, blockX=128)
    expected = """
        name  launch_geometry  launch_count  total_ns  median_ns  share_pct
        k     64x1x1 128x1x1   3             60        20         66.66666666666667
        k     7x1x1 128x1x1    3             30        10         33.33333333333333
        """
    assert_rows(read(builder, tmp_path).kernels, expected)


@pytest.fixture(scope="module", params=RECORDINGS)
def analysis(request, tmp_path_factory):
    return read(RECORDINGS[request.param](), tmp_path_factory.mktemp("recording"))


def test_columns_are_those_that_are_documented(analysis):
    for frame, schema in ((analysis.kernel_instances, KERNEL_INSTANCES), (analysis.kernels, KERNELS)):
        assert len(frame) > 0
        assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == [
            (column.name, column.dtype) for column in schema.columns
        ]


def test_figures_lie_in_their_intervals_and_shares_add_up(analysis):
    for frame in (analysis.kernels, analysis.kernels_by_path):
        assert frame.groupby("gpu")["share_pct"].sum().tolist() == pytest.approx([100] * frame["gpu"].nunique())
        columns = ["tensor_active_low_pct", "tensor_active_pct", "tensor_active_high_pct"]
        figures = frame[columns].dropna().to_numpy()
        assert len(figures) in (0, len(frame))
        assert (np.diff(figures, prepend=0, append=100) >= 0).all()


def test_rows_by_path_add_up_to_those_of_kernels(analysis):
    keys = ["gpu", "name", "launch_geometry"]
    figures = ["launch_count", "total_ns", "share_pct", "tensor_cycles", "tensor_flop"]
    split = analysis.kernels_by_path.groupby(keys)[figures].sum(min_count=1)
    whole = analysis.kernels.set_index(keys)[figures]
    assert len(analysis.kernels_by_path[[*keys, "path"]].drop_duplicates()) == len(analysis.kernels_by_path)
    for name in figures:
        assert split[name][whole.index].tolist() == pytest.approx(whole[name].tolist(), nan_ok=True), name


def test_launches_lead_to_their_kernels_and_activities(analysis):
    launched, kernels = analysis.kernel_instances, analysis.kernels.iloc[analysis.kernel_instances["kernel"]]
    activities = analysis.activities.iloc[launched["activity"]]
    assert kernels["name"].tolist() == activities["name"].tolist()
    assert (kernels["gpu"].to_numpy() == activities["gpu"].to_numpy()).all()
    assert launched.groupby("kernel").size().tolist() == analysis.kernels["launch_count"].tolist()
    assert launched["tensor_active_ns"].fillna(0).between(0, launched["duration_ns"]).all()


def test_without_samples_names_are_all_there_is(tmp_path):
    builder = TraceBuilder().gpu().kernel(GEMM, 0, 30).kernel(COPY, 40, 60).kernel(OWN, 70, 80)
    kernels = read(builder, tmp_path).kernels
    assert kernels["fit"].unique().tolist() == ["estimated from kernel names"]
    assert kernels["tensor_kernel"].tolist() == [True, False, False]
    assert kernels["name_verdict"].tolist() == ["name only", "no", "unknown"]
    figures = ["tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct", "tensor_cycles", "tensor_tflops"]
    assert kernels[figures].isna().all(axis=None)


def test_a_gpu_without_samples_beside_one_that_has_them_is_not_sampled(tmp_path):
    builder = usual().gpu(1).kernel(GEMM, 0, 30_000, device=1)
    kernels = read(builder, tmp_path).kernels
    assert kernels[kernels["gpu"] == 1]["fit"].tolist() == ["not sampled"]
    assert set(kernels[kernels["gpu"] == 0]["fit"]) == {"resolved"}
    assert kernels[kernels["gpu"] == 1][["tensor_kernel", "name_verdict"]].values.tolist() == [[True, "name only"]]


def test_kernels_beyond_what_can_be_solved_for_are_pooled(tmp_path, monkeypatch):
    monkeypatch.setattr(classes, "MOST_CLASSES", len(USUAL))
    monkeypatch.setattr(classes, "MOST_POOLS", 0)
    builder = usual()
    begin = (last_end(usual(), tmp_path) // PERIOD + 1) * PERIOD
    for number in range(4):
        builder.kernel(f"rare {number}", begin + 10_000 * number + 1_000, begin + 10_000 * number + 9_000)
    kernels = read(builder, tmp_path).kernels.set_index("name")
    assert {name for name, fit in kernels["fit"].items() if fit == "pooled"} == {f"rare {n}" for n in range(4)}
    assert kernels["tensor_active_pct"].filter(like="rare").max() < 5


def test_long_kernels_have_the_clock_of_their_own_samples(tmp_path):
    """Each is launched once; the clock is lower under the second."""
    active, clock = np.repeat([0.5, 0, 0.5], [40, 5, 40]), np.repeat([1.0, 0.8], 45)[:85]
    builder = TraceBuilder().gpu().kernel(GEMM, 0, 40 * PERIOD).kernel(OWN, 45 * PERIOD, 85 * PERIOD)
    builder.cycles(
        (active * clock * PEAK * PERIOD).round().astype(int).tolist(),
        sm=(clock * SM_CYCLES_NS * PERIOD).round().astype(int).tolist(),
        period=PERIOD,
    )
    kernels = read(builder, tmp_path).kernels
    assert kernels["fit"].unique().tolist() == ["resolved"]
    assert kernels["tensor_active_pct"].tolist() == pytest.approx([50, 50], abs=0.1)


def test_what_no_border_tells_apart_is_unresolved(tmp_path):
    """Two kernels of 2 µs, always side by side amid a sample; a third shows how fast the pipes can be."""
    builder, count = TraceBuilder().gpu(), []
    for begin in range(0, 100 * 4 * PERIOD, 4 * PERIOD):
        builder.kernel(GEMM, begin, begin + 2 * PERIOD)
        builder.kernel(OWN, begin + 3 * PERIOD + 20_000, begin + 3 * PERIOD + 22_000)
        builder.kernel(CONV, begin + 3 * PERIOD + 22_000, begin + 3 * PERIOD + 24_000)
        count += [round(0.9 * PEAK * PERIOD)] * 2 + [0, round(0.6 * PEAK * 2000)]
    kernels = read(builder.cycles(count, sm=[round(SM_CYCLES_NS * PERIOD)] * 400, period=PERIOD), tmp_path).kernels
    assert kernels.set_index("name")["fit"].to_dict() == {GEMM: "resolved", OWN: "unresolved", CONV: "unresolved"}


def test_what_bounds_a_kernel_is_fitted_from_the_other_metrics(tmp_path):
    builder = usual(rounded=True)
    start, end, names = (read(usual(), tmp_path).activities[name].to_numpy() for name in ("start_ns", "end_ns", "name"))
    borders = np.arange(-PERIOD, end.max() + 2 * PERIOD, PERIOD)
    loads = {"DRAM Read Bandwidth": {COPY: 0.5}, "DRAM Write Bandwidth": {COPY: 0.4}, "SM Issue": {SGEMM: 0.8}}
    loads["SMs Active"] = dict.fromkeys(USUAL, 0.9)
    for metric, share in loads.items():
        count = 1000 * (end - start) * np.array([share.get(name, 0.1) for name in names])
        percent = np.diff(count_at(borders, start, end, count)) / 1000 / PERIOD * 100
        shown = np.where(percent > 0, np.maximum(np.round(percent), 1), 0).tolist()
        builder.samples(shown, start=-PERIOD, period=PERIOD, metric=f"{metric} [Throughput %]")
    kernels = read(builder, tmp_path).kernels.set_index("name")
    # Issue slots are what binds SGEMM, and its name says what they are used for.
    bound = {COPY: "memory", SGEMM: "fp32", GEMM: "tensor", CONV: "latency", OWN: "latency"}
    assert kernels["bound"].to_dict() == bound
    assert kernels["dram_pct"][[COPY, GEMM]].tolist() == pytest.approx([90, 20], abs=5)
    assert kernels["sm_issue_pct"][[SGEMM, GEMM]].tolist() == pytest.approx([80, 10], abs=3)
    assert kernels["sm_active_pct"].tolist() == pytest.approx([90] * 5, abs=5)


def test_kernels_by_path_are_made_when_they_are_asked_for():
    report = tcprof.read(Path(__file__).parent.parent / "fixtures" / "mlp_tf32.sqlite")
    for each in (report.analysis, report.analysis.replace(window="host")):
        assert isinstance(vars(each)["kernels_by_path"], Deferred)
    assert len(report.kernels_by_path) >= len(report.kernels)


@pytest.mark.parametrize(
    ("percent", "half", "expected"), [(98.6, 98.6, True), (3, 60, True), (40, 20, False), (0.5, 0.6, False)]
)
def test_what_may_be_all_or_nothing_is_unknown(percent, half, expected):
    assert are_unknown(percent, half) == expected
