"""The rows of a comparison: each quantity at each place, with what it proves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.comparison.places import Renaming
from tcprof.comparison.statistics.estimates import (
    LEVEL,
    Change,
    Estimate,
    Medians,
    add_run_deviation,
    compare_estimates,
    estimate_within,
    find_medians,
    mann_whitney,
)
from tcprof.comparison.statistics.noise import Deviations, run_deviations
from tcprof.comparison.statistics.quantities import MEASURED, PEAK, QUANTITIES, Measured, measure
from tcprof.comparison.statistics.repeats import compare_repeats, is_measured
from tcprof.frames import COMPARISON

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

HIGHER, LOWER, NOTHING_SHOWN, EQUAL, NOT_JUDGED = "higher", "lower", "~", "=", ""


@dataclass(frozen=True)
class _Recording:
    """One recording's figures, the medians at each place, and how much another run is assumed to differ."""

    measured: Measured
    medians: dict[str, Medians]
    deviations: Deviations


_Kind = TypeVar("_Kind", Estimate, Change)
_Sides = tuple[Sequence[_Recording], Sequence[_Recording]]


def list_rows(
    base: Sequence[Analysis], new: Sequence[Analysis], places: pd.DataFrame, renamings: tuple[Renaming, Renaming]
) -> pd.DataFrame:
    """All quantities at each place in turn, see ``tcprof.frames.COMPARISON``.

    Args:
        base: The baseline's recordings.
        new: The other side's.
        places: See ``tcprof.comparison.places.list_places``.
        renamings: What the ranges of both sides are called.
    """
    sides: _Sides = (
        [_read(analysis, places, renamings[0]) for analysis in base],
        [_read(analysis, places, renamings[1]) for analysis in new],
    )
    counts = {}
    for name, side in zip(("base", "new"), sides, strict=True):
        present = np.stack([each.measured.present for each in side])
        instances = np.stack([each.medians["host_ns"].count for each in side]).sum(axis=0)
        counts[f"{name}_instance_count"] = np.where(present.any(axis=0), instances, np.nan)
        counts[f"{name}_recording_count"] = present.sum(axis=0)
    parts = [places.assign(quantity=name, **counts, **_compare(name, sides)) for name in QUANTITIES]
    return COMPARISON.conform(pd.concat(parts).sort_index(kind="stable"))


def _read(analysis: Analysis, places: pd.DataFrame, renaming: Renaming) -> _Recording:
    measured = measure(analysis, places, renaming)
    medians = {name: find_medians(measured.place, measured.values[name], len(places)) for name in MEASURED}
    period_ns = (analysis.samples["end_ns"] - analysis.samples["start_ns"]).median()
    deviations = run_deviations(
        {**{name: found.median for name, found in medians.items()}, PEAK: measured.peak_pct},
        analysis.window,
        float(period_ns),
        analysis.tensor_source == "rounded",
    )
    return _Recording(measured, medians, deviations)


def _compare(quantity: str, sides: _Sides) -> dict[str, Floats | npt.NDArray[np.object_]]:
    """The columns of one quantity."""
    if quantity == PEAK:
        peaks = [_middle_peak(side) for side in sides]
        return {**_values(peaks[0], peaks[1]), "verdict": np.full(len(peaks[0]), NOT_JUDGED, dtype=object)}
    medians = [[each.medians[quantity] for each in side] for side in sides]
    base, new, change = _assume(quantity, sides)
    measured = is_measured(base.recordings, new.recordings)
    if measured.any():
        repeats = compare_repeats(*medians)
        base, new = _choose(measured, repeats[0], base), _choose(measured, repeats[1], new)
        change = _choose(measured, repeats[2], change)
    equal = base.constant & new.constant & (base.value == new.value)
    change = replace(change, p_value=_test_ranks(quantity, sides, change.p_value, ~measured & ~equal))
    change = replace(change, p_value=np.where(equal, 1.0, change.p_value))
    return {
        **_values(base.value, new.value),
        **{f"base_{end}": getattr(base, end) for end in ("low", "high")},
        **{f"new_{end}": getattr(new, end) for end in ("low", "high")},
        **vars(change),
        "verdict": _judge(base, new, change, equal),
    }


def _middle_peak(side: Sequence[_Recording]) -> Floats:
    return np.asarray(pd.DataFrame([each.measured.peak_pct for each in side]).median(), dtype=np.float64)


def _values(base: Floats, new: Floats) -> dict[str, Floats]:
    ratio = np.divide(new, base, out=np.full(len(base), np.nan), where=base != 0)
    return {"base": base, "new": new, "difference": new - base, "ratio": ratio}


def _choose(where: Bools, first: _Kind, second: _Kind) -> _Kind:
    """One where the condition holds, the other elsewhere."""
    return replace(second, **{name: np.where(where, vars(first)[name], old) for name, old in vars(second).items()})


def _assume(quantity: str, sides: _Sides) -> tuple[Estimate, Estimate, Change]:
    """Both sides and their change, if runs differ by what is assumed."""
    within, wide = [], []
    for side in sides:
        estimate = estimate_within([each.medians[quantity] for each in side])
        relative, absolute = (np.mean([each.deviations[quantity][i] for each in side], axis=0) for i in (0, 1))
        within.append(estimate)
        wide.append(add_run_deviation(estimate, relative, absolute))
    counts = [np.sum([each.medians[quantity].count for each in side], axis=0) for side in sides]
    count = np.minimum(counts[0], counts[1])
    return wide[0], wide[1], compare_estimates(wide[0], wide[1], (within[0], within[1]), count)


def _test_ranks(quantity: str, sides: _Sides, p_value: Floats, tested: Bools) -> Floats:
    """The p values, raised to that of the Mann-Whitney test of the instances where it is larger."""
    rows = np.flatnonzero(tested & (p_value < LEVEL))
    if not len(rows):
        return p_value
    samples = [_instances_of(quantity, side, rows) for side in sides]
    raised = p_value.copy()
    raised[rows] = np.fmax(p_value[rows], mann_whitney(list(zip(*samples, strict=True))))
    return raised


def _instances_of(quantity: str, side: Sequence[_Recording], places: Ints) -> list[Floats]:
    """The known values of all instances at each of the places."""
    place = np.concatenate([each.measured.place for each in side])
    values = np.concatenate([each.measured.values[quantity] for each in side])
    known = ~np.isnan(values)
    place, values = place[known], values[known]
    order = np.argsort(place, kind="stable")
    ends = [np.searchsorted(place[order], places, side=which) for which in ("left", "right")]
    return [values[order[first:last]] for first, last in zip(*ends, strict=True)]


def _judge(base: Estimate, new: Estimate, change: Change, equal: Bools) -> npt.NDArray[np.object_]:
    """The verdicts."""
    use_ratio = ~np.isnan(change.ratio_low)
    holds_none = np.where(
        use_ratio,
        (change.ratio_low <= 1) & (change.ratio_high >= 1),
        (change.difference_low <= 0) & (change.difference_high >= 0),
    )
    shown = (change.p_value < LEVEL) & ~holds_none
    verdict = np.where(new.value > base.value, HIGHER, LOWER).astype(object)
    verdict[~shown] = NOTHING_SHOWN
    verdict[np.isnan(change.p_value)] = NOT_JUDGED
    verdict[equal] = EQUAL
    return verdict
