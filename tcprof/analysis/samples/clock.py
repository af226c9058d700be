"""Compare the sampler's clock with the trace's: GR Active beside the time under kernels, where work begins and ends.

tcprof compares samples around the clearest edges between busy and idle with the kernels at many offsets. Untraced work
costs the same at all of them, and decides nothing. It measures recordings in pieces: a line through the pieces' offsets
shows whether the clocks drift apart; deviations from the line are an error.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction, open_times, run_starts
from tcprof.analysis.samples.borders import LEAST_OFFSET_NS, UNMEASURED_OFFSET_NS
from tcprof.analysis.samples.copies import find_internal_moves
from tcprof.analysis.samples.sampling import NORMAL_95, samples_by_gpu
from tcprof.arrays import Floats, Ints, mapping_of, pick_rows
from tcprof.frames import CLOCKS, KERNEL_KINDS

MOVED_ERROR_NS = 500.0  # error of samples after a correction
SMALLEST_OFFSET_NS = 1000  # smaller differences are not significant
# GR Active begins before a kernel and ends after it: medians at the edges of 46 recordings of an H200 and H100. With
# that, 47 recordings with 20 edges or more have offsets of -248 to 177 ns.
ENGINE_EARLY_NS, ENGINE_LATE_NS, ENGINE_ERROR_NS = 1350, 450, 300
BRIDGED_NS = 3000  # the engine stays active between kernels that follow each other this closely
PIECES, EDGES_IN_PIECE = 40, 10  # of a recording, at most; the offset of each piece is measured
FEWEST_PIECES = 4  # a drift needs so many
PASSES = 2  # a drift moves the edges within a piece apart, until it is known
FEWEST_EDGES = 3
LEAST_CONTRAST = 0.1  # between the periods before and after an edge, as a share of them
PERIODS, RANGE_NS = 12, (120_000, 600_000)  # how far offsets are looked for: so many periods, within these limits
GRID = np.linspace(-1, 1, 121)  # of the offsets that are tried, closer and closer around those that fit
ZOOMS, FINEST_NS = 4, 20.0
MOST_LOSS = 0.3  # of a sample, as a share of it
LEAST_LOSS = 0.005  # at most offsets: below it samples hardly vary
LOWEST_AGREEMENT_PCT = 50.0
CLEARLY = 2.0  # times the least loss: what is below it fits, too
LIKELY = NORMAL_95**2 / 2  # by how much a log-likelihood is below its maximum at the ends of a 95 % interval
SMALLEST_DRIFT_NS = 500  # from the first piece to the last: less is left to the fit's own estimate of the offset
SIGNIFICANT = 5.0  # standard errors from which a drift is corrected
DEGREES = 4.0  # of Student's t: single pieces may be far off
SHARES_AT_ONCE = 400_000


def check_clocks(activities: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Measure the offset between samples and trace on each GPU that has both samples of GR Active and kernels."""
    is_kernel = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    rows = []
    for gpu, sampled in samples_by_gpu(samples).items():
        is_mine = (activities["gpu"] == gpu).to_numpy()
        kernels = pick_rows(activities, is_kernel & is_mine)
        if not sampled["gr_active_pct"].notna().any() or kernels.empty:
            continue
        begin, end = kernels["start_ns"].to_numpy(), kernels["end_ns"].to_numpy()
        # Copies within the memory, and sets, are GR Active only by the SMs, not by an engine.
        moves = find_internal_moves(pick_rows(activities, is_mine & ~is_kernel))
        sure = _bridge(begin, end)
        most = _bridge(np.append(begin, moves.start), np.append(end, moves.end)) if len(moves.start) else sure
        work = _Engine(sure, most)
        edges, reach = _choose_edges(work, sampled)
        chosen = sampled.iloc[_find_near(edges, reach, sampled)].dropna(subset="gr_active_pct")
        whole = (int(sampled["start_ns"].iloc[0]), int(sampled["end_ns"].iloc[-1]))
        rows.append({"gpu": gpu, **_measure(work, chosen, edges, reach, whole)})
    return CLOCKS.conform(pd.DataFrame(rows, columns=CLOCKS.names))


class _Engine(NamedTuple):
    """When the engine behind GR Active was at work."""

    sure: StepFunction
    most: StepFunction  # at most


def _bridge(start: Ints, end: Ints) -> StepFunction:
    bridged = open_times(start - ENGINE_EARLY_NS, np.maximum(end, start + 1) + ENGINE_LATE_NS + BRIDGED_NS)
    return replace(bridged, end=bridged.end - BRIDGED_NS)


def _choose_edges(work: _Engine, samples: pd.DataFrame) -> tuple[Ints, int]:
    """Choose the clearest begins and ends of work in each piece, and the largest offset to look for.

    The beginning of all work is none of them: the preparation of a recording may have been active before it.
    """
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    period = int(np.median(end - start))
    ends, begins = work.most.end, work.most.start[1:]
    pause = np.append(begins - ends[:-1], period)  # nothing follows the last
    busy_ns = np.append(work.sure.covered(ends - period, ends), work.sure.covered(begins, begins + period))
    contrast = busy_ns / period * np.minimum(1, np.append(pause, pause[:-1]) / period)
    time = np.append(ends, begins)
    clear = np.flatnonzero((contrast >= LEAST_CONTRAST) & (time >= start[0]) & (time < end[-1]))
    clear = clear[np.argsort(time[clear], kind="stable")]
    piece = np.arange(len(clear)) * PIECES // max(len(clear), 1)  # as many edges in each, wherever they are
    order = np.lexsort((-contrast[clear], piece))
    rank = np.arange(len(order)) - np.searchsorted(piece, piece)
    reach = int(np.clip(PERIODS * period, *RANGE_NS))
    return np.sort(time[clear[order[rank < EDGES_IN_PIECE]]]), reach


def _find_near(edges: Ints, reach: int, samples: pd.DataFrame) -> Ints:
    """Find the samples that may show one of the edges."""
    first = np.searchsorted(samples["end_ns"].to_numpy(), edges - reach, side="right")
    last = np.searchsorted(samples["start_ns"].to_numpy(), edges + reach)
    chosen = np.zeros(len(samples) + 1, dtype=np.int64)
    np.add.at(chosen, first, 1)
    np.add.at(chosen, last, -1)
    return np.flatnonzero(np.cumsum(chosen)[:-1])


@dataclass(frozen=True)
class _Line:
    """An offset that changes evenly."""

    middle: float = 0.0  # the time at which it is ``offset``
    offset: float = 0.0  # in ns
    slope: float = 0.0  # in ns for each ns
    uneven_ns: float = 0.0  # by how much pieces depart from it, beyond their errors

    def at(self, time: Ints | Floats) -> Floats:
        """Return the offset at some times."""
        return np.asarray(self.offset + self.slope * (time - self.middle))


def _measure(work: _Engine, samples: pd.DataFrame, edges: Ints, reach: int, whole: tuple[int, int]) -> dict[str, float]:
    """Measure a row of ``CLOCKS``, without the GPU."""
    row: dict[str, float] = {"edge_count": len(edges), "shift_ns": 0, "last_shift_ns": 0}
    if len(edges) < FEWEST_EDGES or samples.empty:
        return row
    line = _find_drift(work, samples, edges, reach)
    located = _find_offset(work, _move(samples, line.at(samples["start_ns"].to_numpy())), reach)
    if located is None:
        return row
    row["agreement_pct"] = located.agreement_pct
    if not located.is_known:
        return row
    offset = line.offset + located.offset
    low, high = (offset + sign * (located.half + ENGINE_ERROR_NS) for sign in (-1, 1))
    is_moved = line.slope != 0 or (abs(offset) > SMALLEST_OFFSET_NS and not low <= 0 <= high)
    shifts = [round(offset + line.slope * (time - line.middle)) if is_moved else 0 for time in whole]
    clock_error = float(np.clip(located.half, LEAST_OFFSET_NS, UNMEASURED_OFFSET_NS))
    error = np.hypot(np.hypot(MOVED_ERROR_NS, located.half) if is_moved else clock_error, line.uneven_ns)
    row |= {"offset_ns": offset, "offset_low_ns": low, "offset_high_ns": high, "error_ns": float(error)}
    return row | {"shift_ns": shifts[0], "last_shift_ns": shifts[1]}


def _find_drift(work: _Engine, samples: pd.DataFrame, edges: Ints, reach: int) -> _Line:
    """Fit a line through the offsets of the pieces; flat where no drift is significant."""
    line, start = _Line(), samples["start_ns"].to_numpy()
    pieces = min(PIECES, len(edges) // EDGES_IN_PIECE)
    piece = np.minimum(np.searchsorted(edges, start) * pieces // len(edges), pieces - 1)
    several = np.split(np.arange(len(start)), run_starts(piece)[1:])
    for _ in range(PASSES if pieces >= FEWEST_PIECES else 0):
        moved, about, offsets = _move(samples, line.at(start)), 0.0, []
        for rows in several:
            located = _find_offset(work, _move(moved.iloc[rows], about), reach)
            if located is not None and located.is_known:
                about += located.offset
                error = float(np.hypot(located.half / NORMAL_95, LEAST_OFFSET_NS))
                offsets.append((start[rows].mean(), float(line.at(start[rows]).mean()) + about, error))
        line = _fit_line(*np.array(offsets).T) if len(offsets) >= FEWEST_PIECES else line
        if not line.slope:
            break
    return line


def _fit_line(time: Floats, offset: Floats, error: Floats) -> _Line:
    """Fit a line through offsets; flat where its slope is not significant."""
    trust = np.ones(len(time))
    for _ in range(10):
        weight = trust / error**2
        middle, mean = np.average(time, weights=weight), np.average(offset, weights=weight)
        spread = float(np.sum(weight * (time - middle) ** 2))
        slope = float(np.sum(weight * (time - middle) * (offset - mean))) / spread
        residual = offset - mean - slope * (time - middle)
        trust = (DEGREES + 1) / (DEGREES + (residual / error) ** 2)
    wider = max(1.0, float(np.quantile(np.abs(residual) / error, 0.68)))
    uneven = float(np.quantile(np.maximum(np.abs(residual) - 2 * error, 0), 0.8))
    total_drift = slope * np.ptp(time)
    is_drift = abs(total_drift) > SMALLEST_DRIFT_NS and abs(slope) > SIGNIFICANT * wider / np.sqrt(spread)
    return _Line(float(middle), float(mean) if is_drift else 0.0, slope if is_drift else 0.0, uneven)


def align_samples(samples: pd.DataFrame, clocks: pd.DataFrame) -> pd.DataFrame:
    """Move samples that are stamped measurably late or early."""
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
    """Return the GPUs whose samples were moved."""
    return clocks[(clocks["shift_ns"] != 0) | (clocks["last_shift_ns"] != 0)]


def offset_errors(clocks: pd.DataFrame) -> dict[int, float]:
    """Return how far the samples of each GPU may still be off, in ns, where that was measured."""
    measured = clocks[clocks["error_ns"].notna()]
    return dict(zip(measured["gpu"].tolist(), measured["error_ns"].tolist(), strict=True))


def _move(samples: pd.DataFrame, late: float | Floats) -> pd.DataFrame:
    shift = np.round(late).astype(np.int64)
    return samples.assign(start_ns=samples["start_ns"] - shift, end_ns=samples["end_ns"] - shift)


@dataclass(frozen=True)
class _MeasuredOffset:
    """The offset at which some samples show best what the trace has."""

    offset: float  # how much later they are stamped, in ns
    half: float  # of its 95 % interval
    agreement_pct: float  # by how much less they differ from the trace than at other offsets
    is_only: bool  # whether no other offset fits

    @property
    def is_known(self) -> bool:
        """Tell whether it is known; where several fit, as in an exactly repeating program, no offset is."""
        is_one_clock = abs(self.offset) <= max(self.half, SMALLEST_OFFSET_NS)
        return self.agreement_pct >= LOWEST_AGREEMENT_PCT and (self.is_only or is_one_clock)


def _find_offset(work: _Engine, samples: pd.DataFrame, reach: int) -> _MeasuredOffset | None:
    """Find the offset of samples; None where samples or kernels hardly vary at their edges."""
    offsets = reach * GRID
    losses = _compute_losses(work, samples, offsets)
    mean = losses.mean(axis=1)
    usual = float(np.median(mean))
    if usual < LEAST_LOSS or samples["gr_active_pct"].std() < 100 * LEAST_LOSS:
        return None
    fits, best = offsets[mean <= CLEARLY * mean.min()], float(offsets[np.argmin(mean)])
    period = float((samples["end_ns"] - samples["start_ns"]).median())
    is_only = bool((np.abs(fits - best) <= 2 * period).all())
    middle = best if is_only else float(fits[np.argmin(np.abs(fits))])
    step, width = 0.0, max(period, 2 * reach * (GRID[1] - GRID[0]))
    for _ in range(ZOOMS):
        offsets, step = middle + width * GRID, width * (GRID[1] - GRID[0])
        losses = _compute_losses(work, samples, offsets)
        total = losses.sum(axis=1)
        differ = np.ptp(losses, axis=0) > LEAST_LOSS
        # The log-likelihood of Laplace's distribution is the total loss over its mean where there is any difference.
        scale = losses[np.argmin(total), differ].mean() if differ.any() else MOST_LOSS
        alike = offsets[total <= total.min() + LIKELY * scale]
        middle, half = float(alike.min() + alike.max()) / 2, float(np.ptp(alike)) / 2 + step
        if step <= FINEST_NS or half > 20 * step:
            break
        width = 2 * half
    agreement = 100 * (1 - float(total.min()) / len(samples) / usual)
    return _MeasuredOffset(-middle, half, agreement, is_only)


def _compute_losses(work: _Engine, samples: pd.DataFrame, offsets: Floats) -> Floats:
    """Compute by how much each sample differs from its busy share at each offset, cut where untraced work may show."""
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    active = samples["gr_active_pct"].to_numpy() / 100
    times, index = np.unique(np.append(start, end), return_inverse=True)  # most samples begin where another ends
    limits = int(start[0] + offsets[0]), int(end[-1] + offsets[-1]) + 1
    steps = [busy.between(*limits) for busy in (work[:1] if work.sure is work.most else work)]
    losses = np.empty((len(offsets), len(start)))

    def share(busy: StepFunction, rows: Ints) -> Floats:
        # Between borders the busy time grows by 0 or 1 a ns: np.interp is exact, and quicker.
        borders = np.column_stack([busy.start, busy.end]).ravel()
        until = np.interp(times - times[0] + offsets[rows, None], borders - times[0], busy.until(borders))
        grown = np.take(until, index[len(start) :], axis=1) - np.take(until, index[: len(start)], axis=1)
        return np.asarray(grown / (end - start))

    def fill(rows: Ints) -> None:
        shares = [share(busy, rows) if len(busy.start) else np.zeros(1) for busy in steps]
        losses[rows] = np.clip(np.maximum(shares[0] - active, active - shares[-1]), 0, MOST_LOSS)

    some = np.array_split(np.arange(len(offsets)), -(-losses.size // SHARES_AT_ONCE))
    with mapping_of(len(some)) as map_all:
        list(map_all(fill, some))
    return losses
