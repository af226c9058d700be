"""Real recordings: the figures that an independent program found in them, and exports of many versions."""

import numpy as np
import pytest
from builders import assert_rows

import tcprof
from tcprof.analysis import WINDOWS, analyze
from tcprof.errors import InputError
from tcprof.sources.nsys_sqlite import NsysExport

# Of all steps, and of the whole recording over all its samples. Counts and times are as printed; means of ranges
# to within 5 %: that program shares a sample at a range's border by time, tcprof by the work at either side.
FIGURES = {
    "net_fp32": """
        path                       instance_count  kernel_count  gpu_ms   kernel_ms  mean    peak
        -                          1               –             –        –          0.0960  1
        epoch 0 / step             10              230           55.7712  31.2292    0.1094  1
        epoch 0 / step / backward  10              130           19.1111  18.5680    0.2883  1
        """,
    "net_tf32": """
        path                       instance_count  kernel_count  gpu_ms   kernel_ms  mean     peak
        -                          1               –             –        –          6.3903   76
        epoch 0 / step / forward   10              70            2.3296   1.7623     45.1587  76
        epoch 0 / step / backward  10              130           9.1200   4.7825     19.8480  73
        """,
    "net_amp": """
        path                       instance_count  kernel_count  gpu_ms   kernel_ms  mean     peak
        -                          1               –             –        –          2.3097   71
        epoch 0 / step             10              480           40.6674  8.0993     3.5188   71
        epoch 0 / step / forward   10              150           4.1509   1.7619     12.5561  35
        epoch 0 / step / backward  10              220           8.7427   3.4922     10.3529  71
        epoch 0 / step / copy      10              0             18.8881  0          0        0
        """,
    "net_bad": """
        path                      instance_count  kernel_count  gpu_ms  kernel_ms  mean     peak
        -                         1               –             –       –          4.5903   35
        epoch 0 / step / forward  10              150           6.7416  5.3748     16.4704  29
        """,
    "mnist_fp32": """
        path                       instance_count  kernel_count  gpu_ms    kernel_ms  mean    peak
        -                          1               –             –         –          0.3927  1
        epoch 0 / step / backward  94              2819          117.7617  23.7533    0.5278  1
        """,
    "mnist_amp": """
        path                       instance_count  kernel_count  gpu_ms    kernel_ms  mean    peak
        -                          1               –             –         –          0.5081  6
        epoch 0 / step / backward  94              4134          167.3545  17.7917    0.6853  6
        """,
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_an_independent_program(recordings, name):
    analysis = tcprof.read(recordings / f"{name}.sqlite", warm_up="all")
    ranges = analysis.ranges
    of_recording = np.average(analysis.samples["tensor_active_pct"], weights=analysis.samples.eval("end_ns - start_ns"))
    paths = [line.split("  ")[0] for line in FIGURES[name].strip().replace("\n        ", "\n").splitlines()[1:]]
    shown = ranges.set_index("path").loc[["" if path == "-" else path for path in paths]].reset_index()
    capture = shown["path"] == ""
    table = shown.assign(
        kernel_count=shown["kernel_count"].where(~capture).astype(float),
        gpu_ms=(shown["gpu_window_ns"].where(~capture) / 1e6).round(4),
        kernel_ms=(shown["kernel_ns"].where(~capture) / 1e6).round(4),
        mean=shown["tensor_active_mean_pct"].where(~capture, of_recording),
        peak=shown["tensor_active_peak_pct"],
    )
    header, *rows = FIGURES[name].strip().splitlines()
    exact = [line.rsplit(maxsplit=2)[0] for line in (header, *rows)]
    assert_rows(table, "\n".join(exact))
    means = [f"{line.split()[-2]}  {line.split()[-1]}" for line in (header, *rows)]
    assert_rows(table, "\n".join(means), rel=0.05, abs=0.02)
    assert (table["peak"] == [float(row.split()[-1]) for row in rows]).all()


def test_tensor_cycles_a_launch_agree_with_ncu(recordings):
    analysis = tcprof.read(recordings / "cycles" / "net_amp.sqlite")
    capture = analysis.ranges.iloc[0]
    assert analysis.tensor_source == "cycles"
    assert capture["kernel_count"] == 1_440
    assert round(capture["tensor_cycles"] / 1_440, 3) == 2_799_478.667
    assert round(analysis.samples["tensor_cycles"].sum() / 1_440, 3) == 2_799_478.667


def test_tensor_cycles_are_not_negative(recordings):
    """The largest count lies between 2^23 and 2^24, so that part of them were read back with a sign."""
    samples = tcprof.read(recordings / "cycles" / "net_bad.sqlite").samples
    assert samples["tensor_cycles"].min() == 0
    assert 2**23 <= samples["tensor_cycles"].max() < 2**24
    assert samples["tensor_active_pct"].between(0, 100).all()


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
