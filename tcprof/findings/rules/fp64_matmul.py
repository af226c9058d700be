"""Products in FP64 that leave the Tensor Cores idle.

What: matrix products in FP64, by name, that took no tensor cycles, on a chip whose Tensor Cores multiply in FP64.

Why: they do that at twice the rate of the FP64 units, and in the same precision: A100, H100 and H200 have them.

Thresholds: 1 % of a step. Kernels of libraries are likely to become twice as fast, by the rates of both units. Those of
one's own are often far below the rate of their units: one was 5.2 times as fast by cuBLAS, and 4 times is likely.

Do: call cuBLAS (`cublasDgemm`, `a @ b` in PyTorch or CuPy), cuSOLVER, or CUTLASS with `arch::OpClassTensorOp`: they use
the Tensor Cores in FP64 by themselves.

Not when: the product is tiny, or the matrix is a vector: then memory is the limit.
"""

import numpy as np

from tcprof.analysis.kernels.summary import MEMORY
from tcprof.findings.pricing.advice import LOW, Advice, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import NOTABLE_SHARE_PCT, find_products
from tcprof.findings.pricing.step import Step

RULE = Rule(("fp64-matmul",))
_FP64 = "fp64"
_CODE = (
    "c = a @ b  # cuBLAS: float64 runs on Tensor Cores by itself",
    "// C++: cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, ...);",
)


def find(step: Step) -> list[Advice]:
    """FP64 products without tensor cycles."""
    has_dmma = step.chip.peak_flop_per_cycle(_FP64) > 0
    products = find_products(step, _FP64)
    is_idle = ~products["tensor_kernel"] & (products["tensor_active_pct"] < 1) & (products["bound"] != MEMORY)
    rows = products[is_idle]
    time = time_of(rows)
    if not has_dmma or step.share_pct(time) < NOTABLE_SHARE_PCT:
        return []
    of_library = rows["is_of_library"].to_numpy()[:, None]
    speedup = np.where(of_library, MEASURED["fp64"]["library"], MEASURED["fp64"]["own"])
    saved = (rows["exposed_ns"].to_numpy()[:, None] * (1 - 1 / speedup)).sum(axis=0)
    said = (
        f"Matrix products in FP64 run without Tensor Cores: {step.tell_share(time)}",
        "This chip's Tensor Cores multiply in FP64, too, at twice the rate and in the same precision.",
    )
    options = [("cuBLAS", _CODE, (float(saved[0]), float(saved[1]), float(saved[2])))]
    return [advise_on_kernels(step, RULE.name, said, rows, options, confidence=LOW)]
