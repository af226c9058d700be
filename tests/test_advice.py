"""Advice: each rule fires where it should and not close by; prices are of exposed time, and hold what was won."""

import io
import json
import math
import re
import runpy
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import FIXTURES, MS, US, TraceBuilder
from slow import first, slow

import tcprof
from tcprof import units
from tcprof.analysis import Analysis, analyze
from tcprof.analysis.host import GPU_SIDE, LAUNCHES, WAITS, WORK
from tcprof.analysis.replay import Waits
from tcprof.findings import rules
from tcprof.findings.advise import advise
from tcprof.findings.pricing import CODE
from tcprof.findings.pricing.advice import PER_SAMPLE, Advice, name_advice
from tcprof.findings.pricing.step import Step, measure_step
from tcprof.findings.rules import load_rules, rules_of_findings
from tcprof.nsys.schema import CLOCK_LIMITS
from tcprof.render.formats import PLAIN, load_format
from tcprof.render.html.page import write_page
from tcprof.views.recording.advice import list_advice, view_advice
from tcprof.views.recording.show import view_recording

pytestmark = pytest.mark.usefixtures("shared_reads")

ROOT = Path(__file__).parent.parent
ALL = sorted(path.stem for path in FIXTURES.glob("*.sqlite"))


@cache
def step_on(name: str) -> Step:
    found = measure_step(tcprof.read(FIXTURES / f"{name}.sqlite").analysis, 0)
    assert found is not None
    return found


@cache
def advice_on(name: str) -> tuple[Advice, ...]:
    return advise(step_on(name).analysis)


def notable(name: str) -> set[str]:
    return {each.rule for each in advice_on(name) if each.gain.is_notable or not each.gain.is_known}


# A recording in which each rule fires, and one close by in which it must not.
FIRES = {
    "fp32-matmul": ("mlp_fp32", "mlp_tf32"),
    "tf32-matmul": ("transformer_tf32", "transformer_eager"),
    "launch-bound": ("gan_fp32", "mlp_fp32"),
    "layout-changes": ("mnist_amp_large", "convnet_channels_last"),
    "synchronizing-calls": ("mnist_amp_large", "mnist_pinned"),
    "unfused-optimizer": ("mlp_fp32", "transformer_eager"),
    "fusion": ("transformer_eager", "transformer_compiled"),
    "mixed-precision-overhead": ("net_amp", "mlp_tf32"),
    "unaligned-shapes": ("mlp_tf32_4097", "mlp_tf32"),
    "exposed-copies": ("inference_fp32", "gan_fp16"),
    "pageable-copies": ("net_amp", "inference_fp32"),
    "low-clock": ("transformer_compiled", "llama"),
    "hidden-graphs": ("jax_mlp", "mlp_fp32"),
    "idle-or-tracer": ("mlp_fp16", "mlp_fp16_4097"),
    "few-steps": ("transformer_tf32", "transformer_eager"),
    "no-steps": ("transformer_fp32", "transformer_tf32"),
}
USUAL = 4  # of these; the others are slow, as each reads recordings of its own


@pytest.mark.parametrize(("rule", "where"), first(USUAL, FIRES.items()), ids=FIRES)
def test_a_rule_fires_where_it_should_and_not_close_by(rule, where):
    assert rule in notable(where[0])
    assert rule not in notable(where[1])


def often(names: Iterable[str]) -> list[Any]:
    """The names, of which those are slow that the test above does not usually read."""
    used = {name for both in [*FIRES.values()][:USUAL] for name in both}
    return [found for name in names for found in ([name] if name in used else slow([name]))]


@pytest.mark.parametrize("name", often(ALL))
def test_times_and_shares_of_a_gain_are_of_one_step_everywhere(name):
    """In Python, JSON, the frame and the terminal: low, likely and high, in ns and in %, of the step that is named."""
    report = tcprof.read(FIXTURES / f"{name}.sqlite")
    document = view_advice(report.analysis, report.findings, report.advice)
    written = io.StringIO()
    load_format("json").write(document, PLAIN, written)
    plain = json.loads(written.getvalue())["advice"]
    rows = list_advice(report.advice).to_dict("records")
    for each, told, row in zip(report.advice, plain, rows, strict=True):
        for level in ("low", "likely", "high") if each.gain.is_known else ():
            for gain in (each.gain.figures, told["gain"], row, *(of.gain.figures for of in each.options)):
                of_step = gain[f"{level}_pct"] / 100 * gain["step_ns"]
                assert gain[f"{level}_ns"] == pytest.approx(of_step, abs=1, nan_ok=True)
        if each.gain.is_known:
            whole = "per step" if each.gain.of == "the step" else f"of {units.format_ns(each.gain.step_ns)} total"
            saved = f"{units.format_ns(abs(each.gain.likely_ns))} {whole}"
            saved = each.gain.of if each.gain.of == PER_SAMPLE else saved
            assert (saved if each.gain.likely_ns else "saves nothing") in name_advice(each)
        bases = {option.gain.step_ns for option in each.options if option.gain.is_known}
        assert len(bases) <= 1


@pytest.mark.parametrize("name", often(ALL))
def test_advice_on_every_fixture_makes_sense(name):
    found = advice_on(name)
    assert found  # something is always said of a recording with kernels
    for each in found:
        assert each.sentence
        assert not each.sentence.endswith(".")
        assert each.confidence in ("high", "medium", "low")
        for gain in (each.gain, *(option.gain for option in each.options)):
            if gain.is_known:
                assert gain.low_pct <= gain.likely_pct <= gain.high_pct <= 100
                assert gain.low_ns <= gain.likely_ns <= gain.high_ns
        assert all(len(line) <= 76 for option in each.options for line in option.code), "80 columns, 4 of margin"
    # CUDA graphs come after what explains the launches.
    gains = [each.gain.likely_pct for each in found if each.gain.is_known and each.rule != "launch-bound"]
    assert gains == sorted(gains, reverse=True)


@pytest.mark.parametrize(
    "name", often(name for name in ALL if "fp16" in name or "amp" in name or name == "transformer_eager")
)
def test_autocast_is_not_advised_where_it_is_on(name):
    options = [option.title for each in advice_on(name) for option in each.options]
    assert "autocast to bfloat16" not in options


@pytest.mark.slow
@pytest.mark.parametrize("name", often(ALL))
def test_time_is_counted_once(name):
    step = step_on(name)
    assert step.kernels["exposed_ns"].sum() <= step.busy_ns * (1 + 1e-9) <= step.length_ns * (1 + 2e-9)
    assert sum(step.host.idle_ns.values()) == pytest.approx(step.idle_ns, abs=0.02 * step.length_ns)
    assert step.host.work.sum() == pytest.approx(step.host.idle_ns[WORK])


def step_of(builder: TraceBuilder, folder: Path) -> Step:
    found = measure_step(analyze(builder.trace(folder)), 0)
    assert found is not None
    return found


def test_work_that_takes_no_time_has_no_advice_and_a_page(tmp_path):
    """As where starts and ends are swapped, and kernels are given no time."""
    recorded = TraceBuilder().gpu().range("step", 0, 100).kernel("gemm", 50, 50, launched=10)
    report = tcprof.read(recorded.samples([1] * 9, period=50).write(tmp_path))
    assert advise(report.analysis) == ()
    write_page(view_recording(report.analysis, report.findings, report.advice), tmp_path / "page.html")
    assert "gemm" in (tmp_path / "page.html").read_text()


def test_what_is_compiled_is_not_told_to_be():
    """Casts are left over in compiled programs, too."""
    advice = {each.rule: each for each in advice_on("transformer_compiled")}
    code = [line for option in advice["mixed-precision-overhead"].options for line in option.code]
    assert code
    assert not any("torch.compile(model)" in line for line in code)
    assert code[0].startswith("@torch.compile  #")


def test_idle_time_has_one_reason(tmp_path):
    builder = (
        TraceBuilder()
        .range("load", 2 * MS, 6 * MS)
        .kernel("a", 0, 1 * MS, launched=0)
        .kernel("b", 1 * MS + 100, 2 * MS, launched=10)  # was queued
        .kernel("c", 6 * MS + 10_000, 7 * MS, launched=6 * MS)  # after loading
        .row("CUPTI_ACTIVITY_KIND_RUNTIME", **wait(builder_ids := {}, 6 * MS + 50_000, 7 * MS + 20_000))
        .kernel("d", 7 * MS + 60_000, 8 * MS, launched=7 * MS + 50_000)  # after waiting for c
        .kernel("e", 8 * MS, 8 * MS + 10_000, launched=8 * MS - 50_000)  # was queued
        .kernel("f", 8 * MS + 40_000, 9 * MS, launched=8 * MS + 30_000)  # its launch was late
        .row("CUPTI_ACTIVITY_KIND_RUNTIME", **wait(builder_ids, 11 * MS, 11 * MS + 10_000))  # after other work
        .kernel("g", 11 * MS + 40_000, 12 * MS, launched=11 * MS + 30_000)
    )
    builder.row("StringIds", **builder_ids)
    step = step_of(builder, tmp_path)
    assert step.host.idle_ns == {GPU_SIDE: 100, WORK: 6 * MS + 50_000, WAITS: 60_000, LAUNCHES: 30_000}
    assert step.host.work.to_dict() == {"load": 4 * MS + 10_000, "": 2 * MS + 40_000}
    assert step.host.waits["count"].to_dict() == {"cudaStreamSynchronize_v3020": 2}


def wait(strings: dict[str, object], start: int, end: int) -> dict[str, int]:
    """A call that waits, whose name the strings have then."""
    strings.update(id=999, value="cudaStreamSynchronize_v3020")
    return {"start": start, "end": end, "globalTid": 1 << 48 | 1000 << 24 | 1, "correlationId": 90, "nameId": 999}


@pytest.mark.parametrize("name", often(ALL))
def test_what_advice_is_about_is_named_as_in_the_frames(name):
    analysis = step_on(name).analysis
    frames = {
        "ranges": analysis.paths["path"],
        "modules": analysis.modules["module"],
        "kernels": analysis.kernels["name"],
    }
    for each in advice_on(name):
        for part, names in frames.items():
            said = getattr(each.about, part)
            assert set(said) <= set(names.astype(str)), (each.rule, part)
            assert len(said) == len(set(said))
        if each.evidence and not each.rule.endswith("-copies"):
            assert each.about.kernels or each.about.ranges, each.rule


def test_advice_is_about_the_modules_and_ranges_of_its_kernels_alone():
    (fusion,) = [each for each in advice_on("llama") if each.rule == "fusion"]
    (optimizer,) = [each for each in advice_on("llama") if each.rule == "unfused-optimizer"]
    assert "Llama.layers.2.attention" in fusion.about.modules
    assert optimizer.about.ranges == ("step / optimizer",)
    assert optimizer.about.modules == ()
    assert all("multi_tensor_apply" in name for name in optimizer.about.kernels)


def waiting_steps(folder: Path) -> Step:
    """Steps of 1 ms: a kernel, a wait for it, 0.2 ms on the CPU, a second kernel that the CPU does not wait for."""
    strings: dict[str, object] = {}
    builder = TraceBuilder()
    for at in builder.steps(8, MS, 990 * US):
        builder.kernel("a", at + 10 * US, at + 410 * US, launched=at)
        builder.row("CUPTI_ACTIVITY_KIND_RUNTIME", **wait(strings, at + 20 * US, at + 420 * US))
        builder.kernel("b", at + 630 * US, at + MS, launched=at + 620 * US)
    return step_of(builder.row("StringIds", **strings), folder)


def test_steps_played_again_are_as_long_as_recorded_and_shorter_without_waits(tmp_path):
    replay = waiting_steps(tmp_path).replay
    assert replay is not None
    assert replay.recorded_ns == MS
    assert replay.length_ns() == MS
    assert replay.length_ns(0.5) == 890 * US  # 410 of a, 10 to return, 100 on the CPU, 10 to start, 370 of b less 10
    assert replay.length_ns(waits=Waits.NONE) == 770 * US  # the kernels alone: the CPU takes 600


def test_fewer_launches_leave_fewer_pauses_between_kernels(tmp_path):
    builder = TraceBuilder()
    for at in builder.steps(8, MS, 400 * US):
        for place in range(100):  # queued: each begins 2 µs after the one before
            start = at + 500 * US + place * 10 * US
            builder.kernel("a", start, start + 8 * US, launched=at + place * 3 * US)
    replay = step_of(builder, tmp_path).replay
    assert replay is not None
    lengths = [replay.length_ns(0.0, gpu=0.0, gaps=gaps) for gaps in (1.0, 0.5, 0.0)]
    assert lengths == pytest.approx([200 * US, 100 * US, 0.0], abs=10)


def test_a_wait_costs_what_the_step_is_shorter_without_it(tmp_path):
    (advice,) = [each for each in advise(waiting_steps(tmp_path).analysis) if each.rule == "synchronizing-calls"]
    assert advice.gain.high_pct == pytest.approx(23, rel=0.01)  # if recording costs nothing
    assert advice.about.ranges == ("step",)


def test_a_launch_that_blocks_is_no_wait_that_can_be_removed(tmp_path):
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        builder.kernel("a", at + 10 * US, at + 629 * US, launched=at)
        builder.kernel("b", at + 630 * US, at + 990 * US, correlation=1000 + number)
        slow = {"start": at + 20 * US, "end": at + 625 * US, "globalTid": 1 << 48 | 1000 << 24 | 1}
        builder.row("CUPTI_ACTIVITY_KIND_RUNTIME", correlationId=1000 + number, nameId=0, **slow)
    step = step_of(builder, tmp_path)
    assert step.host.waits["time_ns"].to_dict() == {"kernel": 605 * US}
    assert step.replay is not None
    assert step.replay.length_ns(waits=Waits.NONE) == step.replay.length_ns() == pytest.approx(MS)


def test_a_cpu_that_waits_for_messages_is_not_told_to_load(tmp_path):
    builder = TraceBuilder()
    for at in builder.steps(8, 10 * MS, 9 * MS):
        builder.range("MPI_Recv", at + MS, at + 8 * MS - 20 * US, domain="MPI")
        builder.kernel("a", at + 10 * US, at + 100 * US, launched=at + 5 * US)
        builder.kernel("b", at + 8 * MS, at + 9 * MS, launched=at + 8 * MS - 10 * US)
    (advice,) = [each for each in advise(step_of(builder, tmp_path).analysis) if each.rule == "cpu-work"]
    assert [option.title for option in advice.options] == ["messages beside kernels"]
    assert "load" not in " ".join((advice.sentence, *advice.evidence, *advice.options[0].code))
    assert "MPI" in advice.consequence


def test_faster_kernels_win_no_more_than_the_cpu_leaves():
    step = step_on("mlp_fp32")
    gain = step.price_kernels(np.full(3, step.busy_ns))
    waits_ns = step.host.waits["time_ns"].sum()  # a cudaMalloc, which takes as long whatever the kernels do
    assert gain.low_ns == pytest.approx(step.length_ns - step.cpu_ns - waits_ns, rel=0.01)
    assert step.price_kernels(np.zeros(3)).likely_ns == 0
    assert gain.likely_pct < 100


def test_mixed_precision_costs_time_where_the_cpu_is_the_limit():
    (advice,) = [each for each in advice_on("gan_fp32") if each.rule == "fp32-matmul"]
    assert advice.gain.likely_pct < 0.1
    assert advice.options[1].gain.likely_pct < 0
    assert not advice.gain.is_notable


def test_unknown_chips_have_no_price(tmp_path):
    builder = TraceBuilder().kernel("ampere_sgemm_128x64_tn", 0, 4 * MS, launched=0).gpu(0, "A GPU", chip=None)
    (advice,) = [each for each in advise(analyze(builder.trace(tmp_path))) if each.rule == "fp32-matmul"]
    assert math.isnan(advice.gain.likely_ns)
    assert advice.confidence == "low"


def test_all_code_to_paste_is_of_a_rule():
    sources = "".join(path.read_text() for path in Path(str(rules.__file__)).parent.glob("*.py"))
    of_limits = {f"clock_limit_{limit}" for limit in CLOCK_LIMITS}
    assert [name for name in CODE if f'"{name}"' not in sources and name not in of_limits] == []
    assert of_limits < {*CODE}


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.names[0])
def test_every_rule_is_documented_under_the_name_of_its_finding(rule):
    page = (ROOT / "docs" / "advice.md").read_text()
    text = page.partition(f"\n### {rule.names[0]}\n")[2].partition("\n### ")[0]
    for section in ("What", "Thresholds", "Do", "Not when"):
        assert re.search(rf"^\*\*{section}", text, re.MULTILINE), section


def test_the_table_of_predictions_is_up_to_date():
    page = (ROOT / "docs" / "advice.md").read_text()
    generated = runpy.run_path(str(ROOT / "docs" / "generate_advice.py"))
    assert generated["render"](page) == page, "run: python docs/generate_advice.py"


@pytest.mark.slow
def test_predictions_are_what_they_were_and_hold_what_was_won():
    """At least 80 % of those on fixtures."""
    generated = runpy.run_path(str(ROOT / "docs" / "generate_advice.py"))
    kept = {(row["base"], row["new"]): row for row in generated["read_rows"](generated["KEPT"])}
    inside = []
    for row in generated["measure_pairs"](None):
        expected = kept[row["base"], row["new"]]
        for column in ("low", "likely", "high", "recorded", "alone"):
            assert float(row[column] or "nan") == pytest.approx(float(expected[column] or "nan"), abs=0.1, nan_ok=True)
        if row["likely"] and row["base"] in ALL:
            won = float(row["alone"] or row["recorded"])
            inside.append(float(row["low"]) <= won <= float(row["high"]))
    assert len(inside) >= 10
    assert sum(inside) >= 0.8 * len(inside)


SOFTMAX = "softmax_warp_forward<float, float, float, (int)9, (bool)0>"
GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"


@pytest.mark.parametrize(
    ("names", "fires"),
    [
        ([GEMM, "mask", "scale", SOFTMAX, "dropout", GEMM], True),
        ([GEMM, SOFTMAX, GEMM], False),  # one kernel between them: nothing to fuse
        ([GEMM, "mask", "scale", "cunn_SoftMaxForward<LogSoftMaxForwardEpilogue>", "dropout", GEMM], False),  # a loss
        ([GEMM, "mask", "scale", "flash_fwd_kernel", "dropout", GEMM], False),
    ],
)
def test_attention_in_parts(names, fires, tmp_path):
    builder = TraceBuilder().gpu()
    for number, name in enumerate(names):
        builder.kernel(name, number * MS, (number + 1) * MS, launched=number)
    found = [each for each in advise(analyze(builder.trace(tmp_path))) if each.rule == "attention-in-parts"]
    assert bool(found) == fires
    if fires:
        assert found[0].gain.likely_ns == pytest.approx((4 + 0.5 * 1.5 * 2) * MS)  # between, and the products
        assert 4 * MS < found[0].gain.likely_ns <= found[0].gain.high_ns <= 6 * MS


def uneven(folder: Path, first: int, second: int) -> Analysis:
    """Two GPUs whose steps of 1 ms end together with communication, which begins when each is done."""
    builder = TraceBuilder()
    for gpu, done in enumerate((first, second)):
        builder.gpu(gpu)
        for at in builder.steps(8, MS, 500 * US, thread=gpu + 1):
            place = {"device": gpu, "thread": gpu + 1, "stream": 7}
            builder.kernel(GEMM, at + 5 * US, at + done * US, launched=at + gpu, **place)
            builder.kernel("ncclDevKernel_AllReduce", at + done * US, at + 990 * US, launched=at + 2 + gpu, **place)
    return analyze(builder.trace(folder))


@pytest.mark.slow
def test_gpus_that_wait_for_the_slowest_are_no_slow_communication(tmp_path):
    found = {(gpu, each.rule): each for each in advise(uneven(tmp_path, 890, 490)) for gpu in each.gpus}
    slow = found[0, "uneven-gpus"]
    assert (1, "uneven-gpus") not in found
    assert slow.gain.high_ns == pytest.approx(250 * US, rel=0.01)  # 500 and 100: 200 to the mean, and a quarter more
    for gpu in (0, 1):  # 0.1 ms of transfer on either: the rest is waiting
        assert found[gpu, "exposed-communication"].gain.high_ns == pytest.approx(90 * US, rel=0.01)


def test_a_gate_asks_for_a_finding(run):
    sides = [str(FIXTURES / f"{name}.sqlite") for name in ("mlp_fp32", "mlp_tf32")]
    gone = run("compare", *sides, "--fail-if", "finding fp32-matmul")
    assert gone.status == 0
    assert "pass          finding fp32-matmul" in gone.out
    left = run("compare", *sides, "--fail-if", "finding unfused-optimizer")
    assert left.status == 1
    wrong = run("compare", *sides, "--fail-if", "finding fp32matmul")
    assert wrong.status == 2
    assert "no finding is called 'fp32matmul'" in wrong.err
    assert "fp32-matmul" in wrong.err


@pytest.mark.parametrize("name", often(ALL))
def test_every_name_of_a_finding_is_one_that_a_gate_knows(name):
    assert {each.rule for each in advice_on(name)} - {"all-well"} <= set(rules_of_findings())


def test_code_for_pytorch_is_not_given_to_other_programs(tmp_path):
    builder = TraceBuilder().gpu().kernel("ncclDevKernel_AllReduce", 0, 4 * MS, launched=0)
    (advice,) = [each for each in advise(analyze(builder.trace(tmp_path))) if each.rule == "exposed-communication"]
    assert advice.options[0].title == "overlap"
    assert advice.options[0].code == ()
