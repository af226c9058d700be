"""Whether the sampler's clock is the trace's: GR Active against the time under kernels.

Samples and kernels come from different clocks that Nsight Systems has brought together. Where they are apart, samples
show other kernels than those that they lie under. So they are moved by as much as can be measured.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tcprof.analysis.copies import find_own_moves
from tcprof.analysis.intervals import StepFunction, union
from tcprof.analysis.picking import pick_rows
from tcprof.analysis.sampling import samples_by_gpu
from tcprof.arrays import Bools, Floats
from tcprof.frames import CLOCKS, KERNEL_KINDS

ENGINE_LEAD_NS = 450  # GR Active leads the kernels by so much: 57 recordings of an H200 and H100, -0.25 to 0.77 µs
MOVED_ERROR_NS = 500.0  # how well samples that were moved lie then
SMALLEST_OFFSET_NS = 1000  # smaller differences are not significant
LOWEST_CORRELATION = 0.9
BRIDGED_NS = 5_000  # the engine stays active between kernels that follow each other this closely
FLAT, WIDEST_NS = 5e-4, 1500  # correlations that differ by less are alike; where they reach further, none is best
WEAK_DEVIATION, STRONG_CORRELATION = 0.1, 0.95  # what varies by less must correlate better to mean anything
SMALLEST_DEVIATION = 0.02  # of the busy share of a sample: below it there is too little idle time to compare
FEWEST_SAMPLES = 50
MOST_SAMPLES = 20_000
_OFFSETS = np.arange(-120, 121) * 1000  # ns; a period at 10 kHz and more


def check_clocks(activities: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """The offset between samples and trace on each GPU.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``.
        samples: See ``tcprof.frames.SAMPLES``.

    Returns:
        See ``tcprof.frames.CLOCKS``; a GPU has a row if it has both samples of GR Active and kernels.
    """
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    rows = []
    for gpu, sampled in samples_by_gpu(samples).items():
        known = sampled["gr_active_pct"].notna().to_numpy()
        is_mine = (activities["gpu"] == gpu).to_numpy()
        of_gpu = pick_rows(activities, is_kernel & is_mine)
        if not known.any() or of_gpu.empty:
            continue
        busy = _busy(of_gpu)
        inside = known & (sampled["start_ns"] >= busy.start[0]) & (sampled["end_ns"] <= busy.end[-1])
        inside &= ~_shows_moves(pick_rows(activities, is_mine & ~is_kernel), sampled)
        found = _compare(busy, sampled.iloc[np.flatnonzero(inside)[:MOST_SAMPLES]])
        rows.append({"gpu": gpu, **found, "shift_ns": _find_shift(**found)})
    return CLOCKS.conform(pd.DataFrame(rows, columns=CLOCKS.names))


def _find_shift(offset_ns: float, correlation: float) -> int:
    """By how much samples are too late, in ns; 0 where this is unknown."""
    late = offset_ns + ENGINE_LEAD_NS
    return round(late) if correlation >= LOWEST_CORRELATION and abs(late) > SMALLEST_OFFSET_NS else 0


def align_samples(samples: pd.DataFrame, clocks: pd.DataFrame) -> pd.DataFrame:
    """The samples at the time that they show, where they are stamped measurably later or earlier.

    Args:
        samples: See ``tcprof.frames.SAMPLES``.
        clocks: See ``check_clocks``.
    """
    moved = clocks.loc[clocks["shift_ns"] != 0].set_index("gpu")["shift_ns"]
    if moved.empty:
        return samples
    shift = samples["gpu"].map(moved).fillna(0).to_numpy(np.int64)
    return samples.assign(start_ns=samples["start_ns"] - shift, end_ns=samples["end_ns"] - shift)


def offset_errors(clocks: pd.DataFrame) -> dict[int, float]:
    """How far the samples of each GPU that were moved may still be off, in ns.

    Args:
        clocks: See ``check_clocks``.
    """
    return dict.fromkeys(clocks.loc[clocks["shift_ns"] != 0, "gpu"].tolist(), MOVED_ERROR_NS)


def _busy(kernels: pd.DataFrame) -> StepFunction:
    """1 while a kernel runs, or is about to follow the one before."""
    start, end = kernels["start_ns"].to_numpy(), kernels["end_ns"].to_numpy()
    _, begin, finish = union(np.zeros(len(kernels), dtype=np.int64), start, np.maximum(end, start + 1) + BRIDGED_NS)
    return StepFunction(begin, finish - BRIDGED_NS, np.ones(len(begin)))


def _shows_moves(activities: pd.DataFrame, samples: pd.DataFrame) -> Bools:
    """Whether a sample shows a copy within the memory, or a set: by the SMs that is GR Active, by an engine not."""
    start, end = samples["start_ns"].to_numpy() - BRIDGED_NS, samples["end_ns"].to_numpy() + BRIDGED_NS
    shown: Bools = find_own_moves(activities).covered(start, end) > 0
    return shown


def _compare(busy: StepFunction, samples: pd.DataFrame) -> dict[str, float]:
    """Offset and correlation at the offset that correlates best.

    Unknown where the GPU was idle, or busy, nearly all the time.
    """
    unknown = {"offset_ns": np.nan, "correlation": np.nan}
    if len(samples) < FEWEST_SAMPLES:
        return unknown
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    active = samples["gr_active_pct"].to_numpy() / 100
    busy = busy.between(start[0] + _OFFSETS[0], end[-1] + _OFFSETS[-1])
    times, place = np.unique(np.append(start, end), return_inverse=True)  # most samples begin where another ends
    borders = np.column_stack([busy.start, busy.end]).ravel()
    if not len(borders):
        return unknown
    # Between borders the busy time grows by 0 or 1 a ns: np.interp is exact, and quicker.
    counted, begin = busy.until(borders), times[0]
    until = (np.interp(times - begin + offset, borders - begin, counted) for offset in _OFFSETS)
    shares = [(at[place[len(start) :]] - at[place[: len(start)]]) / (end - start) for at in until]
    if np.std(shares[len(_OFFSETS) // 2]) < SMALLEST_DEVIATION:
        return unknown
    correlations = _correlate(active, shares)
    best = int(np.argmax(correlations))
    alike = _OFFSETS[correlations >= correlations[best] - FLAT]
    is_flat = correlations[best] >= LOWEST_CORRELATION and np.ptp(alike) > 2 * WIDEST_NS
    is_weak = np.std(shares[len(_OFFSETS) // 2]) < WEAK_DEVIATION and correlations[best] < STRONG_CORRELATION
    if is_weak or (is_flat and not alike.min() <= ENGINE_LEAD_NS <= alike.max()):
        return unknown
    if is_flat:  # and one clock is among what fits
        return {"offset_ns": float(-ENGINE_LEAD_NS), "correlation": float(correlations[best])}
    # Best where samples show what the trace has so much later: then they are stamped that much too early.
    return {"offset_ns": -_refine(correlations, best), "correlation": float(correlations[best])}


def _refine(correlations: Floats, best: int) -> float:
    """The offset at the top of the parabola through the best one and its neighbours, in ns."""
    if not 0 < best < len(_OFFSETS) - 1:
        return float(_OFFSETS[best])
    before, top, after = correlations[best - 1 : best + 2]
    bend = before - 2 * top + after
    return float(_OFFSETS[best] + (1000 * (before - after) / (2 * bend) if bend < 0 else 0))


def _correlate(one: Floats, others: Sequence[Floats]) -> Floats:
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
