"""Attribute activities on a GPU to NVTX ranges, and explain why some belong to none.

Every NVTX domain is a hierarchy of its own: a library's ranges take no kernel away from those of the program. Within a
domain an activity belongs to the ranges that were open on the launching thread at the launch's start: the innermost
one, those that it lies in, and start/end ranges that cross these. Where that thread has no range open, as PyTorch's
autograd thread has none, the activity is *inherited* from the other threads of the process: from the only one with a
range open then, or, of several, from the one that launched last before. A launch inside a range of its own thread in
the default domain, the program's own, inherits nothing in other domains; ops never are.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import OpenIntervals, last_before, run_starts
from tcprof.analysis.ranges.nesting import Nesting, find_enclosing_ranges, name_paths
from tcprof.arrays import Bools, Ints
from tcprof.frames import NVTX_RANGES, OPS_DOMAIN

NO_LAUNCH = "no launch recorded"
OTHER_PROCESS = "its process opened no range"
NO_RANGE = "no range was open"
AMBIGUOUS = "several threads had ranges open, and none had launched work before"
BEFORE_STEPS, AFTER_STEPS = "before the first step", "after the last step"  # of what is in no range
_REMEDIES = {
    BEFORE_STEPS: "",
    AFTER_STEPS: "",
    OTHER_PROCESS: "open ranges in that process too",
    NO_RANGE: "open a range around that part of the program",
    AMBIGUOUS: "open ranges on the launching thread",
}
DEEPEST = 256  # ranges around each other: each level takes time, and no program opens so many
_NEVER = np.iinfo(np.int64).min
_Pairs = tuple[Ints, Ints, Ints, Bools]  # of activities and ranges, as in Attribution
CAUSES = ("", BEFORE_STEPS, AFTER_STEPS, NO_LAUNCH, OTHER_PROCESS, NO_RANGE, AMBIGUOUS)


def list_remedies(launches: str) -> dict[str, str]:
    """List by cause what to do about work of no range; ``launches`` is what records launches."""
    return _REMEDIES | {NO_LAUNCH: launches}


@dataclass(frozen=True)
class Hierarchy:
    """Ranges in order of thread and time, nested."""

    ranges: pd.DataFrame  # the ranges, see ``tcprof.frames.NVTX_RANGES``; the arrays below have one value for each row
    parent: Ints  # row of the range that a range lies in, -1 for an outermost one
    path_id: Ints  # row of its path in ``paths``
    paths: pd.DataFrame  # see ``tcprof.frames.PATHS``, in the order in which a tree is read
    path_count: int  # how many paths there are by all names, see ``name_paths``
    levels: list[Ints]  # the rows at each depth, outermost first
    lane: Ints  # number of its process, thread and domain together
    open: Nesting  # finds the open ranges of a lane
    too_deep: int = 0  # ranges that were left out, since they lie in more than ``DEEPEST`` others


@dataclass(frozen=True)
class Attribution:
    """Which activity belongs to which range."""

    # Rows of activities, one for each pair of an activity and a range that it belongs to with all ranges around it:
    # its innermost one first, then start/end ranges that cross this
    activity: Ints
    range: Ints  # row of that range in the hierarchy
    counted: Ints  # depth of the path down to which an activity counts by another pair already; 0 for most
    inherited: Bools  # whether the launching thread had no range open
    # For each activity why it belongs to no range, one of ``CAUSES``; empty for those that belong to one
    cause: pd.Categorical
    marks: pd.DataFrame  # see ``tcprof.frames.MARKS``
    mark: Ints  # for each activity the last one of its thread before its launch; -1 for none


def build_hierarchy(ranges: pd.DataFrame) -> Hierarchy:
    """Nest ranges within each thread and domain, and name their paths."""
    process, thread, domain = ranges["process"].to_numpy(), ranges["thread"].to_numpy(), ranges["domain"].cat
    threads = pd.factorize(process << 32 | thread, sort=True)[0]
    lane = pd.factorize(threads * len(domain.categories) + domain.codes.to_numpy(np.int64), sort=True)[0]
    start, end = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    order = OpenIntervals.order(lane, start, end)
    ordered, lane = NVTX_RANGES.conform(ranges.iloc[order]), lane[order]
    nesting = Nesting(lane, *(ordered[name].to_numpy() for name in ("start_ns", "end_ns", "start_end")))
    parent = find_enclosing_ranges(nesting.parents(), ordered, lane, nesting)
    levels = _levels(parent)
    if len(levels) > DEEPEST:
        shallow = ordered.drop(np.concatenate(levels[DEEPEST:]))
        return replace(build_hierarchy(shallow), too_deep=len(ordered) - len(shallow))
    path_id, paths, path_count = name_paths(ordered, parent, levels)
    return Hierarchy(ordered, parent, path_id, paths, path_count, levels, lane, nesting)


def _levels(parent: Ints) -> list[Ints]:
    """List the rows at each depth, outermost first; by doubling the step up, in logarithmic time of the depth."""
    depth, above = (parent >= 0).astype(np.int64), parent.copy()
    while (above >= 0).any():
        inside = above >= 0
        depth[inside] += depth[above[inside]]
        above[inside] = above[above[inside]]
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1) if len(order) else []


def attribute(
    hierarchy: Hierarchy, launches: pd.DataFrame, activities: pd.DataFrame, marks: pd.DataFrame
) -> Attribution:
    """Find the ranges of every domain that each activity belongs to, and the mark that it follows."""
    launch = launches_of(launches, activities)
    launched = np.flatnonzero(launch >= 0)
    process, thread, time = (launches[name].to_numpy()[launch[launched]] for name in ("process", "thread", "start_ns"))
    first = run_starts(hierarchy.lane)
    lanes = hierarchy.ranges.iloc[first].assign(lane=hierarchy.lane[first])
    cause = np.full(len(activities), CAUSES.index(NO_LAUNCH), dtype=np.int8)
    with_ranges = np.isin(process, lanes["process"])
    cause[launched] = np.where(with_ranges, CAUSES.index(NO_RANGE), CAUSES.index(OTHER_PROCESS))
    parts: list[_Pairs] = []
    annotated = np.zeros(len(launched), dtype=bool)  # in a range of the thread's own, of the default domain
    domains = lanes.groupby("domain", observed=True)
    for domain, domain_lanes in sorted(domains, key=lambda part: (part[0] == OPS_DOMAIN, str(part[0]))):  # ops last
        key = domain_lanes["process"].to_numpy() << 32 | domain_lanes["thread"].to_numpy()
        lane_of = pd.Series(domain_lanes["lane"].to_numpy(), index=key)
        thread_lane = lane_of.reindex(process << 32 | thread).fillna(-1).to_numpy(np.int64)
        innermost = hierarchy.open.at(thread_lane, time)
        annotated |= (innermost >= 0) & (domain == "")
        free = np.flatnonzero((innermost < 0) & ~annotated & (domain != OPS_DOMAIN))
        inherited, ambiguous = _inherit(hierarchy, domain_lanes, launches, process[free], time[free])
        cause[launched[free[ambiguous]]] = CAUSES.index(AMBIGUOUS)
        innermost[free] = inherited
        hits = np.flatnonzero(innermost >= 0)
        parts.append(_add_crossing(hierarchy, launched[hits], innermost[hits], time[hits], np.isin(hits, free)))
    pairs = [np.concatenate(part) for part in zip(*parts, strict=True)] or [np.empty(0, np.int64)] * 4
    activity, rows, counted, inherited_flags = pairs
    cause[activity] = CAUSES.index("")
    categories = pd.Categorical.from_codes(cause, list(CAUSES))
    mark = np.full(len(activities), -1)
    # Autograd has a thread for each device: a module whose nodes run on several marks but the first of these.
    marks = marks[marks.groupby("process")["thread"].transform("nunique") == 1]
    marking = marks["process"].to_numpy() << 32 | marks["thread"].to_numpy()
    key = pd.factorize(np.append(marking, process << 32 | thread))[0]
    mark[launched] = last_before(key[len(marks) :], time, key[: len(marks)], marks["start_ns"].to_numpy())
    return Attribution(activity, rows, counted, inherited_flags.astype(bool), categories, marks, mark)


def _add_crossing(hierarchy: Hierarchy, activity: Ints, innermost: Ints, time: Ints, inherited: Bools) -> _Pairs:
    """Pair activities with their innermost ranges, and with start/end ranges open at launch that cross these."""
    path = hierarchy.path_id
    query, crossing = hierarchy.open.start_end_at(path, hierarchy.lane[innermost], time)
    index = np.append(np.arange(len(activity)), query)
    rows = np.append(innermost, crossing)
    counted = np.zeros(len(index), dtype=np.int64)
    if len(query):
        # Paths are numbered as a tree is read: one in which others of the activity lie is followed by such a one, and
        # what a path has in common with any before it, it has in common with the last one before it.
        order = np.lexsort((path[rows], index))
        order = order[~_followed(index[order], path[rows[order]], hierarchy)]
        before, after = order[:-1], order[1:]
        together = index[before] == index[after]
        shared = _common_depth(hierarchy, path[rows[before[together]]], path[rows[after[together]]])
        counted[after[together]] = shared
        order = np.sort(order)[np.argsort(index[np.sort(order)], kind="stable")]
        index, rows, counted = index[order], rows[order], counted[order]
    return activity[index], rows, counted, inherited[index]


def _followed(index: Ints, path: Ints, hierarchy: Hierarchy) -> Bools:
    """Find the sorted pairs of a path that came before, or that the next one of their activity lies in."""
    is_followed = np.zeros(len(index), dtype=bool)
    row = np.flatnonzero(index[1:] == index[:-1])
    one, other = path[row], path[row + 1]
    around = _common_depth(hierarchy, one, other) == hierarchy.paths["depth"].to_numpy()[one]
    is_followed[row[around & (one != other)]] = True
    is_followed[row[one == other] + 1] = True
    return is_followed


def _common_depth(hierarchy: Hierarchy, one: Ints, other: Ints) -> Ints:
    """Find the depth of the innermost path that two paths lie in, or of the one around the other; 0 for none."""
    above, depth = (np.append(hierarchy.paths[name], end) for name, end in (("parent_id", -1), ("depth", 0)))
    while (one != other).any():
        low, high = depth[one], depth[other]
        one, other = (
            np.where((one != other) & (low >= high), above[one], one),
            np.where((one != other) & (high >= low), above[other], other),
        )
    return depth[one]


def ranges_of_activities(attribution: Attribution, activities: int) -> Ints:
    """Find for each activity its innermost range, first of the default domain, last of ops; -1 for none."""
    innermost = np.full(activities, -1, dtype=np.int64)
    # The default domain comes first and ops last, so that they are written last and first.
    innermost[attribution.activity[::-1]] = attribution.range[::-1]
    return innermost


def innermost_of_domain(
    hierarchy: Hierarchy, attribution: Attribution, domain: str, activities: int
) -> tuple[Ints, Bools]:
    """Find for each activity its innermost range of a domain, -1 for none; and whether another thread opened that."""
    innermost, inherited = np.full(activities, -1), np.zeros(activities, dtype=bool)
    is_of_domain = (hierarchy.ranges["domain"] == domain).to_numpy()
    pairs = np.flatnonzero(is_of_domain[attribution.range])[::-1]  # the innermost one first, so written last
    innermost[attribution.activity[pairs]] = attribution.range[pairs]
    inherited[attribution.activity[pairs]] = attribution.inherited[pairs]
    return innermost, inherited


def launches_of(launches: pd.DataFrame, activities: pd.DataFrame) -> Ints:
    """Find for each activity the row of its launch, -1 where none is recorded."""
    keys = [frame["process"].to_numpy() << 39 | frame["correlation"].to_numpy() for frame in (launches, activities)]
    return np.asarray(pd.Index(keys[0]).get_indexer(keys[1]), dtype=np.int64)


def _inherit(
    hierarchy: Hierarchy, lanes: pd.DataFrame, launches: pd.DataFrame, process: Ints, time: Ints
) -> tuple[Ints, Bools]:
    """Find for launches from threads without a range the open range of another thread of their process."""
    open_range = np.full(len(time), -1, dtype=np.int64)
    ambiguous = np.zeros(len(time), dtype=bool)
    for owner, of_process in lanes.groupby("process"):
        index = np.flatnonzero(process == owner)
        if not len(index):
            continue
        times = time[index]
        count, latest = np.zeros(len(index), dtype=np.int64), np.full(len(index), _NEVER)
        best = np.full(len(index), -1, dtype=np.int64)
        thread_launches = launches[launches["process"] == owner]
        for thread, lane in zip(of_process["thread"], of_process["lane"], strict=True):
            candidate = hierarchy.open.at(np.full(len(index), lane), times)
            before = np.sort(thread_launches.loc[thread_launches["thread"] == thread, "start_ns"].to_numpy())
            launched = np.append(_NEVER, before)[np.searchsorted(before, times)]
            is_open = candidate >= 0
            count += is_open
            better = is_open & ((best < 0) | (launched > latest))
            best, latest = np.where(better, candidate, best), np.where(better, launched, latest)
        none_launched = (count > 1) & (latest == _NEVER)
        open_range[index] = np.where(none_launched, -1, best)
        ambiguous[index] = none_launched
    return open_range, ambiguous
