"""CUDA graphs recorded as a whole on one side: what they hide is neither new nor removed."""

import re

import numpy as np
import pytest
from builders import TraceBuilder, analyzed

from tcprof.comparison import compare
from tcprof.comparison.gate import judge_condition, parse_condition
from tcprof.comparison.statistics.rows import WHOLE_GRAPHS
from tcprof.findings.compared import judge_comparison

STEP = 200_000
GEMM, ADD = "sm80_xmma_gemm_f32f32_f32f32_f32", "at::native::vectorized_elementwise_kernel<add>"


def steps(
    *,
    whole,
    count=12,
    inside=((GEMM, 40_000), (ADD, 20_000)),
    outside=(("memory_efficient_attention", 30_000),),
    length=STEP,
):
    """Steps with kernels launched one by one, then some in a graph, which is recorded as a whole or not."""
    builder = TraceBuilder().gpu().recorded(duration=length * count)
    for at in builder.steps(count, length, length - 1000):
        start = at + 5_000
        for place, (name, taken) in enumerate(outside):
            builder.kernel(name, start, start + taken, launched=at + 10 + place)
            start += taken
        if whole:
            builder.graph(start, start + sum(taken for _, taken in inside), launched=at + 1000)
        else:
            for place, (name, taken) in enumerate(inside):
                builder.kernel(name, start, start + taken, launched=at + 1000 + place)
                start += taken
    return builder.samples([40] * (length // 10_000) * count)


def parts(comparison):
    rows = comparison.waterfall[comparison.waterfall["quantity"] == "time_ns"]
    return {row["part"]: (row["base"], row["new"]) for row in rows.to_dict("records") if row["base"] or row["new"]}


def test_kernels_that_became_a_graph_are_neither_new_nor_removed(tmp_path):
    comparison = compare(*(analyzed(steps(whole=whole), tmp_path, f"{whole}.sqlite") for whole in (False, True)))
    found = parts(comparison)
    assert not {"new kernels", "removed kernels"} & set(found)
    assert found["kernels hidden in CUDA graphs"] == (60_000, 60_000)
    assert found["same kernels"] == (30_000, 30_000)
    total = comparison.waterfall[comparison.waterfall["quantity"] == "time_ns"]
    assert total["base"].iloc[1:].sum() == total["base"].iloc[0]
    assert set(comparison.matching.changes["status"]) == {"same", "hidden"}
    assert "CUDA graphs" in " ".join(judge_comparison(comparison).warnings)


@pytest.mark.slow
def test_a_change_that_may_be_chance_is_one_line_and_a_warning_names_the_remedy(tmp_path):
    found = judge_comparison(compare_with_longer_graphs(80_000, tmp_path))
    (verdict,) = found.verdict
    assert re.search(r"Inconclusive: 1\.40x .* 200 µs → 280 µs\.$", verdict)
    assert "--cuda-graph-trace node" in " ".join(found.warnings)


def compare_with_longer_graphs(longer, folder):
    """Of kernels launched one by one with graphs, in which one takes so many ns longer."""
    base = analyzed(steps(whole=False), folder, "a.sqlite")
    inside = ((GEMM, 40_000 + longer), (ADD, 20_000))
    return compare(base, analyzed(steps(whole=True, inside=inside, length=STEP + longer), folder, "b.sqlite"))


@pytest.mark.slow
def test_kernels_that_a_graph_hides_are_not_counted(tmp_path):
    eager, whole = (analyzed(steps(whole=each), tmp_path, f"{each}.sqlite") for each in (False, True))
    comparison = compare(eager, whole)
    rows = comparison.rows[comparison.rows["path"] == "step"].set_index("quantity")
    for name in ("kernel_count", "kernel_ns", "idle_ns", "tensor_kernel_share_pct"):
        row = rows.loc[name]
        assert (row["verdict"], row["mean_verdict"], row["not_judged"]) == ("", "", WHOLE_GRAPHS)
        assert np.isnan([row["p_value"], row["ratio_low"], row["mean_ratio_low"]]).all()
    assert rows.loc["gpu_window_ns", "verdict"] in ("=", "~")
    for name in ("kernel_count", "kernel_time"):
        judged = judge_condition(parse_condition(f"{name} > +5%"), comparison.rows, "step")
        assert (judged.verdict, judged.reason) == ("inconclusive", WHOLE_GRAPHS)
    words = " ".join(judge_comparison(comparison).verdict)
    assert "launches" not in words
    same = compare(whole, whole).rows
    both = same[same["path"] == "step"].set_index("quantity")
    assert both.loc["kernel_count", "verdict"] == ""  # what changed within the graphs is not known
    assert both.loc["kernel_ns", "verdict"] == "="
