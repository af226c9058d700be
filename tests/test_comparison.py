"""Two small recordings side by side."""

import pytest
from builders import TraceBuilder, assert_rows

import tcprof
from tcprof.analysis import analyze
from tcprof.comparison import compare
from tcprof.errors import UsageError
from tcprof.frames import COMPARISON
from tcprof.trace import Trace


def steps(count, kernel_ns, value, *, inner=("forward",), gpu="NVIDIA H200"):
    """Steps of 100 µs with a kernel of the given length in each inner range, under samples of one value."""
    builder = TraceBuilder().gpu(0, gpu).recorded(duration=100_000 * count)
    for i in range(count):
        at = 100_000 * i
        builder.range("step", at, at + 80_000)
        for k, name in enumerate(inner):
            builder.range(name, at + 10_000 * k, at + 10_000 * (k + 1))
            launched = at + 10_000 * k + 1
            builder.kernel("gemm", at + 20_000 * (k + 1), at + 20_000 * (k + 1) + kernel_ns, launched=launched)
    return builder.samples([value] * 10 * count)


def analyzed(builder, folder, name="trace.sqlite", window="gpu"):
    return analyze(Trace(builder.write(folder, name)), window)


def quantity(comparison, name):
    return comparison.rows[comparison.rows["quantity"] == name].reset_index(drop=True)


def test_sums_are_compared_per_instance_and_shares_as_they_are(tmp_path):
    base, new = (
        analyzed(steps(4, 20_000, 10), tmp_path, "a.sqlite"),
        analyzed(steps(2, 10_000, 40), tmp_path, "b.sqlite"),
    )
    rows = compare(base, new).rows
    expected = """
        path            quantity                base       new        difference  ratio  base_instance_count  new_instance_count
        step / forward  host_ns                 10_000     10_000     0           1      4                    2
        step / forward  gpu_window_ns           20_000     10_000     -10_000     0.5    4                    2
        step / forward  kernel_ns               20_000     10_000     -10_000     0.5    4                    2
        step / forward  tensor_active_mean_pct  10         40         30          4      4                    2
        step / forward  tensor_active_peak_pct  10         40         30          4      4                    2
        step / forward  tensor_active_s         0.000002   0.000004   0.000002    2      4                    2
        step / forward  tensor_cycles           –          –          –           –      4                    2
        """  # noqa: E501
    assert_rows(rows[rows["path"] == "step / forward"], expected)
    capture = quantity(compare(base, new), "host_ns")
    assert_rows(capture.head(1), "path  depth  base  new\n-  0  400_000  200_000")
    assert [(n, str(d)) for n, d in rows.dtypes.items()] == [(c.name, c.dtype) for c in COMPARISON.columns]


def test_a_path_that_one_side_lacks_is_unknown_there(tmp_path):
    base = analyzed(steps(2, 10_000, 10, inner=("forward", "old")), tmp_path, "a.sqlite")
    new = analyzed(steps(2, 10_000, 10, inner=("forward", "new")), tmp_path, "b.sqlite")
    expected = """
        path            depth  base    new     difference  ratio  base_instance_count  new_instance_count
        -               0      40_000  40_000  0           1      1                    1
        step            1      20_000  20_000  0           1      2                    2
        step / forward  2      10_000  10_000  0           1      2                    2
        step / new      2      –       10_000  –           –      –                    2
        step / old      2      10_000  –       –           –      2                    –
        """
    assert_rows(quantity(compare(base, new), "kernel_ns"), expected)


def test_a_ratio_to_0_is_unknown(tmp_path):
    base = analyzed(steps(2, 10_000, 0), tmp_path, "a.sqlite")
    new = analyzed(steps(2, 10_000, 50), tmp_path, "b.sqlite")
    assert_rows(
        quantity(compare(base, new), "tensor_active_mean_pct"),
        """
        path            base  new  difference  ratio
        -               0     50   50          –
        step            0     50   50          –
        step / forward  0     50   50          –
        """,
    )


def tree(folder, name, *ranges):
    builder = TraceBuilder().gpu().samples([1, 1])
    for label, start, end in ranges:
        builder.range(label, start, end)
    return analyzed(builder, folder, name)


@pytest.mark.parametrize(
    ("base", "new", "paths"),
    [
        # new at the front, and before what the baseline begins with
        ([("a", 10, 20)], [("x", 0, 5), ("a", 10, 20)], ["", "x", "a"]),
        # new inside a range, where the baseline has nothing
        (
            [("a", 0, 10), ("b", 20, 30)],
            [("a", 0, 10), ("x", 2, 4), ("b", 20, 30)],
            ["", "a", "a / x", "b"],
        ),
        # new after a range with others in it: not between it and them
        (
            [("a", 0, 10), ("y", 2, 4), ("b", 20, 30)],
            [("a", 0, 10), ("x", 12, 14), ("b", 20, 30)],
            ["", "a", "a / y", "x", "b"],
        ),
        # a new tree at the end
        ([("a", 0, 10)], [("a", 0, 10), ("x", 20, 30), ("y", 22, 24)], ["", "a", "x", "x / y"]),
        # new twice in a row, and in another order than the baseline's
        (
            [("a", 0, 10), ("b", 20, 30)],
            [("b", 0, 10), ("x", 12, 13), ("y", 14, 15), ("a", 20, 30)],
            ["", "a", "b", "x", "y"],
        ),
        # nothing in common
        ([("a", 0, 10)], [("x", 0, 10)], ["", "x", "a"]),
        ([], [("x", 0, 10)], ["", "x"]),
        ([("a", 0, 10)], [], ["", "a"]),
    ],
)
def test_rows_are_in_the_order_of_a_tree_with_new_ones_where_they_belong(tmp_path, base, new, paths):
    sides = tree(tmp_path, "a.sqlite", *base), tree(tmp_path, "b.sqlite", *new)
    rows = quantity(compare(*sides), "host_ns")
    assert rows["path"].tolist() == paths
    swapped = quantity(compare(*sides[::-1]), "host_ns")
    assert sorted(swapped["path"]) == sorted(paths)


def test_a_name_with_the_separator_is_not_the_path_of_the_same_text(tmp_path):
    ranges = [("a", 0, 10), ("b", 2, 4), ("a / b", 20, 50)]
    sides = [tree(tmp_path, name, *ranges) for name in ("a.sqlite", "b.sqlite")]
    expected = """
        path   depth  base  new
        -      0      20_000  20_000
        a      1      10    10
        a / b  2      2     2
        a / b  1      30    30
        """
    assert_rows(quantity(compare(*sides), "host_ns"), expected)


def test_rows_of_two_gpus_stay_apart(tmp_path):
    one = TraceBuilder().gpu(0).range("a", 0, 10).samples([1, 1])
    two = TraceBuilder().gpu(0).gpu(1).range("a", 0, 10).range("b", 20, 30).samples([1, 1]).samples([2, 2], gpu=1)
    comparison = compare(analyzed(one, tmp_path, "a.sqlite"), analyzed(two, tmp_path, "b.sqlite"))
    expected = """
        gpu  path  base_instance_count  new_instance_count
        0    -     1                    1
        0    a     1                    1
        0    b     –                    1
        1    -     –                    1
        1    a     –                    1
        1    b     –                    1
        """
    assert_rows(quantity(comparison, "host_ns"), expected)


def test_a_recording_with_itself(tmp_path):
    analysis = analyzed(steps(5, 10_000, 30), tmp_path)
    comparison = compare(analysis, analysis)
    assert comparison.warnings == ()
    known = comparison.rows.dropna(subset="base")
    assert (known["difference"] == 0).all()
    assert (known["ratio"] == 1).all()
    assert comparison.base is comparison.new is analysis


def test_different_windows_cannot_be_compared(tmp_path):
    trace = steps(2, 10_000, 10).trace(tmp_path)
    with pytest.raises(UsageError, match="the baseline was analyzed over gpu windows, the other over host windows"):
        compare(analyze(trace), analyze(trace, "host"))


def test_what_makes_figures_hard_to_compare_is_said(tmp_path):
    base = steps(2, 10_000, 10).exported(nsys="2023.4.4").system("NvDriverVersion", "535.86.05")
    base.captured("GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY", "20000")
    new = (
        TraceBuilder()
        .gpu(0, "NVIDIA A100", sm_count=108)
        .exported(nsys="2025.3.2")
        .system("NvDriverVersion", "580.95.05")
        .range("other", 0, 10)
        .cycles([5, 5], sm=[10, 10])
    )
    assert compare(analyzed(base, tmp_path, "a.sqlite"), analyzed(new, tmp_path, "b.sqlite")).warnings == (
        "Different GPUs: NVIDIA H200 against NVIDIA A100. Times cannot be compared; shares only with care.",
        "Tensor Active comes from rounded percentages in the baseline and from exact cycles in the other recording.",
        "Different driver: 535.86.05 against 580.95.05.",
        "Different Nsight Systems version: 2023.4.4 against 2025.3.2.",
        "Different sampling frequency: 20 kHz against –.",
        "The recordings have no range in common: only the whole captures are compared.",
    )


def test_files_and_analyses_by_the_public_name(tmp_path):
    path = steps(2, 10_000, 10).exported().write(tmp_path)
    mixed = tcprof.compare(path, tcprof.read(path))
    assert mixed.rows.equals(tcprof.compare(str(path), str(path)).rows)
    with pytest.raises(UsageError, match="there is no window 'cpu'"):
        tcprof.compare(path, path, window="cpu")
