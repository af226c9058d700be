"""Samples that the border of a window cuts: how much of them lies on either side, and how far that may be off.

A range may begin or end between any two of the kernels of a sample; see ``tcprof.analysis.samples.sample_splitting``.
"""

import numpy as np

from tcprof.analysis.intervals import search
from tcprof.analysis.samples.sample_splitting import CutPlaces, LaunchErrors, SplitSamples
from tcprof.arrays import Floats, Ints

BORDER_NS = 500.0  # how well the count at a border inside a launch is known, as time at the launch's rate
LEAST_OFFSET_NS = 100.0  # clocks of samples and launches are never known to agree better
UNMEASURED_OFFSET_NS = 500.0  # how well where that was not measured: 57 recordings in which it was differ by so much
MOST_OFFSET_NS = 2000.0  # nor ever taken to be worse: larger offsets are measured, see tcprof.analysis.samples.clock
NEAR_NS = 1000  # on either side of a border: whether a kernel runs across it


class SharedMetric:
    """A metric that is shared inside of samples, as a function of time.

    What lies before a time is the sum of whole samples, as recorded, and of a part of one: a window that cuts no sample
    has just what was recorded, without the rounding errors of all pieces before.

    Args:
        split: The pieces.
        value: The metric of each sample, per ns; NaN counts as unknown.

    Attributes:
        known: Whether it is known of any sample.
        value: The metric of each sample, 0 where it is unknown.
    """

    def __init__(self, split: SplitSamples, value: Floats) -> None:
        unknown = np.isnan(value)
        self.known = not unknown.all()
        self.value: Floats = np.where(unknown, 0.0, value) if unknown.any() else value
        self._split = split
        self._before = np.append(0.0, np.cumsum(self.value * (split.end - split.start)))

    def integral(self, low: Ints, high: Ints) -> Floats:
        """The integral over [low, high) of what is known: value x ns."""
        return self.before(self._split.places(high)) - self.before(self._split.places(low))

    def before(self, places: CutPlaces) -> Floats:
        """The integral of what is known up to places among the samples: value x ns."""
        number, part, sample, past, cut, first, piece, past_piece = places
        pieces = self._split.pieces
        found: Floats = self._before[number]
        inside = past.astype(np.float64)
        inside[cut] = pieces.before[piece] - pieces.before[first] + pieces.share[piece] * past_piece
        inside *= self.value[sample]
        found[part] = np.minimum(self._before[sample] + inside, self._before[sample + 1])  # never more than is there
        return found


def border_errors(split: SplitSamples, errors: LaunchErrors, active: SharedMetric, time: Ints) -> tuple[Floats, Floats]:
    """How far what lies before each time may be off, as ns of full activity: in common, and of single launches.

    What is before the border and what is behind it add up to the sample. So the split is off by no more than the less
    uncertain of the two, and by how well the count at a border inside a launch is known.

    Args:
        split: The pieces.
        errors: How far the rates may be off by which samples were shared.
        active: Tensor Active (%).
        time: The borders of windows.
    """
    sample = np.maximum(search(split.start, time, "right") - 1, 0)
    low, high = split.start[sample], split.end[sample]
    known = (time >= low) & (time < high)
    places = [errors.error.places(at) for at in (low, time, high)]
    of_sample = ([function.before(at) for at in places] for function in (errors.error, errors.spread))
    common, single = (np.where(known, np.minimum(at - low, high - at), 0.0) for low, at, high in of_sample)
    begin, end = (errors.launched.before(at) for at in places[::2])
    nobody = known & (begin == end)  # nobody knows whose it is
    common = np.where(nobody, active.value[sample] / 100 * np.minimum(time - low, high - time), common)
    before, at, behind = (active.before(split.places(time + ns)) for ns in (-NEAR_NS, 0, NEAR_NS))
    near = np.minimum(at - before, behind - at) / NEAR_NS / 100
    return common, np.hypot(single, np.where(known & (time > low), BORDER_NS * near, 0.0))
