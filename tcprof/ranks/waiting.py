"""How long ranks wait for each other, from the collectives that they take part in together.

A collective ends when its slowest rank has come. What it takes longer on a rank than on the one that was last to start
it is waiting; that shortest duration is the transfer. Durations need no common clock.
"""

import numpy as np
import pandas as pd

from tcprof.arrays import Floats, Ints


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
    """The collectives that all ranks of a group have, with ``wait_ns`` and whether the rank ``is_last`` to start it."""
    rows = collectives.assign(group=collectives["rank"].map(group))
    keys = ["group", "step", "place", "name"]
    together = rows.groupby(keys, sort=False)["duration_ns"]
    size = rows["group"].map(group.value_counts())
    complete = (together.transform("size") == size).to_numpy() & (size > 1).to_numpy()
    rows = rows.assign(wait_ns=rows["duration_ns"] - together.transform("min"))[complete]
    first = rows.groupby(keys, sort=False)["duration_ns"].idxmin()
    return rows.assign(is_last=rows.index.isin(first))


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

    Ranks leave a collective together, within some microseconds.

    Returns:
        By rank ``offset_ns``, the median, and ``error_ns``, half the width of the middle 95 % of what is left.
    """
    ends = matched.assign(end_ns=(matched["start_ns"] + matched["duration_ns"]).astype(np.float64))
    keys = ["group", "step", "place"]
    ahead = ends["end_ns"] - ends.groupby(keys)["rank"].transform("idxmin").map(ends["end_ns"])
    of_rank = ahead.groupby(ends["rank"])
    spread = of_rank.quantile(0.975) - of_rank.quantile(0.025)
    return pd.DataFrame({"offset_ns": of_rank.median(), "error_ns": spread / 2})
