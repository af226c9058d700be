"""Kinds of steps: those of other work are told apart by what they launch, and figures are of one of them."""

import re

import pandas as pd
import pytest
from builders import TraceBuilder

import tcprof
from tcprof.findings import judge
from tcprof.frames import HISTORY_RUNS, OTHER_KINDS_PATH
from tcprof.history.figures import list_points
from tcprof.views.history import view_run

DECODE = {"gemv": (400, 8), "attend": (100, 4), "norm": (100, 2)}  # of each kernel its time in ns and its blocks
PREFILL = {"gemm": (3_000, 64), "attend": (500, 256), "norm": (500, 128)}
TRAIN = {"gemm": (900, 64), "backward": (1_800, 64), "adam": (400, 32)}
EVALUATE = {"gemm": (900, 64)}


def loop(steps, trace=None, start=0, slow=(), name="step"):
    """Ranges of one name, each with the kernels given, one after the other; those of some numbers take longer."""
    trace = trace or TraceBuilder().gpu()
    for number, kernels in enumerate(steps):
        first, factor = start, 5 if number in slow else 1
        start += 50
        for kernel, (length, blocks) in kernels.items():
            trace.kernel(kernel, start, start + factor * length, launched=first + 1, gridX=blocks)
            start += factor * length
        trace.range(name, first, start)
        start += 100
    return trace


@pytest.fixture
def read(tmp_path):
    return lambda trace, **options: tcprof.read(trace.write(tmp_path), **{"kernels": False, **options}).analysis


def kinds_of(analysis):
    return analysis.steps["kind"].tolist()


def test_prefill_and_decode(read):
    analysis = read(loop(([PREFILL] + [DECODE] * 9) * 3))
    assert kinds_of(analysis) == ([1] + [0] * 9) * 3
    found = analysis.kinds.set_index("kind")
    assert found["step_count"].tolist() == [27, 3]
    assert found["kernel_ns"].tolist() == [600, 4_000]
    assert found["step_time_ns"].tolist() == [750, 4_150]
    assert found["name"].tolist() == ["step, kind 1", "step, kind 2"]
    assert found["share_pct"].sum() == pytest.approx(100)
    # 50 ns before the first kernel, and 100 after the last one, of each but the last, which nothing follows.
    assert found["gpu_idle_pct"].tolist() == pytest.approx([100 * 26 * 150 / (27 * 750 - 150), 100 * 150 / 4_150])


def test_prefill_and_decode_are_named_where_a_model_calls_itself(read):
    trace = loop(([PREFILL] + [DECODE] * 9) * 3, name="inference Llama")
    assert "decode" not in set(read(trace).kinds["name"])
    trace.range("Llama", 1, 2)  # what it does between its calls
    found = read(trace).kinds.set_index("name")
    assert found.index.tolist() == ["decode", "prefill"]
    all_steps_ns = 27 * 750 - 150  # nothing follows the last
    assert found["tokens_per_second"].tolist() == pytest.approx([27e9 / all_steps_ns, float("nan")], nan_ok=True)


def test_tokens_per_second_are_those_of_all_decode_steps_slow_ones_too(read):
    slow = [number for number in range(30) if number % 10 in (3, 6)]  # five times as long
    trace = loop(([PREFILL] + [DECODE] * 9) * 3, name="inference Llama", slow=slow)
    trace.range("Llama", 1, 2)
    decode = read(trace).kinds.set_index("name").loc["decode"]
    assert decode["tokens_per_second"] == pytest.approx(1e9 * decode["step_count"] / decode["total_ns"])
    assert decode["tokens_per_second"] < 0.7e9 / decode["step_time_ns"]  # what its median would say


def test_a_small_last_batch_of_an_evaluation_is_no_prefill(read):
    trace = loop(([{**EVALUATE}] * 9 + [{"small": (100, 8)}]) * 4, name="inference Llama")
    trace.range("Llama", 1, 2)
    assert not read(trace).kinds["name"].isin(["prefill", "decode"]).any()


def test_figures_are_of_the_kind_with_most_time(read):
    analysis = read(loop(([PREFILL] + [DECODE] * 20) * 3))
    row = analysis.ranges.set_index("path").loc["step"]
    assert row["instance_count"] == analysis.steps["counted"].sum() == 60
    assert row["kernel_ns"] == 60 * 600
    assert analysis.instances["left_out"].sum() == 3


def test_train_and_evaluate_take_turns(read):
    analysis = read(loop(([TRAIN] * 10 + [EVALUATE] * 2) * 4))
    assert kinds_of(analysis) == ([0] * 10 + [1] * 2) * 4


def test_a_bucket_of_long_sequences_is_a_kind(read):
    long = {name: (2 * length, 4 * blocks) for name, (length, blocks) in TRAIN.items()}
    assert kinds_of(read(loop([TRAIN, TRAIN, TRAIN, long] * 4))) == [0, 0, 0, 1] * 4


def test_batches_of_all_lengths_make_no_kinds(read):
    lengths = [48 + 7 * (5 * number % 41) for number in range(41)]
    steps = [{name: (10 * length, length * blocks) for name, (_, blocks) in TRAIN.items()} for length in lengths]
    assert set(kinds_of(read(loop(steps)))) == {0}


def test_ranges_that_take_turns_are_kinds(read):
    """Of a program whose evaluation has ranges of its own; those of its phases, which are parts of a step, are none."""
    trace, start = TraceBuilder().gpu(), 0
    for _ in range(4):
        for name, kernel, count in (("train", "gemm", 6), ("evaluate", "wmma", 3)):
            for _ in range(count):
                trace.range(name, start, start + 900).kernel(kernel, start + 10, start + 800, launched=start + 5)
                trace.range("log", start + 900, start + 990).kernel(
                    "log", start + 910, start + 950, launched=start + 905
                )
                start += 1_000
    analysis = read(trace)
    assert analysis.kinds["name"].tolist() == ["train", "evaluate"]
    assert analysis.kinds["step_count"].tolist() == [24, 12]
    counts = analysis.ranges.set_index("path")["instance_count"]
    assert (counts["train"], counts["evaluate"]) == (24, 12)
    assert set(read(trace, step="train").steps["path"]) == {"train"}


def test_the_verdict_names_the_kind_that_has_the_tensor_kernels(read):
    trace, start = TraceBuilder().gpu(), 0
    for name, length in (("naive", 60), ("wmma", 40)):
        for _ in range(10):
            trace.range(name, start, start + 100_000)
            trace.kernel(name, start + 100, start + 1_000 * length, launched=start + 50)
            start += 100_000
    busy = [0] * 1_000 + [80 * (place % 100 < 40) for place in range(1_000)]
    analysis = read(trace.samples(busy, period=1_000), kernels=True)
    verdict = " ".join(judge(analysis).verdict)
    assert "Figures cover “naive” (10 steps of" in verdict
    assert re.search(r"“wmma” \(10 steps of [\d.]+ µs, 48.5 %, with tensor kernels\)", verdict)


def test_what_differs_once_and_not_in_much_makes_no_kind(read):
    """A gradient scaler had the optimizer left out."""
    skipped = {name: TRAIN[name] for name in ("gemm", "backward")}
    assert set(kinds_of(read(loop([TRAIN] * 5 + [skipped] + [TRAIN] * 5)))) == {0}


def test_a_kind_that_occurs_once_is_said_as_such(read):
    analysis = read(loop([*[DECODE] * 9, PREFILL, *[DECODE] * 9]), kernels=True)
    assert kinds_of(analysis) == [0] * 9 + [1] + [0] * 9
    assert "“step, kind 2” (only once, " in " ".join(judge(analysis).verdict)


def test_a_kind_that_occurs_once_is_no_base_of_figures(read):
    long = {"gemm": (90_000, 64)}
    assert kinds_of(read(loop([*[DECODE] * 9, long]))) == [0] * 9 + [1]


def test_a_first_step_that_tunes_is_warm_up_of_its_kind(read):
    tuning = {**TRAIN, **{f"candidate {number}": (2_000, 64) for number in range(9)}}
    analysis = read(loop([tuning] + [TRAIN] * 9))
    assert set(kinds_of(analysis)) == {0}
    assert analysis.steps["warm_up"].tolist() == [True] + [False] * 9


def test_a_first_step_that_tunes_is_no_base_of_figures_where_another_is_like_it(read):
    last = {**TRAIN, "save": (900, 64)}  # of an epoch
    steps = [last] + [TRAIN] * 14 + [last] + [TRAIN] * 14
    analysis = read(loop(steps, slow=[0]))
    assert kinds_of(analysis) == [0] * 30
    assert analysis.steps["warm_up"].tolist() == [True] + [False] * 29
    rare = read(loop(([last] + [TRAIN] * 4) * 2))  # neither tunes, and they differ by more than chance
    assert kinds_of(rare) == ([1] + [0] * 4) * 2


def test_a_slow_first_prefill_is_a_prefill(read):
    both = {**PREFILL, **DECODE, "gemm": (3_000, 64)}  # all that decoding launches, and more
    analysis = read(loop(([both] + [DECODE] * 9) * 3, slow=[0]))
    assert kinds_of(analysis) == ([1] + [0] * 9) * 3


def test_warm_up_is_found_in_each_kind(read):
    order = ([TRAIN] * 10 + [EVALUATE] * 2) * 4
    analysis = read(loop(order, slow=(0, 10)))
    assert analysis.steps.index[analysis.steps["warm_up"]].tolist() == [0, 10]
    assert analysis.kinds["warm_up_count"].tolist() == [1, 1]
    assert read(loop(order, slow=(0, 10)), warm_up="all").kinds["warm_up_count"].tolist() == [0, 0]


def test_launches_of_other_kinds_are_set_apart_and_none_is_lost(read):
    analysis = read(loop(([PREFILL] + [DECODE] * 20) * 3), kernels=True)
    by_path = analysis.kernels_by_path.groupby("path")["launch_count"].sum()
    assert by_path.to_dict() == {OTHER_KINDS_PATH: 9, "step": 180}


def test_each_gpu_has_its_own_first_kind(read):
    trace = loop([TRAIN] * 8).gpu(1)
    for number in range(8):
        start = 50 + number * 3_250
        trace.kernel("other", start, start + 900, launched=start - 49, device=1)
    analysis = read(trace)
    assert analysis.steps.groupby("gpu")["counted"].sum().tolist() == [8, 8]


def test_without_the_fit_kinds_are_the_same(read):
    trace = loop(([PREFILL] + [DECODE] * 9) * 3)
    assert kinds_of(read(trace, kernels=True)) == kinds_of(read(trace))


@pytest.mark.parametrize("others", [[], [TRAIN | {"resize": (2_000, 64)}] * 3])
def test_a_series_of_a_store_is_called_the_same_whether_a_few_steps_differ(read, others):
    points = list_points(read(loop([TRAIN] * 20 + others)))
    steps = points[points["scope"] == "step"]
    assert steps["subject"].unique().tolist() == ["step", *(["step, kind 2"] if others else [])]
    run = pd.Series(dict.fromkeys(HISTORY_RUNS.names, ""))
    numbered = points.assign(series_id=range(len(points), 0, -1), fingerprint="")
    columns = ["series_id", "value", "low", "high", "n"]
    shown = view_run(run, numbered.drop(columns=columns[1:]), numbered[columns].sort_values("series_id"))
    assert [shown.rows[name].iloc[0] for name in ("metric", "subject")] == ["step_ns", "step"]
