"""What a page says first: the verdict, the figures with their intervals, and what was checked."""

import math
import shutil
import sqlite3
from dataclasses import replace

import pandas as pd
import pytest
from builders import FIXTURES, US, TraceBuilder
from report_inputs import HOSTILE, make_analysis, make_empty, make_samples, summarize
from slow import first_of

import tcprof
from tcprof.analysis.mean_step import find_typical
from tcprof.findings.compared.verdict import judge_change
from tcprof.findings.steps import measure_step_figures
from tcprof.frames import CLOCKS
from tcprof.units import format_interval, format_ns, format_pct, format_pct_interval
from tcprof.views.recording.ranges import list_ranges

pytestmark = pytest.mark.usefixtures("shared_reads")


def step_trace(kernels=4, kernel=5 * US, every=40 * US, host=None, gap=0, steps=10, copies=0, active=0, name="step"):
    """Steps that launch kernels of one length at fixed distances, with copies behind them and gaps between steps."""
    trace = TraceBuilder().gpu()
    window = (kernels - 1) * every + kernel + copies
    begin = 1_000 * US
    for _ in range(steps):
        length = window if host is None else host
        trace.range(name, begin - 2 * US, begin - 2 * US + length)
        for number in range(kernels):
            start = begin + number * every
            trace.kernel("vectorized_elementwise_kernel", start, start + kernel, launched=begin - US)
            if copies:
                trace.copy("device to device", start + kernel, start + kernel + copies, launched=begin - US)
        begin += window + gap
    trace.samples([active] * math.ceil((begin + 100 * US) / (10 * US)), period=10 * US)
    return trace


def verdict_of(folder, **changes):
    (summary,) = summarize(tcprof.read(step_trace(**changes).write(folder)).analysis)
    return " ".join(summary.verdict)


class TestSteps:
    def test_figures(self, tmp_path):
        figures = measure_step_figures(tcprof.read(step_trace(gap=25 * US, active=30).write(tmp_path)).analysis, 0)
        assert (figures.name, figures.count, figures.window_ns) == ("step", 10, 125 * US)
        assert figures.step_ns == 150 * US
        assert figures.idle_pct == pytest.approx(100 * (1 - 10 * 20 / (9 * 150 + 125)))
        assert (figures.kernel_count, figures.kernel_ns) == (4, 5 * US)
        assert figures.coverage_pct == pytest.approx(100)

    def test_none_without_steps(self):
        assert measure_step_figures(make_analysis(), 0) is None

    def test_warm_up_is_left_out(self):
        report = tcprof.read(FIXTURES / "mnist_amp.sqlite")
        typical = find_typical(report.analysis, 0)
        rest = report.steps[~report.steps["warm_up"]]
        assert measure_step_figures(report.analysis, 0).count == len(rest) == 48
        assert typical["gpu_window_ns"].value == rest["gpu_window_ns"].median()
        assert typical["window_active_pct"].value == pytest.approx(rest["window_active_pct"].median())
        assert typical["gpu_window_ns"].low < typical["gpu_window_ns"].value < typical["gpu_window_ns"].high

    def test_rounded_samples_widen_the_interval(self, tmp_path):
        report = tcprof.read(step_trace(active=1).write(tmp_path))
        assert report.analysis.tensor_source == "rounded"
        figures, found = measure_step_figures(report.analysis, 0), find_typical(report.analysis, 0)["window_active_pct"]
        assert found.low < found.value < found.high
        assert figures.low_pct < figures.tensor_active_pct < figures.high_pct

    def test_two_paths_are_pooled(self):
        """The steps of two epochs, each to the next: between them the Tensor Cores do nothing."""
        report = tcprof.read(FIXTURES / "mnist_amp.sqlite")
        rows = report.ranges[report.ranges["name"] == "step"]
        figures = measure_step_figures(report.analysis, 0)
        assert len(rows) == 2
        active = rows["tensor_active_s"].sum() * 1e9 / figures.total_ns
        assert figures.tensor_active_pct == pytest.approx(100 * active, rel=0.01)
        assert figures.low_pct < figures.tensor_active_pct < figures.high_pct
        assert figures.count == (rows["instance_count"] - rows["slow_count"]).sum()


PLAIN, TENSOR = "plain_product", "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_kernel"


def products(*runs, name=""):
    """Kernels of 1 ms one after the other, 54 % of them plain, each of which may be in a range; in runs of names."""
    trace, cycles, at = TraceBuilder().gpu(), [], 1_000 * US
    for kernel, count in runs:
        for _ in range(count):
            length = 1_000 * US if kernel == PLAIN else 1_700 * US
            if name and kernel == PLAIN:
                trace.range(name, at - 20 * US, at - 5 * US)
            trace.kernel(kernel, at, at + length, launched=at - 10 * US)
            at += length
            cycles += [900_000 if kernel == TENSOR else 0] * (length // (10 * US))
    return trace.cycles([*[0] * 100, *cycles, *[0] * 50], sm=[19_800 * 132 // 2] * (len(cycles) + 150), period=10 * US)


class TestWhole:
    """What is said of a recording is so of all of it, not of its steps alone."""

    def test_one_kernel_again_and_again_is_no_step(self, tmp_path):
        analysis = tcprof.read(products((PLAIN, 6), (TENSOR, 3)).write(tmp_path))
        assert analysis.steps.empty
        (verdict,) = analysis.verdict
        assert "tensor kernels 45.9 % (Tensor Active" in verdict
        assert "No kernel" not in verdict
        assert "all-well" not in {each.rule for each in analysis.advice}

    def test_what_steps_do_not_hold_is_told(self, tmp_path):
        report = tcprof.read(products((PLAIN, 6), (TENSOR, 3), name="naive").write(tmp_path))
        (summary,) = summarize(report.analysis)
        outside = "45.9 % of the kernel time lies outside these steps (45.9 % in tensor kernels)."
        assert len(report.steps) == 6
        assert "No kernel of a step uses the Tensor Cores." in summary.verdict
        assert summary.headline[-1] == outside
        assert "all-well" not in {each.rule for each in report.advice}

    def test_graphs_that_lie_outside_are_told(self, tmp_path):
        trace = products((PLAIN, 6), name="naive").graph(20_000 * US, 24_000 * US, launched=19_000 * US)
        (summary,) = summarize(tcprof.read(trace.write(tmp_path)).analysis)
        assert "No kernel of a step uses the Tensor Cores." in summary.verdict
        outside = "40.0 % of the kernel time lies outside these steps (40.0 % in CUDA graphs recorded as a whole)."
        assert summary.headline[-1] == outside

    def test_tensor_kernels_of_steps_are_judged_by_these(self, tmp_path):
        """Warm-up and what comes later are no part of how busy the Tensor Cores were under them."""
        trace = products((TENSOR, 6), (PLAIN, 1))
        for at in range(6):
            start = 1_000 * US + at * 1_700 * US
            trace.range("step", start - 20 * US, start - 5 * US)
        trace.kernel(TENSOR, 20_000 * US, 30_000 * US, launched=19_000 * US)
        analysis = tcprof.read(trace.write(tmp_path))
        launched = analysis.kernel_instances[analysis.kernel_instances["step"] >= 0]
        active = 100 * launched["tensor_active_ns"].sum() / launched["duration_ns"].sum()
        assert f"(Tensor Active {format_pct(active)} while they ran)" in analysis.verdict[0]

    def test_graphs_may_hide_tensor_kernels(self, tmp_path):
        trace, cycles = TraceBuilder().gpu(), []
        for at in range(0, 10_000 * US, 1_000 * US):
            trace.range("step", at, at + 900 * US)
            trace.kernel("vectorized_elementwise_kernel", at + 100 * US, at + 500 * US, launched=at + 50 * US)
            trace.graph(at + 500 * US, at + 900 * US, launched=at + 60 * US)
            cycles += [900_000 if 50 <= sample < 90 else 0 for sample in range(100)]
        trace.cycles(cycles, sm=[19_800 * 132 // 2] * len(cycles), period=10 * US)
        (summary,) = summarize(tcprof.read(trace.write(tmp_path)).analysis)
        assert "No kernel uses the Tensor Cores outside the CUDA graphs, whose kernels are unknown." in summary.verdict
        assert "CUDA graphs recorded as a whole 40.8 %" in summary.verdict[-1]


class TestSentences:
    @first_of(3)(
        ("changes", "said", "unsaid"),
        [
            (
                {},
                "The GPU was idle 84.0 % of the time: the run is launch-bound, partly due to profiling overhead. A "
                "step launches 4 kernels of 5.00 µs on average, which take longer to launch than to run.",
                "outside of",
            ),
            (
                {"kernel": 30 * US, "copies": 10 * US},
                "non-tensor kernels 75.0 %; copies and memsets 25.0 %; GPU idle 0.0 %.",
                "waited",
            ),
            ({"kernel": 30 * US}, "No kernel uses the Tensor Cores.", "outside of"),
            ({"kernel": 30 * US, "active": 8}, "no kernel is known to multiply matrices:", "No "),
            ({"every": 400 * US}, "the run is CPU-bound", "launch-bound"),
            ({"host": 20 * US}, "The GPU was idle 84.0 % of the time.", "CPU"),
            ({"gap": 125 * US}, "The GPU was idle 91.6 % of the time: the run is launch-bound", "outside of"),
            ({"active": 40}, "The Tensor Cores were busy 40.0 % of the step.", "outside of"),
        ],
    )
    def test_what_had_the_time_and_why(self, changes, said, unsaid, tmp_path):
        verdict = verdict_of(tmp_path, **changes)
        assert said in verdict
        assert unsaid not in verdict

    def test_a_comparison_says_the_same(self):
        analysis = tcprof.read(FIXTURES / "fashion_pinned.sqlite")
        verdict = " ".join(judge_change(tcprof.compare(analysis, analysis).comparison, 0).sentences)
        assert "the run is CPU-bound, " in analysis.verdict[0]
        assert ": both are CPU-bound (" in verdict

    @pytest.mark.slow
    def test_a_matrix_kernel_whose_name_tells_nothing_is_not_denied(self, tmp_path):
        path = tmp_path / "renamed.sqlite"
        shutil.copyfile(FIXTURES / "wmma.sqlite", path)
        with sqlite3.connect(path) as recording:
            recording.execute("UPDATE StringIds SET value = replace(value, 'wmma_product', 'product')")
        recording.close()
        said = " ".join(summarize(tcprof.read(path).analysis)[0].verdict)
        assert "The tensor pipe is active, but no kernel is known to multiply matrices:" in said
        assert "unresolved 14.4 %" in said

    @pytest.mark.parametrize("name", HOSTILE[3:4], ids=lambda name: name[:5])
    def test_name_of_the_steps_is_one_short_line(self, tmp_path, name):
        said = verdict_of(tmp_path, name=name)
        assert len(said) < 500
        assert not {"\n", "\u202e", "\u2028"} & set(said)

    @first_of(4)(
        ("file", "parts"),
        [
            ("mnist_amp", ["busy 0.29 % of the step.", "launch-bound"]),
            ("transformer_eager", ["busy 33.3 %", "(memory-bound 17.3 %, issue-bound 13.3 %, small grid 6.2 %)"]),
            (
                "jax_mlp",
                [
                    "busy 64.5 %",
                    "CUDA graphs took 99.8 % of the time; the recording does not show the kernels in them.",
                ],
            ),
            (
                "matmul",
                ["from the GPU's first activity to its last", "The highest Tensor Active of a range is 94.0 %"],
            ),
            ("mlp_fp32", ["No kernel uses the Tensor Cores."]),
            ("wmma", ["tensor kernels 14.4 % (Tensor Active 4.3 % while they ran)"]),
        ],
    )
    def test_recordings(self, file, parts):
        (summary,) = summarize(tcprof.read(FIXTURES / f"{file}.sqlite").analysis)
        said = " ".join(summary.verdict)
        for part in parts:
            assert part in said

    def test_shares_are_those_of_the_timeline(self):
        report = tcprof.read(FIXTURES / "transformer_eager.sqlite")
        row, (step,) = report.timeline.set_index("path").loc["step"], report.step_summary.to_dict("records")
        said = " ".join(summarize(report.analysis)[0].verdict)
        assert f"tensor kernels {format_pct(100 * row['tensor_kernel_ns'] / step['total_ns'])}" in said
        assert f"GPU idle {format_pct(100 * step['idle_ns'] / step['total_ns'])}" in said


class TestCapture:
    def test_exact(self):
        assert summarize(make_analysis())[0].verdict == (
            "The Tensor Cores were busy 2.0 % of the 18.0 ms from the GPU's first activity to its last.",
            "The highest Tensor Active of a range is 27.0 % (95 % interval 26.0 % to 28.0 %), in “step / forward” "
            "(mean over the GPU windows of its 6 instances).",
        )

    def test_none_active(self):
        ranges = make_analysis().ranges
        idle = ranges.assign(tensor_active_mean_pct=ranges["tensor_active_mean_pct"] * 0)
        assert (
            summarize(make_analysis(ranges=idle))[0].verdict[1] == "No range with a figure had a Tensor Active above 0."
        )

    def test_too_little_covered(self):
        ranges = make_analysis().ranges.assign(tensor_active_mean_pct=math.nan, coverage_pct=31.0)
        (summary,) = summarize(make_analysis(ranges=ranges))
        assert summary.verdict[0].endswith("is unknown: only 31.0 % of the time is covered by samples.")
        assert [check.state for check in summary.checks if check.name == "Coverage"] == ["poor"]

    def test_nothing_recorded(self):
        (summary,) = summarize(make_empty())
        assert summary.verdict == (
            "Whether the Tensor Cores worked is unknown: the recording has no samples of Tensor Active, "
            "and no GPU work.",
        )
        assert {each.value for each in summary.figures} == {"–"}
        assert summary.shares == ()

    def test_names_of_kernels_are_not_taken_for_a_measurement(self, tmp_path):
        trace = TraceBuilder().gpu().kernel("vectorized_elementwise_kernel", 1_000_000, 1_500_000)
        (summary,) = summarize(tcprof.read(trace.write(tmp_path)).analysis)
        assert "By their names, no kernel is known to use the Tensor Cores." in " ".join(summary.verdict)


class TestFigures:
    def test_of_steps_have_window_and_interval(self):
        (summary,) = summarize(tcprof.read(FIXTURES / "mnist_amp.sqlite").analysis)
        found = {each.title: each for each in summary.figures}
        assert 5 <= len(found) <= 7
        assert found["Step time"].value == "3.28 ms"
        assert found["Step time"].interval.endswith("ms")
        assert found["Step time"].caption == "from one step's start to the next one's, median of 48 steps"
        assert found["Tensor Active"].interval
        assert "of the chip's peak" in found["Tensor FLOP/s"].caption

    def test_rate_of_operations_is_over_the_steps_windows(self):
        report = tcprof.read(FIXTURES / "transformer_eager.sqlite")
        row = report.ranges.set_index("path").loc["step"]
        (rate,) = [each for each in summarize(report.analysis)[0].figures if each.title == "Tensor FLOP/s"]
        assert rate.value == f"{row['tensor_tflops']:.0f} TFLOP/s"
        assert rate.caption.startswith(format_pct(row["tensor_peak_pct"]))

    def test_of_rounded_samples_leave_room_on_both_sides(self):
        samples = make_samples([0.0, 1.0, 20.0, 3.0])  # each may be 0.5 lower or higher; 0 is 0, and 1 is all above 0
        ranges = make_analysis().ranges.assign(tensor_active_mean_pct=6.0)
        (summary,) = summarize(make_analysis(tensor_source="rounded", samples=samples, ranges=ranges))
        assert summary.figures[1].interval == "5.5–6.4 %"


class TestChecks:
    def states(self, analysis):
        return {check.name: check.state for check in summarize(analysis)[0].checks}

    def test_all_in_order(self):
        assert set(self.states(tcprof.read(FIXTURES / "mnist_amp.sqlite").analysis).values()) == {"good"}

    def test_faults_and_rounding_are_poor(self):
        lost = replace(make_analysis().observed, lost_ns=1000)
        states = self.states(make_analysis(observed=lost, tensor_source="rounded"))
        assert states["Lost samples or kernels"] == "poor"
        assert states["Samples"] == "poor"

    def test_samples_that_were_moved_are_in_order(self):
        row = {"gpu": [0], "offset_ns": 9000, "agreement_pct": 95.0, "error_ns": 500.0, "edge_count": 9}
        clocks = CLOCKS.conform(pd.DataFrame(row | {"shift_ns": 9000, "last_shift_ns": 9000}))
        assert self.states(make_analysis(clocks=clocks))["Clock check"] == "good"

    def test_work_outside_of_ranges(self, tmp_path):
        trace = step_trace().kernel("lonely", 100 * US, 500 * US)
        assert self.states(tcprof.read(trace.write(tmp_path)).analysis)["Work in ranges"] == "poor"

    def test_a_gpu_without_work_has_none_outside_of_ranges(self, tmp_path):
        trace = step_trace(active=20).gpu(1).samples([0] * 50, gpu=1)
        _, unused = summarize(tcprof.read(trace.write(tmp_path)).analysis)
        assert "Work in ranges" not in {check.name for check in unused.checks}
        assert unused.verdict[1:] == ("No traced work ran on it.",)


@pytest.mark.parametrize(
    ("low", "high", "text", "shown"),
    [
        (13.5, 15.5, format_pct, "13.5–15.5 %"),
        (857_000, 1_690_000, format_ns, "857 µs–1.69 ms"),
        (0.0001, 0.0002, format_pct, "<0.001 %"),
        (0.0, 0.0005, format_pct, "0.0–<0.001 %"),
        (math.nan, 1.0, format_pct, ""),
        (5.0, 5.0, format_pct, "5.0 %"),
    ],
)
def test_interval_is_written_with_one_unit(low, high, text, shown):
    assert format_interval(low, high, text) == shown


def test_an_interval_from_0_to_100_percent_says_nothing(tmp_path):
    assert format_pct_interval(0.0, 100.0) == "unresolved"
    assert format_pct_interval(0.0, 99.0) == "0.0–99.0 %"
    assert format_pct_interval(math.nan, 100.0) == ""
    ranges = make_analysis().ranges
    unresolved = ranges.assign(tensor_active_low_pct=0.0, tensor_active_high_pct=100.0)
    analysis = make_analysis(ranges=unresolved)
    (summary,) = summarize(analysis)
    assert not any("highest Tensor Active" in sentence for sentence in summary.verdict)
    (table,) = list_ranges(analysis, unresolved)
    assert any(cell.after == ("unresolved",) for row in table.rows for cell in row.cells)
