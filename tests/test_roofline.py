"""The roofline and time against Tensor Active: kernels of known work in their places, under roofs of known height."""

import builtins
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from builders import TraceBuilder
from plotly_figures import as_plotly
from report_inputs import make_empty, render_page

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.roofline import CUDA_CORES, NO_BYTES, NO_FLOP, PLACED, place_kernels
from tcprof.api.reading import Report
from tcprof.cli.files import FigureName
from tcprof.nsys import schema
from tcprof.views.figures.circles import figure_tensor_time as draw_tensor_time
from tcprof.views.figures.roofline import figure_roofline as draw_roofline
from tcprof.views.recording.kernels import FIGURES, NO_ROOFLINE, describe_unplaced, list_rooflines

figure_roofline = as_plotly(draw_roofline)
figure_tensor_time = as_plotly(draw_tensor_time)

pytestmark = pytest.mark.usefixtures("shared_reads")


SMS, CLOCK_HZ, PERIOD = 132, 1_980_000_000, 10_000
CYCLES = SMS * CLOCK_HZ * PERIOD // 10**9  # of the SMs in a sample
FP16, FP32, COPY = "nvjet_sm90_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", "sm80_sgemm_f32f32_128x128", "copy_kernel"
# Of each kernel's samples: Tensor Active as a share, bytes read and written, FMA instructions.
WORK = {FP16: (0.5, 4_000_000, 1_000_000, 0), FP32: (0.0, 2_000_000, 2_000_000, 6_000_000)}
WORK[COPY] = (0.0, 20_000_000, 20_000_000, 1_000_000)
CACHED = 5  # bytes of the L2 cache for each of device memory
BANDWIDTH = 4_800_000_000_000
REPEATS, SAMPLES = 12, 10  # launches, and samples in each
TFLOPS = {FP16: 0.5 * SMS * 4 * CLOCK_HZ * 1024e-12, FP32: 64 * 6_000_000 / PERIOD * 1e-3}


def write_trace(
    folder: Path, with_bytes: bool = True, with_cache: bool = False, names: dict[str, str] | None = None
) -> Path:
    """Kernels one after the other, each with pauses of two samples; ``names`` replaces some of theirs."""
    board = {"name": "NVIDIA H200", "chipName": "GH100", "smCount": SMS, "clockRate": CLOCK_HZ, "cuDevice": 0}
    builder = TraceBuilder().row(schema.GPUS, id=0, memoryBandwidth=BANDWIDTH, **board).range("step", 0, 10_000_000)
    tensor, read, write, fma = ([] for _ in range(4))
    for _ in range(REPEATS):
        for name, (share, *counts) in WORK.items():
            start = len(tensor) * PERIOD
            builder.kernel((names or {}).get(name, name), start, start + SAMPLES * PERIOD, launched=start // 2 + 10)
            for column, value in zip((tensor, read, write, fma), (round(4 * share * CYCLES), *counts), strict=True):
                column += [value] * SAMPLES + [0] * 2
    builder.cycles(tensor, sm=[CYCLES] * len(tensor), period=PERIOD)
    if with_bytes:
        for metric, values in (("DRAM Read", read), ("DRAM Write", write), ("FMA Pipe", fma)):
            builder.samples(values, metric=f"{metric} [Sum]", period=PERIOD)
    if with_cache:
        cached = [CACHED * sum(both) for both in zip(read, write, strict=True)]
        builder.samples(cached, metric="L2 [Sum]", period=PERIOD)
    return builder.write(folder)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write_trace(tmp_path_factory.mktemp("roofline"))


@pytest.fixture(scope="module")
def analysis(trace):
    return tcprof.read(trace).analysis


def by_name(analysis: Analysis) -> dict:
    placed = place_kernels(analysis.kernels, analysis.gpus)
    return {row["name"]: row for row in placed.to_dict("records")}


class TestPlaces:
    def test_kernels_lie_where_their_work_puts_them(self, analysis):
        rows = by_name(analysis)
        for name, intensity in ((FP16, TFLOPS[FP16] * 1e12 * PERIOD * 1e-9 / 5e6), (FP32, 64 * 6 / 4)):
            assert rows[name]["place"] == PLACED
            assert rows[name]["tflops"] == pytest.approx(TFLOPS[name], rel=0.01)
            assert rows[name]["intensity"] == pytest.approx(intensity, rel=0.01)
        assert rows[FP16]["arithmetic"] == "fp16"
        assert rows[FP32]["arithmetic"] == CUDA_CORES
        assert rows[FP32]["roof_tflops"] == pytest.approx(4 * 64 * SMS * CLOCK_HZ * 1e-12)
        assert rows[FP16]["roof_tflops"] == 989.5

    def test_fma_instructions_of_other_kernels_are_no_flop(self, analysis):
        row = by_name(analysis)[COPY]
        assert row["fma_instruction_count"] > 0
        assert row["place"] == NO_FLOP
        assert np.isnan(row["tflops"])
        share = analysis.kernels.set_index("name").loc[COPY, "share_pct"]
        assert describe_unplaced(analysis) == (
            f"1 kernel with {share:.1f} % of the kernel time has no known FLOP (not drawn).",
        )

    def test_bytes_that_the_samples_do_not_resolve_are_no_place(self, analysis):
        kernels = analysis.kernels.assign(dram_read_bytes_error=analysis.kernels["dram_read_bytes"] * 2)
        placed = place_kernels(kernels, analysis.gpus).set_index("name")
        assert placed.loc[[FP16, FP32], "place"].tolist() == [NO_BYTES] * 2
        assert placed.loc[[FP16, FP32], "intensity"].isna().all()
        said = " ".join(describe_unplaced(replace(analysis, kernels=kernels)))
        assert "2 kernels with" in said
        assert "have bytes of device memory that the samples do not resolve" in said

    def test_an_unresolved_fit_has_no_flop(self, analysis):
        kernels = analysis.kernels.assign(fit="unresolved")
        assert place_kernels(kernels, analysis.gpus).set_index("name").loc[FP16, "place"] == NO_FLOP


class TestRoofline:
    def test_circles_by_precision_with_area_as_time(self, analysis):
        found = {trace.name: trace for trace in figure_roofline(analysis).data if trace.mode == "markers"}
        assert list(found) == ["FP16", "FP32 on CUDA cores"]
        rows = by_name(analysis)
        for title, name in (("FP16", FP16), ("FP32 on CUDA cores", FP32)):
            (trace,) = [found[title]]
            assert (*trace.x, *trace.y) == (rows[name]["intensity"], rows[name]["tflops"] * 1e12)
            assert trace.marker.sizemode == "area"
            assert [*trace.marker.size] == [rows[name]["total_ns"]]
        assert len({trace.marker.sizeref for trace in found.values()}) == 1

    def test_roofs_begin_where_the_slope_reaches_them(self, analysis):
        lines = {trace.name: trace for trace in figure_roofline(analysis).data if trace.mode == "lines"}
        rate = float(analysis.gpus["dram_bandwidth"].iloc[0])
        assert [name.partition(":")[0] for name in lines] == ["DRAM 4.8 TB/s", "FP16", "FP32 on CUDA cores"]
        slope, fp16, fp32 = lines.values()
        assert [y / x for x, y in zip(slope.x, slope.y, strict=True)] == pytest.approx([rate, rate])
        assert slope.y[1] == fp16.y[0] == fp16.y[1] == pytest.approx(989.5e12)
        assert fp16.x[0] == pytest.approx(989.5e12 / rate)
        assert fp32.x[0] == pytest.approx(fp32.y[0] / rate)
        assert "H200" in fp16.hovertext[0]
        assert "132 SMs" in fp32.hovertext[0]

    def test_without_a_known_bandwidth_roofs_have_no_slope(self, analysis):
        unknown = replace(analysis, gpus=analysis.gpus.assign(dram_bandwidth=np.nan))
        lines = [trace for trace in figure_roofline(unknown).data if trace.mode == "lines"]
        assert [trace.name.partition(":")[0] for trace in lines] == ["FP16", "FP32 on CUDA cores"]
        assert len({trace.x[0] for trace in lines}) == 1

    def test_nothing_recorded_is_nothing_drawn(self):
        assert not figure_roofline(make_empty()).data
        assert not figure_tensor_time(make_empty()).data
        assert list_rooflines(make_empty()) == ()


class TestPage:
    def test_both_figures_stand_below_the_kernels(self, analysis):
        text = render_page(analysis)
        assert text.index('id="part-table"') < text.index('id="roofline"') < text.index('id="tensor-time"')
        assert "no known FLOP (not drawn)" in text

    @pytest.mark.slow
    def test_without_bytes_one_sentence_says_how_to_have_them(self, tmp_path):
        without = tcprof.read(write_trace(tmp_path, with_bytes=False))
        text = render_page(without.analysis)
        assert 'data-figure="roofline-data"' not in text
        assert 'data-figure="tensor-time-data"' in text
        assert NO_ROOFLINE.partition(". ")[0] in text

    def test_a_report_draws_them(self, analysis):
        report = Report(analysis)
        assert report.figure_roofline() == figure_roofline(analysis)
        assert report.figure_tensor_time() == figure_tensor_time(analysis)


class TestExport:
    def test_every_figure_can_be_asked_for(self):
        assert set(get_args(FigureName)) == set(FIGURES)

    @pytest.mark.parametrize("name", FIGURES)
    def test_a_page_holds_all_it_needs(self, name, trace, run, tmp_path):
        target = tmp_path / "drawn.html"
        for _ in range(2):  # what tcprof wrote is replaced
            done = run("export", trace, "--figure", name, "-o", target)
            assert (done.status, done.out.split()) == (0, [str(target)])
        text = target.read_text(encoding="utf-8")
        assert text.startswith("<!doctype html>")
        assert not re.search(r"<script[^>]+src=", text)
        assert '<meta http-equiv="Content-Security-Policy"' in text
        assert 'data-figure="figure-data"' in text
        assert list(tmp_path.iterdir()) == [target]

    def test_without_bytes_it_says_what_is_missing(self, run, tmp_path):
        trace, target = write_trace(tmp_path, with_bytes=False), tmp_path / "drawn.html"
        done = run("export", trace, "--figure", "roofline", "-o", target)
        assert done.status == 3
        assert "does not count bytes of device memory" in done.err
        assert not target.exists()

    def test_without_kaleido_it_says_what_to_type(self, trace, run, tmp_path, monkeypatch):
        real = builtins.__import__

        def without(name: str, *rest: object) -> object:
            if name.partition(".")[0] == "kaleido":
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", without)
        done = run("export", trace, "--figure", "roofline", "-o", tmp_path / "drawn.svg")
        assert done.status == 3
        assert "pip install '.[images]'" in " ".join(done.err.split())
        assert "drawn.html" in done.err.replace("\n", "")

    @pytest.mark.browser
    @pytest.mark.slow
    def test_kaleido_draws(self, trace, run, tmp_path):
        pytest.importorskip("kaleido", reason="kaleido is not installed")
        target = tmp_path / "drawn.svg"
        done = run("export", trace, "--figure", "roofline", "-o", target)
        assert done.status == 0, done.err
        assert "FLOP per byte of DRAM" in target.read_text(encoding="utf-8")
