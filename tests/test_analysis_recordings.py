"""Real recordings: the figures that an independent program found in them, and exports of many versions."""

import numpy as np
import pytest

import tcprof
from tcprof.analysis import WINDOWS, analyze
from tcprof.errors import InputError
from tcprof.sources.nsys_sqlite import NsysExport


@pytest.mark.parametrize("name", ["net_amp", "cycles/net_amp", "net_amp.nsys2023", "mnist_amp"])
@pytest.mark.parametrize("window", WINDOWS)
def test_parts_of_a_recording_sum_to_the_whole(recordings, name, window):
    ranges = tcprof.read(recordings / f"{name}.sqlite", window).ranges
    by_path = ranges.set_index("path")
    depth = by_path["depth"]
    for path in by_path.index[depth > 0]:
        children = by_path[(depth == depth[path] + 1) & by_path.index.str.startswith(f"{path} / ")]
        for column in ("activity_count", "kernel_count", "kernel_ns"):
            assert children[column].sum() <= by_path.loc[path, column]
    capture, outermost = by_path.iloc[0], by_path[depth == 1]
    assert outermost["kernel_ns"].sum() <= capture["kernel_ns"]
    percentages = ranges[[name for name in ranges if name.endswith("_pct")]].to_numpy()
    assert ((percentages >= 0) & (percentages <= 100) | np.isnan(percentages)).all()


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
