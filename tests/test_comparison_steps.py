"""A path that iterates on one side is compared with its instances on the other, however few they are."""

from builders import TraceBuilder, analyzed

from tcprof.comparison import compare
from tcprof.comparison.gate import judge_condition, parse_condition
from tcprof.findings.compared import judge_comparison

STEP = 200_000


def steps(count, *, layers=0, name="step", epoch=None, kernel=40_000):
    """Steps of 200 µs, with as many layers in each, each of which has a kernel."""
    builder = TraceBuilder().gpu().recorded(duration=STEP * count)
    if epoch:
        builder.range(epoch, 0, STEP * count)
    for number in range(count):
        at = STEP * number + 10
        builder.range(name, at, at + STEP - 20)
        for layer in range(max(layers, 1)):
            start, length = at + 1000 + layer * 10_000, kernel // max(layers, 1)
            if layers:
                builder.range("layer", start, start + 5_000)
            builder.kernel("gemm", start, start + length - 10, launched=start)
    return builder.samples([10] * 20 * count)


def test_4_steps_are_the_steps_of_20(tmp_path):
    sides = analyzed(steps(20), tmp_path, "a.sqlite"), analyzed(steps(4, kernel=80_000), tmp_path, "b.sqlite")
    comparison = compare(*sides)
    assert comparison.step_path == "step"
    assert comparison.new.first.steps["number"].tolist() == [0, 1, 2, 3]
    rows = comparison.rows
    row = rows[(rows["path"] == "step") & (rows["quantity"] == "kernel_ns")].iloc[0]
    assert sorted([row["base"], row["new"]]) == [39_990, 79_990]
    assert (row["verdict"], row["mean_verdict"]) == ("", "")
    assert "an interval needs 5 instances on each side" in row["not_judged"]
    time = comparison.waterfall[comparison.waterfall["quantity"] == "time_ns"].iloc[0]
    assert max(time["base"], time["new"]) == STEP  # of a step, not of the whole capture
    assert "Only 4 steps in the " in " ".join(judge_comparison(comparison).warnings)
    judged = judge_condition(parse_condition("kernel_time > +5%"), rows, comparison.step_path)
    assert (judged.path, judged.verdict) == ("step", "inconclusive")
    assert judged.reason == row["not_judged"]
