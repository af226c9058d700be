"""Whole small recordings with the figures that they must give."""

import math

import pytest
from builders import TraceBuilder, assert_rows

from tcprof.analysis import WINDOWS, analyze
from tcprof.findings import judge
from tcprof.frames import INSTANCES, SAMPLES

ROUNDED = (
    "Rounded samples: Nsight Systems gives whole percentages, and 1 for anything above 0, so small means are too high. "
    "'tcprof profile' records exact tensor cycles where the installed nsys can."
)


def training_step():
    """A step of 100 µs with a forward pass, and a backward pass that another thread launches.

    GPU:      copy [15, 20)  gemm [30, 50)  relu [55, 60)   dgrad [70, 90)  wgrad [80, 110)
    Samples:  0 [0, 30)      80 [30, 50)    10 [50, 70)     40 [70, 120)    (µs)

    They are of 10 µs. That of [50, 60) is cut by relu's start; it holds nothing else, and so counts there whole.
    """
    builder = TraceBuilder().gpu(0, "NVIDIA H200", sm_count=132).recorded(duration=120_000)
    builder.range("step", 0, 100_000, thread=1).range("copy", 1_000, 5_000, thread=1)
    builder.range("forward", 5_000, 20_000, thread=1).range("backward", 20_000, 60_000, thread=1)
    builder.copy("host to device", 15_000, 20_000, launched=2_000, thread=1)
    builder.kernel("gemm", 30_000, 50_000, launched=6_000, thread=1)
    builder.kernel("relu", 55_000, 60_000, launched=7_000, thread=1)
    builder.kernel("dgrad", 70_000, 90_000, launched=30_000, thread=2, stream=7)
    builder.kernel("wgrad", 80_000, 110_000, launched=40_000, thread=2, stream=13)
    return builder.samples([0, 0, 0, 80, 80, 10, 10, 40, 40, 40, 40, 40], start=0, period=10_000)


COUNTS = """
    path             instance_count  activity_count  inherited_count  kernel_count  host_ns  gpu_window_ns  busy_ns  kernel_ns
    -                1               5               2                4             95_000   95_000         70_000   75_000
    step             1               5               2                4             100_000  95_000         70_000   75_000
    step / copy      1               1               0                0             4_000    5_000          5_000    0
    step / forward   1               2               0                2             15_000   30_000         25_000   25_000
    step / backward  1               2               2                2             40_000   40_000         40_000   50_000
    """  # noqa: E501

FIGURES = {
    "gpu": """
        path             window_ns  tensor_active_mean_pct  tensor_active_peak_pct  tensor_active_s  coverage_pct
        -                95_000     35.78947368421053       80                      0.000034         100
        step             95_000     35.78947368421053       80                      0.000034         100
        step / copy      5_000      0                       0                       0                100
        step / forward   30_000     56.666666666666664      80                      0.000017         100
        step / backward  40_000     40                      40                      0.000016         100
        """,
    "host": """
        path             window_ns  tensor_active_mean_pct  tensor_active_peak_pct  tensor_active_p95_pct  coverage_pct
        -                95_000     35.78947368421053       80                      80                     100
        step             100_000    30                      80                      80                     100
        step / copy      4_000      0                       –                       –                      100
        step / forward   15_000     0                       0                       0                      100
        step / backward  40_000     42.5                    80                      80                     100
        """,
    "busy": """
        path             window_ns  tensor_active_mean_pct  tensor_active_peak_pct  tensor_active_p95_pct  coverage_pct
        -                95_000     35.78947368421053       80                      80                     100
        step             70_000     47.142857142857146      80                      80                     100
        step / copy      5_000      0                       0                       0                      100
        step / forward   25_000     68                      80                      80                     100
        step / backward  40_000     40                      40                      40                     100
        """,
}


@pytest.mark.parametrize("window", WINDOWS)
def test_a_training_step(tmp_path, window):
    analysis = analyze(training_step().trace(tmp_path), window)
    assert_rows(analysis.ranges, COUNTS)
    assert_rows(analysis.ranges, FIGURES[window])
    assert analysis.window == window
    assert judge(analysis).warnings == (
        ROUNDED,
        "2 of 5 activities were launched by threads without a range; tcprof attributes them to the range open on "
        "another thread at launch.",
    )


def test_instances(tmp_path):
    analysis = analyze(training_step().trace(tmp_path))
    expected = """
        range  host_start_ns  host_end_ns  activity_count  kernel_ns  gpu_start_ns  gpu_end_ns  tensor_active_mean_pct
        0      0              100_000      5               75_000     15_000        110_000     35.78947368421053
        1      1_000          5_000        1               0          15_000        20_000      0
        2      5_000          20_000       2               25_000     30_000        60_000      56.666666666666664
        3      20_000         60_000       2               50_000     70_000        110_000     40
        """
    assert_rows(analysis.instances, expected)
    assert analysis.instances.columns.tolist() == INSTANCES.names
    assert analysis.paths["path"].to_numpy()[analysis.instances["path_id"]].tolist()[3] == "step / backward"


@pytest.mark.parametrize(
    ("samples", "mean", "low", "high"),
    [
        ([8, 0, 0, 0], 2, 2 - 0.5 / 4, 2 + 0.5 / 4),  # rounded to the nearest
        ([1, 0, 0, 0], 0.25, 0, 0.25 + 0.5 / 4),  # anything above 0 reads at least 1
        ([1, 8, 0, 0], 2.25, 2.25 - 1.5 / 4, 2.25 + 1 / 4),
        ([100, 100, 100, 100], 100, 99.5, 100),
    ],
)
def test_the_interval_of_rounded_samples_is_widened_by_what_rounding_can_have_done(tmp_path, samples, mean, low, high):
    builder = TraceBuilder().gpu()
    for i in range(6):
        builder.range("step", 100_000 * i, 100_000 * i + 40_000)
    step = analyze(builder.samples((samples + [0] * 6) * 6).trace(tmp_path), "host").ranges.iloc[1]
    assert step["tensor_active_mean_pct"] == pytest.approx(mean)
    assert (step["tensor_active_low_pct"], step["tensor_active_high_pct"]) == pytest.approx((low, high))


def test_cycles_are_exact_and_their_interval_is_not_widened(tmp_path):
    builder = TraceBuilder().gpu()
    for i in range(6):
        builder.range("step", 100_000 * i, 100_000 * i + 40_000)
    builder.cycles([800, 0, 0, 0, 0, 0, 0, 0, 0, 0] * 6, sm=[10_000] * 60)
    analysis = analyze(builder.trace(tmp_path), "host")
    expected = """
        path  tensor_active_mean_pct  tensor_active_low_pct  tensor_active_high_pct  tensor_cycles
        -     0.2                     –                      –                       4_800
        step  0.5                     0.5                    0.5                     4_800
        """
    assert_rows(analysis.ranges, expected)
    assert analysis.tensor_source == "cycles"
    assert judge(analysis).warnings == (
        "The recording has no kernels: record with --trace=cuda,nvtx, and check that the program used a GPU.",
    )


def test_ranks_of_a_job_each_on_its_own_gpu(tmp_path):
    """CUDA_VISIBLE_DEVICES gives each rank its GPU as device 0."""
    builder = TraceBuilder().gpu(0).gpu(1)
    for rank, process in enumerate((1000, 2000)):
        builder.visible_device(0, rank, process=process).range("step", 0, 50_000, process=process)
        builder.kernel("gemm", 20_000, 40_000, launched=10_000, process=process)
    builder.samples([10] * 6, gpu=0).samples([30] * 6, gpu=1)
    expected = """
        gpu  path  instance_count  kernel_count  tensor_active_mean_pct
        0    -     1               1             10
        0    step  1               1             10
        1    -     1               1             30
        1    step  1               1             30
        """
    assert_rows(analyze(builder.trace(tmp_path)).ranges, expected)


def test_the_capture_reaches_from_the_first_activity_to_the_last(tmp_path):
    """Whatever range they are of; what was sampled before and after is kept separate.

    The sample of [5, 15) holds only the first kernel, which begins at 10 µs: all its 10 % are of that. In [15, 25) two
    kernels run until 20 µs and one from then on, so that two thirds lie before.
    """
    builder = TraceBuilder().gpu().recorded(duration=40_000).range("step", 0, 10_000)
    builder.kernel("in", 10_000, 20_000, launched=5_000).kernel("outside", 15_000, 40_000, launched=14_000)
    trace = builder.samples([30, 10, 20, 100], start=-5_000).trace(tmp_path)
    expected = """
        path  activity_count  host_ns  window_ns  busy_ns  kernel_ns  tensor_active_mean_pct  tensor_active_peak_pct
        -     2               30_000   30_000     30_000   35_000     52                      100
        step  1               10_000   10_000     10_000   10_000     23.333333333333333      –
        """
    analysis = analyze(trace, kernels=False)
    assert_rows(analysis.ranges, expected)
    assert_rows(analysis.outside, "gpu  sampled_s  tensor_active_s\n0  0.000015  0.000003")


def test_no_kernels(tmp_path):
    trace = TraceBuilder().gpu().range("step", 0, 20_000).samples([10, 20, 30]).trace(tmp_path)
    expected = """
        path  activity_count  kernel_ns  gpu_window_ns  busy_ns  tensor_active_mean_pct
        -     0               0          –              –        20
        step  0               0          –              –        –
        """
    assert_rows(analyze(trace, "gpu").ranges, expected)
    assert_rows(analyze(trace, "busy").ranges, expected)
    assert analyze(trace, "host").ranges["tensor_active_mean_pct"].tolist() == [20, 15]
    assert judge(analyze(trace)).warnings[1].startswith("The recording has no kernels")


@pytest.mark.parametrize("window", WINDOWS)
def test_nothing_at_all(tmp_path, window):
    analysis = analyze(TraceBuilder().exported().trace(tmp_path), window)
    expected = """
        gpu  path  instance_count  activity_count  host_ns  gpu_window_ns  tensor_active_mean_pct  coverage_pct
        0    -     1               0               0        –              –                       –
        """
    assert_rows(analysis.ranges, expected)
    assert analysis.samples.columns.tolist() == SAMPLES.names
    assert len(judge(analysis).warnings) == 2


def test_under_half_covered_nothing_is_said_and_the_reason_is(tmp_path):
    builder = TraceBuilder().gpu().range("half", 0, 40_000).range("less", 100_000, 140_002)
    builder.samples([50] * 9, times=[0, 10_000, 100_000, 110_000, *range(300_000, 350_000, 10_000)])
    trace = builder.trace(tmp_path)
    analysis = analyze(trace, "host")
    expected = """
        path  coverage_pct        tensor_active_mean_pct  tensor_active_s  tensor_active_peak_pct  tensor_active_p95_pct
        -     25.714285714285715  –                       –                –                       –
        half  50                  50                      0.00001          50                      50
        less  49.99750012499375   –                       –                –                       –
        """
    assert_rows(analysis.ranges, expected)
    assert "2 of 3 rows have no figures: under half of their window was sampled." in judge(analysis).warnings


def warnings_of(builder, folder):
    return judge(analyze(builder.trace(folder))).warnings


def test_gpu_time_of_no_range_is_told_by_cause_the_largest_first(tmp_path):
    builder = TraceBuilder().gpu().range("step", 0, 100, process=1).kernel("own", 0, 500, launched=10, process=1)
    builder.kernel("late", 0, 200, launched=150, process=1, stream=8).kernel("unlaunched", 0, 295, process=1, stream=9)
    builder.kernel("other", 0, 5, launched=5, process=2).samples([0, 0])
    found = [text for text in warnings_of(builder, tmp_path) if "belongs to no range" in text]
    assert found == [
        "29.5 % of the GPU's activity time (1 activity) belongs to no range: no launch recorded. To fix this: record "
        "with --trace=cuda,nvtx; for CUDA graphs with --cuda-graph-trace=node.",
        "20.0 % of the GPU's activity time (1 activity) belongs to no range: no range was open. To fix this: open a "
        "range around that part of the program.",
    ]  # half a percent in another process is not worth a sentence


@pytest.mark.parametrize(
    ("metric", "said"),
    [("GR Active", "the requested tensor counter"), ("Tensor Active", "Exact tensor cycles were requested")],
    ids=["none", "rounded"],
)
def test_a_tensor_counter_that_nsys_skipped(tmp_path, metric, said):
    skipped = "GPU Metrics [0]: Skipping metric {} (requires unsupported counter 0x1 @ auto)"
    builder = TraceBuilder().gpu().samples([1, 2], metric=f"{metric} [Throughput %]")
    builder.diagnostic("information", skipped.format("NVLRX.TriageCompute.nvlrx__bytes.avg"))
    assert said not in " ".join(warnings_of(builder, tmp_path))
    builder.diagnostic("information", skipped.format("SM.TriageCompute.sm__pipe_tensor_cycles_active.sum"))
    found = warnings_of(builder, tmp_path)
    assert said in found[0]
    assert "this GPU or its driver does not offer" in found[0]
    assert "profile" not in found[0]


def test_samples_that_nsys_marked_are_left_out(tmp_path):
    analysis = analyze(TraceBuilder().gpu().samples([50] * 10).lost(20_000, 41_000).trace(tmp_path))
    assert_rows(analysis.ranges, "coverage_pct  tensor_active_mean_pct  tensor_active_s\n70  50  0.000035")


def test_an_analysis_cannot_be_changed(tmp_path):
    analysis = analyze(TraceBuilder().exported().trace(tmp_path))
    with pytest.raises(AttributeError):
        analysis.window = "host"
    assert math.isnan(analysis.recording.duration_ns)


def test_an_activity_inherited_in_one_domain_counts_as_inherited_in_the_capture(tmp_path):
    builder = TraceBuilder().gpu().range("step", 0, 100, thread=1).range("all_reduce", 10, 20, thread=2, domain="NCCL")
    builder.kernel("nccl", 15, 16, launched=15, thread=2)
    analysis = analyze(builder.trace(tmp_path))
    assert analysis.ranges["inherited_count"].tolist() == [1, 1, 0]
    assert any(
        text.startswith("1 of 1 activities were launched by threads without a range")
        for text in judge(analysis).warnings
    )
