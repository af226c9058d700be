"""What a published list of names calls tensor kernels, and what the counter says of those kernels and of the others.

    python benchmarks/name_lists.py fixtures/transformer_fp32.sqlite fixtures/llama.sqlite

The list is that of PyProf, the TensorBoard plugin of PyTorch and XProf: a kernel is one of tensor cores if its name has
one of these parts.
"""

import sys
from pathlib import Path

import pandas as pd

import tcprof

PARTS = (
    "h884|s884|h1688|s1688|hmma|i8816|16816|dgrad_1x1_stride_2x2|first_layer_wgrad_kernel|conv1x1|conv2d_c1_k1|"
    "direct_group|xmma_implicit_gemm|xmma_sparse_conv|xmma_warp_specialized_implicit_gemm|xmma_gemm|xmma_sparse_gemm|c1_k1"
)


def compare(path: Path) -> str:
    """One row: shares of kernel time in percent, and the mean Tensor Active of the kernels in each."""
    kernels = tcprof.read(path).kernels.dropna(subset="tensor_active_pct")
    listed, active = kernels["name"].astype(str).str.contains(PARTS), kernels["tensor_kernel"]

    def describe(chosen: "pd.Series[bool]") -> str:
        rows = kernels[chosen]
        time = rows["total_ns"].sum()
        mean = (rows["tensor_active_pct"] * rows["total_ns"]).sum() / time if time else float("nan")
        return f"{100 * time / kernels['total_ns'].sum():.1f} %" + (f" (Tensor Active {mean:.1f} %)" if time else "")

    cells = (listed, active, listed & ~active, active & ~listed)
    return " | ".join([f"| `{path.stem}`", *map(describe, cells)]) + " |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(compare(Path(name)))
