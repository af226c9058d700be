"""Rules on attention: computed in parts, or by older kernels."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.patterns import read_attention
from tcprof.arrays import Floats
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import MEDIUM, NOTABLE_PCT, Advice, Option, rule
from tcprof.findings.pricing.builders import about_launches, kernels_of, make_advice, time_of
from tcprof.findings.pricing.products import ATTENTION, find_attention
from tcprof.findings.pricing.step import Step

_MORE_BACKWARD = 1.5  # products of an attention, over those next to what lies between: two of six are not
_FUSED = (
    "out = torch.nn.functional.scaled_dot_product_attention(",
    "    query, key, value, is_causal=True)  # dropout_p=... in training",
    '# Hugging Face: from_pretrained(..., attn_implementation="sdpa")',
    '# JAX: jax.nn.dot_product_attention(..., implementation="cudnn")',
)


@rule("attention-in-parts")
def attention_in_parts(step: Step) -> list[Advice]:
    """Attention computed in parts: product, mask, softmax, dropout, product."""
    attention = find_attention(step)
    between = attention[~attention["is_product"]]
    time = float(between["exposed_ns"].sum()) / step.count
    if step.share_pct(time) < 2.0:
        return []
    rows = kernels_of(step, between)
    said = (
        f"Attention is computed in parts: what lies between its two products takes {step.tell_share(time)}",
        "A fused kernel keeps the scores on the chip.",
    )
    products = _MORE_BACKWARD * float(attention["exposed_ns"][attention["is_product"]].sum()) / step.count
    saved = MEASURED["parts"]["between"] * time + MEASURED["parts"]["products"] * products
    fewer = 1 - len(between) / len(step.launches)
    gain = step.price_kernels(saved, cpu=np.array([1.0, fewer, fewer]))
    about = about_launches(step, between["activity"])
    option = Option("fused attention", _FUSED, gain)
    return [make_advice(step, "attention-in-parts", said, [option], about, confidence=MEDIUM, rows=rows)]


_MEASURED = MEASURED["old_attention"]
_CUDNN = (
    "from torch.nn.attention import SDPBackend, sdpa_kernel",
    "first = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]",
    "with sdpa_kernel(first, set_priority=True):  # around forward and loss",
    "    loss = criterion(model(inputs), targets)",
    '# Hugging Face: from_pretrained(..., attn_implementation="sdpa")',
)


@rule("old-attention")
def old_attention(step: Step) -> list[Advice]:
    """Attention by instructions of the chip before: FlashAttention-2 on Hopper."""
    if step.chip.name != _MEASURED["chip"]:
        return []
    rows = step.kernels[step.kernels["is_flash_attention_2"] & (step.kernels["work"] == ATTENTION)]
    time = time_of(rows)
    if step.share_pct(time) < NOTABLE_PCT:
        return []
    gain = _speedups(rows) - 1
    ratio = 1 + gain * _MEASURED["spread"][:, None]
    saved = (rows["exposed_ns"].to_numpy() * (1 - 1 / ratio)).sum(axis=1)
    said = (
        f"Attention runs by FlashAttention-2, in instructions of the chip before: {step.tell_share(time)}",
        "cuDNN's attention has those of Hopper, at twice the rate.",
    )
    times = units.format_ratio(time / (time - saved[1]))
    evidence = [f"with heads of that size and sequences of that length cuDNN's was {times} as fast on an H200"]
    option = Option("cuDNN's attention", _CUDNN, step.price_kernels(saved))
    return [make_advice(step, "old-attention", said, [option], None, evidence, MEDIUM, rows=rows)]


def _speedups(rows: pd.DataFrame) -> Floats:
    """How many times as fast each kernel's pass becomes."""
    found = np.ones(len(rows))
    for place, (name, geometry) in enumerate(zip(rows["name"], rows["launch_geometry"].astype(str), strict=True)):
        way = "forward" if "flash_fwd" in name else "backward"
        head, queries, keys = read_attention(name) or (64, 0, 0)
        length = (queries if way == "forward" else keys) * float(geometry.partition("x")[0] or 0)
        measured = max((each for each in map(float, _MEASURED[way]) if each <= head), default=0.0)
        if measured:
            speedups = _MEASURED[way][f"{measured:g}"]
            found[place] = np.interp(np.log(max(length, 1.0)), np.log(_MEASURED["length"]), speedups)
    return found
