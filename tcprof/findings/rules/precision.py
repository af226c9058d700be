"""Rules on the precision of matrix multiplications: which could run in a faster one, what 16 bits cost and need."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH, PRODUCT
from tcprof.analysis.kernels.verdicts import MEMORY
from tcprof.arrays import Floats
from tcprof.findings.pricing import CODE, MEASURED
from tcprof.findings.pricing.advice import HIGH, LOW, MEDIUM, NOTABLE_PCT, Advice, Gain, Option, rule
from tcprof.findings.pricing.builders import about_launches, are_modules, list_kernels, make_advice, time_of
from tcprof.findings.pricing.products import (
    ATTENTION,
    HALVES,
    SLOW_SHARE,
    cpu_of_autocast,
    find_products,
    half_precision,
    has_halves,
    is_of_measured_chip,
    is_product,
    lacks_precision,
    saved_by,
    saved_by_autocast,
    share_of_reached,
)
from tcprof.findings.pricing.step import Levels, Step

_TF32 = "TF32"
_OF_TF32 = "TF32 runs them on the Tensor Cores and takes a one-line change."
_OF_AUTOCAST = "Autocast runs them in 16 bits on the Tensor Cores and keeps in float32 what needs it."
_NOT_MEASURED = (
    f"not measured on this chip: the saving was measured on {MEASURED['products']['chip']}, and is scaled by the "
    "chips' peaks"
)


@rule("fp32-matmul")
def fp32_matmul(step: Step) -> list[Advice]:
    """Matrix products and convolutions in FP32 on the CUDA cores."""
    rows = find_products(step, "fp32")
    rows = rows[~rows["tensor_kernel"]]
    time = time_of(rows)
    options = _list_options(step, rows) if step.share_pct(time) >= NOTABLE_PCT else []
    if not options:
        return []
    by_name = "" if rows["tensor_active_pct"].notna().any() else ", by their names"
    context = ", although others run in 16 bits" if has_halves(step) else by_name
    text = (
        "Use TF32 instead of FP32" if options[0].title == _TF32 else f"Use {options[0].title}",
        f"FP32 matrix multiplications on the CUDA cores take {step.format_share(time)}{context}",
        _OF_TF32 if options[0].title == _TF32 else _OF_AUTOCAST,
    )
    confidence = _confidence(step)
    is_guess = options[0].gain.is_known and not is_of_measured_chip(step)
    evidence = (*list_kernels(rows), *[_NOT_MEASURED] * is_guess)
    is_sure = step.is_cost_known or confidence == HIGH
    option = step.remedies.unprofiled
    surer = "" if is_sure or not option else f"Record with {option} to measure profiling overhead."
    about = about_launches(step, rows.index, "kernel")
    return [make_advice(step, "fp32-matmul", text, options, about, evidence, confidence, surer)]


def _list_options(step: Step, rows: pd.DataFrame) -> list[Option]:
    options = []
    if not lacks_precision(step, "tf32"):
        options.append(Option(_TF32, CODE["tf32"], step.price_kernels(saved_by(step, rows, "fp32", "tf32"))))
    half = half_precision(step)
    if half and not has_halves(step):
        saved = saved_by_autocast(step, rows, "fp32", half)
        options.append(_autocast(step, half, step.price_kernels(saved, cpu_of_autocast(step))))
    likely = [option.gain.likely_pct if option.gain.is_known else 0.0 for option in options]
    # TF32 is one line, but GeForce cards do it at the rate of FP32 on their CUDA cores.
    return options[::-1] if options and likely[-1] > 2 * likely[0] else options


def _autocast(step: Step, half: str, gain: Gain) -> Option:
    if half == "fp16":
        return Option("autocast to float16", CODE["fp16"], gain)
    if step.kernels["is_broadcast"].any() and step.kernels["is_reduction"].any():
        return Option("autocast to bfloat16 in each replica", CODE["replicas"], gain)
    return Option("autocast to bfloat16", CODE["bf16"], gain)


def _confidence(step: Step) -> str:
    if not is_of_measured_chip(step):
        return LOW
    return HIGH if step.idle_ns < 0.1 * step.length_ns else MEDIUM


_TRY = "Try it for a few hundred steps, and compare with 'tcprof compare'."


@rule("tf32-matmul")
def tf32_matmul(step: Step) -> list[Advice]:
    """Matrix products in TF32 that could run in BF16."""
    kernels = step.kernels[step.kernels["tensor_kernel"] & (step.kernels["precision"] == "tf32")]
    rows = kernels[kernels["work"].isin([PRODUCT, ATTENTION])]
    time = time_of(rows)
    plain = time_of(find_products(step, "fp32"))
    if step.share_pct(time) < NOTABLE_PCT or time < plain or has_halves(step):
        return []
    products = find_products(step, "tf32")
    products = products[products["tensor_kernel"] & ~products["is_unaligned"]]  # these are as slow in 16 bits
    saved = saved_by_autocast(step, products, "tf32")
    option = Option("autocast to bfloat16", CODE["bf16"], step.price_kernels(saved, cpu_of_autocast(step)))
    text = (
        "Use BF16 instead of TF32",
        f"TF32 matrix multiplications take {step.format_share(time)}",
        "In BF16 the Tensor Cores are twice as fast, and attention in float32 gains more.",
    )
    confidence = MEDIUM if is_of_measured_chip(step) else LOW
    return [make_advice(step, "tf32-matmul", text, [option], None, (), confidence, _TRY, rows)]


@rule("fp64-matmul")
def fp64_matmul(step: Step) -> list[Advice]:
    """Products in FP64: of a network that need not be, or that leave the Tensor Cores idle."""
    products = find_products(step, "fp64")
    if step.share_pct(time_of(products)) < NOTABLE_PCT:
        return []
    if _is_network(step):
        is_mostly = time_of(products) > _MOSTLY * time_of(step.kernels[is_product(step)])
        return _in_single(step, products) if is_mostly else []
    has_dmma = step.chip.peak_flop_per_cycle("fp64") > 0
    is_idle = ~products["tensor_kernel"] & (products["tensor_active_pct"] < 1) & (products["bound"] != MEMORY)
    rows = products[is_idle]
    time = time_of(rows)
    if not has_dmma or step.share_pct(time) < NOTABLE_PCT:
        return []
    speedup = np.array(
        [MEASURED["fp64"]["library" if is_of_library else "own"] for is_of_library in rows["is_of_library"]]
    )
    saved = (rows["exposed_ns"].to_numpy()[:, None] * (1 - 1 / speedup)).sum(axis=0)
    text = (
        "Use cuBLAS in FP64",
        f"FP64 matrix multiplications without Tensor Cores take {step.format_share(time)}",
        "This chip's Tensor Cores also multiply in FP64, at twice the rate and in the same precision.",
    )
    option = Option("cuBLAS", CODE["cublas"], step.price_kernels(saved))
    return [make_advice(step, "fp64-matmul", text, [option], rows=rows)]


def _is_network(step: Step) -> bool:
    """Whether a step is of modules, or of training; what solves linear systems wants its float64."""
    kernels = step.kernels
    is_trained = kernels["is_pytorch_optimizer"].any() or are_modules(step).any()
    return bool(kernels["is_pytorch_native"].any() and is_trained and not kernels["is_solver"].any())


_MOSTLY = 0.9  # of the time of products: beside others, float64 was chosen


def _in_single(step: Step, products: pd.DataFrame) -> list[Advice]:
    """A network in float64: its other kernels move half the bytes in float32."""
    rows = step.kernels[step.kernels["precision"] == "fp64"]
    after = "fp32" if lacks_precision(step, "tf32") else "tf32"
    other_ns = time_of(rows) - time_of(products)
    # In another precision the library picks other kernels, which do without an older chip's instructions.
    slow_ns = products["exposed_ns"] * (1 - np.fmin(share_of_reached(step, products), 1.0))
    fast = products.assign(exposed_ns=products["exposed_ns"] - slow_ns)
    kept, faster = (saved_by(step, rows, "fp64", after) for rows in (products, fast))
    saved = np.append(kept[:1], faster[1:] + slow_ns.sum()) + MEASURED["fp64"]["bytes"] * other_ns
    text = (
        "Use float32" + ", with TF32" * (after == "tf32"),
        f"FP64 kernels take {step.format_share(time_of(rows))}, including "
        f"{units.format_pct(step.share_pct(time_of(products)))} in matrix multiplications",
        "Networks seldom need float64, which is NumPy's default. If you do need double precision, ignore this.",
    )
    option = Option(text[0][len("Use ") :], CODE["float32"], step.price_kernels(saved))
    return [make_advice(step, "fp64-matmul", text, [option], confidence=_confidence(step), rows=rows)]


_MEASURED = MEASURED["fp8"]


@rule("fp8")
def fp8(step: Step) -> list[Advice]:
    """Large products in 16 bits that could run in FP8."""
    kernels = step.kernels
    of_fp8 = kernels["exposed_ns"][kernels["tensor_kernel"] & (kernels["precision"] == "fp8")].sum()
    if step.chip.name != _MEASURED["chip"] or step.share_pct(float(of_fp8)) >= NOTABLE_PCT:
        return []
    rows = find_products(step, *HALVES)
    rows = rows[rows["tensor_kernel"] & ~rows["is_convolution"] & (rows["bound"] != MEMORY)]
    rows = rows[share_of_reached(step, rows) >= SLOW_SHARE]
    speedups = _speedups(rows["median_ns"].to_numpy(np.float64), step.trains)
    is_large = speedups[1] > 1
    rows, speedups = rows[is_large], speedups[:, is_large]
    exposed = rows["exposed_ns"].to_numpy()
    saved = _MEASURED["share"] * (exposed * (1 - 1 / speedups)).sum(axis=1)
    if step.share_pct(saved[1]) < 5.0:
        return []
    time = time_of(rows)
    text = (
        "Use FP8",
        f"16-bit matrix multiplications large enough for FP8 take {step.format_share(time)}",
        "FP8 has twice the rate, less the cost of casts and scales. Check the accuracy.",
    )
    ratio = units.format_ratio(float(np.average(speedups[1], weights=exposed)))
    way = "in training" if step.trains else "without training"
    evidence = [
        (
            f"on an H200, matrix multiplications of similar duration were {ratio} as fast in FP8 {way}, casts and "
            "scales included"
        )
    ]
    option = Option("FP8, compiled", CODE["fp8"], step.price_kernels(saved))
    check = "Compare the loss over a few thousand steps, and the time with 'tcprof compare'."
    return [make_advice(step, "fp8", text, [option], None, evidence, LOW, check, rows)]


def _speedups(duration_ns: Floats, trains: bool) -> Floats:
    """How many times as fast a product of that duration becomes: low, likely and high."""
    at = np.log(np.maximum(duration_ns, 1.0))
    levels = _MEASURED["training" if trains else "inference"]
    speedups: Floats = np.array([np.interp(at, np.log(_MEASURED["duration_ns"]), level) for level in levels])
    return speedups


@rule("fp16-without-scaler")
def fp16_without_scaler(step: Step) -> list[Advice]:
    """Training in float16 without a scaler: small gradients become 0."""
    kernels, products = step.kernels, step.kernels[is_product(step)]
    rows = products[products["tensor_kernel"] & (products["precision"] == "fp16")]
    time = time_of(rows)
    trains = bool(step.name) and bool(kernels["is_pytorch_optimizer"].any())
    is_mostly = time > 0.9 * time_of(products) and step.share_pct(time) >= NOTABLE_PCT
    if not trains or not is_mostly or (kernels["is_scaler"] | (kernels["work"] == GRAPH)).any():
        return []
    has_bf16 = not lacks_precision(step, "bf16")
    text = (
        "Scale the loss" + " or use bfloat16" * has_bf16,
        "Training runs in float16 without a gradient scaler. FP16 matrix multiplications take "
        f"{step.format_share(time)}",
        "Gradients below 6e-8 become 0 unless the loss is scaled." + " bfloat16 needs no scaler." * has_bf16,
    )
    share = units.format_pct(100 * time / time_of(products))
    evidence = [f"{share} of matrix multiplication time is in FP16"]
    options = [Option("bfloat16", CODE["bf16"])] * has_bf16 + [Option("a scaler", CODE["scaler"])]
    look = "Check whether the program scales its loss itself."
    return [make_advice(step, "fp16-without-scaler", text, options, None, evidence, MEDIUM, look, rows)]


@rule("mixed-precision-overhead", after=("fusion",))
def mixed_precision_overhead(step: Step, earlier: Collection[str]) -> list[Advice]:
    """What mixed precision itself costs: casts of weights and activations, and the unscaling of gradients."""
    if not has_halves(step):
        return []
    casts, unscale = (step.kernels[step.kernels[kind]] for kind in ("is_cast", "is_unscaling"))
    casts = casts[:0] if earlier else casts  # which fusion has in its price
    time = time_of(casts) + time_of(unscale)
    if step.share_pct(time) < 2.0:
        return []
    is_compiled = bool(step.kernels["is_of_compiler"].any())
    options: list[tuple[str, tuple[str, ...], Levels]] = []
    has_bf16 = not lacks_precision(step, "bf16")
    if len(casts):
        code = CODE["compile_loss" if is_compiled else "compile_casts"]
        code = (*code, "# or:", *CODE["bfloat16_weights"]) if has_bf16 else code
        options.append(("fewer casts", code, MEASURED["assumed"]["casts"] * time_of(casts)))
    if len(unscale) and has_bf16:
        options.append(("bfloat16 without a scaler", CODE["no_scaler"], np.array([0.9, 1.0, 1.0]) * time_of(unscale)))
    if not options:
        return []
    options.sort(key=lambda option: -option[2][1])
    priced = [Option(title, code, step.price_kernels(saved)) for title, code, saved in options]
    take = "take" if len(casts) else "takes"
    what = " and ".join(["casts"] * bool(len(casts)) + ["unscaling"] * bool(len(unscale))).capitalize()
    text = (
        "Cast less" if priced[0].title == "fewer casts" else "Drop the loss scaler",
        f"{what} of mixed precision {take} {step.format_share(time)}",
        "Mixed precision saves more time than the scaler costs, but part of that cost is avoidable.",
    )
    parts = (("casts", casts), ("unscaling", unscale))
    evidence = [", ".join(f"{name} {units.format_ns(time_of(part))}" for name, part in parts if len(part))]
    rows = pd.concat([casts, unscale]).sort_values("exposed_ns", ascending=False)
    return [make_advice(step, "mixed-precision-overhead", text, priced, evidence=evidence, rows=rows)]
