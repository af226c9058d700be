"""How many cycles the tensor pipes had while each launch ran: the SM clock, kernel by kernel.

Under load the clock falls within microseconds, and with it what a sample holds, so each kernel has a clock of its own:
what a sample lacks of the highest clock is shared among the launches under it and the time between them, as any counter
is. The clock follows with a lag, which is fitted as well. It also changes by itself; what the kernels leave over of a
sample is such a change, and all that ran in the sample had it. So a launch has what passed in the samples that are its
own, and what is uncertain is only how the samples at its borders are shared.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from tcprof.analysis.intervals import StepFunction, enumerate_keys, open_times, run_starts
from tcprof.analysis.kernels.design import Design, Launches, make_sparse
from tcprof.analysis.kernels.fit import Fit
from tcprof.analysis.kernels.least_squares import NEGLIGIBLE, Precision, normal_equations, smoothing_prior
from tcprof.analysis.kernels.noise import Noise, scale_rows
from tcprof.analysis.kernels.uncertainty import CLUSTERS_AT_ONCE
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.arrays import Floats, Ints

LOWEST_CLOCK = 0.2  # of the highest: it cannot be lower
CLOCK_ERROR = 3e-4  # of the highest clock: where it is constant, samples differ by so much
START_VARIATION = 0.005  # of the highest clock: how much launches of a class differ, before it is learned
LAG_NS, LAG_DEVIATION, MOST_LAG_NS = 1000.0, 1000.0, 4000.0  # how late the clock follows: 0.3 to 1.8 µs were seen
LAG_ERROR_NS = 300.0  # how much falls and rises differ in it, at least
STEEPEST = 10.0  # what a kernel may lack at most: of the most that a sample does
PASSES = 4


@dataclass(frozen=True)
class Capacity:
    """Cycles that all tensor pipes have in a ns."""

    of_launch: Floats  # of each launch
    of_class: Floats  # mean of each class
    covariance: Floats  # relative covariance of that

    def times(self, factor: float) -> "Capacity":
        """Convert to another unit, which has so much of it."""
        return replace(self, of_launch=factor * self.of_launch, of_class=factor * self.of_class)


def constant_capacity(launches: int, kinds: int, rate: float) -> Capacity:
    """Make the same rate for so many launches, of so many classes."""
    return Capacity(np.full(launches, rate), np.full(kinds, rate), np.zeros((kinds, kinds)))


def full_activity(counted: Fit, most: Capacity) -> Fit:
    """Convert what launches count to ns of full activity."""
    value = counted.value / most.of_class
    covariance = counted.covariance / np.outer(most.of_class, most.of_class)
    error = NORMAL_95 * np.sqrt(np.maximum(np.diag(most.covariance), 0))
    return replace(
        counted,
        value=value,
        covariance=covariance + np.outer(value, value) * most.covariance,
        bias=counted.bias / most.of_class,
        per_launch=counted.per_launch / most.of_launch,
        bounds=counted.bounds and counted.bounds.scaled(1 / most.of_launch, error),
    )


@dataclass(frozen=True)
class _Rows:
    """What runs in each sample: the classes, and as one more class the time in which nothing does."""

    design: Design  # its shares and parts are with that class; of launches at once each has its share of the time
    time: csr_array  # for each row and class the time, which adds up to the sample's
    # For each row and part of a launch how often it ends there, less how often it begins: of what it lacks beyond the
    # time between launches, a clock that is late by a ns lacks so much more
    turns: csr_array

    def sample(self) -> "_Rows":
        """Return the rows that the clock is fitted on, see ``Design.sample``."""
        rows = self.design.sampled_rows
        return _Rows(self.design.sample, self.time[rows], self.turns[rows])


@dataclass(frozen=True)
class _Clock:
    """What the samples lack of the highest clock, fitted."""

    rate: Floats  # what each part lacks in a ns
    lag_ns: float  # how late the clock follows
    turn: Floats  # what each part lacks in a ns beyond the time between launches, in the pass before
    precision: Precision  # of the parts, and of the lag
    weighted: Floats  # what the fit leaves of each of its rows, times the inverse of its variance


def fit_capacity(launches: Launches, design: Design, pipe_cycles: Floats, samples: StepFunction) -> Capacity:
    """Fit the clock of every launch; where none was recorded, ``pipe_cycles`` are NaN, and shares are of the time."""
    highest = float(np.quantile(pipe_cycles / (samples.end - samples.start), 0.99))
    if np.isnan(highest) or not len(design.row):
        return constant_capacity(len(launches.start), len(launches.opaque), 1.0 if np.isnan(highest) else highest)
    rows = _find_rows(launches, design, samples)
    missing, some = np.maximum(highest * design.length - pipe_cycles[design.row], 0), rows.sample()
    clock = _fit_clock(some, missing[design.sampled_rows], highest)
    residual = (
        missing - clock.lag_ns * (rows.turns @ clock.turn) - rows.design.shares @ (clock.rate * rows.design.part_ns)
    )
    duration, kinds = launches.end - launches.start, len(launches.opaque)
    total, sampled = np.bincount(launches.kind, duration), np.asarray(rows.time.sum(axis=0))[:kinds]
    changes = StepFunction(samples.start[design.row], samples.end[design.row], -residual / design.length)
    covered = np.maximum(changes.covered(launches.start, launches.end), 1)
    sums, length = (np.bincount(design.part_kind, weight * design.part_ns) for weight in (clock.rate[:-1], 1))
    late, by_lag = _lag_behind(launches, rows.design, clock)
    missing = np.maximum((sums / length)[launches.kind] + late / duration, 0)
    change = changes.integral(launches.start, launches.end) / covered
    of_launch = np.clip(highest - missing + change, LOWEST_CLOCK * highest, highest)
    of_class = np.bincount(launches.kind, of_launch * duration) / total
    covariance = _covariance(rows, some, clock, np.append(by_lag * sampled / total, 0.0))
    covariance += _covariance_in_time(rows, residual)
    passed = np.maximum(sampled, 1) * of_class
    return Capacity(of_launch, of_class, covariance[:kinds, :kinds] / np.outer(passed, passed))


def _find_rows(launches: Launches, design: Design, samples: StepFunction) -> _Rows:
    """Add the time in which nothing runs to the design."""
    start, end = samples.start[design.row], samples.end[design.row]
    busy = open_times(launches.start, launches.end).integral(start, end)
    at_once = busy / np.maximum(design.class_ns.sum(axis=1), 1)
    idle = design.length - busy
    idle_ns = max(float(idle.mean()), 1.0) if len(idle) else 1.0
    shares = _append_column(scale_rows(at_once, design.shares), idle / idle_ns)
    time = _append_column(scale_rows(at_once, design.class_ns), idle)
    kinds, part_ns = len(launches.opaque), np.append(design.part_ns, idle_ns)
    first = run_starts(design.part_kind)
    last = np.append(first[1:], len(design.part_kind)) - 1
    ends, begins = (
        _count_in_rows(times, parts[launches.kind], start, end, len(design.part_kind))
        for times, parts in ((launches.end, last), (launches.start, first))
    )
    apart = replace(design, shares=shares, part_kind=np.append(design.part_kind, kinds), part_ns=part_ns)
    return _Rows(apart, time, ends - begins)


def _append_column(columns: csr_array, last: Floats) -> csr_array:
    """Append a column to the matrix: scipy takes three times as long."""
    begins = columns.indptr + np.arange(len(columns.indptr), dtype=np.int32)
    values, indices = np.empty(begins[-1]), np.full(begins[-1], columns.shape[1], dtype=np.int32)
    is_last = np.zeros(begins[-1], dtype=bool)
    is_last[begins[1:] - 1] = True
    values[is_last], values[~is_last], indices[~is_last] = last, columns.data, columns.indices
    return csr_array((values, indices, begins), shape=(columns.shape[0], columns.shape[1] + 1))


def _count_in_rows(times: Ints, part: Ints, start: Ints, end: Ints, parts: int) -> csr_array:
    """Count how many of these times lie in each row, by part."""
    row = np.searchsorted(start, times, side="right") - 1
    inside = (row >= 0) & (times < end[row])
    return make_sparse(np.ones(int(inside.sum())), row[inside], part[inside], (len(start), parts))


def _fit_clock(rows: _Rows, missing: Floats, highest: float) -> _Clock:
    """Solve for what each part lacks, and for the lag, in turns."""
    design, length = rows.design, rows.design.length
    alone = rows.time.multiply(rows.time).sum(axis=1) / length**2
    most = min(highest, STEEPEST * float(np.quantile(missing / length, 0.999)) + CLOCK_ERROR * highest)
    rate = np.full(len(design.part_ns), missing.sum() / length.sum())
    variation, lag_ns, none = (START_VARIATION * highest) ** 2, LAG_NS, np.zeros(len(length))
    for number in range(PASSES):
        variance = length**2 * (variation * alone + (CLOCK_ERROR * highest) ** 2)
        noise, turn = Noise(variance, none), rate[:-1] - rate[-1]
        by_lag = rows.turns @ turn
        normal, right, _ = normal_equations(design, np.column_stack([missing - lag_ns * by_lag, by_lag]), noise)
        prior = smoothing_prior(design, rate, highest, most)
        precision = Precision(normal + prior)
        parts = precision.minimize(right[:, 0], NEGLIGIBLE * highest * design.part_ns, rate > 0)
        rate = parts / design.part_ns
        residual = missing - lag_ns * by_lag - design.shares @ parts
        variation = float(np.mean(_steps(residual / length)) / np.mean(alone))
        lag_residual = by_lag - design.shares @ precision.solve(right[:, 1])
        size = float(lag_residual @ (by_lag / variance)) + LAG_DEVIATION**-2
        step = (float(lag_residual @ (residual / variance)) + (LAG_NS - lag_ns) / LAG_DEVIATION**2) / size
        if number < PASSES - 1:
            lag_ns = float(np.clip(lag_ns + step, 0, MOST_LAG_NS))
    of_lag = by_lag @ (by_lag / variance) + LAG_DEVIATION**-2
    both = np.block([[normal + prior, right[:, 1:]], [right[:, 1:].T, np.array([[of_lag]])]])
    return _Clock(rate, lag_ns, turn, Precision(both), residual / variance)


def _lag_behind(launches: Launches, design: Design, clock: _Clock) -> tuple[Floats, Floats]:
    """Measure what each launch lacks more as the clock follows late, and a class's launches for each ns of the lag."""
    idle = clock.rate[-1]
    last = np.append(run_starts(design.part_kind)[1:], len(design.part_kind)) - 1
    at_end = clock.rate[last[launches.kind]]
    before = np.append(idle, at_end[:-1])
    reached = np.append(launches.start[0], np.maximum.accumulate(launches.end)[:-1])
    since = np.clip(launches.start - reached, 0, clock.lag_ns)
    late = since * idle + (clock.lag_ns - since) * before - clock.lag_ns * at_end
    share = since / max(clock.lag_ns, 1.0)
    by_lag = np.bincount(launches.kind, share * idle + (1 - share) * before - at_end)
    return late, np.asarray(by_lag, dtype=np.float64)


def _covariance(rows: _Rows, some: _Rows, clock: _Clock, by_lag: Floats) -> Floats:
    """Compute the covariance of what passes in all launches of each class, from that of the fit.

    What a sample holds is known, so that only how it is shared is uncertain. What the fit leaves over is summed by
    clusters of neighbours, and by places: samples with the same two classes for the most part, since the same kernels
    follow each other in each step, and differ from others of their class in the same way (Cameron, Gelbach and Miller,
    Robust inference with multiway clustering, 2011). The clock was fitted on ``some`` of the rows.
    """
    design = rows.design
    shared = scale_rows(1 / design.length, rows.time).T.tocsr()
    follows = np.zeros((rows.time.shape[1], len(design.part_ns) + 1))
    follows[design.part_kind, np.arange(len(design.part_ns))] = design.shares.sum(axis=0)
    follows[:, :-1] -= (shared @ design.shares).toarray()
    follows[:, -1] = by_lag - shared @ (rows.turns @ clock.turn)
    answer = clock.precision.solve(follows.T)
    total = follows @ answer + LAG_ERROR_NS**2 * np.outer(follows[:, -1], follows[:, -1])
    late = some.turns @ clock.turn
    for group in (some.design.cluster, _number_class_pairs(some.time)):
        count = int(group.max(initial=-1)) + 1
        summed = make_sparse(clock.weighted, group, np.arange(len(group)), (count, len(group)))
        for low in range(0, count, CLUSTERS_AT_ONCE):  # a dense row for each
            groups = summed[low : low + CLUSTERS_AT_ONCE]
            influence = groups @ some.design.shares @ answer[:-1] + np.outer(groups @ late, answer[-1])
            total += influence.T @ influence
    return np.asarray(total)


def _number_class_pairs(time: csr_array) -> Ints:
    """Number the two classes that have most of each row's time."""
    first, count, kinds = time.indptr[:-1], np.diff(time.indptr), time.shape[1]
    low, high = np.zeros((2, len(count)), dtype=np.int64)
    remaining = time.data.copy()
    for class_number in (low, high):
        is_most = remaining == np.repeat(np.maximum.reduceat(remaining, first), count)
        row = np.repeat(np.arange(len(count)), count)[is_most]
        class_number[row] = time.indices[is_most]
        remaining[is_most] = -1
    places = np.minimum(low, high) * kinds + np.maximum(low, high)
    return enumerate_keys(places)[1]


def _covariance_in_time(rows: _Rows, residual: Floats) -> Floats:
    """Compute the same as the clock changes within samples, which follows from how it differs between neighbours.

    In a row each class differs by itself from what the fit gives it; that their sum is known ties them.
    """
    length, time = rows.design.length, rows.time
    square = csr_array(time.multiply(time))
    steps, alone = _steps(residual / length), square.sum(axis=1) / length**2
    of_row = np.maximum(steps[1:], steps[:-1]) / alone
    of_pairs = (square.T @ scale_rows(of_row / length, time)).toarray()
    of_all = (time.T @ scale_rows(of_row * alone, time)).toarray()
    return np.asarray(np.diag(square.T @ of_row) - of_pairs - of_pairs.T + of_all)


def _steps(change: Floats) -> Floats:
    """Estimate the variance of each step from one row to the next; 0 before the first and after the last."""
    return np.asarray(np.diff(change, prepend=change[:1], append=change[-1:]) ** 2 / 2)
