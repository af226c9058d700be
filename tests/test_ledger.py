"""What the figures rest on: every account is split without a rest; and what the fit says about ranges."""

import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from builders import TraceBuilder

import tcprof
from tcprof.findings import judge

pytestmark = pytest.mark.usefixtures("shared_reads")

NVJET = "nvjet_hsh_128x128_64x4_1x2_h_bz_NNT"  # float16 by wgmma: 1024 FLOP a cycle on GH100
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>>(int)"


def step_trace(name: str = NVJET, cycles: int = 3_000_000) -> TraceBuilder:
    """Eight steps of a tensor kernel and one without tensor work, idle time around them, and cycles before."""
    trace = TraceBuilder().gpu()
    tensor = [500] + 130 * [0]
    for number in range(8):
        start = 100_000 + 150_000 * number
        trace.range("step", start, start + 10)
        trace.kernel(name, start + 10_000, start + 40_000, launched=start + 1)
        trace.kernel(ELEMENTWISE, start + 60_000, start + 90_000, launched=start + 2)
        for sample in range(1, 4):
            tensor[start // 10_000 + sample] = cycles // 3
    clock = [132 * 19_800] * len(tensor)
    return trace.cycles(tensor, sm=clock, period=10_000)


def entries(analysis: "tcprof.Analysis", account: str) -> dict[str, float]:
    rows = analysis.ledger[(analysis.ledger["account"] == account) & (analysis.ledger["seconds"] != 0)]
    return dict(zip(rows["entry"], rows["share_pct"], strict=True))


def test_tensor_active_time_by_where_it_is(tmp_path):
    analysis = tcprof.read(step_trace().write(tmp_path))
    total = 8 * 3_000_000 + 500
    assert entries(analysis, "sampled tensor-active time") == {
        "fitted to kernels": pytest.approx(100 * 24_000_000 / total),
        "sampled before or after the trace": pytest.approx(100 * 500 / total),
    }
    assert entries(analysis, "kernel time") == {"resolved": 100}


def test_tensor_work_that_nobody_launched_is_under_no_kernel(tmp_path):
    """As where another process uses the GPU."""
    trace = TraceBuilder().gpu().range("step", 0, 10)
    trace.kernel(NVJET, 10_000, 20_000, launched=1).kernel(NVJET, 80_000, 90_000, launched=2)
    trace.cycles([0, 6000, 0, 0, 3000, 0, 0, 0, 6000, 0], sm=[10_000] * 10, period=10_000)
    found = entries(tcprof.read(trace.write(tmp_path)), "sampled tensor-active time")
    assert found == {"fitted to kernels": pytest.approx(80), "while no kernel ran": pytest.approx(20)}


def test_activity_time_by_cause(tmp_path):
    trace = TraceBuilder().gpu().range("step", 0, 1_000)
    trace.kernel("a", 2_000, 8_000, launched=10).kernel("b", 9_000, 12_000, launched=5_000).kernel("c", 13_000, 14_000)
    analysis = tcprof.read(trace.write(tmp_path))
    assert entries(analysis, "activity time") == {
        "in a range": pytest.approx(60),
        "no range was open": pytest.approx(30),
        "no launch recorded": pytest.approx(10),
    }
    assert entries(analysis, "kernel time") == {"estimated from kernel names": 100}
    remedies = analysis.ledger.set_index("entry")["remedy"]
    assert remedies["in a range"] == ""
    assert "--trace=cuda,nvtx" in remedies["no launch recorded"]
    assert "tcprof profile" in remedies["estimated from kernel names"]


def test_accounts_add_up_in_every_fixture(fixture_file):
    analysis = tcprof.read(fixture_file)
    sums = analysis.ledger.groupby("account")["seconds"].sum()
    activities, samples = analysis.activities, analysis.samples
    assert sums["activity time"] == pytest.approx((activities["end_ns"] - activities["start_ns"]).sum() * 1e-9)
    assert sums["kernel time"] == pytest.approx(analysis.kernels["total_ns"].sum() * 1e-9)
    active = samples["tensor_active_pct"] / 100 * (samples["end_ns"] - samples["start_ns"])
    assert sums["sampled tensor-active time"] == pytest.approx(active.sum() * 1e-9)
    assert (analysis.ledger["seconds"] >= -1e-12).all()


def test_flop_and_share_of_tensor_kernels(tmp_path):
    analysis = tcprof.read(step_trace().write(tmp_path))
    step = analysis.ranges[analysis.ranges["path"] == "step"].iloc[0]
    assert step["tensor_kernel_share_pct"] == pytest.approx(50)
    assert step["tensor_flop"] == pytest.approx(8 * 3_000_000 * 1024)
    seconds = 8 * 80_000 * 1e-9  # of the GPU windows
    assert step["tensor_tflops"] == pytest.approx(step["tensor_flop"] / seconds * 1e-12)
    # In 10 µs each pipe, 4 of each SM, has 19,800 cycles; at the peak, each cycle is 1024 FLOP.
    peak = 4 * 132 * 19_800 * seconds * 1e5 * 1024
    assert step["tensor_peak_pct"] == pytest.approx(100 * step["tensor_flop"] / peak, rel=1e-3)


def test_flop_of_a_kernel_with_an_unknown_rate_is_unknown(tmp_path):
    analysis = tcprof.read(step_trace("my_own_gemm").write(tmp_path))
    step = analysis.ranges[analysis.ranges["path"] == "step"].iloc[0]
    assert step["tensor_kernel_share_pct"] == 0  # at 9.6 % Tensor Active: index arithmetic may reach that
    assert math.isnan(step["tensor_flop"])
    assert math.isnan(step["tensor_tflops"])
    assert math.isnan(step["tensor_peak_pct"])


def test_what_a_whole_graph_holds_is_unknown(tmp_path):
    trace = TraceBuilder().gpu().range("step", 0, 10).graph(10_000, 40_000, launched=1)
    trace.kernel(NVJET, 60_000, 70_000, launched=2).samples([0, 50, 50, 50, 0, 0, 80, 0], period=10_000)
    ranges = tcprof.read(trace.write(tmp_path)).ranges
    assert ranges["tensor_kernel_share_pct"].isna().all()


def test_ranges_add_up_in_every_fixture(fixture_file):
    """What the outermost ranges hold, and what lies in none, is what the capture holds."""
    analysis = tcprof.read(fixture_file, warm_up="all")
    capture = analysis.ranges[analysis.ranges["depth"] == 0].iloc[0]
    outermost = analysis.ranges[analysis.ranges["depth"] == 1]
    domain = outermost.loc[outermost["kernel_ns"].idxmax(), "domain"] if len(outermost) else ""
    ranges = analysis.ranges[analysis.ranges["domain"] == domain]
    of_domain = analysis.paths.index[analysis.paths["domain"] == domain]
    outside = (
        analysis.kernel_instances[~analysis.kernel_instances["path_id"].isin(of_domain)]["tensor_active_ns"].sum()
        * 1e-9
    )
    inside = ranges[ranges["depth"] == 1]["fitted_active_s"].sum()
    assert inside + outside == pytest.approx(capture["fitted_active_s"])
    assert not (ranges["tensor_kernel_share_pct"] > 100).any()  # of a graph recorded as a whole it is unknown


def test_a_fit_that_resolves_little_gives_no_more_than_was_sampled(tmp_path):
    """CUDA graphs of a damaged recording, which all begin with the first."""
    copy = tmp_path / "graphs.sqlite"
    shutil.copy(Path(__file__).parent.parent / "fixtures" / "jax_mlp.sqlite", copy)
    with closing(sqlite3.connect(copy)) as connection:
        table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
        connection.execute("DELETE FROM GPU_METRICS WHERE timestamp > (SELECT avg(timestamp) FROM GPU_METRICS)")
        connection.execute(f'UPDATE {table} SET "start" = (SELECT min("start") FROM {table})')  # noqa: S608
        connection.commit()
    shares = tcprof.read(copy).ledger["share_pct"]
    assert shares.between(0, 100 + 1e-9).all()


def test_what_was_not_sampled_is_not_counted_as_fitted(tmp_path):
    """Kernels in a gap are given what their like have elsewhere, but the ledger is about what was sampled."""
    copy = tmp_path / "gap.sqlite"
    shutil.copy(Path(__file__).parent.parent / "fixtures" / "mnist_amp.sqlite", copy)
    with closing(sqlite3.connect(copy)) as connection:
        first, last = connection.execute("SELECT min(timestamp), max(timestamp) FROM GPU_METRICS").fetchone()
        gap = (first + 0.50 * (last - first), first + 0.65 * (last - first))
        connection.execute("DELETE FROM GPU_METRICS WHERE timestamp BETWEEN ? AND ?", gap)
        connection.commit()
    found = entries(tcprof.read(copy), "sampled tensor-active time")
    assert found["fitted to kernels"] == pytest.approx(100, abs=0.5)
    assert all(share >= -0.5 for share in found.values())


def test_start_up_is_an_account_of_its_own(tmp_path):
    """As copies of a model before the first step; what lies between steps is another matter."""
    trace = (
        step_trace()
        .kernel("load", 10_000, 40_000, launched=5_000)
        .kernel("save", 1_400_000, 1_410_000, launched=1_390_000)
    )
    report = tcprof.read(trace.write(tmp_path))
    assert entries(report, "activity time") == {
        "in a range": pytest.approx(100 * 480 / 520),
        "before the first step": pytest.approx(100 * 30 / 520),
        "after the last step": pytest.approx(100 * 10 / 520),
    }
    assert not [text for text in report.warnings if "belongs to no range" in text]
    (remark,) = (text for text in report.warnings if "before the first step" in text)
    assert "5.8 % before the first step (1 activity) and 1.9 % after the last step (1 activity)" in remark
    (check,) = (check for check in judge(report.analysis).checks if check.name == "Work in ranges")
    assert (check.state, check.sentence) == ("good", "100.0 % of the GPU's time from the first step to the last")


def test_work_of_no_range_between_steps_is_a_caution(tmp_path):
    trace = step_trace().kernel("lonely", 215_000, 245_000, launched=212_000)
    analysis = tcprof.read(trace.write(tmp_path))
    assert "no range was open" in entries(analysis, "activity time")
    assert [text for text in analysis.warnings if "belongs to no range" in text]
