"""The verdict in two short sentences, over one time: how busy the Tensor Cores were, and what had most of the time.

A third one tells what that time does not hold, where it is much.
"""

import math

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.time.account import TIME_CLASSES
from tcprof.findings.iterations import (
    CPU_BOUND,
    LAUNCH_BOUND,
    IterationFigures,
    find_bound,
    from_kernel_order,
    pool_tensor_active,
)
from tcprof.findings.recording_cost import measure_cost
from tcprof.findings.verdict import (
    OTHER_KERNELS,
    describe_span,
    say_active,
    tell_outside,
    tell_unused,
)
from tcprof.findings.words import IDLED, WINDOW_NAMES, class_in_sentence
from tcprof.frames import HEADLINE, OPS_DOMAIN
from tcprof.untrusted import one_line

_MOST_OF = 0.5  # of the time of other kernels, from which one class is named, or two
_NOTABLE_PCT = 1.0
_WAITS = {LAUNCH_BOUND: ", waiting for the CPU to launch kernels", CPU_BOUND: ", waiting for the CPU"}
_LEAST_SHARE = 0.01  # of the time, to be named
_MOST_RANGES = 4


def say_iterations(analysis: Analysis, figures: IterationFigures, idled: str = IDLED) -> tuple[str, ...]:
    """Of the iterations of a GPU.

    Args:
        idled: What is said of the time in which nothing was traced, see ``tcprof.findings.words``.
    """
    of_windows = "an iteration" if analysis.window == "gpu" else f"the {WINDOW_NAMES[analysis.window]} of an iteration"
    first = say_active(analysis, figures.tensor_active_pct, figures.coverage_pct, of_windows)
    is_one = analysis.window == "gpu" and not math.isnan(figures.tensor_active_pct)
    waits = _WAITS.get(find_bound(figures), "") if idled == IDLED else ""
    if waits and measure_cost(analysis) is None:  # advice says, too, that the program may not wait when it runs alone
        waits += ", which recording slows"
    most = _say_most(analysis, figures.time, "it" if is_one else "an iteration", idled, waits)
    return first, *most, *tell_outside(figures)


def say_capture(analysis: Analysis, row: pd.Series, idled: str = IDLED) -> tuple[str, ...]:
    """Of the whole capture, where nothing iterates, by its row of the range summary."""
    mean, unit = float(row[HEADLINE.name]), f"the {describe_span(row)}"
    first = say_active(analysis, mean, row["coverage_pct"], unit)
    time = analysis.timeline[(analysis.timeline["gpu"] == row["gpu"]) & (analysis.timeline["depth"] == 0)]
    return first, *tell_unused(row), *_say_most(analysis, time, unit if math.isnan(mean) else "it", idled)


def describe_measured(analysis: Analysis, gpu: int, figures: IterationFigures | None) -> str:
    """What all figures of a GPU at a glance are over: its iterations, or else the whole capture."""
    if figures is None:
        return "All figures here are of the whole capture: nothing in it iterates."
    count = f"{units.format_count(figures.count)} iteration{'s' * (figures.count != 1)}"
    of = "in the order of the kernels" if from_kernel_order(analysis) else f"of “{figures.name}”"
    span = "from first activity on the GPU to last"
    left_out = int(analysis.iterations["warm_up"][analysis.iterations["gpu"] == gpu].sum())
    warm_up = f"; {units.format_count(left_out)} of warm-up left out" if left_out else ""
    return f"All figures here are of {count} {of}, {span}{warm_up}."


def _say_most(analysis: Analysis, time: pd.DataFrame, unit: str, idled: str, waits: str = "") -> tuple[str, ...]:
    """What had most of the time: nothing, tensor kernels or others. None where that is not known."""
    window = float(time["window_ns"].sum())
    if not window > 0:
        return ()
    share = {name: 100 * float(time[f"{name}_ns"].sum()) / window for name in TIME_CLASSES}
    by_name = " (by their names)" if analysis.tensor_source == "none" else ""
    told = "not known to" if by_name or share["unresolved_kernel"] >= _NOTABLE_PCT else "that do not"
    others = sum(share[name] for name in OTHER_KERNELS)
    rest = f", others {units.format_pct(others)}{_of(share)}" if others >= _NOTABLE_PCT else ""
    candidates = (
        (share["idle"], f"{idled[0].upper()}{idled[1:]} {{}} of {unit}{waits}."),
        (share["tensor_kernel"], f"Kernels that use the Tensor Cores{by_name} had {{}} of {unit}{rest}."),
        (others, f"Kernels {told} use them{by_name} had {{}} of {unit}{_of(share)}."),
        (share["copy"], "Copies and memsets had {}" + f" of {unit}."),
        (share["graph"], "CUDA graphs, whose kernels were not recorded, had {}" + f" of {unit}."),
    )
    largest, sentence = max(candidates, key=lambda each: each[0])
    return (sentence.format(units.format_pct(largest)),)


def _of(share: dict[str, float]) -> str:
    """What most of the other kernels' time is: one class, or two together; empty where it is neither."""
    most = _MOST_OF * sum(share[name] for name in OTHER_KERNELS)
    named = sorted((name for name in OTHER_KERNELS if name != "other_kernel"), key=lambda name: -share[name])[:2]
    for count in (1, 2):
        told = named[:count]
        if sum(share[name] for name in told) >= max(most, _NOTABLE_PCT) and min(share[name] for name in told) > 0:
            return f", most of it {' or '.join(class_in_sentence(name) for name in told)}"
    return ""


def say_where(analysis: Analysis, gpu: int, figures: IterationFigures | None) -> str:
    """Tensor Active of the ranges that an iteration, or the capture, consists of; empty where these tell nothing."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["domain"] != OPS_DOMAIN)]
    whole = rows[rows["depth"] == 0] if figures is None else figures.rows
    inner = rows[rows["depth"] == 1] if figures is None else rows[rows["parent_id"].isin(whole["path_id"])]
    length = float(whole["gpu_window_ns"].sum())
    inner = inner[inner["gpu_window_ns"] > 0]
    time = inner.groupby("name", observed=True)["gpu_window_ns"].sum()
    named = time[time >= _LEAST_SHARE * length].nlargest(_MOST_RANGES).index
    parts = [(name, inner[inner["name"] == name]) for name in pd.unique(inner["name"]) if name in named]
    told = [
        f"“{one_line(name, 40)}” {units.format_pct(active)} in {units.format_pct(100 * time[name] / length)}"
        for name, of_name in parts
        if not math.isnan(active := pool_tensor_active(of_name)[0])
    ]
    if len(told) < 2:
        return ""
    return f"Tensor Active by range: {told[0]} of the time, {', '.join(told[1:])}."
