"""Rules on the precision of matrix multiplications: which of them could run in one that is faster."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import OPTIMIZER, PRODUCT
from tcprof.analysis.kernels.verdicts import MEMORY
from tcprof.arrays import Floats
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import HIGH, LOW, MEDIUM, NOTABLE_PCT, Advice, Gain, Option, rule
from tcprof.findings.pricing.builders import about_kernels, list_kernels, make_advice, time_of
from tcprof.findings.pricing.products import (
    ATTENTION,
    BF16_CODE,
    FP16_CODE,
    HALVES,
    SLOW_SHARE,
    find_products,
    half_precision,
    has_halves,
    is_of_measured_chip,
    lacks_precision,
    saved_by,
    saved_by_autocast,
    share_of_reached,
)
from tcprof.findings.pricing.step import Step

_IN_REPLICAS = (
    "# nn.DataParallel runs replicas in threads that autocast does not reach:",
    "torchrun --nproc-per-node=8 train.py  # one process for each GPU",
    "# or inside of the model's forward:",
    'with torch.autocast("cuda", dtype=torch.bfloat16): ...',
)
_ALLOW_TF32 = (
    'torch.set_float32_matmul_precision("high")  # at the top of the program',
    "torch.backends.cudnn.allow_tf32 = True  # convolutions; PyTorch's default",
    '# JAX: jax.config.update("jax_default_matmul_precision", "tensorfloat32")',
    "# TensorFlow: tf.config.experimental.enable_tensor_float_32_execution(True)",
)
_TF32 = "TF32"
_OF_TF32 = "TF32 runs the same products on the Tensor Cores, and changes one line of the program."
_OF_AUTOCAST = "Autocast runs them in 16 bits on the Tensor Cores, and leaves in float32 what needs it."
_NOT_MEASURED = (
    f"the price is of a {MEASURED['products']['chip']}, in proportion to the peaks: nothing was measured here"
)


@rule("fp32-matmul")
def fp32_matmul(step: Step) -> list[Advice]:
    """Matrix products and convolutions in FP32 on the CUDA cores.

    What: kernels of products and convolutions that read FP32 and have no matrix instruction, by their name; where
    tensor cycles were recorded, these count none in them. Products of a matrix and a vector are left out.

    Why: Tensor Cores multiply in TF32, which has FP32's range and 10 bits of mantissa, 4 to 8 times as fast as CUDA
    cores multiply in FP32 on an H200, and in BF16 6 to 16 times as fast (sizes 1024 and 4096, docs/lessons.md).

    Thresholds: 1 % of a step. Gains are those of products that take as long, as measured on an H200, in proportion to
    the chip's peaks, with a wider span on other chips; of convolutions a part of that. No more is won than the time
    that the CPU leaves, which AMP makes longer.

    Do: in PyTorch `torch.set_float32_matmul_precision("high")`, and `torch.backends.cudnn.allow_tf32 = True` for
    convolutions; in JAX `jax.config.update("jax_default_matmul_precision", "tensorfloat32")`; in TensorFlow
    `tf.config.experimental.enable_tensor_float_32_execution(True)`. Then autocast to bfloat16. Volta and Turing have
    neither: autocast to float16, with a scaler. Where TF32's rate is not known, as on GeForce, autocast comes first.

    Not when: the result needs all of FP32's bits, as derivatives of physics-informed networks do (their error grew 2.6
    times, docs/lessons.md). Compare the loss after some hundred steps.
    """
    rows = find_products(step, "fp32")
    rows = rows[~rows["tensor_kernel"]]
    time = time_of(rows)
    options = _list_options(step, rows) if step.share_pct(time) >= NOTABLE_PCT else []
    if not options:
        return []
    idle = "while the Tensor Cores stand idle" + ("" if rows["tensor_active_pct"].notna().any() else ", by their names")
    others = "although others run in 16 bits" if has_halves(step) else idle
    said = (
        f"Matrix products in FP32 run on the CUDA cores, {others}: {step.tell_share(time)}",
        _OF_TF32 if options[0].title == _TF32 else _OF_AUTOCAST,
    )
    confidence = _confidence(step)
    is_guess = options[0].gain.is_known and not is_of_measured_chip(step)
    evidence = (*list_kernels(rows), *[_NOT_MEASURED] * is_guess)
    is_sure = step.is_timed_alone or confidence == HIGH
    surer = "" if is_sure else "Record with --unprofiled to learn what recording costs."
    about = about_kernels(step, rows.index)
    return [make_advice(step, "fp32-matmul", said, options, about, evidence, confidence, surer)]


def _list_options(step: Step, rows: pd.DataFrame) -> list[Option]:
    """What the chip has, that with a price first."""
    found = []
    if not lacks_precision(step, "tf32"):
        found.append(Option(_TF32, _ALLOW_TF32, step.price_kernels(saved_by(step, rows, "fp32", "tf32"))))
    half = half_precision(step)
    if half and not has_halves(step):
        saved = saved_by_autocast(step, rows, "fp32", half)
        found.append(_autocast(step, half, step.price_kernels(saved, MEASURED["autocast"]["cpu"])))
    return sorted(found, key=lambda option: not option.gain.is_known)


def _autocast(step: Step, half: str, gain: Gain) -> Option:
    if half == "fp16":
        return Option("autocast to float16", FP16_CODE, gain)
    if step.kernels["is_broadcast"].any() and step.kernels["is_reduction"].any():
        return Option("autocast to bfloat16 in each replica", _IN_REPLICAS, gain)
    return Option("autocast to bfloat16", BF16_CODE, gain)


def _confidence(step: Step) -> str:
    if not is_of_measured_chip(step):
        return LOW
    return HIGH if step.idle_ns < 0.1 * step.length_ns else MEDIUM


_TRY = "Try it for some hundred steps, and compare with 'tcprof compare'."


@rule("tf32-matmul")
def tf32_matmul(step: Step) -> list[Advice]:
    """Matrix products in TF32 that could run in BF16.

    What: tensor kernels that read TF32, also PyTorch's attention for float32, which is three products in TF32 for each;
    and none in 16 bits: where AMP is on, it is not advised.

    Why: BF16 has twice the rate of TF32 on the Tensor Cores, and half the bytes. Attention in 16 bits was 10 times as
    fast as in float32 (fixtures transformer_tf32 and transformer_eager).

    Thresholds: 1 % of a step. From the gain are taken what the casts of weights and gradients move, and the CPU's time,
    which autocast made 1.4 times as long: so small networks are not advised to.

    Do: in PyTorch `torch.autocast("cuda", dtype=torch.bfloat16)` around the forward pass and the loss.

    Not when: the step waits for the CPU (see launch-bound), or nearly all weights are used only once, in a small batch:
    in docs/lessons.md an MLP at a batch of 512 was slower in float16 than in TF32.
    """
    kernels = step.kernels[step.kernels["tensor_kernel"] & (step.kernels["precision"] == "tf32")]
    rows = kernels[kernels["work"].isin([PRODUCT, ATTENTION])]
    time = time_of(rows)
    plain = time_of(find_products(step, "fp32"))
    if step.share_pct(time) < NOTABLE_PCT or time < plain or has_halves(step):
        return []
    products = find_products(step, "tf32")
    products = products[products["tensor_kernel"] & ~products["is_unaligned"]]  # these are as slow in 16 bits
    saved = saved_by_autocast(step, products, "tf32")
    option = Option("autocast to bfloat16", BF16_CODE, step.price_kernels(saved, MEASURED["autocast"]["cpu"]))
    said = (
        f"Matrix products run in TF32: {step.tell_share(time)}",
        "In BF16 the Tensor Cores are twice as fast, and attention in float32 gains more.",
    )
    confidence = MEDIUM if is_of_measured_chip(step) else LOW
    return [make_advice(step, "tf32-matmul", said, [option], None, (), confidence, _TRY, rows)]


_CUBLAS = (
    "c = a @ b  # cuBLAS: float64 runs on Tensor Cores by itself",
    "// C++: cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, ...);",
)


@rule("fp64-matmul")
def fp64_matmul(step: Step) -> list[Advice]:
    """Products in FP64 that leave the Tensor Cores idle.

    What: matrix products in FP64, by name, that took no tensor cycles, on a chip whose Tensor Cores multiply in FP64.

    Why: they do that at twice the rate of the FP64 units, and in the same precision: A100, H100 and H200 have them.

    Thresholds: 1 % of a step. Kernels of libraries are likely to become twice as fast, by the rates of both units.
    Those of one's own are often far below the rate of their units: one was 5.2 times as fast by cuBLAS, and 4 times is
    likely.

    Do: call cuBLAS (`cublasDgemm`, `a @ b` in PyTorch or CuPy), cuSOLVER, or CUTLASS with `arch::OpClassTensorOp`: they
    use the Tensor Cores in FP64 by themselves.

    Not when: the product is tiny, or the matrix is a vector: then memory is the limit.
    """
    has_dmma = step.chip.peak_flop_per_cycle("fp64") > 0
    products = find_products(step, "fp64")
    is_idle = ~products["tensor_kernel"] & (products["tensor_active_pct"] < 1) & (products["bound"] != MEMORY)
    rows = products[is_idle]
    time = time_of(rows)
    if not has_dmma or step.share_pct(time) < NOTABLE_PCT:
        return []
    speedup = np.array([MEASURED["fp64"]["library" if each else "own"] for each in rows["is_of_library"]])
    saved = (rows["exposed_ns"].to_numpy()[:, None] * (1 - 1 / speedup)).sum(axis=0)
    said = (
        f"Matrix products in FP64 run without Tensor Cores: {step.tell_share(time)}",
        "This chip's Tensor Cores multiply in FP64, too, at twice the rate and in the same precision.",
    )
    option = Option("cuBLAS", _CUBLAS, step.price_kernels(saved))
    return [make_advice(step, "fp64-matmul", said, [option], rows=rows)]


_MEASURED = MEASURED["fp8"]
_IN_FP8 = (
    "# training: pip install torchao; layers by name, the last one left out",
    "from torchao.float8 import convert_to_float8_training",
    'is_inner = lambda module, name: "head" not in name',
    "convert_to_float8_training(model, module_filter_fn=is_inner)",
    "model = torch.compile(model)  # fuses the casts: needed",
    "# or Transformer Engine: te.Linear under te.fp8_autocast(enabled=True)",
)


@rule("fp8")
def fp8(step: Step) -> list[Advice]:
    """Large products in 16 bits that could run in FP8.

    What: matrix products in BF16 or FP16 on Hopper, where each takes so long that FP8 wins with all its casts and
    scales; none that is slow for another reason (below two thirds of the rate of others of its size), no convolutions,
    and nothing where products in FP8 run already.

    Why: FP8 has twice the rate. But each product needs its factors rounded and scaled first, which is a pass over them:
    in training a product that takes 0.03 ms in BF16 became slower, one of 0.17 ms 1.25 times and one of 1.4 ms 1.76
    times as fast (docs/lessons.md), by code of torch.compile. In eager PyTorch all but the largest became slower.

    Thresholds: likely 5 % of a step, since much is to be changed. The gain is what was measured for products that take
    as long, in training or without; low, likely and high differ by how scales are found. That a fifth of the products
    stays as it is, is assumed.

    Do: torchao's `convert_to_float8_training`, or Transformer Engine's `fp8_autocast`, with `torch.compile`. Check the
    accuracy against a run in BF16.

    Not when: the loss gets worse, or the model is not compiled. Leave the first and the last layer as they are.
    """
    kernels = step.kernels
    of_fp8 = kernels["exposed_ns"][kernels["tensor_kernel"] & (kernels["precision"] == "fp8")].sum()
    if step.chip.name != _MEASURED["chip"] or step.share_pct(float(of_fp8)) >= NOTABLE_PCT:
        return []
    trains = bool((kernels["work"] == OPTIMIZER).any())
    rows = find_products(step, *HALVES)
    rows = rows[rows["tensor_kernel"] & ~rows["is_convolution"] & (rows["bound"] != MEMORY)]
    rows = rows[share_of_reached(step, rows) >= SLOW_SHARE]
    speedups = _speedups(rows["median_ns"].to_numpy(np.float64), trains)
    is_large = speedups[1] > 1
    rows, speedups = rows[is_large], speedups[:, is_large]
    exposed = rows["exposed_ns"].to_numpy()
    saved = _MEASURED["share"] * (exposed * (1 - 1 / speedups)).sum(axis=1)
    if step.share_pct(saved[1]) < 5.0:
        return []
    time = time_of(rows)
    said = (
        f"Products large enough for FP8 run in 16 bits: {step.tell_share(time)}",
        "FP8 has twice the rate, of which casts and scales take a part. The accuracy is to be checked.",
    )
    ratio = units.format_ratio(float(np.average(speedups[1], weights=exposed)))
    way = "in training" if trains else "without training"
    evidence = [f"products that take as long were {ratio} as fast in FP8 on an H200 {way}, casts and scales included"]
    option = Option("FP8, compiled", _IN_FP8, step.price_kernels(saved))
    check = "Compare the loss of some thousand steps, and the time with 'tcprof compare'."
    return [make_advice(step, "fp8", said, [option], None, evidence, LOW, check, rows)]


def _speedups(duration_ns: Floats, trains: bool) -> Floats:
    """How many times as fast a product of that duration becomes: low, likely and high."""
    at = np.log(np.maximum(duration_ns, 1.0))
    levels = _MEASURED["training" if trains else "inference"]
    found: Floats = np.array([np.interp(at, np.log(_MEASURED["duration_ns"]), level) for level in levels])
    return found
