"""Products that are slow since their rows are not aligned.

What: tensor kernels whose name says that they load one or two values at a time (`align1`, `align2`), and whose measured
rate is below two thirds of what aligned products of as many FLOP reach on this chip.

Why: Tensor Cores are fed 16 bytes at a time: 8 values in 16 bits, 4 in TF32. A width of 4097 was 4 to 7 times as slow
as one of 4096 (docs/lessons.md). Convolutions are left out: those of the first layer have as many channels as an image.

Thresholds: 1 % of a step, and the measured loss above. A size alone is no reason: cuBLAS uses Tensor Cores at any size.

Do: round widths, vocabularies and head sizes up to a multiple of 8, better of 64: 4097 to 4104, 50257 to 50304.

Not when: the size is given by the data, and padding it costs more than it saves.
"""

import numpy as np

from tcprof import units
from tcprof.analysis.kernels.names import PRODUCT
from tcprof.findings.pricing.advice import MEDIUM, Advice, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, save, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import NOTABLE_SHARE_PCT, SLOW_SHARE, share_of_reached
from tcprof.findings.pricing.step import Step

RULE = Rule(("unaligned-shapes",))
_CODE = (
    "width = -(-width // 64) * 64  # 4097 becomes 4160",
    "embedding = torch.nn.Embedding(50304, width)  # for a vocabulary of 50257",
)


def find(step: Step) -> list[Advice]:
    """Unaligned products that are slower than aligned ones."""
    kernels = step.kernels
    is_product = kernels["tensor_kernel"] & (kernels["work"] == PRODUCT) & ~kernels["is_convolution"]
    rows = kernels[is_product & kernels["is_unaligned"]]
    share = share_of_reached(step, rows)
    is_slow = share < SLOW_SHARE
    rows, share = rows[is_slow], share[is_slow]
    time = time_of(rows)
    if step.share_pct(time) < NOTABLE_SHARE_PCT:
        return []
    saved = float((rows["exposed_ns"] * (1 - share)).sum())
    levels = save(MEASURED["assumed"]["alignment"], saved)
    reach = units.format_pct(100 * float(np.average(share, weights=rows["exposed_ns"])))
    said = (
        f"Products whose rows are not aligned reach {reach} of the rate of aligned ones: {step.tell_share(time)}",
        "Sizes that are multiples of 8, better of 64, are fed to the Tensor Cores at full speed.",
    )
    options = [("aligned sizes", _CODE, (levels[0], levels[1], min(levels[2], time)))]
    sizes = "Record with --annotate shapes, to see the sizes."
    return [advise_on_kernels(step, RULE.name, said, rows, options, confidence=MEDIUM, raise_confidence=sizes)]
