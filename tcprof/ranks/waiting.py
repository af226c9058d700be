"""How long ranks wait for each other, from the collectives that they take part in together.

A collective ends when its slowest rank has come. What it takes longer on a rank than on the one that was last to start
it is waiting; that shortest duration is the transfer. Durations need no common clock.
"""

import numpy as np
import pandas as pd

from tcprof.arrays import Floats, Ints

_MOST_COMPARED = 256  # collectives of a stream, by which it is found who takes part in them together
# Ranks that take part together leave within 0.3 to 20 us of each other, by the medians of 18 jobs on one host.
_APART_NS = 50_000
_TOGETHER = ["group", "partners", "stream", "step", "place", "name"]
_TIGHT = 0.2  # of what other ranks are apart: so much are those at most that take part together


def group_ranks(collectives: pd.DataFrame, ranks: Ints, stages: Floats) -> Ints:
    """The group of each rank: ranks of one pipeline stage whose steps hold the same collectives in the same order.

    Stages, or experts, have other work by design. Stages that only some ranks know are not used: then only the
    collectives distinguish them. Ranks without any collective are one group.
    """
    steps = collectives.groupby("rank")["step"].nunique()
    in_steps = collectives.groupby(["rank", "name"])["step"].nunique().reset_index()
    usual = in_steps[in_steps["step"] > in_steps["rank"].map(steps) / 2]  # not what only the first steps do
    names = usual.groupby("rank")["name"].agg(lambda of_rank: " ".join(sorted(of_rank)))
    count = collectives.groupby(["rank", "step"]).size().groupby(level="rank").median()
    marks = pd.Series(list(zip(names, count[names.index], strict=True)), index=names.index, dtype=object)
    of_rank = marks.reindex(ranks).map(lambda mark: mark if isinstance(mark, tuple) else ("", 0.0))
    known = np.zeros(len(ranks)) if np.isnan(stages).any() else stages
    codes: Ints = pd.factorize(pd.Series(list(zip(known, of_rank, strict=True)), dtype=object))[0]
    return codes


def match_collectives(collectives: pd.DataFrame, group: "pd.Series[int]") -> pd.DataFrame:
    """The collectives that several ranks of a group take part in together, and all of these have.

    Args:
        collectives: See ``COLLECTIVES``.
        group: The number of each rank's group; what other groups do is other work.

    Returns:
        Their rows with ``partners``, the number of the set of ranks; ``wait_ns``; and whether the rank ``is_last`` to
        start it.
    """
    rows = collectives.assign(group=collectives["rank"].map(group), partners=0)
    for (number, _), own in rows.groupby(["group", "stream"], dropna=False):
        rows.loc[own.index, "partners"] = own["rank"].map(_find_partners(own, group.index[group == number]))
    sets = rows.groupby(["group", "stream", "partners"], dropna=False)["rank"].transform("nunique")
    size = sets.where(rows["partners"] > 0, rows["group"].map(group.value_counts()))
    together = rows.groupby(_TOGETHER, sort=False, dropna=False)["duration_ns"]
    complete = (together.transform("size") == size).to_numpy() & (size > 1).to_numpy()
    rows = rows.assign(wait_ns=rows["duration_ns"] - together.transform("min"))[complete]
    first = rows.groupby(_TOGETHER, sort=False, dropna=False)["duration_ns"].idxmin()
    return rows.assign(is_last=rows.index.isin(first))


def _find_partners(own: pd.DataFrame, ranks: "pd.Index[int]") -> "pd.Series[int]":
    """Which ranks of a group take part in its collectives on a stream together: a number from 1 on, or all 0.

    Those leave it at the same time: from one collective to the next the same time passes. All ranks do, but for
    parallelism in several dimensions, in which equal sets of them share one.
    """
    all_together = pd.Series(0, ranks)
    some = own[own["rank"] == ranks[0]].sort_values(["step", "place"]).head(_MOST_COMPARED)
    some = own[own["step"] <= some["step"].max()].assign(end_ns=own["start_ns"] + own["duration_ns"])
    ends = some.pivot_table(index="rank", columns=["step", "place", "name"], values="end_ns", observed=True)
    ends = ends.reindex(ranks).dropna(axis=1)
    period = np.diff(ends.to_numpy(np.float64), axis=1)
    if len(ranks) < 4 or period.shape[1] < 2:
        return all_together
    apart = np.median(np.abs(period - period[0]), axis=1)
    if apart.max() <= _APART_NS:
        return all_together
    partners, number = np.zeros(len(ranks), dtype=np.int64), 0
    while not partners.all():
        number += 1
        left = np.flatnonzero(partners == 0)
        near = np.median(np.abs(period[left] - period[left[0]]), axis=1) <= _TIGHT * apart.max()
        partners[left[near]] = number
    sizes = np.bincount(partners)[1:]
    return pd.Series(partners, ranks) if sizes.min() > 1 and (sizes == sizes[0]).all() else all_together


def exposed_wait(steps: pd.DataFrame, matched: pd.DataFrame) -> Floats:
    """Waiting of each row of ``RANK_STEPS`` that nothing else of the rank hides; NaN where no collective matches."""
    waited = matched.groupby(["rank", "step"])["wait_ns"].sum()
    of_step = waited.reindex(pd.MultiIndex.from_frame(steps[["rank", "step"]])).to_numpy(np.float64)
    return np.asarray(np.minimum(of_step, steps["communication_ns"].to_numpy()))


def time_held(steps: pd.DataFrame, matched: pd.DataFrame) -> Floats:
    """What the kernels of each row of ``RANK_STEPS`` took longer, at most, beside collectives that waited, in ns.

    Work that needs all SMs slows as much as it loses of them.
    """
    share = (matched["sm_pct"] / 100).fillna(1.0).clip(0, 1)  # all, where not known
    sums = matched.assign(held_ns=share * matched["wait_ns"]).groupby(["rank", "step"])[["wait_ns", "held_ns"]].sum()
    of_step = sums.reindex(pd.MultiIndex.from_frame(steps[["rank", "step"]])).fillna(0)
    waited, held = of_step["wait_ns"].to_numpy(), of_step["held_ns"].to_numpy()
    hidden = 1 - np.minimum(waited, steps["communication_ns"].to_numpy()) / np.where(waited > 0, waited, 1)
    return np.asarray(np.minimum(np.where(waited > 0, hidden * held, 0), steps["compute_ns"].to_numpy()))


def align_clocks(matched: pd.DataFrame) -> pd.DataFrame:
    """How far each rank's clock is ahead of that of the first of its group, by the ends of the collectives.

    Ranks leave a collective together, within some microseconds. A rank that takes part in none with the first is
    compared with it by those that take part in some with both.

    Returns:
        By rank ``offset_ns``, the sum of medians, and ``error_ns``, half the width of the middle 95 % of what is left.
    """
    ends = matched.assign(end_ns=(matched["start_ns"] + matched["duration_ns"]).astype(np.float64))
    first = ends.groupby(_TOGETHER, dropna=False)["rank"].transform("idxmin")
    ends = ends.assign(first=first.map(ends["rank"]), ahead_ns=ends["end_ns"] - first.map(ends["end_ns"]))
    pairs = ends.groupby(["first", "rank"])["ahead_ns"].median()
    offsets: dict[int, float] = {}
    for (of_first, rank), ahead in pairs.items():
        offsets.setdefault(rank, offsets.setdefault(of_first, 0.0) + ahead)
    usual = pairs.reindex(pd.MultiIndex.from_frame(ends[["first", "rank"]])).to_numpy()
    left = (ends["ahead_ns"] - usual).groupby(ends["rank"])
    error = (left.quantile(0.975) - left.quantile(0.025)) / 2
    return pd.DataFrame({"offset_ns": pd.Series(offsets, dtype=float).reindex(error.index), "error_ns": error})
