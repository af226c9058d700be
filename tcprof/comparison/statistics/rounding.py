"""Exact tensor cycles on one side against whole percentages on the other: what rounding alone may make of a change."""

from dataclasses import replace

import numpy as np
from scipy import special

from tcprof.arrays import Floats
from tcprof.comparison.statistics.estimates import Change, Estimate, decided_by_ratio

Slack = tuple[Floats, Floats]  # how far below and above a value the truth may lie

# Anything above 0 reads at least 1, all else the nearest, see ``tcprof.analysis.samples.sampling.rounding_slack``.
MOST_BELOW_PCT, MOST_ABOVE_PCT = 1.0, 0.5
ROUNDED_QUANTITIES = ("tensor_active_mean_pct", "tensor_active_s")


def rounding_of(value: Floats, mean_pct: Floats) -> Slack:
    """How far the truth may lie below and above rounded mean Tensor Active, or what is in proportion to it."""
    per_point = np.divide(value, mean_pct, out=np.zeros_like(value), where=mean_pct > 0)
    return np.minimum(MOST_BELOW_PCT * per_point, value), MOST_ABOVE_PCT * per_point


def widen_side(side: Estimate, slack: Slack) -> Estimate:
    """A side whose interval also holds what rounding may have done to it."""
    return replace(side, low=np.maximum(side.low - slack[0], 0), high=side.high + slack[1])


def slack_toward_none(base: Estimate, new: Estimate, slacks: tuple[Slack, Slack]) -> Floats:
    """By how much rounding may have made the change too large: of logarithms where the ratio decides."""
    ratios, differences = _slack(base, new, slacks)
    rises = new.value > base.value
    return np.where(decided_by_ratio(base, new), *(np.where(rises, *each) for each in (ratios, differences)))


def widen_change(change: Change, base: Estimate, new: Estimate, slacks: tuple[Slack, Slack]) -> Change:
    """A change whose interval and p also hold what rounding may have done, which repeating does not average out."""
    (log_down, log_up), (down, up) = _slack(base, new, slacks)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(decided_by_ratio(base, new), np.log(new.value / base.value), new.value - base.value)
        left = 1 - slack_toward_none(base, new, slacks) / np.abs(shift)
        p_value = 2 * special.ndtr(special.ndtri(change.p_value / 2) * left)
    p_value = np.where(left > 0, p_value, np.where(np.isnan(change.p_value), np.nan, 1.0))
    return replace(
        change,
        ratio_low=change.ratio_low * np.exp(-log_down),
        ratio_high=change.ratio_high * np.exp(log_up),
        difference_low=change.difference_low - down,
        difference_high=change.difference_high + up,
        p_value=p_value,
    )


def _slack(base: Estimate, new: Estimate, slacks: tuple[Slack, Slack]) -> tuple[Slack, Slack]:
    """How far below and above it the true ratio may lie, in logarithms, and the true difference."""
    (base_down, base_up), (new_down, new_up) = slacks
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [
            np.log1p(part / np.where(side.value > 0, side.value, np.nan))
            for side, part in ((new, -new_down), (new, new_up), (base, -base_down), (base, base_up))
        ]
    return (ends[3] - ends[0], ends[1] - ends[2]), (new_down + base_up, new_up + base_down)
