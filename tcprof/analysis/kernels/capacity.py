"""How many cycles the tensor pipes had while each launch ran: the SM clock, kernel by kernel.

Under load the clock falls within microseconds, and with it what a sample holds, so each kernel has a clock of its own:
what a sample lacks of the highest clock is shared among the launches under it, as any counter is. The clock also
changes by itself; what the kernels leave over of a sample is such a change, and all that ran in the sample had it.
"""

from dataclasses import dataclass, replace

import numpy as np

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.design import Design, Launches
from tcprof.analysis.kernels.fit import Fit, fit
from tcprof.analysis.sampling import NORMAL_95
from tcprof.arrays import Floats

CLOCK_ERROR = 0.003  # of the highest clock: how well a sample shows it
LOWEST_CLOCK = 0.2  # of the highest: it cannot be lower


@dataclass(frozen=True)
class Capacity:
    """Cycles that all tensor pipes have in a ns.

    Attributes:
        of_launch: Of each launch.
        of_class: Mean of each class.
        error: Relative standard error of that.
    """

    of_launch: Floats
    of_class: Floats
    error: Floats

    def times(self, factor: float) -> "Capacity":
        """The same of another unit, which has so much of it."""
        return replace(self, of_launch=factor * self.of_launch, of_class=factor * self.of_class)


def unknown_capacity(launches: Launches) -> Capacity:
    """1 for every launch, where no clock was recorded: then percentages are those of the time."""
    kinds = int(launches.kind.max()) + 1
    return Capacity(np.ones(len(launches.start)), np.ones(kinds), np.zeros(kinds))


def full_activity(counted: Fit, most: Capacity) -> Fit:
    """What launches count, in ns of full activity.

    Args:
        counted: What was counted.
        most: The most that can be counted in a ns.
    """
    return replace(
        counted,
        value=counted.value / most.of_class,
        covariance=counted.covariance / np.outer(most.of_class, most.of_class)
        + np.diag((most.error * counted.value / most.of_class) ** 2),
        bias=counted.bias / most.of_class,
        per_launch=counted.per_launch / most.of_launch,
        bounds=counted.bounds and counted.bounds.scaled(1 / most.of_launch, NORMAL_95 * most.error),
    )


def fit_capacity(launches: Launches, design: Design, pipe_cycles: Floats, samples: StepFunction) -> Capacity:
    """The clock of every launch, by one pass of the fit.

    Args:
        launches: The launches.
        design: See ``build_design``.
        pipe_cycles: Cycles that passed in each sample.
        samples: The samples.
    """
    length = samples.end - samples.start
    highest = float(np.quantile(pipe_cycles / length, 0.99))
    lacking = np.maximum(highest * length - pipe_cycles, 0)
    error = np.asarray(CLOCK_ERROR * highest * length, dtype=np.float64)
    found = fit(launches, design, lacking, error, np.zeros(len(error)), highest, passes=1)
    duration = launches.end - launches.start
    left = (lacking[design.row] - design.shares @ found.parts) / design.length
    changes = StepFunction(samples.start[design.row], samples.end[design.row], left)
    covered = np.maximum(changes.covered(launches.start, launches.end), 1)
    change = changes.integral(launches.start, launches.end) / covered
    of_launch = np.clip(highest - found.per_launch / duration - change, LOWEST_CLOCK * highest, highest)
    total = np.bincount(launches.kind, duration)
    of_class = np.bincount(launches.kind, of_launch * duration) / total
    of_unit = total / np.bincount(launches.kind, launches.weight)
    variance = _variance_in_time(design, left) + np.diag(found.covariance) * _shared(design) / of_unit**2
    return Capacity(of_launch, of_class, np.sqrt(variance) / of_class)


def _variance_in_time(design: Design, left: Floats) -> Floats:
    """The variance of each class's mean clock, from how the clock's own changes differ between neighbouring samples.

    Of a sample that one class has for itself the clock is exact; where it shares the sample, the others may have had
    the change.
    """
    steps = np.diff(left, prepend=left[:1], append=left[-1:]) ** 2 / 2
    of_row = np.maximum(steps[1:], steps[:-1])
    time = design.class_ns.tocoo()
    total = np.bincount(time.col, time.data, design.class_ns.shape[1])
    shared = time.data * (1 - np.minimum(time.data / design.length[time.row], 1))
    return np.asarray(np.bincount(time.col, shared**2 * of_row[time.row], len(total)) / np.maximum(total, 1) ** 2)


def _shared(design: Design) -> Floats:
    """Of each class's time, the share in which another class, or nothing, had the rest of the sample."""
    time = design.class_ns.tocoo()
    kinds = design.class_ns.shape[1]
    alone = np.bincount(time.col, time.data * np.minimum(time.data / design.length[time.row], 1), kinds)
    return 1 - alone / np.maximum(np.bincount(time.col, time.data, kinds), 1)
