"""Which path iterates, and which instances are warm-up."""

from collections.abc import Sequence

import pytest
from builders import TraceBuilder

import tcprof
from tcprof.analysis.iterations import find_iterations
from tcprof.errors import UsageError


def read(trace, tmp_path):
    return tcprof.read(trace.write(tmp_path))


def loop(trace: TraceBuilder, name: str, start: int, lengths: Sequence[int], **place: object) -> int:
    """Ranges one after the other, each with a kernel of half its length; returns where they end."""
    for length in lengths:
        trace.range(name, start, start + length - 1)
        trace.kernel("k", start + 10, start + 10 + length // 2, launched=start + 1, **place)
        start += length
    return start


def test_the_outermost_range_that_repeats(tmp_path):
    trace = TraceBuilder().gpu().range("epoch", 0, 100_000)
    for start in range(0, 70_000, 10_000):
        trace.range("step", start, start + 9_000).range("forward", start + 1, start + 5_000)
        trace.kernel("k", start + 20, start + 4_000, launched=start + 10)
    found = read(trace, tmp_path).iterations
    assert found["path"].unique().tolist() == ["epoch / step"]
    assert found["number"].tolist() == list(range(7))
    assert found["host_ns"].tolist() == [9_000] * 7
    assert found["kernel_ns"].tolist() == [3_980] * 7


def test_of_several_the_one_with_most_time_on_the_gpu(tmp_path):
    trace = TraceBuilder().gpu()
    end = loop(trace, "load", 0, [2_000] * 9)
    loop(trace, "train", end, [8_000] * 6)
    assert read(trace, tmp_path).iterations["path"].unique().tolist() == ["train"]


def test_steps_of_epochs_with_names_of_their_own_belong_together(tmp_path):
    trace = TraceBuilder().gpu()
    trace.range("epoch 0", 0, 30_000).range("epoch 1", 30_000, 60_000)
    loop(trace, "step", 0, [6_000] * 5)
    loop(trace, "step", 30_000, [6_000] * 5)
    found = read(trace, tmp_path).iterations
    assert found["path"].tolist() == ["epoch 0 / step"] * 5 + ["epoch 1 / step"] * 5
    assert found["number"].tolist() == list(range(10))


def test_four_instances_do_not_iterate(tmp_path):
    trace = TraceBuilder().gpu()
    loop(trace, "step", 0, [6_000] * 4)
    assert read(trace, tmp_path).iterations.empty


def test_a_name_or_the_end_of_a_path_chooses(tmp_path):
    trace = TraceBuilder().gpu().range("epoch", 0, 50_000)
    loop(trace, "step", 0, [6_000] * 5)
    analysis = read(trace, tmp_path)
    assert find_iterations(analysis.instances, analysis.paths, "epoch")["path"].tolist() == ["epoch"]
    assert len(find_iterations(analysis.instances, analysis.paths, "step")) == 5
    assert len(find_iterations(analysis.instances, analysis.paths, "epoch / step")) == 5
    with pytest.raises(UsageError, match="No range is called 'tep'"):
        find_iterations(analysis.instances, analysis.paths, "tep")


def test_the_first_slow_ones_are_warm_up(tmp_path):
    trace = TraceBuilder().gpu()
    loop(trace, "step", 0, [90_000, 30_000, 10_000, 10_100, 9_900, 10_050, 30_000, 10_000, 9_950])
    assert read(trace, tmp_path).iterations["warm_up"].tolist() == [True, True] + [False] * 7


def test_five_are_left_to_tell_what_is_usual(tmp_path):
    trace = TraceBuilder().gpu()
    loop(trace, "step", 0, [90_000, 80_000, 70_000, 60_000, 50_000, 40_000])
    assert read(trace, tmp_path).iterations["warm_up"].sum() <= 1


def test_each_gpu_numbers_its_own(tmp_path):
    trace = TraceBuilder().gpu().gpu(1)
    for start in range(0, 60_000, 10_000):
        trace.range("step", start, start + 9_000)
        trace.kernel("k", start + 20, start + 4_000, launched=start + 10)
        trace.kernel("k", start + 20, start + 4_000, launched=start + 10, device=1)
    found = read(trace, tmp_path).iterations
    assert found.groupby("gpu")["number"].apply(list).to_dict() == {0: list(range(6)), 1: list(range(6))}
