"""The gaps of a GPU: their causes, and that their sums are the idle time of every other output."""

import numpy as np
import pytest
from builders import MS, US, TraceBuilder

import tcprof
from tcprof.analysis.gaps import (
    COPY_WAIT,
    CPU_WORK,
    DATA_LOADING,
    LAUNCH_BOUND,
    LAUNCHED,
    SYNCHRONIZATION,
    UNKNOWN,
    find_savings,
)
from tcprof.analysis.host import GPU_SIDE, LAUNCHES, WAITS, WORK
from tcprof.findings.pricing.step import measure_step
from tcprof.frames import GAP_SUMS, GAPS

pytestmark = pytest.mark.usefixtures("shared_reads")

PRICED = {
    LAUNCHES: [LAUNCH_BOUND],
    WAITS: [SYNCHRONIZATION, COPY_WAIT],
    WORK: [DATA_LOADING, CPU_WORK],
    GPU_SIDE: [LAUNCHED, UNKNOWN],
}


def test_sums_are_the_idle_time_of_the_capture_the_steps_and_the_prices(fixture_file):
    report = tcprof.read(fixture_file)
    gaps, sums = report.gaps, report.gap_sums
    assert not GAPS.find_invalid(gaps)
    assert not GAP_SUMS.find_invalid(sums)
    long = sums[~sums["short"]].groupby("gpu")["gap_count"].sum()
    assert long.reindex(sums["gpu"].unique(), fill_value=0).sum() == len(gaps)
    longest = sums[sums["longest_gap"] > 0].merge(gaps, left_on=["gpu", "longest_gap"], right_on=["gpu", "number"])
    assert (sums["longest_gap"] == 0).tolist() == sums["short"].tolist()
    assert longest["path_x"].tolist() == longest["path_y"].str.replace(r"\d+", "*", regex=True).tolist()
    assert (longest["longest_ns"] <= longest["end_ns"] - longest["start_ns"]).all()
    of_steps = longest["saving_ns_x"] > 0
    assert (longest.loc[of_steps, "saving_ns_y"] > 0).all(), "the longest is none of warm-up"
    for gpu, of_gpu in sums.groupby("gpu"):
        capture, step = report.analysis.whole_capture(int(gpu)).iloc[0], measure_step(report.analysis, int(gpu))
        assert step is not None
        mine, named = gaps[gaps["gpu"] == gpu], of_gpu[~of_gpu["short"]].set_index("longest_gap")
        saving = find_savings(mine, of_gpu).set_axis(mine["number"])
        assert (saving.to_numpy() >= mine["saving_ns"].to_numpy() - 1).all()
        of_cause = named["cause"].to_numpy() == mine.set_index("number")["cause"].reindex(named.index).to_numpy()
        assert saving.reindex(named.index)[of_cause].tolist() == named.loc[of_cause, "saving_ns"].tolist()
        assert of_gpu["total_ns"].sum() == capture["gpu_window_ns"] - capture["busy_ns"]
        assert of_gpu["saving_ns"].sum() == pytest.approx(step.idle_ns)
        assert of_gpu["share_pct"].sum() == pytest.approx(100 * step.idle_ns / step.length_ns)
        priced = {name: of_gpu.loc[of_gpu["cause"].isin(causes), "saving_ns"].sum() for name, causes in PRICED.items()}
        assert priced == pytest.approx(dict(step.host.idle_ns), abs=1)
        summary = report.step_summary[report.step_summary["gpu"] == gpu]
        for row in summary.itertuples():
            assert of_gpu["saving_ns"].sum() == pytest.approx(row.idle_ns / row.step_count)


def test_a_gap_is_the_time_between_two_activities(fixture_file):
    report = tcprof.read(fixture_file)
    work = report.activities
    for gap in report.gaps.iloc[:: max(len(report.gaps) // 20, 1)].itertuples():
        others = work[work["gpu"] == gap.gpu]
        assert not ((others["start_ns"] < gap.end_ns) & (others["end_ns"] > gap.start_ns)).any()
        assert gap.start_ns in set(others["end_ns"])
        assert (work["gpu"].iloc[gap.activity], work["start_ns"].iloc[gap.activity]) == (gap.gpu, gap.end_ns)
        assert np.isnan(gap.launched_ns) or gap.launched_ns <= gap.end_ns


def make_steps(*, wait: int = 0, name: str = "data") -> TraceBuilder:
    """Eight steps of 10 ms with gaps of 50 µs, 700 µs and, up to the next step, 8.25 ms."""
    builder = TraceBuilder()
    for number, at in enumerate(builder.steps(8, 10 * MS, 2 * MS)):
        builder.range("forward", at, at + 400 * US)
        builder.kernel("gemm", at + 10 * US, at + 110 * US, launched=at)
        builder.kernel("gemm", at + 160 * US, at + 260 * US, launched=at + 150 * US)
        if wait:
            builder.launch(at + 170 * US, 1000 + number, returned=at + wait, name="cudaStreamSynchronize_v3020")
        builder.range(name, at + 410 * US, at + 940 * US)
        builder.kernel("gemm", at + 960 * US, at + 1760 * US, launched=at + 950 * US)
    return builder


@pytest.mark.parametrize(
    ("builder", "cause", "path", "wait"),
    [
        (make_steps(), DATA_LOADING, "step / data", ""),
        (make_steps(name="logging"), CPU_WORK, "step / logging", ""),
        (make_steps(wait=900 * US), SYNCHRONIZATION, "step / forward", "cudaStreamSynchronize"),
    ],
    ids=["data", "work", "wait"],
)
def test_a_gap_has_the_cause_of_the_prices_and_the_range_of_the_cpu(builder, cause, path, wait, tmp_path):
    gaps = tcprof.read(builder.write(tmp_path), warm_up=0).gaps
    first, second, third = (row for _, row in gaps.head(3).iterrows())
    assert len(gaps) == 3 * 8 - 1
    assert (first["cause"], first["path"], first["end_ns"] - first["start_ns"]) == (
        LAUNCH_BOUND,
        "step / forward",
        50 * US,
    )
    assert first["launched_ns"] == 150 * US
    assert (second["cause"], second["path"], second["wait"]) == (cause, path, wait)
    assert list(gaps["number"]) == list(range(1, len(gaps) + 1))
    assert list(gaps["step"].head(4)) == [0, 0, 0, 1]
    assert list(gaps["between_steps"].head(4)) == [False, False, True, False]
    assert (third["cause"], third["path"]) == (CPU_WORK, "")
    assert second["saving_ns"] == pytest.approx(700 * US / 8)


def test_a_wait_before_long_work_counts_for_both_in_the_sums(tmp_path):
    report = tcprof.read(make_steps(wait=460 * US).write(tmp_path), warm_up=0)
    sums = report.gap_sums.set_index("cause")
    assert sums.loc[DATA_LOADING, "saving_ns"] == pytest.approx(500 * US)
    assert sums.loc[SYNCHRONIZATION, "saving_ns"] == pytest.approx(200 * US)
    assert (sums.loc[DATA_LOADING, "gap_count"], sums.loc[SYNCHRONIZATION, "gap_count"]) == (8, 0)


def test_without_launches_the_cause_of_a_gap_is_unknown(tmp_path):
    builder = TraceBuilder()
    for number in range(4):
        builder.kernel("gemm", number * MS, number * MS + 500 * US)
    gaps = tcprof.read(builder.write(tmp_path)).gaps
    assert set(gaps["cause"]) == {UNKNOWN}
    assert gaps["launched_ns"].isna().all()
