"""How long ranks wait for each other, from the collectives that they take part in together.

A collective ends when its slowest rank has come. What it takes longer on a rank than on the one that was last to start
it is waiting; that shortest duration is the transfer. Durations need no common clock.
"""

import re

import numpy as np
import pandas as pd

from tcprof.arrays import Floats, Ints
from tcprof.frames import COLLECTIVE_KINDS

# Ranks that take part in a collective together leave it within 0.3 to 20 us, by the medians of 18 jobs on one host.
_APART_NS = 50_000
_MOST_STEPS = 32  # in which they are compared
# By the kind in a kernel's name, as in https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md: whether a
# message is one rank's part of the data, and how often the data crosses each link, times (n-1)/n for n ranks; None for
# once.
_TRAFFIC = {
    "AllReduce": (False, 2),
    "AllGather": (True, 1),
    "ReduceScatter": (True, 1),
    "Broadcast": (False, None),
    "Reduce": (False, None),
}
_KIND = re.compile(rf"_({'|'.join(_TRAFFIC)})_")
_TOGETHER = ["group", "partners", "name", "nth", "step"]


def group_ranks(collectives: pd.DataFrame, ranks: Ints, stages: Floats) -> Ints:
    """Group the ranks of one pipeline stage whose steps hold the same collectives in the same order.

    Stages, or experts, have other work by design. Stages that only some ranks know are not used: then only the
    collectives distinguish them. Ranks without any collective are one group.
    """
    steps = collectives.groupby("rank")["step"].nunique()
    in_steps = collectives.groupby(["rank", "name"])["step"].nunique().reset_index()
    usual = in_steps[in_steps["step"] > in_steps["rank"].map(steps) / 2]  # not what only the first steps do
    names = usual.groupby("rank")["name"].agg(lambda mark_of_rank: " ".join(sorted(mark_of_rank)))
    count = collectives.groupby(["rank", "step"]).size().groupby(level="rank").median()
    marks = pd.Series(list(zip(names, count[names.index], strict=True)), index=names.index, dtype=object)
    mark_of_rank = marks.reindex(ranks).map(lambda mark: mark if isinstance(mark, tuple) else ("", 0.0))
    stage_of_rank = np.zeros(len(ranks)) if np.isnan(stages).any() else stages
    codes: Ints = pd.factorize(pd.Series(list(zip(stage_of_rank, mark_of_rank, strict=True)), dtype=object))[0]
    return codes


def match_collectives(collectives: pd.DataFrame, group: "pd.Series[int]") -> pd.DataFrame:
    """Match the collectives that several ranks of a group take part in together, and all of these have.

    Args:
        collectives: See ``COLLECTIVES``.
        group: The number of each rank's group; what other groups do is other work.

    Returns:
        Their rows with ``nth``, of those of a step with the same name; ``partners``, the first of the ranks that take
        part together, and ``partner_count``; ``wait_ns``; and whether the rank ``is_last`` to start it.
    """
    rows = collectives.sort_values(["rank", "step", "place"])
    rows = rows.assign(group=rows["rank"].map(group), nth=rows.groupby(["rank", "step", "name"]).cumcount())
    rows, size = rows.assign(partners=-1), pd.Series(0, rows.index)
    for number, ranks in group.groupby(group):
        partner_sets: list[Ints] = []
        for _, collective in rows[rows["group"] == number].groupby(["name", "nth"]):
            partners = pd.Series(_find_partners(collective, ranks.index, partner_sets), ranks.index)
            rows.loc[collective.index, "partners"] = collective["rank"].map(partners)
            size.loc[collective.index] = collective["rank"].map(partners.map(partners.value_counts()))
    together = rows.groupby(_TOGETHER, sort=False)["duration_ns"]
    complete = (together.transform("size") == size).to_numpy() & (size > 1).to_numpy()
    waits = {"wait_ns": rows["duration_ns"] - together.transform("min"), "partner_count": size}
    rows = rows.assign(**waits)[complete].sort_index()
    first = rows.groupby(_TOGETHER, sort=False)["duration_ns"].idxmin()
    return rows.assign(is_last=rows.index.isin(first))


def _find_partners(collective: pd.DataFrame, ranks: "pd.Index[int]", partner_sets: list[Ints]) -> Ints:
    """Find the first of the ranks with which each rank of a group takes part in one collective.

    These leave it at the same time, so from step to step the same time passes for them. They are all ranks but in jobs
    that are parallel in several dimensions, where each of several equal sets has its own.

    Args:
        own: That collective in each step.
        ranks: Of the group, in order.
        known: Sets that were found before; gets what is found.
    """
    all_together = np.full(len(ranks), ranks.min())
    if len(ranks) < 4:
        return all_together
    first_steps = collective[collective["step"].isin(np.unique(collective["step"])[:_MOST_STEPS])]
    ends = (first_steps["start_ns"] + first_steps["duration_ns"]).to_numpy(np.float64)
    table = pd.DataFrame(
        {"rank": first_steps["rank"].to_numpy(), "step": first_steps["step"].to_numpy(), "end_ns": ends}
    )
    periods = np.diff(table.pivot(index="rank", columns="step", values="end_ns").reindex(ranks).dropna(axis=1), axis=1)
    if periods.shape[1] < 2:
        return all_together
    for sets in (all_together, *partner_sets):
        if (_distance(periods, periods[np.searchsorted(ranks, sets)]) <= _APART_NS).all():
            return sets
    left, sets = np.arange(len(ranks)), all_together.copy()
    while len(left):
        near = _distance(periods[left], periods[left[0]]) <= _APART_NS
        sets[left[near]] = ranks[left[0]]
        left = left[~near]
    sizes = np.unique(sets, return_counts=True)[1]
    if sizes.min() < 2 or (sizes % sizes.min()).any():  # sets that leave within as little of each other are one here
        return all_together
    partner_sets.append(sets)
    return sets


def _distance(periods: Floats, reference: Floats) -> Floats:
    apart: Floats = np.median(np.abs(periods - reference), axis=1)
    return apart


def sum_kinds(matched: pd.DataFrame, link: float, *, is_complete: bool) -> pd.DataFrame:
    """Sum the collectives of each kernel, see ``COLLECTIVE_KINDS``, longest first.

    Args:
        matched: See ``match_collectives``.
        link: The most bytes a second, in one direction, between each rank and the others; NaN where unknown.
        is_complete: Whether all ranks are here, so that ``partner_count`` is of all that take part together.
    """
    rows = matched.assign(transfer_ns=matched["duration_ns"] - matched["wait_ns"], launch_count=1.0)
    steps = len(rows[["rank", "step"]].drop_duplicates())
    sums = rows.groupby("name")[["launch_count", "duration_ns", "wait_ns", "transfer_ns"]].sum() / max(steps, 1)
    for name, of_kind in rows.groupby("name"):
        kind = _KIND.search(str(name))
        if kind and is_complete:
            is_part, crossings = _TRAFFIC[kind[1]]
            ranks = of_kind["partner_count"]
            data = of_kind["message_bytes"] * (ranks if is_part else 1)
            crossing = data * crossings * (1 - 1 / ranks) if crossings else data
            time_s = of_kind["transfer_ns"].where(data.notna()).sum() / 1e9
            sums.loc[name, "data_bytes"] = data.sum(skipna=False) / steps
            sums.loc[name, "algorithm_bandwidth"] = data.sum() / time_s if time_s else np.nan
            sums.loc[name, "bus_bandwidth"] = crossing.sum() / time_s if time_s else np.nan
            sums.loc[name, "link_pct"] = 100 * sums.loc[name, "bus_bandwidth"] / link
    return COLLECTIVE_KINDS.conform(sums.sort_values("duration_ns", ascending=False).reset_index())


def exposed_wait(steps: pd.DataFrame, matched: pd.DataFrame) -> Floats:
    """Return the waiting of each row of ``RANK_STEPS`` that nothing hides; NaN where no collective matches."""
    waited = matched.groupby(["rank", "step"])["wait_ns"].sum()
    of_step = waited.reindex(pd.MultiIndex.from_frame(steps[["rank", "step"]])).to_numpy(np.float64)
    return np.asarray(np.minimum(of_step, steps["communication_ns"].to_numpy()))


def time_held(steps: pd.DataFrame, matched: pd.DataFrame) -> Floats:
    """Bound how much longer, in ns, kernels of each row took beside collectives that waited, by the SMs of these."""
    share = (matched["sm_pct"] / 100).fillna(1.0).clip(0, 1)  # all, where not known
    sums = matched.assign(held_ns=share * matched["wait_ns"]).groupby(["rank", "step"])[["wait_ns", "held_ns"]].sum()
    of_step = sums.reindex(pd.MultiIndex.from_frame(steps[["rank", "step"]])).fillna(0)
    waited, held = of_step["wait_ns"].to_numpy(), of_step["held_ns"].to_numpy()
    hidden = 1 - np.minimum(waited, steps["communication_ns"].to_numpy()) / np.where(waited > 0, waited, 1)
    return np.asarray(np.minimum(np.where(waited > 0, hidden * held, 0), steps["compute_ns"].to_numpy()))


def align_clocks(matched: pd.DataFrame) -> pd.DataFrame:
    """Align the clocks of each group's ranks with that of its first, by the ends of the collectives.

    Ranks leave a collective together, within some microseconds. A rank that takes part in none with the first is
    compared with it by those that take part in some with both.

    Returns:
        By rank ``offset_ns``, the sum of medians, and ``error_ns``, half the width of the middle 95 % of what is left.
    """
    ends = matched.assign(end_ns=(matched["start_ns"] + matched["duration_ns"]).astype(np.float64))
    of_first = ends.groupby(_TOGETHER)["rank"].transform("idxmin").map(ends["end_ns"])
    ends = ends.assign(ahead_ns=ends["end_ns"] - of_first)
    pairs = ends.groupby(["partners", "rank"])["ahead_ns"].median()
    usual = pairs.reindex(pd.MultiIndex.from_frame(ends[["partners", "rank"]])).to_numpy()
    left = (ends["ahead_ns"] - usual).groupby(ends["rank"])
    error = (left.quantile(0.975) - left.quantile(0.025)) / 2
    offsets = pd.Series(_chain(dict(pairs)), dtype=np.float64).reindex(error.index)
    return pd.DataFrame({"offset_ns": offsets, "error_ns": error})


def _chain(pairs: dict[tuple[int, int], float]) -> dict[int, float]:
    """Sum how far each is ahead of the first that it is connected with, from pairs."""
    offsets: dict[int, float] = {}
    while pairs:
        left = {}
        for (first, second), ahead in pairs.items():
            if first in offsets:
                offsets.setdefault(second, offsets[first] + ahead)
            elif second in offsets:
                offsets[first] = offsets[second] - ahead
            else:
                left[first, second] = ahead
        if len(left) == len(pairs):
            offsets[min(left)[0]] = 0.0
        pairs = left
    return offsets
