"""The gate: what an expression means, where a wrong one is wrong, and what an interval proves."""

import math
import re
import tomllib
from pathlib import Path

import pytest
from gate_inputs import UNKNOWN, make_row, make_rows, make_share, without_interval
from hypothesis import given
from hypothesis import strategies as st

from tcprof.comparison.gate import (
    CONDITIONS,
    HOLDS_BOUND,
    NO_INTERVAL,
    NO_RATIO,
    NOT_RECORDED,
    Caveat,
    Condition,
    FindingCondition,
    Gate,
    GateFigure,
    judge_condition,
    judge_finding,
    parse_condition,
)
from tcprof.comparison.statistics.rows import ONE_SAMPLE
from tcprof.errors import UsageError
from tcprof.frames import COMPARISON, LISTED_QUANTITIES, RANGES
from tcprof.frames.compared import IDLE, USEFUL_RATE
from tcprof.render.formats import Style, text
from tcprof.views.comparison.gate import describe_judgement, name_condition, view_gate

DOCS = Path(__file__).parent.parent / "docs" / "ci.md"


def judge(text, *rows, steps="step"):
    return judge_condition(parse_condition(text), make_rows(*rows), steps)


def verdict(text, *rows, **options):
    return judge(text, *rows, **options).verdict


@pytest.mark.parametrize(
    ("text", "quantity", "path", "operator", "bound", "scale"),
    [
        ("time > +5%", "gpu_window_ns", None, ">", 1.05, "relative"),
        ("host_time>=-10 %", "host_ns", None, ">=", 0.9, "relative"),
        ("  kernel_time  <=  1.5 ms ", "kernel_ns", None, "<=", 1.5e6, "absolute"),
        ("time > 30µs", "gpu_window_ns", None, ">", 30_000, "absolute"),
        ("time > 30\u03bcs", "gpu_window_ns", None, ">", 30_000, "absolute"),
        ("time > 30us", "gpu_window_ns", None, ">", 30_000, "absolute"),
        ("time > 2s", "gpu_window_ns", None, ">", 2e9, "absolute"),
        ("time > 7ns", "gpu_window_ns", None, ">", 7, "absolute"),
        ("tensor_active_time < 30us", "tensor_active_s", None, "<", 30e-6, "absolute"),
        ("kernel_count > 1000", "kernel_count", None, ">", 1000, "absolute"),
        ("tensor_cycles > +0%", "tensor_cycles", None, ">", 1, "relative"),
        ("tensor_active[step / forward] < 30", "tensor_active_mean_pct", "step / forward", "<", 30, "absolute"),
        ("tensor_active < 30%", "tensor_active_mean_pct", None, "<", 30, "absolute"),
        ("tensor_active_peak < -10%", "tensor_active_peak_pct", None, "<", 0.9, "relative"),
        ("tensor_kernel_share < -2.5pt", "tensor_kernel_share_pct", None, "<", -2.5, "points"),
        ("tensor_kernel_share > +2 pt", "tensor_kernel_share_pct", None, ">", 2, "points"),
        ("time [ a[0] ] > +5%", "gpu_window_ns", "a[0]", ">", 1.05, "relative"),
        ("time[a] > b] > +5%", "gpu_window_ns", "a] > b", ">", 1.05, "relative"),
    ],
)
def test_what_an_expression_means(text, quantity, path, operator, bound, scale):
    assert parse_condition(text) == Condition(text, quantity, path, operator, bound, scale)


def test_a_relative_bound_is_the_ratio_to_the_last_bit():
    for percent in range(-100, 300):
        assert parse_condition(f"time > {percent:+d}%").bound == (100 + percent) / 100


def test_every_quantity_is_one_of_the_ranges_or_made_of_them():
    made = {IDLE.name, USEFUL_RATE.name, *(quantity.name for quantity in LISTED_QUANTITIES if quantity.of_steps)}
    assert {quantity.name for quantity in CONDITIONS.values()} - made <= set(RANGES.names)
    assert {quantity.gate_name: quantity for quantity in LISTED_QUANTITIES} == CONDITIONS  # each can be judged


@pytest.mark.parametrize(
    ("text", "caret"),
    [
        ("", 0),
        ("  ", 2),
        ("> 5", 0),
        ("tiem > +5%", 0),
        (" gpu_window_ns > +5%", 1),
        ("time", 4),
        ("time  == +5%", 6),
        ("time[step]  = +5%", 12),
        ("time ] > 5", 5),
        ("time[step > +5%", 4),
        ("time[ ] > +5%", 4),
        ("time >", 6),
        ("time > fast", 7),
        ("time => +5%", 5),
        ("time > +5% or so", 11),
        ("time > 5%", 7),
        ("time > 5", 7),
        ("time > +5ms", 7),
        ("time > +5pt", 7),
        ("time > -101%", 7),
        ("time > 5min", 7),
        ("time > 1,5ms", 7),
        ("tensor_active_time > 5", 21),
        ("kernel_count > 5ms", 15),
        ("kernel_count > +5", 15),
        ("tensor_active < 30ms", 16),
        ("tensor_active < 101", 16),
        ("tensor_active < -101pt", 16),
        ("tensor_active < 2pt", 16),
        ("tensor_active < -2", 16),
        ("time > +\u0665%", 7),
        (f"time > {'9' * 400}s", 7),
    ],
)
def test_a_wrong_expression_is_shown_with_its_place(text, caret):
    with pytest.raises(UsageError) as raised:
        parse_condition(text)
    _, expression, pointer = raised.value.message.split("\n")
    assert expression == f"    {text}"
    assert pointer == " " * (4 + caret) + "^"
    assert "--fail-if 'time > +5%'" in raised.value.hint


def test_the_nearest_quantity_is_suggested_and_all_are_listed():
    with pytest.raises(UsageError) as raised:
        parse_condition("tensor_activ < 30")
    assert "tensor_active?" in raised.value.hint
    assert all(name in raised.value.hint for name in CONDITIONS)


PARTS = st.sampled_from(
    [*CONDITIONS, "[", "]", "step", " / ", ">", "<", ">=", "+", "-", "5", ".", "30", "%", "pt", "ms", " "]
)


@given(st.one_of(st.text(), st.lists(PARTS, max_size=8).map("".join)))
def test_any_text_is_a_condition_or_a_wrong_one(text):
    try:
        condition = parse_condition(text)
    except UsageError as error:
        message, pointer = error.message, error.message.split("\n")[-1]
    else:
        assert condition.quantity in {quantity.name for quantity in CONDITIONS.values()}
        assert condition.path is None or condition.path.strip()
        assert math.isfinite(condition.bound)
        return
    assert message.count("\n") == 2
    assert pointer.strip() == "^"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time > +5%", "fail"),
        ("time > +9%", "inconclusive"),
        ("time > +15%", "pass"),
        ("time < +15%", "fail"),
        ("time < +9%", "inconclusive"),
        ("time < +5%", "pass"),
        ("time > 10.5ms", "fail"),
        ("time > 11ms", "inconclusive"),
        ("time > 11.5ms", "pass"),
        # where the interval ends at the bound
        ("time > +8%", "inconclusive"),
        ("time >= +8%", "fail"),
        ("time > +12%", "pass"),
        ("time >= +12%", "inconclusive"),
        ("time < +12%", "inconclusive"),
        ("time <= +12%", "fail"),
        ("time < +8%", "pass"),
        ("time <= +8%", "inconclusive"),
    ],
)
def test_only_the_whole_interval_proves(text, expected):
    assert verdict(text, make_row()) == expected


@pytest.mark.parametrize(
    ("text", "figures", "expected"),
    [
        ("tensor_active < -2pt", (-5, -6, -4), "fail"),
        ("tensor_active < -5pt", (-5, -6, -4), "inconclusive"),
        ("tensor_active < -10pt", (-5, -6, -4), "pass"),
        ("tensor_active < -5%", (0.875, 0.85, 0.90), "fail"),
        ("tensor_active < 36", (35, 34.5, 35.5), "fail"),
    ],
)
def test_points_ratios_and_values_are_the_figures_of_their_own_columns(text, figures, expected):
    found = judge(text, make_row(), make_share())
    assert (found.median, found.mean, found.verdict) == (GateFigure(*figures), GateFigure(*figures), expected)


FIGURES = st.floats(0.5, 2) | st.just(1.05)


@pytest.mark.slow
@given(FIGURES, FIGURES, st.sampled_from([("time > +5%", "time <= +5%"), ("time >= +5%", "time < +5%")]))
def test_what_proves_a_condition_disproves_its_opposite(one, other, opposites):
    low, high = sorted((one, other))
    row = make_row(ratio_low=low, ratio_high=high)
    turned = {"fail": "pass", "pass": "fail", "inconclusive": "inconclusive"}
    assert verdict(opposites[0], row) == turned[verdict(opposites[1], row)]


@pytest.mark.parametrize(
    ("text", "row", "reason"),
    [
        ("time > +9%", make_row(), HOLDS_BOUND),
        ("time > +5%", without_interval(make_row()), NO_INTERVAL),
        ("time > +5%", make_row(ratio_low=UNKNOWN), NO_INTERVAL),
        ("time > +5%", without_interval(make_row(base=UNKNOWN, ratio=UNKNOWN)), "unknown in the baseline"),
        ("time > +5%", without_interval(make_row(new=UNKNOWN, ratio=UNKNOWN)), "unknown in the new recording"),
        ("time > 5ms", without_interval(make_row(base=UNKNOWN, new=UNKNOWN)), "unknown in the new recording"),
        (
            "time > +5%",
            without_interval(make_row(base=UNKNOWN, new=UNKNOWN, ratio=UNKNOWN, verdict="")),
            "unknown in the baseline and in the new recording",
        ),
        ("time > +5%", without_interval(make_row(base=0.0, ratio=UNKNOWN)), NO_RATIO),
        ("tensor_cycles > +5%", make_row(), NOT_RECORDED),
        (
            "tensor_active_peak < 30",
            without_interval(make_share(quantity="tensor_active_peak_pct", not_judged=ONE_SAMPLE)),
            ONE_SAMPLE,
        ),
    ],
)
def test_why_it_cannot_be_told(text, row, reason):
    found = judge(text, row)
    assert (found.verdict, found.reason) == ("inconclusive", reason)


def test_an_absolute_bound_needs_no_baseline():
    row = make_row(base=UNKNOWN, base_low=UNKNOWN, base_high=UNKNOWN, ratio=UNKNOWN)
    assert judge("time > 10ms", row).verdict == "fail"


def test_half_an_interval_proves_what_it_can():
    assert verdict("time > +5%", make_row(ratio_high=UNKNOWN)) == "fail"
    assert verdict("time > +15%", make_row(ratio_low=UNKNOWN)) == "pass"
    assert verdict("time < +15%", make_row(ratio_low=UNKNOWN)) == "fail"


def test_equal_constants_have_not_changed_even_where_both_are_0():
    row = without_interval(make_row(base=0.0, new=0.0, difference=0.0, ratio=UNKNOWN, verdict="="))
    assert verdict("time > +0%", row) == "pass"
    assert verdict("time >= +0%", row) == "fail"
    assert verdict("time > 1ns", row) == "pass"
    share = without_interval(make_share(new=40.0, difference=0.0, ratio=1.0, verdict="="))
    assert verdict("tensor_active < -1pt", share) == "pass"
    assert verdict("tensor_active < 50", share) == "fail"


def unmoved(**means):
    """The median step is as before; of the means what is given."""
    same = {"ratio": 1.0, "ratio_low": 0.99, "ratio_high": 1.01, "verdict": "~"}
    return make_row(**same, **{f"mean_{name}": value for name, value in means.items()})


@pytest.mark.parametrize(
    ("figures", "expected", "decided_by"),
    [
        ((1.09, 1.06, 1.12), "fail", "mean"),
        ((1.09, 1.02, 1.16), "inconclusive", "mean"),
        ((1.02, 1.00, 1.04), "pass", "both"),
        ((UNKNOWN, UNKNOWN, UNKNOWN), "inconclusive", "mean"),
    ],
)
def test_either_of_median_and_mean_fails_a_build_and_both_must_pass(figures, expected, decided_by):
    found = judge("time > +5%", unmoved(**dict(zip(("ratio", "ratio_low", "ratio_high"), figures, strict=True))))
    assert (found.verdict, found.decided_by) == (expected, decided_by)
    assert found.median == GateFigure(1.0, 0.99, 1.01)
    turned = judge("time < +5%", unmoved(ratio=1.09, ratio_low=1.06, ratio_high=1.12))
    assert (turned.verdict, turned.decided_by) == ("fail", "median")


@pytest.mark.parametrize(
    ("median", "mean", "bound", "expected"),
    [
        ("higher", "~", "+5%", "fail"),
        ("higher", "~", "+20%", "pass"),
        ("~", "higher", "+20%", "pass"),
        ("higher", "higher", "+20%", "inconclusive"),
        ("~", "~", "+20%", "inconclusive"),
        ("higher", "~", "12ms", "inconclusive"),
    ],
)
def test_what_is_sure_decides_alone_but_about_values(median, mean, bound, expected):
    wide = {"ratio_low": 0.9, "ratio_high": 1.9, "new_low": 9e6, "new_high": 19e6}
    if (median, mean) == ("~", "higher"):
        row = make_row(**wide, verdict=median, mean_verdict=mean, mean_ratio_low=1.08, mean_ratio_high=1.12)
    else:
        row = make_row(verdict=median, mean_verdict=mean, **{f"mean_{name}": value for name, value in wide.items()})
    assert verdict(f"time > {bound}", row) == expected


@pytest.mark.parametrize(
    ("known", "path", "judged", "expected"),
    [
        ("unprofiled_step_ns", "step", "unprofiled_step_ns", "pass"),
        ("step_ns", "step", "step_ns", "pass"),
        ("gpu_window_ns", "step", "gpu_window_ns", "fail"),
        ("host_ns", "step", "host_ns", "fail"),
        ("gpu_window_ns", "forward", "step_ns", "inconclusive"),
    ],
)
def test_the_step_time_is_the_time_that_the_verdict_is_on(known, path, judged, expected):
    names = ("unprofiled_step_ns", "step_ns", "gpu_window_ns", "host_ns")
    rows = [make_row(quantity=name, path=path) for name in names]
    for row in rows[: names.index(known)]:
        row.update(without_interval(row), base=UNKNOWN, ratio=UNKNOWN, verdict="", mean_verdict="")
    if expected == "pass":
        rows[names.index(known)].update(make_row(quantity=known, ratio_low=1.01, ratio=1.02, ratio_high=1.03))
    found = judge(f"step_time{'' if path == 'step' else f'[{path}]'} > +5%", *rows)
    assert (found.verdict, found.condition.quantity) == (expected, judged)
    assert ("GPU window" in name_condition(found)) == (judged == "gpu_window_ns")


def test_it_is_said_which_of_them_decides():
    found = judge("time > +5%", unmoved(ratio=1.09, ratio_low=1.06, ratio_high=1.12))
    numbers = re.findall(r"[-+]?\d+\.\d %", describe_judgement(found))
    assert numbers == ["0.0 %", "-1.0 %", "+1.0 %", "+9.0 %", "+6.0 %", "+12.0 %"]
    assert "mean decides" in describe_judgement(found)


@pytest.mark.parametrize(
    ("text", "doubt", "is_touched"),
    [
        ("time > +5%", Caveat("kernels were lost", "base", ("host_ns",)), True),
        ("time > 5ms", Caveat("kernels were lost", "base", ("host_ns",)), False),
        ("time > 5ms", Caveat("kernels were lost", "new", ("host_ns",)), True),
        ("host_time > +5%", Caveat("kernels were lost", "new", ("host_ns",)), False),
        ("host_time > +5%", Caveat("other GPUs"), True),
        ("time > 5ms", Caveat("other GPUs"), True),
    ],
)
def test_what_is_in_doubt_cannot_be_told(text, doubt, is_touched):
    rows = make_rows(make_row(), make_row(quantity="host_ns"))
    found = judge_condition(parse_condition(text), rows, "step", [doubt])
    assert (found.verdict, found.reason) == (("inconclusive", doubt.reason) if is_touched else ("fail", ""))


# Places

FORWARD = make_row(path="step / forward", depth=2, ratio_low=0.9, ratio_high=0.95)
WHOLE = make_row(path="", depth=0, ratio_low=1.2, ratio_high=1.3)


@pytest.mark.parametrize("path", ["step / forward", "forward", "step/forward", " step  / forward", "step /forward"])
def test_a_path_is_named_in_full_or_by_its_last_names(path):
    found = judge(f"time[{path}] > +5%", WHOLE, make_row(), FORWARD)
    assert (found.path, found.verdict) == ("step / forward", "pass")


def test_without_a_path_it_is_that_of_the_steps_or_the_whole_capture():
    rows = WHOLE, make_row(), FORWARD
    assert judge("time > +5%", *rows).path == "step"
    assert judge("time > +5%", *rows, steps="step / forward").path == "step / forward"
    assert judge("time > +15%", *rows, steps="").path == ""
    assert judge("time > +15%", *rows, steps="").verdict == "fail"


def test_a_path_in_full_goes_before_paths_that_end_so():
    inner = make_row(path="epoch / step", depth=2)
    assert judge("time[step] > +5%", inner, make_row()).path == "step"
    assert judge("time[epoch / step] > +5%", inner, make_row()).path == "epoch / step"


def test_names_that_hold_a_slash_can_be_named():
    nested, slash = make_row(path="model / layer", depth=2), make_row(path="model/layer")
    for path in ("model / layer", "model/layer"):
        assert judge(f"time[{path}] > +5%", nested, slash).path == path
    assert judge("time[layer] > +5%", nested, slash).path == "model / layer"
    assert judge("time[layer] > +5%", slash, make_row()).path == "model/layer"


def test_a_path_that_is_nowhere_is_an_error_that_names_near_ones():
    with pytest.raises(UsageError, match="no range is called 'forwrd'") as raised:
        judge("time [forwrd] > +5%", WHOLE, make_row(), FORWARD)
    assert all(words in raised.value.hint for words in ("'forward' or 'step / forward'", "tcprof ranges RECORDING"))
    _, expression, pointer = raised.value.message.split("\n")
    assert expression[pointer.index("^") :].startswith("forwrd]")
    with pytest.raises(UsageError) as raised:
        judge("time[optimizer] > +5%", WHOLE, make_row(path="\x1b[31m" + "x" * 10_000))
    assert raised.value.hint.startswith("'tcprof ranges RECORDING'")


def test_several_paths_are_an_error_that_lists_them():
    rows = [make_row(path=f"epoch {number} / step", depth=2) for number in range(7)]
    with pytest.raises(UsageError, match=r"7 ranges are called 'step': 'epoch 0 / step', .* and 2 more"):
        judge("time[step] > +5%", *rows)
    assert judge("time[epoch 3 / step] > +5%", *rows).path == "epoch 3 / step"


def test_of_several_gpus_the_worst_counts():
    def rows(*ratios):
        return [make_row(gpu=gpu, ratio_low=low, ratio_high=low + 0.02) for gpu, low in enumerate(ratios)]

    def found(*ratios):
        judgement = judge("time > +5%", *rows(*ratios))
        return judgement.gpu, judgement.gpu_count, judgement.verdict

    assert found(1.0, 1.0) == (0, 2, "pass")
    assert found(1.0, 1.04) == (1, 2, "inconclusive")
    assert found(1.04, 1.0, 1.2) == (2, 3, "fail")


@pytest.mark.parametrize("window", [UNKNOWN, 0.0])
def test_a_gpu_without_work_is_not_judged(window):
    idle = without_interval(make_row(gpu=1, base=window, new=window, ratio=UNKNOWN, verdict=""))
    unused = make_share(gpu=1, new=0.0, new_low=0.0, new_high=0.0)
    found = judge("tensor_active < 30", make_row(), make_share(), idle, unused)
    assert (found.verdict, found.gpu, found.gpu_count) == ("pass", 0, 1)


def test_a_range_of_the_cpu_alone_is_judged():
    idle = without_interval(make_row(base=UNKNOWN, new=UNKNOWN, ratio=UNKNOWN, verdict=""))
    assert verdict("host_time > +5%", idle, make_row(quantity="host_ns")) == "fail"


def test_the_rows_of_a_comparison_have_what_a_gate_reads():
    assert make_row().keys() <= set(COMPARISON.names)


@pytest.mark.parametrize(
    ("recordings", "expected", "reason"),
    [
        ([{"fp32-matmul": (1, "FP32")}, {"fp32-matmul": (0, "other")}], "fail", "FP32"),
        ([{}, {"fp32-matmul": (1, "FP32")}], "inconclusive", "in 1 of 2 recordings: FP32"),
        ([{}, {"unfused-optimizer": (0, "many")}], "pass", "not found"),
    ],
)
def test_a_condition_on_a_finding(recordings, expected, reason):
    condition = parse_condition(" finding fp32-matmul", ["fp32-matmul"])
    assert condition == FindingCondition(" finding fp32-matmul", "fp32-matmul")
    found = judge_finding(condition, recordings)
    assert (found.verdict, found.reason) == (expected, reason)
    assert (name_condition(found), describe_judgement(found)) == ("finding fp32-matmul", reason)


# Exit status and text

FAIL, UNSURE, PASS = (judge(f"time > +{bound}%", make_row()) for bound in (5, 9, 15))


@pytest.mark.parametrize(
    ("judgements", "status", "strict_status"),
    [([], 0, 0), ([PASS], 0, 0), ([PASS, UNSURE], 5, 1), ([PASS, FAIL], 1, 1), ([UNSURE, FAIL], 1, 1)],
)
def test_exit_status(judgements, status, strict_status):
    gates = [Gate(tuple(judgements), strict) for strict in (False, True)]
    assert [gate.exit_status for gate in gates] == [status, strict_status]


@pytest.mark.parametrize(
    ("text", "row", "described"),
    [
        ("time > +5%", make_row(), "+10.0 %, 95 % interval +8.0 % to +12.0 %"),
        ("time > 10ms", make_row(), "11.0 ms, 95 % interval 10.9 ms to 11.1 ms"),
        ("tensor_active < -2pt", make_share(), "-5.0 points, 95 % interval -6.0 points to -4.0 points"),
        ("tensor_active < 36", make_share(), "35.0 %, 95 % interval 34.5 % to 35.5 %"),
        ("time > 10ms", without_interval(make_row()), "11.0 ms: no 95 % interval is known"),
        ("tensor_cycles > +5%", make_row(), "not recorded"),
    ],
)
def test_what_was_found_in_words(text, row, described):
    assert describe_judgement(judge(text, make_row(path="other"), row)) == described


def test_a_condition_is_named_with_what_it_leaves_open():
    assert name_condition(judge("time[step] > +5%", make_row())) == "time[step] > +5%"
    assert name_condition(judge("time > +5%", make_row())) == "time > +5% (step)"
    assert name_condition(judge("time > +5%", WHOLE, steps="")) == "time > +5% (whole capture)"
    assert name_condition(judge("time[forward] > +5%", FORWARD)) == "time[forward] > +5% (step / forward)"
    assert name_condition(judge("time[step] > +5%", make_row(), make_row(gpu=1))) == "time[step] > +5% (GPU 0)"


def test_only_recordings_of_nsys_are_repeated_by_tcprof_profile():
    gate = Gate((judge("time[step] > +5%", without_interval(make_row())),))
    advice = {recorder: view_gate(gate, recorder).advice for recorder in ("nsys", "torch", "jax")}
    assert {recorder for recorder, lines in advice.items() if "--repeat" in lines[0]} == {"nsys"}


def render_gate(judgements, strict, width, color):
    return text.render_gate(view_gate(Gate(tuple(judgements), strict)), Style(width, color))


def test_the_documented_conditions_can_be_read():
    page = DOCS.read_text()
    table = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    in_file = tomllib.loads(table[1])["tool"]["tcprof"]["gate"]["fail-if"]
    conditions = [*re.findall(r"--fail-if '(.*?)'", page), *in_file]
    assert len(conditions) >= 5
    for name, cell in re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", page, re.MULTILINE):
        conditions += [f"{name} > {bound}" for bound in re.findall(r"`(.*?)`", cell)]
    parsed = [parse_condition(text) for text in conditions]
    assert {condition.quantity for condition in parsed} == {quantity.name for quantity in CONDITIONS.values()}
