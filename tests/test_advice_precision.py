"""Other precisions are advised where the chip has them, and priced widely where nothing was measured."""

from collections.abc import Callable

import pytest
from builders import MS, US, TraceBuilder

import tcprof
from tcprof.analysis.kernels.names import PRODUCT
from tcprof.analysis.kernels.verdicts import MEMORY
from tcprof.findings.pricing.advice import Advice
from tcprof.findings.pricing.products import saved_by
from tcprof.findings.pricing.step import measure_step

FUSED = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>>"
FP16 = "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn"
UNSCALE = "void at::native::multi_tensor_apply_kernel<amp_non_finite_check_and_unscale_cuda_>"
Find = Callable[[TraceBuilder], dict[str, Advice]]
AUTOCAST_16, AUTOCAST_BF16 = "autocast to float16", "autocast to bfloat16"


def products(board: str, chip: str) -> TraceBuilder:
    """A product in FP32 by a library's kernel for CUDA cores."""
    builder = TraceBuilder().gpu(0, board, chip=chip).kernel("ampere_sgemm_128x64_nn", 0, 40 * MS, launched=0)
    return builder.kernel("void at::native::vectorized_elementwise_kernel<4>", 40 * MS, 41 * MS, launched=1)


@pytest.mark.parametrize(
    ("board", "chip", "titles"),
    [("Tesla V100-SXM2-16GB", "GV100", [AUTOCAST_16]), ("Quadro RTX 6000", "TU102", [AUTOCAST_16])],
)
def test_fp32_products_are_told_what_the_chip_has(board, chip, titles, find):
    advice = find(products(board, chip))["fp32-matmul"]
    assert [option.title for option in advice.options] == titles
    assert 0 < advice.gain.low_pct < advice.gain.likely_pct < advice.gain.high_pct
    assert advice.confidence == "low"
    assert any("GH100" in line for line in advice.evidence)
    codes = {option.title: "".join(option.code) for option in advice.options}
    assert ("GradScaler(" in codes.get(AUTOCAST_16, "")) == (AUTOCAST_16 in codes)
    assert ("TF32" in advice.consequence) == (titles[0] == "TF32")


def test_chips_without_tensor_cores_are_told_that_alone(find):
    found = find(products("NVIDIA GeForce GTX 1080 Ti", "GP102"))
    assert "fp32-matmul" not in found
    assert found["no-tensor-cores"].action == "NVIDIA GeForce GTX 1080 Ti has no Tensor Cores"


@pytest.mark.slow
def test_prices_are_wider_where_nothing_was_measured(tmp_path):
    lows = []
    for chip in ("GH100", "GA100"):
        (tmp_path / chip).mkdir()
        (advice,) = [
            each
            for each in tcprof.read(products("a GPU", chip).write(tmp_path / chip)).advice
            if each.rule == "fp32-matmul"
        ]
        lows.append(advice.gain.low_pct / advice.gain.likely_pct)
    assert lows[1] < 0.95 * lows[0]


def training(kernels: list[str], chip: str) -> TraceBuilder:
    """Eight steps of some kernels, launched long before."""
    builder = TraceBuilder().gpu(0, "a GPU", chip=chip)
    for number in range(8):
        builder.range("step", number * 10 * US, (number + 1) * 10 * US)
        for place, name in enumerate(kernels):
            start = MS + (number * len(kernels) + place) * 20 * US
            builder.kernel(name, start, start + 20 * US, launched=number * 10 * US + place)
    return builder


@pytest.mark.parametrize(("chip", "titles"), [("TU102", ["a scaler"]), ("GA102", ["bfloat16", "a scaler"])])
def test_bfloat16_is_advised_where_the_chip_has_it(chip, titles, find):
    found = find(training([FP16] * 4 + [FUSED], chip))
    assert [option.title for option in found["fp16-without-scaler"].options] == titles


@pytest.mark.parametrize("chip", ["TU102", "GA102"])
def test_a_scaler_is_needed_where_there_is_no_bfloat16(chip, find):
    found = find(training([FP16] * 4 + [UNSCALE], chip))
    assert ("mixed-precision-overhead" in found) == (chip == "GA102")


DMMA = "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)"
DOUBLE = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor<double>>"
ADAM = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<double>>"
SOLVER = "void potrf_cta<double, int>(int)"


@pytest.mark.parametrize(("more", "is_advised"), [([ADAM], True), ([], False), ([ADAM, SOLVER], False)])
def test_networks_in_float64_are_advised_float32(more, is_advised, find):
    """Not what trains nothing and has no modules, or what solves systems; a name with align1 says nothing there."""
    found = find(training([DMMA] * 18 + [DOUBLE] * 2 + more, "GH100"))
    assert "unaligned-shapes" not in found
    assert ("fp64-matmul" in found) == is_advised
    if is_advised:
        advice = found["fp64-matmul"]
        assert advice.action == "Use float32, with TF32"
        assert 40 < advice.gain.low_pct < advice.gain.likely_pct < advice.gain.high_pct < 90


@pytest.mark.parametrize(("after", "saved"), [("tf32", 0.0), ("bf16", 0.5)])
def test_what_waits_for_memory_is_faster_by_its_bytes(after, saved, tmp_path):
    step = measure_step(tcprof.read(products("NVIDIA H200", "GH100").write(tmp_path)).analysis, 0)
    assert step is not None
    rows = step.kernels[step.kernels["work"] == PRODUCT].assign(bound=MEMORY)
    assert saved_by(step, rows, "fp32", after) == pytest.approx(saved * 40 * MS)
