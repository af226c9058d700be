"""The fit: what each launch of a kernel adds to a counter that is sampled more coarsely than kernels run.

A counter's samples are differences of its cumulative count at the samples' borders. Of a border where no kernel runs,
the count is exactly the sum over the launches before it. Of a border inside a launch, it is uncertain by how far that
launch has come. So the errors of two neighbouring samples are one error with opposite signs, and the samples are
fitted by generalized least squares (Aitken, On least squares and linear combinations of observations, 1935) with the
covariance

    S = D diag(v) D' + e I,    D the difference of neighbouring borders,
    v = (rate of the launch that the border cuts x ``BORDER_NS``)^2, 0 where none is cut.

S is tridiagonal. The unknowns are what a launch of each class counts, in some equal parts of its duration, since no
kernel counts evenly; they are 0 or more (Lawson and Hanson, Solving Least Squares Problems, 1974). Neighbouring parts
differ little a priori (Gaussian, of the class's rate), which keeps short kernels solvable. Stretches that the classes
cannot explain, as the last, smaller batch of an epoch, weigh less (Student's t, Lange, Little and Taylor, 1989).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, solve_triangular, solveh_banded
from scipy.optimize import lsq_linear, nnls

from tcprof.analysis.kernels.design import Design, Launches

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BORDER_NS = 500.0  # how well the count at a border inside a launch is known, as time at the launch's rate
SHAPE, SHAPE_FLOOR = 0.3, 0.005  # how much neighbouring parts differ: of the class's rate, and of the highest rate
RESOLUTION = 4e-5  # samples repeat to this share of the highest count: kernels' own variation
DEGREES = 4.0  # of Student's t
PASSES = 5
SAMPLES_AT_ONCE = 256


@dataclass(frozen=True)
class Fit:
    """What the launches of each class count.

    Attributes:
        value: For each class, of a launch of weight 1.
        covariance: Of these values.
        bias: By how much they rise where all readings that may be off together are off by their ``shift``.
        per_launch: For each launch; exact counts are brought to the sampled sum in each stretch between idle borders.
        sampled: Sum of the samples under at least one launch.
    """

    value: Floats
    covariance: Floats
    bias: Floats
    per_launch: Floats
    sampled: float


def fit(
    launches: Launches,
    design: Design,
    value: Floats,
    error: Floats,
    shift: Floats,
    ceiling: float,
    passes: int = PASSES,
) -> Fit:
    """Solve for what a launch of each class counts. One design serves any counter of the same samples.

    Args:
        launches: The launches of one GPU.
        design: See ``build_design``.
        value: The counter, for each sample that the design was built from.
        error: Standard error of each sample's value; 0 where it is exact.
        shift: By how much samples may be off, all in the same direction.
        ceiling: The most that can be counted in a ns.
        passes: How often the weights are taken from the solution before.
    """
    observed, error = value[design.row], error[design.row]
    kinds = int(launches.kind.max()) + 1
    highest = float(np.quantile(observed / design.length, 0.999)) if len(observed) else 0.0
    if highest <= 0:
        nothing = np.zeros(kinds)
        return Fit(nothing, np.zeros((kinds, kinds)), nothing, np.zeros(len(launches.start)), 0.0)
    noise = (RESOLUTION * highest * design.length) ** 2 + error**2
    targets = np.column_stack([observed, shift[design.row]])
    parts, precision, right = _reweighted(design, targets, noise, highest, ceiling, passes)
    found: Floats = np.bincount(design.part_kind, parts).astype(np.float64)
    covariance, bias = _uncertainty(precision, right[:, 1], design.part_kind, kinds)
    counted = found[launches.kind] * launches.weight
    if not error.any():
        counted = _conserve(counted, launches, design, observed, ceiling)
    return Fit(found, covariance, bias, counted, float(observed.sum()))


def _reweighted(
    design: Design, targets: Floats, noise: Floats, highest: float, ceiling: float, passes: int
) -> tuple[Floats, Floats, Floats]:
    """Solve several times, with weights from the solution before.

    Returns:
        What each part counts, the precision of that, and the right-hand sides of the last pass.
    """
    rate: Floats = np.full(int(design.part_kind.max()) + 1, SHAPE * highest)
    expected = np.bincount(design.stretch, noise)
    trust = np.ones(len(expected))
    for _ in range(passes):
        cut = ((rate[design.cut_kind] + 0.003 * highest) * BORDER_NS) ** 2
        variance = np.bincount(design.cut_row, cut, len(targets)).astype(np.float64)
        normal, right = _normal_equations(design, targets, variance, noise / trust[design.stretch])
        precision = normal + _prior(design, rate, highest, ceiling)
        parts = _solve(precision, right[:, 0])
        rate = np.bincount(design.part_kind, parts) / np.bincount(design.part_kind, design.part_ns)
        residual = targets[:, 0] - design.shares @ parts
        trust = (DEGREES + 1) / (DEGREES + np.bincount(design.stretch, residual) ** 2 / expected)
    return parts, precision, right


def _normal_equations(design: Design, targets: Floats, variance: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """The normal equations of generalized least squares, summed over runs of samples.

    Runs end between stretches, where errors do not cross; stretches longer than a run are cut, which only loses what
    one border tells. So the cost is linear in the samples.
    """
    unknowns = design.shares.shape[1]
    normal, right = np.zeros((unknowns, unknowns)), np.zeros((unknowns, targets.shape[1]))
    following = np.append(variance[1:], 0)
    diagonal = variance + following + noise
    for begin, end in _runs(design.stretch):
        block = design.shares[begin:end]
        used = np.unique(block.indices)
        dense = block[:, used].toarray()
        columns = np.column_stack([dense, targets[begin:end]])
        weighted = columns / diagonal[begin:end, None]
        if end - begin > 1:  # LAPACK refuses a matrix of one
            banded = np.vstack([-np.append(0, variance[begin + 1 : end]), diagonal[begin:end]])
            weighted = solveh_banded(banded, columns, check_finite=False)
        normal[np.ix_(used, used)] += dense.T @ weighted[:, : len(used)]
        right[used] += dense.T @ weighted[:, len(used) :]
    return normal, right


def _runs(stretch: Ints) -> list[tuple[int, int]]:
    """Rows from and to, whole stretches at a time where they fit."""
    ends = np.append(np.flatnonzero(np.diff(stretch)) + 1, len(stretch))
    runs, begin, reach = [], 0, 0
    for end in ends.tolist():
        if end - begin > SAMPLES_AT_ONCE and reach > begin:
            runs.append((begin, reach))
            begin = reach
        while end - begin > SAMPLES_AT_ONCE:
            runs.append((begin, begin + SAMPLES_AT_ONCE))
            begin += SAMPLES_AT_ONCE
        reach = end
    if len(stretch) > begin:
        runs.append((begin, len(stretch)))
    return runs


def _prior(design: Design, rate: Floats, highest: float, ceiling: float) -> Floats:
    """The precision of what is known before: neighbouring parts are alike, and no rate is far above the ceiling."""
    first = np.flatnonzero(design.part_kind[1:] == design.part_kind[:-1])
    deviation = SHAPE * rate[design.part_kind[first]] + SHAPE_FLOOR * highest
    weight = 1 / (design.part_ns[first] * deviation) ** 2
    length = np.bincount(design.part_kind, design.part_ns)[design.part_kind]
    prior = np.diag(1 / (length * ceiling) ** 2)
    np.add.at(prior, (first, first), weight)
    np.add.at(prior, (first + 1, first + 1), weight)
    np.add.at(prior, (first, first + 1), -weight)
    np.add.at(prior, (first + 1, first), -weight)
    return prior


def _solve(precision: Floats, right: Floats) -> Floats:
    """The minimum of x'Px/2 - r'x over x >= 0."""
    scale = np.sqrt(np.diag(precision))
    scaled = precision / np.outer(scale, scale)
    lower = np.linalg.cholesky(scaled + 1e-10 * np.eye(len(scale)))
    wanted = solve_triangular(lower, right / scale, lower=True)
    try:
        found: Floats = nnls(lower.T, wanted, maxiter=30 * len(scale))[0]
    except RuntimeError:  # its active set cycles on rare, nearly singular systems
        found = lsq_linear(lower.T, wanted, bounds=(0, np.inf)).x
    return found / scale


def _uncertainty(precision: Floats, shifted: Floats, part_kind: Ints, kinds: int) -> tuple[Floats, Floats]:
    """The covariance of the classes' values, sums of their parts, and how they follow a shift of the samples."""
    scale = np.sqrt(np.diag(precision))
    factor = cho_factor(precision / np.outer(scale, scale) + 1e-10 * np.eye(len(scale)))
    total = np.zeros((len(scale), kinds))
    total[np.arange(len(scale)), part_kind] = 1 / scale
    return np.asarray(total.T @ cho_solve(factor, total)), np.asarray(total.T @ cho_solve(factor, shifted / scale))


def _conserve(counted: Floats, launches: Launches, design: Design, observed: Floats, ceiling: float) -> Floats:
    """What launches count, brought to the sampled sum of the stretch that they lie in.

    Launches are scaled together as far as the ceiling allows; what is left is shared by the room below it.
    """
    inside = np.flatnonzero(design.launch_stretch >= 0)
    stretch, total = design.launch_stretch[inside], np.bincount(design.stretch, observed)
    most = ceiling * (launches.end - launches.start)[inside]
    kept = counted[inside]
    for by_room in (False, True):
        shares = most - kept if by_room else kept
        fitted, share = (np.bincount(stretch, values, len(total)) for values in (kept, shares))
        factor = np.divide(total - fitted, share, out=np.zeros(len(total)), where=share > 0)
        kept = np.clip(kept + factor[stretch] * shares, 0, most)
    found = counted.copy()
    found[inside] = kept
    return found
