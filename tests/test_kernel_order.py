"""Steps from the order of the kernels, where no range iterates."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from builders import PROCESS, TraceBuilder
from slow import first, first_of

import tcprof
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER, KERNEL_ORDER_DOMAIN
from tcprof.analysis.steps.periods import Sequence, find_repetitions
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
@first_of(1)("number", ["", " 3"])
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


@first_of(1)("command", ["show", "ranges", "timeline"])
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


# The period of a sequence: repetitions of which the truth is known.

LAYER = [10, 11, 12, 13, 10, 14]
STEP = [1, 2, *LAYER * 12, 3, 4, 5]
FLAT = [1, 2, 3, 4, 5, 6, 7]  # without an inner loop


def find(elements, weight=None, starting=(), kinds=None, several=(), whole=None):
    """Starts and lengths of the repetitions; unless ``whole`` says where, any of them may be a whole step."""
    elements = np.array(elements, dtype=np.int64)
    marks, graphs = (np.isin(np.arange(len(elements)), list(places)) for places in (starting, several))
    once = np.ones(len(elements), dtype=bool) if whole is None else np.isin(np.arange(len(elements)), list(whole))
    weight = np.ones(len(elements)) if weight is None else np.array(weight, dtype=float)
    kinds = elements if kinds is None else np.array(kinds, dtype=np.int64)
    start, end = find_repetitions(Sequence(elements, kinds, weight, marks, graphs, once))
    return start.tolist(), (end - start).tolist()


def multiples(length, count, offset=0):
    return [offset + length * number for number in range(count)], [length] * count


@pytest.mark.parametrize(
    "step", [STEP, FLAT, [0, 1], [0, 0, 1]], ids=["inner loop", "flat", "two kernels", "twice the same"]
)
@pytest.mark.parametrize("count", [3, 4, 10])
def test_repetitions_of_a_step(step, count):
    assert find(step * count) == multiples(len(step), count)


@pytest.mark.parametrize(
    "elements", [[], [1], FLAT, FLAT * 2, list(range(500))], ids=["none", "one", "once", "twice", "all other"]
)
def test_what_does_not_repeat_three_times_has_no_period(elements):
    assert find(elements) == ([], [])


def test_a_graph_again_and_again_is_a_step():
    assert find([0] * 6, several=range(6)) == multiples(1, 6)


@pytest.mark.parametrize("kinds", [5, 40, 1000])
def test_what_comes_by_chance_has_no_period(kinds):
    assert find(np.random.default_rng(kinds).integers(0, kinds, 3000)) == ([], [])


def test_what_comes_before_and_after_is_in_no_repetition():
    before, after = [50, 51, 52, 53, 54, 1, 60], [70, 71, 72]
    assert find(before + STEP * 10 + after) == multiples(len(STEP), 10, len(before))


def test_most_of_the_weight_has_to_repeat():
    elements = [99, *FLAT * 6]
    assert len(find(elements, [30, *[1] * 42])[0]) == 6
    assert find(elements, [50, *[1] * 42]) == ([], [])


def test_layers_of_one_step_do_not_pass_for_steps():
    """Four layers that are over half of all work, in a program that takes one step."""
    assert find([1, 2, 3, 4, *LAYER * 4, 5, 6, 7, 8, 9]) == ([], [])


@pytest.mark.parametrize("whole", [(), range(5, 1000, 63)])
def test_a_token_is_more_than_its_layers_however_little(whole):
    """A sum, or a sample, of 0.1 % of the time after twelve layers that nothing shows to be steps."""
    token = [1, 2, 3, 4, 5] * 12 + [6, 7, 8]
    weight = ([10, 20, 30, 10, 30] * 12 + [0.3, 0.3, 0.3]) * 16
    assert find(token * 16, weight, whole=whole) == multiples(63, 16)


def test_what_waits_each_time_is_a_step_and_what_is_logged_makes_none():
    steps = ([1, 2, 3, 4] * 10 + [9]) * 6
    ends = [number for number, kind in enumerate(steps) if kind == 4]
    assert len(find(steps, [0.2 if kind == 9 else 1 for kind in steps], whole=ends)[0]) == 60


def test_many_layers_do_not_hide_the_step():
    step = [1, 2, *LAYER * 48, 3, 4, 5]
    assert find(step * 20) == multiples(len(step), 20)


@pytest.mark.parametrize("share", [0.005, 0.01, 0.02, 0.05])
def test_elements_that_differ_now_and_then(share):
    random = np.random.default_rng(7)
    elements = np.array(STEP * 40)
    elements[random.random(len(elements)) < share] += 100
    assert find(elements) == multiples(len(STEP), 40)


@pytest.mark.parametrize(("epochs", "steps", "evaluations"), [(5, 10, 4), (3, 50, 20)])
def test_an_evaluation_is_in_no_step_and_makes_none(epochs, steps, evaluations):
    """Its forward pass has the kernels of the step's own."""
    evaluation = [1, 2, *LAYER * 4, 20] * evaluations
    epoch = STEP * steps + evaluation
    starts = [number * len(epoch) + len(STEP) * step for number in range(epochs) for step in range(steps)]
    assert find(epoch * epochs) == (starts, [len(STEP)] * len(starts))


def test_a_mark_tells_where_a_repetition_begins():
    """Warm-up runs the end of the step: without marks that would be its beginning."""
    elements = [60, 61, 3, 4, 5, *STEP * 10]
    assert find(elements, starting=[5 + len(STEP) * number for number in range(10)]) == multiples(len(STEP), 10, 5)


def test_an_unfinished_last_repetition_is_left_out():
    assert find(STEP * 6 + STEP[:40]) == multiples(len(STEP), 6)


def test_of_two_loops_of_which_neither_covers_half_both_are_one_step():
    """Four times 32 steps of a rollout and 8 of an update."""
    cycle = [1, 2, 3, 4] * 32 + [5, 6, 7, 8, 9, 6, 7, 8] * 8
    assert find(cycle * 4, ([1] * 128 + [2.2] * 64) * 4, whole=range(3, 1000, 4)) == multiples(len(cycle), 4)
