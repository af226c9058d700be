"""Rules that few recordings call for: each fires on what it is about, and not on what only looks like it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from builders import MS, US, TraceBuilder
from slow import first_of, one_each

import tcprof
from tcprof.annotate.steps import DOMAIN
from tcprof.findings.advise import advise
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import PER_SAMPLE, Advice, describe_gain
from tcprof.findings.pricing.step import ALL, NONE, measure_step
from tcprof.nsys import schema
from tcprof.units import format_ns
from tcprof.views.recording.advice import MOST_SHOWN, split_notable

pytestmark = pytest.mark.usefixtures("shared_reads")

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
PERIOD = 10_000
CYCLES = 132 * 1_980_000_000 * PERIOD // 10**9  # of the SMs in a sample
BF16 = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
FP16 = "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_NTT"
FLASH = (
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>>"
)
FLASH_BACK = (
    "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<(int)64, (int)64, (int)128, "
    "(int)8, cutlass::bfloat16_t>>"
)
CUDNN = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0"
AMPERE = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
AMPERE_TF32 = "cutlass_80_tensorop_s1688gemm_256x128_32x3_tn_align4"
FUSED = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>>"
SCALER = "void at::native::(anonymous namespace)::amp_update_scale_cuda_kernel(float *, int *, float *)"
COMPARE = "void at::native::vectorized_elementwise_kernel<4, at::native::CompareEqFunctor<float>>"
Find = Callable[[TraceBuilder], dict[str, Advice]]


def one_kernel(name: str, tensor: int = 0, length: int = 4 * MS, **place: int) -> TraceBuilder:
    """A kernel alone, with a share of tensor cycles."""
    return sampled(TraceBuilder().gpu().kernel(name, 0, length, launched=0, **place), tensor, length)


def sampled(builder: TraceBuilder, tensor: int, length: int) -> TraceBuilder:
    """With a share of tensor cycles, at the boost clock, until some time after a length."""
    count = length // PERIOD + 2
    return builder.cycles([tensor * 4 * CYCLES // 100] * count, sm=[CYCLES] * count, period=PERIOD)


def steps(names: list[str], tensor: int = 90, length: int = 20 * US) -> TraceBuilder:
    """Eight steps of some kernels, which follow each other at once; launched long before."""
    builder = TraceBuilder().gpu()
    whole = len(names) * length
    for number in range(8):
        builder.range("step", number * 10 * US, (number + 1) * 10 * US)
        for place, name in enumerate(names):
            start = MS + number * whole + place * length
            builder.kernel(name, start, start + length, launched=number * 10 * US + place)
    return sampled(builder, tensor, MS + 8 * whole)


@first_of(1)(
    ("name", "blocks", "speedup"),
    [
        (FLASH, 64, 1.93),  # 8192 queries in blocks of 128
        (FLASH, 1, 1.58),
        (FLASH_BACK, 16, 1.47),  # 2048 keys in blocks of 128
    ],
)
def test_attention_by_old_instructions_gains_what_was_measured(name, blocks, speedup, find):
    advice = find(one_kernel(name, 25, gridX=blocks))["old-attention"]
    assert advice.gain.likely_ns == pytest.approx(4 * MS * (1 - 1 / speedup))
    assert advice.gain.low_ns < advice.gain.likely_ns < advice.gain.high_ns < 4 * MS


def test_products_by_old_instructions_are_told_where_others_reach_more(find):
    advice = find(one_kernel(AMPERE, 60))["old-products"]
    assert 0 < advice.gain.low_ns < advice.gain.likely_ns < advice.gain.high_ns < 4 * MS
    assert "reach 53.6 %" in advice.sentence  # 60 % of two thirds of the peak, 428 of 799 TFLOP/s


def test_large_products_may_run_in_fp8(find):
    advice = find(one_kernel(BF16, 88))["fp8"]
    assert advice.confidence == "low"
    assert 0 < advice.gain.low_ns < advice.gain.likely_ns < advice.gain.high_ns < 4 * MS
    assert "without training" in advice.evidence[0]


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("dgemm_tiled(int, const double *, const double *, double *)", 3 / 4),
        ("volta_dgemm_128x64_nn", 1 - 1 / 1.9),  # closer to what its units can
    ],
)
def test_fp64_products_without_tensor_cycles(name, saved, find):
    assert find(one_kernel(name))["fp64-matmul"].gain.likely_ns == pytest.approx(4 * MS * saved)


def test_training_in_float16_without_a_scaler_is_told_without_a_price(find):
    advice = find(steps([FP16] * 4 + [FUSED]))["fp16-without-scaler"]
    assert not advice.gain.is_known
    assert [option.title for option in advice.options] == ["bfloat16", "a scaler"]


def backward(again: str, length: int = 20 * US) -> TraceBuilder:
    """Eight steps of a module, forward, and in the backward pass within a range of our own."""
    builder = TraceBuilder().gpu()
    for number, at in enumerate(builder.steps(8, 100 * US, 100 * US, domain=DOMAIN)):
        builder.range("forward", at + 5 * US, at + 40 * US, domain=DOMAIN)
        builder.range("Net", at + 10 * US, at + 30 * US, domain=DOMAIN)
        builder.range("backward", at + 50 * US, at + 95 * US, domain=DOMAIN)
        builder.range(again, at + 60 * US, at + 80 * US, domain=DOMAIN)
        for place, launched in enumerate((15, 70, 90)):
            start = MS + number * 60 * US + place * 20 * US
            builder.kernel(BF16, start, start + length, launched=at + launched * US)
    return sampled(builder, 90, 2 * MS)


def test_checkpointing_has_a_price(find):
    advice = find(backward("recompute"))["recomputation"]
    assert advice.gain.high_ns == pytest.approx(20 * US)
    assert advice.gain.high_pct == pytest.approx(100 / 3)
    assert advice.options[1].gain.high_ns == pytest.approx(10 * US)
    assert "does not show memory use" in advice.consequence


def test_what_is_not_computed_again_is_not_launched_either(find):
    advice = find(backward("recompute", 10 * US))["recomputation"]
    assert 12 * US < advice.gain.likely_ns <= advice.gain.high_ns < 20 * US  # its kernel, and idle time


def test_kernels_that_keep_the_gpu_busy_run_no_faster_in_a_graph():
    step = measure_step(tcprof.read(FIXTURES / "transformer_compiled.sqlite").analysis, 0)
    assert 0 <= step.price_launches(NONE, ALL, 0.0).likely_pct <= step.share_pct(step.idle_ns) + 0.1


FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char *, 1>>"
OF_TABLE = "void at::native::(anonymous namespace)::compute_grad_weight<float, long>(const long *, const float *)"


def table(zeros: int, gradients: int, optimizer: int) -> TraceBuilder:
    """Eight steps of a table: its gradient is filled with zeros, then written; and a fused optimizer."""
    builder, start = TraceBuilder().gpu(), MS
    for at in builder.steps(8, 100 * US, 100 * US, domain=DOMAIN):
        builder.range("forward", at + 5 * US, at + 40 * US, domain=DOMAIN)
        builder.range("Table", at + 10 * US, at + 30 * US, domain=DOMAIN)
        builder.range("backward", at + 50 * US, at + 85 * US, domain=DOMAIN)
        builder.range("Table", at + 60 * US, at + 80 * US, domain=DOMAIN)
        for name, length, launched in ((FILL, zeros, 65), (OF_TABLE, gradients, 70), (FUSED, optimizer, 95)):
            builder.kernel(name, start, start + length, launched=at + launched * US)
            start += length
    return sampled(builder, 0, start)


@first_of(2)(
    ("zeros", "gradients", "optimizer", "saved"),
    [
        (10 * US, 2 * US, 80 * US, 80 * US),  # what it takes but for other parameters: seven passes, of one for zeros
        (10 * US, 12 * US, 80 * US, 0),  # most rows are read
        (4 * US, 2 * US, 80 * US, 0),  # most parameters are others
    ],
)
def test_tables_of_which_a_step_reads_little_may_have_sparse_gradients(zeros, gradients, optimizer, saved, find):
    advice = find(table(zeros, gradients, optimizer)).get("dense-gradients")
    assert bool(advice) == bool(saved)
    if advice:
        assert 0 < advice.gain.likely_ns <= advice.gain.high_ns <= saved


CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 4, 64, 64>"
COPY = "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda>"


@first_of(2)(
    ("kernels", "action"),
    [
        ([BF16, CAT], "Preallocate instead of concatenating"),
        ([BF16, COPY], "Copy less in GPU memory"),
        ([BF16] * 20 + [CAT], ""),  # little
        ([BF16] * 6 + [CAT, FUSED], ""),  # a network that is trained, and may need it
        ([BF16, CAT, FUSED], "Preallocate instead of concatenating"),
    ],
)
def test_copies_within_the_gpus_memory_have_the_price_of_their_kernels(kernels, action, find):
    advice = find(steps(kernels)).get("copies-on-gpu")
    assert (advice.action if advice else "") == action
    if advice:
        assert advice.gain.high_ns == pytest.approx(20 * US)


def test_sms_without_work_are_counted_and_priced():
    of_batch = tcprof.read(FIXTURES / "inference_fp32.sqlite", step="batch 2 / step")
    (small,) = [each for each in of_batch.advice if each.rule == "small-grid"]
    assert "16 blocks for 132 SMs, SM Active 11.9 %" in small.evidence[0]
    (last,) = [each for each in tcprof.read(FIXTURES / "matmul.sqlite").advice if each.rule == "last-wave"]
    assert "1089 blocks for 132 SMs" in last.evidence[0].replace(",", "")
    for advice in (small, last):  # each kernel in one line
        assert [" launch" in line for line in advice.evidence] == [" for 132 SMs" in line for line in advice.evidence]


def test_all_is_well_where_nothing_is_worth_a_day(find):
    advice = find(steps([BF16] * 4))
    assert set(advice) <= {"all-well", "low-clock"}
    assert not advice["all-well"].gain.is_known
    assert "the GPU is busy 100.0 % of the step" in advice["all-well"].evidence


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["", *schema.CLOCK_LIMITS])
def test_a_low_clock_is_advised_by_what_the_driver_says_limits_it(limit):
    read = tcprof.read(FIXTURES / "transformer_compiled.sqlite").analysis
    logged = read.step_summary.assign(clock_limit=limit, power_w=689.0, power_limit_w=700.0)
    (advice,) = [each for each in advise(read.replace(step_summary=logged)) if each.rule == "low-clock"]
    words = {
        "power": "nothing to do",
        "temperature": "Cool",
        "setting": "Unlock",
        "hardware": "supply",
        "": "Check why",
    }
    assert words[limit] in advice.action
    assert ("700 W" in advice.consequence) == (limit == "power")
    assert len(advice.options[0].code) == (1 if limit else 3)


@pytest.mark.slow
def test_what_has_no_price_does_not_displace_what_has_one():
    shown, _ = split_notable(tcprof.read(FIXTURES / "mlp_tf32_4097.sqlite").advice)
    known = [each.gain.is_known for each in shown]
    assert "low-clock" in {each.rule for each in shown}
    assert known == sorted(known, reverse=True)
    assert all(known[: min(MOST_SHOWN, sum(known))])
    assert sum(known) >= 2


def test_tf32_products_of_unaligned_sizes_are_no_faster_in_16_bits():
    """Measured: 2.075 ms a step in TF32, 2.408 in FP16 (fixtures/runs.csv)."""
    found = {each.rule: each for each in tcprof.read(FIXTURES / "mlp_tf32_4097.sqlite").advice}
    assert found["unaligned-shapes"].gain.likely_pct > 20
    assert "tf32-matmul" not in found or found["tf32-matmul"].gain.likely_pct < 1


ADAMW = (
    "lerp_scalar_kernel",
    "addcmul_cuda_kernel",
    "addcdiv_cuda_kernel",
    *("vectorized_elementwise_kernel<4, CUDAFunctor_mul<float>>",) * 5,
)


def looping_optimizer(kernel: int) -> TraceBuilder:
    """Eight steps of 40 products and of AdamW for ten parameters, all kernels as long, and launched every 20 µs."""
    builder, free, at = TraceBuilder(), 0, 0
    for _ in range(8):
        began = at
        for name in [BF16] * 40 + [f"void at::native::{part}(int)" for part in ADAMW] * 10:
            start = max(at + 5 * US, free)
            free = start + kernel
            builder.kernel(name, start, free, launched=at)
            at += 20 * US
        builder.range("step", began, at)
    return builder


def test_an_optimizer_in_a_loop_costs_the_cpu_its_launches(tmp_path):
    """80 of 120 launches: where the CPU is the limit a fused one saves nearly two thirds of the step."""
    analysis = tcprof.read(looping_optimizer(2 * US).write(tmp_path))
    (found,) = [each for each in analysis.advice if each.rule == "unfused-optimizer"]
    assert found.sentence == "Launching the optimizer's many kernels takes the CPU 66.7 % of the recorded step"
    assert found.evidence[0] == "launching them takes the CPU about 1.60 ms, as recorded"
    assert found.gain.likely_pct == pytest.approx(100 * 80 / 120, abs=2)
    low, _, high = (100 * share * 80 / 120 for share in MEASURED["optimizer"]["spared_looped"])
    assert low - 7 < found.gain.low_pct < found.gain.likely_pct < found.gain.high_pct < high + 2


def test_what_a_looping_optimizer_runs_is_in_no_other_price(tmp_path):
    """All of its eight kernels a parameter, though only three have names of their own."""
    analysis = tcprof.read(looping_optimizer(40 * US).write(tmp_path))
    rules = {each.rule for each in analysis.advice}
    assert "unfused-optimizer" in rules
    assert "fusion" not in rules


def test_launches_saved_win_nothing_where_the_gpu_is_the_limit(tmp_path):
    """Kernels of 40 µs: the step takes as long as they do, of which the optimizer's bytes are two thirds."""
    analysis = tcprof.read(looping_optimizer(40 * US).write(tmp_path))
    (found,) = [each for each in analysis.advice if each.rule == "unfused-optimizer"]
    of_kernels = 100 * 30 / 120 * 84 / 44  # lerp, addcmul and addcdiv stand for all
    expected = [share * of_kernels for share in MEASURED["optimizer"]["saved_adam"]]
    assert [found.gain.low_pct, found.gain.likely_pct, found.gain.high_pct] == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(("board", "is_told"), [("NVIDIA GeForce GTX 1080 Ti", False), ("NVIDIA A100-SXM4-40GB", True)])
def test_gpus_without_tf32_are_told_nothing_of_it(find, board, is_told):
    builder = TraceBuilder().kernel("ampere_sgemm_128x64_tn", 0, 4 * MS, launched=0).gpu(0, board, chip=None)
    assert is_told == ("fp32-matmul" in find(builder))


def few_blocks(blocks: int, length: int = 4 * MS, name: str = "void tree<int>(const int *)") -> TraceBuilder:
    return TraceBuilder().gpu(sm_count=132).kernel(name, 0, length, launched=0, gridX=blocks)


def test_a_kernel_with_fewer_blocks_than_sms_is_told_where_no_framework_runs(find):
    found = find(few_blocks(10))
    assert found["few-blocks"].action == "Launch more than 10 blocks of tree: the GPU has 132 SMs"
    assert " take 100.0 % of " in found["few-blocks"].sentence
    assert found["few-blocks"].options[0].code[1] == "ncu --set full --kernel-name tree --launch-count 1 PROGRAM"
    assert "10 blocks of 1 thread" in found["few-blocks"].options[0].code[2]
    assert found["few-blocks"].options[0].code[3].startswith("kernel<<<132, 128>>>(...)")
    gain = found["few-blocks"].options[0].gain  # from nothing, where its work cannot be divided, to all of its time
    assert (gain.low_ns, gain.likely_ns, gain.high_ns) == pytest.approx((0, 4 * MS * (1 - 10 / 132), 4 * MS), rel=1e-5)


@pytest.mark.parametrize(("name", "whole"), [("matmul", "all work"), ("mlp_fp32", "the step")])
def test_gains_are_of_a_step_only_where_something_iterates(name, whole):
    priced = [each.gain for each in advise(tcprof.read(FIXTURES / f"{name}.sqlite").analysis) if each.gain.is_known]
    assert priced
    assert {gain.of for gain in priced} <= {whole, PER_SAMPLE}
    of = {PER_SAMPLE: f"of {PER_SAMPLE}", "the step": "per step"}
    for gain in priced:
        assert f" {of.get(gain.of, f'of {format_ns(gain.step_ns)} total')} (" in describe_gain(gain)


# What only looks like the matter of a rule: a name for it, the rule, and a recording in which it must be silent.
SILENT = {
    "cudnn": ("old-attention", one_kernel(CUDNN, 40, gridX=132)),
    "decoding": (
        "old-attention",
        one_kernel(FLASH.replace("flash_fwd_kernel", "flash_fwd_splitkv_kernel"), 25, gridX=64),
    ),
    "as slow, by the newest instructions": ("old-products", one_kernel(BF16, 30)),
    "old, and as fast as others": ("old-products", one_kernel(AMPERE_TF32, 95)),
    "of this another rule tells": ("old-products", one_kernel(AMPERE.replace("_tn", "_tn_align1"), 60)),
    "casts take longer than what is won": ("fp8", one_kernel(BF16, 88, length=20 * US)),
    "on tensor cores": (
        "fp64-matmul",
        one_kernel("sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_stage3_warpsize2x2x1_tensor16x8x16", 94),
    ),
    "a chip without": (
        "fp64-matmul",
        TraceBuilder().gpu(0, "NVIDIA GeForce RTX 4090", chip="AD102").kernel("dgemm_tiled", 0, 4 * MS, launched=0),
    ),
    "a vector": ("fp64-matmul", one_kernel("void gemv2T_kernel_val<int, int, double, double, double, double>")),
    "scaler": ("fp16-without-scaler", steps([FP16] * 4 + [SCALER, FUSED])),
    "another library's scaler, which compares": ("fp16-without-scaler", steps([FP16] * 4 + [COMPARE, FUSED])),
    "half of the SMs": ("few-blocks", few_blocks(66)),
    "no counters": ("all-well", TraceBuilder().gpu().kernel(BF16, 0, 4 * MS, launched=0)),
    "size without a measured loss": (
        "unaligned-shapes",
        TraceBuilder().gpu().kernel(f"{AMPERE_TF32.replace('align4', 'align1')}", 0, 4 * MS, launched=0),
    ),
    "one kernel": (
        "fusion",
        TraceBuilder()
        .gpu()
        .kernel("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)", 0, MS, launched=0),
    ),
    "slow for another reason": ("fp8", one_kernel(BF16, 30)),
    "by old instructions": ("fp8", one_kernel(AMPERE, 60)),
    "a part that is not trained": ("fp16-without-scaler", steps([FP16, BF16, BF16, BF16, FUSED])),
    "too short": ("few-blocks", few_blocks(1, length=10 * US)),
    "not the program's own": ("few-blocks", few_blocks(1, name="void at::native::reduce_kernel<512, 1>")),
    "little of the time": ("few-blocks", few_blocks(1).kernel("sum", 4 * MS, 50 * MS, launched=1, gridX=500)),
    "a backward pass": ("recomputation", backward("gradients")),
}


@pytest.mark.parametrize(("rule", "builder"), one_each(SILENT.values()), ids=SILENT)
def test_a_rule_is_no_false_alarm(rule, builder, find):
    assert rule not in find(builder)


@pytest.mark.slow
def test_products_in_float64_by_old_instructions_gain_more(find):
    """At half the rate of the chip's own, with the Tensor Cores as busy."""
    old = "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1>(T1::Params)"
    new = "sm90_xmma_gemm_f64f64_f64f64_f64_nt_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor16x8x8_execute_kernel__5x"
    adam = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<double>>"
    gains = [find(steps([name] * 6 + [adam], length=100 * US))["fp64-matmul"].gain for name in (old, new)]
    assert gains[0].likely_pct > gains[1].likely_pct + 3
    assert gains[0].low_pct == pytest.approx(gains[1].low_pct)
