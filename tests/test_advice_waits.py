"""Waits of the CPU: launches that block, what the waits are said to be, and that their price is no one else's."""

from pathlib import Path

import pytest
from builders import FIXTURES, MS, US, TraceBuilder
from slow import first, first_of, one_of_each

import tcprof
from tcprof.analysis.host import LAUNCHES, OF_SCALER, WAITS
from tcprof.analysis.replay import Waits
from tcprof.findings.advise import share_idle_time
from tcprof.findings.pricing.advice import Advice, Gain, Option
from tcprof.findings.pricing.builders import about_step, are_pinned, make_advice, note_inferred_pinning
from tcprof.findings.pricing.step import ALL, Step, measure_step

pytestmark = pytest.mark.usefixtures("shared_reads")

UNSCALE = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<non_finite_check_and_unscale>"
OPTIMIZER = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<BinaryOpListAlphaFunctor<float>>"
UPDATE = "void at::native::amp_update_scale_cuda_kernel(float *, int *, float *)"
SYNCHRONIZE = "cudaStreamSynchronize_v3020"
KERNEL, LAUNCH = 60 * US, 10 * US


def launching(blocks: bool) -> TraceBuilder:
    """Eight steps of four kernels of 60 µs; each launch takes 10 µs, or waits for its kernel and 5 µs more."""
    builder = TraceBuilder()
    at = free = 0
    for number in range(8):
        began = at
        for correlation in range(4 * number, 4 * number + 4):
            start = max(at + 5 * US, free)
            free = start + KERNEL
            returned = free + 5 * US if blocks else at + LAUNCH
            builder.launch(at, correlation, returned=returned).kernel("gemm", start, free, correlation=correlation)
            at = returned + 5 * US
        builder.range("step", began, at)
    return builder


def read(builder: TraceBuilder, folder: Path) -> tuple[Step, dict[str, Advice]]:
    report = tcprof.read(builder.write(folder))
    step = measure_step(report.analysis, 0)
    assert step is not None
    return step, {each.rule: each for each in report.advice}


def test_launches_that_wait_for_their_kernel_are_no_work_of_the_cpu(tmp_path):
    step, advice = read(launching(blocks=True), tmp_path)
    assert step.cpu_ns == pytest.approx(4 * 10 * US)  # 75 µs from one to the next, in 65 of which it waits
    assert not {"launch-bound", "synchronizing-calls", "idle-or-tracer", "cpu-work"} & advice.keys()
    blocking = advice["blocking-launches"]
    assert blocking.options[0].title == "unset CUDA_LAUNCH_BLOCKING"
    assert blocking.evidence == ("4 launches per step wait for their kernels: 260 µs",)
    assert blocking.gain.high_pct == pytest.approx(100 * 13.5 / 75, rel=0.01)  # left are 60 µs and a kernel's gap


def training(*names: str, waits_after: tuple[int, ...]) -> TraceBuilder:
    """Eight steps of kernels of 100 µs, each launched 10 µs before; after some the CPU waits for their end."""
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        for place, name in enumerate(names):
            start = at + place * 190 * US
            builder.kernel(name, start + 10 * US, start + 110 * US, launched=start)
            if place in waits_after:
                call = 1000 + 10 * number + place
                builder.launch(start + 20 * US, call, returned=start + 115 * US, name=SYNCHRONIZE)
    return builder


@first_of(1)(
    ("names", "waits_after", "of_scaler"),
    [(("gemm", UNSCALE, OPTIMIZER, UPDATE), (1,), True), (("gemm", UNSCALE, OPTIMIZER, UPDATE), (3,), False)],
)
def test_a_wait_is_the_scalers_where_it_reads_what_it_found(names, waits_after, of_scaler, tmp_path):
    step, advice = read(training(*names, waits_after=waits_after), tmp_path)
    assert list(step.host.waits.index) == [OF_SCALER if of_scaler else SYNCHRONIZE]
    (option,) = advice["synchronizing-calls"].options
    assert ("fused" in option.title) == of_scaler


OF_DEVICE = "no device-wide waits"
PIN, DO_NOT_BLOCK, KEEP = ("pinned memory", "non-blocking copies", "keep results on the GPU")


def copying(direction: str, *, later: int = 5 * US, wait: str = SYNCHRONIZE, **memory: int) -> TraceBuilder:
    """Eight steps that each wait for a copy of 4 KB, whose call returns at once, between two kernels."""
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        builder.kernel("gemm", at + 10 * US, at + 380 * US, launched=at)
        call = 1000 + 2 * number
        builder.launch(at + 20 * US, call, returned=at + 30 * US)
        builder.copy(direction, at + 380 * US, at + 385 * US, correlation=call, bytes=4096, **memory)
        builder.launch(at + 30 * US + later, call + 1, returned=at + 395 * US, name=wait)
        builder.kernel("gemm", at + 600 * US, at + 990 * US, launched=at + 590 * US)
    return builder


@one_of_each(1)(
    ("builder", "title", "waited"),
    [
        (copying("host to device", srcKind=0, dstKind=2), PIN, "copies from pageable memory"),
        (copying("host to device", srcKind=1, dstKind=2), DO_NOT_BLOCK, "copies from pinned memory"),
        (copying("device to host", srcKind=2, dstKind=1), KEEP, "copies from the GPU"),
        (copying("device to host", srcKind=2, dstKind=0), KEEP, "copies from the GPU"),
        (copying("device to device", srcKind=2, dstKind=2), KEEP, "cudaStreamSynchronize"),
        (copying("host to device", later=25 * US, srcKind=0, dstKind=2), KEEP, "cudaStreamSynchronize"),
        (copying("host to device", wait="cudaDeviceSynchronize", srcKind=0), OF_DEVICE, "cudaDeviceSynchronize"),
        (copying("host to device"), PIN, "copies to the GPU"),
        (copying("host to device", wait="cudaFree_v3020", srcKind=1), "memory that stays allocated", "cudaFree"),
    ],
    ids=("pageable", "pinned", "item", "cpu", "on the GPU", "long after", "asked for", "not recorded", "freed"),
)
def test_a_call_that_waits_for_a_copy_is_that_copys(builder, title, waited, tmp_path):
    step, advice = read(builder, tmp_path)
    assert [str(name).partition("_v")[0] for name in step.host.waits.index] == [waited]
    found = advice["pageable-copies" if title == PIN else "synchronizing-calls"]
    assert [option.title for option in found.options] == [title]
    assert (f"{waited}: " in found.evidence[0]) == (title != PIN)
    assert any("infers" in line for line in found.evidence) == (waited == "copies to the GPU")


def test_a_copy_from_pageable_memory_is_one_finding(tmp_path):
    """Its wait and what the CPU does in between are in its price: 225 of 1000 us, less 10 of a launch."""
    _, advice = read(copying("host to device", srcKind=0, dstKind=2), tmp_path)
    assert not {"synchronizing-calls", "cpu-work", "exposed-copies"} & advice.keys()
    assert 120 * US < advice["pageable-copies"].gain.likely_ns < 230 * US


def test_copies_whose_calls_were_not_recorded_are_advised_on_without_these(tmp_path):
    builder = TraceBuilder()
    for number in range(30):
        at = number * MS
        for place, name in enumerate(("embed", "gemm", "softmax", "adam")):
            builder.kernel(name, at + 100 * place * US, at + (90 + 100 * place) * US)
        builder.copy("host to device", at + 400 * US, at + 900 * US, bytes=10**7, srcKind=0, dstKind=2)
    _, advice = read(builder, tmp_path)
    assert advice["pageable-copies"].gain.likely_ns < 520 * US


def test_memory_that_was_recorded_as_pinned_is_not_guessed_from_timing(tmp_path):
    """Small copies are not to be told by their timing; nor is what is copied before the steps what these do."""
    builder = copying("host to device", srcKind=1, dstKind=2)
    builder.copy("host to device", -9 * MS, -8 * MS, launched=-10 * MS, bytes=10**9, srcKind=0, dstKind=2)
    step, _ = read(builder, tmp_path)
    assert are_pinned(step)
    assert note_inferred_pinning(step) == ()


def test_waiting_for_a_gpu_that_works_is_no_loss(tmp_path):
    """Steps that wait 70 % of the time, in which the GPU works, and leave it idle for 4 %."""
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        for place in range(3):
            start = at + 20 * US + place * 320 * US
            builder.kernel("gemm", start, start + 320 * US, launched=at + place * 10 * US)
        builder.launch(at + 260 * US, 1000 + number, returned=at + 985 * US, name=SYNCHRONIZE)
    step, advice = read(builder, tmp_path)
    assert step.share_pct(step.host.waits["time_ns"].sum()) == pytest.approx(72, abs=2)
    assert (
        advice["synchronizing-calls"].sentence
        == "Synchronizing calls leave the GPU idle for 35.0 µs of each 995 µs step"
    )


def test_waits_are_likely_to_cost_what_they_cost_the_recorded_steps(tmp_path):
    """Steps whose launches take 20 µs for kernels of 15: the GPU is never ahead, and alone it may be."""
    builder, at, free = TraceBuilder(), 0, 0
    for number in range(8):
        began = at
        for place in range(40):
            start = max(at + 5 * US, free)
            free = start + 15 * US
            builder.kernel("gemm", start, free, launched=at)
            at += 20 * US
            if place % 10 == 9:
                builder.launch(at, 1000 + 40 * number + place, returned=at + 9 * US, name=SYNCHRONIZE)
                at += 10 * US
        builder.range("step", began, at)
    step, advice = read(builder, tmp_path)
    assert step.replay is not None
    lost = step.replay.length_ns() - step.replay.length_ns(waits=Waits.NONE)
    gain = advice["synchronizing-calls"].gain
    assert gain.likely_ns <= lost
    assert gain.high_ns > 1.5 * lost  # with a CPU that is as fast as is assumed without recording


def test_recorded_scalers_are_told_from_other_waits():
    step = measure_step(tcprof.read(FIXTURES / "mnist_amp_large.sqlite").analysis, 0)
    assert step is not None
    assert step.host.waits["count"][OF_SCALER] == 1  # as often as the optimizer steps
    assert step.host.waits.index[0] == OF_SCALER


def test_pinned_memory_is_told_from_pageable():
    step = measure_step(tcprof.read(FIXTURES / "mnist_pinned.sqlite").analysis, 0)
    assert step is not None
    assert are_pinned(step)


def test_no_idle_time_is_in_two_prices():
    step = measure_step(tcprof.read(FIXTURES / "mnist_amp_large.sqlite").analysis, 0)
    assert step is not None
    idle = [100 * (1 - step.busy_ns / step.unprofiled_ns[tracing]) for tracing in step.tracing]
    half, most = (Gain(*(share * each for each in idle), step.unprofiled_ns[step.tracing[1]]) for share in (0.6, 1.0))
    gains = {"launch-bound": half, "fusion": most, "cpu-work": most, "synchronizing-calls": half}
    priced = [
        make_advice(step, rule, ("", "", ""), [Option("", (), gain)], about_step(step)) for rule, gain in gains.items()
    ]
    launches, fusion, work, waits = share_idle_time(step, priced)
    assert work.gain == most
    assert fusion.gain == most  # of kernels, not of idle time
    for each in (launches, waits):
        assert (each.gain.likely_ns, each.gain.likely_pct) == (0, 0)
        assert "is counted under cpu-work" in each.evidence[-1]


@pytest.mark.parametrize("name", first(1, ["mnist_amp_large", "net_amp", "resnet"]))
def test_prices_of_idle_time_are_no_more_than_there_is(name):
    report = tcprof.read(FIXTURES / f"{name}.sqlite")
    step = measure_step(report.analysis, 0)
    assert step is not None
    of_idle = [e.gain for e in report.advice if e.rule in ("launch-bound", "cpu-work", "synchronizing-calls")]
    assert of_idle
    assert all(gain.low_ns <= gain.likely_ns <= gain.high_ns for gain in of_idle)
    assert all(gain.low_pct <= gain.likely_pct <= gain.high_pct for gain in of_idle)
    for level, tracing in zip(("low_pct", "likely_pct"), step.tracing, strict=False):
        assert sum(getattr(gain, level) for gain in of_idle) <= 100.1 * (1 - step.busy_ns / step.unprofiled_ns[tracing])


def test_waits_win_no_more_than_their_idle_time_where_other_work_may_set_the_pace(tmp_path):
    """Steps of 1 ms: a kernel and a wait for it, and 0.5 ms in which the CPU does something else."""
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        builder.range("load", at + 460 * US, at + 980 * US)
        builder.kernel("gemm", at + 10 * US, at + 400 * US, launched=at)
        builder.launch(at + 20 * US, 1000 + number, returned=at + 450 * US, name=SYNCHRONIZE)
    step, advice = read(builder, tmp_path)
    gain = advice["synchronizing-calls"].gain
    after = step.host.idle_ns[WAITS] + step.host.idle_ns[LAUNCHES]
    assert gain.low_ns == 0
    assert gain.likely_pct == pytest.approx(step.share_pct(after))
    assert gain.high_pct >= gain.likely_pct


def test_of_many_calls_none_of_which_waits_long_the_longest_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("tcprof.findings.rules.cpu._NOTABLE_WAIT", 2.0)
    _, advice = read(copying("device to device", srcKind=2, dstKind=2), tmp_path)
    assert [option.title for option in advice["synchronizing-calls"].options] == [KEEP]


@pytest.mark.parametrize(("every", "advised"), [(1, True), (4, False)], ids=["each step", "bursts"])
def test_a_loader_that_is_ahead_most_of_the_time_is_not_to_load_ahead(every, advised, tmp_path):
    builder, at = TraceBuilder(), 0
    for number in range(24):
        began, at = at, at + (2 * MS if number % every == 0 else 20 * US)
        builder.range("data", began, at)
        for place in range(5):  # fewer calls would explain none of the time within a step
            start = at + (10 + 78 * place) * US
            builder.kernel("a", start, start + 78 * US, launched=at + place * US)
        builder.range("step", began, at := at + 500 * US)
    _, advice = read(builder, tmp_path)
    assert ("cpu-work" in advice) is advised


def test_first_steps_that_allocate_are_no_finding(tmp_path):
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(4, MS, 990 * US)):
        builder.kernel("a", at + 10 * US, at + 100 * US, launched=at)
        builder.launch(at + 110 * US, 1000 + number, returned=at + 900 * US, name="cudaFree_v3020")
    assert "synchronizing-calls" not in read(builder, tmp_path)[1]


def test_what_waits_in_a_launch_bound_step_is_named_before_graphs(tmp_path):
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        for place in range(19):
            start = at + place * 50 * US
            builder.kernel("small", start + 10 * US, start + 20 * US, launched=start)
            if place % 5 == 4:
                correlation = 1000 + 20 * number + place
                builder.launch(start + 12 * US, correlation, returned=start + 22 * US, name=SYNCHRONIZE)
    _, advice = read(builder, tmp_path)
    assert advice["launch-bound"].action == "Keep results on the GPU, then use CUDA graphs"
    assert "cudaStreamSynchronize" in advice["launch-bound"].evidence[-1]


def test_a_graph_between_the_waits_at_both_ends_of_a_step_saves_its_launches(tmp_path):
    """Steps that answer a query: a copy to the GPU, twenty small kernels, and a copy back."""
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        for place in range(22):
            start, correlation = at + 40 * place * US, 100 * number + place
            end = start + 20 * US
            builder.launch(start, correlation, returned=start + 9 * US)
            if 0 < place < 21:
                builder.kernel("small", start + 10 * US, end, correlation=correlation)
                continue
            kinds = ("host to device", 0, 2) if place == 0 else ("device to host", 2, 0)
            builder.copy(kinds[0], start + 10 * US, end, correlation=correlation, srcKind=kinds[1], dstKind=kinds[2])
            builder.launch(start + 10 * US, 5000 + correlation, returned=end + US, name=SYNCHRONIZE)
    step, advice = read(builder, tmp_path)
    assert step.host.run_share == pytest.approx(21 / 22)
    assert advice["launch-bound"].action == "Use CUDA graphs"
    assert advice["launch-bound"].gain.likely_pct > 30


def test_waits_for_room_in_the_queue_limit_no_price(tmp_path):
    """Each launch waits for room, many steps ahead of the GPU: before the first of these has run, too."""
    builder = TraceBuilder()
    for number in range(400):
        at, start = number * 100 * US, (number + 150) * 100 * US
        builder.kernel("sgemm", start, start + 100 * US, correlation=number)
        builder.launch(at, number, returned=at + 95 * US)
        if number % 10 == 0:
            builder.range("step", at, at + 1000 * US)
    step, _ = read(builder, tmp_path)
    assert step.host.waits.index[0] == "full queue"
    assert step.price_kernels(0.9 * step.busy_ns * ALL).likely_pct > 70
