"""Matrix products and convolutions in FP32 on the CUDA cores.

What: kernels of products and convolutions that read FP32 and have no matrix instruction, by their name; where tensor
cycles were recorded, these count none in them. Products of a matrix and a vector are left out.

Why: Tensor Cores multiply in TF32, which has FP32's range and 10 bits of mantissa, 4 to 8 times as fast as CUDA cores
multiply in FP32 on an H200, and in BF16 6 to 16 times as fast (sizes 1024 and 4096, docs/lessons.md).

Thresholds: 1 % of a step. Gains are those of products that take as long, as measured on an H200, in proportion to the
chip's peaks, with a wider span on other chips; of convolutions a part of that. No more is won than the time that the
CPU leaves, which AMP makes longer.

Do: in PyTorch `torch.set_float32_matmul_precision("high")`, and `torch.backends.cudnn.allow_tf32 = True` for
convolutions; in JAX `jax.config.update("jax_default_matmul_precision", "tensorfloat32")`; in TensorFlow
`tf.config.experimental.enable_tensor_float_32_execution(True)`. Then autocast to bfloat16. Volta and Turing have
neither: autocast to float16, with a scaler. Where TF32's rate is not known, as on GeForce, autocast comes first.

Not when: the result needs all of FP32's bits, as derivatives of physics-informed networks do (their error grew 2.6
times, docs/lessons.md). Compare the loss after some hundred steps.
"""

import pandas as pd

from tcprof.findings.pricing.advice import HIGH, LOW, MEDIUM, Advice, Gain, Option, Rule
from tcprof.findings.pricing.builders import about_kernels, list_kernels, make_advice, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import (
    BF16_CODE,
    FP16_CODE,
    NOTABLE_SHARE_PCT,
    find_products,
    half_precision,
    has_halves,
    is_of_measured_chip,
    lacks_precision,
    saved_by,
    saved_by_autocast,
)
from tcprof.findings.pricing.step import Step

RULE = Rule(("fp32-matmul",))
_IN_REPLICAS = (
    "# nn.DataParallel runs replicas in threads that autocast does not reach:",
    "torchrun --nproc-per-node=8 train.py  # one process for each GPU",
    "# or inside of the model's forward:",
    'with torch.autocast("cuda", dtype=torch.bfloat16): ...',
)
_CODE = (
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


def find(step: Step) -> list[Advice]:
    """FP32 products on CUDA cores, with what TF32 and BF16 win."""
    rows = find_products(step, "fp32")
    rows = rows[~rows["tensor_kernel"]]
    time = time_of(rows)
    options = _list_options(step, rows) if step.share_pct(time) >= NOTABLE_SHARE_PCT else []
    if not options:
        return []
    idle = "while the Tensor Cores stand idle" + ("" if rows["tensor_active_pct"].notna().any() else ", by their names")
    others = "although others run in 16 bits" if has_halves(step) else idle
    said = (
        f"Matrix products in FP32 run on the CUDA cores, {others}: {step.tell_share(time)}",
        _OF_TF32 if options[0].title == _TF32 else _OF_AUTOCAST,
    )
    about, confidence = about_kernels(step, rows.index), _confidence(step)
    is_guess = options[0].gain.is_known and not is_of_measured_chip(step)
    evidence = list_kernels(rows) + (_NOT_MEASURED,) * is_guess
    surer = (
        "" if step.is_timed_alone or confidence == HIGH else "Record with --unprofiled to learn what recording costs."
    )
    return [make_advice(step, RULE.name, said, options, about, evidence, confidence, surer)]


def _list_options(step: Step, rows: pd.DataFrame) -> list[Option]:
    """What the chip has, that with a price first."""
    found = []
    if not lacks_precision(step, "tf32"):
        found.append(Option(_TF32, _CODE, step.price_kernels(saved_by(step, rows, "fp32", "tf32"))))
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
