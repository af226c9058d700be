"""What recording costs: the steps of a run without nsys beside those recorded, and what the verdict makes of it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import FIXTURES, US, TraceBuilder

import tcprof
from tcprof.analysis.mean_step import Typical
from tcprof.findings.compared.verdict import is_shown, time_row
from tcprof.findings.pricing.step import measure_step
from tcprof.findings.steps import LAUNCH_BOUND, measure_cost
from tcprof.findings.verdict import measure_shares
from tcprof.frames import UNPROFILED
from tcprof.history.run import list_points
from tcprof.sources.nsys_sqlite.export import write_unprofiled

pytestmark = pytest.mark.usefixtures("shared_reads")

COUNT = 30


def make_steps(period: float, *, count: int = COUNT, spread: float = 0.02, process: int = 5, training: bool = True):
    """Steps of a run alone, the first one five times as long, the others within a spread."""
    periods = period * (1 + spread * np.random.default_rng(1).uniform(-1, 1, count))
    periods[0] *= 5
    start = np.concatenate([[0], np.cumsum(periods)[:-1]])
    columns = {"process": process, "training": training, "start_ns": start, "end_ns": start + periods, "step_count": 1}
    return UNPROFILED.conform(pd.DataFrame(columns).astype({"start_ns": int, "end_ns": int}))


def record(folder: Path, *, period: int = 100 * US, busy: int = 30 * US, name: str = "step") -> Path:
    """Steps in the annotation's domain, each with ten short kernels, and nothing else on the GPU."""
    builder = TraceBuilder().gpu()
    for number in range(COUNT):
        start = number * period + number % 3
        builder.range(name, start, start + period - US, domain="tcprof", start_end=True)
        for kernel in range(10):
            begin = start + 2 * US + kernel * (period - 6 * US) // 10
            builder.kernel("gemm", begin, begin + busy // 10, launched=begin - US)
    return builder.write(folder)


def read_with(path: Path, steps: pd.DataFrame):
    write_unprofiled(path, steps)
    return tcprof.read(path)


def cost_sentences(analysis) -> list[str]:
    return [text for text in analysis.warnings if "rofiling slowed" in text]


def test_a_recording_that_slowed_the_steps_says_by_how_much(tmp_path):
    analysis = read_with(record(tmp_path), make_steps(50 * US))
    cost = measure_cost(analysis.analysis)
    assert cost.ratio == pytest.approx(2, rel=0.02)
    (sentence,) = cost_sentences(analysis)
    assert sentence.startswith("Profiling slowed a step from 49.9 µs ")
    assert f"to 100 µs ({cost.ratio:.2f}x)" in sentence


def test_steps_shorter_than_the_gpu_s_work_are_others(tmp_path):
    analysis = read_with(record(tmp_path), make_steps(20 * US))
    assert measure_cost(analysis.analysis) is None
    assert [text for text in analysis.warnings if "unprofiled steps are ignored" in text]


@pytest.mark.parametrize(("long", "why"), [(5, "followed by a step of another role"), (1, "are of another role")])
def test_steps_of_another_role_are_others(tmp_path, long, why):
    builder, start = TraceBuilder().gpu(), 0
    for number in range(COUNT):
        name, period = ("inference Net", 100 * US) if number % 3 else ("step", long * 100 * US)
        builder.range(name, start, start + period - US, domain="tcprof", start_end=True)
        builder.kernel("gemm", start + 2 * US, start + period - 9 * US, launched=start + US)
        start += period + number % 3
    analysis = read_with(builder.write(tmp_path), make_steps((long + 2) * 100 * US))
    assert measure_cost(analysis.analysis) is None
    assert [text for text in analysis.warnings if why in text]


def test_steps_that_differ_by_no_more_than_chance_are_inconclusive(tmp_path):
    analysis = read_with(record(tmp_path), make_steps(100 * US, spread=0.3))
    assert not measure_cost(analysis.analysis).is_known
    (sentence,) = cost_sentences(analysis)
    assert sentence.startswith("Whether profiling slowed the steps is inconclusive: a step took ")


def test_an_interval_from_0_on_says_nothing(tmp_path):
    """Of five steps one took next to no time: an interval of their median reaches below it."""
    begins = np.cumsum([0, 500, 100, 2, 101, 554, 102]) * US
    alone = pd.DataFrame({"process": 5, "training": True, "start_ns": begins, "end_ns": begins + US, "step_count": 1})
    analysis = read_with(record(tmp_path), UNPROFILED.conform(alone))
    assert measure_cost(analysis.analysis).unprofiled.low == 0
    (sentence,) = cost_sentences(analysis)
    assert sentence.startswith(
        "Whether profiling slowed the steps is unknown: there are too few steps after the warm-up"
    )


def test_too_few_steps_are_unknown(tmp_path):
    (sentence,) = cost_sentences(read_with(record(tmp_path), make_steps(50 * US, count=4)))
    assert sentence == "Whether profiling slowed the steps is unknown: there are too few steps after the warm-up."


def test_too_few_unprofiled_steps_measure_nothing(tmp_path):
    step = measure_step(read_with(record(tmp_path), make_steps(100 * US, count=4)).analysis, 0)
    assert not step.is_cost_known
    assert step.unprofiled_ns[step.tracing[1]] < 0.9 * step.length_ns


def test_unprofiled_calls_are_counted_by_steps_that_call_a_model_twice(tmp_path):
    builder = TraceBuilder().gpu()
    for number in range(2 * COUNT):
        start = number * 100 * US + number % 3
        builder.range("inference Net", start, start + 99 * US, domain="tcprof", start_end=True)
        builder.range("forward", start + US, start + 80 * US, domain="tcprof", start_end=True)
        builder.kernel("gemm", start + 20 * US, start + 30 * US, launched=start + 2 * US)
        if number % 2:
            builder.kernel("mix", start + 85 * US, start + 90 * US, launched=start + 82 * US)
    cost = measure_cost(read_with(builder.write(tmp_path), make_steps(50 * US, training=False)).analysis)
    assert (cost.unprofiled.value, cost.recorded.value) == pytest.approx((100 * US, 200 * US), rel=0.02)


def test_a_recording_without_a_run_unprofiled_says_nothing(tmp_path):
    report = tcprof.read(record(tmp_path))
    assert measure_cost(report.analysis) is None
    assert cost_sentences(report) == []


def test_steps_of_another_kind_are_not_compared(tmp_path):
    analysis = read_with(record(tmp_path), make_steps(50 * US, training=False))
    assert cost_sentences(analysis) == []


def test_a_run_that_is_launch_bound_by_the_recording_alone_is_not_called_so(tmp_path):
    path = record(tmp_path)
    before = tcprof.read(path)
    assert LAUNCH_BOUND in before.verdict[0]
    figures = before.findings.gpus[0].figures
    assert figures.unprofiled_idle_pct == figures.idle_pct > 50
    after = read_with(path, make_steps(50 * US))
    assert LAUNCH_BOUND not in after.verdict[0]
    alone_pct = after.findings.gpus[0].figures.unprofiled_idle_pct
    assert alone_pct < 50 < after.findings.gpus[0].figures.idle_pct
    paced = after.findings.gpus[0].figures.at_own_pace()
    assert "of the unprofiled step" in after.verdict[0]
    assert sum(measure_shares(paced.time, paced.total_ns, paced.idle_pct).values()) == pytest.approx(100, abs=1)
    assert Typical(paced.step_ns, paced.step_low_ns, paced.step_high_ns) == measure_cost(after.analysis).unprofiled
    still = read_with(path, make_steps(95 * US))
    assert LAUNCH_BOUND in still.verdict[0]


def test_what_recording_costs_is_in_every_output(tmp_path, run):
    path, page = record(tmp_path), tmp_path / "page.html"
    write_unprofiled(path, make_steps(50 * US))
    run("report", path, "-o", page)
    commands = [("show", path, "--notes"), ("compare", path, FIXTURES / "mlp_fp16.sqlite")]
    commands += [("ranges", path, "--format", kind) for kind in ("text", "json", "markdown")]
    done = [run(*command) for command in commands]
    outputs = [f"{each.out} {each.err}" for each in done] + [page.read_text(encoding="utf-8")]
    outputs = [" ".join(output.split()) for output in outputs]
    for output in outputs:
        assert "Profiling slowed a step from 49.9 µs to 100 µs" in output


def test_a_program_ahead_of_its_gpu_is_compared_by_what_the_gpu_did(tmp_path):
    """The host begins ten steps at once, then waits: its own take 1 µs or 991 µs, the GPU's 100 µs."""
    builder = TraceBuilder().gpu()
    for number in range(COUNT):
        host = 10 * US + (number // 10) * 1_000 * US + number % 10 * US
        builder.range("step", host, host + US, domain="tcprof", start_end=True)
        gpu = 2_000 * US + number * 100 * US + number % 3
        builder.kernel("gemm", gpu, gpu + 90 * US, launched=host + 100)
    analysis = read_with(builder.write(tmp_path), make_steps(100 * US))
    cost = measure_cost(analysis.analysis)
    assert cost.recorded.value == pytest.approx(100 * US, rel=0.001)
    assert cost.recorded.high < 101 * US
    assert not cost.is_known


@pytest.mark.parametrize(("alone", "faster"), [((50, 50), False), ((50, 20), True)])
def test_a_comparison_and_its_gate_judge_the_unprofiled_steps(tmp_path, alone, faster):
    """Both recordings take equally long; without recording one may not."""
    sides = []
    for number, period in enumerate(alone):
        folder = tmp_path / f"side{number}"
        folder.mkdir()
        path = record(folder, busy=(10 + number) * US)  # two recordings of equal content are one
        write_unprofiled(path, make_steps(period * US)[1:])
        sides.append(path)
    comparison = tcprof.compare(*sides)
    row = time_row(comparison.comparison, 0)
    assert row["quantity"] == "unprofiled_step_ns"
    assert row["ratio"] == pytest.approx(alone[1] / alone[0], rel=0.02)
    assert is_shown(row) == faster
    (judged,) = comparison.gate("step_time < -10%").judgements
    assert (judged.verdict, judged.condition.quantity) == ("fail" if faster else "inconclusive", row["quantity"])


def test_the_history_of_a_program_has_its_unprofiled_step_time(tmp_path):
    points = list_points(read_with(record(tmp_path), make_steps(50 * US)[1:]).analysis).set_index(["metric", "scope"])
    of_steps = points.loc[("unprofiled_step_ns", "step")]
    assert of_steps["subject"] == points.loc[("step_ns", "step"), "subject"] == "step"
    assert of_steps["value"] == pytest.approx(50 * US, rel=0.02)
    assert of_steps["low"] <= of_steps["value"] <= of_steps["high"]
