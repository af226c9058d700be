"""Whether the sampler's clock is the trace's: GR Active against the time under kernels.

Samples are moved by as much as can be measured: of long recordings in pieces, by samples around the longest pauses of
each. A line through the pieces' offsets tells whether the clocks drift apart; what departs from the line is an error.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, open_times, run_starts
from tcprof.analysis.samples.borders import LEAST_OFFSET_NS
from tcprof.analysis.samples.copies import find_own_moves
from tcprof.analysis.samples.sampling import samples_by_gpu
from tcprof.arrays import Floats, Ints, mapping_of, pick_rows
from tcprof.frames import CLOCKS, KERNEL_KINDS

MOVED_ERROR_NS = 500.0  # how well samples that were moved lie then
SMALLEST_OFFSET_NS = 1000  # smaller differences are not significant
BRIDGED_NS = 5_000  # the engine stays active between kernels that follow each other this closely
MOST_SAMPLES = 20_000
PIECES = 40  # of a recording: the offset of each is measured
FEWEST_PIECES = 4  # a drift needs so many
SMALLEST_DRIFT_NS = 500  # from the first piece to the last: less is left to the fit's own estimate of the offset
SIGNIFICANT = 5.0  # standard errors from which a drift is corrected
DEGREES = 4.0  # of Student's t: single pieces may be far off
ENGINE_LEAD_NS = 450  # GR Active leads the kernels by so much: 57 recordings of an H200 and H100, -0.25 to 0.77 µs
LOWEST_CORRELATION = 0.9
FLAT, WIDEST_NS = 5e-4, 1500  # correlations that differ by less are alike; where they reach further, none is best
WEAK_DEVIATION, STRONG_CORRELATION = 0.1, 0.95  # what varies by less must correlate better to mean anything
SMALLEST_DEVIATION = 0.02  # of the busy share of a sample: below it there is too little idle time to compare
FEWEST_SAMPLES, FEWEST_IN_PIECE = 50, 8  # of a recording, and of a piece, whose offset must fit those of others
SHARES_AT_ONCE = 400_000
OFFSETS = np.arange(-120, 121) * 1000  # ns; a period at 10 kHz and more


def check_clocks(activities: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """The offset between samples and trace on each GPU that has both samples of GR Active and kernels."""
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    rows = []
    for gpu, sampled in samples_by_gpu(samples).items():
        is_mine = (activities["gpu"] == gpu).to_numpy()
        of_gpu = pick_rows(activities, is_kernel & is_mine)
        if not sampled["gr_active_pct"].notna().any() or of_gpu.empty:
            continue
        begin, finish = of_gpu["start_ns"].to_numpy(), of_gpu["end_ns"].to_numpy()
        bridged = open_times(begin, np.maximum(finish, begin + 1) + BRIDGED_NS)  # kernels that soon follow one another
        busy = replace(bridged, end=bridged.end - BRIDGED_NS)
        chosen = sampled.iloc[_choose(busy, sampled)]
        # Not samples that show a copy within the memory, or a set: by the SMs that is GR Active, by an engine not.
        near = chosen["start_ns"].to_numpy() - BRIDGED_NS, chosen["end_ns"].to_numpy() + BRIDGED_NS
        moved = find_own_moves(pick_rows(activities, is_mine & ~is_kernel)).covered(*near)
        chosen = chosen[chosen["gr_active_pct"].notna() & (moved == 0)]
        whole = (int(sampled["start_ns"].iloc[0]), int(sampled["end_ns"].iloc[-1]))
        rows.append({"gpu": gpu, **_measure(busy, chosen, whole)})
    return CLOCKS.conform(pd.DataFrame(rows, columns=CLOCKS.names))


def _choose(busy: StepFunction, samples: pd.DataFrame) -> Ints:
    """Samples between the first and the last kernel: all, or those around the longest pauses of each piece."""
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    first = int(np.searchsorted(start, busy.start[0]))
    last = int(np.searchsorted(end, busy.end[-1], side="right"))
    if last - first <= MOST_SAMPLES:
        return np.arange(first, max(first, last))
    low, high = busy.end[:-1], busy.start[1:]  # the pauses
    piece = _pieces(low, (int(busy.start[0]), int(busy.end[-1])))
    period = (end[last - 1] - start[first]) / (last - first)
    number = max(1, int(MOST_SAMPLES / PIECES * period / (2 * np.ptp(OFFSETS))))  # of pauses: two edges each
    order = np.lexsort((low - high, piece))
    rank = np.arange(len(order)) - np.searchsorted(piece[order], piece[order])
    longest = order[rank < number]
    edges = np.concatenate([low[longest], high[longest]])
    begin, finish = (np.searchsorted(start, edges + bound) for bound in (OFFSETS[0], OFFSETS[-1]))
    chosen = np.zeros(len(start) + 1, dtype=np.int64)
    np.add.at(chosen, begin, 1)
    np.add.at(chosen, finish, -1)
    found = np.flatnonzero(np.cumsum(chosen)[:-1])
    return found[(found >= first) & (found < last)]


def _pieces(time: Ints, whole: tuple[int, int]) -> Ints:
    """The piece of a recording that each time lies in."""
    return np.asarray((time - whole[0]) * PIECES // (whole[1] - whole[0] + 1))


@dataclass(frozen=True)
class _Line:
    """An offset that changes evenly."""

    middle: float = 0.0  # the time at which it is ``offset``
    offset: float = 0.0  # in ns
    slope: float = 0.0  # in ns for each ns
    uneven_ns: float = 0.0  # by how much pieces depart from it, beyond their errors

    def at(self, time: Ints | Floats) -> Floats:
        """The offset at some times."""
        return np.asarray(self.offset + self.slope * (time - self.middle))


def _measure(busy: StepFunction, samples: pd.DataFrame, whole: tuple[int, int]) -> dict[str, float]:
    """A row of ``CLOCKS``, without the GPU."""
    line, found = _find_drift(busy, samples), compare(busy, samples)
    if line.slope or line.uneven_ns:
        straight = compare(busy, _move(samples, np.round(line.at(samples["start_ns"].to_numpy())).astype(np.int64)))
        if straight["correlation"] >= max(LOWEST_CORRELATION, np.nan_to_num(found["correlation"])):
            found = {**straight, "offset_ns": straight["offset_ns"] + line.offset}
        else:
            line = _Line()
    late = found["offset_ns"] + ENGINE_LEAD_NS
    is_known = found["correlation"] >= LOWEST_CORRELATION
    is_moved = is_known and (abs(late) > SMALLEST_OFFSET_NS or line.slope != 0)
    shifts = [round(late + line.slope * (time - line.middle)) if is_moved else 0 for time in whole]
    error = float(np.hypot(MOVED_ERROR_NS if is_moved else LEAST_OFFSET_NS, line.uneven_ns)) if is_known else np.nan
    return {**found, "shift_ns": shifts[0], "last_shift_ns": shifts[1], "error_ns": error}


def _find_drift(busy: StepFunction, samples: pd.DataFrame) -> _Line:
    """The line through the offsets of the pieces; flat where no drift is significant."""
    if not len(samples):
        return _Line()
    start = samples["start_ns"].to_numpy()
    piece = _pieces(start, (int(start[0]), int(start[-1])))
    first, found, about = run_starts(piece), [], 0
    for rows in np.split(np.arange(len(start)), first[1:]):
        measured = measure_offset(busy, _move(samples.iloc[rows], about))
        if measured is not None:
            offset, error = measured
            found.append((float(start[rows].mean()), about + offset, error))
            about += round(offset)
    if len(found) < FEWEST_PIECES:
        return _Line()
    return _fit_line(*np.array(found).T)


def _fit_line(time: Floats, offset: Floats, error: Floats) -> _Line:
    """The line through offsets; flat where its slope is not significant."""
    trust = np.ones(len(time))
    for _ in range(10):
        weight = trust / error**2
        middle, mean = np.average(time, weights=weight), np.average(offset, weights=weight)
        spread = float(np.sum(weight * (time - middle) ** 2))
        slope = float(np.sum(weight * (time - middle) * (offset - mean))) / spread
        left = offset - mean - slope * (time - middle)
        trust = (DEGREES + 1) / (DEGREES + (left / error) ** 2)
    wider = max(1.0, float(np.quantile(np.abs(left) / error, 0.68)))
    uneven = float(np.quantile(np.maximum(np.abs(left) - 2 * error, 0), 0.8))
    of_all = slope * np.ptp(time)
    is_drift = abs(of_all) > SMALLEST_DRIFT_NS and abs(slope) > SIGNIFICANT * wider / np.sqrt(spread)
    return _Line(float(middle), float(mean) if is_drift else 0.0, slope if is_drift else 0.0, uneven)


def align_samples(samples: pd.DataFrame, clocks: pd.DataFrame) -> pd.DataFrame:
    """The samples at the time that they show, where they are stamped measurably later or earlier."""
    moved = moved_clocks(clocks)
    if moved.empty:
        return samples
    gpu, start, end = (samples[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
    begin, finish = start.copy(), end.copy()
    for row in moved.itertuples():
        rows = np.flatnonzero(gpu == row.gpu)
        whole = [start[rows[0]], end[rows[-1]]]
        for times in (begin, finish):
            times[rows] -= np.round(np.interp(times[rows], whole, [row.shift_ns, row.last_shift_ns])).astype(np.int64)
    return samples.assign(start_ns=begin, end_ns=finish)


def moved_clocks(clocks: pd.DataFrame) -> pd.DataFrame:
    """The GPUs whose samples were moved."""
    return clocks[(clocks["shift_ns"] != 0) | (clocks["last_shift_ns"] != 0)]


def offset_errors(clocks: pd.DataFrame) -> dict[int, float]:
    """How far the samples of each GPU may still be off, in ns, where that was measured."""
    known = clocks[clocks["error_ns"].notna()]
    return dict(zip(known["gpu"].tolist(), known["error_ns"].tolist(), strict=True))


def _move(samples: pd.DataFrame, late: int | Ints) -> pd.DataFrame:
    return samples.assign(start_ns=samples["start_ns"] - late, end_ns=samples["end_ns"] - late)


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
    """The busy share of each sample at each offset, less its mean there; None where nothing is busy near them."""
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    busy = busy.between(start[0] + OFFSETS[0], end[-1] + OFFSETS[-1])
    times, place = np.unique(np.append(start, end), return_inverse=True)  # most samples begin where another ends
    borders = np.column_stack([busy.start, busy.end]).ravel()
    if not len(borders):
        return None
    # Between borders the busy time grows by 0 or 1 a ns: np.interp is exact, and quicker.
    counted, borders = busy.until(borders), (borders - times[0]).astype(np.float64)
    shares = np.empty((len(OFFSETS), len(start)))

    def fill(rows: Ints) -> None:
        until = np.interp(times - times[0] + OFFSETS[rows, None], borders, counted)
        grown = np.take(until, place[len(start) :], axis=1) - np.take(until, place[: len(start)], axis=1)
        shares[rows] = grown / (end - start)
        shares[rows] -= shares[rows].mean(axis=1, keepdims=True)

    some = np.array_split(np.arange(len(OFFSETS)), -(-shares.size // SHARES_AT_ONCE))
    with mapping_of(len(some)) as map_all:
        list(map_all(fill, some))
    return shares


def _refine(correlations: Floats, best: int) -> float:
    """The offset at the top of the parabola through the best one and its neighbours, in ns."""
    if not 0 < best < len(OFFSETS) - 1:
        return float(OFFSETS[best])
    before, top, after = correlations[best - 1 : best + 2]
    bend = before - 2 * top + after
    return float(OFFSETS[best] + (1000 * (before - after) / (2 * bend) if bend < 0 else 0))


def _correlate(one: Floats, others: Floats) -> Floats:
    """Pearson's correlation with each, whose mean is 0; 0 where either does not vary."""
    if one.std() == 0:
        return np.zeros(len(others))
    one = one - one.mean()
    varies = np.sqrt(one @ one) * np.sqrt(np.einsum("ij,ij->i", others, others))
    found: Floats = np.divide(others @ one, varies, out=np.zeros(len(others)), where=varies > 0)
    return np.clip(found, -1, 1)
