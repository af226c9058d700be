"""Steps from the order of the kernels, where no range iterates."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from builders import PROCESS, TraceBuilder
from slow import first

import tcprof
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER, KERNEL_ORDER_DOMAIN
from tcprof.errors import UsageError

pytestmark = pytest.mark.usefixtures("shared_reads")

FOLDER = Path(__file__).parent.parent / "fixtures"
KINDS = ("embed", "gemm", "gelu", "gemm", "add", "loss", "adam")


def steps(trace, count, start=0, kinds=KINDS, **place):
    """Kernels of 100 ns one after the other, launched 500 ns before; returns where they end."""
    for _ in range(count):
        for kind in kinds:
            trace.kernel(kind, start + 500, start + 600, launched=start, **place)
            start += 150
        start += 1_000
    return start


def read(trace, tmp_path, **options):
    return tcprof.read(trace.write(tmp_path), **options)


def without_ranges(path, folder):
    """A copy of a recording in which no program and no library opened a range."""
    copy = folder / path.name
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("drop table if exists NVTX_EVENTS")
        connection.commit()
    return copy


# Of inference_fp32 nothing is found, rightly: for each size of batch cuBLAS has other kernels.
FIXTURES = {
    "convnet_channels_last": 12,
    "fashion_pinned": 8,
    "gan_fp16": 10,
    "gan_fp32": 10,
    "inference_fp16_last": 27,
    "inference_fp32": 0,
    "jax_mlp": 10,
    "matmul": 0,
    "mlp_fp16": 8,
    "mlp_tf32_4097": 8,
    "mnist_amp": 50,
    "mnist_amp_large": 5,
    "mnist_fp32": 50,
    "mnist_pinned": 8,
    "net_amp": 30,
    "pinn_fp32": 10,
    "polynomial": 20,
    "transformer_compiled": 12,
    "transformer_eager": 12,
    "transformer_fp32": 0,
    "transformer_tf32": 3,
    "wmma": 0,
}


# Steps alone, in epochs, of other kernels for each size, in graphs, found in part, and none. The others repeat these.
KINDS_OF_STEPS = ("jax_mlp", "matmul", "mnist_amp", "inference_fp16_last", "mlp_fp16", "transformer_tf32")


@pytest.mark.parametrize(("name", "count"), [*first(3, ((name, FIXTURES[name]) for name in KINDS_OF_STEPS))])
def test_fixtures_without_their_ranges(name, count, tmp_path):
    """As many as the program took steps, and each begins with the step's first kernel."""
    known = tcprof.read(FOLDER / f"{name}.sqlite", kernels=False)
    found = tcprof.read(without_ranges(FOLDER / f"{name}.sqlite", tmp_path), kernels=False)
    assert len(found.steps) == count
    if not count:
        return
    assert found.steps["path"].unique().tolist() == [KERNEL_ORDER]
    instances = found.instances[found.instances["range"].isin(found.steps["range"])]
    steps_of = known.steps if len(known.steps) else known.instances
    begun = known.instances[known.instances["range"].isin(steps_of["range"])].sort_values("gpu_start_ns")
    begun = begun[begun["path_id"] == begun["path_id"].iloc[0]] if not len(known.steps) else begun
    kernels = np.sort(known.activities.loc[known.activities["kind"].isin(["kernel", "graph"]), "start_ns"])
    expected, actual = (np.searchsorted(kernels, frame["gpu_start_ns"]) for frame in (begun, instances))
    assert np.abs(expected - actual).max() <= 1


def test_windows_reach_from_one_to_the_next(tmp_path):
    trace = TraceBuilder().gpu()
    trace.kernel("init", 0, 50, launched=-100)
    end = steps(trace, 4, start=1_000)
    analysis = read(trace.kernel("save", end + 9_000, end + 9_100, launched=end + 8_000), tmp_path)
    period = 150 * len(KINDS) + 1_000
    start = 1_500 + period * np.arange(4)
    found = analysis.instances
    assert found["gpu_start_ns"].tolist() == start.tolist()
    assert found["gpu_end_ns"].tolist() == [*start[1:], start[3] + 150 * (len(KINDS) - 1) + 100]
    assert found["host_start_ns"].tolist() == (start - 500).tolist()
    assert found["kernel_count"].tolist() == [len(KINDS)] * 4
    assert found["kernel_ns"].tolist() == [100 * len(KINDS)] * 4
    assert analysis.steps["number"].tolist() == list(range(4))
    row = analysis.ranges[analysis.ranges["path"] == KERNEL_ORDER].iloc[0]
    assert (row["domain"], row["instance_count"], row["kernel_count"]) == (KERNEL_ORDER_DOMAIN, 4, 4 * len(KINDS))
    assert analysis.analysis.observed.range_count == 0


def test_a_range_that_iterates_comes_first(tmp_path):
    trace = TraceBuilder().gpu()
    for start in range(0, 60_000, 10_000):
        trace.range("step", start, start + 9_000)
        steps(trace, 1, start + 10)
    path = trace.write(tmp_path)
    assert tcprof.read(path).steps["path"].unique().tolist() == ["step"]
    forced = tcprof.read(path, step=KERNEL_ORDER)
    assert forced.steps["path"].tolist() == [KERNEL_ORDER] * 6
    assert {"step", KERNEL_ORDER} == set(forced.paths["path"])


@pytest.mark.parametrize(("inner", "path"), [("", KERNEL_ORDER), ("train_batch", "epoch{} / train_batch")])
@pytest.mark.parametrize("number", ["", " 3"])
def test_epochs_are_no_steps(inner, path, number, tmp_path):
    trace, start = TraceBuilder().gpu(), 0
    for _ in range(6):
        begin = start
        for _ in range(5):
            first, start = start, steps(trace, 1, start)
            if inner:
                trace.range(inner, first, start - 10)
        trace.range(f"epoch{number}", begin, start - 5)
    analysis = read(trace, tmp_path)
    assert analysis.steps["path"].tolist() == [path.format(number)] * 30


def test_steps_of_any_length_end_with_their_optimizer(tmp_path):
    trace, start = TraceBuilder().gpu(), 0
    lengths = 11 + 7 * np.arange(30) % 31  # of sequences, which a recurrent network goes through
    for length in lengths:
        cells = [*["gemm", "tanh"] * length, "loss", *["gemm", "tanh_backward"] * length, "norm"]
        start = steps(trace, 1, start, [*cells, *["multi_tensor_apply_kernel<FusedAdamMathFunctor>"] * 2])
    analysis = read(trace, tmp_path)
    assert analysis.steps["kernel_ns"].tolist() == (100 * (4 * lengths + 4)).tolist()


def test_two_threads_that_launch(tmp_path):
    """A backward pass from a thread of its own, as in PyTorch, is in the order in which it was launched."""
    trace, start = TraceBuilder().gpu(), 0
    for _ in range(6):
        start = steps(trace, 1, start, ("embed", "gemm", "loss"))
        start = steps(trace, 1, start, ("gemm_backward", "gemm_backward", "embed_backward"), thread=2)
    analysis = read(trace, tmp_path)
    assert analysis.instances["kernel_count"].tolist() == [6] * 6


def test_without_launches_it_is_the_order_of_the_starts(tmp_path):
    trace = TraceBuilder().gpu()
    for start in range(0, 60_000, 10_000):
        for number, kind in enumerate(KINDS):
            trace.kernel(kind, start + 100 * number, start + 100 * number + 50)
    analysis = read(trace, tmp_path)
    assert analysis.instances["gpu_start_ns"].tolist() == list(range(0, 60_000, 10_000))
    assert analysis.instances["kernel_count"].tolist() == [len(KINDS)] * 6


def test_each_gpu_has_steps_of_its_own(tmp_path):
    trace = TraceBuilder().gpu(0).gpu(1)
    steps(trace, 6)
    steps(trace, 4, start=300, kinds=("a", "b", "c"), device=1)
    found = read(trace, tmp_path).steps
    assert found.groupby("gpu")["number"].apply(list).to_dict() == {0: list(range(6)), 1: list(range(4))}


def test_the_process_with_most_kernel_time_has_the_steps(tmp_path):
    trace = TraceBuilder().gpu()
    steps(trace, 6)
    for number in range(5):
        trace.kernel("display", number * 2_000, number * 2_000 + 10, launched=number * 2_000, process=PROCESS + 1)
    analysis = read(trace, tmp_path)
    assert analysis.nvtx_ranges["process"].unique().tolist() == [PROCESS]
    assert analysis.instances["kernel_count"].tolist() == [len(KINDS)] * 6


@pytest.mark.parametrize(
    ("passes", "name", "count"), [(1, "layer_{}", 0), (1, "block_{}_forward", 0), (6, "layer_{}", 6), (6, "layer", 6)]
)
def test_layers_are_no_steps(passes, name, count, tmp_path):
    trace, start = TraceBuilder().gpu(), 0
    for _ in range(passes):
        start = steps(trace, 1, start, ("embed", "copy in"))
        for layer in range(8):
            first, start = start, steps(trace, 1, start, ("gemm", "gelu", "gemm"))
            trace.range(name.format(layer), first - 1, start - 1).range("mlp", first, start - 2)
        start = steps(trace, 1, start, ("loss", "adam"))
    found = read(trace, tmp_path).steps
    assert found["path"].tolist() == [KERNEL_ORDER] * count


def test_a_step_begins_with_the_copy_of_its_batch(tmp_path):
    trace, start = TraceBuilder().gpu(), 0
    trace.kernel("loss", 0, 10, launched=-900).kernel("adam", 20, 30, launched=-800)
    for _ in range(6):
        start += 5_000
        trace.copy("host to device", start + 100, start + 400, launched=start - 100)
        steps(trace, 1, start)
    analysis = read(trace, tmp_path)
    assert analysis.instances["gpu_start_ns"].tolist() == [5_500 + 5_000 * number for number in range(6)]


def test_where_nothing_repeats_it_is_said(tmp_path, run):
    trace = TraceBuilder().gpu()
    for number in range(30):
        trace.kernel(f"k{number}", 100 * number, 100 * number + 50, launched=100 * number)
    path = trace.write(tmp_path)
    assert tcprof.read(path).steps.empty
    shown = " ".join(run("timeline", path, "--notes").out.split())
    assert "No steps were found: no range with 5 or more instances" in shown
    assert "and the order of the kernels does not repeat." in shown
    with pytest.raises(UsageError):
        tcprof.read(path, step=KERNEL_ORDER)


@pytest.mark.parametrize("command", ["show", "ranges", "timeline"])
def test_it_is_said_that_they_are_no_ranges(command, tmp_path, run):
    trace = TraceBuilder().gpu()
    steps(trace, 8)
    done = run(command, trace.write(tmp_path), "--notes")
    assert "Steps are detected from the kernels, since no NVTX range repeats" in _line(done.out)
    assert "The recording has no NVTX ranges: steps are detected from the kernels" in _line(done.err)


def _line(text):
    return " ".join(text.split())


def test_two_recordings_without_ranges_are_compared_by_step(tmp_path):
    sides = []
    for name, longer in (("a", 0), ("b", 30)):
        trace, start = TraceBuilder().gpu(), 0
        for _ in range(10):
            for kind in KINDS:
                trace.kernel(kind, start + 500, start + 600 + longer, launched=start)
                start += 150
            start += 1_000
        (tmp_path / name).mkdir()
        sides.append(tcprof.read(trace.write(tmp_path / name)))
    compared = tcprof.compare(*sides)
    assert compared.comparison.step_path == KERNEL_ORDER
