"""What limits a price: what there is to hide behind, and work of the CPU that a larger batch has more of."""

from collections.abc import Callable

import pytest
from builders import FIXTURES, MS, US, TraceBuilder

import tcprof
from tcprof import units
from tcprof.findings.pricing.advice import Advice, describe_gain

GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
TREE = "void tree<int>(const int *)"
Find = Callable[[TraceBuilder], dict[str, Advice]]


def steps_of_copies(copy: int, nccl: bool = False) -> TraceBuilder:
    """Steps of 1 ms, of which a copy, or a transfer between GPUs, takes a part and a kernel the rest."""
    builder = TraceBuilder().gpu()
    for number in range(8):
        queued, at = number * 10 * US, (number + 1) * MS  # long before
        builder.range("step", queued, queued + 10 * US)
        if nccl:
            builder.kernel("ncclDevKernel_SendRecv", at, at + copy, launched=queued + 1)
        else:
            builder.copy("host to device", at, at + copy, launched=queued + 1, srcKind=1, dstKind=2)
        builder.kernel(GEMM, at + copy, at + MS, launched=queued + 2)
    return builder


@pytest.mark.slow
def test_copies_win_no_more_than_what_they_can_run_beside(find):
    found = find(steps_of_copies(950 * US))["exposed-copies"]
    assert found.gain.high_ns == pytest.approx(50 * US, rel=0.05)
    assert found.gain.low_ns < 0.5 * found.gain.high_ns
    assert [option.title for option in found.options] == ["copies beside kernels", "send less"]
    assert len(find(steps_of_copies(200 * US))["exposed-copies"].options) == 1


def small_kernels(load: int, name: str = TREE, waits: bool = False) -> TraceBuilder:
    """Steps of 1 ms of small kernels, but for some time in which the CPU loads, or waits at the end."""
    builder = TraceBuilder().gpu()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        if load:
            builder.range("load", at + 5 * US, at + load)
        for launched in range(at + load + 10 * US, at + (800 if waits else 980) * US, 10 * US):
            builder.kernel(name, launched + 6 * US, launched + 8 * US, launched=launched)
        if waits:
            builder.kernel(name, at + 810 * US, at + 900 * US, launched=at + 800 * US)
            builder.launch(at + 806 * US, 1000 + number, returned=at + 905 * US, name="cudaDeviceSynchronize_v3020")
    return builder


def test_calls_that_wait_are_found_by_what_the_program_has(find):
    found = find(small_kernels(0, "void at::native::vectorized_elementwise_kernel<4>", waits=True))[
        "synchronizing-calls"
    ]
    assert "set_sync_debug_mode" not in found.raise_confidence  # which says nothing of waits for the whole device
    assert "torch.cuda.synchronize()" in "".join(found.options[0].code)
    assert ".item()" not in "".join(found.options[0].code)  # that is no device-wide waits


@pytest.mark.parametrize(("copies", "is_told"), [(9, True), (1, False)])
def test_a_program_that_copies_is_told_so(copies, is_told, find):
    builder = TraceBuilder().gpu()
    for number in range(copies):
        builder.copy("host to device", number * MS, (number + 1) * MS, launched=number)
    builder.kernel(TREE, copies * MS, (copies + 1) * MS, launched=copies + 1)
    found = find(builder)
    assert ("mostly-copies" in found) == is_told
    if is_told:
        assert found["mostly-copies"].sentence.startswith("Copies take 90.0 %")
        assert found["mostly-copies"].evidence == ("host to device: 9.00 ms for 9.0 KiB",)


def test_communication_wins_no_more_than_what_it_can_run_beside(find):
    found = find(steps_of_copies(950 * US, nccl=True))["exposed-communication"]
    assert found.gain.high_ns == pytest.approx(0.9 * 50 * US, rel=0.05)
    assert "DistributedData" not in "".join(found.options[0].code)  # no gradients are sent from one GPU to another


def test_time_and_share_of_a_gain_are_of_one_step():
    """Of the step without recording, which low and high take for longer or shorter: they are no share of its length."""
    gains = [each.gain for each in tcprof.read(FIXTURES / "mnist_amp.sqlite").advice if each.gain.is_known]
    lengths = {each.step_ns for each in gains}
    assert len(lengths) == 1
    assert gains[0].likely_ns == pytest.approx(gains[0].likely_pct / 100 * lengths.pop())
    assert f"{units.format_ns(gains[0].likely_ns)} per step (" in describe_gain(gains[0])


def test_a_full_queue_of_launches_is_no_work_of_the_cpu(find):
    builder, depth, each = TraceBuilder().gpu(), 150, 100 * US
    for number in range(600):
        begins = MS + number * each
        launched = 2 * US * number if number < depth else begins - (depth + 1) * each + 10 * US
        returned = launched + 2 * US if number < depth else begins - depth * each  # when there is room
        name = "ampere_sgemm_128x64_nn"
        if number % 30 == 0:
            builder.range("step", launched, (launched + 58 * US) if number < depth else returned + 28 * each)
        builder.launch(launched, 1 + number, returned=returned)
        builder.kernel(name, begins, begins + each - US, correlationId=1 + number)
    assert find(builder)["fp32-matmul"].gain.likely_pct > 60


@pytest.mark.parametrize(("lost", "is_priced"), [(1, True), (40, False)])
def test_nothing_is_priced_where_many_kernels_are_missing(lost, is_priced, find):
    """Steps of products in FP32 with pauses, in which the kernels of some launches may have run."""
    builder = TraceBuilder().gpu().diagnostic("information", "CUPTI dropped 12 records.")
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        for place in range(10):
            launched, correlation = at + 90 * place * US, 100 * number + place
            builder.launch(launched, correlation, name="cudaLaunchKernel_v7000", returned=launched + 5 * US)
            builder.kernel("sgemm", launched + 6 * US, launched + 85 * US, correlation=correlation)
            if number * 10 + place < lost:
                builder.launch(launched + 20 * US, 5000 + correlation, name="cudaLaunchKernel_v7000")
    found = find(builder)
    assert found["fp32-matmul"].gain.is_known == is_priced
    assert is_priced or not any(one.gain.is_known for one in found.values())
