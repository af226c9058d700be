"""Hardware FLOP utilization: executed FLOP of the dense peak at the boost clock, which is told with its source."""

import json
import math

import pandas as pd
import pytest
from builders import FIXTURES
from commands import Run

import tcprof
from tcprof.analysis.kernels.roofline import GIVEN, find_peaks
from tcprof.chips import Board
from tcprof.errors import UsageError
from tcprof.findings.notes import describe_peaks
from tcprof.views.recording.summary import summarize

pytestmark = pytest.mark.usefixtures("shared_reads")


TRANSFORMER, MATMUL = FIXTURES / "transformer_eager.sqlite", FIXTURES / "matmul.sqlite"
H200 = 989.5  # 10^12 FLOP/s in BF16, dense


def test_it_is_the_rate_over_the_peak() -> None:
    analysis = tcprof.read(TRANSFORMER)
    ranges = analysis.ranges[analysis.ranges["tensor_flop"] > 0]
    assert ranges["hfu_pct"].to_numpy() == pytest.approx((100 * ranges["tensor_tflops"] / H200).to_numpy())
    kernels = analysis.kernels[analysis.kernels["tensor_kernel"]]
    assert set(kernels["peak_tflops"]) == {H200}
    assert kernels["hfu_pct"].to_numpy() == pytest.approx((100 * kernels["tensor_tflops"] / H200).to_numpy())
    assert analysis.kernels["peak_tflops"][~analysis.kernels["tensor_kernel"]].isna().all()


def test_of_several_precisions_it_is_the_time_at_their_peaks() -> None:
    report = tcprof.read(MATMUL)
    capture = report.ranges.iloc[0]
    kernels = report.kernels[report.kernels["tensor_kernel"]]
    at_peak_ns = (kernels["tensor_flop"] / kernels["peak_tflops"] / 1e3).sum()
    assert kernels["peak_tflops"].nunique() > 3
    assert capture["hfu_pct"] == pytest.approx(100 * at_peak_ns / capture["window_ns"])
    (said,) = describe_peaks(report.analysis)
    assert "in each kernel's precision" in said
    assert "989.5 TFLOP/s in FP16, BF16 (NVIDIA H200 data sheet" in said or "989.5 TFLOP/s in BF16, FP16" in said
    assert "67 TFLOP/s in FP64 (NVIDIA H200 data sheet" in said


def test_a_peak_can_be_given(run: Run) -> None:
    document = json.loads(run("ranges", TRANSFORMER, "--peak-tflops", 500, "--format", "json").out)
    step = next(row for row in document["rows"] if row["path"] == "step")
    assert step["hfu_pct"] == pytest.approx(100 * step["tensor_tflops"] / 500)
    text = " ".join(run("ranges", TRANSFORMER, "--peak-tflops", 500, "--wide").out.split())
    assert "HFU is the FLOP executed on the Tensor Cores, as shares of the given peak, 500 TFLOP/s." in text
    given = tcprof.read(TRANSFORMER, peak_tflops=500)
    (rate,) = (each for each in summarize(given.analysis, given.findings)[0].figures if each.title == "Tensor FLOP/s")
    assert "(of the given peak, 500 TFLOP/s)" in rate.caption
    assert run("ranges", TRANSFORMER, "--peak-tflops", 0).status == 2
    with pytest.raises(UsageError, match="above 0"):
        tcprof.read(TRANSFORMER, peak_tflops=math.nan)


def test_peaks_are_told_only_where_shares_of_them_are_shown(run: Run) -> None:
    out = run("show", TRANSFORMER).out
    assert "HFU is the FLOP executed on the Tensor Cores" not in " ".join(out.split())
    assert not any(line.endswith("  HFU") for line in out.splitlines())


GPU = {"gpu": 0, "name": "", "chip": "GA102", "sm_count": 82.0, "clock_hz": 1.695e9, "memory_bytes": 24e9}


@pytest.mark.parametrize(
    ("name", "precision", "accumulator", "peak"),
    [
        ("NVIDIA GeForce RTX 3090", "fp16", "fp32", 71),
        ("NVIDIA GeForce RTX 3090", "fp16", "fp16", 142),
        ("NVIDIA GeForce RTX 3090", "fp16", "", math.nan),  # one of both, which is not known
        ("NVIDIA GeForce RTX 3090", "bf16", "fp32", 71),
        ("NVIDIA GeForce RTX 3080", "bf16", "fp32", 512 * 82 * 1.695e-3),  # not stated: from the rate
        ("NVIDIA GeForce RTX 3090", "fp64", "", math.nan),
        ("NVIDIA RTX A5000", "fp16", "fp32", math.nan),
    ],
)
def test_peaks_are_those_of_board_precision_and_accumulator(
    name: str, precision: str, accumulator: str, peak: float
) -> None:
    kernels = pd.DataFrame(
        {"gpu": [0, 0], "tensor_kernel": [True, False], "precision": precision, "accumulator": accumulator}
    )
    found = find_peaks(kernels, pd.DataFrame([GPU | {"name": name}]), None)
    assert found["peak_tflops"].tolist() == pytest.approx([peak, math.nan], nan_ok=True, rel=1e-6)
    assert [bool(source) for source in found["peak_source"]] == [not math.isnan(peak), False]
    given = find_peaks(kernels, pd.DataFrame([GPU]), 400.0)
    assert (given["peak_tflops"][0], given["peak_source"][0]) == (400, GIVEN)


def test_a_board_that_is_not_known_states_nothing() -> None:
    assert math.isnan(Board().stated_peak("fp16"))
