"""Fewer points for the same picture: samples as an envelope of smallest, mean and largest value per bin.

A drawing of 2,000 points across needs no more than these; gaps in the samples stay gaps.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcprof.analysis.intervals import StepFunction
from tcprof.arrays import Floats, Ints


@dataclass(frozen=True)
class Envelope:
    """A step function as it is drawn."""

    start: Ints  # starts of the intervals in ns, ascending
    end: Ints  # their ends; where one lies before the next start, the function is unknown between them
    mean: Floats  # mean over the known part of the interval, weighted by time
    low: Floats  # smallest value in the interval
    high: Floats  # largest value in the interval
    bin_ns: float  # width of a bin; 0 where the intervals are the samples themselves

    def __len__(self) -> int:
        return len(self.start)


def compute_envelope(start: Ints, end: Ints, value: Floats, bins: int) -> Envelope:
    """The samples themselves where they are at most twice the bins, else one interval for each bin.

    Samples do not overlap; NaN counts as a gap. Bins are of equal width, from the first start to the last end.
    """
    samples = StepFunction(start, end, value)
    if len(samples.start) <= 2 * bins:
        return Envelope(samples.start, samples.end, samples.value, samples.value, samples.value, 0.0)
    edges = np.linspace(samples.start[0], samples.end[-1], bins + 1).round().astype(np.int64)
    left, right = edges[:-1], edges[1:]
    covered = samples.covered(left, right)
    seen = np.flatnonzero(covered > 0)
    left, right = left[seen], right[seen]
    first = np.searchsorted(samples.end, left, side="right")
    last = np.searchsorted(samples.start, right, side="left")
    low, high = _extremes(samples.value, first, last)
    mean = np.clip(samples.integral(left, right) / covered[seen], low, high)  # a running sum rounds
    return Envelope(left, right, mean, low, high, float(edges[-1] - edges[0]) / bins)


def _extremes(value: Floats, first: Ints, last: Ints) -> tuple[Floats, Floats]:
    """Smallest and largest of value[first:last], for each pair; every pair holds at least one."""
    pairs = np.column_stack((first, last)).ravel()
    padded = np.append(value, 0.0)  # so that the end of the last pair is an index
    return np.minimum.reduceat(padded, pairs)[::2], np.maximum.reduceat(padded, pairs)[::2]


def step_points(envelope: Envelope, values: Floats) -> tuple[Floats, Floats]:
    """Points of a line that steps at the starts (plotly's ``hv``), in seconds, broken by NaN where values are unknown.

    There is a value for each interval, or a row of values.
    """
    if not len(envelope):
        return np.empty(0), np.empty((0, *values.shape[1:]))
    broken = np.append(np.flatnonzero(envelope.start[1:] > envelope.end[:-1]), len(envelope) - 1)
    at = np.repeat(broken + 1, 2)
    x = np.insert(envelope.start * 1e-9, at, np.repeat(envelope.end[broken] * 1e-9, 2))
    closing = np.repeat(values[broken], 2, axis=0)
    closing[1::2] = np.nan
    return x, np.insert(values, at, closing, axis=0)


def band_points(envelope: Envelope) -> tuple[Floats, Floats]:
    """Outline of the area from the smallest to the largest value, one closed polygon between two gaps."""
    breaks = np.flatnonzero(envelope.start[1:] > envelope.end[:-1]) + 1
    xs: list[npt.NDArray[Any]] = []
    ys: list[npt.NDArray[Any]] = []
    gap = np.array([np.nan])
    for run in np.split(np.arange(len(envelope)), breaks) if len(envelope) else []:
        x = np.column_stack((envelope.start[run], envelope.end[run])).ravel() * 1e-9
        xs += [x, x[::-1], gap]
        ys += [np.repeat(envelope.high[run], 2), np.repeat(envelope.low[run], 2)[::-1], gap]
    return (np.concatenate(xs), np.concatenate(ys)) if xs else (np.empty(0), np.empty(0))
