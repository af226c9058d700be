"""Attention computed in parts: product, mask, softmax, dropout, product.

What: three or more kernels between two products with a softmax, or its gradient, among them; not that of a loss.

Why: each of them reads and writes the whole matrix of scores. FlashAttention, or cuDNN's, keeps it on the chip.

Thresholds: 2 % of a step. What is saved is the time of the kernels between the products, not of the products; how much
of it is assumed.

Do: `torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)`; Hugging Face
`from_pretrained(..., attn_implementation="sdpa")`; JAX `jax.nn.dot_product_attention(..., implementation="cudnn")`.

Not when: the scores themselves are needed, or a mask is used that no fused kernel takes.
"""

from tcprof.findings.advice.advice import MEDIUM, Advice
from tcprof.findings.advice.between import find_between_products
from tcprof.findings.advice.making import advise_on_kernels, kernels_of, save
from tcprof.findings.advice.measured import MEASURED
from tcprof.findings.advice.step import Step
from tcprof.findings.advice.subject import about_launches

LEAST_PCT = 2.0
_CODE = (
    "out = torch.nn.functional.scaled_dot_product_attention(",
    "    query, key, value, is_causal=True)  # dropout_p=... in training",
    '# Hugging Face: from_pretrained(..., attn_implementation="sdpa")',
    '# JAX: jax.nn.dot_product_attention(..., implementation="cudnn")',
)


def find(step: Step) -> list[Advice]:
    """Attention in parts."""
    between = find_between_products(step)
    time = float(between["exposed_ns"].sum()) / step.count
    if step.share_pct(time) < LEAST_PCT:
        return []
    rows = kernels_of(step, between)
    said = (
        f"Attention is computed in parts: what lies between its two products takes {step.tell_share(time)}",
        "A fused kernel keeps the scores on the chip.",
    )
    options = [("fused attention", _CODE, save(MEASURED["assumed"]["attention_between"], time))]
    about = about_launches(step, between["activity"])
    return [advise_on_kernels(step, "attention-in-parts", said, rows, options, about, confidence=MEDIUM)]
