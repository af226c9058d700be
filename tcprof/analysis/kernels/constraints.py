"""What launches count cannot be: below 0, other than what was sampled in all, or beyond what their own samples show."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.design import Design, Launches
from tcprof.analysis.samples.borders import MOST_OFFSET_NS
from tcprof.arrays import Bools, Floats, Ints

ROUNDING = 1e-12  # of the largest value: less is left over by the arithmetic, and differs between CPUs
TRIES = 3  # changes of all sides in a row that make no fewer wrong
CONSTANT = 1e-3**2  # squared deviation of launches that were never seen to differ
LEAST_INSIDE = 4  # samples of a long launch's own: with fewer the fit knows more
MOST_STEPS = 30  # for each unknown; the solution takes 4 in the mean, of any number of unknowns


def minimize_nonnegative(matrix: Floats, right: Floats, positive: Bools) -> Floats:
    """Minimize x'Ax/2 - b'x over x >= 0, by block principal pivoting; ``matrix`` A is positive definite.

    All values that are on the wrong side change sides at once, until that no longer makes fewer of them; then the last
    one alone does, which comes to an end in any case (Júdice and Pires, A block principal pivoting algorithm for
    large-scale strictly monotone linear complementarity problems, 1994; Kim and Park, Fast nonnegative matrix
    factorization, 2011). ``scipy.optimize.nnls`` frees one value at a time: it took 1.6 to 4.3 times as long for 30 to
    450 unknowns, and 0.33 s to load. It begins with those that are thought to be ``positive``, and ends with the same.
    """
    free, solution = positive.copy(), np.zeros(len(right))
    fewest, tries = len(right) + 1, TRIES
    negligible = ROUNDING * np.abs(right).max(initial=0)
    for _ in range(MOST_STEPS * len(right)):
        solution = np.zeros(len(right))
        if free.any():
            factor = cho_factor(matrix[np.ix_(free, free)], lower=True, check_finite=False)
            solution[free] = cho_solve(factor, right[free], check_finite=False)
        wrong = np.where(free, solution < 0, matrix @ solution - right < -negligible)
        count = int(np.count_nonzero(wrong))
        if not count:
            break
        if count < fewest:
            fewest, tries = count, TRIES
        elif tries:
            tries -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong
    return np.maximum(solution, 0)


def conserve(
    counted: Floats,  # what each launch counts by its class
    variation: Floats,  # squared relative deviation of the launches of each class
    launches: Launches,
    design: Design,
    observed: Floats,  # what was sampled in each row of the design
    ceiling: float,  # the most that can be counted in a ns
    exact: Bools,  # for each stretch, whether all of its samples are: others are left as they are
) -> Floats:
    """Bring what launches count to the sampled sum of the stretch between idle moments that they lie in.

    What is left over goes to each launch in proportion to its variance, as the best linear prediction has it
    (Robinson, That BLUP is a good thing, 1991); what then lies outside of what can be is shared in proportion to the
    counts, and finally to the space below the ceiling.
    """
    inside = np.flatnonzero((design.launch_stretch >= 0) & exact[design.launch_stretch])
    stretch, total = design.launch_stretch[inside], np.bincount(design.stretch, observed)
    most = ceiling * (launches.end - launches.start)[inside]
    amounts = np.minimum(counted[inside], most)
    of_class = np.where(launches.opaque, 1.0, variation + CONSTANT)
    variance = of_class[launches.kind[inside]] * amounts**2
    for share in ("variance", "variance", "count", "room"):
        shares = {"variance": variance, "count": amounts, "room": most - amounts}[share]
        fitted, whole = (np.bincount(stretch, values, len(total)) for values in (amounts, shares))
        excess = total - fitted
        is_open = (whole > 0) & (np.abs(excess) > ROUNDING * total)
        factor = np.divide(excess, whole, out=np.zeros(len(total)), where=is_open)
        amounts = np.clip(amounts + factor[stretch] * shares, 0, most)
    per_launch = counted.copy()
    per_launch[inside] = amounts
    return per_launch


@dataclass(frozen=True)
class Bounds:
    """What long launches count at least and at most."""

    launch: Ints  # rows of the launches that are long enough
    kind: Ints  # class of each
    least: Floats  # what each counts at least
    most: Floats  # what it counts at most; infinite where that is not known

    def scaled(self, factor: Floats, error: Floats) -> "Bounds":
        """Change the unit, by a factor for each launch of the recording; ``error`` is a share for each class."""
        factor, error = factor[self.launch], error[self.kind]
        least, most = self.least * factor * np.maximum(1 - error, 0), self.most * factor * (1 + error)
        return replace(self, least=least, most=most)

    def half_of_sums(self, group: Ints, value: Floats) -> Floats:
        """Half an interval around sums over groups of launches; infinite where a launch of it is not long."""
        groups = int(group.max(initial=-1)) + 1
        launch_group = group[self.launch]
        total, count = np.bincount(group, value, groups), np.bincount(group, minlength=groups)
        least, most = (np.bincount(launch_group, bound, groups) for bound in (self.least, self.most))
        half = np.maximum(np.maximum(total - least, most - total), 0)
        return np.where(np.bincount(launch_group, minlength=groups) == count, half, np.inf)


def add_bounds(several: Sequence[Bounds | None]) -> Bounds | None:
    """Bounds of the sum of counters, of the same launches; None where one has none."""
    present = [bounds for bounds in several if bounds is not None]
    if not present or len(present) < len(several):
        return None
    least, most = (np.sum([getattr(one, name) for one in present], axis=0) for name in ("least", "most"))
    return replace(present[0], least=least, most=most)


@dataclass(frozen=True)
class Enclosure:
    """Which samples lie inside long launches, and which ones these touch.

    Samples inside a launch with nothing beside it are its own; those that it touches hold all that it counts. Of a
    launch that is many samples long the two are close, also where the launches of its class differ, or the clock moves,
    and the fit's interval is wide.
    """

    launch: Ints  # rows of the long launches
    kind: Ints  # class of each
    inside: tuple[Ints, Ints]  # first sample inside each, and the one after the last
    touched: tuple[Ints, Ints]  # first sample that each touches, and the one after the last
    alone: Bools  # for each sample, whether no more than one launch touches it, and no copy within the memory

    def bound(self, value: Floats, exact: Bools) -> Bounds:
        """Bounds from what was sampled of one counter; ``exact`` are samples of launches alone without an error."""
        inner, whole, inexact = (_sum_before(values) for values in (np.where(self.alone, value, 0), value, ~exact))
        least, most, wrong = (
            sums[last] - sums[first]
            for sums, (first, last) in ((inner, self.inside), (whole, self.touched), (inexact, self.touched))
        )
        return Bounds(self.launch, self.kind, np.where(wrong > 0, 0, least), np.where(wrong > 0, np.inf, most))


def find_enclosure(launches: Launches, start: Ints, end: Ints, moves: StepFunction) -> Enclosure:
    """Find the long launches of one GPU, and their samples, which reach from start to end.

    Kernels that are not traced may run when the GPU ``moves`` its own memory.
    """
    first = np.searchsorted(end, launches.start - MOST_OFFSET_NS, side="right")
    last = np.maximum(np.searchsorted(start, launches.end + MOST_OFFSET_NS, side="left"), first)
    touching = np.cumsum(np.bincount(first, minlength=len(start) + 1) - np.bincount(last, minlength=len(start) + 1))
    inner = np.searchsorted(start, launches.start + MOST_OFFSET_NS, side="left")
    outer = np.searchsorted(end, launches.end - MOST_OFFSET_NS, side="right")
    missing = _sum_before(np.append(start[1:] > end[:-1], False))  # gaps, each after the sample before it
    is_whole = (start[np.minimum(first, len(start) - 1)] <= launches.start) & (end[last - 1] >= launches.end)
    is_whole &= missing[np.maximum(last - 1, first)] == missing[first]
    alone = (touching[:-1] <= 1) & (moves.covered(start - int(MOST_OFFSET_NS), end + int(MOST_OFFSET_NS)) == 0)
    long = np.flatnonzero(is_whole & (outer - inner >= LEAST_INSIDE))
    return Enclosure(long, launches.kind[long], (inner[long], outer[long]), (first[long], last[long]), alone)


def _sum_before(values: Floats | Bools) -> Floats:
    """Sums of all before each place, and at the end of all."""
    return np.append(0.0, np.cumsum(values, dtype=np.float64))
