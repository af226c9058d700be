"""Modules and phases: where each kernel belongs, what is summed, and how alike layers are told."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from builders import FIXTURES, PROCESS, US, TraceBuilder, global_id

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.folding import fold_layers
from tcprof.annotate.steps import DOMAIN
from tcprof.findings.notes import describe_module_coverage
from tcprof.frames import OPS_DOMAIN
from tcprof.nsys import schema
from tcprof.redaction.redact import redact
from tcprof.sources.nsys_sqlite import NsysExport
from tcprof.sources.torch_ops import split_names
from tcprof.sources.xla import read_scopes

NODE = "autograd::engine::evaluate_function: "
AUTOGRAD = 2  # the thread of the backward pass


class Step(TraceBuilder):
    """One annotated step whose kernels run in the order of their launches, 10 µs each."""

    def __init__(self) -> None:
        super().__init__()
        self.gpu().recorded(10_000 * US)
        self._next = 5_000 * US
        self._op = 0

    def ours(self, name: str, start: int, end: int, thread: int = 1) -> "Step":
        self.range(name, start * US, end * US, domain=DOMAIN, thread=thread)
        return self

    def op(self, name: str, start: int, end: int, sequence: int | None = None, thread: int = 1) -> "Step":
        self._op += 1
        told = "" if sequence is None else f", seq = {sequence}"
        self.range(f"{name}{told}, op_id = {self._op}", start * US, end * US, thread=thread)
        return self

    def works(self, at: int, name: str = "k", thread: int = 1, ns: int = 10 * US) -> "Step":
        self.kernel(name, self._next, self._next + ns, launched=at * US, thread=thread)
        self._next += ns
        return self

    def sampled(self, percent: int = 50) -> "Step":
        self.samples([percent] * 1000)
        return self


Read = Callable[[TraceBuilder], Analysis]


@pytest.fixture
def read(tmp_path):
    return lambda builder: tcprof.read(builder.write(tmp_path)).analysis


def times(analysis: Analysis) -> dict[tuple[str, str], int]:
    """Kernel time in µs of each module and phase, the sum of phases left out."""
    rows = analysis.modules[(analysis.modules["phase"] != "all") & (analysis.modules["depth"] > 0)]
    return {
        (module, phase): int(ns) // US
        for module, phase, ns in zip(rows["module"], rows["phase"], rows["kernel_ns"], strict=True)
    }


def forward_pass(step: Step) -> Step:
    step.ours("step", 0, 1000).ours("forward", 10, 400)
    return step.ours("Net", 20, 300).ours("Net.fc1", 30, 100).ours("Net.fc2", 110, 200)


def test_names_of_ops_lose_their_numbers_and_others_stay():
    names = pd.Categorical(
        [
            "aten::mm, seq = 8051, op_id = 80985, sizes = [[8, 64], [64, 64]]",
            "aten::mm, op_id = 80986",
            "aten::mm, seq = 7",
            "aten::cat, seq = 9, op_id = 2, sizes = [[2, 3], [4], []], input_op_ids = [(1,0), (0,-1)]",
            "step, seq = of mine",
            "lr = 0.1",
        ]
    )
    ops = split_names(names, np.ones(len(names), dtype=np.int64))
    assert list(ops.name) == ["aten::mm", "aten::mm", "aten::mm", "aten::cat", "step, seq = of mine", "lr = 0.1"]
    assert ops.is_op.tolist() == [True, True, True, True, False, False]
    assert np.nan_to_num(ops.sequence, nan=-1).tolist() == [8051, -1, 7, 9, -1, -1]
    assert list(ops.sizes) == ["[[8, 64], [64, 64]]", "", "", "[[2, 3], [4], []]", "", ""]


def test_ops_are_one_path_each_in_a_domain_of_their_own(read):
    step = Step().range("mine", 0, 1000 * US).sampled()
    for number in range(2):
        step.op("aten::linear", 10 + 20 * number, 25 + 20 * number, number).works(12 + 20 * number)
    analysis = read(step)
    assert analysis.paths[["domain", "path"]].to_numpy().tolist() == [["", "mine"], [OPS_DOMAIN, "aten::linear"]]
    assert analysis.ranges.set_index("path").loc["mine", "kernel_count"] == 2


def test_a_kernel_is_in_an_op_only_where_it_is_in_nothing_else(read):
    step = forward_pass(Step()).op("aten::mm", 40, 50).works(45).op("aten::add", 1100, 1200).works(1150).sampled()
    analysis = read(step)
    paths = analysis.paths["path"].to_numpy()[analysis.kernel_instances["path_id"]]
    assert paths.tolist() == ["step / forward / Net / Net.fc1", "aten::add"]


def test_a_kernel_of_the_forward_pass_belongs_to_its_module(read):
    step = forward_pass(Step()).works(25).works(40).works(120).works(350).works(600).sampled()
    assert times(read(step)) == {
        ("Net", "forward"): 30,
        ("Net.fc1", "forward"): 10,
        ("Net.fc2", "forward"): 10,
        ("(forward)", "forward"): 10,
        ("(other)", "other"): 10,
    }


def test_the_backward_pass_is_in_the_module_that_its_thread_marked_last(read):
    step = forward_pass(Step()).works(120).ours("backward", 450, 700)
    for name, at in (("Net.fc2", 480), ("backward", 520), ("Net.fc1", 560)):
        step.mark(name, at * US, thread=AUTOGRAD)
    step.mark("Net.fc1", 500 * US, thread=AUTOGRAD, process=7).mark(
        "Net.fc1", 500 * US, thread=AUTOGRAD, domain="another"
    )
    for at in (460, 490, 510, 530, 570, 690, 710):
        step.works(at, thread=AUTOGRAD)
    again = step.ours("backward", 800, 900).works(820, thread=AUTOGRAD)  # marks of an earlier pass say nothing of it
    assert times(read(again.sampled())) == {
        ("Net", "forward"): 10,
        ("Net.fc2", "forward"): 10,
        ("Net", "backward"): 40,
        ("Net.fc2", "backward"): 20,
        ("Net.fc1", "backward"): 20,
        ("(backward)", "backward"): 30,
        ("(other)", "other"): 10,
    }


def test_where_several_threads_mark_modules_the_backward_pass_is_in_none(read):
    step = forward_pass(Step()).ours("backward", 450, 700).mark("Net.fc2", 480 * US, thread=AUTOGRAD)
    step.mark("Net.fc1", 490 * US, thread=3).works(500, thread=AUTOGRAD)
    assert times(read(step.sampled())) == {("(backward)", "backward"): 10}


def test_what_an_inference_does_between_the_calls_of_its_model_is_a_phase(read):
    step = Step().ours("inference Net", 100, 500).ours("forward", 100, 300).ours("Net", 110, 290).ours("data", 400, 450)
    step.ours("CrossEntropyLoss", 350, 370).ours("inference Net", 510, 900).ours("forward", 510, 700)
    for at in (
        50,
        120,
        320,
        360,
        420,
        800,
        950,
    ):  # before, in the model, sampling, a loss, data, the last call's, after
        step.works(at)
    assert times(read(step.sampled())) == {
        ("Net", "forward"): 10,
        ("CrossEntropyLoss", "between calls"): 10,
        ("(between calls)", "between calls"): 20,
        ("(data)", "data"): 10,
        ("(other)", "other"): 20,
    }


def test_ops_are_asked_for_where_they_are_missing(read):
    step = forward_pass(Step()).ours("backward", 400, 900).works(450, thread=AUTOGRAD)
    said = " ".join(describe_module_coverage(read(step.sampled())))
    assert "--annotate ops" in said
    assert "without module ranges" not in said


def test_own_time_and_sums_are_those_of_the_kernels(read):
    analysis = read(forward_pass(Step()).works(25).works(40).works(120).works(350).sampled())
    rows = analysis.modules[analysis.modules["phase"] == "all"].set_index("module")
    assert rows.loc["Net", "own_kernel_ns"] == 10 * US
    assert rows.loc["", ["kernel_count", "kernel_ns", "own_kernel_ns"]].tolist() == [4, 40 * US, 0]
    roots = rows[rows["depth"] == 1]
    assert roots["kernel_ns"].sum() == analysis.ranges["kernel_ns"].iloc[0] == 40 * US
    assert roots["share_pct"].sum() == pytest.approx(100)
    assert rows.loc["Net", "tensor_active_pct"] == pytest.approx(50, abs=1)


def backward_pass(step: Step, sequence: int = 7) -> Step:
    """A product in each module's forward pass, and the backward pass of both on a thread of its own."""
    step.op("aten::linear", 31, 60, sequence).op("aten::t", 32, 35, sequence).op("aten::mm", 40, 50, sequence + 1)
    step.op("aten::linear", 111, 160, sequence + 2).op("aten::mm", 120, 130, sequence + 2)
    step.ours("backward", 400, 800)
    for start, name, number in (
        (500, "MmBackward0", sequence + 2),
        (550, "MmBackward0", sequence + 1),
        (600, "TBackward0", sequence),
    ):
        step.op(f"{NODE}{name}", start, start + 40, None, AUTOGRAD).op(name, start + 5, start + 35, number, AUTOGRAD)
    return step


def test_a_kernel_of_the_backward_pass_belongs_to_the_module_that_made_its_node(read):
    step = backward_pass(forward_pass(Step())).works(45).works(510, thread=AUTOGRAD).works(560, thread=AUTOGRAD)
    assert times(read(step.works(610, thread=AUTOGRAD).sampled())) == {
        ("Net", "forward"): 10,
        ("Net", "backward"): 30,
        ("Net.fc1", "forward"): 10,
        ("Net.fc1", "backward"): 20,
        ("Net.fc2", "backward"): 10,
    }


def test_without_ops_the_backward_pass_is_in_no_module(read):
    step = forward_pass(Step()).ours("backward", 400, 800).works(45).works(510, thread=AUTOGRAD).sampled()
    assert times(read(step))["(backward)", "backward"] == 10


def test_a_gradient_is_accumulated_in_the_module_of_the_node_before(read):
    accumulate = "torch::autograd::AccumulateGrad"
    step = backward_pass(forward_pass(Step())).op(f"{NODE}{accumulate}", 645, 660, None, AUTOGRAD)
    step.op(accumulate, 646, 659, None, AUTOGRAD).works(650, thread=AUTOGRAD).sampled()
    assert times(read(step))["Net.fc1", "backward"] == 10


def test_a_node_whose_op_was_not_recorded_is_in_no_module(read):
    """Its forward pass was before the capture: that the node before belongs to a module says nothing of it."""
    step = backward_pass(forward_pass(Step())).op(f"{NODE}MulBackward0", 645, 660, None, AUTOGRAD)
    step.op("MulBackward0", 646, 659, 99, AUTOGRAD).works(650, thread=AUTOGRAD)
    accumulate = "torch::autograd::AccumulateGrad"
    step.op(f"{NODE}{accumulate}", 665, 680, None, AUTOGRAD).op(accumulate, 666, 679, None, AUTOGRAD)
    step.works(670, thread=AUTOGRAD).sampled()
    assert times(read(step)) == {
        ("(backward)", "backward"): 20,
        ("(backward).MulBackward0", "backward"): 10,
        ("(backward).AccumulateGrad", "backward"): 10,
    }


def test_the_node_of_a_checkpoint_computes_again_but_for_the_nodes_that_it_runs(read):
    """No range of ours names it: PyTorch's reentrant checkpoint in a program with ops alone."""
    checkpoint = "CheckpointFunctionBackward"
    step = backward_pass(forward_pass(Step())).op(f"{NODE}{checkpoint}", 650, 750, None, AUTOGRAD)
    step.op(checkpoint, 655, 740, 8, AUTOGRAD).op("aten::mm", 660, 670, 20, AUTOGRAD).works(665, thread=AUTOGRAD)
    step.op(f"{NODE}MmBackward0", 680, 720, None, AUTOGRAD).op("MmBackward0", 685, 715, 20, AUTOGRAD)
    found = times(read(step.works(690, thread=AUTOGRAD).works(745, thread=AUTOGRAD).sampled()))
    assert found["Net.fc1", "recompute"] == 10
    assert (found["Net.fc1", "backward"], found["(backward)", "backward"]) == (10, 10)


def test_ranges_of_a_program_that_are_paths_of_modules_are_modules(read):
    step = Step().range("epoch", 0, 1000 * US).range("Net", 10 * US, 500 * US).range("Net.fc1", 20 * US, 100 * US)
    step.op("Optimizer.step#SGD.step", 600, 700).op("aten::add_", 610, 620)
    step.works(30).works(200).works(615).works(800).sampled()
    assert times(read(step)) == {
        ("Net", "forward"): 20,
        ("Net.fc1", "forward"): 10,
        ("(optimizer)", "optimizer"): 10,
        ("(optimizer).SGD.step", "optimizer"): 10,
        ("(other)", "other"): 10,
    }


def test_other_ranges_are_no_modules(read):
    step = Step().range("step", 0, 1000 * US).range("forward", 10 * US, 500 * US).works(30).sampled()
    assert read(step).modules.empty


def test_figures_are_of_the_steps_without_warm_up(read):
    step = Step()
    for number in range(8):
        at = 1000 * number
        step.ours("step", at, at + 900).ours("forward", at + 10, at + 500).ours("Net", at + 20, at + 400)
        step.works(at + 30, ns=(500 if number == 0 else 10) * US)
    analysis = read(step.works(8500, "last").sampled())
    assert analysis.steps["warm_up"].tolist() == [True] + [False] * 7
    assert times(analysis) == {("Net", "forward"): 70}
    of_step = analysis.ranges.set_index("path").loc["step"]
    assert of_step["kernel_ns"] == analysis.modules.loc[0, "kernel_ns"] == 70 * US


def layered(count: int, slow: int | None = None) -> Step:
    """Layers that are alike, each with a product and a norm; one of them may take twice as long."""
    step = Step().ours("step", 0, 4000).ours("forward", 10, 3900).ours("Net", 20, 3800)
    for layer in range(count):
        at = 30 + 100 * layer
        ns = (20 if layer == slow else 10) * US
        step.ours(f"Net.layers.{layer}", at, at + 90)
        step.ours(f"Net.layers.{layer}.fc", at + 10, at + 40).works(at + 20, ns=ns)
        step.ours(f"Net.layers.{layer}.norm", at + 50, at + 80).works(at + 60, ns=ns)
    return step.sampled()


def folded(analysis: Analysis) -> pd.DataFrame:
    rows, _ = fold_layers(analysis.modules)
    return rows[rows["phase"] == "all"].set_index("module")


def test_launches_name_their_module_and_their_step(read):
    step = Step()
    for number in range(8):
        at = 1000 * number
        step.ours("step", at, at + (900 if number else 990)).ours("forward", at + 10, at + 400)
        step.ours("Net", at + 20, at + 300).ours("Net.fc", at + 30, at + 100)
        step.works(at + 40, ns=(40 if not number else 10) * US).works(at + 200).works(at + 500)
        if not number:
            step.ours("Net.once", at + 210, at + 220).works(at + 215)
    analysis = read(step.works(8500).sampled())
    assert analysis.steps["warm_up"].tolist() == [True] + [False] * 7
    launched = analysis.kernel_instances
    found = [
        tuple(analysis.modules.loc[row, ["module", "phase"]]) if row >= 0 else () for row in launched["module"].tolist()
    ]
    each = [("Net.fc", "forward"), ("Net", "forward"), ("(other)", "other")]
    assert found == [*each, (), *each * 7, ("(other)", "other")]  # what warm-up alone called has no row
    assert launched["step"].tolist() == [0] * 4 + [number for number in range(1, 8) for _ in range(3)] + [-1]
    counted = launched[(launched["step"] > 0)].groupby("module")["duration_ns"].sum()
    assert counted.equals(analysis.modules["own_kernel_ns"].loc[counted.index].rename("duration_ns"))


def test_alike_layers_are_one_row_with_their_sums(read):
    rows = folded(read(layered(6)))
    assert rows.index.tolist() == ["", "Net", "Net.layers.0–5", "Net.layers.0–5.fc", "Net.layers.0–5.norm"]
    assert rows["alike_count"].tolist() == [1, 1, 6, 6, 6]
    layers = rows.loc["Net.layers.0–5"]
    assert layers[["kernel_ns", "shortest_ns", "longest_ns"]].tolist() == [120 * US, 20 * US, 20 * US]
    assert layers["kernel_count"] == 12
    assert layers["name"] == "layers.0–5"
    assert rows.loc["Net.layers.0–5.fc", "parent_id"] == layers["module_id"]


def test_folding_loses_nothing(read):
    analysis = read(layered(7, slow=2))
    sums = ("kernel_count", "kernel_ns", "own_kernel_ns", "share_pct")
    rows, _ = fold_layers(analysis.modules)
    for depth in (0, 1, 2, 3):
        before, after = (frame[frame["depth"] == depth] for frame in (analysis.modules, rows))
        for name in sums:
            assert after[name].sum() == pytest.approx(before[name].sum())
    whole = analysis.modules.iloc[0]
    assert rows.iloc[0]["tensor_active_pct"] == pytest.approx(whole["tensor_active_pct"])
    means = rows[rows["depth"] == 2]
    weighted = np.average(means["tensor_active_pct"], weights=means["kernel_ns"])
    assert weighted == pytest.approx(whole["tensor_active_pct"], abs=0.5)


@pytest.mark.slow
def test_the_backward_pass_of_replicas_finds_their_modules_among_equal_numbers(read):
    """DataParallel's threads are new in each step, and each numbers its nodes from 0, as the program's did before."""
    step = Step().ours("step", 0, 1000).ours("forward", 10, 400).ours("Net", 20, 300)
    step.op("aten::embedding", 12, 15, sequence=0).works(14, "embed").op("aten::nll_loss_forward", 310, 320, sequence=1)
    for replica in (11, 12):
        step.ours("Net", 30 + replica, 200, thread=replica)
        for number, name in enumerate(("fc1", "fc2")):
            start = 60 + 50 * number
            step.ours(f"Net.{name}", start, start + 40, thread=replica)
            step.op("aten::addmm", start + 5, start + 30, sequence=number, thread=replica).works(
                start + 9, name, replica
            )
    step.ours("backward", 500, 900)
    for autograd in (21, 22):
        for number, start in ((1, 510), (0, 560)):
            step.op(f"{NODE}AddmmBackward0", start, start + 40, thread=autograd)
            step.op("AddmmBackward0", start + 1, start + 30, sequence=number, thread=autograd)
            step.works(start + 5, f"of {number}", autograd)
    found = times(read(step.sampled()))
    assert found == {
        ("(forward)", "forward"): 10,
        ("(forward).embedding", "forward"): 10,
        **{(f"Net.{name}", phase): 20 for name in ("fc1", "fc2") for phase in ("forward", "backward")},
        ("Net", "forward"): 40,
        ("Net", "backward"): 40,
    }


SCOPES = {  # as recorded with Flax and JAX 0.11
    "jit(step)/jvp(Net)/block_0/LayerNorm_0": ("Net.block_0.LayerNorm_0", "forward"),
    "jit(step)/jvp(Net)/block_0/attention/key/dot_general": ("Net.block_0.attention.key", "forward"),
    "jit(step)/jvp(Net)/block_0/attention": ("Net.block_0.attention", "forward"),
    "jit(step)/jvp(Net)/block_0/attention/...hqk,...khd->...qhd/dot_general": ("Net.block_0.attention", "forward"),
    "jit(step)/transpose(jvp(Net))/block_0/up/transpose": ("Net.block_0.up", "backward"),
    "jit(step)/transpose(jvp(Net))/checkpoint/rematted_computation/block_0/up/mul": ("Net.block_0.up", "recompute"),
    "jit(step)/transpose(jvp(Net))/Embed_0/jit(_take)/broadcast_in_dim": ("Net.Embed_0", "backward"),
    "jit(step)/optimizer/jit(tree_bias_correction)": ("", "optimizer"),
    "jit(step)/optimizer": ("", "optimizer"),
    "jit(step)/jvp()/div": ("", "forward"),
    # as JAX 0.10 compiles Equinox, and ops that it joins; the compiled program's op_name
    "jit(step)/jvp(vmap(block))/eqx.nn.LayerNorm/jit(_var)/div": ("block.LayerNorm", "forward"),
    "jit(step)/transpose(jvp(vmap(block)))/eqx.nn.Linear/dot_general": ("block.Linear", "backward"),
    "jit(step)/transpose(jvp())/mul;jit(step)/transpose(jvp())/broadcast_in_dim": ("", "backward"),
    "jit(step)/transpose(jvp(Net))/up/mul;jit(step)/transpose(jvp(Net))/down/add": ("Net", "backward"),
    "jit(step)": ("", ""),
}


def test_scopes_of_jax_are_modules_and_phases():
    found = read_scopes(
        [f"{scope}, loop_fusion.{number}" for number, scope in enumerate(SCOPES)] + ["command_buffer_1"]
    )
    assert dict(zip(SCOPES, found, strict=False)) == SCOPES
    assert found[-1] == ("", "")
    assert read_scopes(["jit(serve)/Net/head/dot_general, gemm.1"]) == [("Net.head", "forward")]


def test_kernels_of_jax_are_in_the_modules_of_their_scopes(read):
    step = Step()
    step.range("XlaModule:#hlo_module=jit_step,program_id=4#", 0, 900 * US, domain="TSL")
    for number, scope in enumerate(SCOPES):
        begin = 10 + 50 * number
        name = f"Thunk:#name={scope},hlo_op=loop_fusion.{number},unique_hlo_op_id={number}#"
        step.range(name, begin * US, (begin + 40) * US, domain="TSL").works(begin + 10)
    analysis = read(step.sampled())
    each = times(analysis)
    time = each["Net.block_0.attention.key", "forward"]
    assert each == {
        ("Net", "forward"): 4 * time,
        ("Net", "backward"): 3 * time,
        ("Net", "recompute"): time,
        ("block", "forward"): time,
        ("block", "backward"): time,
        ("block.LayerNorm", "forward"): time,
        ("block.Linear", "backward"): time,
        ("(backward)", "backward"): time,
        ("Net.Embed_0", "backward"): time,
        ("Net.block_0", "forward"): 4 * time,
        ("Net.block_0", "backward"): time,
        ("Net.block_0", "recompute"): time,
        ("Net.block_0.LayerNorm_0", "forward"): time,
        ("Net.block_0.attention", "forward"): 3 * time,
        ("Net.block_0.attention.key", "forward"): time,
        ("Net.block_0.up", "backward"): time,
        ("Net.block_0.up", "recompute"): time,
        ("(forward)", "forward"): time,
        ("(optimizer)", "optimizer"): 2 * time,
        ("(other)", "other"): time,
    }


def captured_graph() -> Step:
    """A step that is captured into a graph, of which a copy is run; each kernel is a node of that copy."""
    builder = Step()
    original = None
    for number, (at, thread) in enumerate([(12, 1), (22, 1), (32, AUTOGRAD), (36, AUTOGRAD), (42, 1)], start=1):
        for copied, made in ((0, at), (100, 60), (200, 70)):
            place = {"start": made * US, "globalTid": global_id(PROCESS, thread if not copied else 1)}
            builder.row(schema.NODE_EVENTS, **place, graphNodeId=copied + number, originalGraphNodeId=original)
            if copied:  # what nsys writes of a copy, once without its original
                original = copied - 100 + number
                builder.row(schema.NODE_EVENTS, **place, graphNodeId=copied + number, originalGraphNodeId=original)
        original = None
    for correlation, launched in enumerate((1000, 2000), start=900):
        for number in (201, 202, 203, 204, 205, 299):  # the last one's node is not known
            start = launched * US + (number - 180) * 20 * US
            run = {"launched": launched * US} if number == 201 else {}
            builder.kernel("k", start, start + 10 * US, correlation=correlation, graphNodeId=number, **run)
    return builder


RANGES = [
    *((60, "forward", 10, 30), (59, "Net", 11, 28), (59, "Net.a", 11, 20), (59, "Net.b", 20, 28)),
    *((59, "backward", 30, 40), (59, "optimizer", 41, 50)),
]
PLACES = {
    ("Net.a", "forward"): 2,
    ("Net.b", "forward"): 2,
    ("Net.b", "backward"): 2,
    ("(backward)", "backward"): 2,
    ("(optimizer)", "optimizer"): 2,
    ("(other)", "other"): 2,
}


@pytest.mark.parametrize("before", [False, True])
def test_runs_of_graphs_belong_where_their_nodes_were_made(read, before):
    """Whether their ranges were recorded, or lie before the recording and were kept by the annotation."""
    builder = captured_graph()
    for kind, name, start, end in RANGES:
        if before:
            row = {"kind": kind, "globalTid": global_id(PROCESS, 1), "begin": start * US, "until": end * US}
            builder.row(schema.CAPTURED, name=name, **row)
        else:
            builder.ours(name, start, end)
    for name, at in (("Net.b", 31), ("backward", 34)):
        if before:
            row = {"kind": schema.NVTX_MARK, "globalTid": global_id(PROCESS, AUTOGRAD)}
            builder.row(schema.CAPTURED, name=name, begin=at * US, until=at * US, **row)
        else:
            builder.mark(name, at * US, thread=AUTOGRAD)
    modules = read(builder.sampled()).modules
    rows = modules[(modules["phase"] != "all") & (modules["own_kernel_ns"] > 0) & (modules["module"] != "")]
    found = {(row["module"], row["phase"]): row["own_kernel_ns"] / (10 * US) for row in rows.to_dict("records")}
    assert found == PLACES
    assert modules["kernel_ns"].max() == 12 * 10 * US


def test_a_run_belongs_to_the_module_that_launched_it_where_its_node_tells_none(read):
    builder = captured_graph().ours("inference Net", 990, 3000).ours("forward", 995, 2500).ours("Net", 998, 2400)
    modules = read(builder.sampled()).modules
    assert set(modules["module"][modules["own_kernel_ns"] > 0]) == {"Net"}


def test_a_recorded_graph_was_captured_before_the_recording(tmp_path):
    """Each kernel of its replays is in a phase, forward and backward in the modules; what runs beside is in none."""
    export = FIXTURES / "graphs" / "transformer.sqlite"
    analysis = tcprof.read(export).analysis
    assert NsysExport(export).graph_nodes()["start_ns"].max() < -1e9
    assert analysis.nvtx_ranges.query("domain == @DOMAIN").empty
    modules = analysis.modules.set_index(["module", "phase"])
    shares = modules.xs("all", level="phase")["share_pct"].round(1)
    assert shares[["Transformer", "(forward)", "(backward)", "(optimizer)", "(other)"]].sum() == pytest.approx(
        100, abs=0.3
    )
    assert shares["(other)"] < 1
    assert shares[["Transformer", "Transformer.blocks.0", "Transformer.blocks.1"]].tolist() == [81.6, 32.6, 32.5]
    for phase in ("forward", "backward"):
        found = modules.xs(phase, level="phase").filter(like="Transformer.blocks.1.", axis=0)
        assert set(found.index.str.rpartition(".").get_level_values(2)) == {
            *("norm1", "project", "merge", "norm2", "expand", "shrink")
        }
    assert redact(export, tmp_path / "copy.sqlite").searched == 0
