"""At which offset the samples' GR Active follows the time under kernels."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.samples.borders import LEAST_OFFSET_NS
from tcprof.arrays import Floats

ENGINE_LEAD_NS = 450  # GR Active leads the kernels by so much: 57 recordings of an H200 and H100, -0.25 to 0.77 µs
LOWEST_CORRELATION = 0.9
FLAT, WIDEST_NS = 5e-4, 1500  # correlations that differ by less are alike; where they reach further, none is best
WEAK_DEVIATION, STRONG_CORRELATION = 0.1, 0.95  # what varies by less must correlate better to mean anything
SMALLEST_DEVIATION = 0.02  # of the busy share of a sample: below it there is too little idle time to compare
FEWEST_SAMPLES, FEWEST_IN_PIECE = 50, 8  # of a recording, and of a piece, whose offset must fit those of others
OFFSETS = np.arange(-120, 121) * 1000  # ns; a period at 10 kHz and more


def measure_offset(busy: StepFunction, samples: pd.DataFrame) -> tuple[float, float] | None:
    """The offset of a few samples, and its standard error; None where it cannot be measured."""
    found = _find_best(busy, samples, FEWEST_IN_PIECE)
    if found is None:
        return None
    shares, correlations, best = found
    if correlations[best] < LOWEST_CORRELATION or not 0 < best < len(OFFSETS) - 1:
        return None
    active = samples["gr_active_pct"].to_numpy() / 100
    change = (shares[best + 1] - shares[best - 1]) / (OFFSETS[best + 1] - OFFSETS[best - 1])
    left = active.std() * np.sqrt(1 - correlations[best] ** 2)
    error = float(left / (change.std() * np.sqrt(len(active)) * active.std() / shares[best].std()))
    flat = np.ptp(OFFSETS[correlations >= correlations[best] - FLAT]) / 2
    return -_refine(correlations, best), float(np.hypot(np.hypot(error, flat), LEAST_OFFSET_NS))


def compare(busy: StepFunction, samples: pd.DataFrame) -> dict[str, float]:
    """Offset and correlation where it correlates best; unknown where the GPU was idle, or busy, nearly all the time."""
    unknown = {"offset_ns": np.nan, "correlation": np.nan}
    found = _find_best(busy, samples, FEWEST_SAMPLES)
    if found is None:
        return unknown
    _, correlations, best = found
    alike = OFFSETS[correlations >= correlations[best] - FLAT]
    if correlations[best] < LOWEST_CORRELATION or np.ptp(alike) <= 2 * WIDEST_NS:
        # Best where samples show what the trace has so much later: then they are stamped that much too early.
        return {"offset_ns": -_refine(correlations, best), "correlation": float(correlations[best])}
    if not alike.min() <= ENGINE_LEAD_NS <= alike.max():  # else one clock is among what fits
        return unknown
    return {"offset_ns": float(-ENGINE_LEAD_NS), "correlation": float(correlations[best])}


def _find_best(busy: StepFunction, samples: pd.DataFrame, fewest: int) -> tuple[Floats, Floats, int] | None:
    """Busy shares at each offset, their correlations, and the place of the best; None where these mean nothing."""
    shares = _shares(busy, samples) if len(samples) >= fewest else None
    if shares is None:
        return None
    deviation = float(np.std(shares[len(OFFSETS) // 2]))
    if deviation < SMALLEST_DEVIATION:
        return None
    correlations = _correlate(samples["gr_active_pct"].to_numpy() / 100, shares)
    best = int(np.argmax(correlations))
    is_weak = deviation < WEAK_DEVIATION and correlations[best] < STRONG_CORRELATION
    return None if is_weak else (shares, correlations, best)


def _shares(busy: StepFunction, samples: pd.DataFrame) -> Floats | None:
    """The busy share of each sample at each offset; None where nothing is busy near them."""
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    busy = busy.between(start[0] + OFFSETS[0], end[-1] + OFFSETS[-1])
    times, place = np.unique(np.append(start, end), return_inverse=True)  # most samples begin where another ends
    borders = np.column_stack([busy.start, busy.end]).ravel()
    if not len(borders):
        return None
    # Between borders the busy time grows by 0 or 1 a ns: np.interp is exact, and quicker.
    counted, begin = busy.until(borders), times[0]
    shares = np.empty((len(OFFSETS), len(start)))
    for number, offset in enumerate(OFFSETS):
        until = np.interp(times - begin + offset, borders - begin, counted)
        shares[number] = (until[place[len(start) :]] - until[place[: len(start)]]) / (end - start)
    return shares


def _refine(correlations: Floats, best: int) -> float:
    """The offset at the top of the parabola through the best one and its neighbours, in ns."""
    if not 0 < best < len(OFFSETS) - 1:
        return float(OFFSETS[best])
    before, top, after = correlations[best - 1 : best + 2]
    bend = before - 2 * top + after
    return float(OFFSETS[best] + (1000 * (before - after) / (2 * bend) if bend < 0 else 0))


def _correlate(one: Floats, others: Floats) -> Floats:
    """Pearson's correlation with each; 0 where either does not vary."""
    if one.std() == 0:
        return np.zeros(len(others))
    # As np.corrcoef has it, to the last bit, but what is the same for all is computed once.
    both = np.empty((2, len(one)))
    both[0] = one - one.mean()
    found = np.zeros(len(others))
    for place, other in enumerate(others):
        np.subtract(other, other.mean(), out=both[1])
        moments = both @ both.T * (1 / (len(one) - 1))
        if moments[1, 1] > 0:
            found[place] = moments[0, 1] / np.sqrt(moments[0, 0]) / np.sqrt(moments[1, 1])
    return np.clip(found, -1, 1)
