"""Measure attention by FlashAttention-2 against cuDNN's, on a GPU: ``python benchmarks/attention.py``.

Writes ``docs/measured_attention.csv``, by which the advice on old attention is priced. Each case is called some times
under torch.profiler, whose times of kernels are CUPTI's, as those of a recording; the median over the calls counts.
Queries, keys and values lie as a model leaves them: (batch, length, heads, head size), transposed.
"""

import csv
import statistics
from collections.abc import Callable
from itertools import product
from pathlib import Path

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

TABLE = Path(__file__).parent.parent / "docs" / "measured_attention.csv"
CALLS, HIDDEN = 4, 2048  # calls of each case, and heads times their size
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
Case = tuple[
    str, int, int, int, bool, int
]  # dtype, head size, length, tokens, causal, heads of queries for each of keys


def list_cases() -> list[Case]:
    """What is measured."""
    lengths = (512, 1024, 2048, 4096, 8192, 16384)
    cases = [
        ("bf16", head, length, 16384, causal, 1) for head, length, causal in product((128, 64), lengths, (True, False))
    ]
    cases += [("bf16", head, length, 4096, True, 1) for head, length in product((128, 64), (128, 256, 512, 1024, 2048))]
    cases += [("fp16", head, length, 16384, True, 1) for head, length in product((128, 64), (1024, 4096))]
    return [*cases, *(("bf16", head, 2048, 16384, True, 1) for head in (32, 256)), ("bf16", 128, 2048, 16384, True, 4)]


def time_ns(call: Callable[[], object]) -> int:
    """Time of all kernels of a call."""
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(CALLS):
            call()
        torch.cuda.synchronize()
    on_gpu = [each for each in profiler.events() if each.device_type == torch.autograd.DeviceType.CUDA]
    kernels = [each for each in on_gpu if not each.name.startswith(("Memset", "Memcpy", "aten::"))]
    times = [each.time_range.elapsed_us() for each in sorted(kernels, key=lambda each: each.time_range.start)]
    count, left = divmod(len(times), CALLS)
    if not count or left:
        message = f"{len(times)} kernels in {CALLS} calls"
        raise RuntimeError(message)
    return round(1e3 * statistics.median(sum(times[at : at + count]) for at in range(0, len(times), count)))


def measure(case: Case) -> dict[str, object]:
    """Both ways of a case, forward and backward."""
    dtype, head, length, tokens, causal, group = case
    heads, batch = HIDDEN // head, max(1, tokens // length)
    made = [
        torch.randn(batch, length, count, head, device="cuda", dtype=DTYPES[dtype]).transpose(1, 2)
        for count in (heads, heads // group, heads // group, heads)
    ]
    inputs, gradient = [each.requires_grad_() for each in made[:3]], made[3]
    row: dict[str, object] = {"dtype": dtype, "head": head, "length": length, "batch": batch}
    row |= {"heads": heads, "kv_heads": heads // group, "causal": causal}
    found = {}
    for name, backend in BACKENDS.items():
        with sdpa_kernel(backend):

            def forward() -> torch.Tensor:
                return functional.scaled_dot_product_attention(*inputs, is_causal=causal, enable_gqa=group > 1)

            found[name, "forward"], out = time_ns(forward), forward()
        found[name, "backward"] = time_ns(
            lambda out=out: torch.autograd.grad(out, inputs, gradient, retain_graph=True)  # type: ignore[misc]
        )
    return row | {f"{name}_{way}_ns": found[name, way] for way, name in product(("forward", "backward"), BACKENDS)}


def main() -> None:
    """Measure all cases, and write the table."""
    rows = [measure(case) for case in list_cases()]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{TABLE}: {len(rows)} cases on {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
