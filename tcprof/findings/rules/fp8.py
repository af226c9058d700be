"""Large products in 16 bits that could run in FP8.

What: matrix products in BF16 or FP16 on Hopper, where each takes so long that FP8 wins with all its casts and scales;
none that is slow for another reason (below two thirds of the rate of others of its size), no convolutions, and nothing
where products in FP8 run already.

Why: FP8 has twice the rate. But each product needs its factors rounded and scaled first, which is a pass over them: in
training a product that takes 0.03 ms in BF16 became slower, one of 0.17 ms 1.25 times and one of 1.4 ms 1.76 times as
fast (docs/lessons.md), by code of torch.compile. In eager PyTorch all but the largest became slower.

Thresholds: likely 5 % of a step, since much is to be changed. The gain is what was measured for products that take as
long, in training or without; low, likely and high differ by how scales are found. That a fifth of the products stays as
it is, is assumed.

Do: torchao's `convert_to_float8_training`, or Transformer Engine's `fp8_autocast`, with `torch.compile`. Check the
accuracy against a run in BF16.

Not when: the loss gets worse, or the model is not compiled. Leave the first and the last layer as they are.
"""

import numpy as np

from tcprof import units
from tcprof.analysis.kernels.names import OPTIMIZER
from tcprof.analysis.kernels.summary import MEMORY
from tcprof.arrays import Floats
from tcprof.findings.pricing.advice import LOW, Advice, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import (
    HALVES,
    NOTABLE_SHARE_PCT,
    SLOW_SHARE,
    find_products,
    share_of_reached,
)
from tcprof.findings.pricing.step import Step

RULE = Rule(("fp8",))
LEAST_PCT = 5.0
_MEASURED = MEASURED[RULE.name]
_FP8 = RULE.name
_CODE = (
    "# training: pip install torchao; layers by name, the last one left out",
    "from torchao.float8 import convert_to_float8_training",
    'is_inner = lambda module, name: "head" not in name',
    "convert_to_float8_training(model, module_filter_fn=is_inner)",
    "model = torch.compile(model)  # fuses the casts: needed",
    "# or Transformer Engine: te.Linear under te.fp8_autocast(enabled=True)",
)


def find(step: Step) -> list[Advice]:
    """Products that are large enough for FP8."""
    kernels = step.kernels
    of_fp8 = kernels["exposed_ns"][kernels["tensor_kernel"] & (kernels["precision"] == _FP8)].sum()
    if step.chip.name != _MEASURED["chip"] or step.share_pct(float(of_fp8)) >= NOTABLE_SHARE_PCT:
        return []
    trains = bool((kernels["work"] == OPTIMIZER).any())
    rows = find_products(step, *HALVES)
    rows = rows[rows["tensor_kernel"] & ~rows["is_convolution"] & (rows["bound"] != MEMORY)]
    rows = rows[share_of_reached(step, rows) >= SLOW_SHARE]
    speedups = _speedups(rows["median_ns"].to_numpy(np.float64), trains)
    is_large = speedups[1] > 1
    rows, speedups = rows[is_large], speedups[:, is_large]
    exposed = rows["exposed_ns"].to_numpy()
    low, likely, high = (
        share * float((exposed * (1 - 1 / each)).sum())
        for share, each in zip(_MEASURED["share"], speedups, strict=True)
    )
    if step.share_pct(likely) < LEAST_PCT:
        return []
    time = time_of(rows)
    said = (
        f"Products large enough for FP8 run in 16 bits: {step.tell_share(time)}",
        "FP8 has twice the rate, of which casts and scales take a part. The accuracy is to be checked.",
    )
    ratio = units.format_ratio(float(np.average(speedups[1], weights=exposed)))
    way = "in training" if trains else "without training"
    evidence = [f"products that take as long were {ratio} as fast in FP8 on an H200 {way}, casts and scales included"]
    options = [("FP8, compiled", _CODE, (low, likely, high))]
    check = "Compare the loss of some thousand steps, and the time with 'tcprof compare'."
    return [advise_on_kernels(step, RULE.name, said, rows, options, None, evidence, LOW, check)]


def _speedups(duration_ns: Floats, trains: bool) -> Floats:
    """How many times as fast a product of that duration becomes: low, likely and high."""
    at = np.log(np.maximum(duration_ns, 1.0))
    levels = _MEASURED["training" if trains else "inference"]
    found: Floats = np.array([np.interp(at, np.log(_MEASURED["duration_ns"]), level) for level in levels])
    return found
