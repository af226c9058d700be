"""Each rule is silent on what is next to its condition, in inputs that differ in one thing from those it fires on."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from builders import MS, US, TraceBuilder
from slow import one_of_each
from test_advice_rules import BF16, CAT, COPY, FP16, FUSED, steps
from test_advice_waits import training as waiting

import tcprof
from tcprof.annotate.steps import DOMAIN
from tcprof.findings.pricing.advice import Advice
from tcprof.findings.pricing.step import ALL, measure_step

NATIVE = "void at::native::(anonymous namespace)::"
LISTS = f"{NATIVE}multi_tensor_apply_kernel<TensorListMetadata<2>, "
ADD, SCALE = f"{LISTS}BinaryOpListAlphaFunctor<float>>", f"{LISTS}BinaryOpScalarFunctor<float>>"
LERP, DIVIDE = f"{LISTS}TernaryOpScalarFunctor<float>>", f"{LISTS}PointwiseOpScalarListFunctor<float>>"
SOFTMAX = "void softmax_warp_forward<float, float, float, (int)9, (bool)0, (bool)0>(float *)"
LOSS = "void softmax_warp_forward<float, float, float, (int)9, (bool)1, (bool)0>(float *)"
MUL = f"{NATIVE}vectorized_elementwise_kernel<4, MulFunctor<float>>"
CAST = f"{NATIVE}unrolled_elementwise_kernel<direct_copy_kernel_cuda, LoadWithCast<1>>"
INDEX, CHOOSE = f"{NATIVE}vectorized_gather_kernel<16, long>", f"{NATIVE}sbtopk::gatherTopK<float>"
FP64, FP32 = "cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", "ampere_sgemm_128x64_tn"
Find = Callable[[TraceBuilder], dict[str, Advice]]


@one_of_each(0)(
    ("rule", "fires", "silent"),
    [
        ("unfused-optimizer", [BF16, LERP, DIVIDE, SCALE], [BF16, LERP, DIVIDE, SCALE, FUSED]),  # lists of averages
        ("unfused-optimizer", [BF16, SCALE, ADD], [BF16, ADD]),  # SGD without momentum
        ("attention-in-parts", [BF16, MUL, SOFTMAX, MUL, MUL, BF16], [BF16, MUL, LOSS, MUL, MUL, BF16]),
        ("copies-on-gpu", [BF16, COPY], [BF16, CAST]),
        ("copies-on-gpu", [BF16, SOFTMAX, INDEX, INDEX], [BF16, SOFTMAX, INDEX, INDEX, CHOOSE]),  # beams
        ("copies-on-gpu", [BF16, SOFTMAX, INDEX], [BF16, INDEX]),  # tables
        ("copies-on-gpu", [BF16, CAT, FUSED], [BF16] * 6 + [CAT, FUSED]),
        ("fp64-matmul", [FP64, FUSED], [FP64, FP32, FUSED]),  # where it was chosen for a part
        ("fp16-without-scaler", [FP16] * 4 + [FUSED], [FP16, BF16, FUSED]),
        ("fusion", [BF16, *[MUL] * 12], [BF16, *[MUL] * 12, "triton_poi_fused_mul_0"]),
        ("fusion", [BF16, *[MUL] * 12], [BF16, *[MUL] * 9]),
    ],
)
def test_a_rule_is_silent_next_to_its_condition(rule, fires, silent, find):
    assert rule in find(steps(fires))
    assert rule not in find(steps(silent))


@pytest.mark.parametrize(
    ("outer", "advised"), [("step", True), ("optimizer", False)], ids=["the program's", "of L-BFGS"]
)
def test_waits_of_an_optimizer_are_its_own(outer, advised, find):
    builder = waiting("gemm", "gemm", "gemm", waits_after=(0, 1))
    for number in range(8):
        builder.range(outer, number * MS + 1, number * MS + 989 * US, domain=DOMAIN)
    assert ("synchronizing-calls" in find(builder)) is advised


def launching(sizes: int) -> TraceBuilder:
    """Eight launch-bound steps with grids of so many sizes, one after the other."""
    builder = TraceBuilder().gpu()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        for place in range(90):
            start = at + place * 11 * US
            builder.kernel(MUL, start + 6 * US, start + 8 * US, launched=start, gridX=100 + number % sizes)
    return builder


@pytest.mark.parametrize(
    ("sizes", "first"), [(1, "Use CUDA graphs"), (8, "Pad inputs to one size, then use CUDA graphs")]
)
def test_graphs_of_sizes_that_change_come_after_padding(sizes, first, find):
    assert find(launching(sizes))["launch-bound"].action == first


@pytest.mark.parametrize(
    ("name", "copies", "action"),
    [
        ("data", False, "Prefetch data"),
        ("load", True, "Prefetch data"),
        ("think", False, "Reduce other CPU work"),
        ("backward", True, ""),
        ("optimizer", True, ""),
    ],
)
def test_only_what_ends_with_a_copy_or_is_named_so_is_loading(name, copies, action, find):
    builder = TraceBuilder()
    for at in builder.steps(8, 3 * MS, 3 * MS):
        builder.range(name, at, at + 2 * MS)
        if copies:
            builder.copy("host to device", at + 2 * MS + 5 * US, at + 2 * MS + 9 * US, launched=at + 2 * MS)
        builder.kernel("gemm", at + 2 * MS + 20 * US, at + 3 * MS, launched=at + 2 * MS + 10 * US)
    advice = find(builder).get("cpu-work")
    assert (advice.action if advice else "") == action


@pytest.mark.parametrize(("calls", "rule"), [(1, "cpu-work"), (30, "launch-bound")])
def test_few_calls_that_launch_explain_no_long_idle_time(calls, rule, find):
    """Steps of 1 ms that work for 300 µs, launched by one call of a graph, or by calls that take up the step."""
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(12, MS, 990 * US)):
        for call in range(calls):
            begun, correlation = at + 10 * US + call * 960 * US // calls, 1000 + calls * number + call
            builder.launch(begun, correlation, returned=begun + 15 * US)
            for place in range(30 // calls):
                start = begun + (20 + 11 * place) * US
                builder.kernel("gemm", start, start + 10 * US, correlation=correlation)
    assert {"cpu-work", "launch-bound"} & find(builder).keys() == {rule}


def test_work_that_only_recorded_steps_have_wins_nothing(tmp_path):
    """Steps of 5 ms that launch a kernel of 1 ms late: others were timed that take hardly longer than it."""
    builder = TraceBuilder().gpu()
    for at in builder.steps(12, 5 * MS, 4 * MS):
        builder.kernel("gemm", at + 3 * MS, at + 4 * MS, launched=at + 3 * MS - 10 * US)
    step = measure_step(tcprof.read(builder.write(tmp_path)).analysis, 0)
    timed = replace(step)
    vars(timed)["_measured_ns"] = 1.1 * MS
    idle = step.idle_ns * ALL
    assert step.price_idle(idle).likely_pct > 50
    assert timed.price_idle(idle).likely_pct == pytest.approx(100 * 0.1 * MS / timed.length_ns, abs=3)
