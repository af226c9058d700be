"""Means beside medians: work that only some of the steps do, what a claim survives, and cycles against percentages."""

import json
import re

import numpy as np
import pytest
from builders import US, TraceBuilder

import tcprof
from tcprof.comparison import Side
from tcprof.comparison.gate import judge_condition, parse_condition
from tcprof.findings.compared import judge_comparison
from tcprof.views.comparison.changes import list_quantities, list_range_changes

pytestmark = pytest.mark.usefixtures("shared_reads")


def steps(every=0, *, count=40, work=2_500, extra=900, seed=0, jitter=0.002, gpu="NVIDIA H200"):
    """Steps that the GPU holds up; every so many of them an optimizer runs."""
    rng = np.random.default_rng(seed)
    builder, at = TraceBuilder().gpu(0, gpu), 0
    for number in range(count):
        length = int(US * work * rng.normal(1, jitter))
        builder.kernel("gemm", at + US, at + US + length, launched=at + 10)
        end = at + US + length
        if every and number % every == every - 1:
            builder.kernel("adam", end, end + US * extra, launched=at + 20)
            end += US * extra
        builder.range("step", at, end + US)
        at = end + 3 * US
    return builder.samples([50] * (at // (50 * US) + 1), period=50 * US).recorded(duration=at)


def analyzed(builder, folder, name):
    return tcprof.read(builder.write(folder, name)).analysis


def compare(*sides):
    return tcprof.comparison.compare(*sides)  # looked up there, where shared_reads puts one that compares once


def row(comparison, name, path="step"):
    rows = comparison.rows
    return rows[(rows["path"] == path) & (rows["quantity"] == name)].iloc[0]


def words(comparison):
    return " ".join(judge_comparison(comparison).verdict)


@pytest.fixture
def every_4th(tmp_path):
    """A baseline, and the same with an optimizer of 900 µs in every 4th step of 2.5 ms: the mean is 1.09 times it."""
    return analyzed(steps(), tmp_path, "base.sqlite"), analyzed(steps(4, seed=1), tmp_path, "new.sqlite")


def test_work_of_every_4th_step_moves_the_mean(every_4th):
    comparison = compare(*every_4th)
    found = row(comparison, "gpu_window_ns")
    assert (found["verdict"], found["mean_verdict"]) == ("~", "higher")
    assert found["ratio"] == pytest.approx(1, abs=2e-3)
    assert found["mean_ratio"] == pytest.approx(1.09, abs=2e-3)
    assert found["mean_ratio_low"] < 1.09 < found["mean_ratio_high"]
    waterfall = comparison.waterfall[comparison.waterfall["quantity"] == "time_ns"].iloc[0]
    of_steps = row(comparison, "step_ns")
    assert of_steps["mean_difference"] == pytest.approx(
        waterfall["change"], rel=0.1
    )  # the last, a long one, has no next one
    verdict = words(comparison)
    assert re.match("By the mean, new .*1.08x", verdict)
    assert all(part in verdict for part in ("inconclusive: 2.5", "225 µs longer", "0 ns → 225 µs"))
    labels = [row.name for row in list_quantities(comparison, 0).rows]
    assert labels[labels.index("GPU window") + 1] == "mean"
    assert list_quantities(comparison, 0).rows[labels.index("GPU window") + 1].depth == 2
    assert list_range_changes(comparison, comparison.rows, 0).rows[-1].cells[0].mark == "m"
    assert re.match("By the mean, new .*0.923x", words(compare(*every_4th[::-1])))


@pytest.mark.parametrize(("bound", "verdict"), [("+3%", "fail"), ("+5%", "inconclusive"), ("+20%", "pass")])
def test_the_gate_sees_it(every_4th, bound, verdict):
    comparison = compare(*every_4th)
    judged = judge_condition(parse_condition(f"time > {bound}"), comparison.rows, "step")
    assert (judged.verdict, judged.decided_by) == (verdict, "mean")


@pytest.mark.slow
def test_a_claim_says_what_it_survives(tmp_path):
    base = analyzed(steps(), tmp_path, "a.sqlite")
    found = {}
    for work in (2_550, 2_625, 3_000):
        comparison = compare(base, analyzed(steps(work=work, seed=1), tmp_path, f"{work}.sqlite"))
        found[work] = row(comparison, "step_ns")
        most = found[work]["survives_spread_pct"]
        assert f"{most:.1f} % (assumed: 0.50 %)" in words(comparison) or most < 1
    # The shift, less what chance within the recordings may do, is 2.09 standard deviations of a difference of runs.
    spreads = {work: np.log(work / 2_500) / (2.086 * np.sqrt(2)) * 100 for work in found}
    for work, each in found.items():
        assert each["verdict"] == "higher"
        assert each["survives_spread_pct"] == pytest.approx(spreads[work], rel=0.06)
        assert each["assumed_spread_pct"] == pytest.approx(0.5, rel=0.01)
    alike = row(compare(base, analyzed(steps(seed=2), tmp_path, "b.sqlite")), "gpu_window_ns")
    assert np.isnan(alike["survives_spread_pct"])


# Cycles against percentages

SMS, PARTS = 132, 4


def sampled(exact, rounded, folder, name, count=20):
    """Steps of 100 µs under samples of 10 µs, as cycles, or as whole percentages with 1 for anything above 0."""
    builder = TraceBuilder().gpu().recorded(duration=100_000 * count)
    for at in builder.steps(count, 100_000, 99_000):
        builder.kernel("gemm", at + 10, at + 98_000, launched=at + 1)
    samples = np.tile(exact, 10 * count // len(exact))
    if rounded:
        builder.samples(np.where(samples > 0, np.maximum(np.round(samples), 1), 0).astype(int).tolist())
    else:
        sm = SMS * 19_800
        builder.cycles((samples / 100 * sm * PARTS).astype(int).tolist(), sm=[sm] * len(samples))
    return analyzed(builder, folder, name)


@pytest.mark.slow
def test_rounding_on_one_side_alone_is_no_change(tmp_path):
    cycles, percent = (sampled([0.3], each, tmp_path, f"{each}.sqlite") for each in (False, True))
    assert (cycles.tensor_source, percent.tensor_source) == ("cycles", "rounded")
    for sides in ((cycles, percent), (percent, cycles)):
        comparison = compare(*sides)
        for name in ("tensor_active_mean_pct", "tensor_active_s"):
            found = row(comparison, name)
            assert {found["verdict"], found["mean_verdict"]} <= {"~", "="}
            assert found["difference_low"] <= 0 <= found["difference_high"]
    repeated = compare(Side("base", (cycles, cycles)), Side("new", (percent, percent)))
    assert row(repeated, "tensor_active_mean_pct")["verdict"] == "~"


# Faults and other reasons not to trust the figures


@pytest.fixture
def lossy(tmp_path):
    """Two files of the same program; of the second nsys says that kernels were lost."""
    lost = steps(seed=1).diagnostic("error", "CUPTI dropped 35 records")
    return steps().write(tmp_path, "base.sqlite"), lost.write(tmp_path, "new.sqlite")


def test_lost_kernels_cannot_pass(lossy):
    comparison = compare(*(tcprof.read(path).analysis for path in lossy))
    caveats = judge_comparison(comparison).caveats
    for text in ("time > +50%", "time < -50%"):
        judged = judge_condition(parse_condition(text), comparison.rows, "step", caveats)
        assert judged.verdict == "inconclusive"
    host = judge_condition(parse_condition("host_time > +500%"), comparison.rows, "step", caveats)
    assert host.verdict == "pass"


def test_a_fault_of_the_new_recording_leaves_its_conditions_open(lossy, run):
    args = ["compare", *lossy, "--format", "json", "--fail-if", "kernel_time > +50%", "--fail-if", "host_time > +900%"]
    done = run(*args)
    assert (done.status, run(*args, "--strict").status) == (5, 1)
    gate = json.loads(done.out)["gate"]
    assert [condition["verdict"] for condition in gate] == ["inconclusive", "pass"]
    assert "fault" in gate[0]["reason"]
    assert gate[1]["median"]["high"] is not None
    assert "Gate inconclusive" in done.err


@pytest.mark.slow
def test_other_gpus_and_a_new_name_that_is_nowhere_cannot_pass(tmp_path, run):
    files = [
        steps().write(tmp_path, "base.sqlite"),
        steps(gpu="NVIDIA A100 <b>|`x`").write(tmp_path, "new.sqlite"),
        steps(seed=1).write(tmp_path, "same.sqlite"),
    ]
    condition = ["--fail-if", "time > +900%"]
    done = run("compare", *files[:2], *condition)
    assert "NVIDIA H200 vs. NVIDIA A100" in " ".join(done.out.split())
    assert "Gate inconclusive" in done.out
    shown = run("compare", *files[:2], *condition, "--format", "markdown").out
    assert "<b>" not in shown.replace("\\<b", "")
    wrong = run("compare", files[0], files[2], "--map", "step=stepp", *condition)
    assert (wrong.status, "Gate passed" in wrong.out) == (5, False)
    assert "'stepp'" in wrong.out
    assert run("compare", files[0], files[2], "--map", "step=stepp", *condition, "--strict").status == 1
    assert "Gate passed" in run("compare", files[0], files[2], "--map", "step=step", *condition).out


@pytest.mark.slow
def test_repeats_of_means(tmp_path):
    sides = [
        Side(name, tuple(analyzed(steps(every, seed=seed + n), tmp_path, f"{name}{n}.sqlite") for n in range(3)))
        for name, every, seed in (("base", 0, 0), ("new", 4, 10))
    ]
    comparison = compare(*sides)
    found = row(comparison, "gpu_window_ns")
    assert (found["verdict"] in ("~", "="), found["mean_verdict"]) == (True, "higher")
    assert np.isnan(
        [found["survives_spread_pct"], found["mean_survives_spread_pct"], found["assumed_spread_pct"]]
    ).all()
    assert "assumed" not in words(comparison)
