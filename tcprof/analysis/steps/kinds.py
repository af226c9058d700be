"""Kinds of steps: tcprof distinguishes prefill, decode and other work by the kernels that they launch.

Two are of one kind where they launch the same kernels equally often, but for 10 % of what these usually take, in grids
of about the same size. Sizes that grow step by step, as with a cache of keys and values, or that are all different, as
of batches padded to their longest sequence, stay one kind: it takes a gap between sizes that recur to make two.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.names import parse_name
from tcprof.analysis.kernels.patterns import count_threads
from tcprof.analysis.ranges.projection import Attribution, Hierarchy
from tcprof.analysis.steps.marked_steps import (
    choose_warm_up,
    find_marked_steps,
    name_kin,
    set_kinds,
    steps_of_activities,
)
from tcprof.analysis.steps.step_summary import measure_steps
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import KERNEL_KINDS

MOST_KINDS = 12  # on a recording; what is of none of them is of one more, which holds all others
_SAME = 0.1  # of what a step's kernels usually take: in so much those of one kind may differ
_GAP = 0.25  # between mean logarithms to base 2 of the threads of launches: a factor of 1.2
_MAIN = 1 / 3  # of the time: where no kind has as much, kernels of the same work count as one
_LONG = 2.0  # times what later ones take that launch the same: so long does a step take that tunes
_ONCE = 0.5  # of it: in so much one that occurs once may differ, as a step that left out the optimizer
_MOST_CELLS = 20_000_000


@dataclass(frozen=True)
class _StepLaunches:
    """What each step launches: a row for each different set of launches, a column for each kernel."""

    count: Floats
    size: Floats  # mean logarithm to base 2 of the threads of a launch
    weight: Floats  # of each kernel, what a launch of it usually takes
    row: Ints  # of each step
    time: Floats  # of each row, what its steps take

    def differ(self, one: int, rows: Ints) -> Floats:
        """Compute the share of their work in which rows differ from one."""
        most = np.maximum(self.count[rows], self.count[one]) @ self.weight
        differing = np.abs(self.count[rows] - self.count[one]) @ self.weight
        share: Floats = differing / np.where(most > 0, most, 1)
        return share

    def exceed(self, one: int, rows: Ints) -> Bools:
        """Find the rows that hold the work of one, and more."""
        work = self.count[one] @ self.weight
        holds = np.minimum(self.count[rows], self.count[one]) @ self.weight >= (1 - _SAME) * work
        more: Bools = holds & (self.count[rows] @ self.weight > (1 + _SAME) * work)
        return more


def count_steps(
    instances: pd.DataFrame,
    hierarchy: Hierarchy,
    attribution: Attribution,
    activities: pd.DataFrame,
    samples: pd.DataFrame,
    step: str | list[int],
    warm_up: int | str | None,
) -> tuple[pd.DataFrame, Ints]:
    """Count steps, with kind and warm-up of each; and find for each activity the row of its step, -1 for none.

    On each GPU the kind with most time is the first, those that occur but once follow the others. Steps of ranges
    with different names are of different kinds.
    """
    steps = find_marked_steps(instances, hierarchy.paths, activities, step)
    step_of = steps_of_activities(hierarchy, attribution, activities["gpu"].to_numpy(), steps)
    kinds = _find_kinds(steps, step_of, activities)
    steps = set_kinds(steps, kinds) if kinds.any() else steps
    return measure_steps(choose_warm_up(steps, warm_up), activities, samples), step_of


def _find_kinds(steps: pd.DataFrame, step_of: Ints, activities: pd.DataFrame) -> Ints:
    """Find the kinds of each GPU by itself: what a rank does first may be what another one does all the time."""
    kinds = np.zeros(len(steps), dtype=np.int64)
    for rows in steps.groupby("gpu").indices.values():
        index = np.full(len(steps) + 1, -1)  # the last one is of what is in no step
        index[rows] = np.arange(len(rows))
        kinds[rows] = _find_kinds_of_gpu(steps.iloc[rows], index[step_of], activities)
    return kinds


def _find_kinds_of_gpu(steps: pd.DataFrame, step_of: Ints, activities: pd.DataFrame) -> Ints:
    if len(steps) < 2:
        return np.zeros(len(steps), dtype=np.int64)
    rows = np.flatnonzero((step_of >= 0) & activities["kind"].isin(KERNEL_KINDS).to_numpy())
    window = steps["gpu_window_ns"].fillna(0).to_numpy(np.float64)
    kernels, inside = activities.iloc[rows], step_of[rows]
    kin = pd.factorize(name_kin(steps))[0].astype(np.int64)
    name = kernels["name"].cat.codes.to_numpy(np.int64)
    launches = _count_launches(kernels, name, inside, window)
    kinds = _number_kinds(launches, kin)
    if kinds.max() >= MOST_KINDS or np.bincount(kinds, window).max() / max(window.sum(), 1.0) < _MAIN:
        work = pd.factorize(pd.Series([parse_name(text).work for text in kernels["name"].cat.categories]))[0]
        launches_by_work = _count_launches(kernels, work.astype(np.int64)[name], inside, window)
        coarse = _number_kinds(launches_by_work, kin)
        if coarse.max() < kinds.max():
            kinds, launches = coarse, launches_by_work
    has_none = np.bincount(inside, minlength=len(steps)) == 0
    kinds = _rank_kinds(np.where(has_none, -1, kinds), window)
    if launches is not None:
        kinds = _rank_kinds(_join_first(launches, kinds, kin, steps), window)
    return np.minimum(kinds, MOST_KINDS)


def _rank_kinds(kinds: Ints, window: Floats) -> Ints:
    """Number kinds in order of their time, those that occur once behind the others; -1 joins the first."""
    names, group = np.unique(kinds, return_inverse=True)
    often = np.bincount(group)
    usual = pd.Series(window).groupby(group).quantile(interpolation="lower").to_numpy()  # no first one that takes long
    order = np.lexsort((-usual * often, often == 1, names < 0))
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    rank[names < 0] = 0
    return rank[group]


def _join_first(launches: _StepLaunches, kinds: Ints, kin: Ints, steps: pd.DataFrame) -> Ints:
    """Merge autotuning variants and one-off outliers into the first kind of each name.

    Tuning comes before all others, holds what they do, and more, and takes longer than the one that launches the same
    later, if there is one: where it recurs, it is a kind.
    """
    number, joined = steps["number"].to_numpy(), kinds.copy()
    window = steps["gpu_window_ns"].to_numpy(np.float64)
    for name in np.unique(kin):
        rows_of_name = np.flatnonzero(kin == name)
        first = rows_of_name[kinds[rows_of_name] == kinds[rows_of_name].min()]
        main = int(launches.row[first][np.argmax(launches.time[launches.row[first]])])
        for kind in np.unique(kinds[rows_of_name])[1:]:
            rows = rows_of_name[kinds[rows_of_name] == kind]
            is_tuning = (number[rows] < number[first].min()) & launches.exceed(main, launches.row[rows])
            later_ns = window[rows[~is_tuning]]
            is_tuning &= (len(later_ns) <= 1) & (window[rows] > _LONG * later_ns.max(initial=0))
            joined[rows[is_tuning]] = kinds[first[0]]
            rows = rows[~is_tuning]
            if len(rows) == 1 and launches.differ(main, launches.row[rows])[0] <= _ONCE:
                joined[rows] = kinds[first[0]]
    return joined


def _count_launches(kernels: pd.DataFrame, name: Ints, inside: Ints, window: Floats) -> _StepLaunches | None:
    """Count what steps launch, by a number for each kernel; None where these are too many to compare."""
    of_category = [count_threads(str(geometry)) for geometry in kernels["launch_geometry"].cat.categories]
    threads = np.append(np.array(of_category, dtype=np.float64), np.nan)[kernels["launch_geometry"].cat.codes]
    launched = pd.DataFrame({"step": inside, "name": name, "size": np.nan_to_num(np.log2(np.maximum(threads, 1)))})
    sums = launched.groupby(["step", "name"])["size"].agg(["size", "mean"]).reset_index()
    length = (kernels["end_ns"] - kernels["start_ns"]).to_numpy(np.float64)
    names, column = np.unique(sums["name"].to_numpy(), return_inverse=True)
    often = np.bincount(name)
    weight = (np.bincount(name, length) / np.maximum(often, 1))[names]
    sums = sums.assign(mean=sums["mean"].round(3))
    key = pd.util.hash_pandas_object(sums[["name", "size", "mean"]], index=False).to_numpy(np.uint64)
    mark = np.zeros(len(window), dtype=np.uint64)
    np.add.at(mark, sums["step"].to_numpy(), key)
    _, first, row = np.unique(mark, return_index=True, return_inverse=True)
    if len(first) * len(names) > _MOST_CELLS:
        return None
    shape_row = np.full(len(window), -1)
    shape_row[first] = np.arange(len(first))
    shape = shape_row[sums["step"].to_numpy()]
    count, size = np.zeros((2, len(first), len(names)))
    count[shape[shape >= 0], column[shape >= 0]] = sums["size"].to_numpy()[shape >= 0]
    size[shape[shape >= 0], column[shape >= 0]] = sums["mean"].to_numpy()[shape >= 0]
    return _StepLaunches(count, size, weight, row, np.bincount(row, window).astype(np.float64))


def _split_by_size(size: Floats, often: Ints) -> Ints:
    """Split ordered sizes at gaps; a size that occurs once joins the nearest part."""
    gap = np.diff(size)
    part = np.append(0, np.cumsum(gap > _GAP))
    once = np.bincount(part, often) == 1
    if once.all():
        return np.zeros_like(part)
    near = np.flatnonzero(~once)
    middle = np.bincount(part, size) / np.bincount(part)
    nearest = near[np.argmin(np.abs(middle[:, None] - middle[near][None, :]), axis=1)]
    parts: Ints = np.unique(np.where(once, nearest, np.arange(len(once))), return_inverse=True)[1][part]
    return parts


def _number_kinds(launches: _StepLaunches | None, kin: Ints) -> Ints:
    """Number the kind of each step; ``kin`` is the number of its range's name."""
    if launches is None:
        return kin
    group = np.full(len(launches.time), -1, dtype=np.int64)
    remaining = np.argsort(-launches.time, kind="stable")
    middle = (launches.count * launches.size) @ launches.weight / np.maximum(launches.count @ launches.weight, 1e-9)
    count, often = 0, np.bincount(launches.row)
    while len(remaining) and count <= MOST_KINDS:
        same = launches.differ(int(remaining[0]), remaining) <= _SAME
        alike = remaining[same]
        alike = alike[np.argsort(middle[alike], kind="stable")]
        part = _split_by_size(middle[alike], often[alike])
        group[alike] = count + part
        count, remaining = count + int(part.max()) + 1, remaining[~same]
    group[remaining] = count  # of so many kinds, all others are one
    kinds: Ints = pd.factorize(group[launches.row] * (int(kin.max()) + 1) + kin)[0].astype(np.int64)
    return kinds
