"""Two small recordings side by side."""

import re

import numpy as np
import pytest
from builders import TraceBuilder, analyzed, assert_rows

import tcprof
from tcprof.comparison import Side, compare
from tcprof.comparison.gate import judge_condition, parse_condition
from tcprof.errors import InputError, UsageError
from tcprof.findings.compared import judge_comparison
from tcprof.findings.finding import Severity, texts_of
from tcprof.frames import COMPARISON

pytestmark = pytest.mark.usefixtures("shared_reads")

GEMM = "nvjet_hsh_128x128_64x4_1x2_h_bz_NNT"
ASSUMED = (
    "Run-to-run variation is assumed: a side has only one recording. Record each several times: "
    "tcprof profile --repeat 5."
)


def steps(count, kernel_ns, value, *, inner=("forward",), gpu="NVIDIA H200"):
    """Steps of 100 µs with a kernel of the given length in each inner range, under samples of one value."""
    builder = TraceBuilder().gpu(0, gpu).recorded(duration=100_000 * count)
    for at in builder.steps(count, 100_000, 80_000):
        for k, name in enumerate(inner):
            builder.range(name, at + 10_000 * k, at + 10_000 * (k + 1))
            launched = at + 10_000 * k + 1
            builder.kernel(GEMM, at + 20_000 * (k + 1), at + 20_000 * (k + 1) + kernel_ns, launched=launched)
    return builder.samples([value] * 10 * count)


def cautions_of(comparison):
    return texts_of(judge_comparison(comparison).cautions, Severity.CAUTION)


def quantity(comparison, name):
    return comparison.rows[comparison.rows["quantity"] == name].reset_index(drop=True)


def test_every_quantity_is_compared_per_instance(tmp_path):
    base, new = (
        analyzed(steps(4, 20_000, 10), tmp_path, "a.sqlite"),
        analyzed(steps(2, 10_000, 40), tmp_path, "b.sqlite"),
    )
    rows = compare(base, new).rows
    expected = """
        quantity                 base      new       difference  ratio  verdict  base_instance_count  new_instance_count
        unprofiled_step_ns       –         –         –           –      -        4                    2
        step_ns                  –         –         –           –      -        4                    2
        host_ns                  10_000    10_000    0           1      =        4                    2
        gpu_window_ns            20_000    10_000    -10_000     0.5    -        4                    2
        kernel_ns                20_000    10_000    -10_000     0.5    -        4                    2
        idle_ns                  0         0         0           –      =        4                    2
        kernel_count             1         1         0           1      =        4                    2
        tensor_active_mean_pct   10        40        30          4      -        4                    2
        tensor_active_peak_pct   10        40        30          4      -        4                    2
        tensor_active_s          0.000002  0.000004  0.000002    2      -        4                    2
        tensor_cycles            –         –         –           –      -        4                    2
        tensor_kernel_share_pct  100       100       0           1      =        4                    2
        tensor_tflops            –         –         –           –      -        4                    2
        hfu_pct                  –         –         –           –      -        4                    2
        useful_tflops            –         –         –           –      -        4                    2
        mfu_pct                  –         –         –           –      -        4                    2
        dram_bytes               –         –         –           –      -        4                    2
        """
    assert_rows(rows[rows["path"] == "step / forward"], expected)
    capture = quantity(compare(base, new), "host_ns")
    assert_rows(capture.head(1), "path  depth  base  new\n-  0  320_000  110_000")
    assert [(n, str(d)) for n, d in rows.dtypes.items()] == [(c.name, c.dtype) for c in COMPARISON.columns]


def test_a_ratio_to_0_is_unknown(tmp_path):
    base = analyzed(steps(2, 10_000, 0), tmp_path, "a.sqlite")
    new = analyzed(steps(2, 10_000, 50), tmp_path, "b.sqlite")
    assert_rows(
        quantity(compare(base, new), "tensor_active_mean_pct"),
        """
        path            base  new  difference  ratio
        -               0     50   50          –
        step            0     50   50          –
        step / forward  0     50   50          –
        """,
    )


def tree(folder, name, *ranges):
    builder = TraceBuilder().gpu().samples([1, 1])
    for label, start, end in ranges:
        builder.range(label, start, end)
    return analyzed(builder, folder, name)


@pytest.mark.parametrize(
    ("base", "new", "paths"),
    [
        ([("a", 10, 20)], [("x", 0, 5), ("a", 10, 20)], ["", "x", "a"]),
        ([("a", 0, 10), ("b", 20, 30)], [("a", 0, 10), ("x", 2, 4), ("b", 20, 30)], ["", "a", "a / x", "b"]),
    ],
)
def test_rows_are_in_the_order_of_a_tree_with_new_ones_where_they_belong(tmp_path, base, new, paths):
    sides = tree(tmp_path, "a.sqlite", *base), tree(tmp_path, "b.sqlite", *new)
    rows = quantity(compare(*sides), "host_ns")
    assert rows["path"].tolist() == paths
    swapped = quantity(compare(*sides[::-1]), "host_ns")
    assert sorted(swapped["path"]) == sorted(paths)


def test_a_name_with_the_separator_is_not_the_path_of_the_same_text(tmp_path):
    ranges = [("a", 0, 10), ("b", 2, 4), ("a / b", 20, 50)]
    sides = [tree(tmp_path, name, *ranges) for name in ("a.sqlite", "b.sqlite")]
    expected = """
        path   depth  base  new
        -      0      20_000  20_000
        a      1      10    10
        a / b  2      2     2
        a / b  1      30    30
        """
    assert_rows(quantity(compare(*sides), "host_ns"), expected)


@pytest.mark.slow
def test_what_makes_figures_hard_to_compare_is_said(tmp_path):
    base = steps(2, 10_000, 10).exported(nsys="2023.4.4").system("NvDriverVersion", "535.86.05")
    base.captured("GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY", "20000")
    new = TraceBuilder().gpu(0, "NVIDIA A100", sm_count=108).exported(nsys="2025.3.2")
    new.system("NvDriverVersion", "580.95.05").range("other", 0, 10).cycles([5, 5], sm=[10, 10])
    sides = analyzed(base, tmp_path, "a.sqlite"), analyzed(new, tmp_path, "b.sqlite")
    words = (
        *("NVIDIA H200 vs. NVIDIA A100", "rounded percentages in the baseline", "535.86.05 vs. 580.95.05"),
        *("2023.4.4 vs. 2025.3.2", "20 kHz vs. –", "whole captures", ASSUMED),
    )
    for caution, word in zip(cautions_of(compare(*sides, allow_mismatch=True)), words, strict=True):
        assert word in caution


def test_what_a_trace_of_torch_does_not_say_is_no_difference(tmp_path):
    """torch.profiler names the GPU, but neither its chip nor the driver, and is not nsys."""
    base = steps(2, 10_000, 10).system("NvDriverVersion", "580.95.05")
    trace = steps(2, 10_000, 10).gpu(0, "NVIDIA H200", chip="").exported(nsys="")
    cautions = cautions_of(compare(analyzed(base, tmp_path, "a.sqlite"), analyzed(trace, tmp_path, "b.sqlite")))
    assert cautions
    assert not [each for each in cautions if each.startswith("Different")]


def test_files_and_analyses_by_the_public_name(tmp_path):
    path = steps(2, 10_000, 10).exported().write(tmp_path)
    mixed = tcprof.compare(path, tcprof.read(path))
    assert mixed.rows.equals(tcprof.compare(str(path), str(path)).rows)
    with pytest.raises(UsageError, match="there is no window 'cpu'"):
        tcprof.compare(path, path, window="cpu")


def runs(count, *, window=40_000, gap=0, wobble=0, warm_up=0, names=("step",), clock=None, kernels=("gemm",), gr=90):
    """Steps of 100 µs on the CPU with kernels in the given window; every third lasts longer by the wobble."""
    builder = TraceBuilder().gpu(0).recorded(duration=200_000 * count)
    for i in range(count):
        at = 200_000 * i
        length = window + wobble * (i % 3) + 100_000 * (i < warm_up)
        for k, name in enumerate(names):
            builder.range(name, at + k, at + 100_000 - k)
        builder.range("inner", at + 10, at + 90_000)
        for k, name in enumerate(kernels):
            each = length // len(kernels)
            builder.kernel(name, at + 1000 + each * k, at + 1000 + each * (k + 1) - gap, launched=at + 20 + k)
    builder.samples([10] * 20 * count)
    builder.samples([gr] * 20 * count, metric="GR Active [Throughput %]")
    return builder if clock is None else builder.samples([clock] * 20 * count, metric="GPC Clock Frequency [MHz]")


def row(comparison, path, name):
    rows = comparison.rows
    return rows[(rows["path"] == path) & (rows["quantity"] == name)].iloc[0]


def test_renamed_ranges_are_compared(tmp_path):
    base = analyzed(runs(6, names=("train", "iter")), tmp_path, "a.sqlite")
    new = analyzed(runs(6, names=("step",)), tmp_path, "b.sqlite")
    assert "whole captures" in " ".join(cautions_of(compare(base, new)))
    comparison = compare(base, new, {"train / iter": "step"})
    found = row(comparison, "step / inner", "kernel_ns")
    assert (found["depth"], found["base"], found["new"], found["verdict"]) == (2, 40_000, 40_000, "=")
    single = compare(base, new, {"iter": "step"})
    assert row(single, "train / step / inner", "kernel_ns")["base"] == 40_000
    with pytest.raises(UsageError, match="no range 'absent'"):
        compare(base, new, {"absent": "step"})
    with pytest.raises(UsageError, match="no new name"):
        compare(base, new, {"iter": " "})


@pytest.mark.slow
def test_repeats_measure_how_much_runs_differ(tmp_path):
    sides = [
        Side(name, tuple(analyzed(runs(6, window=window), tmp_path, f"{window}.sqlite") for window in windows))
        for name, windows in (("base", (40_000, 41_000, 39_000)), ("new", (30_000, 31_000, 30_500)))
    ]
    comparison = compare(*sides)
    assert comparison.spread == "measured"
    assert not any("not independent" in warning for warning in cautions_of(comparison))
    window = row(comparison, "step", "gpu_window_ns")
    assert (window["base"], window["new"], window["verdict"]) == (40_000, 30_500, "lower")
    assert (window["base_recording_count"], window["base_instance_count"]) == (3, 18)
    assert row(comparison, "", "gpu_window_ns")["verdict"] in ("lower", "~")  # the whole capture too is judged
    assert compare(sides[0], sides[1].first).spread == "assumed"


def test_a_side_without_work_is_refused_unless_allowed(tmp_path):
    idle = TraceBuilder().gpu(0).range("step", 0, 10).samples([1, 1])
    sides = analyzed(runs(6), tmp_path, "a.sqlite"), analyzed(idle, tmp_path, "idle.sqlite")
    with pytest.raises(InputError, match=r"idle\.sqlite has no GPU work") as refused:
        compare(*sides)
    assert "--allow-mismatch" in refused.value.hint
    assert np.isnan(row(compare(*sides, allow_mismatch=True), "step", "gpu_window_ns")["new"])


@pytest.mark.slow
def test_other_clocks_lengths_and_numbers_of_steps_are_said(tmp_path):
    base = analyzed(runs(20, clock=1_980_000_000), tmp_path, "a.sqlite")
    new = analyzed(runs(10, clock=1_600_000_000), tmp_path, "b.sqlite")
    cautions = " ".join(cautions_of(compare(base, new)))
    assert all(words in cautions for words in ("19.2 % (1.98 GHz → 1.60 GHz)", "4.00 ms and 2.00 ms"))
    assert "launch-bound (1 kernel" in judge_comparison(compare(base, new)).verdict[0]
    fewer = analyzed(runs(15), tmp_path, "d.sqlite")
    assert re.search("20 steps.* 15 steps", " ".join(cautions_of(compare(base, fewer))))
    idle = analyzed(runs(20, clock=1_600_000_000, gr=10), tmp_path, "c.sqlite")
    assert "clock" not in " ".join(cautions_of(compare(base, idle)))


@pytest.mark.slow
def test_4_steps_are_the_steps_of_20(tmp_path):
    sides = analyzed(runs(20), tmp_path, "a.sqlite"), analyzed(runs(4, window=80_000), tmp_path, "b.sqlite")
    comparison = compare(*sides)
    assert comparison.step_path == "step"
    assert comparison.new.first.steps["number"].tolist() == [0, 1, 2, 3]
    rows = comparison.rows
    row = rows[(rows["path"] == "step") & (rows["quantity"] == "kernel_ns")].iloc[0]
    assert sorted([row["base"], row["new"]]) == [40_000, 80_000]
    assert (row["verdict"], row["mean_verdict"]) == ("", "")
    assert "an interval needs 5 instances on each side" in row["not_judged"]
    time = comparison.waterfall[comparison.waterfall["quantity"] == "time_ns"].iloc[0]
    assert max(time["base"], time["new"]) == 200_000  # of a step, not of the whole capture
    assert "Only 4 steps in the " in " ".join(judge_comparison(comparison).warnings)
    judged = judge_condition(parse_condition("kernel_time > +5%"), rows, comparison.step_path)
    assert (judged.path, judged.verdict) == ("step", "inconclusive")
    assert judged.reason == row["not_judged"]
