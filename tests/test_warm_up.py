"""Warm-up is out of every figure per range and step, and the whole stays whole."""

import pytest
from builders import US, TraceBuilder, assert_rows

import tcprof
from tcprof.frames import RANGES

pytestmark = pytest.mark.usefixtures("shared_reads")


def training(steps=(400, 100, 100, 100, 100, 100, 100, 100), first="warm"):
    """Steps in an epoch: half of each is one kernel. The first, four times as long, compiles in a range of its own.

    Tensor Active is 0 in the first step and 50 under the kernels of all others.
    """
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
    assert analysis.timeline.set_index("path")["window_ns"].tolist() == [1_050_000, 1_050_000, 350_000, 0, 350_000]
    assert analysis.instances["left_out"].sum() == 2
    assert analysis.steps["warm_up"].sum() == 1


def test_a_path_of_warm_up_alone_has_no_known_figures(tmp_path):
    ranges = tcprof.read(training().write(tmp_path)).ranges.set_index("path")
    unknown = [column.name for column in RANGES.columns if column.dtype == "float64"]
    assert ranges.loc["epoch / step / compile", unknown].isna().all()


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
