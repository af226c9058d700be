"""One job of many ranks: their steps side by side, who holds the others up, and by what."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.arrays import Bools, Floats
from tcprof.errors import InputError
from tcprof.frames import COLLECTIVES, JOB, RANK_PARTS, RANK_STEPS, RANKS, Schema
from tcprof.ranks.causes import Causes
from tcprof.ranks.prices import Prices, Times, price_ranks, price_together
from tcprof.ranks.reduce import ReducedRank
from tcprof.ranks.stragglers import Excess, find_more_compute, find_stragglers
from tcprof.ranks.waiting import align_clocks, exposed_wait, group_ranks, match_collectives, time_held

TIMES = ("compute_ns", "communication_ns", "copy_ns", "idle_ns", "between_ns")
_JUDGED = ("own_ns", "cpu_ns", "busy_ns", "compute_ns", "held_ns")
_DESCRIBED = ("file", "host", "gpu_name", "stage", "power_w")


@dataclass(frozen=True)
class Failure:
    """A recording that gives no rank."""

    file: str
    reason: str


@dataclass(frozen=True)
class PerStep:
    """What a step of the whole job processes, such as 4096 tokens."""

    count: int
    unit: str


@dataclass(frozen=True)
class Job:
    """The ranks of one job; frames are called as in ``tcprof.frames``."""

    recordings: tuple[ReducedRank, ...]  # in order of the ranks
    whole: pd.DataFrame  # see ``JOB``
    per_step: PerStep | None  # None where not given
    ranks: pd.DataFrame
    rank_steps: pd.DataFrame
    rank_parts: pd.DataFrame
    collectives: pd.DataFrame  # those that ranks take part in together
    clocks: pd.DataFrame  # see ``align_clocks``
    world_size: int  # how many ranks the job has, as far as they say; else how many are here
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]  # what else a reader must know


def join_ranks(
    reduced: Sequence[ReducedRank], failures: Sequence[Failure] = (), per_step: PerStep | None = None
) -> Job:
    """Put the ranks of a job side by side.

    Raises:
        InputError: There is none, or a recording does not know its rank.
    """
    if not reduced:
        raise _explain_none(failures)
    known, warnings = _choose(reduced)
    numbers = [each.rank.rank for each in known if each.rank]
    steps, parts, collectives = [
        join_frames(known, name, schema)
        for name, schema in (("steps", RANK_STEPS), ("parts", RANK_PARTS), ("collectives", COLLECTIVES))
    ]
    order = np.array(numbers, dtype=np.int64)
    group = pd.Series(group_ranks(collectives, order, np.array([each.stage for each in known])), index=order)
    matched = match_collectives(collectives, group)
    waits = exposed_wait(steps, matched)
    own = steps["step_time_ns"] - np.nan_to_num(waits)
    steps = steps.assign(wait_ns=waits, own_ns=own, held_ns=time_held(steps, matched))
    described = pd.DataFrame({"rank": order, "group": group.to_numpy()})
    described = described.assign(**{name: [getattr(each, name) for each in known] for name in _DESCRIBED})
    ranks = pd.concat([_judge(rows, steps, matched, parts) for _, rows in described.groupby("group")])
    world = max((each.rank.world_size or each.rank.rank + 1 for each in known if each.rank), default=0)
    warnings += _list_missing(world, numbers) + _compare_steps(steps, ranks)
    return Job(
        tuple(known),
        _measure_whole(ranks, per_step),
        per_step,
        RANKS.conform(ranks.sort_values("rank")),
        steps.sort_values(["rank", "step"], ignore_index=True),
        parts,
        matched,
        align_clocks(matched),
        max(world, len(known)),
        tuple(failures),
        tuple(warnings),
    )


def join_frames(ranks: Sequence[ReducedRank], name: str, schema: Schema) -> pd.DataFrame:
    """One frame of all ranks, which name theirs so, each row with its rank."""
    frames = [getattr(each, name) for each in ranks]
    numbers = np.array([each.rank.rank if each.rank else -1 for each in ranks], dtype=np.int64)
    return schema.conform(schema.concat(frames).assign(rank=np.repeat(numbers, [len(frame) for frame in frames])))


def _explain_none(failures: Sequence[Failure]) -> InputError:
    if not failures:
        return InputError("There is no recording of a rank.", "Give the recordings or saved analyses of a job.")
    more = f" Nor do {len(failures) - 1:,} others." if len(failures) > 1 else ""
    return InputError(
        f"{failures[0].file} gives no rank: {failures[0].reason}{more}", "'tcprof show' reads one of them."
    )


def _list_missing(world: int, numbers: Sequence[int]) -> list[str]:
    missing = sorted({*range(world)} - {*numbers})
    if not missing:
        return []
    return [
        f"{len(missing):,} of {world:,} ranks {'is' if len(missing) == 1 else 'are'} missing: {list_some(missing)}."
    ]


def _compare_steps(steps: pd.DataFrame, ranks: pd.DataFrame) -> list[str]:
    """That ranks of a group have different numbers of steps."""
    count = steps.groupby("rank").size()
    least, most = (getattr(count.groupby(ranks.set_index("rank")["group"]), name)() for name in ("min", "max"))
    if (least == most).all():
        return []
    covered = int(ranks["step_count"].min())
    return [
        f"The ranks have different numbers of steps, {count.min():,} to {count.max():,}: the figures cover the "
        f"{covered:,} that all ranks of a group have."
    ]


def explain_unknown_ranks(files: Sequence[str]) -> InputError:
    """What to do about recordings that do not say which ranks they are of."""
    do = "does not say which rank it is of" if len(files) == 1 else "do not say which ranks they are of"
    return InputError(
        f"{list_some(files)} {do}.",
        "Give 'tcprof show' one recording. Record jobs with 'tcprof profile' under torchrun, srun or mpirun, or say "
        r"where the files' names have the rank: tcprof ranks FOLDER --rank-from 'rank(\d+)'.",
    )


def _choose(reduced: Sequence[ReducedRank]) -> tuple[list[ReducedRank], list[str]]:
    """The ranks, each once, in order; and what was left out."""
    warnings = []
    unknown = sorted({each.file for each in reduced if each.rank is None})
    if unknown:
        raise explain_unknown_ranks(unknown)
    jobs = Counter(each.job for each in reduced if each.job)
    if len(jobs) > 1:
        usual = jobs.most_common(1)[0][0]
        other = sorted({each.file for each in reduced if each.job not in ("", usual)})
        warnings.append(f"Left out, since another job recorded it: {list_some(other)}.")
        reduced = [each for each in reduced if each.job in ("", usual)]
    chosen: dict[int, ReducedRank] = {}
    for each in sorted(reduced, key=lambda one: (one.rank.rank if one.rank else -1, one.file)):
        before = chosen.setdefault(each.rank.rank if each.rank else -1, each)
        if before is not each:
            why = "holds the same recording as" if before.content == each.content else "is of the same rank as"
            warnings.append(f"Left out: {each.file} {why} {before.file}.")
    for what, name in (("programs", "program"), ("GPUs", "gpu_name")):
        kinds = Counter(getattr(each, name) for each in chosen.values())
        if len(kinds) > 1:
            warnings.append(f"The ranks have different {what}: {', '.join(sorted(map(str, kinds)))}.")
    return list(chosen.values()), warnings


def list_some(items: Sequence[object], most: int = 8) -> str:
    """The first of them, and how many more there are."""
    shown = ", ".join(map(str, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"


def _judge(rows: pd.DataFrame, steps: pd.DataFrame, matched: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """The figures of the ranks of one group, over the steps that all of them have."""
    mine = steps[steps["rank"].isin(rows["rank"])]
    waited = mine[mine["wait_ns"].notna()]  # without a single collective that matches, nobody can be judged
    usable = mine if waited.empty else waited
    common = usable[usable.groupby("step")["rank"].transform("size") == len(rows)]
    common = common.assign(busy_ns=common["own_ns"] - common["idle_ns"] - common["between_ns"])
    own, cpu, busy, compute, held = (_arrange(common, rows["rank"], name) for name in _JUDGED)
    judged = rows.assign(step_count=own.shape[1])
    means = common.groupby("rank").mean(numeric_only=True).reindex(rows["rank"])
    for name in ("step_time_ns", *TIMES, "input_ns", "untraced_ns", "cpu_ns", "wait_ns", "own_ns", "clock_hz"):
        judged[name] = means[name].to_numpy()
    judged = judged.assign(**_rates(common, rows["rank"]))
    last = matched[matched["rank"].isin(rows["rank"])].groupby("rank")["is_last"].mean()
    judged["last_pct"] = 100 * last.reindex(rows["rank"]).to_numpy()
    found, times = find_stragglers(own if len(waited) else own[:, :0]), Times(own, cpu, busy, held)
    longer = find_more_compute(found, compute, held)
    judged = judged.assign(**_name_ends("excess", found), **_name_ends("compute_excess", longer, longer.stands_out))
    if longer.stands_out.any():  # how much of it the CPU's pace hides is not known
        found, times = longer, Times(compute, np.full_like(cpu, np.nan), compute, held)
    slow = found.stands_out
    judged = judged.assign(straggler=slow, **_name_ends("saves", price_ranks(times, found)))
    if slow.any():
        judged = judged.assign(**_name_ends("saves_together", price_together(times, found), slow))
    causes = Causes(judged, parts) if slow.any() else None
    slow_ranks = zip(judged["rank"].tolist(), slow, strict=True)
    return judged.assign(cause=[causes.explain(rank) if causes and is_slow else "" for rank, is_slow in slow_ranks])


def _name_ends(name: str, found: Excess | Prices, known: Bools | bool = True) -> dict[str, Floats]:
    """Columns of a value and the ends of its interval."""
    ends = {"": found.value, "low_": found.low, "high_": found.high}
    return {f"{name}_{end}ns": np.where(known, values, np.nan) for end, values in ends.items()}


def _arrange(common: pd.DataFrame, ranks: "pd.Series[int]", name: str) -> Floats:
    """A row for each rank, a column for each step."""
    table = common.pivot_table(index="rank", columns="step", values=name, dropna=False).reindex(ranks)
    return np.asarray(table.to_numpy(np.float64))


def _rates(common: pd.DataFrame, ranks: "pd.Series[int]") -> dict[str, Floats]:
    """Figures of a step per time of it, over the steps in which each is known."""
    time = common["step_time_ns"]
    amounts = {
        "tensor_active_pct": 100 * common["tensor_active_ns"],
        "tensor_tflops": common["tensor_flop"] / 1e3,
        "useful_tflops": common["useful_flop"] / 1e3,
        "mfu_pct": common["mfu_pct"] * time,
    }
    of_rank = common["rank"]
    rates = {
        name: amount.groupby(of_rank).sum(min_count=1) / time.where(amount.notna()).groupby(of_rank).sum()
        for name, amount in amounts.items()
    }
    return {name: rate.reindex(ranks).to_numpy(np.float64) for name, rate in rates.items()}


def _measure_whole(ranks: pd.DataFrame, per_step: PerStep | None) -> pd.DataFrame:
    step_ns = float(ranks["step_time_ns"].median())
    useful = ranks["useful_tflops"].sum(skipna=False)
    peaks = (100 * ranks["useful_tflops"] / ranks["mfu_pct"]).sum(skipna=False)
    row = {
        "rank_count": len(ranks),
        "step_time_ns": step_ns,
        "tensor_tflops": ranks["tensor_tflops"].sum(skipna=False),
        "useful_tflops": useful,
        "mfu_pct": 100 * useful / peaks if peaks > 0 else np.nan,
        "throughput": per_step.count / step_ns * 1e9 if per_step else np.nan,
    }
    return JOB.conform(pd.DataFrame([row]))
