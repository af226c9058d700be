"""The fit: what each launch of a kernel adds to a counter that is sampled more coarsely than kernels run.

A counter's samples are differences of its cumulative count at the samples' borders. Of a border where no kernel runs,
the count is exactly the sum over the launches before it. Of a border inside a launch, it is uncertain by how far that
launch has come. The unknowns are what a launch of each class counts, in some equal parts of its duration, since no
kernel counts evenly; they are 0 or more. Neighbouring parts differ little a priori (Gaussian, of the class's rate),
which keeps short kernels solvable.

What a sample may be off by is the sum of what its borders are uncertain by, of its reading's error, and of how much
the launches in it differ from others of their class, which the fit learns from what it leaves over.

Of a long recording, the values follow from a sample, see ``Design.sample``, and are applied to all of it: what the
launches of a class count does not change. Where all rows would give other values, intervals are wider.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array, hstack

from tcprof.analysis.kernels.constraints import Bounds, conserve
from tcprof.analysis.kernels.design import Design, Launches, make_sparse
from tcprof.analysis.kernels.least_squares import NEGLIGIBLE, Precision, normal_equations, smoothing_prior
from tcprof.analysis.kernels.noise import Noise
from tcprof.analysis.kernels.uncertainty import (
    START,
    estimate_offset,
    estimate_variation,
    misfit_covariance,
    move_to_all,
    rate_change,
    response,
    sum_parts,
)
from tcprof.analysis.kernels.waiting import SHARE, correct, find_ahead
from tcprof.analysis.samples.borders import BORDER_NS, IN_PART, LEAST_OFFSET_NS, MOST_OFFSET_NS
from tcprof.analysis.samples.sampling import ONE_MEANS
from tcprof.arrays import Floats

BORDER_FLOOR = 0.003  # of the highest rate, for launches that count nothing
MOST_BLUR = (50_000 / BORDER_NS) ** 2  # launches are stamped within 50 µs: what is off by more has another cause
OPAQUE = 0.5  # deviation of the rate of a launch whose work is not known, of the highest rate
RESOLUTION = 4e-5  # samples repeat to this share of the highest count
PASSES = 5
HEAD_NS = 10.0  # deviation of what launches count as they begin, as time at the highest rate: 17.7 was seen
AGREE = 2.0  # standard errors by which the values that all rows would give may differ from the sample's
HEIGHTS = 4  # rows whose values differ by less than a unit over this are rounded alike


@dataclass(frozen=True)
class Fit:
    """What the launches of each class count."""

    value: Floats  # for each class, of a launch of weight 1
    covariance: Floats  # of these values
    bias: Floats  # by how much they rise where all readings that may be off together are off by their ``shift``
    # For each launch; exact counts are brought to the sampled sum in each stretch between idle borders
    per_launch: Floats
    sampled: float  # sum of the samples under at least one launch
    unexplained: float  # how much of that the classes do not explain, before it was brought to the sampled sum
    parts: Floats  # what a launch counts in each part of its duration, class by class; see ``Design.part_kind``
    early: Floats  # for each class, how much of it dependent launches may count as if they did not wait
    late_ns: float  # by how much samples and launches may be apart in time
    stamp_ns: float  # by how much times of single launches are off, at random
    bounds: Bounds | None = None  # what long launches count at least and at most; None where nothing is known


@dataclass(frozen=True)
class _Solution:
    """The last pass: the parts' values, and what they follow from."""

    parts: Floats  # the values
    precision: Precision  # of these
    right: Floats  # the right-hand sides
    noise: Noise  # covariance of the rows
    residual: Floats  # what is left over of each
    early: Floats  # see ``Fit``
    ahead: Floats  # for each class, what launches count as if they did not wait
    # What ``noise`` follows from: for each class the variance at a border inside a launch, and that of a launch's count
    of_class: tuple[Floats, Floats]
    # How many times as large as assumed the variance at borders inside of launches is, where it is more. Then the
    # launches' own times are off, which no number of samples averages away.
    blur: float
    learn_variation: Callable[[], Floats]  # how launches vary


def fit(
    launches: Launches,
    design: Design,
    value: Floats,
    error: Floats,  # standard error of each sample's value; 0 where it is exact
    shift: Floats,  # by how much samples may be off, all in the same direction
    ceiling: float,  # the most that can be counted in a ns
    passes: int = PASSES,  # how often the weights are taken from the solution before
    unit: Floats | None = None,  # what each sample's value was rounded to multiples of; None where it was not
    offset_error_ns: float = LEAST_OFFSET_NS,
) -> Fit:
    """Solve for what a launch of each class counts. One design serves any counter of the same samples."""
    observed, error, kinds = value[design.row], error[design.row], int(launches.kind.max()) + 1
    highest = float(np.quantile(observed / design.length, 0.999)) if len(observed) else 0.0
    if highest <= 0:
        return _fit_zero(launches, design, kinds)
    repeated = RESOLUTION * highest * design.length
    reading = repeated**2 + error**2 + (OPAQUE * highest * (design.class_ns @ launches.opaque)) ** 2
    targets, rows = np.column_stack([observed, shift[design.row]]), design.sampled_rows
    weighing = reading[rows], unit if unit is None else unit[design.row[rows]]
    solution = _reweighted(design.sample, targets[rows], *weighing, highest, ceiling, passes)
    values = sum_parts(design, solution.parts, kinds)
    covariance, bias, late_ns = _uncertainty(design.sample, solution, kinds, offset_error_ns)
    solution, covariance = _apply_to_all(solution, design, observed, reading, covariance)
    counted = values[launches.kind] * launches.weight
    exact = np.bincount(design.stretch, error > repeated) == 0
    if exact.any():
        counted = conserve(counted, solution.learn_variation(), launches, design, observed, ceiling, exact)
    sampled, unexplained = observed.sum(), np.abs(np.bincount(design.stretch, solution.residual)).sum()
    sums = float(sampled), float(unexplained) if unexplained > RESOLUTION * sampled else 0.0
    stamp_ns = BORDER_NS * float(np.sqrt(solution.blur - 1))
    return Fit(values, covariance, bias, counted, *sums, solution.parts, solution.early, late_ns, stamp_ns)


def _fit_zero(launches: Launches, design: Design, kinds: int) -> Fit:
    """Fit samples that counted nothing."""
    zero, parts = np.zeros(kinds), np.zeros(len(design.part_kind))
    counted = np.zeros(len(launches.start))
    return Fit(zero, np.zeros((kinds, kinds)), zero, counted, 0.0, 0.0, parts, zero, 0.0, 0.0)


def _reweighted(
    design: Design, targets: Floats, reading: Floats, unit: Floats | None, highest: float, ceiling: float, passes: int
) -> _Solution:
    """Solve several times, with weights from the solution before; the second target is what all may be off by alike."""
    duration = np.bincount(design.part_kind, design.part_ns)
    border_ns = np.hypot(BORDER_NS, IN_PART * duration / np.bincount(design.part_kind))
    rate: Floats = np.full(len(duration), 0.3 * highest)
    variation = np.full(len(duration), START)
    common, ahead, usual, blur = None, None, np.zeros(len(duration)), 1.0
    parts = np.ones(len(design.part_kind))
    for number in range(passes):
        of_class = blur * ((rate + BORDER_FLOOR * highest) * border_ns) ** 2, variation * (rate * duration) ** 2
        noise, borders = _model_noise(design, reading, *of_class)
        normal, right, of_common = normal_equations(design, targets, noise, common)
        precision = Precision(normal + smoothing_prior(design, rate, highest, ceiling))
        parts = precision.minimize(right[:, 0], NEGLIGIBLE * highest * design.part_ns, parts > 0)
        residual = targets[:, 0] - design.shares @ parts
        rate = np.bincount(design.part_kind, parts) / duration
        count = rate * duration
        learn = partial(estimate_variation, variation, design, count, residual, reading, borders)
        if number == passes - 1:
            break
        variation = learn()
        if number >= passes // 2:  # before, what launches differ by would count as borders that are off
            blur = float(np.clip(blur * noise.border_misfit(residual, borders[0] + borders[1]), 1.0, MOST_BLUR))
        if number == passes - 2:  # only the last solution's errors are asked for
            usual = SHARE * count
            ahead = find_ahead(design, usual)
            common = hstack([ahead, _heads(design, HEAD_NS * ceiling)], format="csr")
            if unit is not None:
                common = hstack([common, _common_rounding(targets[:, 0], targets[:, 0] - residual, unit)], format="csr")
    solution = _Solution(parts, precision, right, noise, residual, 0 * rate, 0 * rate, of_class, blur, learn)
    return solution if ahead is None or not ahead.shape[1] else _corrected(solution, design, usual, of_common)


def _apply_to_all(
    solution: _Solution, design: Design, observed: Floats, reading: Floats, covariance: Floats
) -> tuple[_Solution, Floats]:
    """Find what is left over of all rows, and widen the covariance where they would move a class significantly."""
    if design.sample is design:
        return solution, covariance
    residual = observed - design.shares @ solution.parts - design.ahead @ solution.ahead
    noise, _ = _model_noise(design, reading, *solution.of_class)
    moved = sum_parts(design, move_to_all(design, solution.precision, noise, residual), len(covariance))
    wider = np.where(moved**2 > AGREE**2 * np.diag(covariance), moved**2, 0.0)
    return replace(solution, residual=residual), covariance + np.diag(wider)


def _model_noise(
    design: Design, reading: Floats, of_border: Floats, of_launch: Floats
) -> tuple[Noise, tuple[Floats, Floats]]:
    """Make the covariance of the rows from the variances for each class, and that of their borders."""
    borders = _border_variance(design, of_border)
    diagonal = borders[0] + borders[1] + reading + design.squares @ of_launch
    return Noise(diagonal, np.where(design.adjacent, borders[0], 0.0)), borders


def _corrected(solution: _Solution, design: Design, usual: Floats, of_common: Floats) -> _Solution:
    """Correct the solution for what launches count while they wait, see ``waiting``, the first common errors."""
    ahead = find_ahead(design, usual)
    count, weighted = ahead.shape[1], solution.noise.weigh(solution.residual)
    some, right = slice(2, 2 + count), solution.right.copy()
    waiting = correct(solution.precision, right[:, some], of_common[:count, :count], ahead, weighted)
    right[:, some] = waiting.right
    parts, kinds = np.maximum(solution.parts + waiting.parts, 0), np.unique(design.ahead.indices)
    early, waits = np.zeros((2, len(solution.early)))
    early[kinds], waits[kinds] = waiting.share, waiting.ahead * usual[kinds]
    residual = solution.residual - design.shares @ (parts - solution.parts) - ahead @ waiting.ahead
    return replace(solution, parts=parts, right=right, residual=residual, early=early, ahead=waits)


def _common_rounding(reading: Floats, predicted: Floats, unit: Floats) -> csr_array:
    """Make a column of the error that rounding has in common in all rows of one height, as the pass before has it.

    A sample that lies in a long kernel, or holds the same whole kernels and else nothing, is as high as all others like
    it, and rounded like them: no number of them averages that away.
    """
    height = np.floor(HEIGHTS * np.clip(predicted / unit, 0, 100)).astype(np.int64)
    error = np.where(reading > ONE_MEANS * unit, unit / np.sqrt(12), 0.0)  # what reads 1 has an error of its own
    group = np.unique(height, return_inverse=True)[1]
    return make_sparse(error, np.arange(len(group)), group, (len(group), int(group.max(initial=-1)) + 1))


def _heads(design: Design, count: float) -> csr_array:
    """Make a column for each class, by how much rows are off where its launches count ``count`` at once as they begin.

    Every block of threads of a kernel computes indices first, on the tensor pipe, too, and the blocks of a short kernel
    begin at once: 16,384 cycles of a batch normalization in its first µs, and none in the other 26. Only a border in
    that moment, or in the gap before it, tells them from the last cycles of the kernel before.
    """
    kinds = int(design.part_kind[-1]) + 1
    heads = csr_array((len(design.length), kinds))
    for cuts, sign in ((design.begins, -1), (design.ends, 1)):
        is_first = np.append(True, design.part_kind[1:] != design.part_kind[:-1])[cuts.part]
        row, part = cuts.row[is_first], cuts.part[is_first]
        off = sign * count * (1 - cuts.share[is_first])
        heads = heads + make_sparse(off, row, design.part_kind[part], heads.shape)
    return heads


def _border_variance(design: Design, of_class: Floats) -> tuple[Floats, Floats]:
    """Compute the variance of the count at each row's ends from that inside a launch of each class."""
    begins, ends = (
        np.bincount(cuts.row, of_class[design.part_kind[cuts.part]], len(design.length)).astype(np.float64)
        for cuts in (design.begins, design.ends)
    )
    return begins, ends


def _uncertainty(
    design: Design, solution: _Solution, kinds: int, offset_error_ns: float
) -> tuple[Floats, Floats, float]:
    """Compute the classes' covariance, how their values follow a shift of the samples, and how late these may be."""
    precision = solution.precision
    weighted = solution.noise.weigh(solution.residual)
    assumed = sum_parts(design, response(design, precision, kinds), kinds)
    misfit = misfit_covariance(design, precision, weighted, kinds)
    offset, parts = estimate_offset(design, precision, solution.noise, rate_change(design, solution.parts), weighted)
    late_ns = np.clip(np.hypot(offset.error_ns, np.nan_to_num(offset.late_ns)), offset_error_ns, MOST_OFFSET_NS)
    late = sum_parts(design, parts, kinds) * late_ns
    responses = sum_parts(design, precision.solve(solution.right[:, 1:]), kinds)
    bias, common = responses[:, 0], responses[:, 1:]
    return solution.blur * (assumed + misfit) + np.outer(late, late) + common @ common.T, bias, float(late_ns)
