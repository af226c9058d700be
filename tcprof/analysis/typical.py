"""What is typical of a recording's iterations: medians with intervals over those that are not warm-up."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.samples.interval_estimates import find_medians


@dataclass(frozen=True)
class Typical:
    """A median over iterations, with the 95 % interval over the iterations of this recording; NaN where unknown."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class TypicalIteration:
    """The iterations of one GPU, without warm-up.

    Attributes:
        count: How many have work on the GPU.
        window_ns: From an iteration's first activity on the GPU to its last.
        tensor_active_pct: Its mean Tensor Active; for rounded samples the interval allows for the rounding.
    """

    count: int
    window_ns: Typical
    tensor_active_pct: Typical


def find_typical(analysis: Analysis, gpu: int) -> TypicalIteration | None:
    """What is typical of the iterations of a GPU; nothing where none but warm-up has work on it."""
    iterations = analysis.iterations[(analysis.iterations["gpu"] == gpu) & ~analysis.iterations["warm_up"]]
    rest = iterations[iterations["gpu_window_ns"] > 0].sort_values("number")
    if not len(rest):
        return None
    return TypicalIteration(
        count=len(rest),
        window_ns=_typical(rest["gpu_window_ns"]),
        tensor_active_pct=_with_rounding(_typical(rest["tensor_active_mean_pct"]), analysis, gpu, iterations),
    )


def _typical(values: "pd.Series[float]") -> Typical:
    found = find_medians(np.zeros(len(values), dtype=np.int64), np.asarray(values, dtype=np.float64), 1)
    return Typical(float(found.value[0]), float(found.low[0]), float(found.high[0]))


def _with_rounding(found: Typical, analysis: Analysis, gpu: int, iterations: pd.DataFrame) -> Typical:
    """A wider interval, if the samples were rounded: the range summary says how far that may have moved the mean."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & analysis.ranges["path"].isin(iterations["path"])]
    if analysis.tensor_source != "rounded" or math.isnan(found.value):
        return found
    low = np.fmin(found.low, rows["tensor_active_low_pct"].min())  # of two, the one that is known
    high = np.fmax(found.high, rows["tensor_active_high_pct"].max())
    return Typical(found.value, float(np.minimum(low, found.value)), float(np.maximum(high, found.value)))
