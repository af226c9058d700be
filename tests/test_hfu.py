"""HFU and MFU: of the dense peak at the boost clock, of each instance, in comparisons and as conditions of a gate."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from builders import FIXTURES
from slow import first_of
from test_flop import US, Step

import tcprof
from tcprof.analysis.kernels.roofline import GIVEN, find_peaks
from tcprof.chips import Board
from tcprof.errors import UsageError
from tcprof.findings.notes import describe_peaks
from tcprof.views.recording.summary import summarize

pytestmark = pytest.mark.usefixtures("shared_reads")

TRANSFORMER, MATMUL = FIXTURES / "transformer_eager.sqlite", FIXTURES / "matmul.sqlite"
H200 = 989.5  # 10^12 FLOP/s in BF16, dense


def test_it_is_the_rate_over_the_peak():
    analysis = tcprof.read(TRANSFORMER)
    ranges = analysis.ranges[analysis.ranges["tensor_flop"] > 0]
    assert ranges["hfu_pct"].to_numpy() == pytest.approx((100 * ranges["tensor_tflops"] / H200).to_numpy())
    kernels = analysis.kernels[analysis.kernels["tensor_kernel"]]
    assert set(kernels["peak_tflops"]) == {H200}
    assert kernels["hfu_pct"].to_numpy() == pytest.approx((100 * kernels["tensor_tflops"] / H200).to_numpy())
    assert analysis.kernels["peak_tflops"][~analysis.kernels["tensor_kernel"]].isna().all()


def test_of_several_precisions_it_is_the_time_at_their_peaks():
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


def test_a_peak_can_be_given(run):
    document = json.loads(run("ranges", TRANSFORMER, "--peak-tflops", 500, "--format", "json").out)
    step = next(row for row in document["rows"] if row["path"] == "step")
    assert step["hfu_pct"] == pytest.approx(100 * step["tensor_tflops"] / 500)
    text = " ".join(run("ranges", TRANSFORMER, "--peak-tflops", 500, "--wide").out.split())
    assert "HFU is the FLOP executed on the Tensor Cores, as a share of the given peak, 500 TFLOP/s." in text
    given = tcprof.read(TRANSFORMER, peak_tflops=500)
    (rate,) = (each for each in summarize(given.analysis, given.findings)[0].figures if each.title == "Tensor FLOP/s")
    assert "(of the given peak, 500 TFLOP/s)" in rate.caption
    assert run("ranges", TRANSFORMER, "--peak-tflops", 0).status == 2
    with pytest.raises(UsageError, match="above 0"):
        tcprof.read(TRANSFORMER, peak_tflops=math.nan)


def test_peaks_are_told_only_where_shares_of_them_are_shown(run):
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
def test_peaks_are_those_of_board_precision_and_accumulator(name, precision, accumulator, peak):
    kernels = pd.DataFrame(
        {"gpu": [0, 0], "tensor_kernel": [True, False], "precision": precision, "accumulator": accumulator}
    )
    found = find_peaks(kernels, pd.DataFrame([GPU | {"name": name}]), None)
    assert found["peak_tflops"].tolist() == pytest.approx([peak, math.nan], nan_ok=True, rel=1e-6)
    assert [bool(source) for source in found["peak_source"]] == [not math.isnan(peak), False]
    given = find_peaks(kernels, pd.DataFrame([GPU]), 400.0)
    assert (given["peak_tflops"][0], given["peak_source"][0]) == (400, GIVEN)


def test_a_board_that_is_not_known_states_nothing():
    assert math.isnan(Board().stated_peak("fp16"))


STEPS = 6
FLOP = 2 * 2048**3  # of each step's product
KERNEL_S = 100e-6
PEAK = 989.5e12  # of an H200 in FP16, dense
MFU = 100 * FLOP / (PEAK * KERNEL_S)


def steps(executed: float = FLOP, sizes: bool = True, first: int = 10_000) -> Step:
    """Steps of one product each, which executes so many FLOP; of another run the first begins at another time."""
    step = Step(steps=STEPS, first=first)
    for at in range(20, 1000 * STEPS, 1000):
        step.op("aten::mm", at, at + 100, [[2048, 2048]] * 2 if sizes else "", seq=at).works(at + 50, executed)
    return step


@pytest.fixture
def sides(tmp_path):
    """A side that executes what is asked for, and one that executes a quarter more."""
    return (
        steps().sampled().write(tmp_path, "base.sqlite"),
        steps(1.25 * FLOP, first=10_010).sampled().write(tmp_path, "new.sqlite"),
    )


def test_the_table_has_them_where_they_are_known(sides, run, tmp_path):
    lines = run("compare", *sides, "--all", "--warm-up", "all").out.splitlines()
    figures = {title: line.split() for line in lines for title in ("HFU", "MFU") if line.startswith(title)}
    assert figures["HFU"][1:5] == ["17.4", "%", "21.7", "%"]
    assert figures["MFU"][1:5] == ["17.4", "%", "17.4", "%"]
    assert any(line.startswith("Useful FLOP/s") and "172 T" in line for line in lines)
    plain = [steps(sizes=False, first=at).sampled().write(tmp_path, f"{at}.sqlite") for at in (10_000, 10_010)]
    out = run("compare", *plain, "--all", "--warm-up", "all").out
    assert "\nHFU" in out
    assert "\nMFU" not in out


@first_of(1)(("condition", "status"), [("mfu < 17", 0), ("mfu < 18", 1), ("hfu > +3pt", 1)])
def test_conditions_on_them(sides, run, condition, status):
    done = run("compare", *sides, "--warm-up", "all", "--strict", "--fail-if", condition)
    assert done.status == status, done.out


def read_host(step: Step, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ranges by path, and the instances, over host windows."""
    analysis = tcprof.read(step.sampled().write(folder), "host", warm_up="all", step="step")
    paths = analysis.paths["path"].to_numpy()
    instances = analysis.instances.assign(path=paths[analysis.instances["path_id"].to_numpy()])
    return analysis.ranges.set_index("path"), instances.set_index("path")


def test_a_host_window_that_holds_all_of_its_work_has_rates(tmp_path):
    """The program waits for the GPU before ``run`` ends; the steps in it end long before their work."""
    ranges, instances = read_host(steps().range("run", 0, 20_000 * US), tmp_path)
    whole = 100 * STEPS * FLOP / (PEAK * 20e-3)
    known = ["tensor_tflops", "tensor_peak_pct", "hfu_pct", "mfu_pct"]
    assert ranges.loc["run", ["hfu_pct", "mfu_pct"]].tolist() == pytest.approx([whole, whole], rel=1e-3)
    assert instances.loc["run", ["hfu_pct", "mfu_pct"]].tolist() == pytest.approx([whole, whole], rel=1e-3)
    assert ranges.loc["run", known].notna().all()
    assert ranges.loc["step", known].isna().all()
    assert instances.loc["step", ["hfu_pct", "mfu_pct"]].isna().all(axis=None)


def test_over_gpu_windows_instances_add_up_to_their_path(tmp_path):
    analysis = tcprof.read(steps().sampled().write(tmp_path), warm_up="all", step="step")
    row = analysis.ranges.set_index("path").loc["step"]
    of_step = analysis.instances[analysis.instances["path_id"] == row["path_id"]]
    assert of_step["mfu_pct"].mean() == pytest.approx(row["mfu_pct"]) == pytest.approx(MFU, rel=1e-6)
    assert of_step["hfu_pct"].mean() == pytest.approx(row["hfu_pct"])
