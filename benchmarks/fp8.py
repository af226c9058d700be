"""Measure products in FP8 against bfloat16, on a GPU: ``python benchmarks/fp8.py``.

Writes ``docs/measured_fp8.csv``, by which the advice on FP8 is priced. A linear layer has m tokens, k inputs and n
outputs: its forward product, and the two of its backward pass. FP8 is ``torch._scaled_mm`` with one scale for each
tensor, or for each row, found anew each time. Times are of CUDA graphs of the work,
repeated, by events: gaps between kernels count, launches do not.
"""

import csv
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

TABLE = Path(__file__).parent.parent / "docs" / "measured_fp8.csv"
SIZES = [(size, size, size) for size in (1024, 2048, 4096, 8192, 16384)]
SIZES += [(8192, 4096, 14336), (16384, 2048, 8192), (512, 4096, 4096)]
REPEATS, BUDGET_NS = 5, 4e7
F8 = torch.float8_e4m3fn
MOST = torch.finfo(F8).max
Scaled = tuple[Tensor, Tensor]  # rounded, and the factors by which to multiply it again
Casts = Callable[[Tensor, Tensor, Tensor], tuple[Scaled, ...]]


def scale_tensor(x: Tensor) -> Scaled:
    """Rounded, with one scale."""
    scale = x.abs().amax().float().clamp(min=1e-12) / MOST
    return (x / scale).clamp(-MOST, MOST).to(F8), scale


def scale_rows(x: Tensor) -> Scaled:
    """Rounded, with a scale for each row."""
    scale = x.abs().amax(1, keepdim=True).float().clamp(min=1e-12) / MOST
    return (x / scale).clamp(-MOST, MOST).to(F8), scale


def cast_tensors(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Scaled, ...]:
    """All that the three products read: what has one scale can be turned after it was rounded."""
    scaled = [scale_tensor(each) for each in (x, w, dy)]
    turned = [(rounded.t().contiguous(), scale) for rounded, scale in scaled]
    return (*scaled, turned[1], turned[0], turned[2])


def cast_rows(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Scaled, ...]:
    """The same with scales of rows, which the turned ones have anew."""
    scaled = [scale_rows(each) for each in (x, w, dy)]
    turned = [scale_rows(each.t().contiguous()) for each in (x, w, dy)]
    return (*scaled, turned[1], turned[0], turned[2])


def multiply(left: Scaled, right: Scaled, fast: bool) -> Tensor:
    """The product of (m, k) and the turned (n, k)."""
    scale = right[1] if right[1].dim() == 0 else right[1].t().contiguous()
    return torch._scaled_mm(
        left[0], right[0].t(), scale_a=left[1], scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=fast
    )


def multiply_all(scaled: tuple[Scaled, ...], fast: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Output, gradient of the input, gradient of the weight."""
    x, w, dy, w_turned, x_turned, dy_turned = scaled
    return multiply(x, w, True), multiply(dy, w_turned, fast), multiply(dy_turned, x_turned, fast)


def time_ns(call: Callable[[], object]) -> int:
    """Median time of a call, captured as a graph."""
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    graph, begin, end = torch.cuda.CUDAGraph(), *(torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.graph(graph):
        call()

    def run(count: int) -> float:
        begin.record()
        for _ in range(count):
            graph.replay()
        end.record()
        end.synchronize()
        return 1e6 * begin.elapsed_time(end) / count

    count = max(3, min(200, int(BUDGET_NS / REPEATS / run(1))))
    return round(statistics.median(run(count) for _ in range(REPEATS)))


def measure(size: tuple[int, int, int]) -> dict[str, int]:
    """All ways of a size."""
    m, k, n = size
    x, w, dy = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (n, k), (m, n)))
    row = {"m": m, "k": k, "n": n, "bf16_forward_ns": time_ns(lambda: x @ w.t())}
    row["bf16_all_ns"] = time_ns(lambda: (x @ w.t(), dy @ w, dy.t() @ x))
    for way, cast, casts in (("tensor", scale_tensor, cast_tensors), ("row", scale_rows, cast_rows)):
        row |= {f"{way}_{name}_ns": value for name, value in _measure_way(way, cast, casts, (x, w, dy)).items()}
    return row


def _measure_way(
    way: str, cast: Callable[[Tensor], Scaled], casts: Casts, inputs: tuple[Tensor, Tensor, Tensor]
) -> dict[str, int]:
    x, weight = inputs[0], cast(inputs[1])
    fast, ready = way == "row", casts(*inputs)

    def infer() -> Tensor:
        return multiply(cast(x), weight, True)

    def train() -> tuple[Tensor, Tensor, Tensor]:
        return multiply_all(casts(*inputs), fast)

    torch._dynamo.reset()
    return {
        "forward_product": time_ns(lambda: multiply(ready[0], ready[1], True)),
        "all_products": time_ns(lambda: multiply_all(ready, fast)),
        "inference_eager": time_ns(infer),
        "training_eager": time_ns(train),
        "inference_compiled": time_ns(torch.compile(infer, dynamic=False)),
        "training_compiled": time_ns(torch.compile(train, dynamic=False)),
    }


def main() -> None:
    """Measure all sizes, and write the table."""
    torch.manual_seed(0)
    rows = [measure(size) for size in SIZES]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{TABLE}: {len(rows)} sizes on {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
