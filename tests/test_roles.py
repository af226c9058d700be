"""Roles of steps: what a step is for, never its size or kernels; figures are of one, without its slow steps."""

import re

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder
from slow import first_of, one_of_each

import tcprof
from tcprof.annotate.steps import DOMAIN
from tcprof.findings import judge
from tcprof.findings.advise import advise
from tcprof.findings.pricing.step import measure_step
from tcprof.frames import HISTORY_RUNS, SLOW_PATH
from tcprof.history.run import list_points
from tcprof.views.history import view_run

DECODE = {"gemv": (400, 8), "attention": (100, 4), "norm": (100, 2)}  # of each kernel its time in ns and its blocks
PREFILL = {"gemm": (3_000, 64), "attention": (500, 256), "norm": (500, 128)}
TRAIN = {"gemm": (900, 64), "backward": (1_800, 64), "adam": (400, 32)}
ACCUMULATE = {name: TRAIN[name] for name in ("gemm", "backward")}
EVALUATE = {"gemm": (900, 64)}
COMPILE = {**{f"trial {number}": (500, 8) for number in range(9)}, **DECODE}
TUNE = {**TRAIN, **{f"gemm candidate {number}": (2_000, 64) for number in range(9)}}
GENERATE = ([PREFILL] + [DECODE] * 9) * 3


def loop(steps, trace=None, slow=(), name="step", calls=None, waits=None, gap=100):
    """Ranges of one name with kernels, some ``slow``; ``calls`` in gaps of some steps last ``waits``, else 20 µs."""
    trace, start = trace or TraceBuilder().gpu(), 0
    for number, kernels in enumerate(steps):
        first, factor = start, 5 if number in slow else 1
        start += 50
        for kernel, (length, blocks) in kernels.items():
            trace.kernel(kernel, start, start + factor * length, launched=first + 1, gridX=blocks)
            start += factor * length
            if number in (calls or {}) and kernel == next(iter(kernels)):
                if calls[number]:
                    trace.launch(start + 100, 10_000 + number, returned=start + 300, name=calls[number])
                start += (waits or {}).get(number, 20_000)
        trace.range(name, first, start)
        start += gap
    return trace


def sized(steps, factors):
    """The same steps, each with so much more work."""
    scale = zip(steps, factors, strict=True)
    return [{name: (int(f * ns), int(f * size)) for name, (ns, size) in step.items()} for step, f in scale]


LENGTHS = 1 + np.arange(40) * 17 % 41 / 41


@pytest.fixture
def read(tmp_path):
    return lambda trace, **options: tcprof.read(trace.write(tmp_path), **{"kernels": False, **options}).analysis


@one_of_each(1)(
    ("steps", "counts"),
    [
        pytest.param(sized([TRAIN] * 40, LENGTHS), {"step": 40}, id="padded text"),
        pytest.param([TRAIN] * 20 + sized([TRAIN], [0.2]), {"step": 21}, id="smaller last batch"),
        pytest.param(sized([EVALUATE] * 40, [1, 1, 1, 4] * 10), {"step": 40}, id="buckets"),
        pytest.param([TRAIN, {"sm80 gemm": (800, 32), "backward": (1_500, 9)}] * 9, {"step": 18}, id="algorithms"),
        pytest.param([TRAIN] * 5 + [ACCUMULATE] + [TRAIN] * 5, {"step": 11}, id="optimizer left out once"),
        pytest.param([*[ACCUMULATE] * 3, TRAIN] * 5, {"step": 20}, id="gradient accumulation"),
        pytest.param(([TRAIN] * 10 + [EVALUATE] * 2) * 4, {"training": 40, "evaluation": 8}, id="evaluation"),
        pytest.param(GENERATE, {"decode": 27, "prefill": 3}, id="generation"),
        pytest.param([COMPILE] + [DECODE] * 9, {"step": 10}, id="compiled in its first step"),
        pytest.param(([EVALUATE] * 9 + [{"softmax": (100, 8)}]) * 4, {"step": 40}, id="last batch of an evaluation"),
    ],
)
def test_a_role_is_what_a_step_is_for(read, steps, counts):
    analysis = read(loop(steps), warm_up="all")
    assert analysis.kinds.set_index("name")["step_count"].to_dict() == counts
    assert analysis.kinds["share_pct"].sum() == pytest.approx(100)
    assert analysis.ranges.set_index("path").loc["step", "instance_count"] == len(steps)


def test_figures_of_roles(read):
    kinds = read(loop(GENERATE)).kinds.set_index("name")
    assert kinds["kernel_ns"].to_dict() == {"decode": 600, "prefill": 4_000}
    assert kinds["step_time_ns"].tolist() == kinds["step_p90_ns"].tolist() == [750, 4_150]
    # 50 ns before the first kernel, and 100 after the last one, of each but the last, which nothing follows.
    all_steps_ns = 27 * 750 - 150
    assert kinds["gpu_idle_pct"].tolist() == pytest.approx([100 * 26 * 150 / all_steps_ns, 100 * 150 / 4_150])
    assert kinds["tokens_per_second"].tolist() == pytest.approx([27e9 / all_steps_ns, float("nan")], nan_ok=True)


def test_the_spread_of_a_role_is_known(read):
    kinds = read(loop(sized([TRAIN] * 40, LENGTHS)), warm_up="all").kinds
    assert kinds["step_p10_ns"].item() < 0.8 * kinds["step_time_ns"].item()
    assert kinds["step_p90_ns"].item() > 1.2 * kinds["step_time_ns"].item()


def annotated(models, generates=False):
    """Steps of the annotation, each with the call of a model; before some of them the model's own range."""
    trace = TraceBuilder().gpu()
    for number, model in enumerate(models):
        start = 1_000 * number
        name = f"inference {model}" if generates else "step"
        trace.range(name, start, start + 990, domain=DOMAIN, start_end=True)
        called = start + 100
        trace.range("forward", called, start + 800, domain=DOMAIN, start_end=True)
        trace.range(model, called + 1, start + 790, domain=DOMAIN)
        if generates:  # what it does between its calls, after each, and before the first of each generation
            trace.range(model, start + 810, start + 980, domain=DOMAIN)
            if number % 10 == 0:
                trace.range(model, start + 10, start + 90, domain=DOMAIN)
        trace.kernel("gemm", start + 200, start + 700, launched=called + 50)
    return trace


def test_the_annotation_tells_prefill_from_decode(read):
    analysis = read(annotated(["Llama"] * 30, generates=True))
    assert analysis.steps["role"].tolist() == (["prefill"] + ["decode"] * 9) * 3


@first_of(2)(
    ("models", "roles"),
    [
        (["A"] * 9 + ["B"] * 6, {"step of A": 9, "step of B": 6}),
        (["A"] * 9 + ["CrossEntropyLoss"] * 6, {"step": 15}),
        (["A", "A#2"] * 9, {"step of A": 9, "step of A#2": 9}),
        (["A", *(f"A#{number}" for number in range(2, 16))], {"step": 15}),  # made anew for each
    ],
)
def test_models_that_are_never_in_one_step_have_roles_of_their_own(models, roles, read):
    assert read(annotated(models), warm_up="all").steps["role"].value_counts().to_dict() == roles


@first_of(4)(
    ("calls", "roles"),
    [
        pytest.param(("ac" * 8 + "SSSS") * 2, {"inference a": 16, "step": 8}, id="actor and critic"),
        pytest.param("SSSSSS" + "edededed" + "SSSSSS" + "edededed", {"step": 12, "inference e": 8}, id="autoencoder"),
        pytest.param("tS" * 9, {"step": 9}, id="teacher"),
        pytest.param("mS" * 9, {"step": 9, "inference m": 9}, id="acts and learns"),
        pytest.param("SSSSSv" * 3, {"step": 15, "inference v": 3}, id="one batch of another model"),
        pytest.param("abc" * 6, {"inference a": 6}, id="three models"),
        pytest.param("edddd" * 4, {"inference e": 4, "inference d": 16}, id="encoder once"),
        pytest.param("uu+" * 9, {"inference u": 9}, id="with and without a condition"),
        pytest.param("uuu+" * 9, {"inference u": 27}, id="something is logged now and then"),
        pytest.param("TTTTT" + "mm+", {"step": 5, "inference m": 1}, id="tested once, with two of three calls"),
        pytest.param("TTTTT" + "m+m+m+" * 4, {"step": 5, "inference m": 4}, id="as many calls as in training"),
        pytest.param("TTTTT" + "m<m<m<" * 4, {"step": 5, "inference m": 12}, id="a call for each batch"),
    ],
)
def test_models_that_a_step_calls_in_turn_are_one_step(calls, roles, read):
    trace = TraceBuilder().gpu()
    steps = re.findall(r"\w[+<]?", calls)
    for number, (model, *after) in enumerate(steps):
        start, trains = 1_000 * number, model in "ST"
        trace.range("step" if trains else f"inference {model}", start, start + 990, domain=DOMAIN, start_end=True)
        trace.range("forward", start + 100, start + 800, domain=DOMAIN, start_end=True)
        for called in range(start + 101, start + (401 if model == "T" else 102), 100):
            trace.range("m" if trains else model, called, called + 90, domain=DOMAIN)
        trace.kernel("gemm", start + 200, start + 700, launched=start + 150)
        if after == ["+"]:
            trace.memset(start + 850, start + 900, launched=start + 840)
        elif after:
            trace.copy("host to device", start + 850, start + 900, launched=start + 840)
    analysis = read(trace, warm_up="all")
    assert analysis.steps["role"].value_counts().to_dict() == roles
    assert analysis.steps["kernel_ns"].sum() == 500 * len(steps)
    assert analysis.paths["path"].str.count("inference [um]").max() <= 1  # calls of a step share their paths
    assert analysis.step_summary["idle_ns"].item() < 0.55 * analysis.step_summary["total_ns"].item()


def test_what_is_fetched_when_the_last_action_is_known_belongs_to_the_step_that_learns(read):
    trace = TraceBuilder().gpu()
    for start in range(0, 18_000, 2_000):
        for name, begin in (("inference m", start), ("step", start + 1_000)):
            trace.range(name, begin, begin + 990, domain=DOMAIN, start_end=True)
            trace.range("forward", begin + 90, begin + 300, domain=DOMAIN, start_end=True)
            trace.range("m", begin + 100, begin + 290, domain=DOMAIN)
            trace.kernel("gemm", begin + 200, begin + 300, launched=begin + 150)
        trace.copy("device to host", start + 310, start + 330, launched=start + 290)
        trace.copy("host to device", start + 700, start + 800, launched=start + 690)
    analysis = read(trace)
    steps = analysis.steps.set_index("role")
    assert measure_step(analysis, 0).replay is not None  # though another role follows each step
    assert (steps["gpu_start_ns"] % 2_000).groupby("role").first().to_dict() == {"inference m": 200, "step": 700}
    assert steps["slow"].eq("").all()


def test_steps_that_are_replayed_as_a_graph_are_detected(read):
    """The last call before the graph is captured stays open until the program ends."""
    trace = annotated(["UNet"] * 3, generates=True).range(
        "inference UNet", 3_000, 80_000, domain=DOMAIN, start_end=True
    )
    for number in range(3):
        for layer in range(60):
            start = 1_000 * number + 200 + 12 * layer
            trace.kernel(f"layer {layer}", start, start + 10, launched=start - 5)
    for number in range(30):
        start = 4_000 + 1_000 * number
        trace.copy("device to host", start - 90, start - 80, launched=start - 95)
        for kernel in ("cat", "graph kernel", "noise"):
            start += 200
            trace.kernel(kernel, start, start + 90, launched=start - 50)
    assert read(trace).kinds[["name", "step_count"]].to_numpy().tolist() == [["step (detected)", 30]]


def test_a_gan_has_one_role(read):
    trace = annotated(["Generator"] * 12)
    for number in range(12):
        trace.range("Discriminator", 1_000 * number + 801, 1_000 * number + 850, domain=DOMAIN)
    assert read(trace).kinds["name"].tolist() == ["step"]


@one_of_each(1)(
    ("call", "cause"),
    [
        ("cuLibraryLoadData", "loads kernels"),
        ("cudaMalloc_v3020", "allocates memory"),
        ("cudaFree_v3020", "allocates memory"),
        ("cudaStreamIsCapturing_v10000", "stalls"),
        (None, "stalls"),
    ],
)
def test_a_slow_step_is_in_no_figure_and_its_cause_is_named(call, cause, read):
    steps = sized([TRAIN] * 40, LENGTHS)
    analysis = read(loop(steps, calls={17: call, 29: call}), kernels=True)
    assert analysis.steps["slow"].tolist() == [cause if number in (17, 29) else "" for number in range(40)]
    kinds, summary = analysis.kinds.iloc[0], analysis.step_summary.iloc[0]
    assert kinds["slow_count"] == 2
    assert kinds["slow_ns"] == pytest.approx(2 * 20_000, rel=0.2)
    assert summary["total_ns"] / summary["step_count"] < 1.1 * summary["step_ns"]
    assert analysis.ranges.set_index("path").loc["step", ["instance_count", "slow_count"]].tolist() == [40, 2]
    by_path = analysis.kernels_by_path.groupby("path")["launch_count"].sum()
    assert by_path[SLOW_PATH] == 6
    assert by_path.sum() == 120
    assert not (read(loop(steps, calls={17: call}), warm_up="all").steps["slow"] != "").any()


@pytest.mark.parametrize(("call", "steps", "advises"), [("cudaMalloc", (9, 17), True), ("cudaMalloc", (9,), False)])
def test_slow_steps_that_recur_have_a_price(call, steps, advises, read):
    analysis = read(loop([TRAIN] * 40, calls=dict.fromkeys(steps, call)), kernels=True)
    found = [each for each in advise(analysis) if each.rule == "slow-steps"]
    assert bool(found) == advises
    for each in found:
        whole_ns = 40 * 3_250 + 2 * 20_000
        assert each.gain.shares_pct == pytest.approx(
            [100 * part / whole_ns for part in (20_000, 40_000, 40_000)], rel=0.01
        )


def test_allocations_that_usual_steps_make_are_a_cause_only_where_they_take_longer(read):
    calls = dict.fromkeys(range(12), "cudaMalloc")
    assert not (read(loop([TRAIN] * 12, calls=calls)).steps["slow"] != "").any()
    steps = read(loop([TRAIN] * 12, calls=calls, waits={5: 40_000, 9: 30_000})).steps
    assert steps.index[steps["slow"] == "allocates memory"].tolist() == [5, 9]


def test_a_step_that_tries_kernels_is_slow_wherever_it_is(read):
    steps = [TUNE] + [TRAIN] * 14 + [TUNE] + [TRAIN] * 14
    analysis = read(loop(steps))
    assert analysis.steps.index[analysis.steps["warm_up"]].tolist() == [0]
    assert analysis.steps.index[analysis.steps["slow"] == "tries kernels"].tolist() == [15]


def test_one_of_four_calls_that_loads_kernels_is_slow(read):
    analysis = read(loop([EVALUATE] * 4, calls={0: "cuLibraryLoadData"}))
    assert analysis.steps["slow"].tolist() == ["loads kernels", "", "", ""]


def test_a_long_batch_is_not_slow(read):
    assert not (read(loop(sized([TRAIN] * 30, [1] * 29 + [5]))).steps["slow"] != "").any()


def test_ranges_that_take_turns_are_roles(read):
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


def test_the_verdict_names_the_role_that_has_the_tensor_kernels(read):
    trace, start = TraceBuilder().gpu(), 0
    for name, length in (("naive", 60), ("wmma", 40)):
        for _ in range(10):
            trace.range(name, start, start + 100_000)
            trace.kernel(name, start + 100, start + 1_000 * length, launched=start + 50)
            start += 100_000
    busy = [0] * 1_000 + [80 * (place % 100 < 40) for place in range(1_000)]
    analysis = read(trace.samples(busy, period=1_000), kernels=True)
    verdict = " ".join(judge(analysis).verdict)
    assert "Figures are for “naive” (10 steps of" in verdict
    assert re.search(r"“wmma” \(10 steps of [\d.]+ µs, 48.5 %, with tensor kernels\)", verdict)


def test_warm_up_is_found_in_each_role(read):
    order = ([TRAIN] * 10 + [EVALUATE] * 2) * 4
    analysis = read(loop(order, slow=(0, 10)))
    assert analysis.steps.index[analysis.steps["warm_up"]].tolist() == [0, 10]
    assert analysis.kinds["warm_up_count"].tolist() == [1, 1]
    assert read(loop(order, slow=(0, 10)), warm_up="all").kinds["warm_up_count"].tolist() == [0, 0]


def test_long_first_steps_do_not_make_a_role_the_first(read):
    """Three eager steps, whose first work on the GPU takes long, before a graph is replayed and tested by turns."""
    trace, start = TraceBuilder().gpu(), 0
    for model in ["S"] * 4 + ["m"] * 20:
        length = 200_000 if model == "S" and start < 500_000 else 2_000
        name = "step" if model == "S" else f"inference {model}"
        trace.range(name, start, start + length, domain=DOMAIN, start_end=True)
        trace.kernel("gemm", start + 20, start + 900, launched=start + 10)
        trace.kernel("gemm", start + length - 900, start + length - 50, launched=start + 20)
        start += length + 10
    kinds = read(trace).kinds
    assert kinds[["name", "step_count"]].iloc[0].tolist() == ["inference m", 20]


def test_each_gpu_has_its_own_first_role(read):
    trace = loop([TRAIN] * 8).gpu(1)
    for number in range(8):
        start = 50 + number * 3_250
        trace.kernel("other", start, start + 900, launched=start - 49, device=1)
    analysis = read(trace)
    assert analysis.steps.groupby("gpu")["counted"].sum().tolist() == [8, 8]
    assert analysis.steps["number"].tolist() == [*range(8)] * 2


@pytest.mark.parametrize("others", [[], [EVALUATE] * 3])
def test_a_series_of_a_store_is_called_the_same_whether_a_few_steps_differ(read, others):
    points = list_points(read(loop([TRAIN] * 20 + others)))
    steps = points[points["scope"] == "step"]
    assert steps["subject"].unique().tolist() == ["step", *(["evaluation"] if others else [])]
    run = pd.Series(dict.fromkeys(HISTORY_RUNS.names, ""))
    numbered = points.assign(series_id=range(len(points), 0, -1), fingerprint="")
    columns = ["series_id", "value", "low", "high", "n"]
    shown = view_run(run, numbered.drop(columns=columns[1:]), numbered[columns].sort_values("series_id"))
    assert [shown.rows[name].iloc[0] for name in ("metric", "subject")] == ["step_ns", "step"]


def test_what_is_prepared_before_the_first_step_makes_steps_no_less(tmp_path):
    trace = TraceBuilder().gpu().kernel("init", 0, 100_000, launched=-100)
    for start in range(200_000, 230_000, 10_000):
        trace.range("step", start, start + 9_900, domain=DOMAIN, start_end=True)
        trace.range("Net", start + 10, start + 5_000, domain=DOMAIN)
        for place, name in enumerate(("embed", "gemm", "gelu", "gemm", "add", "loss", "adam")):
            trace.kernel(name, start + 1_100 * place + 100, start + 1_100 * place + 1_000, launched=start + 20 + place)
    assert tcprof.read(trace.write(tmp_path)).steps["path"].tolist() == ["step"] * 3
