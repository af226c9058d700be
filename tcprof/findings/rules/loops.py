"""Rules on loops in Python that launch the same few kernels in each turn: over tensors, time steps or tokens."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.host import VERY_LONG_NS
from tcprof.analysis.intervals import run_starts
from tcprof.analysis.kernels.names import PRODUCT
from tcprof.analysis.replay import Waits
from tcprof.annotate.steps import BACKWARD, OPTIMIZER
from tcprof.arrays import Bools
from tcprof.findings.pricing import CODE, MEASURED
from tcprof.findings.pricing.advice import MEDIUM, NOTABLE_PCT, Advice, IdleTime, Option, rule
from tcprof.findings.pricing.builders import about_launches, are_modules, kernels_of, make_advice, time_launching
from tcprof.findings.pricing.step import Levels, Step

_LONGEST = 16  # kernels of a turn
_FEWEST_TURNS = 16
_FEWEST_MARKS = 8  # launches of a telling kernel in a step: fewer are no loop
_LONGEST_NS = 5_000_000  # from one launch of a loop to the next: what takes longer is other work
_NEAR = 48  # launches from one of these to the next: what lies between is of the loop


class _Loop(NamedTuple):
    """Some turns, as rows of ``Step.launches``."""

    rows: slice
    length: int  # kernels of a turn


def find_loops(step: Step) -> list[_Loop]:
    """The shortest sequences of kernels that repeat, by name, within a step; none longer than ``_LONGEST``."""
    launches = step.launches
    code = pd.factorize(step.analysis.kernels["name"])[0][launches["kernel"].to_numpy()]
    number = launches["step"].to_numpy()
    is_free, loops = np.ones(len(code), dtype=bool), []
    for length in range(1, min(_LONGEST, len(code) // _FEWEST_TURNS) + 1):
        is_same = (code[length:] == code[:-length]) & (number[length:] == number[:-length])
        for start, end in _runs(is_same & is_free[length:] & is_free[:-length]):
            if end - start >= length * (_FEWEST_TURNS - 1):
                loops.append(_Loop(slice(start, end + length), length))
                is_free[start : end + length] = False
    return loops


def _runs(is_same: Bools) -> Iterator[tuple[int, int]]:
    begins = run_starts(is_same)
    ends = np.append(begins[1:], len(is_same))
    chosen = is_same[begins] if len(begins) else np.empty(0, dtype=bool)
    return zip(begins[chosen].tolist(), ends[chosen].tolist(), strict=True)


def find_looped_tensors(step: Step) -> pd.DataFrame:
    """Launches of loops over tensors of several sizes, in no module: weights, gradients, averages of these."""
    kernels, launches = step.kernels, step.launches
    in_module = _in_modules(step)
    is_plain = kernels["is_pytorch_native"] & (kernels["work"] != PRODUCT) & ~kernels["is_list_optimizer"]
    is_plain &= ~kernels["is_indexed"]
    chosen = [
        loop.rows
        for loop in find_loops(step)
        if is_plain.loc[(of_loop := launches["kernel"].iloc[loop.rows]).unique()].all()
        and of_loop.nunique() >= loop.length + 2
        and not kernels["is_looped_optimizer"].loc[of_loop.unique()].any()
        and not in_module[loop.rows].any()
        and not _has_waits(step, loop)
    ]
    return launches.iloc[np.r_[(0, *chosen)][1:]] if chosen else launches[:0]


def _in_modules(step: Step) -> Bools:
    in_module: Bools = np.append(are_modules(step).to_numpy(bool), False)[step.launches["module"].to_numpy()]
    return in_module


def _has_waits(step: Step, loop: _Loop) -> bool:
    """Whether the CPU waits in the turns, which is another rule's."""
    activities = step.analysis.activities
    start, end = activities["start_ns"].to_numpy()[step.launches["activity"].iloc[loop.rows].to_numpy()[[0, -1]]]
    count = int(step.analysis.waits["end_ns"].between(start, end).sum())
    return bool(2 * count * loop.length > loop.rows.stop - loop.rows.start)


@rule("loop-over-tensors", idle=IdleTime.LAUNCHES)
def loop_over_tensors(step: Step) -> list[Advice]:
    """The same small kernels once for each of many tensors."""
    rows = find_looped_tensors(step)
    phases = np.append(step.analysis.modules["phase"].astype(str).to_numpy(object), "")
    is_of_optimizer = 2 * (phases[rows["module"].to_numpy()] == OPTIMIZER).sum() > len(rows) > 0
    text = (
        "Update all tensors at once",
        "The same small kernels run once for each of many tensors",
        "List functions, torch._foreach_*, launch a few kernels for all tensors.",
    )
    options = ("lists of tensors", CODE["fused_or_foreach" if is_of_optimizer else "foreach"])
    return _advise(step, "loop-over-tensors", text, rows, options)


@dataclass(frozen=True)
class _Marked:
    """What is found by kernels that nothing else has, and by what is launched around them."""

    trait: str  # of these kernels, as in ``tcprof.analysis.kernels.patterns.TRAITS``
    phase: str  # in which they run, and which with all else of the step is slowed; empty for any, and what is near
    text: tuple[str, str, str]
    way: tuple[str, tuple[str, ...]]
    prices: str = "loops"  # table of the calibration
    waits: Waits = Waits.NONE  # those that are left without it


_MARKED = {
    "recurrent-cell": _Marked(
        "is_recurrent_cell",
        "",
        (
            "Use the whole-sequence module",
            "A recurrent cell is called for each time step",
            "torch.nn.LSTM, GRU and RNN take the whole sequence in one call if all its inputs are known in advance.",
        ),
        ("the whole sequence in one call", CODE["whole_sequence"]),
        "cells",
        Waits.ALL,
    ),
    "boolean-masks": _Marked(
        "is_nonzero",
        "",
        (
            "Avoid boolean masks",
            "Indexing by a boolean mask counts elements on the GPU, and the CPU waits for the count",
            "Work of a known size needs no wait: multiply by the mask, or sort and batch.",
        ),
        ("no boolean masks", CODE["no_masks"]),
        "cells",
    ),
    "anomaly-detection": _Marked(
        "is_any",
        BACKWARD,
        (
            "Switch off anomaly detection",
            "PyTorch checks each backward function for NaN, and the CPU waits for the result",
            "Anomaly detection is for debugging. It also keeps a traceback of each forward function.",
        ),
        ("no anomaly detection", CODE["no_anomaly_detection"]),
    ),
}


@rule(*_MARKED, idle=IdleTime.LAUNCHES)
def marked_kernels(step: Step) -> list[Advice]:
    """Recurrent cells, boolean masks, and anomaly detection: many small kernels around some that give them away."""
    phases = np.append(step.analysis.modules["phase"].astype(str).to_numpy(object), "")[step.launches["module"]]
    findings = []
    for name, marked in _MARKED.items():
        is_mark = step.kernels[marked.trait].loc[step.launches["kernel"]].to_numpy()
        is_mark = is_mark & ((phases == marked.phase) | (marked.phase == ""))
        # Only the result of non-maximum suppression tells how many boxes there are
        is_bound = name == "boolean-masks" and step.kernels["is_suppression"].any()
        if is_mark.sum() >= _FEWEST_MARKS * step.count and not is_bound:
            rows = step.launches[near(is_mark, _NEAR) | (marked.phase != "")]
            findings += _advise(step, name, marked.text, rows, marked.way, MEASURED[marked.prices], marked.waits)
    return findings


@rule("loop-in-module", idle=IdleTime.LAUNCHES, after=tuple(_MARKED))
def loop_in_module(step: Step, earlier: Collection[str]) -> list[Advice]:
    """A module that is called again and again in a row, for each token."""
    launches, in_module, kernels = step.launches, _in_modules(step), step.kernels
    module = np.where(in_module, launches["module"].to_numpy(), -1)
    chosen = [
        loop.rows
        for loop in ([] if earlier else find_loops(step))
        if (module[loop.rows] == module[loop.rows.start]).all()
        and in_module[loop.rows.start]
        and launches["kernel"].iloc[loop.rows].nunique() <= loop.length
        and kernels["is_pytorch_native"].loc[launches["kernel"].iloc[loop.rows].unique()].any()
        and not _has_waits(step, loop)
    ]
    rows = launches.iloc[np.r_[(0, *chosen)][1:]] if chosen else launches[:0]
    text = (
        "Compute all tokens at once",
        "A loop in Python runs the same few kernels again and again in one module",
        "One call on all tokens or samples launches them once, unless each pass of the loop needs the result of the "
        "previous one.",
    )
    return _advise(step, "loop-in-module", text, rows, ("one call for all", CODE["all_tokens"]))


def near(is_mark: Bools, reach: int) -> Bools:
    """What is marked, and what lies between two marks at most so far from each other."""
    index = np.arange(len(is_mark))
    before = np.maximum.accumulate(np.where(is_mark, index, -reach))
    after = np.minimum.accumulate(np.where(is_mark, index, len(index) + reach)[::-1])[::-1]
    return np.asarray(after - before <= reach)


def _advise(
    step: Step,
    name: str,
    text: tuple[str, str, str],
    launches: pd.DataFrame,
    way: tuple[str, tuple[str, ...]],
    measured: Mapping[str, Levels] = MEASURED["loops"],
    waits: Waits = Waits.ALL,
) -> list[Advice]:
    rows = kernels_of(step, launches)
    time, on_cpu = float(launches["exposed_ns"].sum()) / step.count, time_launching(step, launches, VERY_LONG_NS)
    work = time_launching(step, launches, _LONGEST_NS) - on_cpu
    if step.share_pct(max(time, on_cpu)) < NOTABLE_PCT:
        return []
    count = units.format_count(len(launches) / step.count)
    what = f"launching {count} kernels takes the CPU {step.format_share(on_cpu)}"
    what = what if on_cpu > time else f"{count} kernels take {step.format_share(time)}"
    saved, spared = measured["saved"] * time, measured["spared"] * on_cpu
    gain = step.price_kernels(saved, spared_ns=spared, work_ns=measured["spared"] * work, waits=waits)
    return [
        make_advice(
            step,
            name,
            (text[0], f"{text[1]}: {what}", text[2]),
            [Option(*way, gain)],
            about_launches(step, launches["activity"]),
            confidence=MEDIUM,
            rows=rows,
        )
    ]
