"""The rows of a comparison: each quantity at each place, with what it proves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.arrays import Bools, Floats, Ints
from tcprof.comparison.places import Renaming
from tcprof.comparison.statistics.centers import FEWEST_INSTANCES, LEVEL, Centers, find_means, find_medians
from tcprof.comparison.statistics.estimates import (
    Change,
    Estimate,
    add_run_deviation,
    compare_estimates,
    estimate_within,
    mann_whitney,
    survived_spread,
)
from tcprof.comparison.statistics.noise import Deviations, run_deviations
from tcprof.comparison.statistics.quantities import MEASURED, PEAK, Measured, measure
from tcprof.comparison.statistics.repeats import compare_repeats, is_measured
from tcprof.comparison.statistics.rounding import (
    ROUNDED_QUANTITIES,
    Slack,
    rounding_of,
    slack_toward_none,
    widen_change,
    widen_side,
)
from tcprof.frames import COMPARISON, QUANTITIES

Columns = dict[str, Floats | npt.NDArray[np.object_]]

HIGHER, LOWER, INCONCLUSIVE, EQUAL, NOT_JUDGED = "higher", "lower", "~", "=", ""
MEDIAN, MEAN = "median", "mean"
_FIND = {MEDIAN: find_medians, MEAN: find_means}

ONE_SAMPLE = "the peak is one sample and has no interval"
TOO_FEW = f"an interval needs {FEWEST_INSTANCES} instances on each side, or several recordings"
WHOLE_GRAPHS = (
    "CUDA graphs were recorded as a whole, so the kernels in them are not known: record with --cuda-graph-trace node"
)
LOWER_BOUNDS = "a lower bound can't be compared: some kernels' FLOP are unknown, or whether they are tensor kernels"
# These are unknown even if both sides have whole graphs; the others are comparable if both have them.
_HIDDEN_IN_GRAPHS = ("kernel_count", "tensor_kernel_share_pct", "tensor_tflops")
_UNLIKE_WITH_GRAPHS = ("kernel_ns", "idle_ns")


def of_means(row: Mapping[Any, Any] | pd.Series) -> dict[Any, Any]:
    """A row of ``tcprof.frames.COMPARISON`` with the figures of means in place of those of medians."""
    row = dict(row)
    return {**row, **{name: row[f"mean_{name}"] for name in row if f"mean_{name}" in row}}


@dataclass(frozen=True)
class _RecordingFigures:
    """One recording's figures, medians and means at each place, and how much another run is assumed to differ."""

    measured: Measured
    centers: dict[str, dict[str, Centers]]
    deviations: dict[str, Deviations]
    tensor_source: str


_Figures = TypeVar("_Figures", Estimate, Change)
_Sides = tuple[Sequence[_RecordingFigures], Sequence[_RecordingFigures]]


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
        instances = np.stack([each.centers[MEDIAN]["host_ns"].count for each in side]).sum(axis=0)
        counts[f"{name}_instance_count"] = np.where(present.any(axis=0), instances, np.nan)
        counts[f"{name}_recording_count"] = present.sum(axis=0)
    names = (quantity.name for quantity in QUANTITIES)
    parts = [places.assign(quantity=name, **counts, **_compare(name, sides)) for name in names]
    return COMPARISON.conform(pd.concat(parts).sort_index(kind="stable"))


def _read(analysis: Analysis, places: pd.DataFrame, renaming: Renaming) -> _RecordingFigures:
    measured = measure(analysis, places, renaming)
    period_ns = float((analysis.samples["end_ns"] - analysis.samples["start_ns"]).median())
    rounded = analysis.tensor_source == "rounded"
    centers, deviations = {}, {}
    for statistic, find in _FIND.items():
        found = {name: find(measured.place, measured.values[name], len(places)) for name in MEASURED}
        values = {**{name: center.value for name, center in found.items()}, PEAK: measured.peak_pct}
        centers[statistic] = found
        deviations[statistic] = run_deviations(values, analysis.window, period_ns, rounded)
    return _RecordingFigures(measured, centers, deviations, analysis.tensor_source)


def _compare(quantity: str, sides: _Sides) -> Columns:
    """The columns of one quantity."""
    if quantity == PEAK:
        peaks = [_middle_peak(side) for side in sides]
        told: Columns = {**_values(*peaks), "verdict": np.full(len(peaks[0]), NOT_JUDGED, dtype=object)}
        known = ~np.isnan(peaks[0] + peaks[1])
        marks = dict.fromkeys(("base_lower_bound", "new_lower_bound"), np.zeros(len(known), dtype=bool))
        return {**told, **_named_means(told), **marks, "not_judged": np.where(known, ONE_SAMPLE, "").astype(object)}
    in_graphs, bounds = _hidden_in_graphs(quantity, sides), _lower_bounds(quantity, sides)
    hidden = in_graphs | bounds[0] | bounds[1]
    told = _compare_centers(quantity, MEDIAN, sides, hidden)
    reason = np.where(pd.isna(told["p_value"]) & ~pd.isna(told["difference"]), TOO_FEW, "")
    reason = np.where(told["verdict"] == NOT_JUDGED, reason, "")
    reason = np.where(in_graphs, WHOLE_GRAPHS, np.where(hidden, LOWER_BOUNDS, reason))
    means = _compare_centers(quantity, MEAN, sides, hidden)
    for columns in (told, means):
        # How far apart two values are of which one may be larger is not known either.
        columns.update(
            {name: np.where(bounds[0] | bounds[1], np.nan, columns[name]) for name in ("difference", "ratio")}
        )
    marks = {"base_lower_bound": bounds[0], "new_lower_bound": bounds[1]}
    return {**told, **_named_means(means), **marks, "not_judged": reason.astype(object)}


def _named_means(columns: Columns) -> Columns:
    return {f"mean_{name}": column for name, column in columns.items()}


def _hidden_in_graphs(quantity: str, sides: _Sides) -> Bools:
    """Where CUDA graphs recorded as a whole hide what the quantity counts."""
    base, new = (np.any([each.measured.whole_graphs for each in side], axis=0) for side in sides)
    if quantity in _HIDDEN_IN_GRAPHS:
        return np.asarray(base | new)
    return np.asarray(base != new) if quantity in _UNLIKE_WITH_GRAPHS else np.zeros(len(base), dtype=bool)


def _lower_bounds(quantity: str, sides: _Sides) -> tuple[Bools, Bools]:
    """Where each side's value is only a lower bound."""
    base, new = (
        np.any([each.measured.lower_bound.get(quantity, np.False_ & each.measured.present) for each in side], axis=0)
        for side in sides
    )
    return base, new


def _compare_centers(quantity: str, statistic: str, sides: _Sides, hidden: Bools) -> Columns:
    """The columns of one quantity, of medians or of means."""
    within, wide, change, assumed = _assume(quantity, statistic, sides)
    base, new = wide
    measured = is_measured(base.recordings, new.recordings)
    if measured.any():
        repeats = compare_repeats(*([each.centers[statistic][quantity] for each in side] for side in sides))
        base, new = _choose(measured, repeats[0], base), _choose(measured, repeats[1], new)
        change = _choose(measured, repeats[2], change)
    slacks = _rounding(quantity, statistic, sides)
    slack = np.zeros(len(base.value))
    if slacks is not None:
        slack, change = slack_toward_none(base, new, slacks), widen_change(change, base, new, slacks)
        base, new = (widen_side(side, own) for side, own in zip((base, new), slacks, strict=True))
    equal = base.constant & new.constant & (base.value == new.value) & (slacks is None)
    p_value = change.p_value
    if statistic == MEDIAN:
        p_value = _test_ranks(quantity, sides, p_value, ~measured & ~equal)
    change = replace(change, p_value=np.where(equal, 1.0, p_value))
    verdict = _judge(base, new, change, equal)
    survives = np.where(measured, np.nan, 100 * np.fmax(survived_spread(within, slack), assumed))
    judged = {
        **{f"base_{end}": getattr(base, end) for end in ("low", "high")},
        **{f"new_{end}": getattr(new, end) for end in ("low", "high")},
        **vars(change),
        "survives_spread_pct": np.where(np.isin(verdict, (HIGHER, LOWER)), survives, np.nan),
        "assumed_spread_pct": np.where(measured, np.nan, 100 * assumed),
    }
    judged = {name: np.where(hidden, np.nan, column) for name, column in judged.items()}
    return {**_values(base.value, new.value), **judged, "verdict": np.where(hidden, NOT_JUDGED, verdict)}


def _rounding(quantity: str, statistic: str, sides: _Sides) -> tuple[Slack, Slack] | None:
    """What rounding may have done to each side, where only one of them has exact cycles."""
    sources = [{each.tensor_source for each in side} - {"none"} for side in sides]
    if quantity not in ROUNDED_QUANTITIES or sources[0] == sources[1] or not all(sources):
        return None
    found = []
    for side, own in zip(sides, sources, strict=True):
        value, mean_pct = (
            np.nan_to_num(estimate_within([each.centers[statistic][name] for each in side]).value)
            for name in (quantity, ROUNDED_QUANTITIES[0])
        )
        none = np.zeros_like(value)
        found.append(rounding_of(value, mean_pct) if "rounded" in own else (none, none))
    return found[0], found[1]


def _middle_peak(side: Sequence[_RecordingFigures]) -> Floats:
    return np.asarray(pd.DataFrame([each.measured.peak_pct for each in side]).median(), dtype=np.float64)


def _values(base: Floats, new: Floats) -> dict[str, Floats]:
    ratio = np.divide(new, base, out=np.full(len(base), np.nan), where=base != 0)
    return {"base": base, "new": new, "difference": new - base, "ratio": ratio}


def _choose(where: Bools, first: _Figures, second: _Figures) -> _Figures:
    """One where the condition holds, the other elsewhere."""
    return replace(second, **{name: np.where(where, vars(first)[name], old) for name, old in vars(second).items()})


def _assume(
    quantity: str, statistic: str, sides: _Sides
) -> tuple[tuple[Estimate, Estimate], tuple[Estimate, Estimate], Change, Floats]:
    """Both sides as the instances have them and as runs may differ; their change; and the deviation of runs assumed."""
    within, wide, relative, counts = [], [], [], []
    for side in sides:
        centers = [each.centers[statistic][quantity] for each in side]
        estimate = estimate_within(centers)
        deviation = [np.mean([each.deviations[statistic][quantity][i] for each in side], axis=0) for i in (0, 1)]
        within.append(estimate)
        wide.append(add_run_deviation(estimate, *deviation))
        share = np.divide(deviation[1], estimate.value, out=np.zeros_like(deviation[1]), where=estimate.value > 0)
        relative.append(np.hypot(deviation[0], share))
        counts.append(np.sum([center.count for center in centers], axis=0))
    both = within[0], within[1]
    change = compare_estimates(wide[0], wide[1], both, np.minimum(counts[0], counts[1]))
    return both, (wide[0], wide[1]), change, np.sqrt((relative[0] ** 2 + relative[1] ** 2) / 2)


def _test_ranks(quantity: str, sides: _Sides, p_value: Floats, tested: Bools) -> Floats:
    """The p values, raised to that of the Mann-Whitney test of the instances where it is larger."""
    rows = np.flatnonzero(tested & (p_value < LEVEL))
    if not len(rows):
        return p_value
    samples = [_instances_of(quantity, side, rows) for side in sides]
    raised = p_value.copy()
    raised[rows] = np.fmax(p_value[rows], mann_whitney(list(zip(*samples, strict=True))))
    return raised


def _instances_of(quantity: str, side: Sequence[_RecordingFigures], places: Ints) -> list[Floats]:
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
    verdict[~shown] = INCONCLUSIVE
    verdict[np.isnan(change.p_value)] = NOT_JUDGED
    verdict[equal] = EQUAL
    return verdict
