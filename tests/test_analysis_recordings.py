"""Real recordings: the figures that an independent program found in them, and exports of many versions."""

import pytest

import tcprof
from tcprof.analysis import analyze
from tcprof.errors import InputError
from tcprof.sources.nsys_sqlite import NsysExport


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
