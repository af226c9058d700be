"""One job of many ranks: their steps side by side, which is a straggler, and why."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.arrays import Bools, Floats
from tcprof.chips import find_chip
from tcprof.errors import InputError
from tcprof.frames import COLLECTIVES, JOB, RANK_PARTS, RANK_STEPS, RANKS, Schema
from tcprof.ranks.reduce import ReducedRank
from tcprof.ranks.stragglers import (
    LEAST_EXCESS,
    Excess,
    Prices,
    Profiling,
    Times,
    find_more_compute,
    find_pace,
    find_stragglers,
    mean_excess,
    price_ranks,
    price_together,
)
from tcprof.ranks.waiting import align_clocks, exposed_wait, group_ranks, match_collectives, sum_kinds, time_held
from tcprof.untrusted import one_line

TIMES = ("compute_ns", "communication_ns", "copy_ns", "idle_ns", "between_ns")
_MOST_LISTED = 8
_JUDGED = ("own_ns", "step_time_ns", "cpu_ns", "busy_ns", "compute_ns", "held_ns")
_FOR_CAUSES = ("held_ns", "transfer_ns")
_DESCRIBED = ("file", "host", "gpu_name", "stage", "power_w", "unprofiled_ns")


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
    kinds: pd.DataFrame  # see ``COLLECTIVE_KINDS``
    clocks: pd.DataFrame  # see ``align_clocks``
    world_size: int  # how many ranks the job has, as far as they say; else how many are here
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]  # what else a reader must know


def join_ranks(
    reduced: Sequence[ReducedRank], failures: Sequence[Failure] = (), per_step: PerStep | None = None
) -> Job:
    """Put the ranks of a job side by side; InputError where there is none, or one is not known."""
    if not reduced:
        raise _explain_none(failures)
    chosen, warnings = _choose(reduced)
    numbers = [rank.rank.rank for rank in chosen if rank.rank]
    steps, parts, collectives = [
        join_frames(chosen, name, schema)
        for name, schema in (("steps", RANK_STEPS), ("parts", RANK_PARTS), ("collectives", COLLECTIVES))
    ]
    order = np.array(numbers, dtype=np.int64)
    group = pd.Series(group_ranks(collectives, order, np.array([rank.stage for rank in chosen])), index=order)
    matched = match_collectives(collectives, group)
    waits = exposed_wait(steps, matched)
    own_ns = steps["step_time_ns"] - np.nan_to_num(waits)
    steps = steps.assign(wait_ns=waits, own_ns=own_ns, held_ns=time_held(steps, matched))
    described = pd.DataFrame({"rank": order, "group": group.to_numpy()})
    described = described.assign(**{name: [getattr(rank, name) for rank in chosen] for name in _DESCRIBED})
    ranks = pd.concat([_judge(rows, steps, matched, parts) for _, rows in described.groupby("group")])
    world = max((rank.rank.world_size or rank.rank.rank + 1 for rank in chosen if rank.rank), default=0)
    warnings += _list_missing(world, numbers) + _compare_steps(steps, ranks) + _warn_of_other_work(ranks)
    return Job(
        tuple(chosen),
        _measure_whole(ranks, per_step),
        per_step,
        RANKS.conform(ranks.sort_values("rank")),
        steps.sort_values(["rank", "step"], ignore_index=True),
        parts,
        matched,
        sum_kinds(matched, _find_link(ranks), is_complete=world <= len(chosen)),
        align_clocks(matched),
        max(world, len(chosen)),
        tuple(failures),
        tuple(warnings),
    )


def join_frames(ranks: Sequence[ReducedRank], name: str, schema: Schema) -> pd.DataFrame:
    """Join the frames of one name of all ranks, and give each row its rank."""
    frames = [getattr(rank, name) for rank in ranks]
    numbers = np.array([rank.rank.rank if rank.rank else -1 for rank in ranks], dtype=np.int64)
    return schema.conform(schema.concat(frames).assign(rank=np.repeat(numbers, [len(frame) for frame in frames])))


def _find_link(ranks: pd.DataFrame) -> float:
    """Find the bandwidth of the links between ranks of one host, all with the same board; NaN where unknown."""
    links = {find_chip("", gpu).board.nvlink_bytes_per_s for gpu in ranks["gpu_name"].unique()}
    return links.pop() if len(links) == 1 and ranks["host"].nunique() == 1 else np.nan


def _explain_none(failures: Sequence[Failure]) -> InputError:
    if not failures:
        return InputError("No rank's recording was given.", "Give the recordings or saved analyses of a job.")
    more = f" Nor do {len(failures) - 1:,} others." if len(failures) > 1 else ""
    return InputError(
        f"{failures[0].file} gives no rank: {failures[0].reason}{more}", "'tcprof show' reads a single one."
    )


def _list_missing(world: int, numbers: Sequence[int]) -> list[str]:
    missing = sorted({*range(world)} - {*numbers})
    if not missing:
        return []
    return [
        f"{len(missing):,} of {world:,} ranks {'is' if len(missing) == 1 else 'are'} missing: {list_some(missing)}."
    ]


def _compare_steps(steps: pd.DataFrame, ranks: pd.DataFrame) -> list[str]:
    """Warn where ranks of a group have different numbers of steps."""
    count = steps.groupby("rank").size()
    least, most = (getattr(count.groupby(ranks.set_index("rank")["group"]), name)() for name in ("min", "max"))
    if (least == most).all():
        return []
    covered = int(ranks["step_count"].min())
    return [
        f"The ranks have different numbers of steps, {count.min():,} to {count.max():,}: the figures cover the "
        f"{covered:,} that all ranks of a group have."
    ]


def _warn_of_other_work(ranks: pd.DataFrame) -> list[str]:
    """Warn of GPUs that other programs use, too; where only stragglers' are, that is why these are slow."""
    unused_ns = ranks["idle_ns"] + ranks["between_ns"]
    is_other = ranks["untraced_ns"] >= np.maximum(_EXPLAINS * unused_ns, _NOTABLE * ranks["step_time_ns"])
    shared = ranks["rank"][is_other].tolist() if (is_other & ~ranks["straggler"]).any() else []
    where = f"GPUs of ranks {list_some(shared)}" if len(shared) > 1 else f"GPU of rank {list_some(shared)}"
    more = "which slows the whole job. Record with the GPUs to yourself."
    return [f"Another program or untraced work runs on the {where}, {more}"] if shared else []


def explain_unknown_ranks(files: Sequence[str]) -> InputError:
    """Explain what to do about recordings that do not say which ranks they belong to."""
    do = "does not say which rank it belongs to" if len(files) == 1 else "do not say which ranks they belong to"
    return InputError(
        f"{list_some(files)} {do}.",
        "Give 'tcprof show' one recording. Record jobs with 'tcprof profile' under torchrun, srun or mpirun, or say "
        r"where the files' names have the rank: tcprof ranks FOLDER --rank-from 'rank(\d+)'.",
    )


def _choose(reduced: Sequence[ReducedRank]) -> tuple[list[ReducedRank], list[str]]:
    """Choose one recording of each rank, in order; returns what was left out, too."""
    warnings = []
    unknown = sorted({rank.file for rank in reduced if rank.rank is None})
    if unknown:
        raise explain_unknown_ranks(unknown)
    for source in sorted({rank.rank_from for rank in reduced} - {""}):
        files = sorted({rank.file for rank in reduced if rank.rank_from == source})
        warnings.append(f"Rank numbers of {list_some(files)} come from {source}: the recording does not contain them.")
    jobs = Counter(rank.job for rank in reduced if rank.job)
    if len(jobs) > 1:
        usual = jobs.most_common(1)[0][0]
        other = sorted({rank.file for rank in reduced if rank.job not in ("", usual)})
        warnings.append(f"Excluded because it is from another job: {list_some(other)}.")
        reduced = [rank for rank in reduced if rank.job in ("", usual)]
    chosen: dict[int, ReducedRank] = {}
    for rank in sorted(reduced, key=lambda rank: (rank.rank.rank if rank.rank else -1, rank.file)):
        before = chosen.setdefault(rank.rank.rank if rank.rank else -1, rank)
        if before is not rank:
            why = "holds the same recording as" if before.content == rank.content else "has the same rank as"
            warnings.append(f"Excluded: {rank.file} {why} {before.file}.")
    for what, name in (("programs", "program"), ("GPUs", "gpu_name")):
        kinds = Counter(getattr(rank, name) for rank in chosen.values())
        if len(kinds) > 1:
            warnings.append(f"The ranks have different {what}: {', '.join(sorted(map(str, kinds)))}.")
    return list(chosen.values()), warnings


def list_some(items: Sequence[object]) -> str:
    """List the first of them, and how many more there are."""
    listed = ", ".join(map(str, items[:_MOST_LISTED]))
    return listed if len(items) <= _MOST_LISTED else f"{listed} and {len(items) - _MOST_LISTED:,} more"


def _judge(rows: pd.DataFrame, steps: pd.DataFrame, matched: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    """Judge the ranks of one group over the steps that all of them have."""
    common = _list_common_steps(rows, steps)
    has_waits = bool(common["wait_ns"].notna().any())  # without a collective that matches, nobody can be judged
    own_ns, step_ns, cpu, busy, compute, held = (_arrange(common, rows["rank"], name) for name in _JUDGED)
    judged = rows.assign(step_count=own_ns.shape[1])
    means = common.groupby("rank").mean(numeric_only=True).reindex(rows["rank"])
    for name in (
        "step_time_ns",
        *TIMES,
        "input_ns",
        "untraced_ns",
        "cpu_ns",
        "wait_ns",
        "own_ns",
        "clock_hz",
        *_FOR_CAUSES,
    ):
        judged[name] = means[name].to_numpy()
    judged = judged.assign(**_rates(common, rows["rank"]))
    last = matched[matched["rank"].isin(rows["rank"])].groupby("rank")["is_last"].mean()
    judged["last_pct"] = 100 * last.reindex(rows["rank"]).to_numpy()
    paced = find_pace(own_ns, cpu, step_ns)
    excess, times = find_stragglers(paced if has_waits else own_ns[:, :0]), Times(own_ns, cpu, busy, held)
    longer = find_more_compute(excess, compute, held)
    judged = judged.assign(**_name_ends("excess", excess), **_name_ends("compute_excess", longer, longer.stands_out))
    if longer.stands_out.any():  # how much of it the CPU's pace hides is not known
        excess, times = longer, Times(compute, np.full_like(cpu, np.nan), compute, held)
    judged = judged.assign(**_price(judged, times, excess, has_waits=has_waits))
    slow = judged["straggler"].to_numpy()
    causes = Causes(judged, parts) if slow.any() else None
    slow_ranks = zip(judged["rank"].tolist(), slow, strict=True)
    return judged.assign(cause=[causes.explain(rank) if causes and is_slow else "" for rank, is_slow in slow_ranks])


def _price(judged: pd.DataFrame, times: Times, excess: Excess, *, has_waits: bool) -> dict[str, Floats | Bools]:
    """Price the ranks, and tell those that are slow by more than profiling causes."""
    added_ns = (judged["step_time_ns"] - judged["unprofiled_ns"]).clip(lower=0).to_numpy()
    by_cpu_ns = np.fmin(excess.value, excess.value - mean_excess(times.busy)) if has_waits else excess.value
    profiling_ns = np.clip(by_cpu_ns, 0, added_ns)  # profiling slows CPUs, and makes no kernel longer
    least_ns = LEAST_EXCESS * judged["step_time_ns"].to_numpy()
    slow = excess.stands_out & ~(excess.value - profiling_ns <= least_ns)
    notable_ns = np.where(profiling_ns > least_ns, profiling_ns, 0)
    profiling = Profiling(float(np.nan_to_num(np.median(added_ns))), notable_ns)
    prices = _name_ends("saves", price_ranks(times, excess, profiling))
    if slow.any():
        prices |= _name_ends("saves_together", price_together(times, excess, profiling), slow)
    return {"profiling_ns": profiling_ns, "straggler": slow, **prices}


def _list_common_steps(rows: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """List the steps that all ranks of a group have, with what only judging takes."""
    group_steps = steps[steps["rank"].isin(rows["rank"])]
    waited = group_steps[group_steps["wait_ns"].notna()]
    usable = group_steps if waited.empty else waited
    common = usable[usable.groupby("step")["rank"].transform("size") == len(rows)]
    communication_ns, wait_ns = common["communication_ns"], common["wait_ns"]
    return common.assign(
        busy_ns=common["own_ns"] - common["idle_ns"] - common["between_ns"],
        transfer_ns=communication_ns - wait_ns.where(wait_ns < communication_ns, 0),  # at most: hidden waits count, too
    )


def _name_ends(name: str, estimate: Excess | Prices, where: Bools | bool = True) -> dict[str, Floats]:
    """Name the columns of a value and of the ends of its interval."""
    ends = {"": estimate.value, "low_": estimate.low, "high_": estimate.high}
    return {f"{name}_{end}ns": np.where(where, values, np.nan) for end, values in ends.items()}


def _arrange(common: pd.DataFrame, ranks: "pd.Series[int]", name: str) -> Floats:
    """Arrange times by a row for each rank and a column for each step."""
    table = common.pivot_table(index="rank", columns="step", values=name, dropna=False).reindex(ranks)
    return np.asarray(table.to_numpy(np.float64))


def _rates(common: pd.DataFrame, ranks: "pd.Series[int]") -> dict[str, Floats]:
    """Divide figures by the time of the steps in which they are known."""
    time = common["step_time_ns"]
    amounts = {
        "tensor_active_pct": 100 * common["tensor_active_ns"],
        "tensor_tflops": common["tensor_flop"] / 1e3,
        "useful_tflops": common["useful_flop"] / 1e3,
        "mfu_pct": common["mfu_pct"] * time,
    }
    rank = common["rank"]
    rates = {
        name: amount.groupby(rank).sum(min_count=1) / time.where(amount.notna()).groupby(rank).sum()
        for name, amount in amounts.items()
    }
    return {name: rate.reindex(ranks).to_numpy(np.float64) for name, rate in rates.items()}


def _measure_whole(ranks: pd.DataFrame, per_step: PerStep | None) -> pd.DataFrame:
    step_ns = float(ranks["step_time_ns"].median())
    useful = ranks["useful_tflops"].sum(skipna=False)
    peaks = (100 * ranks["useful_tflops"] / ranks["mfu_pct"]).sum(skipna=False)
    throughput = per_step.count / step_ns * 1e9 if per_step else np.nan
    row = {
        "rank_count": len(ranks),
        "step_time_ns": step_ns,
        "unprofiled_ns": ranks["unprofiled_ns"].median(skipna=False),
        "tensor_tflops": ranks["tensor_tflops"].sum(skipna=False),
        "useful_tflops": useful,
        "mfu_pct": 100 * useful / peaks if peaks > 0 else np.nan,
        "throughput": throughput,
        "per_joule": throughput / ranks["power_w"].sum(skipna=False),
    }
    return JOB.conform(pd.DataFrame([row]))


_EXPLAINS = 0.5  # of a longer compute time: what explains this much of it is its cause
_NOTABLE = 0.005  # of FLOP, of launches or of a step: less goes unmentioned
_NAMED = 2  # named of those with most of the difference
_REASONS = {
    "copy": "its copies take longer",
    "input": "its GPU waits for input",
    "transfer": "its transfers take longer once all ranks have arrived: a slower link",
}
_OTHER_WORK = "another program or untraced work runs on its GPU"
_CLASSES = {"tensor_kernel": "matrix", "memory_bound": "memory-bound"}


@dataclass(frozen=True)
class _RankTimes:
    """Time in ns of each module, kernel or path, as rows, on each rank; and the median over the usual ranks."""

    times: pd.DataFrame
    usual: "pd.Series[float]"

    def differences(self, rank: float) -> "pd.Series[float]":
        """Return how much longer than usual each takes on a rank, in ns, longest first; positive ones."""
        more = (self.times[rank] - self.usual).sort_values(ascending=False)
        return more[more > 0]

    def ratios(self, rank: float) -> dict[str, float]:
        """Return the ratio of each time to the usual one."""
        ratio = self.times[rank] / self.usual
        return {str(name): float(value) for name, value in ratio.items() if np.isfinite(value)}


class Causes:
    """The ranks of one group beside the median of those that do not stand out, arranged once for all that do."""

    def __init__(self, ranks: pd.DataFrame, parts: pd.DataFrame) -> None:
        """Take the judged ranks of a group, and the parts of a job, also those of other groups."""
        self._ranks = ranks.assign(starved_ns=ranks["idle_ns"] + ranks["between_ns"] - ranks["input_ns"])
        self._usual = self._ranks[~self._ranks["straggler"]]
        self._usual_means = self._usual.median(numeric_only=True)
        self._parts = parts[parts["rank"].isin(ranks["rank"])]
        self._kernels = self._parts[self._parts["kernel"] != ""]

    @cached_property
    def _by_module(self) -> "_RankTimes":
        return self._arrange(self._kernels, "module")

    @cached_property
    def _by_kernel(self) -> "_RankTimes":
        return self._arrange(self._kernels, "kernel")

    @cached_property
    def _by_class(self) -> "_RankTimes":
        return self._arrange(self._kernels, "time_class")

    @cached_property
    def _idle_by_path(self) -> "_RankTimes":
        return self._arrange(self._parts[self._parts["time_class"] == "idle"], "path")

    @cached_property
    def _launches(self) -> "pd.Series[float]":
        counts = self._kernels.groupby("rank")["launch_count"].sum()
        return counts.reindex(self._ranks["rank"].unique(), fill_value=0)  # a rank may have none

    @cached_property
    def _paths(self) -> list[str]:
        return [str(path) for path in self._parts["path"].unique()]

    def _arrange(self, parts: pd.DataFrame, key: str) -> "_RankTimes":
        times = parts.pivot_table(index=key, columns="rank", values="time_ns", aggfunc="sum", fill_value=0.0)
        times = times.reindex(columns=self._ranks["rank"].unique(), fill_value=0.0)  # a rank may have none
        return _RankTimes(times, times[self._usual["rank"]].median(axis=1))

    def explain(self, rank: int) -> str:
        """Explain in one sentence why a rank's own time, or its compute, is longer than that of the others."""
        row, usual = self._ranks[self._ranks["rank"] == rank].iloc[0], self._usual_means
        if row["compute_excess_ns"] > 0:
            return self._explain_compute(row, usual)
        more = {
            name: float(row[f"{name}_ns"] - usual[f"{name}_ns"]) for name in ("compute", "copy", "input", "starved")
        }
        more["transfer"] = float(row["communication_ns"] - row["wait_ns"] - usual["transfer_ns"])
        slowed_ns = {"compute": float(usual["held_ns"] - row["held_ns"]) / 2}  # the others, by waiting collectives
        largest = max(more, key=lambda name: more[name] + slowed_ns.get(name, 0.0))
        if largest == "compute":
            reason = self._explain_compute(row, usual)
        elif largest == "starved":  # of launches
            is_other = row["untraced_ns"] - usual["untraced_ns"] >= _EXPLAINS * more["starved"]
            reason = f"{_OTHER_WORK}, while its own work is not running" if is_other else self._explain_cpu(row)
        else:
            reason = _REASONS[largest]
        is_most = more[largest] >= _EXPLAINS * row["excess_ns"]
        return f"{reason} ({units.format_signed_ns(more[largest])} per step)" if is_most else reason

    def _explain_compute(self, row: "pd.Series[float]", usual: "pd.Series[float]") -> str:
        rank, longer = row["rank"], row["compute_ns"] / usual["compute_ns"] - 1
        where = _name_largest(self._by_module.differences(rank), self._by_kernel.differences(rank))
        more_launches = self._launches[rank] / self._launches.reindex(self._usual["rank"]).median() - 1
        # Beside its kernels other work cannot be seen, but samples count its FLOP as theirs; between them it can.
        least_ns = max(_EXPLAINS * row["idle_ns"], _NOTABLE * row["step_time_ns"])
        is_other = row["untraced_ns"] - usual["untraced_ns"] >= least_ns
        flop = [side["tensor_tflops"] * side["step_time_ns"] for side in (row, usual)]
        more_flop = flop[0] / flop[1] - 1 if flop[1] > 0 and not is_other else np.nan
        slower_clock = usual["clock_hz"] / row["clock_hz"] - 1
        if max(more_launches, np.nan_to_num(more_flop)) >= _EXPLAINS * longer:
            amounts = [
                f"{units.format_pct(100 * more)} more {what}"
                for what, more in (("FLOP", more_flop), ("kernel launches", more_launches))
                if more >= _NOTABLE
            ]
            return f"it has more work: {', '.join(amounts)}{where}"
        if slower_clock >= _EXPLAINS * longer:
            return f"its SM clock is {_describe_clock(row)}; the others' is {_describe_clock(usual)}"
        by_class = self._by_class.ratios(rank)
        slowest = max(by_class, key=lambda name: by_class[name], default="")
        beside = f", {_CLASSES[slowest]} kernels most" if slowest in _CLASSES else ""
        clocks = [units.format_hz(side["clock_hz"]) for side in (row, usual)]
        clock = f" at {clocks[0]} (the others: {clocks[1]})" if np.isfinite(slower_clock) else ""
        why = _OTHER_WORK if is_other else "look for another program on its GPU, or for a slower GPU"
        return f"the same kernels take {units.format_pct(100 * longer)} longer{clock}{beside}{where}: {why}"

    def _explain_cpu(self, row: "pd.Series[float]") -> str:
        idle = self._idle_by_path.differences(row["rank"])
        idle_path = str(idle.index[0]) if len(idle) else ""
        if not idle_path:
            return "its GPU waits for the CPU"
        reason = f"its GPU waits for the CPU, mostly in {one_line(idle_path)}"
        if any(path.startswith(f"{idle_path}{SEPARATOR}") for path in self._paths):
            reason += " but outside its inner ranges, for input or other CPU work"
        return reason


def _describe_clock(row: "pd.Series[float]") -> str:
    power = f" at {RANKS['power_w'].format(row['power_w'])}" if row["power_w"] > 0 else ""
    return f"{units.format_hz(row['clock_hz'])}{power}"


def _name_largest(modules: "pd.Series[float]", kernels: "pd.Series[float]") -> str:
    """Name what has most of a difference: modules where they are known, else kernels."""
    named = modules[modules.index != ""]
    chosen, what = (named, "modules") if named.sum() > modules.sum() / 2 else (kernels, "kernels")
    listed = [
        f"{one_line(str(name))[:60]} {units.format_signed_ns(more)}" for name, more in chosen.head(_NAMED).items()
    ]
    if not listed:
        return ""
    is_most = chosen.head(_NAMED).sum() >= _EXPLAINS * chosen.sum()
    return f", mostly in {' and '.join(listed)}" if is_most else f", spread over its {what}, most in {listed[0]}"
