"""Kernels whose work is known: what they multiply, read and write follows from their sizes.

Ten launches of each, in a range of its own; ``tcprof kernels --wide`` shows whether the counters agree. With
``--evict``, each begins with caches that hold nothing of the one before, in particular nothing still to be written.
"""

import argparse
from collections.abc import Callable

import nvtx
import torch
from matmul import prepare
from session import add_sizes, capture, make_parser, parse, set_precision
from torch import Tensor
from torch.nn import functional

PRODUCTS = ("fp32", "tf32", "fp16", "bf16", "fp64", "int8", "fp8")
MEMORY = 16  # vectors have 16 times the elements of a square matrix
CACHES = 2**28  # bytes: more than the caches of any GPU hold


def list_products(options: argparse.Namespace) -> dict[str, Callable[[], Tensor]]:
    """A product of square matrices in each number format that is to be had here."""
    generator = torch.Generator().manual_seed(options.seed)
    left, right = torch.randn(2, options.size, options.size, generator=generator).to(options.device)
    found = {}
    for name in PRODUCTS:
        set_precision(name, options.device)
        try:
            multiply = prepare(name, left, right)
            multiply()
        except (AttributeError, RuntimeError, TypeError):  # as in matmul.py: int8 and fp8 may be absent
            print(f"{name}: –, not here")
            continue
        found[name] = multiply
    return found


def list_others(options: argparse.Namespace) -> dict[str, Callable[[], Tensor]]:
    """What memory limits, and what limits neither memory nor Tensor Cores alone."""
    size, device, wide = options.size, options.device, 2 * options.size
    vector = torch.randn(MEMORY * size**2, device=device)
    out = torch.empty_like(vector)
    matrix = torch.randn(wide, wide, device=device)
    half = matrix.bfloat16()
    query, key, value = torch.randn(3, 4, 16, size, 64, device=device, dtype=torch.bfloat16)
    small = torch.randn(size // 16, size // 16, device=device, dtype=torch.bfloat16)
    norm = torch.nn.LayerNorm(wide, device=device)
    rows = torch.randint(0, wide, (16 * size,), device=device)
    return {
        "saxpy": lambda: torch.add(vector, out, alpha=2.0, out=out),
        "exp": lambda: torch.exp(vector, out=out),
        "softmax": lambda: torch.softmax(matrix, -1),
        "softmax bf16": lambda: torch.softmax(half, -1),
        "layer_norm": lambda: norm(matrix),
        "sum": lambda: matrix.sum(),
        "gelu": lambda: functional.gelu(matrix),
        "transpose": lambda: matrix.t().contiguous(),
        "attention": lambda: functional.scaled_dot_product_attention(query, key, value),
        "small product": lambda: small @ small,
        "skinny": lambda: half[:16] @ half,
        "embedding": lambda: functional.embedding(rows, matrix),
    }


def main() -> None:
    """Run all of them."""
    parser = make_parser(__doc__)
    add_sizes(parser, {"steps": 10})
    parser.add_argument("--size", type=int, help="of a square matrix; default: 4096, on a CPU 64")
    parser.add_argument("--evict", action="store_true", help="read a buffer larger than the caches before each")
    options = parse(parser)
    options.size = options.size or (4096 if options.device == "cuda" else 64)
    with torch.no_grad(), nvtx.annotate("warm-up"):
        cases = list_products(options) | list_others(options)
        large = torch.zeros(CACHES, dtype=torch.uint8, device=options.device) if options.evict else None
        for run in cases.values():
            run()
    with torch.no_grad(), capture(options.device):
        for name, run in cases.items():
            set_precision(name, options.device)
            if large is not None:
                large.max()
                torch.cuda.synchronize()
            with nvtx.annotate(name):
                for _ in range(options.steps):
                    run()
                if options.device == "cuda":
                    torch.cuda.synchronize()
    print(f"ran {len(cases)} kernels, {options.steps} times each")


if __name__ == "__main__":
    main()
