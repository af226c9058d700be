"""Which path iterates, and which instances are warm-up."""

from collections.abc import Sequence

import pytest
from builders import TraceBuilder
from slow import first_of

import tcprof
from tcprof.analysis.ranges.nesting import OTHER
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER
from tcprof.findings import describe_warm_up


def read(trace, tmp_path):
    return tcprof.read(trace.write(tmp_path), kernels=False)  # what iterates is found without their fit


def iterating(analysis):
    """The paths of ranges that iterate; without one, what repeats in the order of the kernels does."""
    paths = analysis.steps["path"].unique().tolist()
    return [path for path in paths if path != KERNEL_ORDER]


def loop(trace: TraceBuilder, name: str, start: int, lengths: Sequence[int], domain: str = "", **place: object) -> int:
    """Ranges one after the other, each with a kernel of half its length; returns where they end."""
    for length in lengths:
        trace.range(name, start, start + length - 1, domain=domain)
        trace.kernel("k", start + 10, start + 10 + length // 2, launched=start + 1, **place)
        start += length
    return start


def test_the_outermost_range_that_repeats(tmp_path):
    trace = TraceBuilder().gpu().range("epoch", 0, 100_000)
    for start in range(0, 70_000, 10_000):
        trace.range("step", start, start + 9_000).range("forward", start + 1, start + 5_000)
        trace.kernel("k", start + 20, start + 4_000, launched=start + 10)
    found = read(trace, tmp_path).steps
    assert found["path"].unique().tolist() == ["epoch / step"]
    assert found["number"].tolist() == list(range(7))
    assert found["host_ns"].tolist() == [9_000] * 7
    assert found["kernel_ns"].tolist() == [3_980] * 7


def test_steps_of_epochs_with_names_of_their_own_belong_together(tmp_path):
    trace = TraceBuilder().gpu()
    trace.range("epoch 0", 0, 30_000).range("epoch 1", 30_000, 60_000)
    loop(trace, "step", 0, [6_000] * 5)
    loop(trace, "step", 30_000, [6_000] * 5)
    found = read(trace, tmp_path).steps
    assert found["path"].tolist() == ["epoch 0 / step"] * 5 + ["epoch 1 / step"] * 5
    assert found["number"].tolist() == list(range(10))


@pytest.mark.parametrize(
    ("name", "count", "iterates"),
    [("work", 4, False), ("work", 5, True), ("ProfilerStep", 3, True), ("train_step", 3, True), ("step", 2, False)],
)
def test_three_instances_iterate_if_they_are_called_steps(name, count, iterates, tmp_path):
    trace = TraceBuilder().gpu()
    loop(trace, name, 0, [6_000] * count)
    assert iterating(read(trace, tmp_path)) == [name] * iterates


@pytest.mark.parametrize(
    ("lengths", "count"),
    [((90, 30, 10, 10.1, 9.9, 10.05, 30, 10, 9.95), 2), ((90, 80, 70, 60, 50, 40), 1)],  # five show what is usual
)
def test_the_first_slow_ones_are_warm_up(lengths, count, tmp_path):
    trace = TraceBuilder().gpu()
    loop(trace, "step", 0, [int(1_000 * length) for length in lengths])
    assert read(trace, tmp_path).steps["warm_up"].tolist() == [True] * count + [False] * (len(lengths) - count)


@first_of(1)(
    ("name", "domain"), [("sort", "NCCL"), ("sort", "com.nvidia.nccl.proxy"), ("sort", "libcudf"), (OTHER, "")]
)
def test_ranges_of_a_library_and_unlike_ones_folded_into_one_are_no_steps(name, domain, tmp_path):
    trace = TraceBuilder().gpu()
    loop(trace, name, 0, [8_000] * 12, domain)
    assert iterating(read(trace, tmp_path)) == []


def test_a_step_of_jax_is_the_compiled_program_with_most_time(tmp_path):
    """Not its autotuning, which is far more kernels; nor a program that fills its arguments."""
    trace = TraceBuilder().gpu()
    for start in range(0, 500_000, 1_000):
        trace.kernel("redzone_checker", start + 20, start + 500, launched=start + 10)
        trace.kernel("delay_kernel", start + 520, start + 600, launched=start + 510)
    for start in range(600_000, 800_000, 10_000):
        step = start // 10_000 % 2  # compiled again for other shapes
        trace.range("XlaModule:#hlo_module=jit_fill,program_id=3#", start, start + 900, domain="TSL")
        trace.kernel("fill", start + 100, start + 300, launched=start + 20)
        name = f"XlaModule:#prefix=jit(train)/mlp,hlo_module=jit_train,program_id={step}#"
        trace.range(name, start + 1_000, start + 9_900, domain="TSL")
        trace.range(
            "Thunk:#name=jvp(dense)/dot,hlo_op=gemm.2,unique_hlo_op_id=47#", start + 1_100, start + 9_800, domain="TSL"
        )
        trace.kernel("gemm", start + 1_500, start + 9_000, launched=start + 1_200)
    analysis = read(trace, tmp_path)
    assert analysis.steps["path"].unique().tolist() == ["XLA module jit_train"]
    assert len(analysis.steps) == 20
    assert "XLA module jit_train / jvp(dense)/dot, gemm.2" in analysis.paths["path"].tolist()


def test_where_ranges_of_jax_were_lost_the_rest_are_no_steps(tmp_path):
    trace = TraceBuilder().gpu()
    for start in range(0, 60_000, 10_000):  # before training, which has lost its ranges
        trace.range("XlaModule:#hlo_module=jit_broadcast_in_dim,program_id=3#", start, start + 900, domain="TSL")
        trace.kernel("fill", start + 100, start + 300, launched=start + 20)
    for start in range(100_000, 350_000, 10_000):
        trace.graph(start + 500, start + 9_000, launched=start + 20)
        trace.kernel("loop_fusion", start + 9_100, start + 9_500, launched=start + 40)
    analysis = read(trace, tmp_path)
    assert analysis.steps["path"].tolist() == [KERNEL_ORDER] * 25


def test_what_xla_tries_as_it_compiles_is_no_step_and_one_row(tmp_path):
    """Recorded with JAX 0.11: 1,022 programs of the autotuner, on threads of its own, beside 30 steps of 14 ms."""
    trace = TraceBuilder().gpu()
    trace.range("XlaCompile:#module=jit_step#", 0, 900_000, domain="TSL")
    trace.range("XlaPassPipeline:#name=autotuner,module=jit_step,program_id=4#", 100, 800_000, domain="TSL")
    for start in range(1_000, 801_000, 8_000):
        name = f"gemm_fusion_dot.{start}"
        trace.range(f"XlaCompileBackend:#module={name},program_id={start}#", start, start + 900, thread=2, domain="TSL")
        trace.range(f"XlaModule:#hlo_module={name}#", start + 1_000, start + 7_900, thread=2, domain="TSL")
        trace.range(f"Thunk:#hlo_op={name}#", start + 1_100, start + 7_800, thread=2, domain="TSL")
        trace.kernel(name, start + 1_200, start + 7_800, launched=start + 1_150, thread=2)
    for start in range(1_000_000, 1_060_000, 10_000):
        trace.range("XlaModule:#hlo_module=jit_step,program_id=4#", start, start + 9_900, domain="TSL")
        trace.graph(start + 1_500, start + 9_000, launched=start + 1_200)
    analysis = read(trace, tmp_path)
    assert analysis.paths["path"].tolist() == ["XLA compilation", "XLA module jit_step"]
    assert analysis.steps["path"].tolist() == ["XLA module jit_step"] * 6
    assert analysis.instances["path_id"].value_counts().to_dict() == {0: 1 + 2 * 100, 1: 6}


def test_what_xla_tries_is_told_as_warm_up_and_not_as_work_outside_of_steps(tmp_path):
    trace = TraceBuilder().gpu().range("XlaCompile:#module=jit_step#", 0, 900_000, domain="TSL")
    trace.kernel("tried", 1_000, 500_000, launched=500)
    for start in range(1_000_000, 1_060_000, 10_000):
        trace.range("XlaModule:#hlo_module=jit_step,program_id=4#", start, start + 9_900, domain="TSL")
        trace.kernel("gemm", start + 1_500, start + 9_000, launched=start + 1_200)
    report = tcprof.read(trace.samples([10] * 120, period=10_000).write(tmp_path))
    assert not any("outside these steps" in sentence for sentence in report.verdict)
    assert describe_warm_up(report.analysis) == (
        "XLA's compilation, which tries out kernels, counts as warm-up: 91.7 % of the kernel time."
    )


@first_of(1)("name", ["XlaModule:#hlo_module=#", "Thunk:#", "#", "Xla:#name=x#"])
def test_names_that_are_not_of_xla_stay_as_they_are(name, tmp_path):
    trace = TraceBuilder().gpu().range(name, 0, 9_000).kernel("k", 20, 90, launched=10)
    assert read(trace, tmp_path).paths["name"].tolist() == [name]


def test_a_domain_of_the_program_counts_where_the_default_one_has_no_steps(tmp_path):
    trace = TraceBuilder().gpu()
    end = loop(trace, "step", 0, [8_000] * 6, "my trainer")
    assert read(trace, tmp_path).steps["path"].unique().tolist() == ["step"]
    loop(trace, "default", end, [9_000] * 6)
    assert read(trace, tmp_path).steps["path"].unique().tolist() == ["default"]


def test_a_range_that_holds_little_of_the_work_is_no_step(tmp_path):
    """A forward pass alone: the kernels of the backward pass are in no range."""

    def forward(share):
        trace = TraceBuilder().gpu()
        for start in range(0, 80_000, 10_000):
            trace.range("Model", start, start + 1_000)
            trace.kernel("forward", start + 100, start + 100 + share * 50, launched=start + 10)
            trace.kernel("backward", start + 5_000, start + 5_000 + (100 - share) * 50, launched=start + 2_000)
        return iterating(read(trace, tmp_path))

    assert forward(36) == []
    assert forward(60) == ["Model"]


def test_a_range_with_less_than_half_of_the_work_gives_way_to_one_with_more(tmp_path):
    """An evaluation in the default domain, in a program whose steps are in a domain of its own."""
    trace = TraceBuilder().gpu()
    end = loop(trace, "step", 0, [8_000] * 9, "trainer")
    loop(trace, "evaluate", end, [8_000] * 6)
    assert iterating(read(trace, tmp_path)) == ["step"]
