"""Error of kernels' figures where there is a reference, held to bounds, by the functions of the benchmark."""

import functools
import importlib
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from slow import first

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.launches import fit_kernels
from tcprof.analysis.kernels.roofline import find_peaks
from tcprof.analysis.kernels.summary import summarize_kernels
from tcprof.analysis.kernels.verdicts import UNRESOLVED
from tcprof.frames import PATHS

pytestmark = pytest.mark.usefixtures("shared_reads")

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))
accuracy = importlib.import_module("accuracy")
reference = importlib.import_module("reference")

FIXTURES = ["convnet_channels_last", "net_amp", "transformer_compiled", "transformer_eager"]
LESSONS = ["gan_fp16", "matmul", "mlp_fp16", "mlp_fp16_4097", "mlp_tf32", "transformer_tf32"]
FEW_STEPS = [*LESSONS, "llama", "resnet"]  # the last two are programs that nobody prepared
QUICK = ("transformer_compiled", "mlp_fp16", "matmul")  # the others are slow
PAIRS_BACK_TO_BACK = 3  # % of a kernel that runs once a step, right beside another: only their sum is sure

# What transformer.py multiplies in a step, with its default sizes.
TOKENS, WIDTH, LAYERS, HEADS, VOCABULARY, BATCH, CONTEXT, STEPS = 8192, 1024, 4, 16, 8192, 8, 1024, 12
LINEAR_FLOP = 2 * TOKENS * (LAYERS * 12 * WIDTH**2 + WIDTH * VOCABULARY)
ATTENTION_FLOP = LAYERS * 4 * BATCH * HEADS * CONTEXT**2 * (WIDTH // HEADS)


def with_slow(names: list[str]) -> list[Any]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


@functools.cache
def frames_of(folder: Path, name: str) -> dict[str, pd.DataFrame]:
    case = next(case for case in reference.find_cases(folder) if case.name == name)
    return accuracy.compare(case)


def check_percentages_and_cycles(frames: dict[str, pd.DataFrame], few_steps: bool = False) -> None:
    for mode, most in (("cycles", 0.5), ("percentages", 1.5)):
        found = accuracy.score(frames[mode])
        assert found["fit_in_situ"] <= most
        # Whole percentages of a few steps of short kernels tell no more than their mean.
        assert found["fit_in_situ"] < found["mean_in_situ"] or (few_steps and mode == "percentages")
        assert not found["fit_fast"] > 1.0  # unknown where nothing was recorded at 200 kHz
        assert found["within_pct"] >= 95
        assert found["strict_pct"] >= 90
        assert found["wrongly_called"] == 0
    found = accuracy.score_cycles(frames["cycles"])
    assert found["worst_over_5"] <= (2 if few_steps else 1)
    assert found["worst_over_1"] <= PAIRS_BACK_TO_BACK
    assert abs(found["fitted_of_sampled"] - 1) <= 1e-3
    assert found["to_none_pct"] <= 0.2


@pytest.mark.parametrize("name", with_slow(FIXTURES))
def test_errors_of_fixtures(name):
    frames = frames_of(ROOT / "fixtures", name)
    check_percentages_and_cycles(frames)
    assert accuracy.score(frames["cycles"])["matched_pct"] > 99.9


@pytest.mark.parametrize("name", first(1, with_slow(FEW_STEPS)))
def test_errors_of_fixtures_with_few_steps(name):
    check_percentages_and_cycles(frames_of(ROOT / "fixtures", name), few_steps=True)


@pytest.mark.slow
def test_flop_of_a_transformer_are_what_its_sizes_say():
    kernels = tcprof.read(ROOT / "fixtures" / "transformer_eager.sqlite", warm_up="all").kernels_by_path
    groups = kernels["name"].map(
        lambda text: "linear" if text.startswith("nvjet") else "sdpa" if "sdpa" in text else ""
    )
    flop = kernels.groupby(["path", groups])["tensor_flop"].sum() / STEPS
    forward, backward = flop["step / forward"], flop["step / backward"]
    assert forward["linear"] == pytest.approx(LINEAR_FLOP, rel=5e-3)
    assert backward["linear"] == pytest.approx(2 * LINEAR_FLOP, rel=5e-3)
    causal = (CONTEXT / 128 + 1) / (2 * CONTEXT / 128)  # blocks of 128 x 128 on and below the diagonal
    assert forward["sdpa"] == pytest.approx(causal * ATTENTION_FLOP, rel=5e-3)
    assert backward["sdpa"] == pytest.approx(2.5 * causal * ATTENTION_FLOP, rel=5e-3)


def test_flop_of_a_multilayer_perceptron_are_what_its_sizes_say():
    """Three layers of 2048 x 2048 and batches of 2048: a step has three products forward and five backward."""
    ranges = tcprof.read(ROOT / "fixtures" / "net_amp.sqlite").ranges
    steps = ranges[ranges["name"] == "step"]
    assert len(steps) == 3
    assert (steps["tensor_flop"] / steps["instance_count"]).to_numpy() == pytest.approx(8 * 2 * 2048**3, rel=1e-4)


@pytest.mark.slow
def test_nothing_in_float32_is_a_tensor_kernel():
    assert not tcprof.read(ROOT / "fixtures" / "mnist_fp32.sqlite").kernels["tensor_kernel"].any()


def test_flop_of_matrix_products_are_exact(recordings):
    ranges = tcprof.read(recordings / "cycles" / "matmul_dtypes.sqlite").ranges.set_index("path")
    products = ranges.loc[["tf32", "fp16", "bf16", "fp64", "fp8", "fp8_fast"]]
    assert products["tensor_flop"].to_numpy() == pytest.approx(2 * 4096**3 * products["kernel_count"], rel=5e-3)


def test_all_fixtures_with_a_reference_are_tested_and_on_the_page():
    assert [case.name for case in reference.find_cases(ROOT / "fixtures")] == sorted(FIXTURES + FEW_STEPS)
    page = (ROOT / "docs" / "accuracy.md").read_text()
    tables = page.split("<!-- fixtures -->")[1].split("<!-- /fixtures -->")[0]
    assert all(f"| {name} | percentages |" in tables for name in FIXTURES + FEW_STEPS)


def test_overlap_mean():
    """Samples of 10 ns and a gap; kernel 0 is launched twice, one launch lies in the gap."""
    frames = SimpleNamespace(
        samples=pd.DataFrame({"gpu": 0, "start_ns": [100, 110, 200], "end_ns": [110, 120, 210]}),
        activities=pd.DataFrame({"start_ns": [105, 205, 150, 119], "end_ns": [115, 215, 160, 204]}),
        kernel_instances=pd.DataFrame({"gpu": 0, "activity": [0, 1, 2, 3], "kernel": [0, 0, 1, 2]}),
        kernels=pd.DataFrame(index=range(3)),
    )
    found = reference.overlap_mean(frames, pd.Series([10.0, 40.0, 70.0]))
    assert found == pytest.approx([(5 * 10 + 5 * 40 + 5 * 70) / 15, np.nan, (1 * 40 + 4 * 70) / 5], nan_ok=True)


# The halves of a recording, fitted each by itself, agree within their intervals.

LEAST_SHARE_PCT = 1.0  # of the kernel time of both halves
AGREE = 0.9
EQUAL_POINTS = 0.001
FEWEST = 5  # kernels of which a share means something


def fit_part(analysis: Analysis, launched: np.ndarray, sampled: np.ndarray) -> pd.DataFrame:
    """The kernels of some of the activities, from some of the samples."""
    activities = analysis.activities[launched].reset_index(drop=True)
    nowhere = np.full(len(activities), -1)
    found = fit_kernels(activities, nowhere, analysis.samples[sampled], analysis.gpus, analysis.clocks)
    found = replace(found, kernel_instances=found.kernel_instances.assign(range=-1))
    peaks = partial(find_peaks, gpus=analysis.gpus, given_tflops=None)
    kernels = summarize_kernels(found, activities, PATHS.empty(), peaks)[0]
    return kernels[kernels["share_pct"] >= LEAST_SHARE_PCT].set_index(["name", "launch_geometry"])


def fit_halves(analysis: Analysis) -> list[pd.DataFrame]:
    """The kernels of the steps before and from the middle one on; those that both halves have."""
    middle = analysis.steps.iloc[len(analysis.steps) // 2]["range"]
    cut = analysis.instances.set_index("range").loc[middle, "gpu_start_ns"]
    activities, samples = analysis.activities, analysis.samples
    halves = [
        fit_part(analysis, activities["end_ns"] <= cut, samples["start_ns"] < cut),
        fit_part(analysis, activities["start_ns"] >= cut, samples["end_ns"] > cut),
    ]
    both = halves[0].index.intersection(halves[1].index)
    return [half.loc[both] for half in halves]


def test_halves_agree(fixture_file):
    report = tcprof.read(fixture_file)
    if len(report.steps) < 2:
        pytest.skip("it has no steps to be cut between")
    halves = fit_halves(report.analysis)
    if len(halves[0]) < FEWEST:
        pytest.skip("its halves have hardly a kernel in common")
    low, high, fit = (
        [half[name] for half in halves] for name in ("tensor_active_low_pct", "tensor_active_high_pct", "fit")
    )
    overlap = (low[0] <= high[1] + EQUAL_POINTS) & (low[1] <= high[0] + EQUAL_POINTS)
    unresolved = (fit[0] == UNRESOLVED) | (fit[1] == UNRESOLVED)
    assert (overlap | unresolved).mean() >= AGREE
