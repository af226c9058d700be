"""What the figures of a job say: which rank holds it up, why, and what it would save; or why that cannot be known."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.ranks.job import Job, list_some
from tcprof.ranks.stragglers import FEWEST_STEPS, LEAST_EXCESS
from tcprof.units import format_ns
from tcprof.untrusted import one_line

_MOST_DESCRIBED = 8  # ranks of a group that stand out


def judge_job(job: Job) -> tuple[str, ...]:
    """Judge the job as a whole in a sentence, then what holds up each group of ranks."""
    groups = [rows for _, rows in job.ranks.groupby("group")]
    return (describe_job(job), *(line for rows in groups for line in _judge_group(rows, alone=len(groups) == 1)))


def describe_job(job: Job) -> str:
    """Write the first line of all outputs: step time, Tensor Active, FLOP/s, steps and ranks."""
    ranks, whole = job.ranks, job.whole.iloc[0]
    steps = int(ranks["step_count"].min())
    recorded, unprofiled = (format_ns(whole[name]) for name in ("step_time_ns", "unprofiled_ns"))
    is_timed = unprofiled != units.UNKNOWN
    facts = [f"step time {unprofiled} unprofiled ({recorded} recorded)" if is_timed else f"step time {recorded}"]
    facts += _fact(
        f"Tensor Active of the {'recorded ' * is_timed}step", units.format_pct(ranks["tensor_active_pct"].mean())
    )
    facts += _fact("Tensor FLOP/s of all ranks", units.format_flops(whole["tensor_tflops"]))
    facts += _fact("MFU", units.format_pct(whole["mfu_pct"]))
    unit = one_line(job.per_step.unit) if job.per_step else ""
    facts += _fact("throughput", units.format_count(whole["throughput"]), f" {unit}/s")
    facts += _fact("", units.format_count(whole["per_joule"]), f" {unit} per joule")
    of_all = "" if len(ranks) == job.world_size else f" of {job.world_size:,}"
    return f"{len(ranks):,}{of_all} ranks, {steps:,} steps: {', '.join(facts)}."


def _fact(name: str, text: str, unit: str = "") -> list[str]:
    return [] if text == units.UNKNOWN else [f"{name} {text}{unit}".lstrip()]


def _judge_group(rows: pd.DataFrame, *, alone: bool) -> list[str]:
    stage = rows["stage"].iloc[0]
    name = f"Group {rows['group'].iloc[0]}" if np.isnan(stage) else f"Stage {stage:.0f}"
    prefix = "" if alone else f"{name} ({units.format_things(len(rows), 'rank')}): "
    reason = _why_unknown(rows)
    if reason:
        return [f"{prefix}{reason}"]
    out = rows[rows["straggler"]].sort_values(["compute_excess_ns", "excess_ns"], ascending=False)
    if out.empty:
        furthest = rows.loc[rows["excess_ns"].idxmax()]
        is_clear = furthest["excess_low_ns"] > 0 and furthest["excess_ns"] > LEAST_EXCESS * furthest["step_time_ns"]
        if is_clear and furthest["profiling_ns"] > LEAST_EXCESS * furthest["step_time_ns"]:
            return [f"{prefix}{_why_withheld(furthest)}"]
        return [
            f"{prefix}No rank is a straggler: the slowest, rank {furthest['rank']}, exceeds the median own time of "
            f"the others by {_share(furthest['excess_ns'], rows)} of a step. That is within the usual variation of "
            "steps and GPUs."
        ]
    lines = [_describe(row, rows, prefix) for _, row in out.head(_MOST_DESCRIBED).iterrows()]
    more = out["rank"].iloc[_MOST_DESCRIBED:].sort_values().tolist()
    if more:
        lines.append(f"{prefix}{len(more):,} more ranks stand out: {list_some(more)}.")
    if len(out) > 1:
        price = _describe_price(out.iloc[0], "saves_together", "With all of them at that speed")
        lines.append(f"{prefix}{price}")
    return lines


def _describe(row: "pd.Series[float]", rows: pd.DataFrame, prefix: str) -> str:
    more_compute = row["compute_excess_ns"]
    if more_compute > 0:
        return (
            f"{prefix}Rank {row['rank']} may be a straggler: in a step it computes {format_ns(more_compute)} "
            f"({_share(more_compute, rows)}) longer than the median of the others, because {row['cause']}. Own "
            f"times vary too much to confirm it. {_describe_price(row)}"
        )
    return (
        f"{prefix}Rank {row['rank']} is a straggler: without waiting, its step takes "
        f"{format_ns(row['excess_ns'])} ({_share(row['excess_ns'], rows)}) longer than the median of the others, "
        f"because {row['cause']}. {_describe_added(row)}{_describe_price(row)}"
    )


def _describe_added(row: "pd.Series[float]") -> str:
    """Describe what recording adds to a rank's step, which may be what makes it slow."""
    if not row["profiling_ns"] > LEAST_EXCESS * row["step_time_ns"]:
        return ""
    return (
        f"An unprofiled step takes {format_ns(row['unprofiled_ns'])}, not {format_ns(row['step_time_ns'])}: profiling "
        f"may account for up to {format_ns(row['profiling_ns'])} of this. "
    )


def _why_withheld(row: "pd.Series[float]") -> str:
    return (
        f"Cannot tell whether a rank is a straggler: rank {row['rank']} takes {format_ns(row['excess_ns'])} longer "
        f"than the median of the others, but profiling may account for {format_ns(row['profiling_ns'])} of it."
    )


def _describe_price(row: "pd.Series[float]", name: str = "saves", when: str = "At the others' speed") -> str:
    low, high = (format_ns(row[f"{name}_{end}_ns"]) for end in ("low", "high"))
    is_bounded = not np.isnan(row[f"{name}_high_ns"])
    bounds = f"{low} to {high}" if is_bounded else f"at least {low}"
    if row["compute_excess_ns"] > 0:
        most = f" up to {high}" * is_bounded
        return f"{when}, a step would take{most} less; a slow CPU may reduce that."
    if np.isnan(row[f"{name}_ns"]):
        return (
            f"{when}, the saving is unresolved ({bounds}): it is unknown how much CPU time the waiting hides, and how "
            "much waiting slows kernels."
        )
    step = "step" if np.isnan(row["unprofiled_ns"]) else "unprofiled step"
    share = units.format_pct(100 * row[f"{name}_ns"] / row["step_time_ns" if step == "step" else "unprofiled_ns"])
    return f"{when}, the {step} would take {format_ns(row[f'{name}_ns'])} ({share}) less ({bounds})."


def _share(time_ns: float, rows: pd.DataFrame) -> str:
    return units.format_pct(100 * time_ns / rows["step_time_ns"].median())


def _why_unknown(rows: pd.DataFrame) -> str:
    """Explain why no rank of a group can be called slow; empty where one can."""
    if len(rows) == 1:
        return "There is only one rank, so there is nothing to compare it with."
    if rows["wait_ns"].isna().any():
        return (
            "Cannot tell whether a rank is a straggler: the ranks' collectives do not match, so waiting times are "
            "unknown. Record the same steps on all ranks, including the kernels in CUDA graphs."
        )
    if np.isnan(rows["excess_ns"]).any():
        return (
            f"Cannot tell whether a rank is a straggler: the ranks have {rows['step_count'].iloc[0]} steps in "
            f"common, but {FEWEST_STEPS} are needed. Record more steps."
        )
    return ""


def describe_base(job: Job) -> tuple[str, ...]:
    """Describe what the figures are of, and how clocks were aligned, with the error that is left."""
    lines = [
        "Own time is the step time without waiting in collectives: a rank's wait is how much longer a collective "
        "takes there than on the last rank to start it. A rank stands out if its own time, or its CPU's time if that "
        f"is longer, exceeds the median of the others by at least {units.format_pct(100 * LEAST_EXCESS)} of a step, "
        "and by more than steps and GPUs of the same kind usually differ. If none does, tcprof judges compute time "
        "the same way, among ranks that wait less than the others."
    ]
    if np.isnan(job.whole["mfu_pct"].iloc[0]):
        lines.append(
            "MFU is unknown: record all ranks with --annotate shapes (torch.profiler: record_shapes=True)."
            " Shapes give the useful FLOP."
        )
    else:
        lines.append("FLOP/s and MFU are over the step time; MFU is a share of the GPUs' total peak.")
    if job.per_step is None:
        lines.append(
            "Throughput is unknown: recordings do not hold the batch size. Pass the global batch per step: "
            "--per-step '4096 tokens'."
        )
    if len(job.clocks):
        error = float(job.clocks["error_ns"].max())
        lines.append(
            "Results don't depend on clock synchronization; aligned by the ends of collectives, the ranks' clocks "
            f"agree to within {format_ns(error)}."
        )
    return tuple(lines)
