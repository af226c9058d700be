"""Attention computed in parts: product, mask, softmax, dropout, product.

What: three or more kernels between two products with a softmax, or its gradient, among them; not that of a loss.

Why: each of them reads and writes the whole matrix of scores. FlashAttention, or cuDNN's, keeps it on the chip.

Thresholds: 2 % of a step. What is saved is the time of the kernels between the products, and part of that of the
products, half as many again in the backward pass; the CPU launches fewer kernels.

Do: `torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)`; Hugging Face
`from_pretrained(..., attn_implementation="sdpa")`; JAX `jax.nn.dot_product_attention(..., implementation="cudnn")`.

Not when: the scores themselves are needed, or a mask is used that no fused kernel takes.
"""

from tcprof.findings.pricing.advice import MEDIUM, Advice, Rule
from tcprof.findings.pricing.builders import about_launches, add, advise_on_kernels, kernels_of, save
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import find_attention
from tcprof.findings.pricing.step import Step

RULE = Rule(("attention-in-parts",))
LEAST_PCT = 2.0
_MORE_BACKWARD = 1.5  # products of an attention, over those next to what lies between: two of six are not
_CODE = (
    "out = torch.nn.functional.scaled_dot_product_attention(",
    "    query, key, value, is_causal=True)  # dropout_p=... in training",
    '# Hugging Face: from_pretrained(..., attn_implementation="sdpa")',
    '# JAX: jax.nn.dot_product_attention(..., implementation="cudnn")',
)


def find(step: Step) -> list[Advice]:
    """Attention in parts."""
    attention = find_attention(step)
    between = attention[~attention["is_product"]]
    time = float(between["exposed_ns"].sum()) / step.count
    if step.share_pct(time) < LEAST_PCT:
        return []
    rows = kernels_of(step, between)
    said = (
        f"Attention is computed in parts: what lies between its two products takes {step.tell_share(time)}",
        "A fused kernel keeps the scores on the chip.",
    )
    products = _MORE_BACKWARD * float(attention["exposed_ns"][attention["is_product"]].sum()) / step.count
    parts = save(MEASURED["parts"]["between"], time), save(MEASURED["parts"]["products"], products)
    fewer = 1 - len(between) / len(step.launches)
    options = [("fused attention", _CODE, add(parts))]
    about = about_launches(step, between["activity"])
    return [advise_on_kernels(step, RULE.name, said, rows, options, about, confidence=MEDIUM, cpu=(1.0, fewer, fewer))]
