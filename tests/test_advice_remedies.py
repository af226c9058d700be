"""Remedies that fit the program: what it has already is not told to it, nor what another framework has."""

from pathlib import Path

import pytest
from builders import MS, US, TraceBuilder
from slow import first, first_of

import tcprof
from tcprof.analysis import analyze
from tcprof.annotate.steps import DOMAIN
from tcprof.findings.judge import judge
from tcprof.findings.pricing.advice import Advice

ADD = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>>(int)"


def read(builder: TraceBuilder, folder: Path) -> dict[str, Advice]:
    return {each.rule: each for each in tcprof.read(builder.write(folder)).advice}


def told(advice: Advice) -> str:
    return "\n".join([*(line for option in advice.options for line in (option.title, *option.code))])


def small_kernels(graph: str) -> TraceBuilder:
    """Eight steps of 1 ms, in which the CPU launches a small kernel every 25 µs, and maybe a graph at first."""
    builder = TraceBuilder().gpu()
    for number, at in enumerate(builder.steps(8, MS, 990 * US)):
        call = 5000 + number
        if graph == "whole":
            builder.graph(at + 5 * US, at + 15 * US, launched=at, correlation=call)
        elif graph == "by node":
            builder.launch(at, call)
            for place in range(2):
                start = at + 5 * US + place * 5 * US
                builder.kernel(f"triton_poi_fused_add_{place}", start, start + 4 * US, correlation=call)
        for place in range(1, 40):
            launched = at + place * 25 * US
            builder.launch(launched, 100 * number + place, returned=launched + 15 * US)
            builder.kernel(ADD, launched + 16 * US, launched + 20 * US, correlation=100 * number + place)
    return builder


@pytest.mark.parametrize("graph", first(2, ["", "whole", "by node"]))
def test_what_runs_in_graphs_is_not_told_to_be_compiled(graph, tmp_path):
    found = read(small_kernels(graph), tmp_path)
    compiles = [rule for rule, each in found.items() if "torch.compile" in told(each)]
    assert set(compiles) == (set() if graph else {"launch-bound", "fusion"})
    assert ("graphs for more" in found["launch-bound"].options[0].title) == bool(graph)


@pytest.mark.parametrize(("calls", "compiles"), [(7, True), (8, False)])
def test_a_model_that_each_step_calls_often_is_not_told_to_be_compiled(calls, compiles, tmp_path):
    builder = small_kernels("")
    for at in range(0, 8 * MS, MS):
        builder.range("forward", at + US, at + 900 * US, domain=DOMAIN)
        for call in range(calls):
            builder.range("Function", at + (2 + 100 * call) * US, at + (90 + 100 * call) * US, domain=DOMAIN)
    assert ("torch.compile" in told(read(builder, tmp_path)["launch-bound"])) == compiles


@first_of(2)(
    ("kernel", "is_told"),
    [(ADD, False), ("loop_multiply_fusion", True), ("nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT", True)],
)
def test_threads_without_a_range_are_told_of_but_for_the_backward_pass(kernel, is_told, tmp_path):
    builder = TraceBuilder().gpu().range("step", 0, 100 * US, thread=1)
    builder.kernel(kernel, 20 * US, 60 * US, launched=10 * US, thread=2)
    lines = judge(analyze(builder.trace(tmp_path))).warnings
    assert [line.startswith("1 of 1 activities were") for line in lines if "threads without a range" in line] == (
        [True] if is_told else []
    )


@pytest.mark.parametrize(("memory", "is_told"), [({"srcKind": 1}, False), ({"srcKind": 0}, True), ({}, True)])
def test_pinned_memory_is_not_told_to_be_pinned(memory, is_told, tmp_path):
    """A program without a framework that copies most of the time."""
    builder = TraceBuilder().gpu()
    builder.copy("host to device", 10 * US, 800 * US, launched=0, bytes=10**7, **memory)
    builder.kernel("mine(float *)", 800 * US, 900 * US, launched=1 * US)
    found = read(builder, tmp_path)["mostly-copies"]
    assert ("cudaMallocHost" in told(found)) == is_told
    assert ("pinned" in found.consequence) == is_told
