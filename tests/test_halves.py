"""The halves of a recording, fitted each by itself, agree within their intervals."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.launches import fit_kernels
from tcprof.analysis.kernels.roofline import find_peaks
from tcprof.analysis.kernels.summary import summarize_kernels
from tcprof.analysis.kernels.verdicts import UNRESOLVED
from tcprof.frames import PATHS

pytestmark = pytest.mark.usefixtures("shared_reads")

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


def test_halves_agree(fixture_file) -> None:
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
