"""What two sides show of a quantity: their values, the change with its interval, p and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import special

from tcprof.analysis.samples.interval_estimates import LEVEL, Centers
from tcprof.arrays import Bools, Floats, Ints
from tcprof.comparison.statistics.estimates import (
    ChangeEstimate,
    Estimate,
    Slack,
    add_run_deviation,
    compare_estimates,
    estimate_within,
    slack_toward_none,
    survived_spread,
    widen_change,
    widen_side,
)

Columns: TypeAlias = dict[str, Floats | npt.NDArray[np.object_]]

HIGHER, LOWER, INCONCLUSIVE, EQUAL, NOT_JUDGED = "higher", "lower", "~", "=", ""
MOST_VALUES = 1000  # of a side
ROUNDING = 1e-9  # of the largest value: values closer than this are equal

Instances: TypeAlias = tuple[Ints, Floats]  # the path key of each instance, and its value; NaN where that is unknown
POWER = 0.8
MOST_NEEDED = 1000  # recordings a side that are ever said to be needed


@dataclass(frozen=True)
class RunEstimate:
    """One recording's value of a quantity in each row."""

    centers: Centers  # its median or mean, with its interval within the recording
    # How much another run is assumed to differ: relative, and in the quantity's own unit.
    deviation: tuple[Floats, Floats]


Sides: TypeAlias = tuple[Sequence[RunEstimate], Sequence[RunEstimate]]
_Figures = TypeVar("_Figures", Estimate, ChangeEstimate)


def compare_runs(
    sides: Sides, slacks: tuple[Slack, Slack] | None = None, instances: tuple[Instances, Instances] | None = None
) -> Columns:
    """Compute the columns of ``COMPARISON`` of medians or means; ``slacks`` bound how far each side may be off."""
    within, (base, new), change, assumed = _assume(sides)
    measured = is_measured(base.recordings, new.recordings)
    if measured.any():
        repeats = compare_repeats(*([run.centers for run in side] for side in sides))
        base, new = _choose(measured, repeats[0], base), _choose(measured, repeats[1], new)
        change = _choose(measured, repeats[2], change)
    slack, moved = np.zeros(len(base.value)), np.False_
    if slacks is not None:
        moved = np.logical_or.reduce([part > 0 for pair in slacks for part in pair])
        slack, change = slack_toward_none(base, new, slacks), widen_change(change, base, new, slacks)
        base, new = (widen_side(side, pair) for side, pair in zip((base, new), slacks, strict=True))
    equal = base.constant & new.constant & (base.value == new.value) & ~moved
    p_value = _test_ranks(instances, change.p_value, ~measured & ~equal) if instances else change.p_value
    change = replace(
        change,
        p_value=np.where(equal, 1.0, p_value),
        ratio_low=np.where(change.ratio_low > 0, change.ratio_low, np.nan),
        ratio_high=np.where(np.isfinite(change.ratio_high), change.ratio_high, np.nan),
    )
    verdict = _judge(base, new, change, equal)
    change = _hold_none(change, verdict == INCONCLUSIVE)
    survives = np.where(measured, np.nan, 100 * np.fmax(survived_spread(within, slack), assumed))
    return {
        **values_of_sides(base.value, new.value),
        **{
            f"{name}_{end}": vars(side)[end] for name, side in (("base", base), ("new", new)) for end in ("low", "high")
        },
        **vars(change),
        "survives_spread_pct": np.where(np.isin(verdict, (HIGHER, LOWER)), survives, np.nan),
        "assumed_spread_pct": np.where(measured, np.nan, 100 * assumed),
        "verdict": verdict,
    }


def values_of_sides(base: Floats, new: Floats) -> dict[str, Floats]:
    """Return both values with their difference and ratio."""
    ratio = np.divide(new, base, out=np.full(len(base), np.nan), where=base != 0)
    return {"base": base, "new": new, "difference": new - base, "ratio": ratio}


def _choose(where: Bools, first: _Figures, second: _Figures) -> _Figures:
    return replace(second, **{name: np.where(where, vars(first)[name], old) for name, old in vars(second).items()})


def _assume(sides: Sides) -> tuple[tuple[Estimate, Estimate], tuple[Estimate, Estimate], ChangeEstimate, Floats]:
    """Estimate both sides from their instances and as runs may differ; their change; and the assumed deviation."""
    within, wide, relative, counts = [], [], [], []
    for side in sides:
        centers = [run.centers for run in side]
        estimate = estimate_within(centers)
        deviation = [np.mean([run.deviation[i] for run in side], axis=0) for i in (0, 1)]
        within.append(estimate)
        wide.append(add_run_deviation(estimate, *deviation))
        share = np.divide(deviation[1], estimate.value, out=np.zeros_like(deviation[1]), where=estimate.value > 0)
        relative.append(np.hypot(deviation[0], share))
        counts.append(np.sum([center.count for center in centers], axis=0))
    both = within[0], within[1]
    change = compare_estimates(wide[0], wide[1], both, np.minimum(counts[0], counts[1]))
    return both, (wide[0], wide[1]), change, np.sqrt((relative[0] ** 2 + relative[1] ** 2) / 2)


def _test_ranks(instances: tuple[Instances, Instances], p_value: Floats, tested: Bools) -> Floats:
    """Raise the p values to that of the Mann-Whitney test of the instances where it is larger."""
    rows = np.flatnonzero(tested & (p_value < LEVEL))
    if not len(rows):
        return p_value
    raised = p_value.copy()
    base, new = (_values_at(side, rows) for side in instances)
    raised[rows] = np.fmax(p_value[rows], mann_whitney(list(zip(base, new, strict=True))))
    return raised


def _judge(base: Estimate, new: Estimate, change: ChangeEstimate, equal: Bools) -> npt.NDArray[np.object_]:
    has_ratio = ~(np.isnan(change.ratio_low) & np.isnan(change.ratio_high))
    # An end that is not known excludes nothing.
    excludes = (change.difference_low > 0) | (change.difference_high < 0)
    excludes &= ~has_ratio | (change.ratio_low > 1) | (change.ratio_high < 1)
    is_sure = (change.p_value < LEVEL) & excludes
    verdict = np.where(new.value > base.value, HIGHER, LOWER).astype(object)
    verdict[~is_sure] = INCONCLUSIVE
    verdict[np.isnan(change.p_value)] = NOT_JUDGED
    verdict[equal] = EQUAL
    return verdict


def _hold_none(change: ChangeEstimate, where: Bools) -> ChangeEstimate:
    """Extend inconclusive intervals to no change, so that ratio, difference and p say the same."""
    ends = {"ratio_low": (np.minimum, 1), "ratio_high": (np.maximum, 1)}
    ends |= {"difference_low": (np.minimum, 0), "difference_high": (np.maximum, 0)}
    return replace(
        change,
        **{
            name: np.where(where, extend(getattr(change, name), none), getattr(change, name))
            for name, (extend, none) in ends.items()
        },
    )


def _values_at(instances: Instances, keys: Ints) -> list[Floats]:
    is_known = ~np.isnan(instances[1])
    key, values = instances[0][is_known], instances[1][is_known]
    order = np.argsort(key, kind="stable")
    ends = [np.searchsorted(key[order], keys, side=which) for which in ("left", "right")]
    return [values[order[first:last]] for first, last in zip(*ends, strict=True)]


def mann_whitney(pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Compute the p values of Mann-Whitney tests of pairs of samples; those of equal sizes are tested together.

    Of more than 1000 values it takes some at equal distances. Values that only rounding errors separate are equal:
    which of them is larger differs between CPUs.
    """
    from scipy.stats import mannwhitneyu  # here, since it takes a third of a second, and most commands compare nothing

    thinned = [tuple(side[:: max(-(-len(side) // MOST_VALUES), 1)] for side in pair) for pair in pairs]
    p_value = np.full(len(pairs), np.nan)
    by_size: dict[tuple[int, int], list[int]] = {}
    for number, (base, new) in enumerate(thinned):
        if len(base) and len(new):
            by_size.setdefault((len(base), len(new)), []).append(number)
    for numbers in by_size.values():
        base, new = (np.stack([thinned[number][side] for number in numbers]) for side in (0, 1))
        largest = np.maximum(np.abs(base).max(axis=1), np.abs(new).max(axis=1))[:, None]
        equal = np.where(largest > 0, ROUNDING * largest, 1.0)
        tested = mannwhitneyu(np.round(base / equal), np.round(new / equal), axis=1, method="asymptotic")
        p_value[numbers] = np.nan_to_num(tested.pvalue, nan=1.0)  # all are equal
    return p_value


@dataclass(frozen=True)
class _Moments:
    """Mean and variance of the recordings' values in each row, as they are or as logarithms."""

    count: Ints
    mean: Floats
    variance: Floats

    @classmethod
    def of(cls, values: Floats) -> "_Moments":
        is_known = ~np.isnan(values)
        count = is_known.sum(axis=0)
        mean = np.where(is_known, values, 0).sum(axis=0) / count
        square = np.where(is_known, (values - mean) ** 2, 0).sum(axis=0)
        return cls(count, mean, np.where(count > 1, square / (count - 1), np.nan))


def is_measured(base_count: Ints | int, new_count: Ints | int) -> Bools:
    """Tell whether so many recordings measure run-to-run variation: two a side, as one may be of an unusual run."""
    return np.asarray(np.minimum(base_count, new_count) >= 2)


def compare_repeats(base: Sequence[Centers], new: Sequence[Centers]) -> tuple[Estimate, Estimate, ChangeEstimate]:
    """Estimate both sides and their change by Welch's t test of the logarithms of the recordings' medians, or means.

    Where a recording has 0, it tests the values themselves. No interval is narrower than that of the instances
    alone, and each holds the value shown, which is a median where Welch's test is about means.
    """
    within = (estimate_within(base, required=False), estimate_within(new, required=False))
    values = [np.stack([run.value for run in side]) for side in (base, new)]
    use_ratio = np.logical_and(*(np.fmin.reduce(side) > 0 for side in values))
    floor = compare_estimates(*within, within, np.zeros_like(within[0].recordings))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = [_Moments.of(np.where(use_ratio, np.log(side), side)) for side in values]
        plain = [_Moments.of(side) for side in values]
        log, log_half, p_value, needed = _welch(*logs)
        shift, half, _, _ = _welch(*plain)
        p_value = np.fmax(p_value, floor.p_value)
        ratio = np.where(within[0].value > 0, within[1].value / within[0].value, np.nan)
        ratios = [np.where(use_ratio, np.exp(end), np.nan) for end in (log - log_half, log + log_half)]
    difference = within[1].value - within[0].value
    change = ChangeEstimate(
        np.fmin.reduce([ratios[0], floor.ratio_low, ratio]),
        np.fmax.reduce([ratios[1], floor.ratio_high, ratio]),
        np.fmin.reduce([shift - half, floor.difference_low, difference]),
        np.fmax.reduce([shift + half, floor.difference_high, difference]),
        p_value,
        np.where(p_value < LEVEL, np.nan, needed),
    )
    with np.errstate(invalid="ignore", over="ignore"):
        sides = [_with_interval(side, moments, use_ratio) for side, moments in zip(within, logs, strict=True)]
    return sides[0], sides[1], change


def _welch(base: _Moments, new: _Moments) -> tuple[Floats, Floats, Floats, Floats]:
    """Return shift, half its 95 % interval, p, and recordings a side that would show it in 80 % of cases."""
    parts = [side.variance / side.count for side in (base, new)]
    shift, error = new.mean - base.mean, np.sqrt(parts[0] + parts[1])
    freedom = error**4 / (parts[0] ** 2 / (base.count - 1) + parts[1] ** 2 / (new.count - 1))
    freedom = np.where(error == 0, 1, freedom)  # then they are unknown, and do not matter
    score = np.where(shift == 0, 0, np.abs(shift) / error)
    deviation = np.sqrt((base.variance + new.variance) / 2)
    half = special.stdtrit(freedom, 1 - LEVEL / 2) * error
    return shift, half, 2 * special.stdtr(freedom, -score), _needed_recordings(shift, deviation)


def _needed_recordings(shift: Floats, deviation: Floats) -> Floats:
    """Count the recordings a side for which the t test shows the shift in 80 % of cases; NaN for more than 1000."""
    count = np.arange(2, MOST_NEEDED + 1)
    freedom = 2 * count - 2
    reach = special.stdtrit(freedom, 1 - LEVEL / 2) + special.stdtrit(freedom, POWER)
    least = reach * np.sqrt(2 / count)  # falls with count
    size = np.abs(shift) / deviation
    index = np.searchsorted(-least, -size)
    return np.where((index < len(count)) & (size > 0), count[np.minimum(index, len(count) - 1)], np.nan)


def _with_interval(side: Estimate, moments: _Moments, is_log: Bools) -> Estimate:
    """Give a side the t interval of its recordings' mean."""
    reach = special.stdtrit(np.maximum(moments.count - 1, 1), 1 - LEVEL / 2)
    half = reach * np.sqrt(moments.variance / moments.count)
    ends = [np.where(is_log, np.exp(end), end) for end in (moments.mean - half, moments.mean + half)]
    return replace(side, low=np.maximum(np.fmin(ends[0], side.low), 0), high=np.fmax(ends[1], side.high))
