"""What a change of the steps' time, and of their Tensor Active, consists of: parts that add up to the whole."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.intervals import open_times
from tcprof.analysis.mean_step import BETWEEN
from tcprof.analysis.steps.step_summary import time_followed_steps
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.comparison.matching.kernels import HIDDEN, Matching, Spans, compared_gpus, compared_spans
from tcprof.frames import LARGEST_UNCOVERED_PCT, WATERFALL

TIME, TENSOR_ACTIVE = "time_ns", "tensor_active_pct"
TOTAL, IDLE, COMMUNICATION, COPIES = "total", "idle", "communication", "copies and memsets"
MIX, INTENSITY, UNEXPLAINED = "mix", "intensity", "not explained by the fit"
IN_GRAPHS = "kernels hidden in CUDA graphs"
_KERNELS = {
    "same": "same kernels",
    "renamed": "replaced kernels",
    "new": "new kernels",
    "removed": "removed kernels",
    HIDDEN: IN_GRAPHS,
}
_WITHOUT_CLASSES = ("same", HIDDEN)


@dataclass(frozen=True)
class _Busy:
    """What one GPU did in all windows of a side, in ns."""

    count: int
    window: int
    between: float  # mean time from a window's end to the next step's begin
    kernels: Ints  # time of each row of the kernel changes; of several kernels at once the first one has it
    communication: int  # time in which only NCCL's kernels ran, or copies beside them
    copies: int  # time in which only copies and memsets ran
    active: Floats  # Tensor-active time of each row, from the fit; unknown without samples


def explain_changes(base: Analysis, new: Analysis, matching: Matching) -> pd.DataFrame:
    """Split changes of time and Tensor Active into parts, see ``tcprof.frames.WATERFALL``, where enough was traced."""
    rows: list[tuple[object, ...]] = []
    for gpu in compared_gpus(base, new):
        if not (base.is_busy_known(gpu) and new.is_busy_known(gpu)):
            continue
        spans = compared_spans(base, new, gpu)
        changes = matching.changes[matching.changes["gpu"] == gpu]
        sides = ((base, spans[0], matching.base_row), (new, spans[1], matching.new_row))
        busy = [_measure(analysis, gpu, windows, row, len(matching.changes)) for analysis, windows, row in sides]
        rows += [(gpu, TIME, *part) for part in _explain_time(changes, busy[0], busy[1])]
        sampled = [_sampled_active(analysis, gpu, windows) for analysis, windows, _ in sides]
        pooled = [_pool_hidden(side, matching.changes) for side in busy]
        rows += [(gpu, TENSOR_ACTIVE, *part) for part in _explain_tensor_active(sampled, pooled)]
    return WATERFALL.conform(pd.DataFrame(rows, columns=WATERFALL.names)) if rows else WATERFALL.empty()


def part_of_kernel(row: Mapping[Any, Any]) -> dict[str, str]:
    """Return the columns that identify the part of time of a row of ``tcprof.frames.KERNEL_CHANGES``."""
    status = row["status"]
    classes = {name: "" if status in _WITHOUT_CLASSES else row[name] for name in ("base_class", "new_class")}
    return {"part": _KERNELS[status], **classes}


def largest_part(waterfall: pd.DataFrame, gpu: int, quantity: str = TIME) -> pd.Series | None:
    """Return the largest part in the direction of a change; None without a known change."""
    rows = waterfall[(waterfall["gpu"] == gpu) & (waterfall["quantity"] == quantity)]
    is_total = rows["part"] == TOTAL
    total = float(rows.loc[is_total, "change"].sum())
    parts = rows[~is_total & (np.sign(rows["change"]) == np.sign(total))]
    return None if total == 0 or parts.empty else parts.loc[parts["change"].abs().idxmax()]


def _measure(analysis: Analysis, gpu: int, spans: Spans, row: Ints, rows: int) -> _Busy:
    launched = rows_of_gpu(analysis.kernel_instances, gpu)
    activities = rows_of_gpu(analysis.activities, gpu)
    row = row[launched.index.to_numpy()]
    first, last = activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy()
    position = activities.index.get_indexer(launched["activity"])
    start, end = first[position], last[position]
    is_nccl = analysis.kernels["communication"].to_numpy()[launched["kernel"].to_numpy()]
    kernel, self_ns = np.flatnonzero(~is_nccl), np.zeros(len(start), dtype=np.int64)
    kernel = kernel[np.argsort(start[kernel], kind="stable")]
    # The first kernel has the time until its end, the next one what is left of its own behind that.
    reach = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, end[kernel]))[:-1]
    self_ns[kernel] = spans.overlap(np.minimum(np.maximum(start[kernel], reach), end[kernel]), end[kernel])
    inside = spans.overlap(start, end) / np.maximum(end - start, 1)
    kernels = np.zeros(rows, dtype=np.int64)
    np.add.at(kernels, row[self_ns > 0], self_ns[self_ns > 0])
    under_kernels, under_all = int(self_ns.sum()), _covered(spans, first, last)
    with_nccl = _covered(spans, start, end)
    active, scoped = launched["tensor_active_ns"].to_numpy() * inside, row >= 0
    return _Busy(
        count=len(spans.start),
        window=int((spans.end - spans.start).sum()),
        between=0.0 if spans.whole else _between_steps(analysis, gpu),
        kernels=kernels,
        communication=with_nccl - under_kernels,
        copies=under_all - with_nccl,
        active=np.bincount(row[scoped], active[scoped], minlength=rows).astype(np.float64),
    )


def _between_steps(analysis: Analysis, gpu: int) -> float:
    steps = time_followed_steps(analysis.steps, analysis.activities, gpu)
    timed = steps[steps["counted"] & steps["step_ns"].notna()]
    return max(0.0, float((timed["step_ns"] - timed["gpu_window_ns"]).mean())) if len(timed) else 0.0


def _pool_hidden(side: _Busy, changes: pd.DataFrame) -> _Busy:
    """Merge the kernels that one side hides in graphs into one row: which of them changed is unknown."""
    hidden = (changes["status"] == HIDDEN).to_numpy()
    row = np.where(hidden, int(np.argmax(hidden)) if hidden.any() else 0, np.arange(len(changes)))
    kernels = np.zeros_like(side.kernels)
    np.add.at(kernels, row, side.kernels)
    return replace(side, kernels=kernels, active=np.bincount(row, side.active, minlength=len(row)).astype(np.float64))


def _covered(spans: Spans, start: Ints, end: Ints) -> int:
    """Measure how much of the windows at least one of these intervals covers."""
    busy = open_times(start, end)
    return int(spans.overlap(busy.start, busy.end).sum())


def _explain_time(changes: pd.DataFrame, base: _Busy, new: _Busy) -> list[tuple[str, str, str, float, float, float]]:
    times = changes[["status", "base_class", "new_class"]].assign(
        base=base.kernels[changes.index], new=new.kernels[changes.index], order=changes["status"].map([*_KERNELS].index)
    )
    is_one = times["status"].isin(_WITHOUT_CLASSES)
    times[["base_class", "new_class"]] = times[["base_class", "new_class"]].mask(is_one, "")
    groups = times.groupby(["order", "status", "base_class", "new_class"])[["base", "new"]].sum().reset_index()
    size = (groups["new"] / new.count - groups["base"] / base.count).abs()
    groups = groups.assign(size=-size).sort_values(["order", "size"], kind="stable")
    groups = groups[(groups["base"] > 0) | (groups["new"] > 0)]
    columns = [groups[name].tolist() for name in ("status", "base_class", "new_class", "base", "new")]
    parts = [(_KERNELS[status], *classes) for status, *classes in zip(*columns, strict=True)]
    parts += [(COMMUNICATION, "", "", base.communication, new.communication), (COPIES, "", "", base.copies, new.copies)]
    busy = [sum(part[side] for part in parts) for side in (3, 4)]
    parts.append((IDLE, "", "", base.window - busy[0], new.window - busy[1]))
    between = (base.between * base.count, new.between * new.count)
    if any(between):
        parts.append((BETWEEN, "", "", *between))
    total = (TOTAL, "", "", base.window + between[0], new.window + between[1])
    return [
        (part, first, second, of_base / base.count, of_new / new.count, of_new / new.count - of_base / base.count)
        for part, first, second, of_base, of_new in [total, *parts]
    ]


def _sampled_active(analysis: Analysis, gpu: int, spans: Spans) -> float:
    """Return mean Tensor Active over the windows, as a share; NaN where samples cover too little of them."""
    if not spans.whole:
        steps = analysis.step_summary
        return float(steps["window_active_pct"][steps["gpu"] == gpu].sum(min_count=1)) / 100
    return float(analysis.whole_capture(gpu)["tensor_active_mean_pct"].sum(min_count=1)) / 100


def _explain_tensor_active(sampled: list[float], busy: list[_Busy]) -> list[tuple[str, str, str, float, float, float]]:
    """Return mean Tensor Active and the parts of its change; nothing where it is unknown.

    As fitted it is b Σ m x: b the share of the windows under kernels, m what share of that each matched kernel has, and
    x its Tensor Active. A part is the change from exchanging one of the three, averaged over the six orders in which
    they can be exchanged (Shapley, A value for n-person games, 1953), so that the parts add up.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        active = [np.where(side.kernels > 0, side.active / side.kernels, np.nan) for side in busy]
    # A kernel that one side lacks, or no sample shows, takes the other side's Tensor Active: only the mix changes.
    active = [np.where(np.isnan(rates), other, rates) for rates, other in (active, active[::-1])]
    unseen = (100 * side.kernels[np.isnan(side.active)].sum() / max(side.kernels.sum(), 1) for side in busy)
    if np.isnan(sampled).any() or max(unseen) > LARGEST_UNCOVERED_PCT:
        return []
    factors = []
    for side, rates in zip(busy, active, strict=True):
        total = max(int(side.kernels.sum()), 1)
        factors.append((side.kernels.sum() / max(side.window, 1), side.kernels / total, np.nan_to_num(rates)))
    parts = np.zeros(3)
    orders = list(itertools.permutations(range(3)))
    for order in orders:
        chosen = [0, 0, 0]
        for factor in order:
            before = _product(factors, chosen)
            chosen[factor] = 1
            parts[factor] += (_product(factors, chosen) - before) / len(orders)
    totals = [100 * value for value in sampled]
    rows = dict(zip((IDLE, MIX, INTENSITY), (100 * parts).tolist(), strict=True))
    rows[UNEXPLAINED] = totals[1] - totals[0] - sum(rows.values())
    return [
        (TOTAL, "", "", totals[0], totals[1], totals[1] - totals[0]),
        *((part, "", "", np.nan, np.nan, change) for part, change in rows.items()),
    ]


def _product(factors: list[tuple[float, Floats, Floats]], chosen: list[int]) -> float:
    """Multiply the factors, each from the side chosen for it."""
    share, mix, active = (factors[side][number] for number, side in enumerate(chosen))
    return float(share * (np.asarray(mix) * np.asarray(active)).sum())
