"""Steps: how long each takes to the next one, what the GPU does meanwhile, and that warm-up is left out."""

import pytest
from builders import FIXTURES, US, TraceBuilder, assert_rows
from slow import first_of

import tcprof
from tcprof.analysis.mean_step import find_typical
from tcprof.findings.compared.verdict import find_row
from tcprof.frames import RANGES

pytestmark = pytest.mark.usefixtures("shared_reads")

BEGINS = [0, 10_000, 21_000, 31_000, 41_000, 71_000, 81_000]  # of the kernels; the first step is warm-up


@pytest.fixture
def analysis(tmp_path):
    """Seven steps of a kernel of 4 µs; between the fifth and the sixth, another kernel of 10 µs in no step."""
    builder = TraceBuilder().gpu()
    for number, begin in enumerate(BEGINS):
        begin += 100_000
        builder.range("step", begin - 1_000, begin + 500 + 9_000 * (number == 0))
        builder.kernel("k", begin, begin + 4_000, launched=begin - 500)
    builder.kernel("test pass", 150_000, 160_000, launched=149_000)
    return tcprof.read(builder.samples([0] * 50 + [80] * 10 + [0] * 40, start=90_000, period=1_000).write(tmp_path))


def test_a_step_reaches_to_the_next_ones_begin(analysis):
    steps = analysis.steps
    assert steps["number"].tolist() == [*range(7)]
    assert steps["warm_up"].tolist() == [True] + [False] * 6
    assert steps["step_ns"].tolist()[:-1] == [10_000, 11_000, 10_000, 10_000, 30_000, 10_000]
    assert steps["kernel_ns"].tolist() == [4_000] * 7
    assert steps["busy_ns"].tolist()[:-1] == [4_000, 4_000, 4_000, 4_000, 14_000, 4_000]
    assert steps["idle_pct"].tolist()[4] == pytest.approx(100 * 16 / 30)
    assert steps["tensor_active_mean_pct"].tolist()[3:5] == pytest.approx([8.0, 80 * 9 / 30])
    assert steps.iloc[-1][["step_ns", "busy_ns", "idle_pct", "tensor_active_mean_pct"]].isna().all()
    assert analysis.step_summary["step_ns"].tolist() == [10_000]


def test_steps_that_were_launched_but_did_not_run_are_not_counted(tmp_path):
    """As where the CPU is far ahead when the capture ends."""
    builder = TraceBuilder().gpu()
    for number in range(12):
        builder.range("step", number * 10 * US, (number + 1) * 10 * US)
        if number < 8:
            start = 200 * US + number * 100 * US
            builder.kernel("gemm", start, start + 100 * US, launched=number * 10 * US + 1)
    analysis = tcprof.read(builder.write(tmp_path), warm_up=0)
    assert analysis.steps["counted"].sum() == analysis.step_summary["step_count"].item() == 8
    assert analysis.kinds["total_ns"].item() / analysis.kinds["step_count"].item() == pytest.approx(100 * US)


def test_where_nothing_iterates_there_are_none():
    analysis = tcprof.read(FIXTURES / "wmma.sqlite")
    assert analysis.steps.empty
    assert analysis.steps.columns.tolist()[:3] == ["gpu", "number", "range"]


def loop(tmp_path, periods, other=(), name="run", copies=False):
    """Steps of a kernel of 4 µs, each so long after the one before; other kernels, and copies, in no step."""
    builder, begin = TraceBuilder().gpu(), 100_000
    for period in [*periods, 10_000]:
        builder.range("step", begin - 1_000, begin + 4_000)
        builder.kernel("k", begin, begin + 4_000, launched=begin - 500)
        if copies:
            builder.copy("host to device", begin - 2_000, begin - 1_500, launched=begin - 3_000)
        begin += period
    for start in other:
        builder.kernel("test pass", start, start + 2_000, launched=start - 1_000)
    (tmp_path / name).mkdir()
    return tcprof.read(builder.write(tmp_path / name), warm_up=0)


def mean_step_ns(analysis):
    return analysis.step_summary["total_ns"].item() / analysis.step_summary["step_count"].item()


WORKERS = [10_000, 10_000, 10_000, 50_000] * 5  # of four, whose batches come together: each fourth step waits


@first_of(1)("copies", [False, True])
def test_a_step_that_waits_long_for_its_batch_is_a_step(tmp_path, copies):
    analysis = loop(tmp_path, WORKERS, copies=copies)
    assert mean_step_ns(analysis) == pytest.approx((sum(WORKERS) + 4_000) / 21)
    faster = loop(tmp_path, [10_000] * 20, name="faster", copies=copies)
    row = find_row(tcprof.compare([analysis], [faster]).comparison, 0, "step_ns")
    assert (row["mean_base"], row["mean_new"]) == pytest.approx((sum(WORKERS) / 20, 10_000))


def test_a_test_pass_ends_a_step(tmp_path):
    analysis = loop(tmp_path, [*[10_000] * 9, 30_000, *[10_000] * 9], [207_000])
    assert mean_step_ns(analysis) == pytest.approx((18 * 10_000 + 2 * 4_000) / 20)


def test_a_very_long_pause_is_in_no_mean(tmp_path):
    analysis = loop(tmp_path, [*[10_000] * 9, 200_000, *[10_000] * 9])
    assert analysis.steps["slow"].tolist() == [*[""] * 9, "stalls", *[""] * 10]
    assert mean_step_ns(analysis) == pytest.approx((18 * 10_000 + 4_000) / 19)


@first_of(1)("name", ["llama", "jax_mlp", "mlp_fp32"])
def test_steps_hold_the_time_between_steps_too(name):
    report = tcprof.read(FIXTURES / f"{name}.sqlite")
    steady = report.steps[~report.steps["warm_up"]]
    typical = find_typical(report.analysis, 0)
    assert report.step_summary["step_ns"].item() == steady["step_ns"].median() >= typical["gpu_window_ns"].value * 0.99
    assert (steady["busy_ns"].dropna() <= steady["step_ns"].dropna()).all()


def training(steps=(400, 100, 100, 100, 100, 100, 100, 100), first="warm"):
    """Steps in an epoch, half of each one kernel with Tensor Active 50; the first compiles for four times as long."""
    trace, at, samples = TraceBuilder().gpu().range("epoch", 0, sum(steps) * US), 0, []
    for number, length in enumerate(steps):
        trace.range("step", at, at + length * US - 10)
        trace.range("compile" if number == 0 else "forward", at + 1 * US, at + 20 * US)
        trace.kernel("k", at + 10 * US, at + (10 + length // 2) * US, launched=at + 2 * US)
        samples += [50 * (number > 0 and place < length // 20) for place in range(length // 10)]
        at += length * US
    return trace.samples([0, *samples], period=10 * US)


def test_it_is_out_of_every_figure_of_a_path(tmp_path):
    analysis = tcprof.read(training().write(tmp_path))
    expected = """
        path                    instance_count  host_ns    gpu_window_ns  kernel_count  tensor_active_mean_pct
        -                       1               1_050_000  1_050_000      8             16.666666666666668
        epoch                   1               1_100_000  1_050_000      8             16.666666666666668
        epoch / step            7               699_930    350_000        7             50
        epoch / step / compile  0               0          –              0             –
        epoch / step / forward  7               133_000    350_000        7             50
        """
    assert_rows(analysis.ranges, expected)
    unknown = [column.name for column in RANGES.columns if column.dtype == "float64"]
    assert analysis.ranges.set_index("path").loc["epoch / step / compile", unknown].isna().all()
    assert analysis.timeline.set_index("path")["window_ns"].tolist() == [1_050_000, 1_050_000, 350_000, 0, 350_000]
    assert analysis.instances["left_out"].sum() == 2
    assert analysis.steps["warm_up"].sum() == 1


@pytest.mark.parametrize(("warm_up", "counted"), [(None, 7), ("all", 8)])
def test_it_may_be_chosen(tmp_path, warm_up, counted):
    analysis = tcprof.read(training().write(tmp_path), warm_up=warm_up)
    step = analysis.ranges.set_index("path").loc["epoch / step"]
    assert step["instance_count"] == counted
    assert (~analysis.steps["warm_up"]).sum() == counted
    assert len(analysis.instances) == 1 + 2 * 8


def test_the_steps_that_are_named_have_their_own(tmp_path):
    trace, at = training(), 1_100 * US
    for length in (300, 50, 50, 50, 50, 50, 50):
        trace.range("validate", at, at + length * US).kernel("k", at + US, at + 20 * US, launched=at + 10)
        at += length * US
    path = trace.write(tmp_path)
    counts = {
        name: tcprof.read(path, step=name).ranges.set_index("path")["instance_count"] for name in ("step", "validate")
    }
    assert (counts["step"]["epoch / step"], counts["step"]["validate"]) == (7, 7)
    assert (counts["validate"]["epoch / step"], counts["validate"]["validate"]) == (8, 6)
