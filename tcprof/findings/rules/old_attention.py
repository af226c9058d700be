"""Attention by instructions of the chip before: FlashAttention-2 on Hopper.

What: kernels of FlashAttention-2 (`flash_fwd_kernel`, `flash_bwd_*`), of PyTorch or of the package `flash-attn`, on
Hopper. They multiply by `mma.sync`, which has two thirds of the rate of Hopper's `wgmma` in 16 bits.

Why: cuDNN's attention, which PyTorch has as well, uses `wgmma`. On an H200 it was 1.5 to 2.0 times as fast forward with
heads of 64 and 128, and backward 1.1 times for sequences of 128, to 1.9 times for 16384 (docs/lessons.md).

Thresholds: 1 % of a step. The gain is what was measured for the size of a head, in the kernel's name, and the length of
the sequence, in its grid; other chips were not measured, and are not advised. Nor are masks that only PyTorch's
memory-efficient attention takes (`fmha_cutlass`), nor decoding (`splitkv`).

Do: let PyTorch choose cuDNN first, `sdpa_kernel([...], set_priority=True)`. Hugging Face `attn_implementation="sdpa"`
instead of `"flash_attention_2"`; PyTorch 2.11 chooses cuDNN by itself. Or FlashAttention-3, which was not measured.

Not when: heads are larger than cuDNN takes, or sequences of different lengths are packed without padding.
"""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.patterns import read_attention
from tcprof.arrays import Floats
from tcprof.findings.pricing.advice import MEDIUM, Advice, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import ATTENTION, NOTABLE_SHARE_PCT
from tcprof.findings.pricing.step import Step

RULE = Rule(("old-attention",))
_MEASURED = MEASURED["old_attention"]
_CODE = (
    "from torch.nn.attention import SDPBackend, sdpa_kernel",
    "first = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]",
    "with sdpa_kernel(first, set_priority=True):  # around forward and loss",
    "    loss = criterion(model(inputs), targets)",
    '# Hugging Face: from_pretrained(..., attn_implementation="sdpa")',
)


def find(step: Step) -> list[Advice]:
    """Kernels of FlashAttention-2 on a chip that has something better."""
    if step.chip.name != _MEASURED["chip"]:
        return []
    rows = step.kernels[step.kernels["is_flash_attention_2"] & (step.kernels["work"] == ATTENTION)]
    time = time_of(rows)
    if step.share_pct(time) < NOTABLE_SHARE_PCT:
        return []
    gain = _speedups(rows) - 1
    low, likely, high = (
        float((rows["exposed_ns"] * (1 - 1 / (1 + gain * each))).sum()) for each in _MEASURED["spread"]
    )
    said = (
        f"Attention runs by FlashAttention-2, in instructions of the chip before: {step.tell_share(time)}",
        "cuDNN's attention has those of Hopper, at twice the rate.",
    )
    times = units.format_ratio(time / (time - likely))
    evidence = [f"with heads of that size and sequences of that length cuDNN's was {times} as fast on an H200"]
    options = [("cuDNN's attention", _CODE, (low, likely, high))]
    return [advise_on_kernels(step, RULE.name, said, rows, options, None, evidence, MEDIUM)]


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
