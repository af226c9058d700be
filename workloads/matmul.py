"""Multiply square matrices in seven number formats: the rate and the error of each.

The fewer bits, the higher the rate, if the sizes suit the Tensor Cores: 4097 does not. The rate printed here is by the
clock, with all gaps between kernels; ``tcprof kernels`` shows it by tensor cycles.
"""

import argparse
import time
from collections.abc import Callable

import nvtx
import torch
from session import add_sizes, capture, make_parser, parse, print_speed, set_precision
from torch import Tensor

DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,  # stored as float32; the Tensor Cores round it, see set_precision
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "int8": torch.int8,
    "fp8": torch.float8_e4m3fn,
}
MAY_LACK = ("int8", "fp8")  # both want sizes of their own, and fp8 a GPU from Ada or Hopper on
INT8_ONE = 127  # the integer that stands for 1
SAMPLED_ROWS = 16


def prepare(name: str, left: Tensor, right: Tensor) -> Callable[[], Tensor]:
    """The product in a number format, on factors that were rounded to it; the values are from -1 to 1."""
    if name == "int8":
        left, right = (left * INT8_ONE).round(), (right * INT8_ONE).round()
    # fp8 wants the second factor column by column, so all get it that way.
    left, right = left.to(DTYPES[name]), right.t().contiguous().to(DTYPES[name]).t()
    if name == "int8":
        return lambda: torch._int_mm(left, right)  # exact, in int32
    if name == "fp8":
        one = torch.ones((), device=left.device)
        return lambda: torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    return lambda: left @ right


def error_of(name: str, product: Tensor, left: Tensor, right: Tensor) -> float:
    """The error of some rows of a product, relative to float64: rounded factors, sums and result together."""
    rows = torch.linspace(0, len(left) - 1, SAMPLED_ROWS, device=left.device).long()
    exact = left[rows] @ right
    scale = INT8_ONE**2 if name == "int8" else 1
    return ((product[rows].double() / scale - exact).norm() / exact.norm()).item()


def try_out(options: argparse.Namespace) -> dict[tuple[str, int], tuple[Callable[[], Tensor], float] | None]:
    """For each format and size the product and its error; None where PyTorch or the device does not have it."""
    generator = torch.Generator().manual_seed(options.seed)
    cases = {}
    for size in options.sizes:
        values = 2 * torch.rand(2, size, size, dtype=torch.float64, generator=generator) - 1
        left, right = values.to(options.device)
        for name in DTYPES:
            set_precision(name, options.device)
            try:
                multiply = prepare(name, left, right)
                cases[name, size] = multiply, error_of(name, multiply(), left, right)
            except (AttributeError, RuntimeError, TypeError):  # TypeError: what an older _scaled_mm says
                if name not in MAY_LACK:
                    raise
                cases[name, size] = None
    return cases


def time_of(multiply: Callable[[], Tensor], options: argparse.Namespace, label: str) -> float:
    """Seconds for each product."""
    begin = time.perf_counter()
    with nvtx.annotate(label):
        for _ in range(options.steps):
            multiply()
        if options.device == "cuda":
            torch.cuda.synchronize()
    return (time.perf_counter() - begin) / options.steps


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_sizes(parser, {"steps": 20})
    parser.add_argument("--sizes", type=int, nargs="+", help="default: 1024 4096 4097; on a CPU 64 256 257")
    options = parse(parser)
    options.sizes = options.sizes or ([1024, 4096, 4097] if options.device == "cuda" else [64, 256, 257])
    if options.steps < 1 or min(options.sizes) < SAMPLED_ROWS:
        parser.error(f"--steps begins at 1, --sizes at {SAMPLED_ROWS}")
    return options


def main() -> None:
    """Multiply."""
    options = read_options()
    with nvtx.annotate("warm-up"):
        cases = try_out(options)
    print(f"{'size':>6} {'format':>7} {'ms':>9} {'TFLOP/s':>9} {'error':>9}")
    seconds = {}
    with capture(options.device):
        for (name, size), case in cases.items():
            if case is None:
                print(f"{size:6} {name:>7}  –, not here")
                continue
            multiply, error = case
            set_precision(name, options.device)
            spent = seconds[name, size] = time_of(multiply, options, f"{name} {size}")
            print(f"{size:6} {name:>7} {1e3 * spent:9.3f} {2e-12 * size**3 / spent:9.3g} {error:9.1e}")
    largest = max(options.sizes)
    spent = seconds["fp16", largest]
    print_speed(spent, 1, f"products/s (fp16 {largest})", options.device)


if __name__ == "__main__":
    main()
