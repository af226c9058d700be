"""Rules on training in 16 bits: what it costs, and what it needs."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import MEDIUM, NOTABLE_PCT, Advice, Option, rule
from tcprof.findings.pricing.builders import make_advice, time_of
from tcprof.findings.pricing.products import BF16_CODE, SCALER_CODE, has_halves, is_product, lacks_precision
from tcprof.findings.pricing.step import Levels, Step


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
    said = (
        f"Steps train in float16, and no scaler is seen: products in FP16 take {step.tell_share(time)}",
        "Gradients below 6e-8 become 0 unless the loss is scaled." + " bfloat16 needs no scaler." * has_bf16,
    )
    share = units.format_pct(100 * time / time_of(products))
    evidence = [f"{share} of the products' time is in FP16"]
    options = [Option("bfloat16", BF16_CODE)] * has_bf16 + [Option("a scaler", SCALER_CODE)]
    look = "Look whether the program multiplies its loss."
    return [make_advice(step, "fp16-without-scaler", said, options, None, evidence, MEDIUM, look, rows)]


_COMPILE = ("model = torch.compile(model)  # fuses casts with what follows",)
_LOSS = (
    "@torch.compile  # the loss too: its casts are fused with the model's end",
    "def loss_of(inputs, targets): return criterion(model(inputs), targets)",
)
_WEIGHTS = ("model = model.to(torch.bfloat16)  # FP32 copies in the optimizer",)
_SCALER = (
    'with torch.autocast("cuda", dtype=torch.bfloat16):  # instead of float16',
    "    loss = criterion(model(inputs), targets)",
    "loss.backward(); optimizer.step()  # no GradScaler",
)


@rule("mixed-precision-overhead", after=("fusion",))
def mixed_precision_overhead(step: Step, found: Collection[str]) -> list[Advice]:
    """What mixed precision itself costs: casts of weights and activations, and the unscaling of gradients."""
    if not has_halves(step):
        return []
    casts, unscale = (step.kernels[step.kernels[kind]] for kind in ("is_cast", "is_unscaling"))
    casts = casts[:0] if found else casts  # which fusion has in its price
    time = time_of(casts) + time_of(unscale)
    if step.share_pct(time) < 2.0:
        return []
    is_compiled = bool(step.kernels["is_of_compiler"].any())
    options: list[tuple[str, tuple[str, ...], Levels]] = []
    has_bf16 = not lacks_precision(step, "bf16")
    if len(casts):
        code = _LOSS if is_compiled else _COMPILE
        code = (*code, "# or:", *_WEIGHTS) if has_bf16 else code
        options.append(("fewer casts", code, MEASURED["assumed"]["casts"] * time_of(casts)))
    if len(unscale) and has_bf16:
        options.append(("bfloat16 without a scaler", _SCALER, np.array([0.9, 1.0, 1.0]) * time_of(unscale)))
    if not options:
        return []
    options.sort(key=lambda option: -option[2][1])
    priced = [Option(title, code, step.price_kernels(saved)) for title, code, saved in options]
    take = "take" if len(casts) else "takes"
    what = " and ".join(["casts"] * bool(len(casts)) + ["unscaling"] * bool(len(unscale))).capitalize()
    said = (
        f"{what} of mixed precision {take} {step.tell_share(time)}",
        "The products gain more than that; part of it can be had back.",
    )
    parts = (("casts", casts), ("unscaling", unscale))
    evidence = [", ".join(f"{name} {units.format_ns(time_of(part))}" for name, part in parts if len(part))]
    rows = pd.concat([casts, unscale]).sort_values("exposed_ns", ascending=False)
    return [make_advice(step, "mixed-precision-overhead", said, priced, evidence=evidence, rows=rows)]
