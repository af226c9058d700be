"""Products by instructions of the chip before: `mma.sync` where others of the same precision reach more.

What: aligned products on Tensor Cores by `mma.sync` (`sm80_`, `cutlass_80`, `s16816`), in a precision that the chip
multiplies faster by its newer instructions, and whose measured rate is below two thirds of what products of as many
FLOP reach on it.

Why: on Hopper `mma.sync` has two thirds of the rate of `wgmma` at most, in 16 bits half of it where an instruction is
8 deep (`s1688`). Such kernels come with older libraries, and from code that was compiled for the chip before.

Thresholds: 1 % of a step, and the measured loss. The gain is to the rate that cuBLAS reached (docs/lessons.md). Left
out are products below 2.1 GFLOP, the smallest that were measured, those bound by memory, convolutions, of which cuDNN
has none by the newer instructions for few channels, and unaligned ones, which have a rule of their own.

Do: a PyTorch built for CUDA 12 or later, whose cuBLAS has kernels for Hopper; CUTLASS 3 with `arch::Sm90`.

Not when: the product does something that the library has no other kernel for.
"""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.summary import MEMORY
from tcprof.findings.pricing.advice import LOW, Advice, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, save, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import (
    NOTABLE_SHARE_PCT,
    SLOW_SHARE,
    is_product,
    share_of_reached,
)
from tcprof.findings.pricing.step import Step

RULE = Rule(("old-products",))
_OLD, _NEW = "mma.sync", ("wgmma", "tcgen05")
_CODE = (
    "pip install --upgrade torch  # built for CUDA 12 or later",
    "// CUTLASS 3: cutlass::gemm::collective::CollectiveBuilder<arch::Sm90, ...>",
)


def find(step: Step) -> list[Advice]:
    """Products by older instructions that are slow."""
    kernels = step.kernels
    rows = kernels[is_product(step) & kernels["tensor_kernel"] & ~kernels["is_convolution"]]
    rows = rows[(rows["family"] == _OLD) & (rows["bound"] != MEMORY) & ~rows["is_unaligned"]]
    rows = rows[
        _is_slower(step, rows) & (rows["tensor_flop"] / rows["launch_count"] >= MEASURED["products"]["flop"][0])
    ]
    share = share_of_reached(step, rows)
    rows, share = rows[share < SLOW_SHARE], share[share < SLOW_SHARE]
    time = time_of(rows)
    if step.share_pct(time) < NOTABLE_SHARE_PCT:
        return []
    reach = units.format_pct(100 * float(np.average(share, weights=rows["exposed_ns"])))
    said = (
        f"Products by instructions of the chip before reach {reach} of the rate of others: {step.tell_share(time)}",
        "This chip has newer ones for the same precision, which libraries that know it use.",
    )
    saved = float((rows["exposed_ns"] * (1 - share)).sum())
    options = [("a library that knows the chip", _CODE, save(MEASURED["assumed"]["old_products"], saved))]
    return [advise_on_kernels(step, RULE.name, said, rows, options, confidence=LOW)]


def _is_slower(step: Step, rows: pd.DataFrame) -> "pd.Series[bool]":
    """Whether newer instructions of the chip are faster than the kernel's, in its precision."""
    chip = step.chip
    faster = [
        any(chip.flop_per_cycle(new, precision) > chip.flop_per_cycle(_OLD, precision, shape=shape) for new in _NEW)
        for precision, shape in zip(rows["precision"], rows["shape"], strict=True)
    ]
    return pd.Series(faster, index=rows.index, dtype=bool)
