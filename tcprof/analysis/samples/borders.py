"""Divide samples that a window's border cuts, and estimate the error.

A range may begin or end between any two of the kernels of a sample; see ``tcprof.analysis.samples.sample_splitting``.
"""

from typing import NamedTuple

import numpy as np

from tcprof.analysis.intervals import search
from tcprof.analysis.samples.sample_splitting import CutPositions, LaunchErrors, SplitSamples
from tcprof.arrays import Floats, Ints

BORDER_NS = 500.0  # how well the count at a border inside a launch is known, as time at the launch's rate
IN_PART = 0.05  # in a long part, as a share of the part
LEAST_OFFSET_NS = 100.0  # clocks of samples and launches are never known to agree better
UNMEASURED_OFFSET_NS = 500.0  # how well where that was not measured: 57 recordings in which it was differ by so much
MOST_OFFSET_NS = 2000.0  # nor ever taken to be worse: larger offsets are measured, see tcprof.analysis.samples.clock
AT_RANDOM = 0.1  # of what the count inside a launch may be off by: samples begin anywhere, so most of it averages out
NEAR_NS = 1000  # on either side of a border: whether a kernel runs across it


class SharedMetric:
    """A metric that is shared inside of samples, as a function of time.

    What lies before a time is the sum of whole samples, as recorded, and of a part of one: a window that cuts no sample
    has just what was recorded, without the rounding errors of all pieces before.

    Args:
        value: The metric of each sample, per ns; NaN counts as unknown.

    Attributes:
        is_known: Whether it is known of any sample.
        value: The metric of each sample, 0 where it is unknown.
    """

    def __init__(self, split: SplitSamples, value: Floats) -> None:
        unknown = np.isnan(value)
        self.is_known = not unknown.all()
        self.value: Floats = np.where(unknown, 0.0, value) if unknown.any() else value
        self._split = split
        self._before = np.append(0.0, np.cumsum(self.value * (split.end - split.start)))

    def integral(self, low: Ints, high: Ints) -> Floats:
        """Integrate over the known part of [low, high): value x ns."""
        return self.before(self._split.locate(high)) - self.before(self._split.locate(low))

    def before(self, positions: CutPositions) -> Floats:
        """Integrate the known part up to positions among the samples: value x ns."""
        number, part, sample, past, cut, first, piece, past_piece = positions
        pieces = self._split.pieces
        integrals: Floats = self._before[number]
        inside = past.astype(np.float64)
        inside[cut] = pieces.before[piece] - pieces.before[first] + pieces.share[piece] * past_piece
        inside *= self.value[sample]
        integrals[part] = np.minimum(self._before[sample] + inside, self._before[sample + 1])
        return integrals


class BorderErrors(NamedTuple):
    """Errors of the integral up to times, as ns of full activity."""

    common: Floats  # in common to all launches of a class
    single: Floats  # of single launches
    moved: Floats  # for each ns by which samples are late


def border_errors(split: SplitSamples, errors: LaunchErrors, active: SharedMetric, time: Ints) -> BorderErrors:
    """Estimate the error of the integral up to each time.

    The parts before and behind the border add up to the sample. So the split is off by no more than the less uncertain
    of the two, and at a border inside a launch by what that may have counted so far. Late samples show at either side
    what ran at their own borders.
    """
    sample = np.maximum(search(split.start, time, "right") - 1, 0)
    low, high = split.start[sample], split.end[sample]
    is_sampled = (time >= low) & (time < high)
    times = (low, time, high)
    steps = [errors.error.locate(edge) for edge in times]
    launched, error, spread = (
        [function.before(edge) for edge in steps] for function in (errors.launched, errors.error, errors.spread)
    )
    until, inside = [active.before(split.locate(edge)) for edge in times], [errors.inside.until(edge) for edge in times]
    counted = [value / 100 for value in until]
    whole = counted[2] - counted[0]
    share = np.divide(counted[1] - counted[0], whole, out=np.full(len(time), 0.5), where=whole > 0)
    before, behind = error[1] - error[0] + AT_RANDOM * inside[0], error[2] - error[1] + AT_RANDOM * inside[2]
    common = np.minimum(before, behind) + inside[1]
    is_idle = launched[0] == launched[2]  # no launch to attribute it to
    common = np.where(is_idle, active.value[sample] / 100 * np.minimum(time - low, high - time), common)
    common = np.where(is_sampled, np.minimum(common, whole), 0.0)
    single = np.where(is_sampled, np.minimum(spread[1] - spread[0], spread[2] - spread[1]), 0.0)
    rates = [_rates(split, active, edge, value) for edge, value in zip(times, until, strict=True)]
    moved = np.where(is_sampled, (1 - share) * np.mean(rates[0], axis=0) + share * np.mean(rates[2], axis=0), 0.0)
    crossed = is_sampled & (time > low)
    inner = np.where(crossed, BORDER_NS * np.minimum(*rates[1]), 0.0)
    # Random errors of a window's borders always replace busy time by idle time.
    common = common + np.where(crossed, errors.stamp_ns * np.abs(rates[1][0] - rates[1][1]), 0.0)
    return BorderErrors(common, np.hypot(single, inner), moved)


def _rates(split: SplitSamples, active: SharedMetric, time: Ints, until: Floats) -> tuple[Floats, Floats]:
    """Return Tensor Active, from 0 to 1, just before and behind times; ``until`` is its integral up to them."""
    before, behind = (active.before(split.locate(time + ns)) for ns in (-NEAR_NS, NEAR_NS))
    return (until - before) / NEAR_NS / 100, (behind - until) / NEAR_NS / 100
