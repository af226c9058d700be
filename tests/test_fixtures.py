"""What real recordings show about Nsight Systems, and that exports of many versions are analyzed."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import FIXTURES

import tcprof
from tcprof.analysis import analyze
from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.samples.sampling import rounding_slack
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER, KERNEL_ORDER_DOMAIN
from tcprof.arrays import union
from tcprof.chips import find_chip
from tcprof.errors import InputError
from tcprof.frames import OPS_DOMAIN
from tcprof.nsys.schema import NVTX_PUSH_POP, NVTX_START_END
from tcprof.sources.nsys_sqlite import NsysExport
from tcprof.sources.nsys_sqlite.database import Database
from tcprof.sources.nsys_sqlite.samples import read_samples

pytestmark = pytest.mark.usefixtures("shared_reads")

NAMES = ["mnist_fp32", "mnist_amp"]
STEPS, EPOCHS = 25, 2
RENAMED = [OPS_DOMAIN, "TSL", KERNEL_ORDER_DOMAIN]  # domains whose names are not those of the recording


@pytest.fixture(params=NAMES)
def fixture(request):
    return FIXTURES / f"{request.param}.sqlite"


def exact_and_rounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """Tensor Active of each sample from cycles, and as nsys's whole percentage."""
    database = Database(path)
    gpus = NsysExport(path).gpus()
    exact = read_samples(database, gpus, ("tensor_active_pct",))
    chip = find_chip("GH100")
    without_cycles = replace(chip, metrics={**chip.metrics, "tensor_cycles": ()})
    monkeypatch.setattr("tcprof.sources.nsys_sqlite.readings.find_chip", lambda name: without_cycles)
    rounded = read_samples(database, gpus, ("tensor_active_pct",))
    assert (exact.tensor_source, rounded.tensor_source) == ("cycles", "rounded")
    assert exact.frame["start_ns"].equals(rounded.frame["start_ns"])
    return tuple(samples.frame["tensor_active_pct"].to_numpy() for samples in (exact, rounded))


def test_percentages_are_rounded_to_the_nearest_but_never_down_to_0(fixture, monkeypatch):
    exact, rounded = exact_and_rounded(fixture, monkeypatch)
    below, above = rounding_slack(rounded)
    jitter = 0.02  # the two counters are not read at the same instant
    assert (exact >= rounded - below - jitter).all()
    assert (exact <= rounded + above + jitter).all()
    assert ((rounded == 0) == (exact == 0)).all()
    small = (exact > 0) & (exact < 0.5)
    assert small.sum() > 100
    assert (rounded[small] == 1).all()


def test_not_always_rounded_up(monkeypatch):
    exact, rounded = exact_and_rounded(FIXTURES / "mnist_amp.sqlite", monkeypatch)
    assert (rounded[exact > 1] < exact[exact > 1]).mean() > 0.2


def test_samples_begin_at_their_time_stamp(fixture):
    """GR Active goes with the time under activities, if a sample begins at its time stamp; not if it ends there."""
    analysis = tcprof.read(fixture)
    busy = analysis.activities
    zeros = np.zeros(len(busy), dtype=np.int64)
    _, start, end = union(zeros, busy["start_ns"].to_numpy(), busy["end_ns"].to_numpy())
    work = StepFunction(start, end, np.ones(len(start)))
    samples = analysis.samples[(analysis.samples["start_ns"] > start[0]) & (analysis.samples["end_ns"] < end[-1])]
    low, high = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    period = int(np.median(high - low))
    active = samples["gr_active_pct"].to_numpy()
    begins = np.corrcoef(work.integral(low, high), active)[0, 1]
    ends = np.corrcoef(work.integral(low - period, high - period), active)[0, 1]
    assert begins > 0.9
    assert begins > ends + 0.1


def test_every_step_is_there_and_half_of_the_work_is_inherited(fixture):
    analysis = tcprof.read(fixture, warm_up="all")
    rows = analysis.ranges.set_index("path")
    for epoch in range(EPOCHS):
        for name in ("", " / copy", " / forward", " / backward", " / optimizer"):
            assert rows.loc[f"epoch {epoch} / step{name}", "instance_count"] == STEPS
        backward, step = rows.loc[f"epoch {epoch} / step / backward"], rows.loc[f"epoch {epoch} / step"]
        assert 0.9 * backward["activity_count"] < backward["inherited_count"] <= backward["activity_count"]
        assert backward["inherited_count"] == step["inherited_count"] > 0.3 * step["activity_count"]
    assert not any("belongs to no range" in warning for warning in analysis.warnings)


def test_ranges_count_every_instance_but_those_in_warm_up(fixture_file):
    report = tcprof.read(fixture_file)
    warm_up = report.nvtx_ranges.iloc[
        report.steps["range"][report.steps["warm_up"] & (report.steps["path"] != KERNEL_ORDER)]
    ]
    with closing(sqlite3.connect(fixture_file)) as export:
        recorded = pd.read_sql(
            'SELECT COALESCE(text, value) AS name, start, "end" FROM NVTX_EVENTS '
            "LEFT JOIN StringIds ON textId = id WHERE eventType IN (?, ?)",
            export,
            params=(NVTX_PUSH_POP, NVTX_START_END),
        )
    inside = [
        recorded["start"].ge(start) & recorded["end"].le(end)
        for start, end in warm_up[["start_ns", "end_ns"]].to_numpy()
    ]
    counted = recorded[~np.logical_or.reduce(inside)] if inside else recorded
    rows = report.ranges[(report.ranges["depth"] > 0) & ~report.ranges["domain"].isin(RENAMED)]
    actual = rows.groupby("name")["instance_count"].sum()
    expected = counted["name"].value_counts().reindex(actual.index, fill_value=0)
    assert actual.to_dict() == expected.to_dict()
    assert (report.ranges["slow_count"] <= report.ranges["instance_count"]).all()


def test_parts_sum_to_the_whole(fixture):
    for window in ("gpu", "host", "busy"):
        rows = tcprof.read(fixture, window).ranges
        figures = rows[[name for name in rows.columns if name.endswith("_pct")]]
        assert figures.min(axis=None) >= 0
        assert figures.max(axis=None) <= 100
        for epoch in range(EPOCHS):
            inside = rows[rows["path"].str.startswith(f"epoch {epoch} / step / ")]
            step = rows[rows["path"] == f"epoch {epoch} / step"].iloc[0]
            for count in ("kernel_count", "kernel_ns", "activity_count", "inherited_count"):
                assert inside[count].sum() == step[count]
    rows = tcprof.read(fixture).ranges
    capture, epochs = rows[rows["path"] == ""].iloc[0], rows[rows["depth"] == 1]
    # Sampling goes on for a while after the capture range, and whatever runs then is sampled but not traced.
    assert 0.9 * capture["tensor_cycles"] < epochs["tensor_cycles"].sum() <= capture["tensor_cycles"]


def test_mixed_precision_reaches_the_tensor_cores():
    means = pd.Series(
        {name: tcprof.read(FIXTURES / f"{name}.sqlite").ranges["tensor_active_mean_pct"].iloc[0] for name in NAMES}
    )
    assert means["mnist_fp32"] < 0.1
    assert means["mnist_amp"] > 3 * means["mnist_fp32"]


@pytest.mark.usefixtures("shared_reads")
def test_no_mean_is_above_its_peak(fixture_file):
    """Samples that a window cuts are shared among launches, of which it may hold those with most."""
    ranges = tcprof.read(fixture_file).ranges
    assert not (ranges["tensor_active_mean_pct"] > ranges["tensor_active_peak_pct"]).any()


def test_every_export_of_the_corpus_is_analyzed_or_refused(corpus_file):
    try:
        analysis = analyze(NsysExport(corpus_file))
    except InputError as error:
        assert corpus_file.name in str(error)  # noqa: PT017 - either is right
        return
    assert (analysis.ranges["depth"] == 0).any()
    assert analysis.ranges["kernel_ns"].ge(0).all()
