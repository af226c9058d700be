"""Training in float16 without a scaler: small gradients become 0.

What: steps in which nearly all products are in FP16 and one of PyTorch's optimizers runs, but none of the kernels of
`torch.amp.GradScaler`, and none that compares numbers, as scalers of other libraries do to find what is not finite.

Why: the smallest positive number in float16 is 6e-8, and many gradients are smaller. A scaler multiplies the loss
before the backward pass, and divides the gradients after it.

Thresholds: 90 % of the products' time in FP16, since a part that is not trained may well be in float16. It costs no
time, and so has no price. A loss that is multiplied by a constant cannot be told from other arithmetic: such programs
are told, too.

Do: bfloat16, which has the exponents of float32 and needs no scaler; or `torch.amp.GradScaler("cuda")`, before Ampere
that alone.

Not when: the program scales its loss by a constant.
"""

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH
from tcprof.findings.pricing.advice import MEDIUM, Advice, Option, Rule
from tcprof.findings.pricing.builders import about_kernels, list_kernels, make_advice, time_of
from tcprof.findings.pricing.products import (
    BF16_CODE,
    NOTABLE_SHARE_PCT,
    SCALER_CODE,
    is_product,
    lacks_precision,
)
from tcprof.findings.pricing.step import Step

RULE = Rule(("fp16-without-scaler",))
_FP16, _LEAST_SHARE = "fp16", 0.9


def find(step: Step) -> list[Advice]:
    """Products in FP16 in steps that train, and no scaler."""
    kernels, products = step.kernels, step.kernels[is_product(step)]
    rows = products[products["tensor_kernel"] & (products["precision"] == _FP16)]
    time = time_of(rows)
    trains = bool(step.name) and bool(kernels["is_pytorch_optimizer"].any())
    is_mostly = time > _LEAST_SHARE * time_of(products) and step.share_pct(time) >= NOTABLE_SHARE_PCT
    if not trains or not is_mostly or (kernels["is_scaler"] | (kernels["work"] == GRAPH)).any():
        return []
    has_bf16 = not lacks_precision(step, "bf16")
    said = (
        f"Steps train in float16, and no scaler is seen: products in FP16 take {step.tell_share(time)}",
        "Gradients below 6e-8 become 0 unless the loss is scaled." + " bfloat16 needs no scaler." * has_bf16,
    )
    share = units.format_pct(100 * time / time_of(products))
    evidence = [f"{share} of the products' time is in FP16", *list_kernels(rows)]
    options = [Option("bfloat16", BF16_CODE)] * has_bf16 + [Option("a scaler", SCALER_CODE)]
    about = about_kernels(step, rows.index)
    look = "Look whether the program multiplies its loss."
    return [make_advice(step, RULE.name, said, options, about, evidence, MEDIUM, look)]
