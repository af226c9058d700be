"""Loops in Python: over tensors, time steps and tokens; and what only looks like one."""

from collections.abc import Callable

from builders import US, TraceBuilder
from slow import one_of_each

from tcprof.annotate.steps import DOMAIN
from tcprof.findings.pricing.advice import Advice

GEMM = "ampere_sgemm_128x64_tn"
MUL = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, MulFunctor<float>>>"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
CELL = "void at::native::(anonymous namespace)::kernel::lstm_cell_forward<float, float, int, 1>"
GATHER = "void at::native::vectorized_gather_kernel<16, long>(char *, char *)"
NONZERO = "void at_cuda_detail::cub::detail::select::DeviceSelectSweepKernel<int>"
NMS = "void vision::ops::<unnamed>::nms_kernel_impl<float>(int, double, const T1 *, unsigned long long *)"
ANY = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<bool, at::native::func_wrapper_t<bool, "
    "at::native::or_kernel_cuda>>>"
)
LOOPS = {"loop-over-tensors", "recurrent-cell", "loop-in-module", "boolean-masks", "anomaly-detection"}
Find = Callable[[TraceBuilder], dict[str, Advice]]


def turns(
    *names: str, count: int = 40, sizes: int = 5, module: str = "", waits: bool = False, own_module: bool = False
) -> TraceBuilder:
    """Eight steps of some turns, whose kernels of 2 µs are launched one each 10 µs, and a kernel of 100 µs."""
    builder = TraceBuilder().gpu()
    for number in range(8):
        at = began = number * (1 + count * len(names)) * 10 * US
        builder.kernel("gemm", at + 5 * US, at + 105 * US, launched=at)
        for turn in range(count):
            start = at + 10 * US
            for name in names:
                at += 10 * US
                builder.kernel(name, at + 6 * US, at + 8 * US, launched=at, gridX=1 + turn % sizes)
            if module:
                builder.range(module + f".{turn}" * own_module, start - US, at + 5 * US, domain=DOMAIN)
            if waits:
                builder.launch(
                    at + 7 * US, 10_000 * number + turn + 5000, returned=at + 9 * US, name="cudaStreamSynchronize"
                )
        if module:
            builder.range("forward", began + US, at + 8 * US, domain=DOMAIN)
            builder.range("Net", began + 2 * US, at + 7 * US, domain=DOMAIN)
        builder.range("step", began, at + 9 * US, domain=DOMAIN)
    return builder


@one_of_each(1)(
    ("builder", "rule"),
    [
        (turns(MUL, ADD), "loop-over-tensors"),
        (turns(MUL, ADD, sizes=1), ""),  # of one size: a loop over time, or of a solver
        (turns(MUL, ADD, module="Net.layers", own_module=True), ""),
        (turns(GATHER), ""),  # tables of embeddings
        (turns(MUL, ADD, count=8), ""),
        (turns(MUL, ADD, waits=True), ""),
        (turns(GEMM, GEMM, CELL, sizes=1), "recurrent-cell"),
        (turns(GEMM, NONZERO, sizes=1, waits=True), "boolean-masks"),
        (turns(GEMM, NONZERO, NMS, sizes=1, waits=True), ""),  # how many boxes are left, only the GPU knows
        (
            turns(GEMM, ANY, sizes=1, module="Net.layers", own_module=True, waits=True),
            "",
        ),  # not in the backward pass
        (turns(GEMM, MUL, sizes=1, module="Net.head"), "loop-in-module"),
        (turns(GEMM, MUL, sizes=1, module="Net.layers", own_module=True), ""),
        (turns(GEMM, MUL, sizes=1), ""),  # it may be layers
    ],
    ids=(
        *("tensors", "one size", "modules", "tables", "few", "waits", "cell", "masks", "boxes", "any", "tokens"),
        *("layers", "unannotated"),
    ),
)
def test_loops_are_named_by_what_they_are_over(builder, rule, find):
    advice = find(builder)
    assert LOOPS & advice.keys() == {rule} - {""}
    if rule:
        assert 0 < advice[rule].gain.low_pct < advice[rule].gain.likely_pct < advice[rule].gain.high_pct
        assert next(iter(advice)) == rule  # before CUDA graphs
