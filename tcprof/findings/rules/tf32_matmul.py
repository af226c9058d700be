"""Matrix products in TF32 that could run in BF16.

What: tensor kernels that read TF32, also PyTorch's attention for float32, which is three products in TF32 for each; and
none in 16 bits: where AMP is on, it is not advised.

Why: BF16 has twice the rate of TF32 on the Tensor Cores, and half the bytes. Attention in 16 bits was 10 times as fast
as in float32 (fixtures transformer_tf32 and transformer_eager).

Thresholds: 1 % of a step. From the gain are taken what the casts of weights and gradients move, and the CPU's time,
which autocast made 1.4 times as long: so small networks are not advised to.

Do: in PyTorch `torch.autocast("cuda", dtype=torch.bfloat16)` around the forward pass and the loss.

Not when: the step waits for the CPU (see launch-bound), or nearly all weights are used only once, in a small batch: in
docs/lessons.md an MLP at a batch of 512 was slower in float16 than in TF32.
"""

from tcprof.analysis.kernels.names import PRODUCT
from tcprof.findings.pricing.advice import LOW, MEDIUM, Advice, Option, Rule
from tcprof.findings.pricing.builders import about_kernels, list_kernels, make_advice, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import (
    ATTENTION,
    BF16_CODE,
    NOTABLE_SHARE_PCT,
    find_products,
    has_halves,
    is_of_measured_chip,
    saved_by_autocast,
)
from tcprof.findings.pricing.step import Step

RULE = Rule(("tf32-matmul",))
_TRY = "Try it for some hundred steps, and compare with 'tcprof compare'."


def find(step: Step) -> list[Advice]:
    """TF32 products, with what BF16 wins; nothing where FP32 products, of which BF16 is said too, take longer."""
    kernels = step.kernels[step.kernels["tensor_kernel"] & (step.kernels["precision"] == "tf32")]
    rows = kernels[kernels["work"].isin([PRODUCT, ATTENTION])]
    time = time_of(rows)
    plain = time_of(find_products(step, "fp32"))
    if step.share_pct(time) < NOTABLE_SHARE_PCT or time < plain or has_halves(step):
        return []
    products = find_products(step, "tf32")
    products = products[products["tensor_kernel"] & ~products["is_unaligned"]]  # these are as slow in 16 bits
    saved = saved_by_autocast(step, products, "tf32")
    option = Option("autocast to bfloat16", BF16_CODE, step.price_kernels(saved, MEASURED["autocast"]["cpu"]))
    said = (
        f"Matrix products run in TF32: {step.tell_share(time)}",
        "In BF16 the Tensor Cores are twice as fast, and attention in float32 gains more.",
    )
    about, confidence = about_kernels(step, rows.index), MEDIUM if is_of_measured_chip(step) else LOW
    return [make_advice(step, RULE.name, said, [option], about, list_kernels(rows), confidence, _TRY)]
