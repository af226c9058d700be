"""Useful FLOP: formulas, which op counts, sizes that are none, and how they stand beside what was executed."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from builders import FIXTURES, US, TraceBuilder
from recorded_ops import TENSOR_KERNEL
from report_inputs import summarize

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.flop import WHOLE, WRAPPERS, count_flop
from tcprof.analysis.kernels.untraced import Quiet, Untraced
from tcprof.annotate.steps import DOMAIN
from tcprof.findings import judge
from tcprof.findings.faults import _UNTRACED_WORK, find_excess
from tcprof.findings.finding import Severity
from tcprof.findings.notes import describe_useful
from tcprof.render.formats import PLAIN
from tcprof.render.formats.text import render
from tcprof.sources import InvalidValues
from tcprof.views.recording.modules import list_modules
from tcprof.views.recording.show import view_recording

pytestmark = pytest.mark.usefixtures("shared_reads")

RATE = 1024  # FLOP per cycle of the kernel
SM_CYCLES = 132 * 17_550  # of a sample of 10 µs
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
NODE = "autograd::engine::evaluate_function: "
SQUARE = [[64, 64], [64, 64]]
UNKNOWN = math.nan
Sizes = Sequence[Sequence[int]]


class Step(TraceBuilder):
    """Steps of a network of one module, in which ops with sizes launch kernels of 100 µs."""

    def __init__(self, steps: int = 1, process: int = 1000, first: int = 10_000) -> None:
        super().__init__()
        self.gpu().recorded(100_000 * US)
        self._steps, self._process, self._first = steps, process, first
        self._kernels: list[tuple[int, float]] = []
        for step in range(steps):
            for name, inset in (("step", 0), ("forward", 1), ("Net", 2)):
                start, end = 1000 * step + inset, 1000 * step + 990 - inset
                self.range(name, start * US, end * US, domain=DOMAIN, process=process)

    def op(self, name: str, start: int, end: int, sizes: Sizes | str = "", **told: object) -> "Step":
        """An op, with other numbers in its name as given; the op that made the first argument last."""
        inputs = told.pop("inputs", "")
        texts = [f", {key} = {value}" for key, value in told.items()]
        texts += [f", sizes = {sizes}"] * bool(sizes) + [f", input_op_ids = {inputs}"] * bool(inputs)
        return self.range(name + "".join(texts), start * US, end * US, process=self._process)

    def works(self, at: int, flop: float = 0, name: str = TENSOR_KERNEL) -> "Step":
        start = (self._first + 100 * len(self._kernels)) * US
        self.kernel(name, start, start + 100 * US, launched=at * US, process=self._process)
        self._kernels.append((start, flop))
        return self

    def sampled(self) -> "Step":
        count = 1100 + 10 * len(self._kernels)
        cycles = [0] * count
        for start, flop in self._kernels:
            first = start // (10 * US)
            cycles[first : first + 10] = [round(flop / RATE / 10)] * 10
        self.cycles(cycles, sm=[SM_CYCLES] * count)
        return self


Read = Callable[[TraceBuilder], Analysis]


@pytest.fixture
def read(tmp_path):
    return lambda builder: tcprof.read(builder.write(tmp_path), step="step").analysis


def useful(analysis: Analysis) -> float:
    return float(analysis.modules.set_index(["module", "phase"]).loc[("Net", "all"), "useful_flop"])


@pytest.mark.parametrize(
    ("name", "sizes", "flop"),
    [
        ("aten::mm", [[3, 5], [5, 7]], 2 * 3 * 5 * 7),
        ("aten::addmm", [[7], [3, 5], [5, 7], [], []], 2 * 3 * 5 * 7),
        ("aten::_scaled_mm", [[3, 5], [5, 7], [], [], []], 2 * 3 * 5 * 7),
        ("aten::bmm", [[2, 3, 5], [2, 5, 7]], 2 * 2 * 3 * 5 * 7),
        ("aten::baddbmm", [[2, 3, 7], [2, 3, 5], [2, 5, 7]], 2 * 2 * 3 * 5 * 7),
        ("aten::mm", [[0, 5], [5, 7]], 0),
        ("aten::mm", [[3, 5], [6, 7]], UNKNOWN),
        ("aten::mm", [[3, 5]], UNKNOWN),
        ("aten::mm", [[], []], UNKNOWN),
        ("aten::bmm", [[2, 3, 5], [3, 5, 7]], UNKNOWN),
        ("aten::mm", [[10**6, 10**6], [10**6, 10**6]], UNKNOWN),
        ("aten::linear", [[2, 4, 5], [7, 5], [7]], 2 * 2 * 4 * 5 * 7),
        ("aten::linear", [[], [7, 5]], UNKNOWN),
        ("aten::matmul", [[6, 1, 3, 5], [4, 5, 7]], 6 * 4 * 2 * 3 * 5 * 7),
        ("aten::matmul", [[6, 3, 5], [4, 5, 7]], UNKNOWN),
        ("aten::matmul", [[3, 5], [5]], UNKNOWN),
        ("aten::_scaled_dot_product_flash_attention", [[2, 8, 10, 4], [2, 2, 12, 4], [2, 2, 12, 6]], 3840 * (4 + 6)),
        ("aten::_scaled_dot_product_flash_attention", [[2, 8, 10, 4], [2, 3, 12, 4], [2, 3, 12, 6]], UNKNOWN),
        ("aten::_scaled_dot_product_efficient_attention", [[2, 8, 10, 4], [2, 0, 12, 4], [2, 0, 12, 6]], UNKNOWN),
        (
            "aten::_scaled_dot_product_cudnn_attention_backward",
            [[2, 8, 10, 6], [2, 8, 10, 4], [2, 2, 12, 4], [2, 2, 12, 6]],
            3840 * (3 * 4 + 2 * 6),
        ),
        ("aten::_flash_attention_forward", [[2, 10, 8, 4], [2, 12, 2, 4], [2, 12, 2, 6], []], 3840 * (4 + 6)),
        ("aten::_flash_attention_forward", [[20, 8, 4], [24, 2, 4], [24, 2, 6], [3]], UNKNOWN),
        (
            "aten::_efficient_attention_backward",
            [[2, 10, 8, 6], [2, 10, 8, 4], [2, 12, 2, 4], [2, 12, 2, 6], [], [], []],
            3840 * (3 * 4 + 2 * 6),
        ),
    ],
)
def test_formulas(name, sizes, flop):
    assert count_flop({**WHOLE, **WRAPPERS}[name], sizes) == pytest.approx(flop, nan_ok=True, rel=0)


def test_an_op_and_what_it_calls_count_once(read):
    step = Step().op("aten::linear", 10, 50, [[2, 32, 64], [64, 64]]).op("aten::matmul", 12, 40, [[2, 32, 64], *SQUARE])
    step.op("aten::mm", 15, 30, SQUARE).op("aten::mm", 16, 20, SQUARE).works(18).works(25)
    assert useful(read(step.sampled())) == 2 * 64**3


def test_a_matrix_and_a_vector_do_not_count(read):
    """PyTorch's counter does not count them either."""
    step = (
        Step().op("aten::matmul", 10, 50, SQUARE).op("aten::mv", 20, 30, [[64, 64], [64]]).works(25, name=ELEMENTWISE)
    )
    assert useful(read(step.sampled())) == 0


def test_what_ran_on_the_cpu_does_not_count(read):
    step = Step().op("aten::mm", 10, 20, SQUARE).op("aten::addmm_", 30, 40, [[64, 64], *SQUARE]).works(35)
    assert useful(read(step.sampled())) == 2 * 64**3


def test_products_on_cuda_cores_are_useful_but_not_beside_what_tensor_cores_executed(read):
    flop = 2 * 1024**3
    step = Step().op("aten::mm", 10, 20, [[1024, 1024]] * 2).works(15, flop)
    analysis = read(step.op("aten::mm", 30, 40, SQUARE).works(35, name="sgemm_128x128_nn").sampled())
    row = analysis.modules.set_index(["module", "phase"]).loc[("Net", "all")]
    assert row["useful_flop"] == flop + 2 * 64**3
    assert row["useful_pct"] == pytest.approx(100, abs=0.1)
    assert "2.15 G; 2.15 G on the Tensor Cores, 100.0 % of the FLOP executed there." in describe_useful(analysis)[0]


def test_useful_flop_and_those_on_tensor_cores_are_distinguished(read):
    step = Step().op("aten::mm", 10, 20, [[1024, 1024]] * 2).works(15, 2 * 1024**3)
    step.op("aten::mm", 30, 40, [[1024, 1024]] * 2).works(35, name="sgemm_128x128_nn")
    said = describe_useful(read(step.sampled()))[0]
    assert "4.29 G; 2.15 G on the Tensor Cores, 100.0 % of the FLOP executed there." in said


def test_sizes_that_are_none_are_unknown_and_told(read):
    step = Step().op("aten::mm", 10, 20, SQUARE).works(15).op("aten::mm", 30, 40, "[[64, 64], [-64, 64]]").works(35)
    analysis = read(step.sampled())
    assert math.isnan(useful(analysis))
    assert InvalidValues("NVTX_EVENTS.text", "invalid op sizes", 1, kept=True) in analysis.observed.wrong


def test_a_tensor_kernel_of_no_op_makes_its_module_unknown(read):
    step = Step().op("aten::mm", 10, 20, SQUARE).works(15, 10**9).op("aten::_cudnn_rnn", 30, 40).works(35, 10**9)
    analysis = read(step.sampled())
    assert math.isnan(useful(analysis))
    (said,) = describe_useful(analysis)
    assert "mostly in sm90_xmma_gemm" in said
    assert "%" not in said  # figures of modules leave warm-up out, this does not
    others = Step().op("aten::mm", 10, 20, SQUARE).works(15).op("aten::add", 30, 40, SQUARE).works(35, 0, ELEMENTWISE)
    assert useful(read(others.sampled())) == 2 * 64**3


def test_what_a_checkpoint_computes_again_is_not_useful_and_its_share_is_told(read):
    checkpoint, flop = "CheckpointFunctionBackward", 2 * 1024**3
    step = Step().op("aten::mm", 10, 20, [[1024, 1024]] * 2).works(15, flop)
    step.op(f"{NODE}{checkpoint}", 30, 90, op_id=5).op(checkpoint, 35, 85, seq=3)
    analysis = read(step.op("aten::mm", 40, 50, [[1024, 1024]] * 2).works(45, flop).sampled())
    assert analysis.kernel_instances["useful_flop"].tolist() == [flop, 0]
    said = " ".join(describe_useful(analysis))
    assert (
        "50.0 % of the FLOP executed there. Activation checkpointing accounts for 50.0 % of the FLOP executed there"
        in said
    )
    assert "The other FLOP executed beyond the useful ones may be padding" in said


def shown(analysis: Analysis) -> dict[str, str]:
    """Columns of the table with what they show of all kernels, and its mark."""
    (table,) = list_modules(analysis, analysis.modules)
    cells = zip(table.headings, table.rows[0].cells, strict=True)
    return {heading.title: f"{cell.text}{cell.mark}" for heading, cell in cells}


def test_without_sizes_nothing_is_known_and_nothing_said(read):
    analysis = read(Step().op("aten::mm", 10, 20, op_id=5).works(15).sampled())
    assert analysis.kernel_instances["useful_flop"].isna().all()
    assert math.isnan(useful(analysis))
    assert describe_useful(analysis) == ()
    assert not {"Useful FLOP", "Executed FLOP", "Useful"} & set(shown(analysis))


CONVOLVED = 2 * 2 * 8 * 8 * 16 * 3 * 3 * 3
IMAGES, KERNELS = [2, 3, 16, 16], [16, 3, 3, 3]


def convolved(taken: Sequence[Sequence[int]], process: int = 1000) -> Step:
    """A convolution, and what others took from it, in this order."""
    step = Step(process=process).op("aten::conv2d", 10, 30, [IMAGES, KERNELS, [16], [], [], []], op_id=7)
    step.op("aten::cudnn_convolution", 12, 20, [IMAGES, KERNELS, [], [], []], op_id=9).works(15)
    for number, sizes in enumerate(taken):
        step.op("aten::relu", 40 + 9 * number, 45 + 9 * number, [sizes], op_id=20 + number, inputs="[(7,0)]")
    return step


@pytest.mark.parametrize(
    ("taken", "flop"), [([[2, 16, 8, 8]], CONVOLVED), ([[2, 16, 8, 8], [2, 16, 99, 99]], CONVOLVED), ([], UNKNOWN)]
)
def test_what_a_convolution_made_is_what_the_first_op_took(taken, flop, read):
    assert useful(read(convolved(taken).sampled())) == pytest.approx(flop, nan_ok=True, rel=0)


def test_gradients_that_no_op_took_were_not_computed(read):
    step = convolved([]).range("backward", 995 * US, 999 * US, domain=DOMAIN)
    gradient = [[2, 16, 8, 8], IMAGES, KERNELS]
    for number, taken in enumerate(("[(30,1)]", "[(31,0)]")):
        at = 50 + 50 * number
        step.op("aten::convolution_backward", at, at + 10, gradient, op_id=30 + number).works(at + 5)
        step.op("aten::add", at + 20, at + 30, [KERNELS if number == 0 else IMAGES], op_id=40 + number, inputs=taken)
    launched = read(step.sampled()).kernel_instances["useful_flop"].tolist()
    assert launched == pytest.approx([UNKNOWN, CONVOLVED, CONVOLVED], nan_ok=True)
    step = convolved([]).op("aten::convolution_backward", 50, 60, gradient, op_id=30).works(55)
    assert math.isnan(read(step.sampled()).kernel_instances["useful_flop"].iloc[1])


def test_a_layer_that_does_not_fill_its_tiles_executes_more_than_is_useful(read):
    """Tiles of 128 x 128 x 64: a width of 4097 takes 33 of them, and 65 steps along the sum."""
    width, wide, deep = 4097, 33 * 128, 65 * 64
    step = Step(steps=6)
    for at in range(20, 6000, 1000):
        step.op("aten::mm", at, at + 100, [[1024, width], [width, width]]).works(at + 50, 2 * 1024 * wide * deep)
    analysis = read(step.sampled())
    rows = analysis.modules.set_index(["module", "phase"]).loc[("Net", "all")]
    steady = rows["step_count"]
    assert rows["useful_flop"] == steady * 2 * 1024 * width**2
    assert rows["tensor_flop"] == pytest.approx(steady * 2 * 1024 * wide * deep, rel=1e-3)
    assert rows["useful_pct"] == pytest.approx(100 * width**2 / (wide * deep), rel=1e-3)
    assert (analysis.instances.set_index("range")["useful_flop"][analysis.steps["range"]] == 2 * 1024 * width**2).all()
    assert "may be padding to whole tiles" in " ".join(describe_useful(analysis))


def test_mfu_is_the_share_of_the_dense_peak_that_useful_flop_take(tmp_path):
    """A kernel of 100 µs whose FLOP are half padding, and another one for as long, at 989.5 TFLOP/s."""
    flop = 2 * 2048**3
    step = Step(steps=6)
    for at in range(20, 6000, 1000):
        step.op("aten::mm", at, at + 100, [[2048, 2048]] * 2).works(at + 50, 2 * flop)
        step.works(at + 200, name=ELEMENTWISE)
    path = step.sampled().write(tmp_path)
    report = tcprof.read(path, step="step")
    analysis = report.analysis
    for frame, column in ((report.ranges, "path"), (report.modules[report.modules["phase"] == "all"], "module")):
        row = frame.set_index(column).loc["step" if column == "path" else "Net"]
        assert row["mfu_pct"] == pytest.approx(100 * flop / (989.5e12 * 200e-6), rel=1e-3)
        assert row["hfu_pct"] == pytest.approx(2 * row["mfu_pct"], rel=1e-3)
    said = "MFU is 8.7 %, HFU 17.4 %: shares of the dense peak at the boost clock, over the GPU windows of “step”."
    assert said in describe_useful(analysis)
    assert said in " ".join(
        render(view_recording(analysis, judge(analysis), report.advice, with_notes=True), PLAIN).split()
    )
    figures = {each.title: each for each in summarize(analysis)[0].figures}
    assert figures["MFU"].value == "8.7 %"
    assert figures["MFU"].caption == "useful FLOP, of the dense peak at the boost clock, over the GPU windows"
    unknown = report.ranges.assign(mfu_pct=np.nan)
    without = replace(analysis, ranges=unknown)
    assert "MFU" not in {each.title for each in summarize(without)[0].figures}
    assert not re.search(
        r"MFU is \d", render(view_recording(without, judge(without), report.advice, with_notes=True), PLAIN)
    )
    given = tcprof.read(path, step="step", peak_tflops=500).ranges.set_index("path").loc["step"]
    assert given["mfu_pct"] == pytest.approx(100 * flop / (500e12 * 200e-6), rel=1e-3)
    below = tcprof.read(path, step="step", peak_tflops=10)
    assert below.ranges["mfu_pct"].max() > 100
    assert [each.rule for each in below.findings.entries if each.severity is Severity.FAULT] == ["excess-shares"]
    assert "peak-tflops" in below.faults[0]
    assert "excess-shares" not in [each.rule for each in report.findings.entries]


@pytest.mark.parametrize(("executed", "contradicts"), [(1.0, False), (0.5, True)])
def test_cycles_that_contradict_the_precision_of_a_name_are_told(executed, contradicts, read):
    """Half of the cycles that FP16 needs: then it was not FP16, but something twice as fast."""
    needed = 2 * 1024 * 4096**2
    step = Step(steps=6)
    for at in range(20, 6000, 1000):
        step.op("aten::mm", at, at + 100, [[1024, 4096], [4096, 4096]]).works(at + 50, executed * needed)
    analysis = read(step.sampled())
    warnings = [text for text in judge(analysis).warnings if "contradict" in text]
    assert len(warnings) == contradicts
    assert not any("masked" in text for text in describe_useful(analysis))
    if contradicts:
        assert "require 2048 FLOP per cycle, but FP16 allows 1024. Its FLOP, FLOP/s and HFU are too low." in warnings[0]


@pytest.mark.parametrize("busy_ns", [0.0, 9e6])
def test_an_excess_is_put_down_to_untraced_work_where_there_is_some(busy_ns):
    analysis = tcprof.read(FIXTURES / "mlp_tf32.sqlite").analysis
    too_high = analysis.replace(kernels=analysis.kernels.assign(hfu_pct=150.0))
    work = Untraced(busy_ns, 1e7, 1e5, 1.01e7, 100, 1e6, Quiet(0.0, 0.0, 0, 0.0))
    (fault,) = find_excess(too_high, [], {0: work})
    assert (_UNTRACED_WORK in fault.consequence) == (busy_ns > 0)
