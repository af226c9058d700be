"""The verdict on a comparison: is it faster, by how much, how sure, and why."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.mean_step import BETWEEN
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.comparison import Comparison, Side
from tcprof.comparison.statistics.rows import (
    MEAN,
    UNPROFILED_TIME,
    WHOLE_GRAPHS,
    judged_time,
    of_means,
    sure_statistics,
)
from tcprof.comparison.statistics.verdicts import EQUAL, HIGHER, INCONCLUSIVE, LOWER
from tcprof.comparison.waterfall import COMMUNICATION, COPIES, IDLE, IN_GRAPHS, TIME, TOTAL, largest_part
from tcprof.findings.steps import find_bound, measure_step_figures
from tcprof.frames import HEADLINE
from tcprof.untrusted import one_line


@dataclass(frozen=True)
class SideFigures:
    """One GPU of a side, without warm-up; of several recordings the median of theirs. Unknown is NaN."""

    tensor_active_pct: float  # mean over the steps, or over the whole capture where nothing iterates
    idle_pct: float
    step_count: int  # of all recordings together; 0 where nothing iterates


def measure_side(side: Side, gpu: int, iterates: bool = True) -> SideFigures:
    """The figures of a side over its steps, or where the comparison has none over the whole captures."""
    measured = [measure_step_figures(recording, gpu) for recording in side.recordings if iterates]
    steps = [figures for figures in measured if figures is not None]
    if steps:
        active, idle = [figures.tensor_active_pct for figures in steps], [figures.idle_pct for figures in steps]
    else:
        captures = [recording.whole_capture(gpu) for recording in side.recordings]
        active = [float(rows[HEADLINE.name].sum(min_count=1)) for rows in captures]
        idle = [100 * (1 - rows["busy_ns"].sum(min_count=1) / max(rows["gpu_window_ns"].sum(), 1)) for rows in captures]
    return SideFigures(_median(active), _median(idle), sum(figures.count for figures in steps))


def _median(values: list[float]) -> float:
    numbers = [value for value in values if not math.isnan(value)]
    return float(np.median(numbers)) if numbers else math.nan


_ALIKE = 0.01  # ratios so near to 1 have no cause worth a sentence
_LONGEST_NAME = 40
Row: TypeAlias = Mapping[Any, Any] | pd.Series  # of ``tcprof.frames.COMPARISON``


@dataclass(frozen=True)
class Verdict:
    """What the steps of a GPU show, in whole sentences."""

    gpu: int
    head: str  # few words, which are read at a glance
    rest: str  # on the same line: the times that it is of, and what is said of these; may be empty
    more: tuple[str, ...] = ()  # each on its own line

    @property
    def sentences(self) -> tuple[str, ...]:
        """Those of each line, the most important one first."""
        return (f"{self.head} {self.rest}".strip(), *self.more)


def side_names(comparison: Comparison) -> tuple[str, str]:
    """What both sides are called: their names, as texts of one line that are not escaped."""
    names = [one_line(side.name, _LONGEST_NAME) for side in (comparison.base, comparison.new)]
    return names[0], names[1]


def step_name(comparison: Comparison) -> str:
    """What the compared unit is called: the innermost name of the steps, or the capture."""
    path = comparison.step_path
    return one_line(path.rpartition(SEPARATOR)[2], _LONGEST_NAME) if path else "capture"


def name_mean(comparison: Comparison, gpu: int) -> str:
    """Name what is divided into parts: the mean of what is compared, as it was recorded, or the whole capture."""
    recorded = "recorded " * (time_row(comparison, gpu)["quantity"] == UNPROFILED_TIME)
    return f"{recorded}{'mean ' if comparison.step_path else ''}{step_name(comparison)}"


def list_gpus(comparison: Comparison) -> list[int]:
    """The GPUs on which the steps have work; one that was only sampled has rows of the capture alone."""
    rows = comparison.rows
    return sorted({int(gpu) for gpu in rows.loc[rows["path"] == comparison.step_path, "gpu"]})


def find_row(comparison: Comparison, gpu: int, quantity: str) -> pd.Series:
    """The row of a quantity of the steps."""
    rows = _rows_of_steps(comparison, gpu)
    return rows[rows["quantity"] == quantity].iloc[0]


def _rows_of_steps(comparison: Comparison, gpu: int) -> pd.DataFrame:
    rows = comparison.rows
    return rows[(rows["gpu"] == gpu) & (rows["path"] == comparison.step_path)]


def time_row(comparison: Comparison, gpu: int) -> pd.Series:
    """The row that the verdict is on, and a gate on the step time: see ``judged_time``."""
    return judged_time(_rows_of_steps(comparison, gpu))


def is_shown(row: Row) -> bool:
    """Whether a difference is claimed."""
    return row["verdict"] in (HIGHER, LOWER)


def mean_differs(row: Row) -> bool:
    """Whether the mean says something else than the median: another verdict, or a change well outside its interval."""
    mean = of_means(row)
    if is_shown(row) != is_shown(mean) or (is_shown(row) and row["verdict"] != mean["verdict"]):
        return True
    far = abs(mean["ratio"] - row["ratio"]) >= _ALIKE * row["ratio"]
    return is_shown(row) and bool(far and not row["ratio_low"] <= mean["ratio"] <= row["ratio_high"])


def decisive(row: Row) -> Row:
    """The row of a quantity: of medians, or of means where only these show a difference."""
    return of_means(row) if sure_statistics(row) == (MEAN,) else row


def judge_change(comparison: Comparison, gpu: int) -> Verdict:
    """What the steps of a GPU show; each sentence names its statistic.

    A change that may be chance is one line; one that cannot be judged, as without an interval, is explained.
    """
    head, rest, *more = _describe_time(comparison, gpu)
    row = decisive(time_row(comparison, gpu))
    if row["verdict"] == INCONCLUSIVE and abs(row["ratio"] - 1) >= _ALIKE:
        return Verdict(gpu, head, rest)
    return Verdict(gpu, head, rest, (*more, *_tensor(comparison, gpu), *_cause(comparison, gpu)))


def describe_change(row: Row, name: str, time: str) -> tuple[str, str]:
    """How a time differs by its row: the head, and the times with what is missing for an answer.

    Args:
        name: Of the new side.
        time: What the time is, as the beginning of a sentence.
    """
    times = f"{time} {_times(row)}"
    return (f"{name} {_changed(row)}.", f"{times}.") if is_shown(row) else _not_shown(row, times)


def name_time(row: Row) -> str:
    """What the time of ``time_row`` is called in a sentence."""
    return _TIMES.get(str(row.get("quantity")), "step time")


def _describe_time(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    row, (_, name) = time_row(comparison, gpu), side_names(comparison)
    iterates, time = bool(comparison.step_path), name_time(row)
    subject = f"Median {time}" if iterates else f"{time[:1].upper()}{time[1:]} of the whole capture"
    if math.isnan(row["base"]) or math.isnan(row["new"]):
        return "Cannot compare: the time of a side is unknown.", f"{subject} {_times(row)}."
    mean = of_means(row)
    if sure_statistics(row) == (MEAN,):
        some = "take longer" if mean["verdict"] == HIGHER else "take less time"
        same = "unchanged" if row["verdict"] == EQUAL else "inconclusive"
        sentences = f"By the mean, {name} {_changed(mean)}.", f"Mean {time} {_times(mean)}. Some steps {some}."
        return *sentences, f"The median {time} is {same}: {_times(row)} ({_ratio(row)}).", *_survives(mean)
    sentences = describe_change(row, name, subject)
    if not is_shown(row):
        return sentences
    if not mean_differs(row):
        return *sentences, *_survives(row)
    by_mean = f"{name} {_changed(mean)}" if is_shown(mean) else f"this is inconclusive: {_ratio(mean)}"
    return *sentences, f"By the mean, {by_mean}, {_times(mean)}.", *_survives(row)


_TIMES = {UNPROFILED_TIME: "unprofiled step time", "gpu_window_ns": "GPU window", "host_ns": "time on the CPU"}


def _times(row: Row) -> str:
    return f"{units.format_ns(row['base'])} → {units.format_ns(row['new'])}"


def _changed(row: Row) -> str:
    """How a time has changed: "is faster: 0.794x the step time (0.781x to 0.806x)", in the direction of all ratios."""
    return f"is {'slower' if row['verdict'] == HIGHER else 'faster'}: {_ratio(row)}"


def _ratio(row: Row) -> str:
    interval = units.describe_interval(row["ratio_low"], row["ratio_high"], units.format_ratio)
    return f"{units.format_ratio(row['ratio'])} the {name_time(row)}{f' ({interval})' if interval else ''}"


def _not_shown(row: Row, times: str) -> tuple[str, str]:
    if row["verdict"] == EQUAL:
        return "No difference: both sides take equally long.", f"{times}."
    if math.isnan(row["p_value"]):
        why = row.get("not_judged") or "there are too few steps for a confidence interval"
        return "Inconclusive: no 95 % interval.", f"{times}: {why}."
    return f"Inconclusive: {_ratio(row)}.", f"{times}.{_needed(row)}"


def _survives(row: Row) -> tuple[str, ...]:
    """How much of what was assumed a claim needs; nothing where it was measured."""
    if math.isnan(row["survives_spread_pct"]):
        return ()
    most, assumed = (units.format_pct(row[f"{name}_spread_pct"]) for name in ("survives", "assumed"))
    return (f"Significant unless run-to-run variation exceeds {most} (assumed: {assumed}).",)


def _needed(row: Row) -> str:
    needed = row["needed_count"]
    if math.isnan(needed):
        return ""
    of = "recordings" if min(row.get(f"{side}_recording_count", 1) for side in ("base", "new")) > 1 else "steps"
    return f" About {units.format_count(needed)} {of} per side would show such a difference."


def _tensor(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    iterates = bool(comparison.step_path)
    sides = (measure_side(side, gpu, iterates) for side in (comparison.base, comparison.new))
    base, new = (side.tensor_active_pct for side in sides)
    row = of_means(find_row(comparison, gpu, HEADLINE.name))
    if math.isnan(base) and math.isnan(new):
        return ("Tensor Active is unknown.",)
    unsure = ", inconclusive" if not is_shown(row) and base != new else ""
    whole = "step" if iterates else "capture"
    sentence = f"Mean Tensor Active of the {whole} {units.format_pct(base)} → {units.format_pct(new)}{unsure}."
    if "rounded" in {side.first.tensor_source for side in (comparison.base, comparison.new)}:
        sentence += " It comes from rounded samples, which read too high at low values."
    return (sentence,)


def _cause(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    """What most of the change of the mean consists of, what pulled the other way, and whether launches bound it."""
    row, parts = decisive(time_row(comparison, gpu)), comparison.waterfall
    parts = parts[(parts["gpu"] == gpu) & (parts["quantity"] == TIME)]
    part = largest_part(parts, gpu, TIME)
    if part is None or row["verdict"] == EQUAL or abs(row["ratio"] - 1) < _ALIKE:
        return _launch_bound(comparison, gpu)
    total = float(parts.loc[parts["part"] == TOTAL, "change"].sum())
    sentence = (
        f"The {name_mean(comparison, gpu)} is {units.format_ns(abs(total))} {'shorter' if total < 0 else 'longer'}"
    )
    most = _replaced(parts, part) or _describe_part(part)
    return f"{sentence}: {most}.{_against(parts, total)}", *_launch_bound(comparison, gpu)


def _against(parts: pd.DataFrame, total: float) -> str:
    """What changed the other way, if that is at least a tenth: " Partly offset by 1.23 ms more idle time."."""
    kinds = parts["part"].where(parts["part"].isin(_NO_KERNELS), "kernels")
    changes = parts["change"].groupby(kinds).sum().drop(TOTAL)
    against = changes[changes * total < -_NOTABLE * total**2].sort_values(key=abs, ascending=False)
    opposed = [
        f"{units.format_ns(abs(change))} {'more' if change > 0 else 'less'} {_TIMES_OF.get(kind, kind)}"
        for kind, change in against.items()
    ]
    return f" Partly offset by {' and '.join(opposed)}." if opposed else ""


def _replaced(parts: pd.DataFrame, largest: pd.Series) -> str:
    """New kernels in place of removed ones, where both together are more than the largest part."""
    gone, come = (parts[parts["part"] == name] for name in ("removed kernels", "new kernels"))
    change = gone["change"].sum() + come["change"].sum()
    if gone.empty or come.empty or change * largest["change"] <= 0:
        return ""
    if largest["part"] not in ("removed kernels", "new kernels") and abs(change) < abs(largest["change"]):
        return ""
    kinds = [
        f"{units.format_ns(rows[side].sum())} of {rows.loc[rows[side].idxmax(), f'{side}_class']}"
        + ", among others," * (len(rows) > 1)
        for rows, side in ((gone, "base"), (come, "new"))
    ]
    return f"{kinds[0]} disappeared; {kinds[1]} are new"


def _describe_part(part: pd.Series) -> str:
    """A part of the waterfall of time: "11.1 ms of copies and casts became 1.80 ms of FP16 tensor kernels"."""
    base, new = units.format_ns(part["base"]), units.format_ns(part["new"])
    if part["part"] == IN_GRAPHS:
        return f"{part['part']} {base} → {new}; to see them, record with --cuda-graph-trace node"
    if part["base_class"] and part["new_class"]:
        if part["base_class"] == part["new_class"]:
            return f"other kernels for {part['base_class']}, {base} → {new}"
        return f"{base} of {part['base_class']} became {new} of {part['new_class']}"
    classes = part["base_class"] or part["new_class"]
    return f"{_NAMES.get(part['part'], part['part'])}{f' ({classes})' if classes else ''} {base} → {new}"


def _launch_bound(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    """Says so where the CPU holds the GPU up, with the kernels launched; by the rule of the verdict on a recording."""
    measured = [measure_step_figures(side.typical, gpu) for side in (comparison.base, comparison.new)]
    bounds = [find_bound(figures) if figures else "" for figures in measured]
    kernels = find_row(comparison, gpu, "kernel_count")
    # Whole graphs hide idle time, and launch what is not counted.
    if not any(bounds) or not comparison.step_path or kernels["not_judged"] == WHOLE_GRAPHS:
        return ()
    idle = [units.format_pct(measure_side(side, gpu).idle_pct) for side in (comparison.base, comparison.new)]
    counts = [units.format_count(kernels[side]) for side in ("base", "new")]
    launches = f"{counts[0]} → {units.format_things(kernels['new'], 'kernel')}"
    if counts[0] == counts[1]:
        launches = f"{units.format_things(kernels['new'], 'kernel')} as before"
    runs = f"both are {bounds[1]}"
    if bounds[0] != bounds[1]:
        names = zip(side_names(comparison), bounds, strict=True)
        runs = " and ".join(f"{name} is {bound}" for name, bound in names if bound)
    return (f"GPU idle {' → '.join(idle)}: {runs} ({launches}).",)


_NO_KERNELS = (TOTAL, COMMUNICATION, COPIES, IDLE, BETWEEN)
_NAMES = {IDLE: "idle time", BETWEEN: "time between steps"}
_TIMES_OF = {**_NAMES, "kernels": "kernel time", COPIES: "time in copies and memsets", COMMUNICATION: "communication"}
_NOTABLE = 0.1  # of a change: what pulls the other way is told from here on
