"""The same figures in all outputs of a recording: verdict, ranges, timeline, comparison with itself, JSON."""

import re

import pytest
from builders import TraceBuilder
from report_inputs import summarize

import tcprof
from tcprof.api.reading import Report
from tcprof.units import format_ns, format_pct
from tcprof.views.document import Medium
from tcprof.views.recording.advice import describe_savings
from tcprof.views.recording.ranges import list_ranges
from tcprof.views.recording.show import view_recording
from tcprof.views.tables import Table

pytestmark = pytest.mark.usefixtures("shared_reads")


@pytest.fixture(scope="module")
def read_once():
    reports: dict[str, Report] = {}
    return lambda path: reports[path.name] if path.name in reports else reports.setdefault(path.name, tcprof.read(path))


def steady_rows(analysis, frame):
    """The rows of the paths whose steps count, or of the whole capture where none iterates."""
    steps = analysis.steps
    paths = steps["path"][steps["counted"]].unique().tolist() or [""]
    return frame[frame["path"].isin(paths)]


def test_verdict_figures_and_tables_agree(fixture_file, read_once):
    analysis = read_once(fixture_file).analysis
    (gpu,) = summarize(analysis)
    said, figures = " ".join(gpu.verdict), {each.title: each.value for each in gpu.figures}
    rows, time = steady_rows(analysis, analysis.ranges), steady_rows(analysis, analysis.timeline)
    covered = rows["window_ns"] * rows["coverage_pct"]
    mean, idle = (rows["tensor_active_mean_pct"] * covered).sum() / covered.sum(), time["idle_ns"].sum()
    window = time["window_ns"].sum()
    idle_pct = 100 * idle / window
    if len(analysis.step_summary):  # steps are longer than their windows by what lies between them
        (step,) = analysis.step_summary.to_dict("records")
        assert step["window_active_pct"] == pytest.approx(mean, rel=1e-6)
        assert step["total_ns"] >= window
        assert step["idle_ns"] - idle <= step["total_ns"] - window + 1
        mean, idle_pct = step["tensor_active_mean_pct"], 100 * step["idle_ns"] / step["total_ns"]
    assert f"The Tensor Cores were busy {format_pct(mean)} of the " in said
    assert figures["Tensor Active"] == format_pct(mean)
    assert re.search(r"GPU idle ([<\d.]+ %)", said)[1] == figures["GPU idle"] == format_pct(idle_pct)
    (table,) = list_ranges(analysis, analysis.ranges)
    shown = [
        row.cells[1].text
        for row, path in zip(table.rows, analysis.ranges["path"], strict=True)
        if path in set(rows["path"])
    ]
    assert shown == [format_pct(value) for value in rows["tensor_active_mean_pct"]]


def test_ranges_timeline_and_comparison_have_one_base(fixture_file, read_once):
    report = read_once(fixture_file)
    analysis = report.analysis
    keys = ["gpu", "domain", "path"]
    ranges, timeline = analysis.ranges.set_index(keys), analysis.timeline.set_index(keys)
    count = ranges["instance_count"] - ranges["slow_count"]
    assert timeline["instance_count"].equals(count.rename("instance_count").reindex(timeline.index))
    assert timeline["window_ns"].to_numpy() == pytest.approx(
        ranges["gpu_window_ns"].reindex(timeline.index).fillna(0).to_numpy()
    )
    rows = tcprof.compare(report, report).rows
    assert ((rows["base"] == rows["new"]) | rows["base"].isna()).all()
    # Paths that differ in a number alone are one place of a comparison: epoch * / step.
    known = rows[~rows["path"].str.contains("*", regex=False)].drop_duplicates(keys).set_index(keys)
    assert known["base_instance_count"].to_dict() == count.reindex(known.index).to_dict()
    merged = rows[rows["path"].str.endswith("* / step")].drop_duplicates(keys)["base_instance_count"]
    assert merged.empty or merged.tolist() == [count[ranges["name"] == "step"].sum()]
    capture = rows[rows["path"] == ""].set_index("quantity")["base"]
    whole = analysis.ranges.iloc[0]
    for quantity in ("host_ns", "gpu_window_ns", "kernel_ns", "tensor_active_mean_pct", "tensor_active_s"):
        assert capture[quantity] == pytest.approx(whole[quantity], nan_ok=True)
    peaks = rows[rows["quantity"] == "tensor_active_peak_pct"].set_index(keys)["base"].reindex(known.index)
    assert peaks.to_numpy() == pytest.approx(ranges["tensor_active_peak_pct"].reindex(peaks.index), nan_ok=True)


def test_savings_are_of_the_mean_step(fixture_file, read_once):
    """Recording makes no step shorter, and what the savings are said to be of is what each is of."""
    report = read_once(fixture_file)
    analysis = report.analysis
    known = [each.gain.step_ns for each in report.advice if each.gain.is_known]
    said = " ".join(describe_savings(analysis, report.advice))
    for step in analysis.step_summary.to_dict("records"):
        mean_ns = step["total_ns"] / step["step_count"]
        assert all(length <= mean_ns for length in known)
        assert not known or all(format_ns(length) in said for length in (*known, mean_ns))


def test_means_of_the_instances_are_those_of_their_path(fixture_file, read_once):
    """Over the instances that count, weighted by what is covered, the mean is that of the row."""
    analysis = read_once(fixture_file).analysis
    counted = analysis.instances[~analysis.instances["left_out"] & analysis.instances["tensor_active_s"].notna()]
    for path_id, of_path in counted.groupby("path_id"):
        row = analysis.ranges[
            (analysis.ranges["path"] == analysis.paths["path"][path_id])
            & (analysis.ranges["domain"] == analysis.paths["domain"][path_id])
        ].iloc[0]
        windows = of_path["gpu_end_ns"] - of_path["gpu_start_ns"]
        if windows.sum() == row["window_ns"]:  # else instances overlap, and their common time counts once
            covered = (windows * of_path["coverage_pct"]).sum() * 1e-11
            mean = 100 * of_path["tensor_active_s"].sum() / covered
            assert mean == pytest.approx(row["tensor_active_mean_pct"])


def test_the_whole_capture_has_one_length(fixture_file, read_once):
    analysis = read_once(fixture_file).analysis
    whole, time = analysis.ranges.iloc[0], analysis.timeline.iloc[0]
    length = analysis.activities["end_ns"].max() - analysis.activities["start_ns"].min()
    assert {length} == {whole["host_ns"], whole["gpu_window_ns"], whole["window_ns"], time["window_ns"]}
    covered_s = whole["window_ns"] * 1e-9 * whole["coverage_pct"] / 100
    assert whole["tensor_active_mean_pct"] / 100 * covered_s == pytest.approx(whole["tensor_active_s"])
    sampled = analysis.samples["tensor_active_pct"] * (analysis.samples["end_ns"] - analysis.samples["start_ns"])
    both = whole["tensor_active_s"] + analysis.outside["tensor_active_s"].iloc[0]
    assert both == pytest.approx(sampled.sum() * 1e-11, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("ranges", [("step", "forward"), ("step",), ()], ids=["inner", "no inner", "detected"])
def test_ranges_per_step_are_divided_by_the_steps(ranges, tmp_path):
    builder = TraceBuilder().gpu()
    for start in range(0, 800_000, 100_000):
        for number, name in enumerate(ranges):
            builder.range(name, start + 10 * number, start + 90_000 - 10 * number)
        for place, name in enumerate(("gemm", "relu", "softmax", "adam")):
            begin = start + 1_000 + 15_000 * place
            builder.kernel(name, begin, begin + 10_000, launched=start + 100 + place)
    report = tcprof.read(builder.write(tmp_path))
    (table,) = (
        part
        for part in view_recording(report.analysis, report.findings, report.advice).shown_on(Medium.SCREEN)
        if isinstance(part, Table) and part.first.startswith("Range")
    )
    steps = report.ranges[report.ranges["path"].isin(report.steps["path"])].iloc[0]
    assert table.first == "Range (mean per step)"
    assert table.rows[0].cells[0].text.startswith(format_ns(steps["gpu_window_ns"] / len(report.steps)))
